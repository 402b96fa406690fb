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

package tenancy

import (
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// Limits returns the limits of what the tenant's resources may have together, or nil if there are none.
func (t *Tenant) Limits() quota.Amounts {
	if t == nil || t.denied != "" {
		return nil
	}
	return quota.Limits(t.Quota)
}

// TenantNamed returns the tenant with a name, or nil.
func TenantNamed(tenants []v1alpha1.ProviderTenant, name string) *Tenant {
	for i, t := range tenants {
		if t.Name == name {
			return tenantAt(tenants, i, Subject{})
		}
	}
	return nil
}
