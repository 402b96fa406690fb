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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
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
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
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

// scheme of what the provider writes and reads.
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

// TestAfter checks the resulting amounts of a VM, and that what is held back does not grow while everything else is as the spec has it.
func TestAfter(t *testing.T) {
	is := quota.Amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, quota.Addresses("vmbr1"): 1}
	with := func(more quota.Amounts) quota.Amounts { return quota.Most(is, more) }
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.MachineParameters)
		after  quota.Amounts
	}{
		"Same": {reason: "What is as declared stays.", change: func(*v1alpha1.MachineParameters) {}, after: is},
		"Cores": {
			reason: "A change of cores counts at once.",
			change: func(p *v1alpha1.MachineParameters) { p.CPU.Cores = new(int32(8)) }, after: with(quota.Amounts{quota.Cores: 8}),
		},
		"Sockets": {
			reason: "Each socket has as many.", change: func(p *v1alpha1.MachineParameters) { p.CPU.Sockets = new(int32(2)) },
			after: with(quota.Amounts{quota.Cores: 4}),
		},
		"Memory": {
			reason: "A change of memory counts at once.", change: func(p *v1alpha1.MachineParameters) { p.Memory = new(resource.MustParse("4Gi")) },
			after: with(quota.Amounts{quota.Memory: 4 * gib}),
		},
		"Larger": {
			reason: "A disk counts with the size that it is to have.", change: func(p *v1alpha1.MachineParameters) { p.Disks[0].Size = new("30G") },
			after: with(quota.Amounts{quota.Disks("ceph"): 30 * gib}),
		},
		"Another": {
			reason: "A disk that is to be made counts.",
			change: func(p *v1alpha1.MachineParameters) {
				p.Disks = append(p.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("5G"), Storage: new("ceph")})
			},
			after: with(quota.Amounts{quota.Disks("ceph"): 15 * gib}),
		},
		"Moves": {
			reason: "A disk counts where it moves to.", change: func(p *v1alpha1.MachineParameters) { p.Disks[0].Storage = new("nfs") },
			after: quota.Amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("nfs"): 10 * gib, quota.Addresses("vmbr1"): 1},
		},
		"Interface": {
			reason: "Another network interface counts at once.",
			change: func(p *v1alpha1.MachineParameters) {
				p.Networks = append(p.Networks, v1alpha1.MachineNetwork{Name: "wan", Bridge: new("vmbr1")})
			},
			after: with(quota.Amounts{quota.Addresses("vmbr1"): 2}),
		},
		"Bridge": {
			reason: "An interface counts on the bridge that it moves to.", change: func(p *v1alpha1.MachineParameters) { p.Networks[0].Bridge = new("vmbr0") },
			after: quota.Amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, quota.Addresses("vmbr0"): 1},
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
			if diff := cmp.Diff(tc.after, amounts.Disks{}.After(d, before())); diff != "" {
				t.Errorf("after(): %s -want, +got:\n%s", tc.reason, diff)
			}
			left := desired(held(amounts.Disks{}, d, before(), is))
			if diff := cmp.Diff(is, amounts.Disks{}.After(left, before())); diff != "" {
				t.Errorf("held(): %s -want, +got:\n%s", tc.reason, diff)
			}
			if got := left.Difference(before()).Set["description"]; got != "changed" {
				t.Errorf("held(): want all else changed, got description %q", got)
			}
		})
	}
}

// TestShowRoom checks that a quota that is not enforced shows what a Machine would wait for, before and after it has its VM.
func TestShowRoom(t *testing.T) {
	const waits, allowed = v1alpha1.ReasonQuotaExceeded, "Allowed"
	tenants := []v1alpha1.ProviderTenant{{
		Name: "a", VMIDRange: &v1alpha1.VMIDRange{Min: 100, Max: 199}, Storages: []string{"ceph"}, Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}},
		Quota: &v1alpha1.TenantQuota{Cores: new(int32(4)), Memory: new(resource.MustParse("1Gi"))},
	}}
	there := func(cores string) qemu.Config {
		c := before()
		delete(c, "ide2")
		c["cores"] = cores
		return c
	}
	cases := map[string]struct {
		reason string
		cores  int32
		vm     qemu.Config // Nil for a VM that is yet to be created.
		shown  error
		want   xpv2.ConditionReason
		says   string
	}{
		"Fits": {reason: "A VM that fits is allowed.", cores: 4, want: allowed},
		"New":  {reason: "A VM that is yet to be made asks for all that it is to have.", cores: 5, want: waits, says: "cores: 5 more, of 4 0 are used"},
		"NewRefused": {
			reason: "A rule is told before a quota.", cores: 5, shown: errors.New("refused"), want: v1alpha1.ReasonTenantRefused, says: "refused",
		},
		"There": {reason: "What is there already is allowed, also beyond the limits.", cores: 8, vm: there("8"), want: allowed},
		"Grows": {reason: "What is there asks for what it is to have more.", cores: 8, vm: there("2"), want: waits, says: "cores: 6 more, of 4 2 are used"},
		"HasGrown": {
			reason: "What has grown without room asks for that until there is some.", cores: 8, vm: there("8"), shown: exceeded(quota.Cores, 6),
			want: waits, says: "cores: 6 more, of 4 2 are used",
		},
		"Made": {
			reason: "What was made without room asks for all until there is some.", cores: 5, vm: there("5"), shown: exceeded(quota.Cores, 5),
			want: waits, says: "cores: 5 more, of 4 0 are used by 0 resources",
		},
		"Shrunk": {reason: "What fits by now is allowed.", cores: 3, vm: there("3"), shown: exceeded(quota.Cores, 5), want: allowed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
			c := Checks{Warned: tenancy.TenantNamed(tenants, "a"), Inventory: nothing{}, Quota: Quota{
				Keeper: quotas.New(), Config: "ClusterProviderConfig/shared", Tenants: tenants, Kind: "Machine", Wake: func(client.ObjectKey) {},
			}}
			c.Quota.Keeper.Use(kube, connect.New(kube))
			m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: *spec(func(p *v1alpha1.MachineParameters) {
				p.CPU.Cores, p.Memory, p.Disks, p.Networks = &tc.cores, new(resource.MustParse("1Gi")), nil, nil
			})}}
			m.SetUID("u")
			if tc.shown != nil {
				tenancy.ShowAllowed(m, tc.shown)
			}
			if tc.vm == nil {
				c.ShowRoom(t.Context(), m)
			} else {
				meta.SetExternalName(m, "100")
				m.Status.AtProvider.VMID, m.Status.AtProvider.UUID = new(int32(100)), "x"
				c.Inventory = nothing{{VMID: 100, Type: "qemu", MaxCPU: int(tc.vm.Integer("cores", 1)), MaxMemory: tc.vm.Memory()}}
				c.ShowAllowed(t.Context(), m, &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}, State: qemu.State{Config: tc.vm, Active: tc.vm}})
			}
			if is := m.GetCondition(v1alpha1.TypeTenantAllowed); is.Reason != tc.want || !strings.Contains(is.Message, tc.says) {
				t.Errorf("%s\nwant %s with %q, got %+v", tc.reason, tc.want, tc.says, is)
			}
		})
	}
}

// exceeded returns the error of a shortage that a Machine would wait for.
func exceeded(name string, more int64) error {
	return &quota.ExceededError{Tenant: "a", Short: []quota.Shortage{{Name: name, More: more}}}
}

// nothing is an inventory of a cluster without volumes.
type nothing []proxmox.Guest

func (n nothing) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return n, nil }

func (nothing) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return nil, nil
}

// TestRoomToReturn checks that a VM that goes back to a configuration needs room for what that has in excess.
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
