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

package target

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// A Quota limits the number of resources of a kind.
type Quota struct {
	*quotas.Keeper

	// Kind of the resources with its group, and Name of what they count as.
	Kind, Name string
}

// Room returns a function that checks whether the quota of the tenant has room for a resource. It returns an error if not, or if that cannot be
// determined.
func (q Quota) Room(m resource.Managed, to *connect.Connection) func(context.Context) error {
	return func(ctx context.Context) error {
		return q.Ask(ctx, m, to, Amounts{Wants: quota.Amounts{q.Name: 1}, Whole: true})
	}
}

// Amounts holds what a resource has already, which is not requested, and all that it is to have. Whole is true if it is yet to be created.
type Amounts struct {
	There, Wants quota.Amounts
	Whole        bool

	// VMID of the VM that has the resource, or is to have it. Volume is the disk that the resource stands for.
	VMID   int
	Volume string

	// Taken is the snapshot that it is to take.
	Taken quota.Taken

	// Rejected is the VMID that was granted, if Proxmox VE has refused to create the VM because the VMID was taken meanwhile.
	Rejected int
}

// Ask checks whether the quota of the tenant has room for a resource. It returns an error if not, or if that cannot be determined.
func (q Quota) Ask(ctx context.Context, m resource.Managed, to *connect.Connection, a Amounts) error {
	if err := q.Reason(m); err != nil {
		return err
	}
	_, err := q.Admit(ctx, a.application(quotas.Application{
		Resource: m, Kind: q.Kind, Config: to.Name, Tenants: to.Config.Tenants, Tenant: to.Tenant, Inventory: to.Inventory,
	}))
	return err
}

// ShowAllowed shows whether a resource would wait for room if its tenant were enforced. A refusal that is already shown stays.
func (q Quota) ShowAllowed(ctx context.Context, m resource.Managed, to *connect.Connection) {
	if to.Warned == nil || tenancy.ShownRefused(m) {
		return
	}
	q.Keeper.ShowAllowed(ctx, quotas.Warned{
		Resource: m, Config: to.Name, Tenants: to.Config.Tenants, Tenant: to.Warned, Inventory: to.Inventory, Defaults: qemu.DefaultsOf(to.Config),
	})
}

// application adds these amounts to an application. A VM that has the VMID of one that is yet to be created does not belong to the resource.
func (a Amounts) application(by quotas.Application) quotas.Application {
	by.There, by.Wants, by.Whole, by.VMID, by.Volume, by.Taken, by.Rejected = a.There, a.Wants, a.Whole, a.VMID, a.Volume, a.Taken, a.Rejected
	by.Beside = a.Whole && a.Volume == "" && len(a.There) == 0
	return by
}

// NoRoom returns the problem that a quota has no room, or nil. room may be nil.
func NoRoom(ctx context.Context, room func(context.Context) error) (*kind.Problem, error) {
	if room == nil {
		return nil, nil
	}
	err := room(ctx)
	if !quota.IsExceeded(err) {
		return nil, err
	}
	return &kind.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: err.Error()}, nil
}
