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
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// RecordsNamespace returns the namespace of the provider's own records. It is empty if there is none.
func (c *Connector) RecordsNamespace() string { return c.records.namespace }

// An Account combines what a tenant has in one cluster. It is shared by all configurations that resources of all namespaces may name, that have a
// tenant of its name with a quota, and that have a common endpoint, directly or through other such configurations. Thus a team has its quota once,
// whichever scope it uses.
type Account struct {
	// Config is the first of the configurations, by name with kind, and Tenant the name of the tenant.
	Config, Tenant string

	// tenants has the tenants of each of the configurations, and shares those among them that share the account.
	tenants map[string][]v1alpha1.ProviderTenant
	shares  []*tenancy.Tenant
}

// Shares reports whether a provider configuration, given by its name with its kind, shares the account.
func (a Account) Shares(config string) bool {
	_, shares := a.tenants[config]
	return shares
}

// Owns reports whether a VM is within the tenant's range and pools by one of the configurations.
func (a Account) Owns(g proxmox.Guest) bool {
	return slices.ContainsFunc(a.shares, func(t *tenancy.Tenant) bool { return t.Owns(g) })
}

// Holds reports whether a VM is the tenant's by one of the configurations.
func (a Account) Holds(g proxmox.Guest) bool {
	return slices.ContainsFunc(a.shares, func(t *tenancy.Tenant) bool { return t.CheckGuest(g) == nil })
}

// Limits returns the limits of the account: the smallest of each.
func (a Account) Limits() quota.Amounts {
	all := quota.Amounts{}
	for _, t := range a.shares {
		for name, n := range t.Limits() {
			if least, limited := all[name]; !limited || n < least {
				all[name] = n
			}
		}
	}
	return all
}

// AccountOf returns the account of a tenant of a configuration, which is given by its name with its kind. The tenants of the configuration may be nil
// if only the tenant's name counts.
func (c *Connector) AccountOf(ctx context.Context, config string, tenants []v1alpha1.ProviderTenant, tenant string) (Account, error) {
	a := Account{Config: config, Tenant: tenant, tenants: map[string][]v1alpha1.ProviderTenant{config: tenants}}
	all, err := c.clusterScopedConfigs(ctx)
	if err != nil {
		return a, errors.Wrap(err, "cannot list the provider configurations, of which another may share the quota")
	}
	for _, o := range c.accounts.sharing(all, config, tenant) {
		a.tenants[o.path()] = o.spec.Tenants
	}
	a.Config = slices.Min(slices.Collect(maps.Keys(a.tenants)))
	for _, tenants := range a.tenants {
		if t := tenancy.TenantNamed(tenants, tenant); t != nil {
			a.shares = append(a.shares, t)
		}
	}
	return a, nil
}

// accounts remembers which configurations share an account until one of the configurations changes, since the account is looked up for each resource.
type accounts struct {
	mu       sync.Mutex
	versions string
	shared   map[key][]clusterScopedConfig
}

// A key identifies a tenant of a configuration.
type key struct{ config, tenant string }

// sharing returns the configurations that share an account of a tenant with a configuration, which is not one of them.
func (s *accounts) sharing(all []clusterScopedConfig, config, tenant string) []clusterScopedConfig {
	var versions strings.Builder
	for _, o := range all {
		_, _ = fmt.Fprintf(&versions, "%s %s\n", o.path(), o.version) // Writing does not fail.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil || s.versions != versions.String() {
		s.versions, s.shared = versions.String(), map[key][]clusterScopedConfig{}
	}
	of := key{config: config, tenant: tenant}
	others, known := s.shared[of]
	if !known {
		others = sharing(all, config, tenant)
		s.shared[of] = others
	}
	return others
}

// sharing returns the configurations that have a quota of the tenant and a common endpoint with a configuration, directly or through others.
func sharing(all []clusterScopedConfig, config, tenant string) []clusterScopedConfig {
	found := slices.DeleteFunc(slices.Clone(all), func(o clusterScopedConfig) bool { return o.path() != config })
	known := map[string]bool{config: true}
	var others []clusterScopedConfig
	for len(found) > 0 {
		next := found[0]
		found = found[1:]
		for _, o := range all {
			if !known[o.path()] && hasQuota(o.spec, tenant) && overlap(o.spec.Endpoints, next.spec.Endpoints) {
				known[o.path()] = true
				found, others = append(found, o), append(others, o)
			}
		}
	}
	return others
}

// hasQuota reports whether a configuration has a quota of a tenant. A configuration that only warns enforces its quota if another one refuses, since it
// refuses then too.
func hasQuota(spec *v1alpha1.ProviderConfigSpec, tenant string) bool {
	return slices.ContainsFunc(spec.Tenants, func(t v1alpha1.ProviderTenant) bool { return t.Name == tenant && t.Quota != nil })
}

// IsIn reports whether a resource counts in an account.
func (c *Connector) IsIn(ctx context.Context, mg resource.Managed, a Account) (bool, error) {
	for config, tenants := range a.tenants {
		if is, err := c.IsOf(ctx, mg, config, tenants, a.Tenant); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// IsOf reports whether a resource belongs to a tenant of a provider configuration, given by the configuration's name with its kind and the tenant's
// name.
func (c *Connector) IsOf(ctx context.Context, mg resource.Managed, config string, tenants []v1alpha1.ProviderTenant, tenant string) (bool, error) {
	if names, err := c.namesConfig(ctx, mg, config); !names || err != nil {
		return false, err
	}
	t, err := c.TenantAmong(ctx, mg, tenants)
	return err == nil && t != nil && t.Name == tenant, err
}

// namesConfig reports whether a resource names a provider configuration.
func (c *Connector) namesConfig(ctx context.Context, mg resource.Managed, config string) (bool, error) {
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
	return r.path() == config, nil
}
