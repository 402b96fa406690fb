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

package tenant

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const gib = int64(1) << 30

// before is the configuration of a VM.
func before() qemu.Config {
	return qemu.Config{
		"cores": "2", "sockets": "1", "memory": "2048", "scsi0": "ceph:vm-100-disk-0,size=10G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr1",
		"efidisk0": "ceph:vm-100-disk-1,size=4M", "ide2": "local:iso/debian.iso,media=cdrom,size=600M",
	}
}

// scheme of what the provider keeps and reads.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// spec of the VM.
func spec(change func(*v1alpha1.MachineParameters)) *v1alpha1.MachineParameters {
	p := &v1alpha1.MachineParameters{
		CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))}, Memory: new(resource.MustParse("2Gi")),
		Disks:    []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("ceph")}},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr1")}},
	}
	change(p)
	return p
}

// TestAfter tells what a VM comes to, and that what is held back does not grow while all else is as the spec has it.
func TestAfter(t *testing.T) {
	type amounts = quota.Amounts
	is := amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, quota.Addresses("vmbr1"): 1}
	with := func(more amounts) amounts { return quota.Most(is, more) }
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.MachineParameters)
		after  amounts
	}{
		"Same": {reason: "What is as declared stays.", change: func(*v1alpha1.MachineParameters) {}, after: is},
		"Cores": {
			reason: "A change of cores counts at once.",
			change: func(p *v1alpha1.MachineParameters) { p.CPU.Cores = new(int32(8)) }, after: with(amounts{quota.Cores: 8}),
		},
		"Sockets": {
			reason: "Each socket has as many.", change: func(p *v1alpha1.MachineParameters) { p.CPU.Sockets = new(int32(2)) },
			after: with(amounts{quota.Cores: 4}),
		},
		"Memory": {
			reason: "A change of memory counts at once.", change: func(p *v1alpha1.MachineParameters) { p.Memory = new(resource.MustParse("4Gi")) },
			after: with(amounts{quota.Memory: 4 * gib}),
		},
		"Larger": {
			reason: "A disk counts with the size that it is to have.", change: func(p *v1alpha1.MachineParameters) { p.Disks[0].Size = new("30G") },
			after: with(amounts{quota.Disks("ceph"): 30 * gib}),
		},
		"Another": {
			reason: "A disk that is to be made counts.",
			change: func(p *v1alpha1.MachineParameters) {
				p.Disks = append(p.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("5G"), Storage: new("ceph")})
			},
			after: with(amounts{quota.Disks("ceph"): 15 * gib}),
		},
		"Moves": {
			reason: "A disk counts where it moves to.", change: func(p *v1alpha1.MachineParameters) { p.Disks[0].Storage = new("nfs") },
			after: amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("nfs"): 10 * gib, quota.Addresses("vmbr1"): 1},
		},
		"Interface": {
			reason: "Another network interface counts at once.",
			change: func(p *v1alpha1.MachineParameters) {
				p.Networks = append(p.Networks, v1alpha1.MachineNetwork{Name: "wan", Bridge: new("vmbr1")})
			},
			after: with(amounts{quota.Addresses("vmbr1"): 2}),
		},
		"Bridge": {
			reason: "An interface counts on the bridge that it moves to.", change: func(p *v1alpha1.MachineParameters) { p.Networks[0].Bridge = new("vmbr0") },
			after: amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, quota.Addresses("vmbr0"): 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := func(p *v1alpha1.MachineParameters) qemu.Desired {
				d := qemu.Desired{MachineParameters: p, Identity: qemu.Identity{VMID: 100}}
				var err error
				if d.Devices, err = (qemu.Devices{}).On(qemu.State{Config: before(), Active: before()}, p, d.Defaults, 1); err != nil {
					t.Fatal(err)
				}
				return d
			}
			d := desired(spec(tc.change))
			d.Description = new("changed")
			if diff := cmp.Diff(tc.after, disks{}.after(d, before())); diff != "" {
				t.Errorf("after(): %s -want, +got:\n%s", tc.reason, diff)
			}
			left := desired(disks{}.held(d, before(), is))
			if diff := cmp.Diff(is, disks{}.after(left, before())); diff != "" {
				t.Errorf("held(): %s -want, +got:\n%s", tc.reason, diff)
			}
			if got := left.Difference(before()).Set["description"]; got != "changed" {
				t.Errorf("held(): want all else changed, got description %q", got)
			}
		})
	}
}

// TestOfNew counts a VM that is yet to be made.
func TestOfNew(t *testing.T) {
	p := spec(func(*v1alpha1.MachineParameters) {})
	d := qemu.Desired{MachineParameters: p, Identity: qemu.Identity{VMID: 100}}
	var err error
	if d.Devices, err = (qemu.Devices{}).Assign(p, nil); err != nil {
		t.Fatal(err)
	}
	want := quota.Amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, quota.Addresses("vmbr1"): 1}
	if diff := cmp.Diff(want, disks{}.after(d, nil)); diff != "" {
		t.Errorf("after(): -want, +got:\n%s", diff)
	}
}

// TestDetached counts disks that are detached, and those that are to be: a list that another disk takes a place of has both.
func TestDetached(t *testing.T) {
	config := before()
	config["scsi1"], config["unused0"] = "ceph:vm-100-disk-2,size=7G", "ceph:vm-100-disk-3"
	k := disks{sizes: map[string]int64{"ceph:vm-100-disk-3": 4 * gib}}
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
			if got := k.after(d, config)[quota.Disks("ceph")]; got != tc.want {
				t.Errorf("%s want %d, got %d", tc.reason, tc.want/gib, got/gib)
			}
			if got := k.of(config)[quota.Disks("ceph")]; got != 21*gib {
				t.Errorf("now: want 21, got %d", got/gib)
			}
		})
	}
}

// TestOfVolumes has disks of Volumes count with these, not once more with the Machine that has them.
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
		k := disks{volumes: []string{volumes}}
		for name, got := range map[string]quota.Amounts{"now": k.of(config), "after": k.after(d, config)} {
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
		got := disks{volumes: []string{"ceph:vm-100-disk-2"}}.after(d, config)
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

// TestThereBegun tells a VM that was begun, of which the spec alone says what it has, from one that was seen.
func TestThereBegun(t *testing.T) {
	m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: *spec(func(*v1alpha1.MachineParameters) {})}}
	for _, tc := range []struct {
		reason string
		change func()
		cores  int64
		begun  bool
	}{
		{reason: "A Machine without the time of its creation has begun no VM.", change: func() {}},
		{reason: "The VM may be there.", change: func() { meta.SetExternalCreatePending(m, time.Unix(1000, 0)) }, cores: 2, begun: true},
		{reason: "The VM was seen.", change: func() {
			m.Observation().UUID, m.Observation().CPU = "u", &v1alpha1.MachineCPUObservation{Cores: 3, Sockets: 1}
		}, cores: 3},
	} {
		tc.change()
		if got, _, begun := There(m); got[quota.Cores] != tc.cores || begun != tc.begun {
			t.Errorf("%s want %d cores, begun: %v, got %v, %v", tc.reason, tc.cores, tc.begun, got, begun)
		}
	}
}

// nothing is an inventory of a cluster without VMs.
type nothing struct{}

func (nothing) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return nil, nil }

func (nothing) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return nil, nil
}

// TestRoomToReturn has a VM go back to a configuration: what that has more has to fit.
func TestRoomToReturn(t *testing.T) {
	tenants := []v1alpha1.ProviderTenant{{Name: "a", Quota: &v1alpha1.TenantQuota{
		Cores: new(int32(4)), Disks: []v1alpha1.TenantStorageQuota{{Storage: "ceph", Size: resource.MustParse("20Gi")}},
	}}}
	c := Checks{Tenant: tenancy.TenantNamed(tenants, "a"), Inventory: nothing{}, Quota: Quota{
		Config: "ClusterProviderConfig/shared", Tenants: tenants, Kind: "Machine", Wake: func(client.ObjectKey) {},
	}}
	for name, tc := range map[string]struct {
		reason string
		change func(qemu.Config)
		want   string
	}{
		"Room":  {reason: "What fits may come back.", change: func(to qemu.Config) { to["cores"] = "4" }},
		"Cores": {reason: "More cores have to fit.", change: func(to qemu.Config) { to["cores"] = "5" }, want: "cores: 3 more"},
		"Disks": {
			reason: "Larger disks have to fit.", change: func(to qemu.Config) { to["scsi0"] = "ceph:vm-100-disk-0,size=50G" },
			want: "disks/ceph: 40Gi more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
			c := c
			c.Quota.Keeper = quotas.New()
			c.Quota.Keeper.Use(kube, connect.New(kube, connect.WithRecordsIn("system")))
			v, to := &vmstate.VM{State: qemu.State{Config: before(), Active: before()}}, before()
			tc.change(to)
			m := &namespaced.Machine{}
			m.SetUID("u")
			got, err := c.RoomToReturn(t.Context(), m, v, to, nil)
			if err != nil || (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nRoomToReturn(): %q, %v; want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}
