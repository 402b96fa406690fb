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

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestBootOrder(t *testing.T) {
	type want struct {
		boot     string
		declared bool
	}
	d := Devices{
		Disks: map[string]string{"root": "scsi1", "disk0": "scsi0"}, CDROMs: map[string]string{"drivers": "ide0"},
		Networks: map[string]string{"lan": "net1"},
	}
	cases := map[string]struct {
		reason string
		order  []string
		config map[string]string
		want   want
	}{
		"Undeclared": {reason: "Without an order PVE's stands.", config: templateConfig()},
		"Sorts": {
			reason: "Sorts of devices stand for all of them, boot disk first.", order: []string{"disk", "cdrom", "network"},
			config: templateConfig(), want: want{"order=scsi1;scsi0;ide2;net0;net1", true},
		},
		"Names": {
			reason: "Names of entries stand for their devices.", order: []string{"lan", "root"}, config: templateConfig(),
			want: want{"order=net1;scsi1", true},
		},
		"Drives":  {reason: "Those of CD-ROM drives too.", order: []string{"drivers", "root"}, config: templateConfig(), want: want{"order=ide0;scsi1", true}},
		"Devices": {reason: "Devices may be named as PVE does.", order: []string{"ide2", "scsi0"}, config: templateConfig(), want: want{"order=ide2;scsi0", true}},
		"Once":    {reason: "A device is in the order once.", order: []string{"root", "disk"}, config: templateConfig(), want: want{"order=scsi1;scsi0", true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			got.boot, got.declared = bootOrder(&v1alpha1.MachineParameters{BootOrder: tc.order}, d, tc.config)
			if got != tc.want {
				t.Errorf("\n%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestBootDevices(t *testing.T) {
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
			if diff := cmp.Diff(tc.want, BootDevices(tc.boot)); diff != "" {
				t.Errorf("\n%s\nbootDevices(%q): -want, +got:\n%s", tc.reason, tc.boot, diff)
			}
		})
	}
}

func TestBootOrderOfNothing(t *testing.T) {
	d := Desired{MachineParameters: &v1alpha1.MachineParameters{BootOrder: []string{"disk"}}, Identity: Identity{VMID: 10000, UUID: ourUUID}}
	got := d.Difference(map[string]string{"smbios1": "uuid=" + ourUUID, "boot": "order=net0", "net0": "virtio=BC:24:11:00:00:01"})
	if diff := cmp.Diff([]string{"boot"}, got.Delete); diff != "" || len(got.Set) != 0 {
		t.Errorf("PVE knows no empty order: -want, +got:\n%s", diff)
	}
}

func TestJoinsBoot(t *testing.T) {
	in := func(order string) State { return State{Active: Config{"boot": order}} }
	cases := map[string]struct {
		reason string
		state  State
		set    proxmox.Params
		want   bool
	}{
		"New": {reason: "A new drive joins.", state: in("order=scsi0"), set: proxmox.Params{"sata0": "none,media=cdrom"}, want: true},
		"Image": {
			reason: "So does one that was left out so far.", state: in("order=scsi0"), set: proxmox.Params{"ide2": "local:iso/a.iso,media=cdrom"},
			want: true,
		},
		"Member":    {reason: "One of the order stays where it is.", state: in("order=ide2;scsi0"), set: proxmox.Params{"ide2": "none,media=cdrom"}},
		"CloudInit": {reason: "PVE's cloud-init drive does not join.", state: in("order=scsi0"), set: proxmox.Params{"ide2": "local:cloudinit,media=cdrom"}},
		"Disk":      {reason: "Nor does a disk.", state: in("order=scsi0"), set: proxmox.Params{"scsi1": "local:1"}},
		"NIC":       {reason: "Nor a network interface.", state: in("order=scsi0"), set: proxmox.Params{"net0": "virtio,bridge=vmbr0"}},
		"Nothing":   {reason: "There is no order to join.", state: in(" "), set: proxmox.Params{"sata0": "none,media=cdrom"}},
		"Old":       {reason: "Orders of the old form have all drives.", state: in("cdn"), set: proxmox.Params{"sata0": "none,media=cdrom"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Difference{Set: tc.set}).AddsBootDevice(tc.state); got != tc.want {
				t.Errorf("\n%s\nJoinsBoot: got %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
