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

package qemu

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestSame checks that values which PVE stores in another form than they were sent do not differ forever.
func TestSame(t *testing.T) {
	cases := map[string]struct {
		reason    string
		same      func(a, b string) bool
		now, want string
		equal     bool
	}{
		"UnitsCapped":    {reason: "PVE caps the weight.", same: sameUnits, now: "10000", want: "262144", equal: true},
		"UnitsDiffer":    {reason: "Below the cap weights differ.", same: sameUnits, now: "100", want: "200"},
		"MachinePinned":  {reason: "PVE pins Windows to a version.", same: sameMachine, now: "pc-q35-9.2+pve1", want: "q35", equal: true},
		"MachineI440":    {reason: "The same holds for pc.", same: sameMachine, now: "pc-i440fx-9.2", want: "pc", equal: true},
		"MachineVirt":    {reason: "A pinned version of virt is virt.", same: sameMachine, now: "virt-9.2+pve1", want: "virt", equal: true},
		"MachineOptions": {reason: "Options of the machine count.", same: sameMachine, now: "pc-q35-9.2,viommu=intel", want: "q35"},
		"MachineOther":   {reason: "Another family is another machine.", same: sameMachine, now: "pc-i440fx-9.2", want: "q35"},
		"MachineVersion": {reason: "A version that is asked for is meant.", same: sameMachine, now: "pc-q35-9.0", want: "pc-q35-9.2"},
		"TextEnd":        {reason: "PVE cuts white space at the end.", same: proxmox.SameText, now: "a", want: "a \t\n\n", equal: true},
		"TextLines":      {reason: "Line ends are of no meaning.", same: proxmox.SameText, now: "a\nb", want: "a\r\nb", equal: true},
		"TextDiffers":    {reason: "Another text is another text.", same: proxmox.SameText, now: "a", want: "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.same(tc.now, tc.want); got != tc.equal {
				t.Errorf("\n%s\n%q and %q: want %t, got %t", tc.reason, tc.now, tc.want, tc.equal, got)
			}
		})
	}
}
