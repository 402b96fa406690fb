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

package quotas

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// A site is a cluster with VMs of the tenant, and disks.
type site struct {
	vmids, late []int // The latter are only in a fresh list.
	disks       []string
	fails       error

	// guests in addition to those in the tenant's pool.
	guests []proxmox.Guest
}

func (s *site) Guests(_ context.Context, maxAge time.Duration) ([]proxmox.Guest, error) {
	if maxAge == inventory.Fresh {
		s.vmids = append(s.vmids, s.late...)
		s.late = nil
	}
	all := slices.Clone(s.guests)
	for _, id := range s.vmids {
		all = append(all, proxmox.Guest{VMID: id, Type: "qemu", Pool: "team-a", Node: "pve1"})
	}
	return all, nil
}

func (s *site) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	var all []proxmox.Volume
	for _, id := range s.disks {
		all = append(all, proxmox.Volume{ID: id, Size: 6})
	}
	return all, s.fails
}

// disk of a Volume, by the VM that has it.
const (
	stubDisk = "ceph:vm-100-disk-0"
	vmDisk   = "ceph:vm-200-disk-1"
)

// withVolumes returns a provider that counts Volumes too.
func withVolumes(a *api) *Keeper {
	k := provider(a, "system")
	k.kinds = append(k.kinds, counted{
		Identity: kind.Identity{GroupVersionKind: namespaced.VolumeGroupVersionKind, Object: &namespaced.Volume{}, List: &namespaced.VolumeList{}},
		reader:   a, direct: a, there: func(resource.Managed) (quota.Amounts, int, bool) { return nil, 0, false },
	})
	return k
}

func disks(n int64) quota.Amounts { return quota.Amounts{quota.Disks("ceph"): n} }

// of returns an application of the tenant, whose quota has room for two disks of the tests.
func (s *site) of(mg resource.Managed, there quota.Amounts, vmid int, volume string) Application {
	a := ask(machine("any"), &v1alpha1.TenantQuota{}, 1)
	a.Tenant.Quota.Disks = []v1alpha1.TenantStorageQuota{{Storage: "ceph", Size: *kresource.NewQuantity(12, kresource.BinarySI)}}
	a.Resource, a.Inventory, a.There, a.Wants, a.Whole, a.VMID, a.Volume = mg, s, there, disks(6), there == nil, vmid, volume
	a.Kind = namespaced.MachineGroupVersionKind.GroupKind().String()
	if _, is := mg.(*namespaced.Volume); is {
		a.Kind = namespaced.VolumeGroupVersionKind.GroupKind().String()
	}
	return a
}

func volume(name string) *namespaced.Volume {
	v := &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(1000, 0)}}
	v.SetProviderConfigReference(machine(name).GetProviderConfigReference())
	return v
}

// TestLeft checks that the disk of a deleted Volume counts as long as it exists, even if no provider reconciles the Machine whose VM has it.
func TestLeft(t *testing.T) {
	cases := map[string]struct {
		reason string
		site   site
		vmid   int // The VM in which the disk was last known to be, or to which it was being moved.
		volume string
		seen   bool
		counts bool
	}{
		"Destroyed": {reason: "The stub VM went with it.", vmid: 100, volume: stubDisk, seen: true},
		"Retained": {
			reason: "The stub VM has it.",
			site:   site{vmids: []int{100}, disks: []string{stubDisk}}, vmid: 100, volume: stubDisk, seen: true, counts: true,
		},
		"Attached": {
			reason: "The VM of a Machine has it.",
			site:   site{vmids: []int{200}, disks: []string{vmDisk}}, vmid: 200, volume: vmDisk, seen: true, counts: true,
		},
		"Removed": {reason: "The VM has it no more.", site: site{vmids: []int{200}}, vmid: 200, volume: vmDisk, seen: true},
		"OnItsWay": {
			reason: "A disk on its way has another name where it goes to.",
			site:   site{vmids: []int{100, 200}}, vmid: 200, volume: stubDisk, seen: true, counts: true,
		},
		"NotGone": {
			reason: "The disk has not left its stub VM yet.",
			site:   site{vmids: []int{100, 200}, disks: []string{stubDisk}}, vmid: 200, volume: stubDisk, seen: true, counts: true,
		},
		"Unknown": {
			reason: "What cannot be read counts.",
			site:   site{vmids: []int{200}, fails: errors.New("no answer")}, vmid: 200, volume: vmDisk, seen: true, counts: true,
		},
		"BeingMade": {reason: "The stub VM is there, and its disk not known yet.", site: site{vmids: []int{100}}, vmid: 100, counts: true},
		"JustMade":  {reason: "The list of VMs may be older than it.", site: site{late: []int{100}}, vmid: 100, counts: true},
		"NotBegun":  {reason: "A call that makes the VM may be under way.", vmid: 100, counts: true},
		"Elsewhere": {
			reason: "The VM is none of the tenant's.",
			site:   site{vmids: []int{300}, disks: []string{vmDisk}}, vmid: 200, volume: vmDisk, seen: true,
		},
		"NeverBegun":  {reason: "The Volume was granted a disk, and is in no VM.", site: site{vmids: []int{100}}},
		"NotYetKnown": {reason: "The VM of the Volume is not known.", site: site{vmids: []int{100}, disks: []string{stubDisk}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v, next := volume("data"), volume("next")
			a := newAPI(t, v, next)
			k, s := withVolumes(a), &tc.site
			var there quota.Amounts
			if tc.seen {
				there = disks(6)
			}
			if _, err := k.Admit(t.Context(), s.of(v, there, tc.vmid, tc.volume)); err != nil {
				t.Fatal(err)
			}
			if err := a.Delete(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			more := s.of(next, nil, 0, "")
			more.Wants = disks(12)
			if _, err := k.Admit(t.Context(), more); quota.IsExceeded(err) != tc.counts || err != nil && !tc.counts {
				t.Errorf("%s\nwant that it counts: %v, got %v, %v", tc.reason, tc.counts, err, k.entriesOf(t))
			}
		})
	}
}

// An outcome describes what becomes of VM 100, which a resource was granted and leaves before the VM was seen, and the amounts that then count.
type outcome struct {
	reason            string
	site              site
	after             time.Duration
	vms, cores, disks int64 // The list shows no cores of the VMs of a site.
}

func outcomes() map[string]outcome {
	all := map[string]outcome{
		"NotListed": {reason: "The call that makes the VM may be under way.", vms: 1, cores: 8, disks: 6},
		"Never":     {reason: "There is no VM after a minute.", after: 2 * time.Minute},
		"Late":      {reason: "A list that is older than the VM is read again.", site: site{late: []int{100}}, after: 2 * time.Minute, vms: 1, disks: 6},
		"Complete":  {reason: "The list tells what a VM has, but for its disks.", site: site{vmids: []int{100}}, vms: 1, disks: 6},
	}
	for name, g := range map[string]proxmox.Guest{
		"Cloned": {Lock: "clone"}, "Created": {Lock: "create"}, "Unlocked": {}, "Own": {Lock: "clone", Pool: "team-a"},
	} {
		g.VMID, g.Type = 100, "qemu"
		all[name] = outcome{
			reason: "A VM that is being made counts with all that it is to have.", site: site{guests: []proxmox.Guest{g}}, after: time.Hour,
			vms: 1, cores: 8, disks: 6,
		}
	}
	for name, g := range map[string]proxmox.Guest{"Theirs": {Type: "qemu", Pool: "team-b"}, "Container": {Type: "lxc"}} {
		g.VMID = 100
		all[name] = outcome{reason: "Somebody else has the VMID.", site: site{guests: []proxmox.Guest{g}}}
	}
	return all
}

// TestCreating checks that a VM counts that is being created when its resource is deleted, or names another VM, or none.
func TestCreating(t *testing.T) {
	for name, tc := range outcomes() {
		for how, leave := range map[string]func(*api, *Keeper, Application) (more int64, err error){
			"Gone": func(a *api, _ *Keeper, first Application) (int64, error) {
				return 0, a.Delete(t.Context(), first.Resource)
			},
			"Named": func(_ *api, k *Keeper, first Application) (int64, error) {
				first.VMID, first.Beside = 101, true
				_, err := k.Admit(t.Context(), first)
				return 1, err
			},
			"Unnamed": func(_ *api, k *Keeper, first Application) (int64, error) {
				first.VMID = 0
				_, err := k.Admit(t.Context(), first)
				return 1, err
			},
		} {
			t.Run(how+name, func(t *testing.T) {
				m, at := machine("first"), time.Unix(5000, 0)
				a := newAPI(t, m)
				k, s := withVolumes(a), tc.site
				k.now = func() time.Time { return at }
				first := s.of(m, nil, 100, "")
				first.Tenant.Quota.VMs, first.Tenant.Quota.Cores = new(int32(2)), new(int32(99))
				first.Wants = quota.Amounts{quota.VMs: 1, quota.Cores: 8, quota.Disks("ceph"): 6}
				if _, err := k.Admit(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				more, err := leave(a, k, first)
				if err != nil {
					t.Fatal(err)
				}
				for _, later := range []time.Duration{0, tc.after} {
					at = at.Add(later)
					all, err := k.Usage(t.Context(), config, first.Tenants, &s)
					if err != nil {
						t.Fatal(err)
					}
					if later < tc.after {
						continue
					}
					for i, want := range []int64{tc.cores + 8*more, tc.disks + 6*more, tc.vms + more} {
						if u := all[0].Usage[i]; u.Used.Value() != want {
							t.Errorf("%s\n%s: want %d, got %s, of %v", tc.reason, u.Resource, want, u.Used.String(), k.entriesOf(t))
						}
					}
				}
			})
		}
	}
}

// TestIdentityChanges checks that a resource that was granted a VM gets no other one in addition, whatever its record contains, unless Proxmox VE has
// refused to create the first.
func TestIdentityChanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		mg     resource.Managed
		ask    func(*Application)
		waits  bool
	}{
		"Same":    {reason: "The VM that it was granted is asked for again.", mg: machine("first"), ask: func(*Application) {}},
		"Another": {reason: "The Machine names another VM.", mg: machine("first"), ask: func(a *Application) { a.VMID = 101 }, waits: true},
		"None":    {reason: "The VM that the Machine names is somebody else's.", mg: machine("first"), ask: func(a *Application) { a.VMID = 0 }, waits: true},
		"Rejected": {
			reason: "Proxmox VE has told that somebody else has the VMID.", mg: machine("first"), ask: func(a *Application) { a.VMID, a.Rejected = 101, 100 },
		},
		"RejectedAnother": {
			reason: "What was refused is not what it was granted.", mg: machine("first"), ask: func(a *Application) { a.VMID, a.Rejected = 102, 101 }, waits: true,
		},
		"Record": {reason: "The record of the Volume was taken away.", mg: volume("first"), ask: func(a *Application) { a.VMID = 0 }, waits: true},
		"Disk": {
			reason: "The record of the Volume names another disk.", mg: volume("first"),
			ask: func(a *Application) { a.VMID, a.Volume = 200, vmDisk }, waits: true,
		},
		"Made": {reason: "The record of the Volume names the disk that was made.", mg: volume("first"), ask: func(a *Application) { a.Volume = stubDisk }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := withVolumes(newAPI(t, tc.mg))
			s := &site{guests: []proxmox.Guest{{VMID: 100, Type: "qemu", Lock: "create"}}}
			a := s.of(tc.mg, nil, 100, "")
			a.Wants = disks(12)
			a.Wants[quota.VMs] = 1
			if _, err := k.Admit(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			again := a
			tc.ask(&again)
			for range 2 {
				if _, err := k.Admit(t.Context(), again); quota.IsExceeded(err) != tc.waits || err != nil && !tc.waits {
					t.Errorf("%s\nwant that it waits: %v, got %v, of %v", tc.reason, tc.waits, err, k.entriesOf(t))
				}
			}
			if !tc.waits {
				return
			}
			if late := again; again.VMID != 0 && again.Volume == "" { // The resource learns late that another VM has the VMID.
				late.Rejected = 100
				if _, err := k.Admit(t.Context(), late); err != nil {
					t.Errorf("want room once Proxmox VE has told, got %v", err)
				}
				return
			}
			a.There = a.Wants // Its record is reset, and the VM is complete.
			s.guests, s.vmids, a.Whole = nil, []int{100}, false
			if _, err := k.Admit(t.Context(), a); err != nil {
				t.Error(err)
			}
			if entries := k.entriesOf(t); len(entries) != 1 || entries["first"].VMID != 100 {
				t.Errorf("want one entry once its record is set back, got %v", entries)
			}
		})
	}
}

// TestRejected checks that a Volume keeps the room of a stub VM that Proxmox VE has refused to create. The rejection is stored before the next VMID
// is chosen, also for other replicas.
func TestRejected(t *testing.T) {
	v := volume("first")
	api := newAPI(t, v)
	k := withVolumes(api)
	s := &site{guests: []proxmox.Guest{{VMID: 100, Type: "qemu"}}} // The VM is in no pool, so it may be one that is being created.
	a := s.of(v, nil, 100, "")
	a.Wants = disks(12)
	if _, err := k.Admit(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	a.VMID, a.Rejected = 0, 100
	if _, err := k.Admit(t.Context(), a); err != nil {
		t.Errorf("want its room kept, got %v", err)
	}
	a.Rejected = 0
	for name, k := range map[string]*Keeper{"the same": k, "another": withVolumes(api)} {
		if _, err := k.Admit(t.Context(), a); err != nil {
			t.Errorf("by %s replica: want its room for the next VM, got %v, of %v", name, err, k.entriesOf(t))
		}
	}
}

// TestTwoGranted checks that two Machines that were granted a VM with the same VMID count once each, whichever of them has created it.
func TestTwoGranted(t *testing.T) {
	winner, loser := machine("winner"), machine("loser")
	k, s := withVolumes(newAPI(t, winner, loser)), &site{}
	for _, m := range []*namespaced.Machine{loser, winner} {
		a := s.of(m, nil, 100, "")
		a.Beside = true
		if _, err := k.Admit(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	s.vmids = []int{100}
	if _, err := k.Admit(t.Context(), s.of(winner, disks(6), 100, "")); err != nil {
		t.Fatal(err)
	}
	next := s.of(loser, nil, 0, "")
	next.Beside = true
	for _, vmid := range []int{0, 101} {
		next.VMID = vmid
		if _, err := k.Admit(t.Context(), next); err != nil {
			t.Errorf("VMID %d: want its room for another VM, got %v, of %v", vmid, err, k.entriesOf(t))
		}
	}
	if entries := k.entriesOf(t); len(entries) != 2 || entries["winner"].VMID != 100 || entries["loser"].VMID != 101 {
		t.Errorf("want an entry of each, got %v", entries)
	}
}

// TestLeftGoes checks that what was left no longer counts once it is deleted, or counts for its new owner.
func TestLeftGoes(t *testing.T) {
	v, m := volume("data"), machine("web")
	a := newAPI(t, v, m)
	k, s := withVolumes(a), &site{vmids: []int{200}, disks: []string{vmDisk}}
	for _, a := range []Application{s.of(v, disks(6), 200, vmDisk), s.of(m, quota.Amounts{quota.VMs: 1}, 200, "")} {
		if a.Wants = a.There; a.Wants == nil {
			t.Fatal("want something that is there")
		}
		if _, err := k.Admit(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Delete(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	used := func() string {
		all, err := k.Usage(t.Context(), config, s.of(m, nil, 0, "").Tenants, s)
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Usage[0].Used.String()
	}
	if got := used(); got != "6" {
		t.Errorf("of a Machine that nobody looks at: want its disk counted, got %s", got)
	}
	looked := s.of(m, quota.Amounts{quota.VMs: 1, quota.Disks("ceph"): 6}, 200, "")
	looked.Wants, looked.Volumes = looked.There, []string{vmDisk}
	for range 2 {
		if _, err := k.Admit(t.Context(), looked); err != nil {
			t.Fatal(err)
		}
		if got := used(); got != "6" {
			t.Errorf("of one that counts it: want it counted once, got %s of %v", got, k.entriesOf(t))
		}
	}
	if err := a.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := used(); got != "6" {
		t.Errorf("of a VM that no Machine has: want its disk counted, got %s", got)
	}
	s.vmids = nil
	if got := used(); got != "0" {
		t.Errorf("of a VM that is gone: want nothing counted, got %s of %v", got, k.entriesOf(t))
	}
}

// TestPutBack checks that no disk is created free of charge by removing a record, or restoring an earlier one.
func TestPutBack(t *testing.T) {
	v := volume("data")
	a := newAPI(t, v)
	k, s := withVolumes(a), &site{vmids: []int{100, 200}, disks: []string{stubDisk, vmDisk}}
	if _, err := k.Admit(t.Context(), s.of(v, disks(6), 100, stubDisk)); err != nil {
		t.Fatal(err)
	}
	for volume, want := range map[string]bool{stubDisk: true, vmDisk: false, "": false} {
		if got, err := k.Counts(t.Context(), config, "team-a", "data", volume); got != want || err != nil {
			t.Errorf("Counts(%q): want %v, got %v, %v", volume, want, got, err)
		}
	}
	again := s.of(v, nil, 0, "")
	again.Wants = disks(12)
	if _, err := k.Admit(t.Context(), again); !quota.IsExceeded(err) {
		t.Errorf("want no room beside the disk that its record was about, got %v", err)
	}
	if _, err := k.Admit(t.Context(), s.of(v, nil, 0, "")); err != nil {
		t.Errorf("want what there is room for, got %v", err)
	}
	if _, err := k.Admit(t.Context(), s.of(v, disks(6), 100, stubDisk)); err != nil {
		t.Error(err)
	}
	if entries := k.entriesOf(t); len(entries) != 1 || entries["data"].Volume != stubDisk {
		t.Errorf("want one entry once the record is put back, got %v", entries)
	}
}

// TestCountsElsewhere checks that the entries of another replica are read if the cached ones are not sufficient.
func TestCountsElsewhere(t *testing.T) {
	v := volume("data")
	a := newAPI(t, v)
	s := &site{vmids: []int{100, 200}, disks: []string{vmDisk}}
	first, second := withVolumes(a), withVolumes(a)
	if _, err := first.Admit(t.Context(), s.of(v, disks(6), 100, stubDisk)); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Admit(t.Context(), s.of(v, disks(6), 200, vmDisk)); err != nil {
		t.Fatal(err)
	}
	if got, err := first.Counts(t.Context(), config, "team-a", "data", vmDisk); !got || err != nil {
		t.Errorf("Counts(): want the entry of the other replica, got %v, %v", got, err)
	}
	if entries := first.entriesOf(t); len(entries) != 1 {
		t.Errorf("want the disk entered once under its new name, got %v", entries)
	}
}

// TestHandedOver checks that a disk that moves from one VM to another, under another name, counts once.
func TestHandedOver(t *testing.T) {
	v := volume("data")
	k := withVolumes(newAPI(t, v))
	for _, at := range []struct {
		reason string
		vmid   int
		volume string
		disks  []string
	}{
		{reason: "A VM has the disk.", vmid: 200, volume: vmDisk, disks: []string{vmDisk}},
		{reason: "The disk is on its way to the stub VM.", vmid: 100, volume: vmDisk, disks: []string{vmDisk}},
		{reason: "The disk has arrived in the stub VM.", vmid: 100, volume: stubDisk, disks: []string{stubDisk}},
		{reason: "The disk goes back to the first VM.", vmid: 200, volume: stubDisk, disks: []string{stubDisk}},
		{reason: "The disk is back in the first VM.", vmid: 200, volume: vmDisk, disks: []string{vmDisk}},
	} {
		s := &site{vmids: []int{100, 200}, disks: at.disks}
		if _, err := k.Admit(t.Context(), s.of(v, disks(6), at.vmid, at.volume)); err != nil {
			t.Fatal(err)
		}
		if entries := k.entriesOf(t); len(entries) != 1 || entries["data"].VMID != at.vmid || entries["data"].Volume != at.volume {
			t.Errorf("%s\nwant one entry, got %v", at.reason, entries)
		}
	}
}

// TestPruneLeft checks that each entry of what was left stays, changes or is removed according to the lists of VMs and storages.
func TestPruneLeft(t *testing.T) {
	const another = "ProviderConfig/another"
	left := func(vmid int, volume, of string) quota.Entry {
		return quota.Entry{Config: of, VMID: vmid, Volume: volume, Has: disks(6), Left: true}
	}
	cases := map[string]struct {
		reason string
		entry  quota.Entry
		listed []int // The VMs of the tenant.
		disks  []string
		fails  bool
		fresh  bool // Whether the VMs were listed just now.
		just   bool // Whether it was left just now.
		stays  bool
		volume string // The volume of an entry that stays.
	}{
		"Alive":   {reason: "The entry of a resource that is there is not looked at.", entry: quota.Entry{Config: config, VMID: 100, Has: disks(6)}, stays: true},
		"Another": {reason: "What another configuration lists is left to that one.", entry: left(100, "", another), fresh: true, stays: true},
		"Former":  {reason: "An entry that tells no configuration is anybody's.", entry: left(100, "", ""), fresh: true},
		"VM":      {reason: "What a VM has counts while the VM is there.", entry: left(100, "", config), listed: []int{100}, stays: true},
		"VMGone":  {reason: "What a VM had goes with the VM.", entry: left(100, "", config), listed: []int{200}},
		"Disk": {
			reason: "A disk that the storage lists counts.", entry: left(100, stubDisk, config), listed: []int{100}, disks: []string{stubDisk}, fresh: true,
			stays: true, volume: stubDisk,
		},
		"DiskGone": {reason: "A disk that the storage does not list is gone.", entry: left(100, stubDisk, config), listed: []int{100}, fresh: true},
		"DiskJust": {reason: "A disk is looked for when it is left.", entry: left(100, stubDisk, config), listed: []int{100}, just: true},
		"DiskJustThere": {
			reason: "A disk that was just left and is there counts.", entry: left(100, stubDisk, config), listed: []int{100}, disks: []string{stubDisk}, just: true,
			stays: true, volume: stubDisk,
		},
		"DiskOld": {
			reason: "A disk that was looked for is not looked for again by an old list.", entry: left(100, stubDisk, config), listed: []int{100}, stays: true,
			volume: stubDisk,
		},
		"DiskUnknown": {
			reason: "A disk of a storage that cannot be read counts.", entry: left(100, stubDisk, config), listed: []int{100}, fails: true, fresh: true,
			stays: true, volume: stubDisk,
		},
		"DiskVMGone": {reason: "A disk goes with its VM.", entry: left(100, stubDisk, config), listed: []int{200}, disks: []string{stubDisk}, fresh: true},
		"Arrives": {
			reason: "A disk on its way has another name in the VM that gets it.", entry: left(200, stubDisk, config), listed: []int{100, 200}, fresh: true, stays: true,
		},
		"ArrivesAlone": {
			reason: "A disk on its way counts with the VM that gets it where its former VM is gone.", entry: left(200, stubDisk, config), listed: []int{200},
			stays: true,
		},
		"NotLeft": {
			reason: "A disk that has not left its former VM keeps its name.", entry: left(200, stubDisk, config), listed: []int{100, 200},
			disks: []string{stubDisk}, fresh: true,
			stays: true, volume: stubDisk,
		},
		"Lost": {reason: "A disk on its way is gone where neither VM is there.", entry: left(200, stubDisk, config), listed: []int{300}, fresh: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := &site{vmids: tc.listed, disks: tc.disks}
			if tc.fails {
				in.fails = errors.New("no answer")
			}
			p := pruning{Keeper: New(), config: config, in: in, fresh: tc.fresh, entries: quota.Ledger{"gone": tc.entry}}
			p.seen.Listed = map[int]quota.Amounts{}
			for _, id := range tc.listed {
				p.seen.Listed[id] = quota.Amounts{}
			}
			before := maps.Clone(p.entries)
			if tc.just {
				before = nil
			}
			p.pruneLeft(t.Context(), before)
			if e, stays := p.entries["gone"]; stays != tc.stays || e.Volume != tc.volume {
				t.Errorf("%s\nwant it to stay: %t, as disk %q, got %t, %q", tc.reason, tc.stays, tc.volume, stays, e.Volume)
			}
		})
	}
}
