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

package bootorder

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDevices(t *testing.T) {
	cases := map[string]struct {
		reason string
		boot   string
		want   []string
	}{
		"Order":  {reason: "The order is a list.", boot: "order=scsi0;net0", want: []string{"scsi0", "net0"}},
		"Blank":  {reason: "PVE writes a blank for no devices.", boot: " "},
		"Absent": {reason: "The option may be absent."},
		"Legacy": {reason: "The old form has sorts of devices, not devices.", boot: "cdn"},
		"Empty":  {reason: "An order may be empty.", boot: "order="},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Devices(tc.boot)); diff != "" {
				t.Errorf("\n%s\nDevices(%q): -want, +got:\n%s", tc.reason, tc.boot, diff)
			}
		})
	}
}

func TestOverwritten(t *testing.T) {
	const disk, cd, seed = "ceph:vm-1-disk-0", "none,media=cdrom", "ceph:vm-1-cloudinit,media=cdrom"
	cases := map[string]struct {
		reason string
		force  string
		next   map[string]string
		want   bool
	}{
		"None": {
			reason: "An order without pending changes stays.", force: "order=net0", next: map[string]string{"boot": "order=net0", "net0": "virtio"},
		},
		"Left": {
			reason: "What has left is gone from it.", force: "order=net0", next: map[string]string{"scsi0": disk, "boot": " "}, want: true,
		},
		"Absent": {
			reason: "An order of which nothing is left is gone.", force: "order=net0", next: map[string]string{"scsi0": disk}, want: true,
		},
		"Drive": {
			reason: "What has come is at its end.", force: "order=scsi0", next: map[string]string{"scsi0": disk, "ide2": cd, "boot": "order=scsi0;ide2"}, want: true,
		},
		"Seed": {
			reason: "A cloud-init drive does not come by itself.", force: "order=scsi0",
			next: map[string]string{"scsi0": disk, "ide2": seed, "boot": "order=scsi0;ide2"},
		},
		"Disk": {
			reason: "A disk does not join the order by itself.",
			force:  "order=net0", next: map[string]string{"scsi0": disk, "net0": "virtio", "boot": "order=net0;scsi0"},
		},
		"Order": {
			reason: "Another order was asked for.", force: "order=net0;scsi0", next: map[string]string{"scsi0": disk, "net0": "virtio", "boot": "order=scsi0;net0"},
		},
		"Shorter": {
			reason: "An order without a device that is there was asked for.", force: "order=scsi0;net0",
			next: map[string]string{"scsi0": disk, "net0": "virtio", "boot": "order=net0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Overwritten(map[string]string{"boot": tc.force}, tc.next); got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
}
