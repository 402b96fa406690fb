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

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestHanded follows the disk of a Volume that a VM has, or may have, while its Volume does not exist.
func TestHanded(t *testing.T) {
	const disk, other = "lvm:vm-100-disk-1", "lvm:vm-100-disk-2"
	entry := v1alpha1.MachineDisk{Name: "data", Device: new("scsi5"), VolumeRef: &v1alpha1.VolumeReference{Name: "v"}}
	listed := entry
	listed.Volume = new(disk)
	own := v1alpha1.MachineDisk{Name: "data", Device: new("scsi5")}
	plain := v1alpha1.MachineDisk{Name: "root", Device: new("virtio0")}
	named := plain
	named.Volume = new(disk)
	is := func(device, volume string) VolumeDisk { return VolumeDisk{Device: device, Volume: volume} }
	cases := map[string]struct {
		reason string
		spec   []v1alpha1.MachineDisk
		before []Config
		now    Config
		want   VolumeDisk
	}{
		"Has":      {reason: "The VM has it.", spec: []v1alpha1.MachineDisk{listed}, now: Config{"scsi5": disk}, want: is("scsi5", disk)},
		"NoVolume": {reason: "The Volume is gone.", spec: []v1alpha1.MachineDisk{entry}, now: Config{"scsi5": disk}, want: is("scsi5", disk)},
		"Off":      {reason: "The list has it no more.", spec: []v1alpha1.MachineDisk{}, now: Config{"scsi5": disk}, want: is("scsi5", disk)},
		"Detached": {
			reason: "PVE destroys unused disks with their VM.", spec: []v1alpha1.MachineDisk{}, now: Config{"unused0": disk}, want: is("unused0", disk),
		},
		"Renamed": {
			reason: "A migration gives it another name.", spec: []v1alpha1.MachineDisk{entry}, now: Config{"scsi5": other}, want: is("scsi5", other),
		},
		"Exchanged": {
			reason: "A migration gives its name to another disk of the Machine.", spec: []v1alpha1.MachineDisk{entry, plain},
			now: Config{"scsi5": other, "virtio0": disk}, want: is("scsi5", other),
		},
		"ExchangedOff": {
			reason: "A migration gives its name to another disk of the Machine, and the list does not have it.", spec: []v1alpha1.MachineDisk{plain},
			now: Config{"scsi5": other, "virtio0": disk}, want: is("scsi5", other),
		},
		"ExchangedNamed": {
			reason: "A migration gives its name to a disk that the spec names by that.", spec: []v1alpha1.MachineDisk{named},
			now: Config{"scsi5": other, "virtio0": disk}, want: is("scsi5", other),
		},
		"RenamedDetached": {
			reason: "The disk is detached once it has another name.", spec: []v1alpha1.MachineDisk{},
			before: []Config{{"scsi5": other}}, now: Config{"unused0": other}, want: is("unused0", other),
		},
		"ExchangedDetached": {
			reason: "The disk is detached once another one has its name.", spec: []v1alpha1.MachineDisk{plain},
			before: []Config{{"scsi5": other, "virtio0": disk}}, now: Config{"unused0": other, "virtio0": disk}, want: is("unused0", other),
		},
		"Replaced": {
			reason: "Another disk takes its device once it is detached.", spec: []v1alpha1.MachineDisk{own},
			before: []Config{{"unused0": disk}}, now: Config{"scsi5": other, "unused0": disk}, want: is("unused0", disk),
		},
		"RenamedReplaced": {
			reason: "The disk is detached once it has another name, and another one takes its device.", spec: []v1alpha1.MachineDisk{},
			before: []Config{{"scsi5": other}, {"unused0": other}}, now: Config{"scsi5": "lvm:vm-100-disk-3", "unused0": other}, want: is("unused0", other),
		},
		"Elsewhere": {reason: "Somebody attaches it as another device.", spec: []v1alpha1.MachineDisk{}, now: Config{"scsi2": disk}, want: is("scsi2", disk)},
		"Ruined": {
			reason: "A restore in place has failed, and its disk is there after the next one.", spec: []v1alpha1.MachineDisk{},
			before: []Config{{"memory": "128"}}, now: Config{"unused0": disk}, want: is("unused0", disk),
		},
		"NameAnew": {
			reason: "The disk was handed back, and a new one has got its name.", spec: []v1alpha1.MachineDisk{plain}, now: Config{"virtio0": disk},
		},
		"ExchangedAndDetached": {
			reason: "A disk that had another name has its name, and nothing is in its place.", spec: []v1alpha1.MachineDisk{plain},
			before: []Config{{"scsi5": disk, "virtio0": other}, {"virtio0": disk}}, now: Config{"virtio0": disk}, want: is("virtio0", disk),
		},
		"Named": {
			reason: "The spec names it, as another device: it is the Machine's by then.", spec: []v1alpha1.MachineDisk{named}, now: Config{"virtio0": disk},
		},
		"Template": {reason: "The disk of a template was lost.", spec: []v1alpha1.MachineDisk{entry}, now: Config{"scsi5": "lvm:base-100-disk-1"}},
		"Gone":     {reason: "The disk has left the VM.", spec: []v1alpha1.MachineDisk{entry}, now: Config{"scsi0": other}},
		"Own":      {reason: "The list has it as a disk of the Machine.", spec: []v1alpha1.MachineDisk{own}, now: Config{"scsi5": disk}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Devices{assigned: true}
			state := func(c Config) State { return State{Config: c, Active: c} }
			d, err := d.On(state(Config{"scsi5": disk}), &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{listed}}, Defaults{}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if d, err = ParseDevices(d.String()); err != nil {
				t.Fatal(err)
			}
			for _, c := range append(tc.before, tc.now) {
				if d, err = d.On(state(c), &v1alpha1.MachineParameters{Disks: tc.spec}, Defaults{}, 2); err != nil {
					t.Fatal(err)
				}
			}
			got := d.Handed.In(state(tc.now), 100)
			if got["v"] != tc.want || len(got) > 1 {
				t.Errorf("%s got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestHandedAmong checks each device that may be the disk of a deleted Volume.
func TestHandedAmong(t *testing.T) {
	const disk, other = "lvm:vm-100-disk-1", "lvm:vm-100-disk-2"
	handed := VolumeDisks{"v": {Device: "scsi5", Volume: disk}}
	for name, tc := range map[string]struct {
		reason  string
		now     Config
		devices []string
		want    string
	}{
		"Has":       {reason: "The disk has its device.", now: Config{"scsi0": other, "scsi5": disk}, devices: []string{"scsi0", "scsi5"}, want: "scsi5"},
		"NotAmong":  {reason: "The disk is another device.", now: Config{"scsi0": other, "scsi5": disk}, devices: []string{"scsi0"}},
		"Exchanged": {reason: "The device of the disk has another name.", now: Config{"scsi0": disk, "scsi5": other}, devices: []string{"scsi5"}, want: "scsi5"},
		"ByName":    {reason: "The name of the disk is another device.", now: Config{"scsi0": disk, "scsi5": other}, devices: []string{"scsi0"}, want: "scsi0"},
		"Gone":      {reason: "The VM does not have it.", now: Config{"scsi0": other}, devices: []string{"scsi0"}},
	} {
		t.Run(name, func(t *testing.T) {
			volume, device := handed.Among(State{Config: tc.now, Active: tc.now}, 100, tc.devices)
			if device != tc.want || (volume == "v") != (tc.want != "") {
				t.Errorf("%s Among() = %q, %q, want %q", tc.reason, volume, device, tc.want)
			}
		})
	}
}
