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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// templateConfig returns a configuration of a template whose boot disk is not the first by its number.
func templateConfig() Config {
	return Config{
		"scsi0": "local-lvm:base-9000-disk-1,size=8G",
		"scsi1": "local-lvm:base-9000-disk-0,size=2G",
		"ide2":  "local-lvm:vm-9000-cloudinit,media=cdrom",
		"net1":  "virtio=BC:24:11:00:00:02,bridge=vmbr1",
		"net0":  "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		"boot":  "order=scsi1;ide2;net0",
	}
}

func TestMACs(t *testing.T) {
	const one, other = "BC:24:11:00:00:01", "BC:24:11:00:00:02"
	lan := &v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{network("lan")}}
	cases := map[string]struct {
		reason   string
		spec     *v1alpha1.MachineParameters
		was, now Config
		want     string
	}{
		"Gone": {
			reason: "An interface that is gone comes back with its MAC address.", spec: lan,
			was: Config{"net0": "virtio=" + one + ",bridge=vmbr0"}, now: Config{}, want: one,
		},
		"Changed": {
			reason: "One that was changed by hand is kept as it became.", spec: lan, was: Config{"net0": "virtio=" + one},
			now: Config{"net0": "virtio=" + other}, want: other,
		},
		"Elsewhere": {
			reason: "No two interfaces have the same one.", spec: lan, was: Config{"net0": "virtio=" + one},
			now: Config{"net1": "e1000=" + strings.ToLower(one)},
		},
		"Off": {
			reason: "One off the list has its own when it comes back to it.",
			spec:   &v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{}}, was: Config{"net0": "virtio=" + one}, now: Config{},
			want: one,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := Devices{}.On(State{Active: tc.was, Config: tc.was}, lan, Defaults{}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if d, err = ParseDevices(d.String()); err != nil {
				t.Fatal(err)
			}
			if d, err = d.On(State{Active: tc.now, Config: tc.now}, tc.spec, Defaults{}, 2); err != nil {
				t.Fatal(err)
			}
			if got := d.MACs["lan"]; got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
			want := Desired{MachineParameters: lan, Devices: d}.Difference(Config{}).Set["net0"]
			if tc.spec == lan && tc.want != "" && !strings.Contains(want, "virtio="+tc.want) {
				t.Errorf("%s\nwithout an interface, %q is set", tc.reason, want)
			}
		})
	}
}

func disk(name string) v1alpha1.MachineDisk       { return v1alpha1.MachineDisk{Name: name} }
func network(name string) v1alpha1.MachineNetwork { return v1alpha1.MachineNetwork{Name: name} }

func diskOn(name, device string) v1alpha1.MachineDisk {
	return v1alpha1.MachineDisk{Name: name, Device: &device}
}

func networkOn(name, device string) v1alpha1.MachineNetwork {
	return v1alpha1.MachineNetwork{Name: name, Device: &device}
}

func cdromOf(name, iso string) v1alpha1.MachineCDROM {
	return v1alpha1.MachineCDROM{Name: name, ISO: &iso}
}

func cdromOn(name, device string) v1alpha1.MachineCDROM {
	return v1alpha1.MachineCDROM{Name: name, Device: &device}
}

func diskOf(name, bus string) v1alpha1.MachineDisk {
	return v1alpha1.MachineDisk{Name: name, Type: &bus}
}

func TestAssign(t *testing.T) {
	kept := func(disks, networks map[string]string) Devices {
		return Devices{Disks: disks, Networks: networks, assigned: true}
	}
	type m = map[string]string
	type assignment struct {
		reason string
		before Devices
		spec   v1alpha1.MachineParameters
		have   map[string]string
		want   Devices
		err    string
	}
	cases := map[string]assignment{
		"EmptyVM": {
			reason: "Without a source, entries get the lowest devices in their order.",
			spec: v1alpha1.MachineParameters{
				Disks:    []v1alpha1.MachineDisk{disk("a"), diskOf("b", "virtio"), disk("c")},
				Networks: []v1alpha1.MachineNetwork{network("x"), network("y")},
			},
			want: Devices{Disks: m{"a": "scsi0", "b": "virtio0", "c": "scsi1"}, Networks: m{"x": "net0", "y": "net1"}},
		},
		"CloneTakesBootDiskFirst": {
			reason: "The first disk of a clone is the one that it boots from.",
			spec: v1alpha1.MachineParameters{
				Disks: []v1alpha1.MachineDisk{disk("root"), disk("data")}, Networks: []v1alpha1.MachineNetwork{network("x"), network("y")},
			},
			have: templateConfig(),
			want: Devices{Disks: m{"root": "scsi1", "data": "scsi0"}, Networks: m{"x": "net0", "y": "net1"}},
		},
		"CloneMore": {
			reason: "Entries beyond what the source has are new devices. Drives of removable media are no disks.",
			spec: v1alpha1.MachineParameters{
				Disks:    []v1alpha1.MachineDisk{disk("root"), disk("data"), disk("more"), diskOf("old", "ide")},
				Networks: []v1alpha1.MachineNetwork{network("x"), network("y"), network("z")},
			},
			have: templateConfig(),
			want: Devices{Disks: m{"root": "scsi1", "data": "scsi0", "more": "scsi2", "old": "ide0"}, Networks: m{"x": "net0", "y": "net1", "z": "net2"}},
		},
		"CloneByType": {
			reason: "A type that no disk of the source has makes a new disk.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{diskOf("fast", "virtio"), diskOf("root", "scsi")}},
			have:   templateConfig(),
			want:   Devices{Disks: m{"fast": "virtio0", "root": "scsi1"}, Networks: m{}},
		},
		"ExplicitFirst": {
			reason: "Named devices are set aside before the others choose.",
			spec: v1alpha1.MachineParameters{
				Disks:    []v1alpha1.MachineDisk{disk("root"), diskOn("data", "scsi1")},
				Networks: []v1alpha1.MachineNetwork{network("x"), networkOn("y", "net0")},
			},
			have: templateConfig(),
			want: Devices{Disks: m{"root": "scsi0", "data": "scsi1"}, Networks: m{"x": "net1", "y": "net0"}},
		},
		"LaterIsNew": {
			reason: "An entry that is added later is a new device, although the VM has undeclared ones that it did not come with.",
			before: kept(m{"root": "scsi1"}, m{"x": "net0"}),
			spec: v1alpha1.MachineParameters{
				Disks: []v1alpha1.MachineDisk{disk("data"), disk("root")}, Networks: []v1alpha1.MachineNetwork{network("y"), network("x")},
			},
			have: templateConfig(),
			want: Devices{Disks: m{"root": "scsi1", "data": "scsi2"}, Networks: m{"x": "net0", "y": "net2"}},
		},
		"Reordered": {
			reason: "The position in the list is of no meaning.",
			before: kept(m{"a": "scsi0", "b": "scsi1"}, m{"x": "net1", "y": "net0"}),
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{disk("b"), disk("a")}, Networks: []v1alpha1.MachineNetwork{network("y"), network("x")}},
			have:   templateConfig(),
			want:   Devices{Disks: m{"a": "scsi0", "b": "scsi1"}, Networks: m{"x": "net1", "y": "net0"}},
		},
		"RemovedStays": {
			reason: "A device whose entry was taken off the list is not given to another one before it is detached.",
			before: kept(m{"a": "scsi0", "b": "scsi1"}, nil),
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{disk("a"), disk("c")}},
			have:   map[string]string{"scsi0": "s:a,size=1G", "scsi1": "s:b,size=1G"},
			want:   Devices{Disks: m{"a": "scsi0", "b": "scsi1", "c": "scsi2"}, Networks: m{}},
		},
		"TwoOfOneDevice": {
			reason: "A device that an entry has cannot be named by another.",
			before: kept(m{"a": "scsi0"}, nil),
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{disk("a"), diskOn("b", "scsi0")}},
			err:    "device scsi0 is disk \"a\" already",
		},
		"OtherDevice": {
			reason: "An entry cannot become another device.",
			before: kept(nil, m{"x": "net0"}),
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{networkOn("x", "net1")}},
			err:    "network \"x\" is device net0",
		},
		"Full": {
			reason: "A bus has an end.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{diskOf("a", "ide"), diskOf("b", "ide"), diskOf("c", "ide"), diskOf("d", "ide")}},
			have:   map[string]string{"ide2": "none,media=cdrom"},
			err:    "no free ide device for disk \"d\"",
		},
	}
	maps.Copy(cases, map[string]assignment{
		"NewDrives": {
			reason: "New CD-ROM drives get the devices of PVE's habit, or those of the type that is asked for. Neither disks nor that of iso are among them.",
			spec: v1alpha1.MachineParameters{
				ISO: new("l:iso/a"), Disks: []v1alpha1.MachineDisk{diskOf("old", "ide")},
				CDROMs: []v1alpha1.MachineCDROM{{Name: "b"}, {Name: "s", Type: new("sata")}, {Name: "v", Type: new("scsi")}, {Name: "c"}, {Name: "d"}},
			},
			want: Devices{ISO: "ide2", Disks: m{"old": "ide0"}, CDROMs: m{"b": "ide1", "s": "sata0", "v": "scsi0", "c": "ide3", "d": "sata1"}},
		},
		"NamedDrives": {
			reason: "What the spec names nobody else gets.",
			spec: v1alpha1.MachineParameters{
				ISO: new("l:iso/a"), Disks: []v1alpha1.MachineDisk{disk("root")},
				CDROMs: []v1alpha1.MachineCDROM{cdromOn("b", "ide2"), cdromOn("c", "scsi0")},
			},
			want: Devices{ISO: "ide0", Disks: m{"root": "scsi1"}, CDROMs: m{"b": "ide2", "c": "scsi0"}},
		},
		"DrivesByMedium": {
			reason: "A drive that has the image is the one, whatever the order; the others go to whom is left. Those for cloud-init are nobody's.",
			spec: v1alpha1.MachineParameters{
				CDROMs: []v1alpha1.MachineCDROM{cdromOf("first", ""), cdromOf("drivers", "l:iso/d"), {Name: "disc", Physical: new(true)}, cdromOf("more", "l:iso/m")},
			},
			have: map[string]string{
				"ide0": "l:iso/d,media=cdrom", "ide1": "l:vm-100-cloudinit,media=cdrom", "ide2": "l:iso/w,media=cdrom", "sata1": "cdrom,media=cdrom",
				"ide3": ourImage + ",media=cdrom",
			},
			want: Devices{CDROMs: m{"first": "ide2", "drivers": "ide0", "disc": "sata1", "more": "sata0"}},
		},
		"ISOByMedium": {
			reason: "The drive that has the image of iso is that of iso, whatever the order.",
			spec:   v1alpha1.MachineParameters{ISO: new("l:iso/w"), CDROMs: []v1alpha1.MachineCDROM{{Name: "a"}}},
			have:   map[string]string{"ide0": "l:iso/d,media=cdrom", "ide2": "l:iso/w,media=cdrom"},
			want:   Devices{ISO: "ide2", CDROMs: m{"a": "ide0"}},
		},
		"LaterDrive": {
			reason: "An entry that is added later is a new drive, unless one has its image.",
			before: kept(m{}, m{}),
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOf("a", "l:iso/a"), cdromOf("b", "l:iso/b"), cdromOf("c", "")}},
			have:   map[string]string{"ide2": "none,media=cdrom", "ide0": "l:iso/b,media=cdrom"},
			want:   Devices{CDROMs: m{"a": "ide1", "b": "ide0", "c": "ide3"}},
		},
		"FromISO": {
			reason: "The drive of iso becomes that of an entry that takes its image over.",
			before: Devices{ISO: "ide2", assigned: true},
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOf("a", "l:iso/a")}},
			have:   map[string]string{"ide2": "l:iso/a,media=cdrom"},
			want:   Devices{CDROMs: m{"a": "ide2"}},
		},
		"FromISOByDevice": {
			reason: "The drive of iso becomes that of an entry that names it.",
			before: Devices{ISO: "ide2", assigned: true},
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOn("a", "ide2")}},
			have:   map[string]string{"ide2": "l:iso/a,media=cdrom"},
			want:   Devices{CDROMs: m{"a": "ide2"}},
		},
		"RenamedDrive": {
			reason: "An entry takes the place of one that is off the list, if it names its device.",
			before: Devices{CDROMs: m{"ide0": "ide0", "ide2": "ide2"}, assigned: true},
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOn("drivers", "ide0")}},
			have:   map[string]string{"ide0": "l:iso/a,media=cdrom", "ide2": "none,media=cdrom"},
			want:   Devices{CDROMs: m{"drivers": "ide0", "ide2": "ide2"}},
		},
		"RenamedByMedium": {
			reason: "An entry that asks for the image in a drive takes the place of one that is off the list. Drives of others go, and are nobody's until then.",
			before: Devices{CDROMs: m{"a": "ide0", "b": "ide2", "c": "sata0"}, assigned: true},
			spec: v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{
				cdromOf("drivers", "l:iso/a"), cdromOf("tools", "l:iso/t"), {Name: "disc", ISO: new("l:iso/c"), Type: new("ide")},
			}},
			have: map[string]string{"ide0": "l:iso/a,media=cdrom", "ide2": "l:iso/b,media=cdrom", "sata0": "l:iso/c,media=cdrom"},
			want: Devices{CDROMs: m{"drivers": "ide0", "b": "ide2", "c": "sata0", "tools": "ide1", "disc": "ide3"}},
		},
		"DriveOfISO": {
			reason: "The drive of iso is not another one's.",
			before: Devices{ISO: "ide2", assigned: true},
			spec:   v1alpha1.MachineParameters{ISO: new("l:iso/a"), CDROMs: []v1alpha1.MachineCDROM{cdromOn("a", "ide2")}},
			err:    "device ide2 is the drive of iso already",
		},
		"DriveOfDisk": {
			reason: "The device of a disk cannot become a CD-ROM drive.",
			before: kept(m{"root": "scsi0"}, m{}),
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{disk("root")}, CDROMs: []v1alpha1.MachineCDROM{cdromOn("a", "scsi0")}},
			err:    "device scsi0 is both disk \"root\" and CD-ROM drive \"a\"",
		},
		"TwoOfOneDrive": {
			reason: "A drive has one name.",
			before: Devices{CDROMs: m{"a": "ide0"}, assigned: true},
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{{Name: "a"}, cdromOn("b", "ide0")}},
			err:    "device ide0 is CD-ROM drive \"a\" already",
		},
		"OtherType": {
			reason: "A drive does not change its bus.",
			before: Devices{CDROMs: m{"a": "ide0"}, assigned: true},
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{{Name: "a", Type: new("sata")}}},
			err:    "CD-ROM drive \"a\" is device ide0: its type cannot become sata",
		},
		"NoDriveLeft": {
			reason: "A bus has an end.",
			spec: v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{
				{Name: "a", Type: new("ide")}, {Name: "b", Type: new("ide")}, {Name: "c", Type: new("ide")},
			}},
			have: map[string]string{"ide0": "l:d,size=1G", "ide1": "l:vm-100-cloudinit,media=cdrom"},
			err:  "no free ide device for CD-ROM drive \"c\"",
		},
	})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.before.String()
			got, err := tc.before.Assign(&tc.spec, tc.have)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("\n%s\nassign: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want.all(), got.all(), cmpopts.EquateEmpty()); diff != "" || tc.want.ISO != got.ISO {
				t.Errorf("\n%s\nassign: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.before.String() != before {
				t.Errorf("\n%s\nassign changed what it was called on: %s is now %s", tc.reason, before, tc.before)
			}
		})
	}
}

func TestParseDevices(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      string
		want   Devices
		fails  bool
	}{
		"Absent": {reason: "Without the annotation nothing is assigned."},
		"None":   {reason: "An assignment of nothing is one.", s: "{}", want: Devices{assigned: true}},
		"Some":   {reason: "What was written is read.", s: `{"disks":{"a":"scsi0"}}`, want: Devices{Disks: map[string]string{"a": "scsi0"}, assigned: true}},
		"Broken": {reason: "What somebody else wrote is not guessed at.", s: "scsi0", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDevices(tc.s)
			if (err != nil) != tc.fails {
				t.Fatalf("\n%s\nparseDevices: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Devices{}), cmpopts.EquateEmpty()); diff != "" && !tc.fails {
				t.Errorf("\n%s\nparseDevices: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCompareDevices(t *testing.T) {
	config := Config{"scsi10": "a:x", "scsi2": "a:y", "sata0": "a:z", "net0": "virtio", "unused0": "a:u", "efidisk0": "a:e", "scsihw": "lsi"}
	want := []string{"sata0", "scsi2", "scsi10"}
	if diff := cmp.Diff(want, config.Disks()); diff != "" {
		t.Errorf("Disks are in the order of bus and number, and nothing else is one of them: -want, +got:\n%s", diff)
	}
}
