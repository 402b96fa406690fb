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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestVolumeRef checks the disk of a Volume, which comes from another VM and leaves for one.
func TestVolumeRef(t *testing.T) {
	const has, other = "s:vm-100-disk-1", "s:vm-100-disk-2"
	listed := func(volume string) *v1alpha1.MachineParameters {
		k := v1alpha1.MachineDisk{Name: "data", Device: new("scsi5"), VolumeRef: &v1alpha1.VolumeReference{Name: "d"}, SSD: new(true)}
		if volume != "" {
			k.Volume = &volume
		}
		return &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{k}, BootOrder: []string{"data"}}
	}
	cases := map[string]struct {
		reason string
		spec   *v1alpha1.MachineParameters
		config Config
		want   Difference
		no     string
	}{
		"Awaited": {reason: "Nothing is done before the VM has it.", spec: listed(""), config: Config{}},
		"NotKnown": {
			reason: "Nothing is done to a disk that is not known to be the Volume's.",
			spec:   listed(""), config: Config{"scsi5": other, "boot": "order=scsi5"},
		},
		"Unused": {
			reason: "A disk that the VM has unused is attached.",
			spec:   listed(has), config: Config{"unused0": has}, want: Difference{Set: proxmox.Params{"scsi5": has + ",ssd=1", "boot": "order=scsi5"}, Allocates: true},
		},
		"Attached":   {reason: "The disk is attached as the spec asks.", spec: listed(has), config: Config{"scsi5": has + ",size=1G,ssd=1", "boot": "order=scsi5"}},
		"Other":      {reason: "Another disk is in its place.", spec: listed(has), config: Config{"scsi5": other}, no: "detach that"},
		"OtherPlace": {reason: "The disk is attached as another device already.", spec: listed(has), config: Config{"scsi7": has}, no: "is attached as scsi7"},
		"Foreign":    {reason: "The disk is another VM's.", spec: listed("s:vm-101-disk-1"), config: Config{}, no: "belongs to VM 101"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			devices, err := (Devices{assigned: true}).Assign(tc.spec, tc.config)
			if err != nil {
				t.Fatal(err)
			}
			d := Desired{MachineParameters: tc.spec, Identity: Identity{VMID: 100}, Devices: devices}
			no := strings.Join(d.Rejections(tc.config), "; ")
			if tc.no != "" {
				if !strings.Contains(no, tc.no) {
					t.Errorf("%s\nRejections(): %q, not %q", tc.reason, no, tc.no)
				}
				return
			}
			got := d.Difference(tc.config)
			delete(got.Set, "smbios1")
			if len(got.Set) == 0 {
				got.Set = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || no != "" {
				t.Errorf("%s\n%s\nDifference(): -want, +got:\n%s", tc.reason, no, diff)
			}
			if made := d.Storages(tc.config); len(made)+len(d.Growths(tc.config)) > 0 {
				t.Errorf("%s\nnothing is made, but takes room on %v", tc.reason, made)
			}
		})
	}
}

// TestVolumeTwice checks that a volume which two entries name, one of which may be a Volume, is attached for neither.
func TestVolumeTwice(t *testing.T) {
	const volume, other = "s:vm-100-disk-1", "s:vm-100-disk-2"
	ref := &v1alpha1.VolumeReference{Name: "d"}
	for name, tc := range map[string]struct {
		reason        string
		first, second v1alpha1.MachineDisk
		config        Config
		want          []string
	}{
		"Named": {
			reason: "Two entries name the volume.",
			first:  v1alpha1.MachineDisk{Volume: new(volume)}, second: v1alpha1.MachineDisk{Volume: new(volume)}, config: Config{"unused0": volume},
			want: []string{
				`disk "one": volume s:vm-100-disk-1 is that of disk "two" too: take one of the two off the list`,
				`disk "two": volume s:vm-100-disk-1 is that of disk "one" too: take one of the two off the list`,
			},
		},
		"Volume": {
			reason: "One is a Volume, which has just come.",
			first:  v1alpha1.MachineDisk{VolumeRef: ref, Volume: new(volume)}, second: v1alpha1.MachineDisk{Volume: new(volume)}, config: Config{"unused0": volume},
			want: []string{
				`disk "one": volume s:vm-100-disk-1 is that of disk "two" too: take one of the two off the list`,
				`disk "two": volume s:vm-100-disk-1 is that of disk "one" too: take one of the two off the list`,
			},
		},
		"Attached": {
			reason: "The other one has it already.",
			first:  v1alpha1.MachineDisk{VolumeRef: ref, Volume: new(volume)}, second: v1alpha1.MachineDisk{Volume: new(volume)}, config: Config{"scsi1": volume},
			want: []string{`disk "two": volume s:vm-100-disk-1 is that of disk "one" too: take one of the two off the list`},
		},
		"Former": {
			reason: "What another disk was attached with once does not matter.",
			first:  v1alpha1.MachineDisk{Volume: new(volume)}, second: v1alpha1.MachineDisk{Volume: new(volume)}, config: Config{"scsi1": other, "unused0": volume},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.first.Name, tc.first.Device, tc.second.Name, tc.second.Device = "one", new("scsi1"), "two", new("scsi2")
			spec := &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{tc.first, tc.second}}
			devices, err := (Devices{assigned: true}).Assign(spec, tc.config)
			if err != nil {
				t.Fatal(err)
			}
			d := Desired{MachineParameters: spec, Identity: Identity{VMID: 100}, Devices: devices}
			if diff := cmp.Diff(tc.want, d.Rejections(tc.config)); diff != "" {
				t.Errorf("%s\nRejections(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestVolumeRefLeaves checks that the disk of a Volume is detached when it is removed from the list, although it was not created for the list.
func TestVolumeRefLeaves(t *testing.T) {
	const has = "s:vm-100-disk-1"
	config := Config{"scsi0": "s:vm-100-disk-0", "scsi5": has, "boot": "order=scsi0"}
	spec := &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{
		{Name: "data", Device: new("scsi5"), VolumeRef: &v1alpha1.VolumeReference{Name: "d"}, Volume: new(has)},
	}}
	state := State{Config: config, Active: config}
	devices, err := (Devices{}).On(state, spec, Defaults{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	off := &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{}}
	if devices, err = devices.On(state, off, Defaults{}, 5); err != nil {
		t.Fatal(err)
	}
	d := Desired{MachineParameters: off, Identity: Identity{VMID: 100}, Devices: devices}
	if got := d.Difference(config); !cmp.Equal(got.Delete, []string{"scsi5"}) {
		t.Errorf("it is not detached: %+v", got)
	}
	if got := devices.Destroyed(off, config); len(got) > 0 {
		t.Errorf("it is destroyed: %v", got)
	}
}

// TestVolumesLeaving checks that disks which are to leave are detached, regardless of who attached them, except those that the spec names by their
// volumes.
func TestVolumesLeaving(t *testing.T) {
	const leaves = "s:vm-100-disk-1"
	active := Config{"scsi0": "s:vm-100-disk-0", "scsi5": leaves, "unused0": "s:vm-100-disk-2"}
	for name, tc := range map[string]struct {
		reason string
		disks  []v1alpha1.MachineDisk
		want   []string
	}{
		"NoList":   {reason: "A spec without disks lists none.", want: []string{"scsi5"}},
		"Unlisted": {reason: "Another disk is listed.", disks: []v1alpha1.MachineDisk{{Name: "root", Device: new("scsi0")}}, want: []string{"scsi5"}},
		"Awaited": {
			reason: "The disk is listed, and kept for another Machine.",
			disks:  []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi5"), VolumeRef: &v1alpha1.VolumeReference{Name: "d"}}}, want: []string{"scsi5"},
		},
		"Named": {reason: "The user names it.", disks: []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi5"), Volume: new(leaves)}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.MachineParameters{Disks: tc.disks}
			devices, err := (Devices{assigned: true}).Assign(spec, active)
			if err != nil {
				t.Fatal(err)
			}
			d := Desired{MachineParameters: spec, Identity: Identity{VMID: 100}, Devices: devices, Leaving: []string{leaves}}
			if got := d.Difference(active).Delete; !cmp.Equal(got, tc.want) {
				t.Errorf("%s\nDifference() deletes %v, want %v", tc.reason, got, tc.want)
			}
			waits := State{Active: active, Config: Config{"scsi0": active["scsi0"]}, Pending: []proxmox.PendingValue{{Key: "scsi5", Value: new(leaves), Delete: 1}}}
			if got := d.Pending(waits); len(got) == 0 {
				t.Errorf("%s\nPending(): %v", tc.reason, got)
			}
		})
	}
}

// TestVolumesByOtherEntry checks that an entry which has the disk of a Volume without naming the Volume changes neither the size nor the storage.
func TestVolumesByOtherEntry(t *testing.T) {
	const volume = "s:vm-100-disk-1"
	config := Config{"scsi1": volume + ",size=1G"}
	entry := v1alpha1.MachineDisk{Name: "again", Device: new("scsi1")}
	for name, tc := range map[string]struct {
		reason string
		change func(*Desired, *v1alpha1.MachineDisk)
		no     bool
	}{
		"As it is": {reason: "What it has may be said.", change: func(_ *Desired, k *v1alpha1.MachineDisk) { k.Size, k.Storage = new("1G"), new("s") }},
		"Grows":    {reason: "The Volume alone grows it.", change: func(_ *Desired, k *v1alpha1.MachineDisk) { k.Size = new("2G") }, no: true},
		"Moves":    {reason: "The disk of a Volume stays on its storage.", change: func(_ *Desired, k *v1alpha1.MachineDisk) { k.Storage = new("t") }, no: true},
		"Counted": {reason: "The disk of a Volume that is listed beside the entry cannot grow by it.", change: func(d *Desired, k *v1alpha1.MachineDisk) {
			d.Leaving, d.Counted, k.Size = nil, d.Leaving, new("2G")
		}, no: true},
		"Of no Volume": {reason: "A disk of the VM itself grows.", change: func(d *Desired, k *v1alpha1.MachineDisk) { d.Leaving, k.Size = nil, new("2G") }},
	} {
		t.Run(name, func(t *testing.T) {
			d, k := Desired{Identity: Identity{VMID: 100}, Leaving: []string{volume}}, entry
			tc.change(&d, &k)
			d.MachineParameters = &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{k}}
			d.Devices = Devices{Disks: map[string]string{"again": "scsi1"}}
			if got := d.Rejections(config); (len(got) > 0) != tc.no {
				t.Errorf("%s\nRejections(): %q, want some: %t", tc.reason, got, tc.no)
			}
		})
	}
}
