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
)

const (
	ourImage   = "files:iso/cidata-10000-" + ourUUID + "-0123456789abcdef.iso"
	theirImage = "files:iso/cidata-10001-11111111-2222-4333-8444-555555555555-0123456789abcdef.iso"
)

func TestSeedDrive(t *testing.T) {
	cases := map[string]struct {
		reason string
		config map[string]string
		iso    string
		want   string
	}{
		"Ours":    {reason: "The drive that has an image of Ours keeps it.", config: map[string]string{"ide0": "none,media=cdrom", "ide1": ourImage + ",media=cdrom", "ide2": "local-lvm:vm-10000-cloudinit,media=cdrom"}, want: "ide1"},
		"Source":  {reason: "A clone has the image of its source in the drive for its own.", config: map[string]string{"ide0": "none,media=cdrom", "sata1": theirImage + ",media=cdrom"}, want: "sata1"},
		"Empty":   {reason: "A drive that was emptied for it is taken.", config: map[string]string{"ide0": "none,media=cdrom"}, want: "ide0"},
		"ISO":     {reason: "But not the one that the spec has for another medium.", config: map[string]string{"ide0": "none,media=cdrom"}, iso: "ide0", want: "ide2"},
		"PVE":     {reason: "PVE's own drive gives way.", config: map[string]string{"ide0": "none,media=cdrom", "ide2": "local-lvm:vm-10000-cloudinit,media=cdrom"}, want: "ide2"},
		"None":    {reason: "Without any there is a new one.", config: map[string]string{}, want: "ide2"},
		"Foreign": {reason: "Somebody's own medium stays where it is.", config: map[string]string{"ide2": "files:iso/debian.iso,media=cdrom"}, want: "ide0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Desired{Identity: Identity{UUID: ourUUID, VMID: 10000}, Devices: Devices{ISO: tc.iso}}
			if got := d.SeedDrive(tc.config); got != tc.want {
				t.Errorf("%s Want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
