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
	"slices"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// Heard returns a function that reports whether what another resource says of a cluster counts for a resource of it. Where tenants share the
// cluster, the spec of one that its tenant may not have counts for nobody else, be it only warned of that, and neither does that of one in another
// namespace which brings a provider configuration of its own. The function is good for one look at many resources, by one goroutine.
func (c *Connector) Heard(ctx context.Context, endpoints []string, by resource.Managed) func(resource.Managed) bool {
	confined := sync.OnceValue(func() bool { return c.confined(ctx, endpoints) })
	unread := map[string]bool{}
	return func(other resource.Managed) bool {
		if other.GetUID() == by.GetUID() || !confined() {
			return true
		}
		ref, err := referenceOf(other)
		if err != nil {
			return false
		}
		if ref.namespace != "" {
			return other.GetNamespace() == by.GetNamespace()
		}
		_, spec, err := c.resolve(ctx, ref)
		if err != nil || len(spec.Tenants) == 0 {
			return false // As for Sharing; and one without tenants has no say beside one that has.
		}
		return c.presumed(ctx, other, spec.Tenants, unread).Spec(other) == nil
	}
}

// presumed is the tenant of a resource by what can be read. Labels of a namespace that cannot be tell nothing, so that whom names tell are heard, and
// nobody else. Each such namespace is waited for once, and noted.
func (c *Connector) presumed(ctx context.Context, mg resource.Managed, tenants []v1alpha1.ProviderTenant, unread map[string]bool) *tenancy.Tenant {
	if of := tenancy.NamespaceOf(mg); !unread[of] {
		t, err := c.TenantAmong(ctx, mg, tenants)
		if err == nil {
			return t
		}
		unread[of] = true
	}
	t, err := tenancy.Of(tenants, subjectOf(mg))
	if err != nil {
		return tenancy.Nobody(err.Error())
	}
	return t
}

// Believed returns a function that reports whether the annotations of a resource of a cluster count for everybody there. Where tenants share the
// cluster, only those of operators do: what a tenant writes there is judged by nothing. It is to be used as the one of Heard.
func (c *Connector) Believed(ctx context.Context, endpoints []string) func(resource.Managed) bool {
	confined := sync.OnceValue(func() bool { return c.confined(ctx, endpoints) })
	return func(other resource.Managed) bool {
		if !confined() {
			return true
		}
		ref, err := referenceOf(other)
		if err != nil || ref.namespace != "" {
			return false
		}
		_, spec, err := c.resolve(ctx, ref)
		if err != nil || len(spec.Tenants) == 0 {
			return false
		}
		t, err := c.TenantAmong(ctx, other, spec.Tenants)
		return err == nil && t == nil
	}
}

// Recorded returns a function that reports whether what a Volume says in its annotations to have counts for a resource of a cluster. Where tenants share
// the cluster, it does if the provider has signed it, if it is that of operators, or of somebody in the same namespace: others may have made it up. It
// is to be used as the one of Heard.
func (c *Connector) Recorded(ctx context.Context, endpoints []string, by resource.Managed) func(resource.Managed) bool {
	believed := c.Believed(ctx, endpoints)
	return func(other resource.Managed) bool {
		of := tenancy.NamespaceOf(by)
		return believed(other) || of != "" && of == tenancy.NamespaceOf(other) || c.signed(ctx, other)
	}
}

// signed reports whether the provider has signed the record of a Volume by the configuration that this names.
func (c *Connector) signed(ctx context.Context, mg resource.Managed) bool {
	ref, err := referenceOf(mg)
	if err == nil {
		ref, _, err = c.resolve(ctx, ref)
	}
	if err != nil {
		return false
	}
	key, err := c.records.get(ctx, c.kube)
	_, signed := tenancy.Records{Key: key, Config: ref.path()}.Volume(mg)
	return err == nil && signed
}

// confined reports whether a configuration that all teams may name has tenants for a cluster with one of the endpoints. While that cannot be read it has.
// By another endpoint of the cluster it is not known for the same: those of one cluster belong in one configuration.
func (c *Connector) confined(ctx context.Context, endpoints []string) bool {
	all, err := c.commons(ctx)
	return err != nil || slices.ContainsFunc(all, func(o common) bool { return Enforces(o.spec) && overlap(o.spec.Endpoints, endpoints) })
}

// Enforces reports whether a configuration has tenants, and refuses what they may not have.
func Enforces(spec *v1alpha1.ProviderConfigSpec) bool {
	return len(spec.Tenants) > 0 && ptr.Deref(spec.TenantEnforcement, "") != v1alpha1.TenantWarn
}
