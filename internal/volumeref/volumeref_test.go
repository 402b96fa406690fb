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

package volumeref

import (
	"fmt"
	"testing"
)

// TestRename renames a disk often, and checks that the first name and the latest ones are kept as former names, without the present one.
func TestRename(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("lvm:vm-%d-disk-0", i) }
	r := &Record{}
	for i := range 3 * mostFormer {
		for range 2 { // The same name again is not a former name.
			r.Rename(name(i))
		}
		r.Rename(name(0))
		r.Rename(name(i))
	}
	const last = 3*mostFormer - 1
	cases := map[string]struct {
		reason string
		volume string
		want   bool
	}{
		"First":   {reason: "The manifest by which it was adopted has the first name.", volume: name(0), want: true},
		"Latest":  {reason: "The disk had this name just before the present one.", volume: name(last - 1), want: true},
		"Early":   {reason: "Not all names are kept.", volume: name(1)},
		"Present": {reason: "The present name is no former one.", volume: name(last)},
		"Never":   {reason: "The disk never had this name.", volume: name(last + 1)},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			if got := r.WasNamed(tc.volume); got != tc.want {
				t.Errorf("%s\nWasNamed(%s): got %t, want %t of %v", tc.reason, tc.volume, got, tc.want, r.Former)
			}
		})
	}
	if n := len(r.Former); n > mostFormer {
		t.Errorf("%d former names are kept, want %d at most", n, mostFormer)
	}
}
