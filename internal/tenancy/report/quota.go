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
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A DiskInventory lists the VMs of the cluster and the disks on its storages.
type DiskInventory interface {
	Inventory
	inventory.VolumeLister
}

// An Account has all that a tenant has under one quota.
type Account struct {
	// Tenant is the name of the tenant, and Limits are those of its quota.
	Tenant string
	Limits quota.Amounts

	// Owns reports whether a VM is the tenant's by its place.
	Owns func(proxmox.Guest) bool

	// Resources of the tenant. Manages reports whether the provider may change the VM or disk of a resource. If not, only what exists counts.
	Resources []resource.Managed
	Manages   func(resource.Managed) bool

	// Defaults of new disks and interfaces.
	Defaults qemu.Defaults
}

// A Usage is the usage of one limit of a quota. For each resource, the larger of what it will have and what exists counts.
type Usage struct {
	Name        string
	Used, Limit int64

	// AtLeast is true if resources may use more, which is known only once their VMs exist.
	AtLeast bool

	// Waiting is how many resources wait for some of it, or would wait.
	Waiting int

	// Users of the amount, those with most first.
	Users []quota.Use
}

// Over returns how much more is used than the limit.
func (u Usage) Over() int64 { return max(0, u.Used-u.Limit) }

// A Waiter is a resource for which the quota has no room, and the reason.
type Waiter struct {
	Kind, Namespace, Name string
	VMID                  int
	Why                   string
}

// OfQuota returns how much of each limit existing resources use. It also returns those that wait, or would wait, since their VMs do not exist yet or
// grow, in the order of their creation. It only reads.
func OfQuota(ctx context.Context, in DiskInventory, a Account) ([]Usage, []Waiter, error) {
	guests, err := in.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot list the VMs")
	}
	volumes := volumesAmong(a.Resources)
	all := make([]counted, 0, len(a.Resources))
	for _, mg := range a.Resources {
		vm, err := a.vmOf(ctx, in, guests, volumes, mg)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, a.count(mg, vm))
	}
	seen := a.see(all, guests)
	var waiters []Waiter
	ledger := a.decide(seen, all, func(c counted, why error) {
		e := c.entry(quota.Entry{})
		vmid, _ := tenancy.RecordedVM(c.mg)
		waiters = append(waiters, Waiter{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, VMID: vmid, Why: why.Error()})
	})
	usage := make([]Usage, 0, len(a.Limits))
	for _, name := range slices.Sorted(maps.Keys(a.Limits)) {
		u := Usage{Name: name, Limit: a.Limits[name], Waiting: ledger.Waiting(seen, name), Users: users(seen, all, name)}
		for _, user := range u.Users {
			u.Used += user.Amount
		}
		u.AtLeast = slices.ContainsFunc(all, func(c counted) bool { return c.isNew && amounts.Open(c.mg, name) })
		usage = append(usage, u)
	}
	return usage, waiters, nil
}

// WouldWait returns the reason why a resource would wait, with the same count as OfQuota, or nil if it would not. It reads no VM: the caller passes
// what is known of the resource's VM, and other VMs count as the status of their resources shows them.
func WouldWait(ctx context.Context, in GuestLister, a Account, of resource.Managed, vm amounts.VM) error {
	guests, err := in.Guests(ctx, inventory.Current)
	if err != nil {
		return errors.Wrap(err, "cannot list the VMs")
	}
	vm.Volumes = volumesAmong(a.Resources)
	all := []counted{a.count(of, vm)} // The resource may be newer than the listed one.
	for _, mg := range a.Resources {
		if mg.GetUID() == of.GetUID() {
			continue
		}
		c := a.count(mg, amounts.VM{})
		if _, uuid := tenancy.RecordedVM(mg); tenancy.IsMachine(mg) && uuid != "" {
			c.wants = c.There // How much more it has by its spec than its VM is not known.
		}
		all = append(all, c)
	}
	var found error
	a.decide(a.see(all, guests), all, func(c counted, why error) {
		if c.mg == of {
			found = why
		}
	})
	return found
}

// Asks reports whether a resource may wait: it requests more than it has, or was shown to do so.
func (a Account) Asks(mg resource.Managed, vm amounts.VM) bool {
	c := a.count(mg, vm)
	return !c.Deleting && (len(c.asked) > 0 || len(c.wants.Beyond(c.There)) > 0)
}

// counted is a resource with its amounts.
type counted struct {
	quota.Resource

	mg    resource.Managed
	wants quota.Amounts

	// asked is what the resource was shown to request without room, and was given anyway. It keeps requesting that while there is no room.
	asked quota.Amounts

	// isNew is true if no VM has been observed yet.
	isNew bool
}

// count returns what a resource has and will have.
func (a Account) count(mg resource.Managed, vm amounts.VM) counted {
	c := counted{mg: mg, asked: tenancy.WouldWaitFor(mg)}
	c.UID, c.Deleting = cmp.Or(string(mg.GetUID()), nameOf(mg)), meta.WasDeleted(mg)
	c.There, c.VMID, c.isNew = amounts.There(mg)
	c.isNew = c.isNew || len(c.There) == 0
	if vm.Config != nil {
		c.There = quota.Most(c.There, vm.Of(vm.Config))
	}
	if c.wants = c.There; !c.Deleting && a.Manages(mg) {
		c.wants = amounts.Wants(mg, a.Defaults, vm)
	}
	return c
}

// granted returns what a resource would have of the existing amounts if it had waited for what it was shown to request.
func (c counted) granted(there quota.Amounts) quota.Amounts {
	all := quota.Most(there, nil)
	for name, n := range c.asked {
		if rest := max(0, c.wants[name]-n); all[name] > rest {
			all[name] = rest
		}
	}
	return quota.Most(all, nil)
}

// see returns what resources have, as far as it would have been granted. It sorts them by their creation.
func (a Account) see(all []counted, guests []proxmox.Guest) quota.Seen {
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(a.mg.GetCreationTimestamp().Compare(b.mg.GetCreationTimestamp().Time), cmp.Compare(a.UID, b.UID))
	})
	resources := make([]quota.Resource, 0, len(all))
	for _, c := range all {
		resources = append(resources, c.Resource)
	}
	seen := quota.See(resources, guests, a.Owns)
	for i, c := range all {
		c.wants = quota.Most(seen.Of[c.UID], c.wants)
		all[i], seen.Of[c.UID] = c, c.granted(seen.Of[c.UID])
	}
	return seen
}

// volumesAmong returns the disks of Volumes, which count with these.
func volumesAmong(all []resource.Managed) []string {
	var volumes []string
	for _, mg := range all {
		if _, is := mg.(volumeref.Volume); !is {
			continue
		}
		if r, err := volumeref.RecordOf(mg); err == nil && r.Made() {
			volumes = append(volumes, r.Volume)
		}
	}
	return volumes
}

// vmOf returns what is known of the VM of a Machine that was observed. It returns nothing for other kinds.
func (a Account) vmOf(ctx context.Context, in DiskInventory, guests []proxmox.Guest, volumes []string, mg resource.Managed) (amounts.VM, error) {
	vm := amounts.VM{Disks: amounts.Disks{Volumes: volumes, Sizes: map[string]int64{}}}
	vmid, uuid := tenancy.RecordedVM(mg)
	i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == vmid && g.Type == "qemu" })
	if i < 0 || !tenancy.IsMachine(mg) {
		return vm, nil
	}
	read, err := in.Config(ctx, guests[i].Ref())
	if err != nil {
		return vm, errors.Wrapf(err, "cannot read VM %d", vmid)
	}
	config := qemu.Config(read.Values)
	if !strings.EqualFold(config.UUID(), uuid) {
		return vm, nil
	}
	for _, d := range vm.Detached(a.Limits, config) {
		size, err := inventory.SizeOf(ctx, in, guests[i].Node, d.Volume)
		if err != nil {
			return vm, errors.Wrapf(err, "cannot read the size of %s, %s of VM %d", d.Volume, d.Device, vmid)
		}
		vm.Sizes[d.Volume] = int64(size)
	}
	vm.Config = config
	return vm, nil
}

// decide decides like the provider if what exists had been granted, and all resources requested the rest now. Resources without room wait.
func (a Account) decide(seen quota.Seen, all []counted, waits func(c counted, why error)) quota.Ledger {
	ledger, now := quota.Ledger{}, time.Now()
	for _, c := range all {
		if there := seen.Of[c.UID]; len(there) > 0 {
			ledger[c.UID] = c.entry(quota.Entry{Has: there})
		}
	}
	for _, c := range all {
		if c.Deleting {
			continue
		}
		there := seen.Of[c.UID]
		e := c.entry(quota.Entry{Wants: c.wants, Whole: len(there) == 0})
		d := ledger.Decide(a.Limits, seen, quota.Request{UID: c.UID, There: there, Entry: e}, now)
		if len(d.Short) > 0 {
			waits(c, &quota.ExceededError{Tenant: a.Tenant, Short: d.Short})
		}
	}
	return ledger
}

// entry returns an entry with the fields that identify the resource.
func (c counted) entry(e quota.Entry) quota.Entry {
	e.Kind, e.Namespace, e.Name = tenancy.KindOf(c.mg), tenancy.NamespaceOf(c.mg), c.mg.GetName()
	e.Created = c.mg.GetCreationTimestamp().Unix()
	return e
}

// users returns the users of an amount: resources, and VMs of the tenant that no resource names.
func users(seen quota.Seen, all []counted, name string) []quota.Use {
	var uses []quota.Use
	add := func(who string, n int64) {
		if n > 0 {
			uses = append(uses, quota.Use{Name: who, Amount: n})
		}
	}
	named := map[int]bool{}
	for _, c := range all {
		named[c.VMID] = true
		add(nameOf(c.mg), quota.Most(seen.Of[c.UID], c.wants)[name])
	}
	for vmid, there := range seen.Listed {
		if !named[vmid] {
			add(fmt.Sprintf("VM %d", vmid), there[name])
		}
	}
	slices.SortFunc(uses, func(a, b quota.Use) int { return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Name, b.Name)) })
	return uses
}

// nameOf returns a resource's kind and name, and its namespace if it has one.
func nameOf(mg resource.Managed) string {
	return tenancy.KindOf(mg) + " " + strings.TrimPrefix(mg.GetNamespace()+"/"+mg.GetName(), "/")
}
