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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
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
	tenancy.Show(m, err)
	if r := e.view.Record; err != nil || e.trusted || !r.Made() {
		return false, err
	}
	e.trusted = true
	return false, e.save(ctx, m)
}

// checkTenant is an error if the disk, or a VM that has to do with it, is not the tenant's.
func (e confinement) checkTenant(ctx context.Context, m Volume, to *connect.Connection) error {
	r := e.view.Record
	if !e.trusted {
		distrust(r)
		if r.Made() && !e.tenant.Stores(storageOf(r.Volume)) {
			return e.tenant.AdoptsVolume(r.Volume)
		}
	}
	for _, vmid := range vmidsOf(r) {
		if err := connect.CheckVM(ctx, to.Inventory, vmid, func(g proxmox.Guest) error {
			if e.trusted && (g.Type == "" || meta.WasDeleted(m)) {
				return nil // It is not there, which is told, or was the tenant's when the disk came there.
			}
			return e.tenant.Holds(g)
		}); err != nil {
			return err
		}
	}
	named := meta.GetExternalName(m)
	if named == "" || named == r.Volume || meta.WasDeleted(m) {
		return nil
	}
	return connect.CheckVM(ctx, to.Inventory, tenancy.OwnerOf(named), func(g proxmox.Guest) error { return e.tenant.AdoptsDisk(named, g) })
}

// distrust a record that somebody may have made up: no task is looked at that it names.
func distrust(r *volumeref.Record) {
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

// unchecked has a record, also one that was signed, be trusted no more if the disk that comes to it now is checked by nobody.
func (e adoption) unchecked() {
	e.trusted = e.trusted && e.tenant != nil
}

// stub is what the stub VM counts for in a quota, as the cluster lists it.
func stub() quota.Amounts {
	return quota.Amounts{quota.VMs: 1, quota.Cores: 1, quota.Memory: int64(stubMemory * proxmox.MiB)}
}

// counted is what a Volume is seen to have of a quota. The size of an unused disk is not known: what it was let have counts.
func counted(mg resource.Managed) (quota.Amounts, int) {
	m, ok := mg.(Volume)
	r, err := volumeref.RecordOf(mg)
	if !ok || err != nil || r.VMID == 0 {
		return nil, 0
	}
	a := stub()
	if r.Made() && !r.Lost {
		a[quota.Disks(storageOf(r.Volume))] = int64(sizeOf(m))
	}
	return a, r.VMID
}

// sizeOf a disk as it was seen last, 0 if that is not known.
func sizeOf(m Volume) proxmox.Size {
	size, _ := proxmox.ParseSize(m.Observation().Size) // Nothing is 0.
	return size
}

// checkRoom finds whether the quota keeps a disk from being made, from growing, or from being moved.
func (e confinement) checkRoom(ctx context.Context, m Volume) error {
	v := e.view
	g, _ := v.growth()
	if g.More <= 0 || v.problem != nil || !kind.MayChange(m) {
		return nil
	}
	wants := stub()
	wants[quota.Disks(g.Storage)] = int64(g.Size)
	var err error
	v.problem, err = target.NoRoom(ctx, func(ctx context.Context) error { return e.room(ctx, wants) })
	return err
}
