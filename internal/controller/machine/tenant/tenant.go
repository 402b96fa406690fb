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

// Package tenant finds which parts of the resolved spec of a Machine its tenant may not have. The spec itself was checked before there was a connection.
package tenant

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/claims"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Checks are the checks of one Machine.
type Checks struct {
	// Tenant that confines the Machine, or nil if none does.
	*tenancy.Tenant

	// Warned is the tenant that would confine it, where refusals are only shown.
	Warned *tenancy.Tenant

	Inventory Inventory

	// Records of which VM was seen to belong to which Machine.
	Records tenancy.Records

	// Quota of the tenant.
	Quota Quota

	// TenantFor returns the tenant of this or another Machine, and whether a provider configuration of the same cluster enforces it. If it is nil, no
	// tenant is enforced.
	TenantFor func(ctx context.Context, of object.Machine) (t *tenancy.Tenant, enforced bool, err error)

	// SignedUUID returns the UUID that the provider has signed as that of another Machine's VM in the same cluster, or an empty string.
	SignedUUID func(ctx context.Context, other object.Machine) string
}

// AmongAllowed returns a hint for an object that was not found: the rule that limits what the tenant can find. It is empty without a tenant.
func (c Checks) AmongAllowed(rule string) string { return tenancy.AmongAllowed(c.Tenant, rule) }

// WantedTags returns the tags that a VM must have whatever the spec says. A nil VM stands for one that is to be created.
func (c Checks) WantedTags(v *vmstate.VM) []string {
	if v == nil {
		return c.RequiredTags()
	}
	return tenancy.TagsToKeep(c.Tenant, proxmox.Guest{VMID: v.VMID, Pool: v.Pool}, v.Config)
}

// Adoption returns an error if a VM may not be taken over, because of its pool, its place or its configuration.
func (c Checks) Adoption(ctx context.Context, m object.Machine, v *vmstate.VM) error {
	if err := c.check(ctx, m, v.VMID, c.CheckAdopt); err != nil || c.Tenant == nil {
		return err
	}
	err := c.CheckPlacedConfig(v.Node, v.VMID, v.Config)
	tenancy.ShowRefusal(m, err)
	return err
}

// ShowAllowed shows in a condition of a Machine what its tenant may not have of the current VM, which an administrator may have changed by hand.
// Where refusals are only shown, it shows everything that would be refused, or else what the Machine would wait for.
func (c Checks) ShowAllowed(ctx context.Context, m object.Machine, v *vmstate.VM) {
	t := cmp.Or(c.Warned, c.Tenant)
	if t == nil || meta.WasDeleted(m) {
		return
	}
	guests, err := c.Inventory.Guests(ctx, inventory.Current)
	g, listed := proxmox.GuestOf(guests, v.VMID)
	if err != nil || !listed {
		return // It is shown once it is known.
	}
	switch refused := t.CheckAll(m, g, v.Config); {
	case refused == nil && c.Warned != nil:
		c.showRoom(ctx, m, amounts.VM{Config: v.Config})
	case refused != nil || m.GetCondition(v1alpha1.TypeTenantAllowed).Reason != "":
		tenancy.ShowAllowed(m, refused)
	}
}

// OnNode returns on which node a VM is that is not the Machine's, unless the tenant may not know that.
func (c Checks) OnNode(node string) string {
	if c.Tenant != nil {
		return ""
	}
	return " on node " + node
}

// Ownership returns an error if a VM that is proven to be the Machine's does not belong to the tenant. It may still be deleted if it was seen to be
// the Machine's before, and no other tenant may have it now.
func (c Checks) Ownership(ctx context.Context, m object.Machine, v *vmstate.VM, proof qemu.Proof) error {
	switch {
	case proof == qemu.Foreign, proof == qemu.Unproven, v.BeingCreated():
		return nil
	case meta.WasDeleted(m) && c.recorded(m, v.VMID):
		return c.check(ctx, m, v.VMID, c.CheckRemove)
	}
	return c.check(ctx, m, v.VMID, c.CheckGuest)
}

// recorded reports whether a VM was seen to be the Machine's.
func (c Checks) recorded(m object.Machine, vmid int) bool {
	is, uuid := c.Records.VMOf(m)
	return is == vmid && strings.EqualFold(uuid, m.GetAnnotations()[object.AnnotationUUID])
}

// Hidden returns an error if nothing may be disclosed of a VM that a Machine names, such as its node, and the VM was not seen to be the Machine's. It
// returns nil if there is no such VM.
func (c Checks) Hidden(ctx context.Context, m object.Machine, vmid int) error {
	if c.recorded(m, vmid) {
		return nil
	}
	return c.check(ctx, m, vmid, unlisted(c.known(m)))
}

// MayName reports whether information about a VM that is not proven to be a Machine's may be given to the Machine's user.
func (c Checks) MayName(ctx context.Context, m object.Machine, vmid int) bool {
	return c.Tenant == nil || connect.CheckVM(ctx, c.Inventory, vmid, c.known(m)) == nil
}

// known returns the check that refuses a VM of which nothing may be disclosed: it does not belong to the tenant, and is not being created for it. A
// VM that is being created is in no pool yet. Its VMID must be in the range or, where there is none, it must be proven to be created for this
// Machine.
func (c Checks) known(m object.Machine) func(proxmox.Guest) error {
	return func(g proxmox.Guest) error {
		err, r := c.CheckGuest(g), c.VMIDRange
		switch making := g.Pool == "" && (g.Lock == "create" || g.Lock == "clone"); {
		case err == nil || !making:
			return err
		case r != nil && g.VMID >= int(r.Min) && g.VMID <= int(r.Max), c.creates(m, g):
			return nil
		}
		return err
	}
}

// creates reports whether the provider has begun to create a VM for the Machine on the node where it is.
func (c Checks) creates(m object.Machine, g proxmox.Guest) bool {
	a := m.GetAnnotations()
	return c.incomplete(m, act.Remains{VMID: g.VMID, UUID: a[object.AnnotationUUID], Node: g.Node, Signature: a[object.AnnotationCreation]})
}

// incomplete reports whether the provider has begun to create a VM for the Machine, and has not seen it complete: its signature remains, and may
// refer to a VM which others have now.
func (c Checks) incomplete(m object.Machine, r act.Remains) bool {
	vmid, uuid := c.Records.VMOf(m)
	complete := vmid == r.VMID && strings.EqualFold(uuid, r.UUID)
	return !complete && c.Records.VerifyCreation(m, r.VMID, r.UUID, r.Node, r.Signature)
}

// MayReportRemains reports whether messages to the user of a Machine may name the remains of a lost creation: whether they were created for the
// user's tenant. Remains are in no pool, because a VM joins its pool when it is complete.
func (c Checks) MayReportRemains(ctx context.Context, m object.Machine, r act.Remains) bool {
	if c.incomplete(m, r) {
		return connect.CheckVM(ctx, c.Inventory, r.VMID, c.inNoPool) == nil
	}
	return c.HasVM(ctx, r.VMID)
}

// inNoPool refuses a VM that is in a pool and does not belong to the tenant.
func (c Checks) inNoPool(g proxmox.Guest) error {
	if g.Pool == "" {
		return nil
	}
	return c.CheckGuest(g)
}

// Removable returns an error if a VM that a lost creation has left is not where the tenant's VMs are, so that only its UUID indicates its owner.
func (c Checks) Removable(ctx context.Context, vmid int) error {
	if c.Tenant == nil {
		return nil
	}
	err := connect.CheckVM(ctx, c.Inventory, vmid, c.CheckGuest)
	if tenancy.IsRefusal(err) {
		return errors.Errorf("%s, and is left to be removed by an operator", err)
	}
	return err
}

// Creates records that the provider has begun to create a VM for the Machine on a node where no VM had its VMID.
func (c Checks) Creates(m object.Machine, id qemu.Identity, node string) {
	if s := c.Records.SignCreation(m, id.VMID, id.UUID, node); s != "" && c.Tenant != nil {
		meta.AddAnnotations(m, map[string]string{object.AnnotationCreation: s})
	}
}

// Adoptable returns an error if a VM may not be taken over according to the cluster's list alone. The VM is not read before.
func (c Checks) Adoptable(ctx context.Context, m object.Machine, vmid int) error {
	return c.check(ctx, m, vmid, unlisted(c.CheckAdopt))
}

// unlisted returns a check that guests which are not listed pass.
func unlisted(check func(proxmox.Guest) error) func(proxmox.Guest) error {
	return func(g proxmox.Guest) error {
		if g.Type == "" {
			return nil
		}
		return check(g)
	}
}

// HasVM reports whether a VM belongs to the tenant according to the latest list of the cluster, which may be later than the list with which its
// Machine was checked.
func (c Checks) HasVM(ctx context.Context, vmid int) bool {
	return c.Tenant == nil || connect.CheckVM(ctx, c.Inventory, vmid, c.CheckGuest) == nil
}

// MayClone reports whether the tenant may clone a VM, and therefore be informed of its clones.
func (c Checks) MayClone(ctx context.Context, vmid int) (bool, error) {
	if c.Tenant == nil {
		return true, nil
	}
	err := connect.CheckVM(ctx, c.Inventory, vmid, c.CheckClone)
	if tenancy.IsRefusal(err) {
		return false, nil
	}
	return err == nil, err
}

// Holders returns a function that reports whether the tenants of Machines hold a VM, and whether these tenants are enforced. The VMs are listed again
// for that before the VM of a Machine is removed.
func (c Checks) Holders(ctx context.Context, m object.Machine, vmid int) (func(object.Machine) (holds, enforced bool, err error), error) {
	if c.TenantFor == nil {
		return claims.AllHold, nil
	}
	age := inventory.Current
	if meta.WasDeleted(m) {
		age = inventory.Fresh
	}
	guests, err := c.Inventory.Guests(ctx, age)
	vm, _ := proxmox.GuestOf(guests, vmid)
	vm.VMID = vmid
	return func(of object.Machine) (holds, enforced bool, err error) {
		t, enforced, err := c.TenantFor(ctx, of)
		return err == nil && (!enforced || t.CheckGuest(vm) == nil), enforced, err
	}, err
}

// Hides reports whether the user of a Machine may not know of another one, which is in another namespace, or in none that is known.
func (c Checks) Hides(m, other object.Machine) bool {
	of := tenancy.NamespaceOf(m)
	return c.Tenant != nil && (of == "" || of != tenancy.NamespaceOf(other))
}

// check checks a VM as the cluster's list shows it, with its pool, and shows a refusal.
func (c Checks) check(ctx context.Context, m object.Machine, vmid int, check func(proxmox.Guest) error) error {
	if c.Tenant == nil {
		return nil
	}
	err := connect.CheckVM(ctx, c.Inventory, vmid, check)
	tenancy.ShowRefusal(m, err)
	return err
}

// Creation returns an error if the tenant may not have what is to be created, including what its source adds. The VM is created on the given node.
func (c Checks) Creation(d qemu.Desired, source qemu.Config, node string) error {
	if c.Tenant == nil {
		return nil
	}
	change := d.Difference(source)
	if err := c.CheckOptions(d.Identity.VMID, change.Set); err != nil {
		return err
	}
	if err := c.CheckNode(node); err != nil {
		return err
	}
	if source["onboot"] == "1" { // A node would start what is not configured yet, with everything that its source has.
		if err := c.CheckInherited(source, nil); err != nil {
			return err
		}
	}
	return c.CheckInherited(change.After(source), append(d.Storages(source), clonedStorages(d, source)...))
}

// CheckImport removes the files from an Image that the tenant may not have. It returns an error if none remain.
func (c Checks) CheckImport(image *imageref.Choice) error {
	if c.Tenant == nil {
		return nil
	}
	refused := c.Tenant.CheckImport(image.Replicas[0].Volume)
	image.Replicas = slices.DeleteFunc(image.Replicas, func(r imageref.Replica) bool { return c.HidesImage(r.Volume) })
	if len(image.Replicas) > 0 {
		return nil
	}
	return refused
}

// CheckBackup returns an error unless the backup of a Backup is proven to be of a VM of the tenant. It returns the record of the backup.
func (c Checks) CheckBackup(b resource.Managed, volume string) (tenancy.BackupRecord, error) {
	return c.Tenant.CheckBackup(c.Records, b, volume)
}

// Brief returns why a Machine waits for an Image, without storages and nodes, which may not be its tenant's.
func (c Checks) Brief(err error) error {
	var waits *imageref.NotReadyError
	if c.Tenant == nil || !errors.As(err, &waits) {
		return err
	}
	return waits.Brief()
}

// clonedStorages returns the storages of the source's disks, where their clones are created unless the spec names another storage for all of them.
func clonedStorages(d qemu.Desired, source qemu.Config) []string {
	if d.Clone != nil && d.Clone.Storage != nil {
		return nil
	}
	var names []string
	for _, device := range slices.Concat(source.Drives(), source.Firmware()) {
		disk, err := proxmox.ParseDisk(source[device])
		if err == nil && disk.Storage() != "" && (!disk.CDROM() || disk.CloudInit()) && !slices.Contains(names, disk.Storage()) {
			names = append(names, disk.Storage())
		}
	}
	return names
}

// Change returns why a change of a VM's options cannot be made for the tenant. A VM that gets its first options still has those of its source, which
// the spec was to replace when the VM was created.
func (c Checks) Change(v *vmstate.VM, change qemu.Difference) []string {
	err := c.CheckOptions(v.VMID, change.Set)
	if err == nil && v.IdentityPending {
		err = c.CheckInherited(change.After(v.Config), nil)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}
