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

package report

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

const gib = int64(1) << 30

// A site has VMs of one team, and a storage with one detached disk.
type site struct {
	lab
	fails bool
}

func (s site) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	var all []proxmox.Guest
	for id := range s.lab {
		all = append(all, proxmox.Guest{VMID: id, Node: "pve1", Type: "qemu", Pool: "a", MaxCPU: 2, MaxMemory: 2 * gib})
	}
	return all, nil
}

func (s site) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	if s.fails {
		return nil, errors.New("no answer")
	}
	return []proxmox.Volume{{ID: "ceph:vm-200-disk-9", Size: 5 * gib}}, nil
}

// built returns the configuration of VM 200.
func built() map[string]string {
	return map[string]string{
		"cores": "2", "memory": "2048", "scsi0": "ceph:vm-200-disk-0,size=10G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "smbios1": "uuid=x",
	}
}

// asks returns a Machine with a creation time that requests cores, 1 GiB and a disk.
func asks(name string, came int64, cores int32, change ...func(*namespaced.Machine)) resource.Managed {
	m := &namespaced.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(came, 0)},
		Spec: namespaced.MachineSpec{ForProvider: v1alpha1.MachineParameters{
			CPU: &v1alpha1.MachineCPU{Cores: new(cores)}, Memory: new(kresource.MustParse("1Gi")),
			Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("ceph")}},
		}},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

// has gives a Machine VM 200.
func has(m *namespaced.Machine) {
	m.Status.AtProvider.VMID, m.Status.AtProvider.UUID = new(int32(200)), "x"
	meta.SetExternalName(m, "200")
}

// warned sets a condition that a Machine requests more than there was room for.
func warned(sentence string) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) {
		m.SetConditions(xpv2.Condition{Type: v1alpha1.TypeTenantAllowed, Reason: v1alpha1.ReasonQuotaExceeded, Message: "would wait: " + sentence})
	}
}

func TestOfQuota(t *testing.T) {
	deleted := func(m *namespaced.Machine) { m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	copied := func(m *namespaced.Machine) { m.Spec.ForProvider.TemplateTags = []string{"golden"} }
	unused, handed := built(), built()
	unused["unused0"], handed["scsi1"] = "ceph:vm-200-disk-9", "ceph:vm-300-disk-0,size=7G"
	volume := &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "v", UID: "v"}}
	volume.SetAnnotations(map[string]string{tenancy.AnnotationVolume: `{"vmid":300,"volume":"ceph:vm-300-disk-0"}`})
	volume.Observation().Size = "7G"
	taken := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s1", UID: "s1"}}
	taken.Observation().Time = &metav1.Time{Time: time.Unix(1, 0)}
	next := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s2", UID: "s2"}}
	cases := map[string]struct {
		reason    string
		limits    quota.Amounts
		resources []resource.Managed
		vm        map[string]string
		observed  bool // Whether nothing is managed.
		want      []Usage
		waits     map[string]string
	}{
		"Fits": {
			reason: "What has room is no finding.", limits: quota.Amounts{quota.VMs: 2, quota.Cores: 4}, vm: built(),
			resources: []resource.Managed{asks("web", 1, 2, has), asks("db", 2, 2)},
			want: []Usage{
				{Name: quota.Cores, Used: 4, Limit: 4, Users: []quota.Use{{Name: "Machine a/db", Amount: 2}, {Name: "Machine a/web", Amount: 2}}},
				{Name: quota.VMs, Used: 2, Limit: 2, Users: []quota.Use{{Name: "Machine a/db", Amount: 1}, {Name: "Machine a/web", Amount: 1}}},
			},
		},
		"New": {
			reason: "What came last waits.", limits: quota.Amounts{quota.Cores: 4}, vm: built(),
			resources: []resource.Managed{asks("late", 3, 2), asks("web", 1, 2, has), asks("db", 2, 1)},
			want: []Usage{{Name: quota.Cores, Used: 5, Limit: 4, Waiting: 1, Users: []quota.Use{
				{Name: "Machine a/late", Amount: 2}, {Name: "Machine a/web", Amount: 2}, {Name: "Machine a/db", Amount: 1},
			}}},
			waits: map[string]string{"late": "cores: 2 more, of 4 3 are used by 2 resources (web: 2, db: 1)"},
		},
		"There": {
			reason: "A VM that is there stays and does not wait, however much it has.", limits: quota.Amounts{quota.Memory: gib}, vm: built(),
			resources: []resource.Managed{asks("web", 1, 2, has)},
			want:      []Usage{{Name: quota.Memory, Used: 2 * gib, Limit: gib, Users: []quota.Use{{Name: "Machine a/web", Amount: 2 * gib}}}},
		},
		"Grows": {
			reason: "What a VM is to have more waits.", limits: quota.Amounts{quota.Cores: 4}, vm: built(), resources: []resource.Managed{asks("web", 1, 8, has)},
			want:  []Usage{{Name: quota.Cores, Used: 8, Limit: 4, Waiting: 1, Users: []quota.Use{{Name: "Machine a/web", Amount: 8}}}},
			waits: map[string]string{"web": "cores: 6 more, of 4 2 are used by 1 resource (web: 2)"},
		},
		"Observed": {
			reason: "What is only observed does not grow.", limits: quota.Amounts{quota.Cores: 4}, vm: built(), observed: true,
			resources: []resource.Managed{asks("web", 1, 8, has)},
			want:      []Usage{{Name: quota.Cores, Used: 2, Limit: 4, Users: []quota.Use{{Name: "Machine a/web", Amount: 2}}}},
		},
		"Detached": {
			reason: "A detached disk counts with the size that its storage tells.", limits: quota.Amounts{quota.Disks("ceph"): 15 * gib}, vm: unused,
			resources: []resource.Managed{asks("web", 1, 2, has)},
			want:      []Usage{{Name: quota.Disks("ceph"), Used: 15 * gib, Limit: 15 * gib, Users: []quota.Use{{Name: "Machine a/web", Amount: 15 * gib}}}},
		},
		"Volume": {
			reason: "The disk of a Volume counts once.", limits: quota.Amounts{quota.Disks("ceph"): 10 * gib}, vm: handed,
			resources: []resource.Managed{asks("web", 1, 2, has), volume},
			want: []Usage{{Name: quota.Disks("ceph"), Used: 17 * gib, Limit: 10 * gib, Users: []quota.Use{
				{Name: "Machine a/web", Amount: 10 * gib}, {Name: "Volume a/v", Amount: 7 * gib},
			}}},
		},
		"Addresses": {
			reason: "An interface on a limited bridge counts.", limits: quota.Amounts{quota.Addresses("vmbr0"): 0}, vm: built(),
			resources: []resource.Managed{asks("web", 1, 2, has)},
			want:      []Usage{{Name: quota.Addresses("vmbr0"), Used: 1, Users: []quota.Use{{Name: "Machine a/web", Amount: 1}}}},
		},
		"Snapshots": {
			reason: "Snapshots count by their objects.", limits: quota.Amounts{quota.Snapshots: 1}, resources: []resource.Managed{next, taken},
			want: []Usage{{Name: quota.Snapshots, Used: 2, Limit: 1, Waiting: 1, Users: []quota.Use{
				{Name: "Snapshot a/s1", Amount: 1}, {Name: "Snapshot a/s2", Amount: 1},
			}}},
			waits: map[string]string{"s2": "snapshots: 1 more, of 1 1 are used by 1 resource (s1: 1)"},
		},
		"Warned": {
			reason: "What was made though there was no room waits until there is, and others have room as if it had waited.",
			limits: quota.Amounts{quota.Cores: 4}, vm: built(),
			resources: []resource.Managed{asks("web", 2, 2, has, warned("cores: 2 more, of 4 3 are used")), asks("db", 1, 3), asks("ci", 3, 1)},
			want: []Usage{{Name: quota.Cores, Used: 6, Limit: 4, Waiting: 1, Users: []quota.Use{
				{Name: "Machine a/db", Amount: 3}, {Name: "Machine a/web", Amount: 2}, {Name: "Machine a/ci", Amount: 1},
			}}},
			waits: map[string]string{"web": "cores: 2 more, of 4 3 are used by 1 resource (db: 3)"},
		},
		"WarnedGrows": {
			reason: "What has grown though there was no room keeps what it had, also of what is used beyond its limit.",
			limits: quota.Amounts{quota.Cores: 1, quota.Memory: gib}, vm: built(),
			resources: []resource.Managed{asks("web", 1, 2, has, warned("cores: 1 more, of 1 1 are used"))},
			want: []Usage{
				{Name: quota.Cores, Used: 2, Limit: 1, Waiting: 1, Users: []quota.Use{{Name: "Machine a/web", Amount: 2}}},
				{Name: quota.Memory, Used: 2 * gib, Limit: gib, Users: []quota.Use{{Name: "Machine a/web", Amount: 2 * gib}}},
			},
			waits: map[string]string{"web": "cores: 1 more, of 1 1 are used by 1 resource (web: 1)"},
		},
		"WarnedFits": {
			reason: "What was made though there was no room is granted once there is.", limits: quota.Amounts{quota.Cores: 2}, vm: built(),
			resources: []resource.Managed{asks("web", 2, 2, has, warned("cores: 2 more, of 2 2 are used"))},
			want:      []Usage{{Name: quota.Cores, Used: 2, Limit: 2, Users: []quota.Use{{Name: "Machine a/web", Amount: 2}}}},
		},
		"Left": {
			reason: "A VM of the team that no Machine names counts.", limits: quota.Amounts{quota.VMs: 0}, vm: built(),
			want: []Usage{{Name: quota.VMs, Used: 1, Users: []quota.Use{{Name: "VM 200", Amount: 1}}}},
		},
		"Template": {
			reason: "What a template brings is not known.", limits: quota.Amounts{quota.VMs: 1, quota.Disks("ceph"): 20 * gib},
			resources: []resource.Managed{asks("web", 1, 2, copied)},
			want: []Usage{
				{Name: quota.Disks("ceph"), Used: 10 * gib, Limit: 20 * gib, AtLeast: true, Users: []quota.Use{{Name: "Machine a/web", Amount: 10 * gib}}},
				{Name: quota.VMs, Used: 1, Limit: 1, Users: []quota.Use{{Name: "Machine a/web", Amount: 1}}},
			},
		},
		"Deleted": {
			reason: "What is being deleted waits for nothing.", limits: quota.Amounts{quota.Cores: 1}, resources: []resource.Managed{asks("web", 1, 2, deleted)},
			want: []Usage{{Name: quota.Cores, Limit: 1}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := site{lab: lab{}}
			if tc.vm != nil {
				in.lab[200] = maps.Clone(tc.vm)
			}
			of := Account{
				Tenant: "a", Limits: tc.limits, Owns: func(g proxmox.Guest) bool { return g.Pool == "a" }, Resources: tc.resources,
				Manages: func(resource.Managed) bool { return !tc.observed }, Defaults: qemu.Defaults{},
			}
			usage, waiters, err := OfQuota(t.Context(), in, of)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, usage); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
			got := map[string]string{}
			for _, w := range waiters {
				got[w.Name] = strings.TrimPrefix(w.Why, `the quota of tenant "a" has no room: `)
			}
			if len(tc.waits)+len(got) > 0 {
				if diff := cmp.Diff(tc.waits, got); diff != "" {
					t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
				}
			}
			for _, mg := range tc.resources {
				if why := of.alone(t, in, mg); why != got[mg.GetName()] {
					t.Errorf("%s\n%s by itself would wait for %q, and not for %q", tc.reason, mg.GetName(), why, got[mg.GetName()])
				}
			}
		})
	}
}

// alone returns what a resource would wait for according to WouldWait, with what is known of its VM.
func (a Account) alone(t *testing.T, in site, mg resource.Managed) string {
	t.Helper()
	vm := amounts.VM{}
	if vmid, _ := tenancy.RecordedVM(mg); vmid != 0 {
		vm.Config = in.lab[vmid]
	}
	err := WouldWait(t.Context(), in, a, mg, vm)
	if err != nil && !a.Asks(mg, vm) {
		t.Errorf("%s would wait, and asks for nothing", mg.GetName())
	}
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), `the quota of tenant "a" has no room: `)
}

// TestOfQuotaUnknown checks that failing to read something is an error, and does not count as nothing.
func TestOfQuotaUnknown(t *testing.T) {
	detached := built()
	detached["unused0"] = "ceph:vm-200-disk-9"
	lost := built()
	lost["lost"] = "1"
	for want, in := range map[string]site{
		"cannot read VM 200": {lab: lab{200: lost}}, "cannot read the size of ceph:vm-200-disk-9, unused0 of VM 200": {lab: lab{200: detached}, fails: true},
	} {
		_, _, err := OfQuota(t.Context(), in, Account{
			Limits: quota.Amounts{quota.Disks("ceph"): 1}, Owns: func(proxmox.Guest) bool { return true }, Resources: []resource.Managed{asks("web", 1, 2, has)},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
