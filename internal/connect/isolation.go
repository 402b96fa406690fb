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

// An Isolation keeps tenants that share a cluster apart: it decides whether what one resource says counts for another one, and whether a resource may
// know of another one. Without tenants everything counts. While it cannot be read whether there are tenants, there are; what a resource says does not
// count while the provider configuration that it names cannot be read.
//
// It is good for one look at many resources, by one goroutine: it reads once whether there are tenants, and waits once for each namespace that cannot be
// read. It reads nothing before it is asked.
type Isolation struct {
	connector *Connector
	ctx       context.Context //nolint:containedctx // It is that of the look.

	// to is the connection to the cluster. It has no endpoints if there is none.
	to *Connection

	// hasTenants reports whether tenants share the cluster, and anyHasTenants whether they share any cluster.
	hasTenants, anyHasTenants func() bool

	// unread are the namespaces whose labels could not be read.
	unread map[string]bool

	// configs are the provider configurations that were read.
	configs map[reference]config

	// tenants returns those of a provider configuration, and whether tenants share its cluster.
	tenants map[reference]func() (all []v1alpha1.ProviderTenant, shared bool)
}

// Isolation returns what keeps the tenants apart that share the cluster of a connection. Without a connection, which SameTenant does not need, tenants are
// taken to share the cluster.
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

// A config is a provider configuration as a reference to it was resolved.
type config struct {
	ref  reference
	spec *v1alpha1.ProviderConfigSpec
	err  error
}

// resolve returns the provider configuration that a reference comes to, which is read once.
func (i *Isolation) resolve(r reference) (reference, *v1alpha1.ProviderConfigSpec, error) {
	c, ok := i.configs[r]
	if !ok {
		c.ref, c.spec, c.err = i.connector.resolve(i.ctx, r)
		i.configs[r] = c
	}
	return c.ref, c.spec, c.err
}

// SpecCounts reports whether the spec of another resource counts for one of the cluster. Where tenants share the cluster, it does not if the tenant of
// the other one may not have it, even if its configuration only warns of that, nor if the other one is of another namespace and uses a configuration of
// that namespace.
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
		return false // One that cannot be read is not for the cluster; one without tenants does not count beside one that has some.
	}
	return i.tenantOf(other, spec.Tenants).CheckSpec(other) == nil
}

// ImagePrefix is what the names of the files begin with that a cluster-scoped Image makes by default; empty if that is the name of the Image.
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

// AnnotationsCount reports whether the annotations of a resource count for all of the cluster. Where tenants share the cluster, only those of operators
// do: no rule limits what a tenant writes into annotations.
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

// GuestCounts reports whether a guest counts for all of the cluster as the VM of a Machine that names its VMID, which anybody can write. Where tenants
// share the cluster, it does if it is where the VMs of the Machine's tenant are, if the provider has signed that it is the Machine's and no other
// tenant may have it now, or if the provider is making it for the Machine.
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

// VolumeRecordCounts reports whether the record in the annotations of a Volume, which names its disk, counts for a resource of the cluster. Where tenants
// share the cluster, it does if the provider has signed it, or if the Volume is that of operators or in the namespace of the resource: others may have
// made it up.
func (i *Isolation) VolumeRecordCounts(by, volume resource.Managed) bool {
	return i.AnnotationsCount(volume) || sameNamespace(by, volume) || i.signedVolume(volume)
}

// VMRecordCounts reports whether what another resource, such as a Snapshot or a Backup, says to have of the VM with a UUID counts for a resource of the
// cluster. Where tenants share the cluster, it does if the provider has signed that the other one is about that VM, or if the other one is that of
// operators or in the namespace of the resource.
func (i *Isolation) VMRecordCounts(by, other resource.Managed, uuid string) bool {
	return i.AnnotationsCount(other) || sameNamespace(by, other) || uuid != "" && strings.EqualFold(i.connector.SignedUUID(i.ctx, other, i.to), uuid)
}

// A SameTenantFunc reports whether a resource may know of a Machine, or an Image, as SameTenant of an Isolation does.
type SameTenantFunc func(mg, other resource.Managed) (same, operators bool)

// SameTenant reports whether a resource may know of a Machine, or an Image: same is true if both are of one tenant, or if no tenants share the cluster
// of the other one, and operators if the other one is that of operators. It is asked of cluster-scoped resources, by the configuration that the other
// one names: namespaced ones name nothing of other namespaces. A resource of no tenant, or whose
// tenant is not known because the labels of its namespace cannot be read, knows of none.
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

// OtherTenant reports whether a resource is known to be of another tenant than a cluster-scoped one: neither of the same nor that of operators. Where
// SameTenant knows of none, since a provider configuration or the labels of a namespace cannot be read now, it is not.
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

// tenantOf returns the tenant of a resource, as far as that can be read: without the labels of a namespace only tenants that select it by its name do.
// Each namespace that cannot be read is waited for once.
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

// isTenantsBySharedConfig reports whether a configuration that all namespaces may use, and that is for the cluster, has a guest where the VMs of the
// tenant of a Machine are, whose own configuration has no tenants.
func (i *Isolation) isTenantsBySharedConfig(machine resource.Managed, g proxmox.Guest) bool {
	all, err := i.connector.clusterScopedConfigs(i.ctx)
	return err == nil && slices.ContainsFunc(all, func(o clusterScopedConfig) bool {
		return Enforces(o.spec) && overlap(o.spec.Endpoints, i.to.Config.Endpoints) && i.tenantOf(machine, o.spec.Tenants).CheckGuest(g) == nil
	})
}

// isSignedFor reports whether the provider has signed, by some records, that a guest is the VM of a Machine whose tenant does not hold it, or that it is
// making it.
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

// tenantsIn returns the tenants of a configuration, and whether tenants share its cluster. While the configuration cannot be read they do.
func (i *Isolation) tenantsIn(r reference) (all []v1alpha1.ProviderTenant, shared bool) {
	_, spec, err := i.resolve(r)
	if err != nil {
		return nil, true
	}
	return spec.Tenants, i.connector.tenantsShare(i.ctx, spec.Endpoints)
}

// signedVolume reports whether the provider has signed the record of a Volume by the configuration that the Volume names.
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

// sameNamespace reports whether two resources are in one namespace, or made for claims in one: these are one team's.
func sameNamespace(a, b resource.Managed) bool {
	of := tenancy.NamespaceOf(a)
	return of != "" && of == tenancy.NamespaceOf(b)
}

// tenantsShare reports whether a configuration that all namespaces may use has tenants for a cluster with one of the endpoints. A cluster is not known
// by another of its endpoints: those of one cluster belong in one configuration.
func (c *Connector) tenantsShare(ctx context.Context, endpoints []string) bool {
	return c.enforced(ctx, func(spec *v1alpha1.ProviderConfigSpec) bool { return overlap(spec.Endpoints, endpoints) })
}

// enforced reports whether a configuration that all namespaces may use, and that is as asked for, keeps tenants apart. While configurations cannot be
// listed, one does.
func (c *Connector) enforced(ctx context.Context, is func(*v1alpha1.ProviderConfigSpec) bool) bool {
	all, err := c.clusterScopedConfigs(ctx)
	return err != nil || slices.ContainsFunc(all, func(o clusterScopedConfig) bool { return Enforces(o.spec) && is(o.spec) })
}

// Enforces reports whether a configuration has tenants, and refuses what they may not have.
func Enforces(spec *v1alpha1.ProviderConfigSpec) bool {
	return len(spec.Tenants) > 0 && ptr.Deref(spec.TenantEnforcement, "") != v1alpha1.TenantWarn
}
