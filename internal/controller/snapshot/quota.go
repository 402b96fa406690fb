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

package snapshot

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// there is what a Snapshot is seen to have of a quota.
func there(mg resource.Managed) (quota.Amounts, int) {
	if m, ok := mg.(Snapshot); ok && m.Observation().Time != nil {
		return quota.Amounts{quota.Snapshots: 1}, 0
	}
	return nil, 0
}

// room is an error if the quota of its tenant has no room for a Snapshot.
func (c *connector) room(ctx context.Context, m Snapshot, to *connect.Connection) error {
	if err := c.quotas.Reason(m); err != nil {
		return err
	}
	_, err := c.quotas.Admit(ctx, quotas.Application{
		Resource: m, Kind: c.kind, Config: to.Name, Tenants: to.Config.Tenants, Tenant: to.Tenant, Inventory: to.Inventory,
		Wants: quota.Amounts{quota.Snapshots: 1}, Whole: true,
	})
	return err
}

// checkRoom finds whether the quota keeps a snapshot from being taken now.
func (e *external) checkRoom(ctx context.Context) error {
	if e.room == nil {
		return nil
	}
	err := e.room(ctx)
	if !quota.IsExceeded(err) {
		return err
	}
	e.view.decision = because(wait, kind.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: err.Error()})
	return nil
}
