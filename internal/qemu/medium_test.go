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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestMedia(t *testing.T) {
	none := v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{}}
	ours := Devices{CDROMs: map[string]string{"a": "ide0"}, assigned: true}
	list := func(c ...v1alpha1.MachineCDROM) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{CDROMs: c}
	}
	config := func(ide0 string) Config { return Config{"ide0": ide0} }
	cases := map[string]struct {
		reason  string
		devices Devices
		spec    v1alpha1.MachineParameters
		held    map[string]bool
		config  Config
		set     proxmox.Params
		remove  []string
	}{
		"New":       {reason: "A new drive is empty.", spec: list(v1alpha1.MachineCDROM{Name: "a"}), set: proxmox.Params{"ide2": "none,media=cdrom"}},
		"NewMedium": {reason: "A new drive has its image.", spec: list(cdromOf("a", "l:iso/a")), set: proxmox.Params{"ide2": "l:iso/a,media=cdrom"}},
		"NewPhysical": {
			reason: "A new drive may be the physical one of the node.", spec: list(v1alpha1.MachineCDROM{Name: "a", Physical: new(true)}),
			set: proxmox.Params{"ide2": "cdrom,media=cdrom"},
		},
		"Same": {reason: "PVE adds the size of an image.", devices: ours, spec: list(cdromOf("a", "l:iso/a")), config: config("l:iso/a,media=cdrom,size=1G")},
		"Undeclared": {
			reason: "What is in a drive stays, unless the spec says otherwise.", devices: ours, spec: list(v1alpha1.MachineCDROM{Name: "a"}),
			config: config("l:iso/a,media=cdrom,size=1G"),
		},
		"Change": {
			reason: "Another medium is put in. What else the drive has stays.", devices: ours, spec: list(cdromOf("a", "l:iso/b")),
			config: config("l:iso/a,media=cdrom,serial=x,size=1G"), set: proxmox.Params{"ide0": "l:iso/b,media=cdrom,serial=x"},
		},
		"Eject": {
			reason: "An empty one takes it out.", devices: ours, spec: list(cdromOf("a", "")), config: config("l:iso/a,media=cdrom"),
			set: proxmox.Params{"ide0": "none,media=cdrom"},
		},
		"Ejected": {
			reason: "A medium that somebody took out is put back.", devices: ours, spec: list(cdromOf("a", "l:iso/a")),
			config: config("none,media=cdrom"), set: proxmox.Params{"ide0": "l:iso/a,media=cdrom"},
		},
		"Physical": {
			reason: "The node's drive takes the place of an image.", devices: ours,
			spec: list(v1alpha1.MachineCDROM{Name: "a", Physical: new(true)}), config: config("l:iso/a,media=cdrom"),
			set: proxmox.Params{"ide0": "cdrom,media=cdrom"},
		},
		"NotPhysical": {
			reason:  "The physical drive of the node is taken away where the spec does not want it.",
			devices: ours, spec: list(v1alpha1.MachineCDROM{Name: "a", Physical: new(false)}),
			config: config("cdrom,media=cdrom"), set: proxmox.Params{"ide0": "none,media=cdrom"},
		},
		"NeverWas": {
			reason: "An image is not the node's drive.", devices: ours, spec: list(v1alpha1.MachineCDROM{Name: "a", Physical: new(false)}),
			config: config("l:iso/a,media=cdrom"),
		},
		"Gone": {
			reason: "A drive that somebody has removed is created again: it holds nothing that could be lost.", devices: ours,
			spec: list(cdromOf("a", "l:iso/a")), config: Config{}, set: proxmox.Params{"ide0": "l:iso/a,media=cdrom"},
		},
		"Removed": {
			reason: "A drive that is off the list is removed.", spec: none, devices: ours, config: config("l:iso/a,media=cdrom"),
			remove: []string{"ide0"},
		},
		"RemovedDisk": {reason: "A disk that has come in the place of a removed drive stays.", spec: none, devices: ours, config: config("l:vm-100-disk-0,size=1G")},
		"RemovedDrive": {
			reason: "A drive for cloud-init that has come in the place of a removed drive stays.",
			spec:   none, devices: ours, config: config("l:vm-100-cloudinit,media=cdrom"),
		},
		"Foreign": {
			reason: "A drive that is not declared is left alone.", spec: list(cdromOf("a", "")), devices: ours,
			config: Config{"ide0": "none,media=cdrom", "ide2": "l:iso/x,media=cdrom"},
		},
		"Held": {
			reason: "An image that the VM cannot migrate with is kept out.", devices: ours, spec: list(cdromOf("a", "l:iso/a")),
			held: map[string]bool{"l": true}, config: config("l:iso/a,media=cdrom"), set: proxmox.Params{"ide0": "none,media=cdrom"},
		},
		"NotHeld": {
			reason: "One that goes along is not.", devices: ours, spec: list(cdromOf("a", "l:iso/a")), held: map[string]bool{"m": true},
			config: config("l:iso/a,media=cdrom"),
		},
		"ISO": {
			reason: "iso has a drive of its own.",
			spec:   v1alpha1.MachineParameters{ISO: new("l:iso/w"), CDROMs: []v1alpha1.MachineCDROM{cdromOf("a", "l:iso/a")}},
			set:    proxmox.Params{"ide2": "l:iso/w,media=cdrom", "ide0": "l:iso/a,media=cdrom"},
		},
		"Protected": {
			reason: "PVE lets no drive of a protected VM go.", devices: ours, spec: v1alpha1.MachineParameters{Protection: new(false)},
			config: Config{"ide0": "none,media=cdrom", "protection": "1"}, set: proxmox.Params{"protection": "0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, tc.spec, tc.devices, tc.config)
			d.EjectStorages, d.Identity = tc.held, Identity{UUID: ourUUID, VMID: 100}
			config := Config{"smbios1": "uuid=" + ourUUID}
			maps.Copy(config, tc.config)
			want := Difference{Set: tc.set, Delete: tc.remove}
			if diff := cmp.Diff(want, d.Difference(config), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBootOrderOfNew(t *testing.T) {
	windows := v1alpha1.MachineParameters{
		ISO: new("l:iso/w"), CDROMs: []v1alpha1.MachineCDROM{cdromOf("drivers", "l:iso/d")},
		Disks: []v1alpha1.MachineDisk{
			{Name: "a", Type: new("sata"), Size: new("1G")}, {Name: "b", Size: new("1G")},
		}, Networks: []v1alpha1.MachineNetwork{network("lan")},
	}
	with := func(change func(p *v1alpha1.MachineParameters)) v1alpha1.MachineParameters {
		p := *windows.DeepCopy()
		change(&p)
		return p
	}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   string
	}{
		"Windows": {reason: "PVE would boot from ide0, which has the drivers and is one of two drives.", spec: windows, want: "order=scsi0;ide2;net0"},
		"One":     {reason: "PVE is right where there is one drive.", spec: with(func(p *v1alpha1.MachineParameters) { p.CDROMs = nil })},
		"Later": {
			reason: "The order of PVE is right if the installer comes first.",
			spec:   with(func(p *v1alpha1.MachineParameters) { p.CDROMs[0].Type = new("sata") }),
		},
		"Declared": {
			reason: "What is declared stands.", spec: with(func(p *v1alpha1.MachineParameters) { p.BootOrder = []string{"drivers", "a"} }),
			want: "order=ide0;sata0",
		},
		"ByName": {reason: "Without iso the first medium of the list is the installer.", spec: with(func(p *v1alpha1.MachineParameters) {
			p.ISO, p.CDROMs = nil, []v1alpha1.MachineCDROM{cdromOf("empty", ""), cdromOf("w", "l:iso/w"), {Name: "d", Device: new("ide0")}}
		}), want: "order=scsi0;ide1;net0"},
		"CloudInit": {reason: "A drive for cloud-init is none to boot from.", spec: with(func(p *v1alpha1.MachineParameters) {
			p.CDROMs, p.CloudInit = nil, &v1alpha1.MachineCloudInit{Storage: new("l")}
		}), want: "order=scsi0;ide2;net0"},
		"Diskless": {reason: "A VM may have nothing else.", spec: v1alpha1.MachineParameters{ISO: windows.ISO, CDROMs: windows.CDROMs}, want: "order=ide2"},
		"NoMedium": {reason: "From empty drives nothing boots.", spec: v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{{Name: "a"}, {Name: "b"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, tc.spec, Devices{}, nil)
			d.Created, d.Defaults = true, Defaults{Storage: "s", Bridge: "vmbr0"}
			if got := d.Params()["boot"]; got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
