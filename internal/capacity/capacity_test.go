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

package capacity

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// cluster is an Inventory of storages and their configurations.
type cluster struct {
	storages   []proxmox.Storage
	configured map[string]map[string]string
	err        error
	reads      int
}

func (c *cluster) Storages(context.Context) ([]proxmox.Storage, error) { return c.storages, nil }

func (c *cluster) Objects(context.Context, proxmox.Collection, time.Duration) ([]proxmox.Object, error) {
	c.reads++
	var all []proxmox.Object
	for name, values := range c.configured {
		all = append(all, proxmox.Object{Name: name, Settings: proxmox.Settings{Values: values}})
	}
	return all, c.err
}

// TestCapacity checks that disks that are created or grow fit on their storage, may fill it, or are refused.
func TestCapacity(t *testing.T) {
	const gib = int64(proxmox.GiB)
	storages := []proxmox.Storage{
		{Name: "thin", Node: "pve1", Type: "lvmthin", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "thick", Node: "pve1", Type: "lvm", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "thick", Node: "pve2", Type: "lvm", MaxDisk: 5000 * gib},
		{Name: "unknown", Node: "pve1"},
		{Name: "zfs", Node: "pve1", Type: "zfspool", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "zfs-sparse", Node: "pve1", Type: "zfspool", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "zfs-hidden", Node: "pve1", Type: "zfspool", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "files", Node: "pve1", Type: "dir", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "files-full", Node: "pve1", Type: "nfs", MaxDisk: 500 * gib, Disk: 450 * gib},
	}
	configured := map[string]map[string]string{
		"thin": {"type": "lvmthin"}, "zfs": {"type": "zfspool"}, "zfs-sparse": {"type": "zfspool", "sparse": "1"},
		"files": {"type": "dir", "preallocation": "metadata"}, "files-full": {"type": "nfs", "preallocation": "full"},
	}
	grow := func(storage string, size, more int64) qemu.Growth {
		return qemu.Growth{Name: storage, Storage: storage, Size: proxmox.Size(size * gib), More: proxmox.Size(more * gib)}
	}
	cases := map[string]struct {
		reason  string
		growths []qemu.Growth
		no      string
		warning string
		reads   int
	}{
		"Fits": {reason: "What there is room for is fine, however storages are configured.", growths: []qemu.Growth{grow("thin", 100, 50), grow("thick", 60, 50)}},
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
			warning: "it has 50G left, which is 10G less than what is asked for", reads: 1,
		},
		"ZFS": {
			reason:  "ZFS reserves all of a disk.",
			growths: []qemu.Growth{grow("zfs", 60, 60)}, no: "storage 'zfs' on node pve1 has 50G left, and 60G are asked for", reads: 1,
		},
		"ZFSSparse": {
			reason:  "A sparse storage of ZFS does not.",
			growths: []qemu.Growth{grow("zfs-sparse", 60, 60)}, warning: "10G less than what is asked for", reads: 1,
		},
		"ZFSHidden": {
			reason:  "How a storage is configured that may not be seen is not known.",
			growths: []qemu.Growth{grow("zfs-hidden", 60, 60)}, warning: "10G less than what is asked for", reads: 1,
		},
		"Files": {
			reason:  "Files grow as the guest writes.",
			growths: []qemu.Growth{grow("files", 60, 60)}, warning: "10G less than what is asked for", reads: 1,
		},
		"FilesAllocated": {
			reason:  "Unless they are allocated at once.",
			growths: []qemu.Growth{grow("files-full", 60, 60)}, no: "storage 'files-full' on node pve1 has 50G left", reads: 1,
		},
		"Unknown": {reason: "Nothing is known of a storage that tells nothing.", growths: []qemu.Growth{grow("unknown", 900, 900), grow("nowhere", 9, 9)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from := &cluster{storages: storages, configured: configured}
			c, err := Of(t.Context(), from, tc.growths, "pve1")
			if err != nil || from.reads != tc.reads {
				t.Errorf("\n%s\nwant %d reads of how storages are configured, got %d: %v", tc.reason, tc.reads, from.reads, err)
			}
			no := strings.Join(c.Rejections, "; ")
			if (tc.no == "") != (no == "") || !strings.Contains(no, tc.no) {
				t.Errorf("\n%s\nwant it refused with %q, got %q", tc.reason, tc.no, no)
			}
			warning := strings.Join(slices.Sorted(maps.Values(c.Warnings)), "; ")
			if (tc.warning == "") != (len(c.Warnings) == 0) || !strings.Contains(warning, tc.warning) {
				t.Errorf("\n%s\nwant a warning of %q, got %q", tc.reason, tc.warning, c.Warnings)
			}
		})
	}
}

// TestCapacityUnreadable checks that a missing permission to read the configuration of storages causes a warning, and that other failures are errors.
func TestCapacityUnreadable(t *testing.T) {
	const gib = int64(proxmox.GiB)
	full := proxmox.Storage{Name: "zfs", Node: "pve1", Type: "zfspool", MaxDisk: 500 * gib, Disk: 500 * gib}
	growths := []qemu.Growth{{Name: "data", Storage: "zfs", Size: proxmox.GiB, More: proxmox.GiB}}
	forbidden := &proxmox.Error{Status: http.StatusForbidden}
	if c, err := Of(t.Context(), &cluster{storages: []proxmox.Storage{full}, err: forbidden}, growths, "pve1"); err != nil || c.Warnings["data"] == "" {
		t.Errorf("want a warning, got %+v: %v", c, err)
	}
	broken := errors.New("boom")
	if _, err := Of(t.Context(), &cluster{storages: []proxmox.Storage{full}, err: broken}, growths, "pve1"); !errors.Is(err, broken) {
		t.Errorf("want the error, got %v", err)
	}
}
