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

package preflight

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Disks that are to be made or to grow fit on their storage, may fill it, or are refused.
func TestCapacity(t *testing.T) {
	const gib = int64(proxmox.GiB)
	storages := []proxmox.Storage{
		{Name: "thin", Node: "pve1", Type: "lvmthin", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "thick", Node: "pve1", Type: "lvm", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "thick", Node: "pve2", Type: "lvm", MaxDisk: 5000 * gib},
		{Name: "unknown", Node: "pve1"},
	}
	grow := func(storage string, size, more int64) qemu.Growth {
		return qemu.Growth{Name: storage, Storage: storage, Size: proxmox.Size(size * gib), More: proxmox.Size(more * gib)}
	}
	cases := map[string]struct {
		reason  string
		growths []qemu.Growth
		no      string
		warning string
	}{
		"Fits": {reason: "What there is room for is fine.", growths: []qemu.Growth{grow("thin", 100, 50), grow("thick", 60, 50)}},
		"TooLarge": {
			reason:  "No storage holds a disk that is larger than all of it.",
			growths: []qemu.Growth{grow("thin", 900, 890)},
			no:      `disk "thin" of 900G is larger than storage 'thin' on node pve1, which has 500G in all`,
		},
		"Thick": {
			reason:  "What a storage has to have at once does not fit.",
			growths: []qemu.Growth{grow("thick", 100, 60)},
			no:      `storage 'thick' on node pve1 has 50G left, and 60G are asked for`,
		},
		"Together": {
			reason:  "Disks of one storage count together.",
			growths: []qemu.Growth{grow("thick", 30, 30), grow("thick", 30, 30)},
			no:      "50G left, and 60G are asked for",
		},
		"Thin": {
			reason:  "What the guest may write some day is told.",
			growths: []qemu.Growth{grow("thin", 100, 60)},
			warning: "it has 50G left, which is 10G less than what is asked for",
		},
		"Unknown": {reason: "Of a storage that tells nothing nothing is known.", growths: []qemu.Growth{grow("unknown", 900, 900), grow("nowhere", 9, 9)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := capacityFor(tc.growths, storages, "pve1")
			no := strings.Join(c.Rejections, "; ")
			if (tc.no == "") != (no == "") || !strings.Contains(no, tc.no) {
				t.Errorf("\n%s\nwant it refused with %q, got %q", tc.reason, tc.no, no)
			}
			warning := c.Warnings["thin"]
			if (tc.warning == "") != (len(c.Warnings) == 0) || !strings.Contains(warning, tc.warning) {
				t.Errorf("\n%s\nwant a warning of %q, got %q", tc.reason, tc.warning, c.Warnings)
			}
		})
	}
}
