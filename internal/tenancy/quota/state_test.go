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

package quota

import (
	"encoding/json"
	"testing"
)

// TestState checks the state of stored entries, whose format all versions of the provider share.
func TestState(t *testing.T) {
	const has, vmid = `"has":{"vms":1,"cores":2}`, `,"vmid":100`
	for name, tc := range map[string]struct {
		reason string
		entry  string
		want   State
	}{
		"Waits":        {reason: "A resource that waits has nothing.", entry: `{"wants":{"vms":1},"whole":true` + vmid + `}`, want: StateWaiting},
		"Granted":      {reason: "A VM without a VMID was not begun.", entry: `{` + has + `,"pending":{"vms":1,"cores":2}}`, want: StateGranted},
		"Creating":     {reason: "A VM with a VMID may be being made.", entry: `{` + has + `,"pending":{"vms":1,"cores":2}` + vmid + `}`, want: StateCreating},
		"Held":         {reason: "A VM that was seen is there.", entry: `{` + has + vmid + `}`, want: StateHeld},
		"Grows":        {reason: "A VM that grows is there.", entry: `{` + has + `,"pending":{"cores":1}` + vmid + `}`, want: StateHeld},
		"WaitsForMore": {reason: "A VM that waits for more is there.", entry: `{` + has + `,"wants":{"vms":1,"cores":4}` + vmid + `}`, want: StateHeld},
		"Disk": {
			reason: "A Volume with a disk was seen to have it.", entry: `{` + has + `,"pending":{"vms":1,"cores":2},"volume":"ceph:vm-100-disk-0"` + vmid + `}`,
			want: StateHeld,
		},
		"LeftCreating": {
			reason: "A VM that is left before it is complete may be being made.", entry: `{` + has + vmid + `,"left":true,"creating":1}`, want: StateLeftCreating,
		},
		"Left":        {reason: "A VM that is left is complete.", entry: `{"has":{"disks/ceph":1},"left":true` + vmid + `}`, want: StateLeft},
		"LeftOutside": {reason: "An adopted VM that is left keeps an entry without disks.", entry: `{"left":true` + vmid + `}`, want: StateLeft},
	} {
		t.Run(name, func(t *testing.T) {
			var e Entry
			if err := json.Unmarshal([]byte(tc.entry), &e); err != nil {
				t.Fatal(err)
			}
			if got := e.State(); got != tc.want {
				t.Errorf("%s Want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}
