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

// Package tenant finds what the tenant of a Machine may not have of what its spec has come to. The
// spec itself was checked before there was a connection.
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

// Checks of one Machine.
type Checks struct {
	// Tenant that confines the Machine; nil if nothing does.
	*tenancy.Tenant

	// Warned is the tenant that would confine it, where that is only shown.
	Warned *tenancy.Tenant

	Inventory Inventory

	// Records of which VM was seen to be whose.
	Records tenancy.Records

	// Quota of the tenant.
	Quota Quota

	// TenantFor returns the tenant of a Machine, also of another one, and whether it is enforced by a provider configuration of the same cluster. Nil
	// enforces none.
	TenantFor func(ctx context.Context, of object.Machine) (t *tenancy.Tenant, enforced bool, err error)

	// SignedUUID returns the UUID that the provider has signed to be that of another Machine's VM in the same cluster, or empty.
	SignedUUID func(ctx context.Context, other object.Machine) string
}

// AmongAllowed returns a hint for an object that was not found: the rule that limits what the tenant can find. It is empty without a tenant.
func (c Checks) AmongAllowed(rule string) string { return tenancy.AmongAllowed(c.Tenant, rule) }

// WantedTags are those that a VM, or one that is made if it is nil, is to have whatever the spec says.
func (c Checks) WantedTags(v *vmstate.VM) []string {
	if v == nil {
		return c.RequiredTags()
	}
	return tenancy.TagsToKeep(c.Tenant, proxmox.Guest{VMID: v.VMID, Pool: v.Pool}, v.Config)
}

// Adoption is an error if a VM may not be taken over: by its pool, or by where it is and what it has.
func (c Checks) Adoption(ctx context.Context, m object.Machine, v *vmstate.VM) error {
	if err := c.check(ctx, m, v.VMID, c.CheckAdopt); err != nil || c.Tenant == nil {
		return err
	}
	err := c.CheckPlacedConfig(v.Node, v.VMID, v.Config)
	tenancy.ShowRefusal(m, err)
	return err
}

// ShowAllowed by a condition of a Machine what its tenant may not have of a VM as it is, which somebody may have changed by hand.
// Where refusals are only shown, it is all that would be refused, or else what the Machine would wait for.
func (c Checks) ShowAllowed(ctx context.Context, m object.Machine, v *vmstate.VM) {
	t := cmp.Or(c.Warned, c.Tenant)
	if t == nil || meta.WasDeleted(m) {
		return
	}
	guests, err := c.Inventory.Guests(ctx, inventory.Current)
	g, listed := proxmox.GuestOf(guests, v.VMID)
	if err != nil || !listed {
		return // It is told when it is known.
	}
	switch refused := t.CheckAll(m, g, v.Config); {
	case refused == nil && c.Warned != nil:
		c.showRoom(ctx, m, amounts.VM{Config: v.Config})
	case refused != nil || m.GetCondition(v1alpha1.TypeTenantAllowed).Reason != "":
		tenancy.ShowAllowed(m, refused)
	}
}

// OnNode says where a VM is that is not the Machine's, unless that is not for its tenant to know.
func (c Checks) OnNode(node string) string {
	if c.Tenant != nil {
		return ""
	}
	return " on node " + node
}

// Ownership is an error if a VM that is proven to be the Machine's is not the tenant's. It may be
// deleted all the same if it was seen to be the Machine's before, and no other tenant may have it by now.
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

// Hidden is an error if nothing may be told of a VM that a Machine names, as where it is, and it was not seen to be the Machine's. It is none if there is
// no such VM.
func (c Checks) Hidden(ctx context.Context, m object.Machine, vmid int) error {
	if c.recorded(m, vmid) {
		return nil
	}
	return c.check(ctx, m, vmid, unlisted(c.known(m)))
}

// MayName reports whether a VM that is not proven to be a Machine's is one of which its user may be told.
func (c Checks) MayName(ctx context.Context, m object.Machine, vmid int) bool {
	return c.Tenant == nil || connect.CheckVM(ctx, c.Inventory, vmid, c.known(m)) == nil
}

// known is the check that refuses a VM of which nothing may be told: it is not the tenant's, and none that is being made for it, which is in no pool yet.
// Such a one has a VMID of the range or, where there is none, is proven to be made for this Machine.
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

// creates reports whether the provider has begun to make a VM for the Machine where it is.
func (c Checks) creates(m object.Machine, g proxmox.Guest) bool {
	a := m.GetAnnotations()
	return c.incomplete(m, act.Remains{VMID: g.VMID, UUID: a[object.AnnotationUUID], Node: g.Node, Signature: a[object.AnnotationCreation]})
}

// incomplete reports whether the provider has begun to make a VM for the Machine, and has not seen it complete: its signature remains, and may be
// that of a VM which others have by now.
func (c Checks) incomplete(m object.Machine, r act.Remains) bool {
	vmid, uuid := c.Records.VMOf(m)
	complete := vmid == r.VMID && strings.EqualFold(uuid, r.UUID)
	return !complete && c.Records.VerifyCreation(m, r.VMID, r.UUID, r.Node, r.Signature)
}

// MayReportRemains reports whether messages to the user of a Machine may name the remains of a lost creation: whether they were created for the user's
// tenant. Remains are in no pool, because a VM joins its pool when it is complete.
func (c Checks) MayReportRemains(ctx context.Context, m object.Machine, r act.Remains) bool {
	if c.incomplete(m, r) {
		return connect.CheckVM(ctx, c.Inventory, r.VMID, c.inNoPool) == nil
	}
	return c.HasVM(ctx, r.VMID)
}

// inNoPool refuses a VM that is in a pool, and not the tenant's.
func (c Checks) inNoPool(g proxmox.Guest) error {
	if g.Pool == "" {
		return nil
	}
	return c.CheckGuest(g)
}

// Removable is an error if a VM that a lost creation has left is not where the tenant's VMs are, so that nothing but its UUID tells whose it is.
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

// Creates notes that the provider has begun to make a VM for the Machine on a node, where no VM had its VMID.
func (c Checks) Creates(m object.Machine, id qemu.Identity, node string) {
	if s := c.Records.SignCreation(m, id.VMID, id.UUID, node); s != "" && c.Tenant != nil {
		meta.AddAnnotations(m, map[string]string{object.AnnotationCreation: s})
	}
}

// Adoptable is an error if a VM may not be taken over, by the cluster's list alone: it is not looked at before.
func (c Checks) Adoptable(ctx context.Context, m object.Machine, vmid int) error {
	return c.check(ctx, m, vmid, unlisted(c.CheckAdopt))
}

// unlisted is a check that what is not listed passes.
func unlisted(check func(proxmox.Guest) error) func(proxmox.Guest) error {
	return func(g proxmox.Guest) error {
		if g.Type == "" {
			return nil
		}
		return check(g)
	}
}

// HasVM reports whether a VM is the tenant's by the cluster's list as it is known now, which may be a later one than that by which its Machine
// was checked.
func (c Checks) HasVM(ctx context.Context, vmid int) bool {
	return c.Tenant == nil || connect.CheckVM(ctx, c.Inventory, vmid, c.CheckGuest) == nil
}

// MayClone reports whether the tenant may clone a VM, and so be told of its clones.
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

// Holders returns a function that reports whether the tenants of Machines hold a VM, and whether these tenants are enforced. Before the VM of a Machine is
// removed, the VMs are listed again for that.
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

// Hides reports whether the user of a Machine may not know of another one: one of another namespace, or
// of none that is known.
func (c Checks) Hides(m, other object.Machine) bool {
	of := tenancy.NamespaceOf(m)
	return c.Tenant != nil && (of == "" || of != tenancy.NamespaceOf(other))
}

// check checks a VM as the cluster's list shows it, with its pool, and shows if it is refused.
func (c Checks) check(ctx context.Context, m object.Machine, vmid int, check func(proxmox.Guest) error) error {
	if c.Tenant == nil {
		return nil
	}
	err := connect.CheckVM(ctx, c.Inventory, vmid, check)
	tenancy.ShowRefusal(m, err)
	return err
}

// Creation is an error if what is to be created, with what its source brings along, is not for the
// tenant. The node is that on which it is made.
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
	if source["onboot"] == "1" { // A node would start what nobody has come to configure, with all that its source has.
		if err := c.CheckInherited(source, nil); err != nil {
			return err
		}
	}
	return c.CheckInherited(change.After(source), append(d.Storages(source), clonedStorages(d, source)...))
}

// CheckImport leaves of an Image the files that are for the tenant. It is an error if there are none.
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

// CheckBackup is an error unless a backup, which a Backup stands for, is proven to be of a VM of the tenant. It returns what is recorded of it.
func (c Checks) CheckBackup(b resource.Managed, volume string) (tenancy.BackupRecord, error) {
	return c.Tenant.CheckBackup(c.Records, b, volume)
}

// Brief is why a Machine waits for an Image, without what that says of storages and nodes, which may not be its tenant's.
func (c Checks) Brief(err error) error {
	var waits *imageref.NotReadyError
	if c.Tenant == nil || !errors.As(err, &waits) {
		return err
	}
	return waits.Brief()
}

// clonedStorages are those that the disks of the source are on, where their clones are made unless the
// spec names another storage for all of them.
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

// Change returns why a change of a VM's options cannot be made for the tenant. A VM that gets its first ones has those of its source, which the spec was
// to replace when the VM was made.
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
