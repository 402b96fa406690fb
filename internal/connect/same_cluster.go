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
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A clusterScopedConfig is a provider configuration that resources of all namespaces may name. It belongs to the cache and must not be changed.
type clusterScopedConfig struct {
	reference

	spec *v1alpha1.ProviderConfigSpec

	// version changes with each change of the configuration.
	version string

	// cluster is the name of the cluster that was observed with this spec. It is empty if none was, or for a node of no cluster.
	cluster string

	// reached is true if its cluster has ever answered, with any spec. From then on its tenants count for others.
	reached bool
}

// clusterScopedConfigOf returns the parts of a configuration that count. Status that was observed with another spec does not count, since that spec may
// be for another cluster.
func clusterScopedConfigOf(r reference, o interface {
	GetUID() types.UID
	GetResourceVersion() string
	GetGeneration() int64
	GetCondition(ct xpv2.ConditionType) xpv2.Condition
	Settings() *v1alpha1.ProviderConfigSpec
	Observation() *v1alpha1.ProviderConfigStatus
},
) clusterScopedConfig {
	c := clusterScopedConfig{reference: r, spec: o.Settings(), version: string(o.GetUID()) + "/" + o.GetResourceVersion(), reached: o.Observation().Version != ""}
	if o.GetCondition(xpv2.TypeReady).ObservedGeneration == o.GetGeneration() {
		c.cluster = o.Observation().Cluster
	}
	return c
}

// clusterScopedConfigs returns all configurations that resources of all namespaces may name.
func (c *Connector) clusterScopedConfigs(ctx context.Context) ([]clusterScopedConfig, error) {
	ofNamespaces, ofCluster := &namespaced.ClusterProviderConfigList{}, &cluster.ProviderConfigList{}
	if err := c.kube.List(ctx, ofNamespaces, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if err := c.kube.List(ctx, ofCluster, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	all := make([]clusterScopedConfig, 0, len(ofNamespaces.Items)+len(ofCluster.Items))
	for i := range ofNamespaces.Items {
		o := &ofNamespaces.Items[i]
		all = append(all, clusterScopedConfigOf(reference{kind: namespaced.ClusterProviderConfigGroupVersionKind.GroupKind(), name: o.Name}, o))
	}
	for i := range ofCluster.Items {
		o := &ofCluster.Items[i]
		all = append(all, clusterScopedConfigOf(reference{kind: cluster.ProviderConfigGroupVersionKind.GroupKind(), name: o.Name}, o))
	}
	return all, nil
}

// deniedBySharers returns a tenant that may do nothing, for a resource whose configuration has no tenants while another one that resources of all
// namespaces may name has tenants for the same cluster. It returns nil otherwise.
func (c *Connector) deniedBySharers(ctx context.Context, r reference, to *Connection) (*tenancy.Tenant, error) {
	if r.namespace != "" {
		return nil, nil
	}
	all, err := c.clusterScopedConfigs(ctx)
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the provider configurations, of which one may have tenants")
	}
	for _, o := range all {
		if o.reference == r || !Enforces(o.spec) {
			continue
		}
		if t, err := c.deniedBySharer(ctx, r, to, o); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// deniedBySharer returns a tenant that may do nothing if a configuration with tenants is, or may be, for the cluster of a connection. Two
// configurations are for one cluster if they have a common endpoint, or the same cluster name, since a cluster has more addresses than a configuration
// names. Nodes of no cluster have no name that could distinguish them.
func (c *Connector) deniedBySharer(ctx context.Context, r reference, to *Connection, o clusterScopedConfig) (*tenancy.Tenant, error) {
	if overlap(o.spec.Endpoints, to.Config.Endpoints) {
		return deniedWithoutTenants(r), nil
	}
	if !o.reached {
		return nil, nil // Otherwise a configuration with a wrong address would stop those of all other clusters.
	}
	own, err := to.Inventory.ClusterStatus(ctx, inventory.Stable)
	if err != nil {
		return deniedWhileUnknown(r, o, err,
			"its cluster cannot be read, and another provider configuration has tenants: declare tenants here too, or grant this token Sys.Audit on /")
	}
	name := o.cluster
	if name != "" {
		c.names.note(o, name)
	}
	if name == "" && own.Name != "" {
		if name, err = c.nameOf(ctx, o); err != nil {
			return deniedWhileUnknown(r, o, err,
				"the cluster of "+o.String()+", which has tenants, cannot be read: give it tenants too, or the token of the other Sys.Audit on /")
		}
	}
	if name == own.Name {
		return deniedWithoutTenants(r), nil
	}
	return nil, nil
}

// nameOf asks the cluster of a configuration for its name. If it cannot be reached, nameOf returns the name that was observed before the configuration
// was edited, if one of its former endpoints is left.
func (c *Connector) nameOf(ctx context.Context, o clusterScopedConfig) (string, error) {
	s, err := c.share(ctx, o.reference, o.spec)
	if err != nil {
		return "", err
	}
	status, err := s.inventory.ClusterStatus(ctx, inventory.Stable)
	if err == nil {
		c.names.note(o, status.Name)
		return status.Name, nil
	}
	if last := c.names.of(o); last != "" && proxmox.IsUnavailable(err) {
		return last, nil
	}
	return "", err
}

// names has the names of the clusters of configurations as this process last observed them.
type names struct {
	mu  sync.Mutex
	all map[reference]seenName
}

// A seenName is the name of the cluster with these endpoints.
type seenName struct {
	endpoints []string
	cluster   string
}

// note records the name of the cluster of a configuration. It is empty for a node of no cluster.
func (n *names) note(o clusterScopedConfig, cluster string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[reference]seenName{}
	}
	n.all[o.reference] = seenName{endpoints: o.spec.Endpoints, cluster: cluster}
}

// of returns the recorded name of the cluster of a configuration, unless the configuration has other endpoints now.
func (n *names) of(o clusterScopedConfig) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.all[o.reference]
	if !overlap(last.endpoints, o.spec.Endpoints) {
		return ""
	}
	return last.cluster
}

// deniedWithoutTenants returns the tenant of a resource whose configuration has no tenants, while another one for the cluster has.
func deniedWithoutTenants(r reference) *tenancy.Tenant {
	return tenancy.DenyAll(r.String() + " has no tenants, while another of the same cluster has: give it tenants too")
}

// deniedWhileUnknown returns the tenant of a resource whose configuration may be for the cluster of another one with tenants. The caller retries after
// an error.
func deniedWhileUnknown(r reference, o clusterScopedConfig, err error, what string) (*tenancy.Tenant, error) {
	if proxmox.IsAuthorization(err) {
		return tenancy.DenyAll(r.String() + " has no tenants, and the name of " + what + ", or its token Sys.Audit on /"), nil
	}
	return nil, errors.Wrapf(err, "cannot tell whether %s is for the cluster of %s, which has tenants", r, o)
}
