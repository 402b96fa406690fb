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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/tenancy/report"
)

// A Warned resource belongs to a tenant that is not enforced.
type Warned struct {
	Resource resource.Managed

	// Config, Tenants and Tenant are those of its connection. Inventory lists the VMs. Defaults apply to new disks and interfaces.
	Config    string
	Tenants   []v1alpha1.ProviderTenant
	Tenant    *tenancy.Tenant
	Inventory connect.GuestLister
	Defaults  qemu.Defaults

	// VM holds what is known of the VM of a Machine.
	VM amounts.VM

	// Wake wakes the resource when there may be room. It is nil for a resource that polls often enough.
	Wake func()
}

// ShowAllowed shows, in the condition TenantAllowed of a resource that is not refused, whether it would wait for room if its tenant were enforced. It
// grants nothing and reads no ConfigMap. The conditions of resources show what they were given without room.
func (k *Keeper) ShowAllowed(ctx context.Context, w Warned) {
	if w.Tenant == nil || meta.WasDeleted(w.Resource) {
		return
	}
	if k == nil {
		tenancy.ShowAllowed(w.Resource, nil)
		return
	}
	if was := k.waiters.warned(w.Resource); was != nil && tenancy.WouldWaitFor(w.Resource) == nil {
		tenancy.ShowAllowed(w.Resource, was) // A refusal was shown in the meantime.
	}
	err := k.wouldWait(ctx, w)
	if err == nil || quota.IsExceeded(err) {
		tenancy.ShowAllowed(w.Resource, err)
	} else if tenancy.WouldWaitFor(w.Resource) == nil { // If it would wait, that is reported again once it is known.
		tenancy.ShowAllowed(w.Resource, nil)
	}
}

// wouldWait returns the reason why a resource would wait, as an error that quota.IsExceeded recognizes, or the reason why that cannot be determined.
// The resource is woken when there may be room.
func (k *Keeper) wouldWait(ctx context.Context, w Warned) error {
	by := report.Account{Tenant: w.Tenant.Name, Manages: kind.Manages, Defaults: w.Defaults}
	if w.Tenant.Limits() == nil || !by.Asks(w.Resource, w.VM) {
		k.waiters.remove(w.Resource)
		return nil
	}
	account, err := k.connections.AccountOf(ctx, w.Config, w.Tenants, w.Tenant.Name)
	if err != nil {
		return err
	}
	by.Limits, by.Owns = account.Limits(), account.Owns
	if by.Resources, err = k.resourcesIn(ctx, account); err != nil {
		return err
	}
	of := keyOf(account)
	of.warned = true
	k.ledger(of).seen.Store(entered(by.Resources))
	err = report.WouldWait(ctx, w.Inventory, by, w.Resource, w.VM)
	if quota.IsExceeded(err) {
		k.waiters.addWarned(of, w.Resource, err, w.Wake)
	} else if err == nil {
		k.waiters.remove(w.Resource)
	}
	return err
}

// resourcesIn lists the resources of an account.
func (k *Keeper) resourcesIn(ctx context.Context, of connect.Account) ([]resource.Managed, error) {
	var all []resource.Managed
	for _, c := range k.all() {
		listed, err := kind.ListCached(ctx, c.reader, c.List)
		if err != nil {
			return nil, err
		}
		for _, mg := range listed {
			is, err := k.connections.IsIn(ctx, mg, of)
			if err != nil {
				return nil, err
			}
			if is {
				all = append(all, mg)
			}
		}
	}
	return all, nil
}

// entered returns a ledger with an empty entry for each resource. When one of them is deleted, there may be room.
func entered(all []resource.Managed) *quota.Ledger {
	l := quota.Ledger{}
	for _, mg := range all {
		l[string(mg.GetUID())] = quota.Entry{}
	}
	return &l
}
