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

package connect

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// RecordsNamespace is the namespace of what the provider keeps for itself; empty if it has none.
func (c *Connector) RecordsNamespace() string { return c.records.namespace }

// IsOf reports whether a resource is of a tenant of a provider configuration, by the configuration's
// name with its kind and the tenant's.
func (c *Connector) IsOf(ctx context.Context, mg resource.Managed, config string, tenants []v1alpha1.ProviderTenant, tenant string) (bool, error) {
	r, err := referenceOf(mg)
	if err != nil {
		return false, nil //nolint:nilerr // One that names none is of none.
	}
	standIn := reference{kind: r.kind, namespace: r.namespace, name: c.defaultName}
	if r.name == DefaultName && standIn.path() == config {
		if r, _, err = c.resolve(ctx, r); err != nil {
			return false, err
		}
	}
	if r.path() != config {
		return false, nil
	}
	t, err := c.TenantAmong(ctx, mg, tenants)
	return err == nil && t != nil && t.Name == tenant, err
}
