/*
Copyright 2026 The provider-proxmox Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package kind

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A keptRecord is a record as kinds use it.
type keptRecord struct {
	Task string `json:"task,omitempty"`

	Failures
}

func TestRecord(t *testing.T) {
	r := keptRecord{Task: "t", Failures: Failures{Count: 2, FailedAt: 5, Generation: 3, Problem: "Locked", Message: "by another"}}
	text := RecordText(r)
	if want := `{"task":"t","failures":2,"failedAt":5,"generation":3,"problem":"Locked","message":"by another"}`; text != want {
		t.Errorf("want %s, got %s", want, text)
	}
	var again keptRecord
	if err := ReadRecord("record", text, &again); err != nil || !cmp.Equal(again, r) {
		t.Errorf("want the record that was written, got %+v, %v", again, err)
	}
	if err := ReadRecord("record", "", &again); err != nil || !cmp.Equal(again, r) {
		t.Errorf("want an empty text to change nothing, got %+v, %v", again, err)
	}
	if err := ReadRecord("example.org/record", "{", &again); err == nil || !strings.Contains(err.Error(), "example.org/record") {
		t.Errorf("want an error that names the annotation, got %v", err)
	}
}

func TestFailures(t *testing.T) {
	var f Failures
	if s := f.RetryIn(100, 0, 15); s != 0 {
		t.Errorf("what never failed waits %d seconds", s)
	}
	for i, want := range []int64{15, 30, 60} {
		f.Fail(100, 1, "Locked", "by another")
		if s := f.RetryIn(100, 1, 15); s != want {
			t.Errorf("failure %d: want %d seconds, got %d", i+1, want, s)
		}
	}
	if s := f.RetryIn(100+60, 1, 15); s != 0 {
		t.Errorf("%d seconds are left after all of them", s)
	}
	if s := f.RetryIn(100, 2, 15); s != 0 {
		t.Errorf("a changed spec waits %d seconds", s)
	}
	f.Count = 100
	if s := f.RetryIn(100, 1, 15); s != lastRetry {
		t.Errorf("want an hour at the most, got %d seconds", s)
	}
	if f.Fail(200, 2, "", ""); f.Count != 1 {
		t.Errorf("want failures of another generation to be counted again, got %d", f.Count)
	}
}
