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
	"cmp"
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Quota holds the inputs of requests to the quota of a tenant.
type Quota struct {
	Keeper *quotas.Keeper

	// Config is the name of the provider configuration, and Tenants are all its tenants.
	Config  string
	Tenants []v1alpha1.ProviderTenant

	// Defaults of new disks and interfaces.
	Defaults qemu.Defaults

	// Kind of the Machines with its group.
	Kind string

	// Wake wakes a Machine when there may be room.
	Wake func(client.ObjectKey)
}

// lockRollback locks a VM that goes back to a snapshot.
const lockRollback = "rollback"

// Limited reports whether the tenant has a quota.
func (c Checks) Limited() bool { return c.Limits() != nil }

// CountedVolumes returns the volume IDs of those disks of the VM with a UUID that count in the quota as Volumes.
func (c Checks) CountedVolumes(ctx context.Context, m object.Machine, uuid string, in volumes.Reader) ([]string, error) {
	if !c.Limited() {
		return nil, nil
	}
	return in.Counted(ctx, m, uuid, c.Counts)
}

// admit requests the quota for a Machine.
func (c Checks) admit(ctx context.Context, m object.Machine, a quotas.Application) (quota.Amounts, error) {
	q, key := c.Quota, client.ObjectKeyFromObject(m)
	a.Resource, a.Kind, a.Config, a.Tenants, a.Tenant, a.Inventory = m, q.Kind, q.Config, q.Tenants, c.Tenant, c.Inventory
	a.Wake = func() { q.Wake(key) }
	return q.Keeper.Admit(ctx, a)
}

// ShowRoom shows whether a Machine whose VM was not seen yet would wait for room if its tenant were enforced. A refusal that is shown stays.
func (c Checks) ShowRoom(ctx context.Context, m object.Machine) {
	if _, uuid := tenancy.RecordedVM(m); uuid == "" && !tenancy.ShownRefused(m) {
		c.showRoom(ctx, m, amounts.VM{})
	}
}

// showRoom shows the same with what is known of the VM.
func (c Checks) showRoom(ctx context.Context, m object.Machine, vm amounts.VM) {
	q, key := c.Quota, client.ObjectKeyFromObject(m)
	q.Keeper.ShowAllowed(ctx, quotas.Warned{
		Resource: m, Config: q.Config, Tenants: q.Tenants, Tenant: c.Warned, Inventory: c.Inventory, Defaults: q.Defaults, VM: vm,
		Wake: func() { q.Wake(key) },
	})
}

// A Place is where a VM is to be created, as far as quotas are concerned.
type Place struct {
	// VMID that the VM is to have, or 0 while another VMID must still be chosen.
	VMID int

	// Rejected is the VMID that Proxmox VE has refused because another guest has it when the VM was to be created, or 0 if there is none.
	Rejected int
}

// Room returns an error if the quota has no room for a VM that is to be created, including what its source adds. If the Machine already names a VM,
// that VM is not its own, and counts separately.
func (c Checks) Room(ctx context.Context, m object.Machine, d qemu.Desired, source qemu.Config, at Place) error {
	if !c.Limited() {
		return nil
	}
	_, err := c.admit(ctx, m, quotas.Application{Wants: amounts.Disks{}.After(d, source), Whole: true, Beside: true, VMID: at.VMID, Rejected: at.Rejected})
	return err
}

// RoomForAdopted returns an error if the quota has no room for a VM that is to be taken over. volumes are the volume IDs of its disks that count as
// Volumes.
func (c Checks) RoomForAdopted(ctx context.Context, m object.Machine, v *vmstate.VM, volumes []string) error {
	if !c.Limited() {
		return nil
	}
	k, err := c.disksOf(ctx, v, volumes)
	if err != nil {
		return err
	}
	_, err = c.admit(ctx, m, quotas.Application{Wants: k.Of(v.Config), Whole: true, VMID: v.VMID, Volumes: counted(k, v)})
	if quota.IsExceeded(err) {
		conditions.Set(m, conditions.NotUpToDate(v1alpha1.ReasonQuotaExceeded, err.Error()), conditions.NotReady(v1alpha1.ReasonQuotaExceeded, err.Error()))
	}
	return err
}

// RoomToReturn returns why the quota has no room for a VM that is to go back to a configuration, in addition to what it has now. The result is empty
// if there is room. volumes are the volume IDs of its disks that count as Volumes.
func (c Checks) RoomToReturn(ctx context.Context, m object.Machine, v *vmstate.VM, to qemu.Config, volumes []string) (string, error) {
	if !c.Limited() {
		return "", nil
	}
	k, err := c.disksOf(ctx, v, volumes)
	if err != nil {
		return "", err
	}
	there := quota.Most(k.Of(v.Config), k.Of(v.Active))
	_, err = c.admit(ctx, m, quotas.Application{
		There: there, Wants: quota.Most(there, k.Of(to)), Whole: true, VMID: v.VMID, Volumes: counted(k, v),
	})
	if quota.IsExceeded(err) {
		return err.Error(), nil
	}
	return "", err
}

// NoSafetySnapshot returns why no snapshot may be taken that is not a Snapshot, and therefore counts in no quota. The result is empty if one may be taken.
func (c Checks) NoSafetySnapshot() string {
	if _, limited := c.Limits()[quota.Snapshots]; !limited {
		return ""
	}
	return fmt.Sprintf("the quota of tenant %q limits snapshots, and does not count a safety snapshot: make a Snapshot instead of safetySnapshot", c.Name)
}

// Grow returns the spec without the parts for which the quota has no room, and why. It returns the whole spec if there is room. It never reduces what
// exists. A VM that is being created, or goes back to a snapshot, was granted everything, and a VM that is not managed is not changed. volumes are
// the volume IDs of the VM's disks that count as Volumes.
func (c Checks) Grow(
	ctx context.Context, m object.Machine, d qemu.Desired, before qemu.Devices, v *vmstate.VM, volumes []string,
) (left *v1alpha1.MachineParameters, exceeded, err error) {
	if !c.Limited() || meta.WasDeleted(m) || v.BeingCreated() || v.Lock() == lockRollback {
		return d.MachineParameters, nil, nil
	}
	s := v.State
	if d.Devices, err = before.On(s, d.MachineParameters, d.Defaults, m.GetGeneration()); err != nil {
		return d.MachineParameters, nil, nil //nolint:nilerr // The plan has it.
	}
	k, unknown := c.disksOf(ctx, v, volumes)
	granted, exceeded, err := c.grown(ctx, m, d, v, k, unknown)
	if exceeded == nil || err != nil {
		return d.MachineParameters, nil, err
	}
	d.MachineParameters = held(k, d, d.Restored(s), granted)
	if d.Devices, err = before.On(s, d.MachineParameters, d.Defaults, m.GetGeneration()); err != nil {
		return d.MachineParameters, exceeded, nil // The plan has it.
	}
	if len(k.After(d, d.Restored(s)).Beyond(granted)) > 0 {
		return nil, nil, errors.Wrap(exceeded, "what grows cannot be told from the rest of the change, which waits too")
	}
	return d.MachineParameters, exceeded, nil
}

// grown returns what a VM may have, and why that is not everything. A VM may not grow while its present size is unknown.
func (c Checks) grown(
	ctx context.Context, m object.Machine, d qemu.Desired, v *vmstate.VM, k amounts.Disks, unknown error,
) (granted quota.Amounts, exceeded, err error) {
	s := v.State
	there := quota.Most(k.Of(s.Config), k.Of(s.Active))
	if unknown != nil {
		return there, unknown, nil
	}
	wants := there
	if kind.Manages(m) {
		wants = k.After(d, d.Restored(s))
	}
	a := quotas.Application{There: there, Wants: wants, VMID: v.VMID, Volumes: counted(k, v)}
	if granted, err = c.admit(ctx, m, a); quota.IsExceeded(err) {
		return granted, err, nil
	}
	return granted, nil, err
}

// held returns a spec without what would exceed the granted amounts: whatever would grow stays as the VM has it.
func held(k amounts.Disks, d qemu.Desired, config qemu.Config, granted quota.Amounts) *v1alpha1.MachineParameters {
	p := d.DeepCopy()
	short := k.After(d, config).Beyond(granted)
	if short[quota.Cores] > 0 && p.CPU != nil {
		p.CPU.Cores, p.CPU.Sockets = ptr.To(config.Integer("cores", 1)), ptr.To(config.Integer("sockets", 1))
		p.CPU.VCPUs = nil
	}
	if short[quota.Memory] > 0 {
		memory := quota.Quantity(quota.Memory, config.Memory())
		p.Memory = &memory
		if o := p.MemoryOptions; o != nil && o.Minimum != nil && o.Minimum.Cmp(memory) > 0 {
			o.Minimum = nil
		}
	}
	p.Disks = heldDisks(k, d, config, short, p.Disks)
	p.Networks = heldNetworks(d, config, short, p.Networks)
	return p
}

// heldDisks returns the disks so that none is created, grown or moved where there is no room.
func heldDisks(
	k amounts.Disks, d qemu.Desired, config qemu.Config, short quota.Amounts, all []v1alpha1.MachineDisk,
) []v1alpha1.MachineDisk {
	var kept []v1alpha1.MachineDisk
	for _, e := range all {
		device := d.Devices.Disks[e.Name]
		storage, size := amounts.DiskOf(config[device])
		to := cmp.Or(ptr.Deref(e.Storage, ""), storage, d.Defaults.Storage)
		switch {
		case short[quota.Disks(to)] == 0, e.VolumeRef != nil:
		case config[device] == "":
			if _, there := k.Sizes[d.Devices.Volumes[e.Name]]; !there {
				continue
			}
			e.Size = nil // It is attached again as it is.
		case to != storage:
			e.Storage, e.Size = &storage, nil
		case int64(qemu.SizeOf(e)) > size:
			e.Size = nil
		}
		kept = append(kept, e)
	}
	return kept
}

// heldNetworks returns the networks so that none is attached where there is no room.
func heldNetworks(d qemu.Desired, config qemu.Config, short quota.Amounts, all []v1alpha1.MachineNetwork) []v1alpha1.MachineNetwork {
	var kept []v1alpha1.MachineNetwork
	for _, n := range all {
		device := d.Devices.Networks[n.Name]
		now, err := proxmox.ParseNIC(config[device])
		to := cmp.Or(ptr.Deref(n.Bridge, ""), now.Bridge(), d.Defaults.Bridge)
		switch {
		case short[quota.Addresses(to)] == 0:
		case err != nil:
			continue
		case to != now.Bridge():
			n.Bridge = ptr.To(now.Bridge())
		}
		kept = append(kept, n)
	}
	return kept
}
