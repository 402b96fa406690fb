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
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
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

// Has returns a function that reports whether a guest of the cluster of a connection counts for everybody there as the VM of a Machine that names its
// VMID, which anybody can write. Where tenants share the cluster it does if it is where the VMs of the Machine's tenant are, if the provider has signed
// that it is the Machine's and nobody else may have it by now, or if the provider makes it. It is to be used as the one of Heard.
func (c *Connector) Has(ctx context.Context, to *Connection) func(resource.Managed, proxmox.Guest) bool {
	confined := sync.OnceValue(func() bool { return c.confined(ctx, to.Config.Endpoints) })
	unread := map[string]bool{}
	return func(mg resource.Managed, g proxmox.Guest) bool {
		if !confined() {
			return true
		}
		ref, err := referenceOf(mg)
		if err != nil {
			return false
		}
		if ref.namespace != "" {
			return ref.path() == to.Name || c.heldBeside(ctx, mg, g, to, unread)
		}
		ref, spec, err := c.resolve(ctx, ref)
		if err != nil || len(spec.Tenants) == 0 {
			return false
		}
		t := c.presumed(ctx, mg, spec.Tenants, unread)
		return t.Holds(g) == nil || c.signedToHave(ctx, mg, g, t, tenancy.Records{Config: ref.path()}, spec.Tenants)
	}
}

// heldBeside reports whether a configuration that all teams may name has a guest where the VMs of a resource's tenant are, whose own configuration has no
// tenants.
func (c *Connector) heldBeside(ctx context.Context, mg resource.Managed, g proxmox.Guest, to *Connection, unread map[string]bool) bool {
	all, err := c.commons(ctx)
	return err == nil && slices.ContainsFunc(all, func(o common) bool {
		return Enforces(o.spec) && overlap(o.spec.Endpoints, to.Config.Endpoints) && c.presumed(ctx, mg, o.spec.Tenants, unread).Holds(g) == nil
	})
}

// signedToHave reports whether the provider has signed, by some records, that a guest is a Machine's whose tenant does not hold it, or that it makes it.
func (c *Connector) signedToHave(
	ctx context.Context, mg resource.Managed, g proxmox.Guest, t *tenancy.Tenant, by tenancy.Records, tenants []v1alpha1.ProviderTenant,
) bool {
	var err error
	if by.Key, err = c.records.get(ctx, c.kube); err != nil {
		return false
	}
	if vmid, uuid := by.Of(mg); uuid != "" && vmid == g.VMID {
		return tenancy.Formerly(t, tenants, by.TenantOf(mg)).Removes(g) == nil
	}
	return by.Makes(mg, g)
}

// A Kin reports whether a resource may be told of a Machine, or an Image: whether both are of the same tenant, or nothing keeps them apart, and whether the
// other one is that of operators. It is good for one look at many resources, by one goroutine.
type Kin func(mg, other resource.Managed) (own, operators bool)

// Kin tells cluster-scoped resources of one tenant from those of others, by the configuration that the other one names: namespaced ones name nothing
// of other namespaces. Whose labels cannot be read is nobody's.
func (c *Connector) Kin(ctx context.Context) Kin {
	apart := sync.OnceValue(func() bool {
		all, err := c.commons(ctx)
		return err != nil || slices.ContainsFunc(all, func(o common) bool { return Enforces(o.spec) })
	})
	unread, rules := map[string]bool{}, map[reference]func() (tenants []v1alpha1.ProviderTenant, apart bool){}
	return func(mg, other resource.Managed) (own, operators bool) {
		if mg.GetNamespace() != "" || !apart() {
			return true, false
		}
		ref, err := referenceOf(other)
		if err != nil {
			return false, false
		}
		if rules[ref] == nil {
			rules[ref] = sync.OnceValues(func() ([]v1alpha1.ProviderTenant, bool) { return c.keepApart(ctx, ref) })
		}
		tenants, apart := rules[ref]()
		switch {
		case !apart:
			return true, false
		case len(tenants) == 0:
			return false, false
		}
		by, of := c.presumed(ctx, mg, tenants, unread), c.presumed(ctx, other, tenants, unread)
		if by == nil || of == nil {
			return by == nil, of == nil
		}
		return by.Name != "" && by.Name == of.Name, false
	}
}

// keepApart returns the tenants of a configuration, and whether tenants are kept apart in its cluster, as they are while it cannot be read.
func (c *Connector) keepApart(ctx context.Context, r reference) (tenants []v1alpha1.ProviderTenant, apart bool) {
	_, spec, err := c.resolve(ctx, r)
	if err != nil {
		return nil, true
	}
	return spec.Tenants, c.confined(ctx, spec.Endpoints)
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

// Stands returns a function that reports whether what another resource says to have of the VM with a UUID counts for a resource of the cluster of a
// connection: where tenants share it, as the one of Recorded does, by what the provider has signed of that VM. It is to be used as the one of Heard.
func (c *Connector) Stands(ctx context.Context, to *Connection, by resource.Managed) func(other resource.Managed, uuid string) bool {
	believed, of := c.Believed(ctx, to.Config.Endpoints), tenancy.NamespaceOf(by)
	return func(other resource.Managed, uuid string) bool {
		return believed(other) || of != "" && of == tenancy.NamespaceOf(other) || uuid != "" && strings.EqualFold(c.Signed(ctx, other, to), uuid)
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
