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

// An Isolation isolates tenants that share a cluster: it decides whether the fields of one resource count for another, and whether a resource may know
// of another. Without tenants, everything counts. If it cannot read whether there are tenants, it assumes that there are. The fields of a resource do
// not count while the provider configuration that it names cannot be read.
//
// It is for one pass over many resources by one goroutine: it reads once whether there are tenants, and waits once for each namespace that cannot be
// read. It reads nothing before it is used.
type Isolation struct {
	connector *Connector
	ctx       context.Context //nolint:containedctx // It is that of the look.

	// to is the connection to the cluster. Without one, it has no endpoints.
	to *Connection

	// hasTenants reports whether tenants share the cluster, and anyHasTenants whether they share any cluster.
	hasTenants, anyHasTenants func() bool

	// unread are the namespaces whose labels could not be read.
	unread map[string]bool

	// configs are the provider configurations that were read.
	configs map[reference]config

	// tenants returns the tenants of a provider configuration, and whether tenants share its cluster.
	tenants map[reference]func() (all []v1alpha1.ProviderTenant, shared bool)
}

// Isolation returns the isolation of the tenants that share the cluster of a connection. Without a connection, which SameTenant does not need, it
// assumes that tenants share the cluster.
func (c *Connector) Isolation(ctx context.Context, to *Connection) *Isolation {
	hasTenants := sync.OnceValue(func() bool { return c.tenantsShare(ctx, to.Config.Endpoints) })
	if to == nil {
		to, hasTenants = &Connection{Config: &v1alpha1.ProviderConfigSpec{}}, func() bool { return true }
	}
	return &Isolation{
		connector: c, ctx: ctx, to: to, hasTenants: hasTenants,
		anyHasTenants: sync.OnceValue(func() bool { return c.enforced(ctx, func(*v1alpha1.ProviderConfigSpec) bool { return true }) }),
		unread:        map[string]bool{}, configs: map[reference]config{}, tenants: map[reference]func() ([]v1alpha1.ProviderTenant, bool){},
	}
}

// A config is a provider configuration after resolving a reference.
type config struct {
	ref  reference
	spec *v1alpha1.ProviderConfigSpec
	err  error
}

// resolve returns the provider configuration that a reference resolves to. It reads it once.
func (i *Isolation) resolve(r reference) (reference, *v1alpha1.ProviderConfigSpec, error) {
	c, ok := i.configs[r]
	if !ok {
		c.ref, c.spec, c.err = i.connector.resolve(i.ctx, r)
		i.configs[r] = c
	}
	return c.ref, c.spec, c.err
}

// SpecCounts reports whether the spec of another resource counts for one of the cluster. If tenants share the cluster, it does not count if the tenant
// of the other resource may not have it, even if its configuration only warns. It also does not count if the other resource is in another namespace and
// uses a configuration of that namespace.
func (i *Isolation) SpecCounts(by, other resource.Managed) bool {
	if other.GetUID() == by.GetUID() || !i.hasTenants() {
		return true
	}
	ref, err := referenceOf(other)
	if err != nil {
		return false
	}
	if ref.namespace != "" {
		return other.GetNamespace() == by.GetNamespace()
	}
	_, spec, err := i.resolve(ref)
	if err != nil || len(spec.Tenants) == 0 {
		return false // A configuration that cannot be read is not for the cluster. One without tenants does not count next to one with tenants.
	}
	return i.tenantOf(other, spec.Tenants).CheckSpec(other) == nil
}

// ImagePrefix returns the prefix of the file names that a cluster-scoped Image uses by default. It is empty if that is the name of the Image.
func (i *Isolation) ImagePrefix(image resource.Managed) string {
	ref, err := referenceOf(image)
	if err != nil || image.GetNamespace() != "" {
		return ""
	}
	_, spec, err := i.resolve(ref)
	if err != nil || len(spec.Tenants) == 0 {
		return ""
	}
	return tenancy.ImagesOf(i.tenantOf(image, spec.Tenants)).Prefix()
}

// AnnotationsCount reports whether the annotations of a resource count for the whole cluster. If tenants share the cluster, only those of operators do:
// no rule limits what a tenant writes into annotations.
func (i *Isolation) AnnotationsCount(other resource.Managed) bool {
	if !i.hasTenants() {
		return true
	}
	ref, err := referenceOf(other)
	if err != nil || ref.namespace != "" {
		return false
	}
	_, spec, err := i.resolve(ref)
	if err != nil || len(spec.Tenants) == 0 {
		return false
	}
	t, err := i.connector.TenantAmong(i.ctx, other, spec.Tenants)
	return err == nil && t == nil
}

// GuestCounts reports whether a guest counts for the whole cluster as the VM of a Machine that names its VMID, which any user can write. If tenants
// share the cluster, it counts in three cases: it is within the range and pools of the Machine's tenant, the provider has signed that it is the
// Machine's and no other tenant may have it now, or the provider is creating it for the Machine.
func (i *Isolation) GuestCounts(machine resource.Managed, g proxmox.Guest) bool {
	if !i.hasTenants() {
		return true
	}
	ref, err := referenceOf(machine)
	if err != nil {
		return false
	}
	if ref.namespace != "" {
		return ref.path() == i.to.Name || i.isTenantsBySharedConfig(machine, g)
	}
	ref, spec, err := i.resolve(ref)
	if err != nil || len(spec.Tenants) == 0 {
		return false
	}
	t := i.tenantOf(machine, spec.Tenants)
	return t.CheckGuest(g) == nil || i.isSignedFor(machine, g, t, tenancy.Records{Config: ref.path()}, spec.Tenants)
}

// VolumeRecordCounts reports whether the record in the annotations of a Volume, which names its disk, counts for a resource of the cluster. If tenants
// share the cluster, it counts if the provider has signed it, or if the Volume belongs to operators or is in the resource's namespace. Other records
// may be forged.
func (i *Isolation) VolumeRecordCounts(by, volume resource.Managed) bool {
	return i.AnnotationsCount(volume) || sameNamespace(by, volume) || i.signedVolume(volume)
}

// VMRecordCounts reports whether the record of another resource, such as a Snapshot or a Backup, about the VM with a UUID counts for a resource of the
// cluster. If tenants share the cluster, it counts if the provider has signed that the other resource is about that VM, or if the other resource
// belongs to operators or is in the resource's namespace.
func (i *Isolation) VMRecordCounts(by, other resource.Managed, uuid string) bool {
	return i.AnnotationsCount(other) || sameNamespace(by, other) || uuid != "" && strings.EqualFold(i.connector.SignedUUID(i.ctx, other, i.to), uuid)
}

// A SameTenantFunc reports whether a resource may know of a Machine or an Image, like Isolation.SameTenant.
type SameTenantFunc func(mg, other resource.Managed) (same, operators bool)

// SameTenant reports whether a resource may know of a Machine or an Image. The result same is true if both belong to one tenant, or if no tenants share
// the cluster of the other resource. The result operators is true if the other resource belongs to operators. The function is for cluster-scoped
// resources, and uses the configuration that the other resource names: namespaced resources cannot name anything in other namespaces. A resource
// without a tenant, or whose tenant is not known since the labels of its namespace cannot be read, may know of no other.
func (i *Isolation) SameTenant(mg, other resource.Managed) (same, operators bool) {
	if mg.GetNamespace() != "" || !i.anyHasTenants() {
		return true, false
	}
	ref, err := referenceOf(other)
	if err != nil {
		return false, false
	}
	if i.tenants[ref] == nil {
		i.tenants[ref] = sync.OnceValues(func() ([]v1alpha1.ProviderTenant, bool) { return i.tenantsIn(ref) })
	}
	tenants, shared := i.tenants[ref]()
	switch {
	case !shared:
		return true, false
	case len(tenants) == 0:
		return false, false
	}
	by, of := i.tenantOf(mg, tenants), i.tenantOf(other, tenants)
	if by == nil || of == nil {
		return by == nil, of == nil
	}
	return by.Name != "" && by.Name == of.Name, false
}

// OtherTenant reports whether a resource is known to belong to another tenant than a cluster-scoped one: neither to the same nor to operators. It is
// false if SameTenant only fails to read a provider configuration or the labels of a namespace.
func (i *Isolation) OtherTenant(mg, other resource.Managed) bool {
	if same, operators := i.SameTenant(mg, other); same || operators {
		return false
	}
	ref, err := referenceOf(other)
	if err != nil {
		return false
	}
	_, _, err = i.resolve(ref)
	return err == nil && !i.unread[tenancy.NamespaceOf(mg)] && !i.unread[tenancy.NamespaceOf(other)]
}

// tenantOf returns the tenant of a resource, as far as it can be read: without the labels of a namespace, only tenants that select it by its name are
// considered. It waits once for each namespace that cannot be read.
func (i *Isolation) tenantOf(mg resource.Managed, tenants []v1alpha1.ProviderTenant) *tenancy.Tenant {
	if of := tenancy.NamespaceOf(mg); !i.unread[of] {
		t, err := i.connector.TenantAmong(i.ctx, mg, tenants)
		if err == nil {
			return t
		}
		i.unread[of] = true
	}
	t, err := tenancy.Of(tenants, i.connector.subjectOf(i.ctx, mg))
	if err != nil {
		return tenancy.DenyAll(err.Error())
	}
	return t
}

// isTenantsBySharedConfig reports whether a configuration for the cluster that all namespaces may use has a guest within the range and pools of a
// Machine's tenant, if the Machine's own configuration has no tenants.
func (i *Isolation) isTenantsBySharedConfig(machine resource.Managed, g proxmox.Guest) bool {
	all, err := i.connector.clusterScopedConfigs(i.ctx)
	return err == nil && slices.ContainsFunc(all, func(o clusterScopedConfig) bool {
		return Enforces(o.spec) && overlap(o.spec.Endpoints, i.to.Config.Endpoints) && i.tenantOf(machine, o.spec.Tenants).CheckGuest(g) == nil
	})
}

// isSignedFor reports whether the provider has signed, with some records, that a guest is the VM of a Machine whose tenant does not hold it, or that
// the provider is creating it.
func (i *Isolation) isSignedFor(
	machine resource.Managed, g proxmox.Guest, t *tenancy.Tenant, by tenancy.Records, tenants []v1alpha1.ProviderTenant,
) bool {
	var err error
	if by.Key, err = i.connector.records.get(i.ctx, i.connector.kube); err != nil {
		return false
	}
	if vmid, uuid := by.VMOf(machine); uuid != "" && vmid == g.VMID {
		return tenancy.WithFormerTenant(t, tenants, by.TenantOf(machine)).CheckRemove(g) == nil
	}
	return by.IsCreating(machine, g)
}

// tenantsIn returns the tenants of a configuration, and whether tenants share its cluster. It assumes that they do if the configuration cannot be read.
func (i *Isolation) tenantsIn(r reference) (all []v1alpha1.ProviderTenant, shared bool) {
	_, spec, err := i.resolve(r)
	if err != nil {
		return nil, true
	}
	return spec.Tenants, i.connector.tenantsShare(i.ctx, spec.Endpoints)
}

// signedVolume reports whether the provider has signed the record of a Volume with the configuration that the Volume names.
func (i *Isolation) signedVolume(mg resource.Managed) bool {
	ref, err := referenceOf(mg)
	if err == nil {
		ref, _, err = i.resolve(ref)
	}
	if err != nil {
		return false
	}
	key, err := i.connector.records.get(i.ctx, i.connector.kube)
	_, signed := tenancy.Records{Key: key, Config: ref.path()}.Volume(mg)
	return err == nil && signed
}

// sameNamespace reports whether two resources are in one namespace, or created for claims in one: these belong to one team.
func sameNamespace(a, b resource.Managed) bool {
	of := tenancy.NamespaceOf(a)
	return of != "" && of == tenancy.NamespaceOf(b)
}

// tenantsShare reports whether a configuration that all namespaces may use has tenants for a cluster with one of the endpoints. A cluster is identified
// by its endpoints, so all endpoints of one cluster belong in one configuration.
func (c *Connector) tenantsShare(ctx context.Context, endpoints []string) bool {
	return c.enforced(ctx, func(spec *v1alpha1.ProviderConfigSpec) bool { return overlap(spec.Endpoints, endpoints) })
}

// enforced reports whether a configuration that all namespaces may use, and that a function selects, isolates tenants. If configurations cannot be
// listed, it returns true.
func (c *Connector) enforced(ctx context.Context, is func(*v1alpha1.ProviderConfigSpec) bool) bool {
	all, err := c.clusterScopedConfigs(ctx)
	return err != nil || slices.ContainsFunc(all, func(o clusterScopedConfig) bool { return Enforces(o.spec) && is(o.spec) })
}

// Enforces reports whether a configuration has tenants and refuses what they may not have.
func Enforces(spec *v1alpha1.ProviderConfigSpec) bool {
	return len(spec.Tenants) > 0 && ptr.Deref(spec.TenantEnforcement, "") != v1alpha1.TenantWarn
}
