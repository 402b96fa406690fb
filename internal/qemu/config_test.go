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

	"github.com/google/go-cmp/cmp"
)

func TestDevicesOfConfig(t *testing.T) {
	config := Config{
		"ide2": "none,media=cdrom", "sata0": "a:x,size=1G", "scsi10": "a:b,size=1G", "scsi2": "a:c,size=1G", "scsi3": "", "net1": "virtio", "net0": "e1000",
		"efidisk0": "a:e,efitype=4m", "unused2": "a:f", "unused10": "a:g", "unused": "a:h", "boot": "order=scsi2;net0",
	}
	cases := map[string]struct {
		reason string
		of     func(Config) []string
		want   []string
	}{
		"Disks":    {reason: "What is booted from comes first.", of: Config.Disks, want: []string{"scsi2", "sata0", "scsi10"}},
		"CDROMs":   {reason: "A drive needs no medium.", of: Config.CDROMs, want: []string{"ide2"}},
		"Drives":   {reason: "Disks and CD-ROMs are drives, whatever the order to boot from.", of: Config.Drives, want: []string{"ide2", "sata0", "scsi2", "scsi10"}},
		"NICs":     {reason: "Networks are by number.", of: Config.NICs, want: []string{"net0", "net1"}},
		"Firmware": {reason: "What is not there is none.", of: Config.Firmware, want: []string{"efidisk0"}},
		"Unused":   {reason: "Numbers are compared, not their digits.", of: Config.Unused, want: []string{"unused2", "unused10"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.of(config)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOwnVolumes(t *testing.T) {
	config := Config{
		"scsi0": "a:base-9000-disk-0/vm-100-disk-0,size=1G", "scsi1": "b:100/vm-100-disk-1.qcow2,size=1G", "scsi2": "a:vm-101-disk-0,size=1G",
		"scsi3": "/dev/sdb", "ide2": "b:iso/debian.iso,media=cdrom", "ide0": "a:vm-100-cloudinit,media=cdrom", "efidisk0": "a:vm-100-disk-2,efitype=4m",
		"unused0": "a:vm-100-disk-3", "vmstate": "a:vm-100-state-suspend-2026-11-21", "net0": "virtio", "name": "a:vm-100-disk-9",
	}
	want := []string{
		"a:vm-100-cloudinit", "a:base-9000-disk-0/vm-100-disk-0", "b:100/vm-100-disk-1.qcow2", "a:vm-100-disk-2", "a:vm-100-disk-3",
		"a:vm-100-state-suspend-2026-11-21",
	}
	if diff := cmp.Diff(want, config.OwnVolumes(100)); diff != "" {
		t.Errorf("want what is destroyed with the VM, and nothing of others: -want, +got:\n%s", diff)
	}
}

func TestMemory(t *testing.T) {
	cases := map[string]struct {
		reason, memory string
		want           int64
	}{
		"Absent":  {reason: "PVE gives a VM 512 MiB.", want: 512 << 20},
		"Plain":   {reason: "A plain number is in MiB.", memory: "2048", want: 2 << 30},
		"Current": {reason: "The value may have its key.", memory: "current=1024", want: 1 << 30},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Config{"memory": tc.memory}).Memory(); got != tc.want {
				t.Errorf("\n%s\nwant %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
