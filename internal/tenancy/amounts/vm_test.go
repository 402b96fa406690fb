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

package amounts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

const gib = int64(1) << 30

// before returns the configuration of a VM.
func before() qemu.Config {
	return qemu.Config{
		"cores": "2", "sockets": "1", "memory": "2048", "scsi0": "ceph:vm-100-disk-0,size=10G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr1",
		"efidisk0": "ceph:vm-100-disk-1,size=4M", "ide2": "local:iso/debian.iso,media=cdrom,size=600M",
	}
}

// spec returns the spec of the VM.
func spec(change func(*v1alpha1.MachineParameters)) *v1alpha1.MachineParameters {
	p := &v1alpha1.MachineParameters{
		CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))}, Memory: new(resource.MustParse("2Gi")),
		Disks:    []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("ceph")}},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr1")}},
	}
	change(p)
	return p
}

// TestOfNew counts a VM that does not exist yet.
func TestOfNew(t *testing.T) {
	p := spec(func(*v1alpha1.MachineParameters) {})
	d := qemu.Desired{MachineParameters: p, Identity: qemu.Identity{VMID: 100}}
	var err error
	if d.Devices, err = (qemu.Devices{}).Assign(p, nil); err != nil {
		t.Fatal(err)
	}
	want := quota.Amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, quota.Addresses("vmbr1"): 1}
	if diff := cmp.Diff(want, Disks{}.After(d, nil)); diff != "" {
		t.Errorf("after(): -want, +got:\n%s", diff)
	}
}

// TestDetached counts disks that are or will be detached: if another disk takes the place of one in a list, both count.
func TestDetached(t *testing.T) {
	config := before()
	config["scsi1"], config["unused0"] = "ceph:vm-100-disk-2,size=7G", "ceph:vm-100-disk-3"
	k := Disks{Sizes: map[string]int64{"ceph:vm-100-disk-3": 4 * gib}}
	state := qemu.State{Config: config, Active: config}
	made := qemu.Devices{Disks: map[string]string{"root": "scsi0", "data": "scsi1"}, Networks: map[string]string{"lan": "net0"}}
	made.Made = map[string]bool{"disks/data": true}
	listed := spec(func(p *v1alpha1.MachineParameters) { p.Disks = append(p.Disks, v1alpha1.MachineDisk{Name: "data"}) })
	devices, err := made.On(state, listed, qemu.Defaults{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		data   []v1alpha1.MachineDisk
		want   int64
	}{
		"Same": {reason: "What is detached counts.", data: []v1alpha1.MachineDisk{{Name: "data"}}, want: 21 * gib},
		"Off":  {reason: "What is taken off the list is detached.", want: 21 * gib},
		"Replaced": {
			reason: "A disk that takes the place of another one counts beside that.",
			data:   []v1alpha1.MachineDisk{{Name: "new", Device: new("scsi2"), Size: new("5G"), Storage: new("ceph")}}, want: 26 * gib,
		},
		"Attached": {
			reason: "What is attached again counts once.",
			data:   []v1alpha1.MachineDisk{{Name: "data"}, {Name: "again", Volume: new("ceph:vm-100-disk-3")}}, want: 21 * gib,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := spec(func(p *v1alpha1.MachineParameters) { p.Disks = append(p.Disks, tc.data...) })
			d := qemu.Desired{MachineParameters: p, Identity: qemu.Identity{VMID: 100}}
			var err error
			if d.Devices, err = devices.On(state, p, d.Defaults, 2); err != nil {
				t.Fatal(err)
			}
			if got := k.After(d, config)[quota.Disks("ceph")]; got != tc.want {
				t.Errorf("%s want %d, got %d", tc.reason, tc.want/gib, got/gib)
			}
			if got := k.Of(config)[quota.Disks("ceph")]; got != 21*gib {
				t.Errorf("now: want 21, got %d", got/gib)
			}
		})
	}
}

// TestOfVolumes checks that disks of Volumes count with the Volumes, and not again with the Machine that has them.
func TestOfVolumes(t *testing.T) {
	config := before()
	config["scsi1"] = "ceph:vm-100-disk-2,size=7G"
	p := spec(func(p *v1alpha1.MachineParameters) {
		p.Disks = append(p.Disks, v1alpha1.MachineDisk{
			Name: "data", VolumeRef: &v1alpha1.VolumeReference{Name: "v"}, Volume: new("ceph:vm-100-disk-2"), Size: new("9G"),
		})
	})
	d := qemu.Desired{MachineParameters: p, Identity: qemu.Identity{VMID: 100}}
	d.Devices = qemu.Devices{Disks: map[string]string{"root": "scsi0", "data": "scsi1"}, Networks: map[string]string{"lan": "net0"}}
	want := 10 * gib
	for volumes, want := range map[string]int64{"ceph:vm-100-disk-2": want, "": 17 * gib} {
		k := Disks{Volumes: []string{volumes}}
		for name, got := range map[string]quota.Amounts{"now": k.Of(config), "after": k.After(d, config)} {
			if got[quota.Disks("ceph")] != want {
				t.Errorf("%s, with %q counted as a Volume: want %d, got %v", name, volumes, want, got)
			}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		entry  v1alpha1.MachineDisk
		want   map[string]int64
	}{
		"Same":  {reason: "The disk alone counts as the Volume.", want: map[string]int64{"ceph": 10 * gib}},
		"Grows": {reason: "What it grows by counts.", entry: v1alpha1.MachineDisk{Size: new("100G")}, want: map[string]int64{"ceph": 103 * gib}},
		"Moves": {
			reason: "All of it counts where it moves to.", entry: v1alpha1.MachineDisk{Storage: new("other")},
			want: map[string]int64{"ceph": 10 * gib, "other": 7 * gib},
		},
		"Both": {
			reason: "A disk that moves and grows counts whole where it goes, as large as it gets.",
			entry:  v1alpha1.MachineDisk{Size: new("100G"), Storage: new("other")},
			want:   map[string]int64{"ceph": 10 * gib, "other": 100 * gib},
		},
	} {
		tc.entry.Name, tc.entry.Device = "again", new("scsi1")
		d := d
		d.MachineParameters = spec(func(p *v1alpha1.MachineParameters) { p.Disks = append(p.Disks, tc.entry) })
		d.Devices = qemu.Devices{Disks: map[string]string{"root": "scsi0", "again": "scsi1"}, Networks: map[string]string{"lan": "net0"}}
		got := Disks{Volumes: []string{"ceph:vm-100-disk-2"}}.After(d, config)
		for storage, want := range map[string]int64{"ceph": tc.want["ceph"], "other": tc.want["other"], "": 0} {
			if got[quota.Disks(storage)] != want {
				t.Errorf("%s: %s want %d on storage %q, got %v", name, tc.reason, want, storage, got)
			}
		}
	}
	m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: *p}}
	m.Observation().UUID = "u"
	m.Observation().Disks = []v1alpha1.MachineDiskObservation{
		{Device: "scsi0", Name: "root", Volume: "ceph:vm-100-disk-0", Size: "10G"}, {Device: "scsi1", Name: "data", Volume: "ceph:vm-100-disk-2", Size: "7G"},
	}
	if got, _, _ := There(m); got[quota.Disks("ceph")] != want {
		t.Errorf("seen: want %d, got %v", want, got)
	}
}
