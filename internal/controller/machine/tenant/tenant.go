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
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Checks of one Machine.
type Checks struct {
	// Tenant that confines the Machine; nil if nothing does.
	*tenancy.Tenant

	Inventory connect.GuestLister

	// Records of which VM was seen to be whose.
	Records tenancy.Records
}

// Adoption is an error if the VM may not be taken over.
func (c Checks) Adoption(ctx context.Context, m object.Machine, vmid int) error {
	return c.check(ctx, m, vmid, c.Adopts)
}

// Ownership is an error if a VM that is proven to be the Machine's is not the tenant's. It may be
// deleted all the same if it was seen to be the Machine's before.
func (c Checks) Ownership(ctx context.Context, m object.Machine, v *vmstate.VM, proof qemu.Proof) error {
	vmid, uuid := c.Records.Of(m)
	recorded := vmid == v.VMID && strings.EqualFold(uuid, m.GetAnnotations()[object.AnnotationUUID])
	if proof == qemu.Foreign || proof == qemu.Unproven || v.BeingCreated() || meta.WasDeleted(m) && recorded {
		return nil
	}
	return c.check(ctx, m, v.VMID, c.Holds)
}

// Hides reports whether the Machine is not to be told of another one: one of another namespace, or
// of none that is known.
func (c Checks) Hides(m, other object.Machine) bool {
	of := tenancy.NamespaceOf(m)
	return c.Tenant != nil && (of == "" || of != tenancy.NamespaceOf(other))
}

// check a VM as the cluster's list shows it, with its pool, and show if it is refused.
func (c Checks) check(ctx context.Context, m object.Machine, vmid int, check func(proxmox.Guest) error) error {
	if c.Tenant == nil {
		return nil
	}
	err := connect.CheckVM(ctx, c.Inventory, vmid, check)
	tenancy.Show(m, err)
	return err
}

// Creation is an error if what is to be created, with what its source brings along, is not for the
// tenant. The node is that on which it is made.
func (c Checks) Creation(d qemu.Desired, source qemu.Config, node string) error {
	if c.Tenant == nil {
		return nil
	}
	change := d.Difference(source)
	if err := c.Options(d.Identity.VMID, change.Set); err != nil {
		return err
	}
	if err := c.Node(node); err != nil {
		return err
	}
	return c.Inherits(change.After(source), append(d.Storages(source), clonedStorages(d, source)...))
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

// Change returns why a change of a VM's options cannot be made for the tenant.
func (c Checks) Change(vmid int, change qemu.Difference) []string {
	if err := c.Options(vmid, change.Set); err != nil {
		return []string{err.Error()}
	}
	return nil
}
