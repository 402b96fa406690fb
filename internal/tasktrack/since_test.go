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

package tasktrack

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestSince(t *testing.T) {
	task := func(upid string, start int64) proxmox.Task {
		return proxmox.Task{UPID: proxmox.UPID(upid), Start: time.Unix(start, 0)}
	}
	before := []proxmox.Task{task("b", 20), task("c", 20), task("a", 10)}
	latest := Latest(before)
	if diff := cmp.Diff([]proxmox.UPID{"b", "c"}, latest); diff != "" {
		t.Errorf("Latest(): -want, +got:\n%s", diff)
	}
	got := Since(append([]proxmox.Task{task("e", 21), task("d", 20)}, before...), latest)
	if diff := cmp.Diff([]proxmox.Task{task("e", 21), task("d", 20)}, got); diff != "" {
		t.Errorf("Since(): -want, +got:\n%s", diff)
	}
	if got := Since(before, nil); len(got) != 3 {
		t.Errorf("without any before all are new, got %v", got)
	}
}
