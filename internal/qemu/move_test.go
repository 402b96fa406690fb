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

func TestResizes(t *testing.T) {
	config := map[string]string{"scsi0": "s:vm-100-disk-0,size=2252M", "scsi1": "s:vm-100-disk-1"}
	sized := func(size string) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Device: new("scsi0"), Size: &size}}}
	}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   []Resize
	}{
		"Grows": {
			reason: "A disk that is too small grows.", spec: sized("20G"),
			want: []Resize{{Name: "a", Device: "scsi0", From: 2252 * proxmox.MiB, To: 20 * proxmox.GiB}},
		},
		"Equal":      {reason: "Units are binary in all spellings.", spec: sized("2252Mi")},
		"Smaller":    {reason: "A disk never shrinks.", spec: sized("1G")},
		"Undeclared": {reason: "A disk without a size keeps what it has.", spec: v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{diskOn("a", "scsi0")}}},
		"Unknown": {
			reason: "A disk whose size PVE does not tell is left alone.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Device: new("scsi1"), Size: new("9G")}}},
		},
		"New": {
			reason: "A disk that is not there is made in its size.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Device: new("scsi5"), Size: new("9G")}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := desiredOf(t, tc.spec, Devices{}, config).Resizes(config)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nresizes: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestGrowths checks how much disks need of their target storage.
func TestGrowths(t *testing.T) {
	config := Config{"scsi0": "thin:vm-100-disk-0,size=8G", "scsi1": "thin:vm-100-disk-1,size=2G"}
	on := func(storage, size string) v1alpha1.MachineParameters {
		k := v1alpha1.MachineDisk{Name: "a", Device: new("scsi0")}
		if k.Storage = &storage; size != "" {
			k.Size = &size
		}
		return v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{k}}
	}
	const gib = proxmox.GiB
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   []Growth
	}{
		"Grows": {
			reason: "A disk that grows takes the rest.", spec: on("thin", "20G"),
			want: []Growth{{Name: "a", Storage: "thin", Size: 20 * gib, More: 12 * gib}},
		},
		"Stays": {reason: "One that is as it is to be takes nothing.", spec: on("thin", "8G")},
		"Moves": {reason: "One that moves takes all of it.", spec: on("fast", ""), want: []Growth{{Name: "a", Storage: "fast", Size: 8 * gib, More: 8 * gib}}},
		"Larger": {
			reason: "A disk that moves takes all of its data, even if the spec has a smaller size.",
			spec:   on("fast", "1G"), want: []Growth{{Name: "a", Storage: "fast", Size: 8 * gib, More: 8 * gib}},
		},
		"MovesAndGrows": {
			reason: "One that moves and grows takes nothing of where it is.", spec: on("fast", "900G"),
			want: []Growth{{Name: "a", Storage: "fast", Size: 900 * gib, More: 900 * gib}},
		},
		"New": {
			reason: "A new disk takes its size of the default storage.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Device: new("scsi5"), Size: new("9G")}}},
			want:   []Growth{{Name: "a", Storage: "std", Size: 9 * gib, More: 9 * gib}},
		},
		"Attached": {
			reason: "One that is attached takes nothing.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Device: new("scsi5"), Volume: new("thin:vm-100-disk-2"), Size: new("9G")}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, tc.spec, Devices{}, config)
			d.Defaults.Storage = "std"
			if diff := cmp.Diff(tc.want, d.Growths(config)); diff != "" {
				t.Errorf("\n%s\ngrowths: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestVolumeOwner(t *testing.T) {
	cases := map[string]struct {
		reason, volume string
		owner          int
	}{
		"Block":       {reason: "A name says whose it is.", volume: "local-lvm:vm-100-disk-0", owner: 100},
		"Template":    {reason: "The name of a template's disk says whose it is.", volume: "local-lvm:base-100-disk-0", owner: 100},
		"File":        {reason: "A file is whose its directory is.", volume: "dir:100/vm-100-disk-0.qcow2", owner: 100},
		"FileForeign": {reason: "Whatever its own name says.", volume: "dir:200/vm-100-disk-0.qcow2", owner: 200},
		"FileNamed":   {reason: "A file may have any name.", volume: "dir:100/data.raw", owner: 100},
		"LinkedBlock": {reason: "A linked clone is not its template's.", volume: "zfs:base-9000-disk-0/vm-100-disk-0", owner: 100},
		"LinkedFile":  {reason: "A linked clone in a file is not its template's.", volume: "dir:9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2", owner: 100},
		"Image":       {reason: "An image is nobody's.", volume: "local:import/vm-100-disk-0.qcow2"},
		"LUN":         {reason: "A unit of a SAN is nobody's.", volume: "san:0.0.1.scsi-1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, known := VolumeOwner(tc.volume); got != tc.owner || known != (tc.owner != 0) {
				t.Errorf("\n%s\n%s: want %d, got %d (known %t)", tc.reason, tc.volume, tc.owner, got, known)
			}
		})
	}
}
