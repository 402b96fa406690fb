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

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A confinement limits a Volume to what its tenant may have.
type confinement struct {
	// tenant that confines the Volume; nil if none does. records determine whether its record is trusted, because the provider has signed it.
	tenant  *tenancy.Tenant
	records tenancy.Records
	trusted bool

	// guests lists the VMs of the cluster.
	guests connect.GuestLister
}

func newConfinement(m Volume, to *connect.Connection) confinement {
	_, trusted := to.Records.Volume(m)
	return confinement{tenant: to.Tenant, records: to.Records, trusted: trusted, guests: to.Inventory}
}

// confine limits a Volume to what belongs to its tenant. Users can write its annotations, so all VMs that the record names must belong to the tenant,
// and so must the one that the disk is named after. The exceptions are a record that the provider has signed and whose VMs no longer exist, and a
// Volume that is being deleted. A deleted Volume of another tenant leaves nothing to remove.
func (e *external) confine(ctx context.Context, m Volume) (leaves bool, err error) {
	c, s := &e.confinement, e.view.state
	if c.tenant == nil {
		return false, nil
	}
	if err = c.checkRecord(ctx, m, s.Record); tenancy.IsRefusal(err) && meta.WasDeleted(m) {
		e.Event(m, event.Warning(target.EventLeftBehind, errors.Wrap(err, "nothing is removed from Proxmox VE")))
		return true, nil
	}
	tenancy.ShowRefusal(m, err)
	if err != nil || !s.Made() {
		return false, err
	}
	if err := e.room.enter(ctx, m, s, c.trusted); err != nil || c.trusted {
		return false, err
	}
	c.trusted = true
	return false, e.save(ctx, m)
}

// checkRecord returns an error if the disk of a record, or a VM that it concerns, does not belong to the tenant. It drops the tasks of a record that
// is not trusted.
func (c *confinement) checkRecord(ctx context.Context, m Volume, r *volumeref.Record) error {
	if !c.trusted {
		clearTasks(r)
		if r.Made() && !c.tenant.AllowsStorage(storageOf(r.Volume)) {
			return c.tenant.RefuseVolume(r.Volume)
		}
	}
	for _, vmid := range vmidsOf(r) {
		if err := connect.CheckVM(ctx, c.guests, vmid, func(g proxmox.Guest) error {
			switch {
			case c.trusted && g.Type == "":
				return nil // The VM does not exist, which is reported elsewhere.
			case c.trusted && meta.WasDeleted(m):
				return c.tenant.CheckRemove(g) // It belonged to the tenant when it received the disk.
			}
			return c.tenant.CheckGuest(g)
		}); err != nil {
			return err
		}
	}
	named := meta.GetExternalName(m)
	if named == "" || named == r.Volume || r.WasNamed(named) || meta.WasDeleted(m) { // A former name is checked once the user consents to the disk.
		return nil
	}
	return connect.CheckVM(ctx, c.guests, tenancy.OwnerOf(named), func(g proxmox.Guest) error { return c.tenant.CheckAdoptDisk(named, g) })
}

// has reports whether the VM in a Machine's status belongs to the tenant. Users can write that status, and not even the node of another tenant's VM
// may be revealed.
func (c *confinement) has(ctx context.Context, vmid int) (bool, error) {
	if c.tenant == nil {
		return true, nil
	}
	err := connect.CheckVM(ctx, c.guests, vmid, c.tenant.CheckGuest)
	if tenancy.IsRefusal(err) {
		return false, nil
	}
	return err == nil, err
}

// checkAdopted returns an error if the disk of a VM may not be adopted.
func (c *confinement) checkAdopted(ctx context.Context, volume string, vmid int) error {
	if c.tenant == nil {
		return nil
	}
	return connect.CheckVM(ctx, c.guests, vmid, func(g proxmox.Guest) error { return c.tenant.CheckAdoptDisk(volume, g) })
}

// signed returns a record with its signature. A record is not signed where nothing is checked, for example while refusals are only shown, because a
// forged record would then be signed too.
func (c *confinement) signed(m Volume, record string) map[string]string {
	a := map[string]string{persisted().Record: record}
	if signature := c.records.SignVolume(m, record); signature != "" && (c.tenant != nil || c.trusted) {
		a[tenancy.AnnotationVolumeSignature] = signature
	}
	return a
}

// unchecked ends the trust in a record, even a signed one, if its new disk, or the VM that receives the disk, is not checked.
func (c *confinement) unchecked() {
	c.trusted = c.trusted && c.tenant != nil
}

// clearTasks removes the tasks of a record that may be forged, so that none of them is read.
func clearTasks(r *volumeref.Record) {
	r.Task = ""
	if r.Handover != nil {
		r.Handover.Task = ""
	}
}

// vmidsOf returns the VMs that a record names.
func vmidsOf(r *volumeref.Record) []int {
	var all []int
	if r.VMID != 0 {
		all = append(all, r.VMID)
	}
	if r.Made() {
		all = append(all, tenancy.OwnerOf(r.Volume)) // 0 is not a VM, and thus belongs to no tenant.
	}
	if h := r.Handover; h != nil {
		all = append(all, h.From, h.To)
	}
	return all
}
