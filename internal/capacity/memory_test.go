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
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func TestStateStorage(t *testing.T) {
	there := []proxmox.Storage{
		{Name: "ceph", Type: "rbd", Shared: true},
		{Name: "local", Type: "dir"},
		{Name: "lvm", Type: "lvm"},
		{Name: "nas", Type: "nfs", Shared: true},
		{Name: "thin", Type: "lvmthin"},
	}
	cases := map[string]struct {
		reason string
		config qemu.Config
		want   string
	}{
		"Named":  {reason: "What the VM names counts.", config: qemu.Config{"vmstatestorage": "lvm", "scsi0": "nas:1/vm-1-disk-0.qcow2"}, want: "lvm"},
		"Shared": {reason: "Shared storage is preferred.", config: qemu.Config{"scsi0": "local:1/vm-1-disk-0.qcow2", "scsi1": "ceph:vm-1-disk-1"}, want: "ceph"},
		"Files":  {reason: "One with files is preferred.", config: qemu.Config{"scsi0": "ceph:vm-1-disk-0", "scsi1": "nas:1/vm-1-disk-1.qcow2"}, want: "nas"},
		"First":  {reason: "Otherwise it is the first.", config: qemu.Config{"scsi0": "thin:vm-1-disk-0", "efidisk0": "lvm:vm-1-disk-1"}, want: "lvm"},
		"Media":  {reason: "Media are no disks.", config: qemu.Config{"ide2": "nas:iso/a.iso,media=cdrom", "scsi0": "thin:vm-1-disk-0"}, want: "thin"},
		"Hidden": {reason: "The storage of a disk may be one that may not be seen.", config: qemu.Config{"scsi0": "theirs:vm-1-disk-0"}, want: "theirs"},
		"None": {
			reason: "The memory of a VM without disks is saved on the node's root file system.",
			config: qemu.Config{"ide2": "nas:iso/a.iso,media=cdrom"}, want: "local",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := StateStorage(tc.config, there); got != tc.want {
				t.Errorf("%s want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
