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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// namespacesWithin limits the wait for the labels of namespaces.
const namespacesWithin = 10 * time.Second

// confine limits a connection to what the tenant of a resource may do, if its configuration has tenants. A resource that requests more gets no
// connection, and conditions that show why. A Machine or a Snapshot that is being deleted is an exception: its connection is limited to what it has.
func (c *Connector) confine(ctx context.Context, mg resource.Managed, r reference, to *Connection) error {
	if err := c.recordsOf(ctx, to); err != nil {
		return err
	}
	t, err := c.tenantOf(ctx, mg, r, to)
	if t != nil {
		t, to.Records.Tenant = tenancy.WithFormerTenant(t, to.Config.Tenants, to.Records.TenantOf(mg)), t.Name
	}
	warns := c.onlyWarns(ctx, r, to)
	refused := err
	if err == nil {
		refused = t.CheckSpec(mg)
	}
	shown := mg.GetCondition(v1alpha1.TypeTenantAllowed).Reason != ""
	if (warns || shown) && (refused != nil || t == nil || !shown || !reportedByController(mg, warns)) {
		tenancy.ShowAllowed(mg, refused)
	}
	switch {
	case warns:
		to.Warned = t
		return nil
	case t == nil || err != nil:
		return err
	case refused != nil && (!meta.WasDeleted(mg) || !tenancy.MayDeleteRefused(mg)):
		tenancy.ShowRefusal(mg, refused)
		return refused
	}
	g := guard(ctx, mg, t, to)
	if tenancy.IsMachine(mg) {
		g.Archive = func(volume string) error { return c.checkRestore(ctx, mg, t, to.Records, volume) }
	}
	g.VMIDs = ptr.To(to.Config.VMIDs())
	to.Tenant, to.Client, to.Config = t, to.Client.Guarded(g.Check), t.LimitConfig(to.Config)
	return nil
}

// reportedByController reports whether the controller of a resource reports what its tenant may not have. It does so for a VM that exists, and for a
// quota that only warns.
func reportedByController(mg resource.Managed, warns bool) bool {
	_, vm := tenancy.RecordedVM(mg)
	return vm != "" && tenancy.IsMachine(mg) || warns && tenancy.WouldWaitFor(mg) != nil
}

// onlyWarns reports whether the configuration only warns of what the tenants of a connection may not have. If another configuration for the same
// cluster refuses it, this one refuses too: otherwise users could avoid the one that refuses by using the other. It also refuses while it is not known
// whether both are for the same cluster.
func (c *Connector) onlyWarns(ctx context.Context, r reference, to *Connection) bool {
	if len(to.Config.Tenants) == 0 || Enforces(to.Config) {
		return false
	}
	if beside, err := c.deniedBySharers(ctx, r, to); beside == nil && err == nil {
		return true
	}
	to.Config = to.Config.DeepCopy()
	to.Config.TenantEnforcement = ptr.To(v1alpha1.TenantRefuse)
	return false
}

// recordsOf sets the records of a connection whose configuration has tenants.
func (c *Connector) recordsOf(ctx context.Context, to *Connection) error {
	if len(to.Config.Tenants) == 0 {
		return nil
	}
	key, err := c.records.get(ctx, c.kube)
	to.Records = tenancy.Records{Key: key, Config: to.Name}
	return err
}

// guard returns the guard of the writes for a resource. Its record belongs to the configuration of the resource's tenant.
func guard(ctx context.Context, mg resource.Managed, t *tenancy.Tenant, to *Connection) tenancy.Guard {
	g := tenancy.Guard{Tenant: t, Deleted: meta.WasDeleted(mg), Guest: func(vmid int, fresh bool) (proxmox.Guest, error) {
		return guestOf(ctx, to.Inventory, vmid, fresh)
	}}
	if tenancy.IsBackup(mg) {
		g.Backup = func() string {
			b, _ := to.Records.Backup(mg) // The resource is evaluated at each write.
			return b.Volume
		}
		return g
	}
	if tenancy.IsImage(mg) {
		g.Image = func() tenancy.ImageRecord {
			r, _ := to.Records.Image(mg)
			return r
		}
		return g
	}
	var vmid int
	if vmid, g.UUID = to.Records.VMOf(mg); g.Deleted {
		g.RecordedVMID = vmid
		v, _ := to.Records.Volume(mg)
		g.DiskHolder = tenancy.OwnerOf(v.Volume)
	}
	return g
}

// tenantOf returns the tenant of a resource, or nil if it may do everything.
func (c *Connector) tenantOf(ctx context.Context, mg resource.Managed, r reference, to *Connection) (*tenancy.Tenant, error) {
	if len(to.Config.Tenants) == 0 {
		return c.deniedBySharers(ctx, r, to)
	}
	t, err := c.TenantAmong(ctx, mg, to.Config.Tenants)
	if err != nil {
		return nil, err
	}
	t, err = WithVNets(ctx, to.Inventory, t)
	if meta.WasDeleted(mg) {
		err = nil // A deletion adds no new network.
	}
	return t, err
}

// A vnetLister lists the VNets of a cluster.
type vnetLister interface {
	VNets(ctx context.Context) ([]proxmox.VNet, error)
}

// WithVNets returns a tenant with the VNets that its zones have now. It returns nil for a nil tenant.
func WithVNets(ctx context.Context, in vnetLister, t *tenancy.Tenant) (*tenancy.Tenant, error) {
	if t == nil || len(t.SDNZones) == 0 {
		return t, nil
	}
	all, err := in.VNets(ctx)
	return t.WithVNets(all), errors.Wrapf(err, "cannot list the VNets of the SDN zones of tenant %q", t.Name)
}

// TenantAmong returns the tenant of a resource among those given, or nil if it may do everything.
func (c *Connector) TenantAmong(ctx context.Context, mg resource.Managed, tenants []v1alpha1.ProviderTenant) (*tenancy.Tenant, error) {
	s := c.subjectOf(ctx, mg)
	if s.Namespace != "" && tenancy.SelectsByLabels(tenants) {
		ns := &metav1.PartialObjectMetadata{}
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		// If the provider may not list namespaces, the cache never has them.
		ctx, cancel := context.WithTimeout(ctx, namespacesWithin)
		defer cancel()
		err := c.kube.Get(ctx, client.ObjectKey{Name: s.Namespace}, ns)
		if client.IgnoreNotFound(err) != nil {
			return nil, errors.Wrapf(err, "cannot read namespace %q, whose labels tell its tenant", s.Namespace)
		}
		if err == nil { // A namespace that does not exist, or is not yet in the cache, has no labels that select a tenant.
			s.NamespaceLabels = labels.Merge(ns.Labels, nil)
		}
	}
	return tenancy.Of(tenants, s)
}

// subjectOf returns the subject for a resource, without the labels of its namespace.
func (c *Connector) subjectOf(ctx context.Context, mg resource.Managed) tenancy.Subject {
	s := tenancy.Subject{Namespace: tenancy.NamespaceOf(mg)}
	if mg.GetNamespace() == "" {
		s.Labels, s.Config = labels.Merge(mg.GetLabels(), nil), c.configName(ctx, mg)
	}
	return s
}

// configName returns the name of the provider configuration that a resource uses. It is empty if that cannot be determined.
func (c *Connector) configName(ctx context.Context, mg resource.Managed) string {
	r, err := referenceOf(mg)
	if err == nil && r.name == DefaultName {
		r, _, err = c.resolve(ctx, r)
	}
	if err != nil {
		return ""
	}
	return r.name
}

// NamedTenant returns the tenant of a resource among those of the provider configuration that it names, or nil if it may do everything. It also returns
// that configuration.
func (c *Connector) NamedTenant(ctx context.Context, mg resource.Managed) (*tenancy.Tenant, *v1alpha1.ProviderConfigSpec, error) {
	r, err := referenceOf(mg)
	if err != nil {
		return nil, nil, err
	}
	_, spec, err := c.resolve(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	t, err := c.TenantAmong(ctx, mg, spec.Tenants)
	return t, spec, err
}

// TenantFor returns the tenant of another resource in the cluster of a connection, or nil if it may do everything, and whether its tenant is enforced.
// The tenants are those of the connection's provider configuration if the resource names it or has a record of it. Otherwise they are those of the
// configuration that it names, if both have a common endpoint. A configuration that only warns is also enforced if another one refuses. Without one
// that refuses, no tenant is enforced.
func (c *Connector) TenantFor(ctx context.Context, mg resource.Managed, to *Connection) (t *tenancy.Tenant, enforced bool, err error) {
	if !Enforces(to.Config) {
		return nil, false, nil
	}
	by := to.Config
	if _, uuid := to.Records.VMOf(mg); uuid == "" {
		if _, by = c.configInCluster(ctx, mg, to); by == nil || len(by.Tenants) == 0 {
			return nil, false, nil
		}
	}
	t, err = c.TenantAmong(ctx, mg, by.Tenants)
	return t, err == nil, err
}

// SignedUUID returns the UUID of the VM that the provider has signed for another resource in the cluster of a connection, with the provider
// configuration of the connection, or with the one that the resource names if both have a common endpoint. It is empty if none is signed.
func (c *Connector) SignedUUID(ctx context.Context, mg resource.Managed, to *Connection) string {
	if _, uuid := to.Records.VMOf(mg); uuid != "" {
		return uuid
	}
	r, spec := c.configInCluster(ctx, mg, to)
	if spec == nil || len(spec.Tenants) == 0 {
		return ""
	}
	key, err := c.records.get(ctx, c.kube)
	if err != nil {
		return "" // The caller that connects has read it before.
	}
	_, uuid := tenancy.Records{Key: key, Config: r.path()}.VMOf(mg)
	return uuid
}

// configInCluster returns the provider configuration that another resource names, if it is that of a connection or has a common endpoint with it.
// Otherwise it returns no spec, as Sharing does.
func (c *Connector) configInCluster(ctx context.Context, mg resource.Managed, to *Connection) (reference, *v1alpha1.ProviderConfigSpec) {
	r, err := referenceOf(mg)
	if err != nil {
		return r, nil
	}
	r, spec, err := c.resolve(ctx, r)
	switch {
	case r.path() == to.Name:
		return r, to.Config
	case err != nil || !overlap(spec.Endpoints, to.Config.Endpoints):
		return r, nil
	}
	return r, spec
}

// A GuestLister lists the VMs of a cluster.
type GuestLister interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
}

// CheckVM checks a VM by its entry in the cluster's list, which is read again before the VM is refused. For a VM that is not listed, only the VMID is
// set.
func CheckVM(ctx context.Context, in GuestLister, vmid int, check func(proxmox.Guest) error) error {
	return tenancy.CheckListed(vmid, func(vmid int, fresh bool) (proxmox.Guest, error) { return guestOf(ctx, in, vmid, fresh) }, check)
}

// guestOf finds a VM in the cluster's list.
func guestOf(ctx context.Context, in GuestLister, vmid int, fresh bool) (proxmox.Guest, error) {
	age := inventory.Current
	if fresh {
		age = inventory.Fresh
	}
	guests, err := in.Guests(ctx, age)
	if g, listed := proxmox.GuestOf(guests, vmid); listed && err == nil {
		return g, nil
	}
	return proxmox.Guest{VMID: vmid}, err
}

// checkRestore returns an error unless a backup belongs to a Backup that a Machine names, and is proven to be of a VM of its tenant.
func (c *Connector) checkRestore(ctx context.Context, mg resource.Managed, t *tenancy.Tenant, r tenancy.Records, volume string) error {
	for _, name := range tenancy.NamedBackups(mg) {
		var b backup = &cluster.Backup{}
		if mg.GetNamespace() != "" {
			b = &namespaced.Backup{}
		}
		err := c.kube.Get(ctx, client.ObjectKey{Namespace: mg.GetNamespace(), Name: name}, b)
		if client.IgnoreNotFound(err) != nil {
			return errors.Wrapf(err, "cannot read Backup %q", name)
		}
		if _, refused := t.CheckBackup(r, b, volume); err == nil && refused == nil {
			return nil
		}
	}
	_, refused := t.CheckBackup(r, nil, volume)
	return refused
}

// A backup is a Backup of either scope.
type backup interface {
	resource.Managed

	Parameters() *v1alpha1.BackupParameters
}

// CopyTenantLabels copies the labels that select tenants from a cluster-scoped resource to one that is created for it, so that both belong to one
// tenant. It does not copy other labels: tools identify their objects by labels, and would remove the copy.
func CopyTenantLabels(ctx context.Context, kube client.Reader, from, to resource.Managed) error {
	if from.GetNamespace() != "" {
		return nil
	}
	keys, err := tenantLabels(ctx, kube)
	if err != nil {
		return err
	}
	for _, key := range append(keys, tenancy.LabelClaimNamespace) {
		if value, has := from.GetLabels()[key]; has {
			meta.AddLabels(to, map[string]string{key: value})
		}
	}
	return nil
}

// tenantLabels returns the labels that select the tenants of cluster-scoped resources.
func tenantLabels(ctx context.Context, kube client.Reader) ([]string, error) {
	configs := &cluster.ProviderConfigList{}
	if err := kube.List(ctx, configs); err != nil {
		return nil, errors.Wrap(err, "cannot list the provider configurations, whose tenants are told by labels")
	}
	var keys []string
	for i := range configs.Items {
		keys = append(keys, tenancy.SelectorKeys(configs.Items[i].Spec.Tenants)...)
	}
	return keys, nil
}
