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

// TestHanded follows the disk of a Volume that a VM has, or may have, while its Volume is gone.
func TestHanded(t *testing.T) {
	const disk, other = "lvm:vm-100-disk-1", "lvm:vm-100-disk-2"
	entry := v1alpha1.MachineDisk{Name: "data", Device: new("scsi5"), VolumeRef: &v1alpha1.VolumeReference{Name: "v"}}
	listed := entry
	listed.Volume = new(disk)
	own := v1alpha1.MachineDisk{Name: "data", Device: new("scsi5")}
	cases := map[string]struct {
		reason string
		spec   []v1alpha1.MachineDisk
		now    Config
		want   HandedDisk
	}{
		"Has":      {reason: "The VM has it.", spec: []v1alpha1.MachineDisk{listed}, now: Config{"scsi5": disk}, want: HandedDisk{"scsi5", disk}},
		"NoVolume": {reason: "The Volume is gone.", spec: []v1alpha1.MachineDisk{entry}, now: Config{"scsi5": disk}, want: HandedDisk{"scsi5", disk}},
		"Off":      {reason: "The list has it no more.", spec: []v1alpha1.MachineDisk{}, now: Config{"scsi5": disk}, want: HandedDisk{"scsi5", disk}},
		"Detached": {
			reason: "PVE destroys unused disks with their VM.", spec: []v1alpha1.MachineDisk{}, now: Config{"unused0": disk}, want: HandedDisk{"unused0", disk},
		},
		"Renamed": {
			reason: "A migration gives it another name.", spec: []v1alpha1.MachineDisk{entry}, now: Config{"scsi5": other}, want: HandedDisk{"scsi5", other},
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
			if d, err = d.On(state(tc.now), &v1alpha1.MachineParameters{Disks: tc.spec}, Defaults{}, 2); err != nil {
				t.Fatal(err)
			}
			got := d.Handed.In(state(tc.now), 100)
			if got["v"] != tc.want || len(got) > 1 {
				t.Errorf("%s got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
