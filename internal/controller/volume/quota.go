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

package volume

import (
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// A room checks the quota of the tenant for a Volume. Without a quota, it does nothing.
type room struct {
	// limited is true if the tenant has a quota.
	limited bool

	// ask returns an error if the quota has no room, and entered returns the entry of the Volume.
	ask     func(ctx context.Context, a target.Amounts) error
	entered func(ctx context.Context) (quota.Entry, error)

	// inventory lists the VMs and the volumes of the cluster.
	inventory lister

	// machines are read from kube, records determine which VMs they have, and sharesTenant which of them belong to the tenant.
	kube         client.Reader
	machines     resource.ManagedList
	records      tenancy.Records
	sharesTenant func(context.Context, resource.Managed) (bool, error)
}

// A lister lists the VMs and the volumes of a cluster.
type lister interface {
	connect.GuestLister
	inventory.VolumeLister
}

func (c *connector) roomFor(m Volume, to *connect.Connection, sharesTenant func(context.Context, resource.Managed) (bool, error)) room {
	return room{
		limited: to.Tenant.Limits() != nil,
		ask:     func(ctx context.Context, a target.Amounts) error { return c.quota.Ask(ctx, m, to, a) },
		entered: func(ctx context.Context) (quota.Entry, error) {
			return c.quota.Entered(ctx, to.Name, to.Tenant.Name, string(m.GetUID()))
		},
		inventory: to.Inventory, kube: c.Kube, machines: c.machines.List, records: to.Records, sharesTenant: sharesTenant,
	}
}

// enter adds the disk of the Volume to the quota before its record is signed, because no Machine counts the disk from then on, and if the quota has
// no entry for it yet. The disk exists already, so it needs no room.
func (r room) enter(ctx context.Context, m Volume, s *state, trusted bool) error {
	if !r.limited || meta.WasDeleted(m) {
		return nil
	}
	was, err := r.entered(ctx)
	if err != nil || trusted && len(was.Has) > 0 {
		return err
	}
	all, err := r.amountsOf(ctx, s.Volume)
	if err != nil {
		return errors.Wrapf(err, "cannot tell how much of a quota %s takes", s.Volume)
	}
	if was.Volume == s.Volume {
		all = quota.Most(all, was.Has) // Some of that may still be in progress.
	}
	return r.ask(ctx, s.located(target.Amounts{There: all, Wants: all}))
}

// located adds to amounts the disk of the Volume, and its VM. There is no VM if another VM has the VMID of the stub VM, which then gets another one.
func (s *state) located(a target.Amounts) target.Amounts {
	switch {
	case s.Made():
		a.VMID, a.Volume = tenancy.OwnerOf(s.Volume), s.Volume
	case !s.foreign:
		a.VMID = s.VMID
	}
	return a
}

// follow enters the VM that has, or is to have, what was granted. The amounts count there if the Volume is deleted before its next reconcile.
func (r room) follow(ctx context.Context, m Volume, s *state, vmid int) error {
	if !r.limited || !kind.MayChange(m) {
		return nil
	}
	was, err := r.entered(ctx)
	if err != nil || len(was.Has) == 0 || was.VMID == vmid && was.Volume == s.Volume {
		return err
	}
	a := target.Amounts{There: was.Has.Beyond(was.Pending), Wants: was.Has, Whole: !s.Made(), VMID: vmid, Volume: s.Volume}
	if was.Volume != s.Volume { // The record may be an earlier one, which names another disk.
		if a.There, err = r.amountsOf(ctx, s.Volume); err != nil {
			return err
		}
		a.Wants = a.There
	}
	return r.ask(ctx, a)
}

// rejected reports to the quota that Proxmox VE has refused to create the stub VM, because another VM has its VMID. What was granted is then for the
// next one.
func (r room) rejected(ctx context.Context, m Volume, s *state, vmid int) error {
	if !r.limited || s.Made() || !kind.MayChange(m) {
		return nil
	}
	was, err := r.entered(ctx)
	if err != nil || was.VMID != vmid {
		return err
	}
	return r.ask(ctx, target.Amounts{There: was.Has.Beyond(was.Pending), Wants: was.Has, Whole: true, Rejected: vmid})
}

// amountsOf returns the amounts of a Volume that has a disk.
func (r room) amountsOf(ctx context.Context, volume string) (quota.Amounts, error) {
	owner := tenancy.OwnerOf(volume)
	guests, err := r.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	a := amounts.Stub()
	if i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == owner }); i >= 0 {
		size, err := inventory.SizeOf(ctx, r.inventory, guests[i].Node, volume)
		if err != nil {
			return nil, err
		}
		a[quota.Disks(storageOf(volume))] = int64(size)
	}
	return a, nil
}

// checkAdopted checks whether the quota has room for adopting a disk of a VM. A disk of a Machine of the tenant counts already, and so does a stub
// VM.
func (r room) checkAdopted(ctx context.Context, m Volume, s *state, owner *vm, volume string) (*kind.Problem, error) {
	if !r.limited || !kind.MayChange(m) {
		return nil, nil
	}
	if p, err := r.keepsOther(ctx, s, volume); p != nil || err != nil {
		return p, err
	}
	all, err := r.amountsOf(ctx, volume)
	if err != nil {
		return nil, err
	}
	there := quota.Amounts{}
	if owner.Config.Stub() || s.VMID != 0 {
		there = amounts.Stub()
	}
	counted, err := r.isCounted(ctx, owner)
	if err != nil {
		return nil, err
	}
	if disk := quota.Disks(storageOf(volume)); counted {
		there[disk] = all[disk]
	}
	return target.NoRoom(ctx, func(ctx context.Context) error {
		return r.ask(ctx, target.Amounts{There: there, Wants: all, Whole: true, VMID: owner.VMID, Volume: volume})
	})
}

// keepsOther returns the problem that the Volume has another disk, which would no longer count.
func (r room) keepsOther(ctx context.Context, s *state, volume string) (*kind.Problem, error) {
	if !s.Made() || s.Volume == volume || s.Lost {
		return nil, nil
	}
	has, err := r.amountsOf(ctx, s.Volume)
	if err != nil || has[quota.Disks(storageOf(s.Volume))] == 0 {
		return nil, err
	}
	return notAdoptable(volume, "the Volume has %s, which would count in no quota any more: name it in another Volume", s.Volume), nil
}

// isCounted reports whether a Machine of the tenant has a VM, which then counts with all of its disks.
func (r room) isCounted(ctx context.Context, owner *vm) (bool, error) {
	all, err := kind.ListCached(ctx, r.kube, r.machines)
	if err != nil {
		return false, err
	}
	for _, mg := range all {
		if vmid, uuid := r.records.VMOf(mg); vmid != owner.VMID || !strings.EqualFold(uuid, owner.Config.UUID()) {
			continue
		}
		if is, err := r.sharesTenant(ctx, mg); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// check checks whether the quota has room for a disk to be created, to grow, or to be moved. For a disk that stays as it is, it enters the present
// amounts.
func (r room) check(ctx context.Context, m Volume, v *view) (*kind.Problem, error) {
	if !r.limited || !kind.MayChange(m) {
		return nil, nil
	}
	g, _ := v.growth()
	stays := v.action == keep && v.Made() && v.Handover == nil && v.Begun == 0
	there, known := v.amounts(m)
	if v.problem != nil || v.deleted || g.More <= 0 && (!stays || !known) { // The last entry counts, where the disk is now.
		if !v.Made() || v.Lost || v.Handover != nil {
			return nil, nil
		}
		return nil, r.follow(ctx, m, v.state, tenancy.OwnerOf(v.Volume))
	}
	wants := quota.Most(there, amounts.Stub())
	if g.More > 0 {
		wants = quota.Most(wants, quota.Amounts{quota.Disks(g.Storage): int64(g.Size)})
	}
	no, err := target.NoRoom(ctx, func(ctx context.Context) error {
		return r.ask(ctx, v.located(target.Amounts{There: there, Wants: wants, Whole: !v.Made()}))
	})
	if g.More <= 0 { // Nothing waits for room.
		return nil, err
	}
	return no, err
}

// amounts returns what the Volume has, and whether the size of its disk was read from the VM, rather than last seen.
func (v *view) amounts(m Volume) (there quota.Amounts, known bool) {
	switch {
	case !v.Made() && v.stub == nil: // Users can write a VMID into the record.
		return nil, true
	case !v.Made():
		return amounts.Stub(), true
	}
	a, size := amounts.Stub(), sizeOf(m) // The stub VM is created when the disk leaves the VM in which it was adopted.
	if v.holder != nil {
		if d, err := proxmox.ParseDisk(v.holder.Config[v.holder.attached(v.Volume)]); err == nil {
			if is, told := d.Size(); told {
				size, known = is, true
			}
		}
	}
	a[quota.Disks(storageOf(v.Volume))] = int64(size)
	return a, known
}

// sizeOf returns the last seen size of a disk, or 0 if it is unknown.
func sizeOf(m Volume) proxmox.Size {
	size, _ := proxmox.ParseSize(m.Observation().Size) // No size results in 0.
	return size
}
