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
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A confinement keeps a Volume to what its tenant may have.
type confinement struct{ *external }

// confine a Volume to what its tenant has. Its annotations are for users to write: all VMs that the record names have to be the tenant's, and
// so has the one that the disk is named after, unless the provider has signed the record and they are gone, or the Volume is being deleted. A deleted
// Volume of others leaves nothing to remove.
func (e confinement) confine(ctx context.Context, m Volume, to *connect.Connection) (leaves bool, err error) {
	e.records, e.tenant = to.Records, to.Tenant
	if _, e.trusted = to.Records.Volume(m); e.tenant == nil {
		return false, nil
	}
	if err = e.checkTenant(ctx, m, to); tenancy.IsRefusal(err) && meta.WasDeleted(m) {
		e.Event(m, event.Warning(target.EventLeftBehind, errors.Wrap(err, "nothing is removed from Proxmox VE")))
		return true, nil
	}
	tenancy.ShowRefusal(m, err)
	if r := e.view.Record; err != nil || !r.Made() {
		return false, err
	}
	if err := e.enter(ctx, m, to); err != nil || e.trusted {
		return false, err
	}
	e.trusted = true
	return false, e.save(ctx, m)
}

// enter enters in the quota what the Volume has, before its record is signed, as no Machine counts the disk from then on, and if the quota has no entry of
// it yet. It is there already, so that it needs no room.
func (e confinement) enter(ctx context.Context, m Volume, to *connect.Connection) error {
	r := e.view.Record
	if e.tenant.Limits() == nil || meta.WasDeleted(m) {
		return nil
	}
	was, err := e.entered(ctx)
	if err != nil || e.trusted && len(was.Has) > 0 {
		return err
	}
	all, err := e.amountsOf(ctx, to.Inventory, r.Volume)
	if err != nil {
		return errors.Wrapf(err, "cannot tell how much of a quota %s takes", r.Volume)
	}
	if was.Volume == r.Volume {
		all = quota.Most(all, was.Has) // Some of that may be on its way.
	}
	return e.room(ctx, e.at(target.Amounts{There: all, Wants: all}))
}

// at says which disk the Volume is, and in which VM; in none if somebody else has the VMID of its stub VM, which gets another one.
func (e confinement) at(a target.Amounts) target.Amounts {
	switch v := e.view; {
	case v.Made():
		a.VMID, a.Volume = tenancy.OwnerOf(v.Volume), v.Volume
	case !v.foreign:
		a.VMID = v.VMID
	}
	return a
}

// follow enters the VM that has what was granted, or is to have it: there it counts if the Volume is gone before it is looked at again.
func (e confinement) follow(ctx context.Context, m Volume, vmid int) error {
	if e.tenant == nil || e.tenant.Limits() == nil || !kind.MayChange(m) {
		return nil
	}
	v := e.view
	was, err := e.entered(ctx)
	if err != nil || len(was.Has) == 0 || was.VMID == vmid && was.Volume == v.Volume {
		return err
	}
	a := target.Amounts{There: was.Has.Beyond(was.Pending), Wants: was.Has, Whole: !v.Made(), VMID: vmid, Volume: v.Volume}
	if was.Volume != v.Volume { // The record may be one of its earlier ones, which names another disk.
		if a.There, err = e.amountsOf(ctx, e.inventory, v.Volume); err != nil {
			return err
		}
		a.Wants = a.There
	}
	return e.room(ctx, a)
}

// rejected tells the quota that Proxmox VE has refused to make the stub VM, since somebody else has its VMID: what was granted is for the next one.
func (e confinement) rejected(ctx context.Context, m Volume, vmid int) error {
	if e.tenant == nil || e.tenant.Limits() == nil || e.view.Made() || !kind.MayChange(m) {
		return nil
	}
	was, err := e.entered(ctx)
	if err != nil || was.VMID != vmid {
		return err
	}
	return e.room(ctx, target.Amounts{There: was.Has.Beyond(was.Pending), Wants: was.Has, Whole: true, Rejected: vmid})
}

// amountsOf a Volume that has a disk.
func (e confinement) amountsOf(ctx context.Context, in lister, volume string) (quota.Amounts, error) {
	owner := tenancy.OwnerOf(volume)
	guests, err := in.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	a := stub()
	if i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == owner }); i >= 0 {
		size, err := quotas.SizeOf(ctx, in, guests[i].Node, volume)
		if err != nil {
			return nil, err
		}
		a[quota.Disks(storageOf(volume))] = int64(size)
	}
	return a, nil
}

// A lister lists the VMs and the volumes of a cluster.
type lister interface {
	connect.GuestLister
	quotas.VolumeLister
}

// roomForAdopted finds whether the quota keeps the Volume from a disk of a VM. One that a Machine of the tenant has counts already, and so does a stub VM.
func (e confinement) roomForAdopted(ctx context.Context, m Volume, owner *vm, volume string) (*kind.Problem, error) {
	if e.tenant == nil || e.tenant.Limits() == nil || !kind.MayChange(m) {
		return nil, nil
	}
	if p, err := e.keepsOther(ctx, volume); p != nil || err != nil {
		return p, err
	}
	all, err := e.amountsOf(ctx, e.inventory, volume)
	if err != nil {
		return nil, err
	}
	there := quota.Amounts{}
	if owner.Config.Stub() || e.view.VMID != 0 {
		there = stub()
	}
	counted, err := e.isCounted(ctx, owner)
	if err != nil {
		return nil, err
	}
	if disk := quota.Disks(storageOf(volume)); counted {
		there[disk] = all[disk]
	}
	return target.NoRoom(ctx, func(ctx context.Context) error {
		return e.room(ctx, target.Amounts{There: there, Wants: all, Whole: true, VMID: owner.VMID, Volume: volume})
	})
}

// keepsOther is the problem that the Volume has another disk, which would count no more.
func (e confinement) keepsOther(ctx context.Context, volume string) (*kind.Problem, error) {
	v := e.view
	if !v.Made() || v.Volume == volume || v.Lost {
		return nil, nil
	}
	has, err := e.amountsOf(ctx, e.inventory, v.Volume)
	if err != nil || has[quota.Disks(storageOf(v.Volume))] == 0 {
		return nil, err
	}
	return notAdoptable(volume, "the Volume has %s, which would count in no quota any more: name it in another Volume", v.Volume), nil
}

// isCounted reports whether a Machine of the tenant has a VM, which counts with all of its disks then.
func (e confinement) isCounted(ctx context.Context, owner *vm) (bool, error) {
	all, err := kind.ListCached(ctx, e.Kube, e.machines.List)
	if err != nil {
		return false, err
	}
	for _, mg := range all {
		if vmid, uuid := e.records.VMOf(mg); vmid != owner.VMID || !strings.EqualFold(uuid, owner.Config.UUID()) {
			continue
		}
		if is, err := e.sharesTenant(ctx, mg); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// checkTenant is an error if the disk, or a VM that has to do with it, is not the tenant's.
func (e confinement) checkTenant(ctx context.Context, m Volume, to *connect.Connection) error {
	r := e.view.Record
	if !e.trusted {
		clearTasks(r)
		if r.Made() && !e.tenant.AllowsStorage(storageOf(r.Volume)) {
			return e.tenant.RefuseVolume(r.Volume)
		}
	}
	for _, vmid := range vmidsOf(r) {
		if err := connect.CheckVM(ctx, to.Inventory, vmid, func(g proxmox.Guest) error {
			switch {
			case e.trusted && g.Type == "":
				return nil // It is not there, which is told.
			case e.trusted && meta.WasDeleted(m):
				return e.tenant.CheckRemove(g) // It was the tenant's when the disk came there.
			}
			return e.tenant.CheckGuest(g)
		}); err != nil {
			return err
		}
	}
	named := meta.GetExternalName(m)
	if named == "" || named == r.Volume || r.WasNamed(named) || meta.WasDeleted(m) { // A former name is checked once the user consents to the disk.
		return nil
	}
	return connect.CheckVM(ctx, to.Inventory, tenancy.OwnerOf(named), func(g proxmox.Guest) error { return e.tenant.CheckAdoptDisk(named, g) })
}

// has reports whether the VM that a Machine's status names is the tenant's: users may write it, and of a VM of others not even its node is told.
func (e confinement) has(ctx context.Context, vmid int) (bool, error) {
	if e.tenant == nil {
		return true, nil
	}
	err := connect.CheckVM(ctx, e.inventory, vmid, e.tenant.CheckGuest)
	if tenancy.IsRefusal(err) {
		return false, nil
	}
	return err == nil, err
}

// recovers is an error if the disk of a VM may not be taken over in place of one that was lost: that VM is another one than had it, and the record may
// be made up.
func (e confinement) recovers(ctx context.Context, owner *vm) error {
	if e.tenant == nil || e.view.isRecordedHolder(owner) {
		return nil
	}
	return e.adopts(ctx, e.view.Volume, owner)
}

// adopts is an error if the disk of a VM may not be adopted.
func (e confinement) adopts(ctx context.Context, volume string, owner *vm) error {
	if e.tenant == nil {
		return nil
	}
	return connect.CheckVM(ctx, e.inventory, owner.VMID, func(g proxmox.Guest) error { return e.tenant.CheckAdoptDisk(volume, g) })
}

// clearTasks drops the tasks that a record names which somebody may have made up, so that none is looked at.
func clearTasks(r *volumeref.Record) {
	r.Task = ""
	if r.Handover != nil {
		r.Handover.Task = ""
	}
}

// vmidsOf are the VMs that a record names.
func vmidsOf(r *volumeref.Record) []int {
	var all []int
	if r.VMID != 0 {
		all = append(all, r.VMID)
	}
	if r.Made() {
		all = append(all, tenancy.OwnerOf(r.Volume)) // 0 is no VM, and so no tenant's.
	}
	if h := r.Handover; h != nil {
		all = append(all, h.From, h.To)
	}
	return all
}

// signed is a record with its signature. Where nothing is checked, as while refusals are only shown, what somebody has made up would be
// signed too.
func (e *external) signed(m Volume, record string) map[string]string {
	a := map[string]string{persisted().Record: record}
	if signature := e.records.SignVolume(m, record); signature != "" && (e.tenant != nil || e.trusted) {
		a[tenancy.AnnotationVolumeSignature] = signature
	}
	return a
}

// unchecked has a record, also one that was signed, be trusted no more if the disk that comes to it now, or the VM that the disk goes to, is checked
// by nobody.
func (e confinement) unchecked() {
	e.trusted = e.trusted && e.tenant != nil
}

// stub is what the stub VM counts for in a quota, as the cluster lists it.
func stub() quota.Amounts {
	return quota.Amounts{quota.VMs: 1, quota.Cores: 1, quota.Memory: int64(stubMemory * proxmox.MiB)}
}

// counted is what a Volume is seen to have of a quota. The size of an unused disk is not known: what it was granted counts. As long as there is no disk, its
// record alone tells of its stub VM.
func counted(mg resource.Managed) (there quota.Amounts, vmid int, begun bool) {
	m, ok := mg.(Volume)
	r, err := volumeref.RecordOf(mg)
	if !ok || err != nil || r.VMID == 0 && !r.Made() {
		return nil, 0, false
	}
	a := stub()
	if r.Made() && !r.Lost {
		a[quota.Disks(storageOf(r.Volume))] = int64(sizeOf(m))
	}
	return a, r.VMID, !r.Made()
}

// sizeOf a disk as it was seen last, 0 if that is not known.
func sizeOf(m Volume) proxmox.Size {
	size, _ := proxmox.ParseSize(m.Observation().Size) // Nothing is 0.
	return size
}

// checkRoom finds whether the quota keeps a disk from being made, from growing, or from being moved. Of one that stays as it is, it enters what is there.
func (e confinement) checkRoom(ctx context.Context, m Volume) error {
	v := e.view
	g, _ := v.growth()
	stays := v.action == keep && v.Made() && v.Handover == nil && v.Begun == 0
	if e.tenant == nil || e.tenant.Limits() == nil || !kind.MayChange(m) {
		return nil
	}
	there, known := v.amounts(m)
	if v.problem != nil || v.deleted || g.More <= 0 && (!stays || !known) { // What was entered last counts, where the disk is now.
		if !v.Made() || v.Lost || v.Handover != nil {
			return nil
		}
		return e.follow(ctx, m, tenancy.OwnerOf(v.Volume))
	}
	wants := quota.Most(there, stub())
	if g.More > 0 {
		wants = quota.Most(wants, quota.Amounts{quota.Disks(g.Storage): int64(g.Size)})
	}
	no, err := target.NoRoom(ctx, func(ctx context.Context) error {
		return e.room(ctx, e.at(target.Amounts{There: there, Wants: wants, Whole: !v.Made()}))
	})
	if g.More > 0 {
		v.problem = no
	}
	return err
}

// amounts are what the Volume has, and whether the size of its disk is told by the VM, and not only as it was seen last.
func (v *view) amounts(m Volume) (there quota.Amounts, known bool) {
	switch {
	case !v.Made() && v.stub == nil: // A VMID in the record is for users to write.
		return nil, true
	case !v.Made():
		return stub(), true
	}
	a, size := stub(), sizeOf(m) // The stub VM is made when the disk leaves the VM that it was adopted in.
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
