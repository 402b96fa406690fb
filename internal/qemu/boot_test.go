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
	"maps"
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
		"Drives": {
			reason: "Names of CD-ROM drives stand for their devices.",
			order:  []string{"drivers", "root"}, config: templateConfig(), want: want{"order=ide0;scsi1", true},
		},
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

func TestBootOrderOfNothing(t *testing.T) {
	d := Desired{MachineParameters: &v1alpha1.MachineParameters{BootOrder: []string{"disk"}}, Identity: Identity{VMID: 10000, UUID: ourUUID}}
	got := d.Difference(map[string]string{"smbios1": "uuid=" + ourUUID, "boot": "order=net0", "net0": "virtio=BC:24:11:00:00:01"})
	if diff := cmp.Diff([]string{"boot"}, got.Delete); diff != "" || len(got.Set) != 0 {
		t.Errorf("PVE knows no empty order: -want, +got:\n%s", diff)
	}
}

func TestAddsBootDevice(t *testing.T) {
	in := func(order string) State { return State{Active: Config{"boot": order}} }
	cases := map[string]struct {
		reason string
		state  State
		set    proxmox.Params
		want   bool
	}{
		"New": {reason: "A new drive joins.", state: in("order=scsi0"), set: proxmox.Params{"sata0": "none,media=cdrom"}, want: true},
		"Image": {
			reason: "A drive that was left out so far joins when it gets an image.",
			state:  in("order=scsi0"), set: proxmox.Params{"ide2": "local:iso/a.iso,media=cdrom"},
			want: true,
		},
		"Member":    {reason: "One of the order stays where it is.", state: in("order=ide2;scsi0"), set: proxmox.Params{"ide2": "none,media=cdrom"}},
		"CloudInit": {reason: "PVE's cloud-init drive does not join.", state: in("order=scsi0"), set: proxmox.Params{"ide2": "local:cloudinit,media=cdrom"}},
		"Disk":      {reason: "A disk does not join by itself.", state: in("order=scsi0"), set: proxmox.Params{"scsi1": "local:1"}},
		"NIC":       {reason: "A network interface does not join by itself.", state: in("order=scsi0"), set: proxmox.Params{"net0": "virtio,bridge=vmbr0"}},
		"Nothing":   {reason: "There is no order to join.", state: in(" "), set: proxmox.Params{"sata0": "none,media=cdrom"}},
		"Old":       {reason: "Orders of the old form have all drives.", state: in("cdn"), set: proxmox.Params{"sata0": "none,media=cdrom"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Difference{Set: tc.set}).AddsBootDevice(tc.state); got != tc.want {
				t.Errorf("\n%s\nAddsBootDevice: got %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestTakeTurns checks changes of drives that PVE adds to the boot order, together with changes of the order.
func TestTakeTurns(t *testing.T) {
	const cd = "local:iso/a.iso,media=cdrom"
	cases := map[string]struct {
		reason    string
		now       string
		set, want proxmox.Params
	}{
		"None": {reason: "A drive joins the order.", now: "order=scsi0", set: proxmox.Params{"ide2": cd}, want: proxmox.Params{"ide2": cd}},
		"Drive": {
			reason: "An order that names it waits.", now: "order=scsi0", set: proxmox.Params{"ide2": cd, "boot": "order=scsi0;ide2"},
			want: proxmox.Params{"ide2": cd},
		},
		"Order": {
			reason: "The drive waits for another order.", now: "order=net0", set: proxmox.Params{"ide2": cd, "scsi0": "a:b", "boot": "order=scsi0;net0"},
			want: proxmox.Params{"scsi0": "a:b", "boot": "order=scsi0;net0"},
		},
		"Both": {
			reason: "The order that is sent first does not name the drive.",
			now:    "order=net0", set: proxmox.Params{"ide2": cd, "scsi0": "a:b", "boot": "order=scsi0;ide2;net0"},
			want: proxmox.Params{"scsi0": "a:b", "boot": "order=scsi0;net0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Difference{Set: tc.set}
			d.takeTurns(State{Active: Config{"boot": tc.now}})
			if diff := cmp.Diff(tc.want, d.Set); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKeptBootOrder edits specs that declare no boot order. The VM must boot like a new one of the last spec.
func TestKeptBootOrder(t *testing.T) {
	byHand := func(device string) func(*lifetime) { return func(l *lifetime) { l.detach(l.config, device) } }
	to := func(p spec) func(*lifetime) {
		return func(l *lifetime) {
			if err := l.edit(p); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	root, gone := disksOf(disk("root")), disksOf(leaving(disk("root"), "Detach"))
	blank := withVolume(sized("root-2", "4G"), "")
	cases := map[string]struct {
		reason string
		boot   string // That of the template, if it is another one.
		edits  []func(*lifetime)
		want   string
		disk   string // What the VM has at scsi0 at the end.
		lost   string
	}{
		"Untouched": {reason: "An order is left as it is.", edits: []func(*lifetime){to(root)}, want: "order=scsi0;net0"},
		"PutBack": {
			reason: "A disk that is put back is booted from again.", edits: []func(*lifetime){to(gone), to(disksOf()), to(root)},
			want: "order=scsi0;net0", disk: "local-lvm:vm-100-disk-0,discard=on,size=8G",
		},
		"Alone": {
			reason: "A disk that is put back is booted from again if nothing else was in the order.",
			boot:   "order=scsi0", edits: []func(*lifetime){to(gone), to(disksOf()), to(root)},
			want: "order=scsi0",
		},
		"ByHand": {
			reason: "A disk that somebody has detached is booted from again, with the options that it had.",
			edits:  []func(*lifetime){to(root), byHand("scsi0"), to(root)},
			want:   "order=scsi0;net0", disk: "local-lvm:vm-100-disk-0,discard=on,size=8G",
		},
		"Network": {
			reason: "An interface has its place again.",
			edits:  []func(*lifetime){to(networksOf(network("lan"))), byHand("net0"), to(networksOf(network("lan")))}, want: "order=scsi0;net0",
		},
		"Replaced": {
			reason: "What takes the place of the boot disk is booted from.", edits: []func(*lifetime){to(gone), to(disksOf(blank))}, want: "order=scsi2;net0",
		},
		"ReplacedDestroyed": {
			reason: "What takes the place of a boot disk that was destroyed is booted from.",
			edits:  []func(*lifetime){to(disksOf(leaving(disk("root"), "Destroy"))), to(disksOf(blank))}, want: "order=scsi2;net0",
		},
		"ReplacedLater": {
			reason: "What takes the place of the boot disk later is booted from.",
			edits:  []func(*lifetime){to(gone), to(disksOf()), to(disksOf(blank))}, want: "order=scsi0;net0",
		},
		"First": {
			reason: "The first disk of a VM that had none comes first, as on a new VM.",
			edits: []func(*lifetime){
				func(l *lifetime) {
					l.config = Config{"smbios1": "uuid=" + ourUUID, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "boot": "order=net0"}
				},
				to(spec{}), to(disksOf(sized("root", "8G"), sized("more", "1G"))),
			},
			want: "order=scsi0;net0",
		},
		"Data": {
			reason: "Another new disk is not.",
			edits:  []func(*lifetime){to(root), to(disksOf(disk("root"), disk("data"), sized("more", "1G")))}, want: "order=scsi0;net0",
		},
		"Gone": {
			reason: "A VM that has lost the disk which it booted from says so.", edits: []func(*lifetime){to(root), to(spec{}), byHand("scsi0"), to(spec{})},
			want: "order=net0", lost: "scsi0",
		},
		"Declared": {
			reason: "A declared order is kept, whatever was before.",
			edits:  []func(*lifetime){to(root), to(spec{BootOrder: []string{"net0"}}), byHand("scsi0"), to(spec{BootOrder: []string{"net0"}})}, want: "order=net0",
		},
		"Chosen": {
			reason: "An order that somebody has set stays.", want: "order=net0",
			edits: []func(*lifetime){
				to(root), func(l *lifetime) { l.config["boot"] = "order=net0" }, to(root), to(disksOf(disk("root"), disk("data"), sized("more", "1G"))),
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := &lifetime{t: t, config: cloneConfig()}
			if tc.boot != "" {
				l.config["boot"] = tc.boot
			}
			for _, edit := range tc.edits {
				edit(l)
			}
			if got := l.config["boot"]; got != tc.want {
				t.Errorf("\n%s\nwant %s, got %s", tc.reason, tc.want, got)
			}
			if got := l.config["scsi0"]; tc.disk != "" && got != tc.disk {
				t.Errorf("\n%s\nscsi0: want %s, got %s", tc.reason, tc.disk, got)
			}
			if got := l.devices.BootDiskGone(State{Config: l.config, Active: l.config}); got != tc.lost {
				t.Errorf("\n%s\nboot disk that is gone: want %q, got %q", tc.reason, tc.lost, got)
			}
		})
	}
}

// TestOverwrittenBoot checks orders that wait for the next start, and how PVE overwrites them: it derives an order from the one in force when a device is
// removed from the VM, or when a drive for removable media is added.
func TestOverwrittenBoot(t *testing.T) {
	const nic = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	root := func(p spec) spec {
		p.Disks = []v1alpha1.MachineDisk{sized("root", "2G")}
		return p
	}
	made := Devices{
		Disks: map[string]string{"root": "scsi0"}, Networks: map[string]string{"lan": "net0"}, Seen: map[string]bool{"root": true},
		Made: map[string]bool{"disks/root": true, "networks/lan": true}, MACs: map[string]string{"lan": "BC:24:11:00:00:01"},
		Boot: []string{"scsi0", "net0"}, assigned: true,
	}
	cases := map[string]struct {
		reason         string
		spec           spec
		active, waits  string
		active0, wait0 Config // What the VM has in addition to its disk, in force and at the next start.
		want           string
		remembered     []string
	}{
		"Left": {
			reason: "The disk that a VM without disks has got stays in the order when the interface goes.",
			spec:   root(spec{Networks: []v1alpha1.MachineNetwork{}}), active: "order=net0", waits: "", active0: Config{"net0": nic},
			want: "order=scsi0", remembered: []string{"scsi0", "net0"},
		},
		"Gone": {
			reason: "An interface that somebody removes comes back behind the disk.", spec: root(networksOf(network("lan"))),
			active: "order=net0", waits: "", active0: Config{"net0": nic}, want: "order=scsi0;net0", remembered: []string{"scsi0", "net0"},
		},
		"Drive": {
			reason: "A drive that joins comes last.", spec: root(networksOf(network("lan"))), active: "order=net0", waits: "order=net0;ide2",
			active0: Config{"net0": nic}, wait0: Config{"net0": nic, "ide2": "local:iso/a.iso,media=cdrom"},
			want: "order=scsi0;net0;ide2", remembered: []string{"scsi0", "net0"},
		},
		"Chosen": {
			reason: "An order that somebody has set stays.", spec: root(networksOf(network("lan"))), active: "order=scsi0;net0", waits: "order=net0",
			active0: Config{"net0": nic}, wait0: Config{"net0": nic}, remembered: []string{"net0"},
		},
		"Declared": {
			reason: "A declared order is what it is.", spec: root(spec{BootOrder: []string{"root"}, Networks: []v1alpha1.MachineNetwork{}}),
			active: "order=net0", waits: "", active0: Config{"net0": nic}, want: "order=scsi0", remembered: nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := State{Active: Config{"scsi0": "local-lvm:vm-100-disk-0,size=2G", "boot": tc.active}, Config: Config{"scsi0": "local-lvm:vm-100-disk-0,size=2G"}}
			maps.Copy(s.Active, tc.active0)
			maps.Copy(s.Config, tc.wait0)
			if tc.waits != "" {
				s.Config["boot"] = tc.waits
			}
			s.Pending = []proxmox.PendingValue{{Key: "boot"}}
			devices, err := made.On(s, &tc.spec, lifetimeDefaults, 2)
			if err != nil {
				t.Fatal(err)
			}
			d := Desired{MachineParameters: &tc.spec, Identity: Identity{VMID: 100, UUID: ourUUID}, Defaults: lifetimeDefaults, Devices: devices}
			if got := d.Change(s).Set["boot"]; got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
			if diff := cmp.Diff(tc.remembered, devices.Boot); diff != "" {
				t.Errorf("%s\nremembered: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
