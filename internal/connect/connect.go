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

// Package connect turns a managed resource into a connection to the Proxmox VE cluster that its provider configuration describes.
//
// Resources whose configurations are equivalent share one client and one inventory. Secrets and ConfigMaps are read again after a few seconds, so that
// rotated ones are picked up without a restart.
package connect

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// Defaults of the options.
const (
	// defaultMaxAge is how old the content of a Secret or ConfigMap may be.
	defaultMaxAge = 10 * time.Second

	// defaultGrace is how long a connection is kept after its last configuration. It is longer than a reconcile may take, and longer than the delay before
	// resources that are deleted together with the configuration are tried again.
	defaultGrace = 10 * time.Minute
)

// DefaultName is the name of the provider configuration of a resource that names
// none. It is also the default in the resources' schemas.
const DefaultName = "default"

// A Connection is a connection to a PVE cluster. The client and the inventory are shared and are valid for one reconcile: ask for a connection again in
// the next.
type Connection struct {
	// Client of the cluster's API.
	Client *proxmox.Client

	// Inventory is the shared view of the cluster.
	Inventory *inventory.Cluster

	// Config is the provider configuration, limited to what the tenant may use. It is a copy for the caller.
	Config *v1alpha1.ProviderConfigSpec

	// Tenant of the resource; nil for a resource that may do everything.
	Tenant *tenancy.Tenant

	// Warned is the tenant of a resource whose configuration only warns; nil otherwise.
	Warned *tenancy.Tenant

	// Records of the VMs that were observed to be a resource's. None are kept without tenants.
	Records tenancy.Records

	// Name of the provider configuration with its kind and, if it has one, its
	// namespace: ProviderConfig/default or ProviderConfig/team-a/default.
	Name string
}

// A Connector creates connections. It is safe for concurrent use.
type Connector struct {
	kube    client.Client
	track   tracker
	objects *objects
	pool    *pool
	watches *watches
	records recordKey
	names   names

	accounts accounts

	// followed watches the references of resources other than configurations, which those resources read themselves.
	followed *watches
	subscribers

	defaultName string
	userAgent   string
	observe     func(proxmox.Call)
	sweepEvery  time.Duration
}

// An Option configures a Connector.
type Option func(*Connector)

// WithDefault sets the name of the provider configuration that replaces a missing one named default, for resources that name none or name default. It
// has the kind and namespace of the one that it replaces.
func WithDefault(name string) Option {
	return func(c *Connector) { c.defaultName = name }
}

// WithUserAgent sets the User-Agent header of the requests to PVE.
func WithUserAgent(s string) Option {
	return func(c *Connector) { c.userAgent = s }
}

// WithObserver sets a function that is called for every HTTP request to PVE. It must be safe for concurrent use and must not block.
func WithObserver(fn func(proxmox.Call)) Option {
	return func(c *Connector) { c.observe = fn }
}

// WithInventory sets the options of the inventories.
func WithInventory(o ...inventory.Option) Option {
	return func(c *Connector) { c.pool.options = o }
}

// WithMaxAge sets how old the content of a Secret or ConfigMap may be.
func WithMaxAge(d time.Duration) Option {
	return func(c *Connector) { c.objects.maxAge = d }
}

// withGrace sets how long a connection outlives its last configuration.
func withGrace(d time.Duration) Option {
	return func(c *Connector) { c.pool.grace = d }
}

// WithWatcher sets a client that watches Secrets and ConfigMaps, one by one and only their metadata, so that a change is noticed at once. Without it, a
// change is noticed when the content is read again.
func WithWatcher(kube client.WithWatch) Option {
	return func(c *Connector) { c.watches.kube, c.followed.kube = kube, kube }
}

// WithClock sets the function that returns the current time.
func WithClock(now func() time.Time) Option {
	return func(c *Connector) { c.objects.now, c.pool.now = now, now }
}

// New creates a Connector that reads provider configurations, Secrets and ConfigMaps with the client, which should not cache Secrets and ConfigMaps.
func New(kube client.Client, opts ...Option) *Connector {
	c := &Connector{
		kube:       kube,
		track:      newTracker(kube),
		objects:    newObjects(kube),
		pool:       newPool(),
		sweepEvery: time.Minute,
	}
	c.watches = newWatches(c.objects, c.changed)
	c.followed = newWatches(newObjects(kube), c.changed)
	for _, o := range opts {
		o(c)
	}
	return c
}

// Connect connects to the cluster of the resource's provider configuration and records that the resource uses it. It makes no request to PVE. Errors
// describe what is wrong and where, and contain no secrets; see IsConfiguration.
//
// A resource may be deleted together with its configuration, as when their namespace is deleted. If the configuration or its Secret no longer exists,
// the resource gets the last connection, since its VM or other object would otherwise be left over.
//
// A resource of a configuration with tenants gets a connection that is limited to what its tenant may do, or none if it requests more: see
// tenancy.IsRefusal.
func (c *Connector) Connect(ctx context.Context, mg resource.Managed) (*Connection, error) {
	return c.ConnectVia(ctx, mg, mg)
}

// ConnectVia connects to the cluster of another resource's provider configuration, like Connect, with the permissions of the resource itself.
func (c *Connector) ConnectVia(ctx context.Context, mg, via resource.Managed) (*Connection, error) {
	to, ref, err := c.connect(ctx, via)
	if err != nil {
		return nil, err
	}
	if err := c.confine(ctx, mg, ref, to); err != nil {
		return nil, err
	}
	return to, nil
}

// connect connects to the cluster of the resource's provider configuration.
func (c *Connector) connect(ctx context.Context, mg resource.Managed) (*Connection, reference, error) {
	named, err := referenceOf(mg)
	if err != nil {
		return nil, named, asConfiguration(err)
	}
	ref, spec, missing := c.resolve(ctx, named)
	// The use of a configuration that does not work is recorded too. Otherwise the configuration could be deleted between two attempts to repair it.
	if err := c.track.track(ctx, mg, ref); err != nil && !closing(mg, err) {
		return nil, ref, errors.Wrapf(err, "cannot record the use of %s", ref)
	}
	s, err := c.use(ctx, ref, spec, missing)
	if err != nil && meta.WasDeleted(mg) && ref.leaves(ctx, c.kube) {
		if last, said := c.pool.lastOf(ref); last != nil {
			s, spec, err = last, said, nil
		}
	}
	if err != nil {
		return nil, ref, asConfiguration(err)
	}
	return &Connection{Client: s.client, Inventory: s.inventory, Config: spec, Name: ref.path()}, ref, nil
}

// closing reports whether the use of a configuration cannot be recorded because the resource's namespace is being deleted together with it, and accepts
// no new objects.
func closing(mg resource.Managed, err error) bool {
	return meta.WasDeleted(mg) && kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// use uses the connection of a configuration, unless the configuration is missing.
func (c *Connector) use(ctx context.Context, r reference, spec *v1alpha1.ProviderConfigSpec, missing error) (*shared, error) {
	if missing != nil {
		return nil, missing
	}
	s, err := c.share(ctx, r, spec)
	return s, errors.Wrapf(err, "cannot use %s", r)
}

// ConnectTo connects to the cluster of a provider configuration itself.
func (c *Connector) ConnectTo(ctx context.Context, k Key, spec *v1alpha1.ProviderConfigSpec) (*Connection, error) {
	r := k.reference()
	s, err := c.share(ctx, r, spec)
	if err != nil {
		return nil, asConfiguration(err)
	}
	return &Connection{Client: s.client, Inventory: s.inventory, Config: spec, Name: r.path()}, nil
}

// Open connects to the cluster of a provider configuration by its name, or to that of the configuration that replaces it.
func (c *Connector) Open(ctx context.Context, k Key) (*Connection, error) {
	r, spec, err := c.resolve(ctx, k.reference())
	if err != nil {
		return nil, asConfiguration(err)
	}
	s, err := c.share(ctx, r, spec)
	if err != nil {
		return nil, errors.Wrapf(asConfiguration(err), "cannot use %s", r)
	}
	return &Connection{Client: s.client, Inventory: s.inventory, Config: spec, Name: r.path()}, nil
}

// share returns what all users of the configuration share.
func (c *Connector) share(ctx context.Context, r reference, spec *v1alpha1.ProviderConfigSpec) (*shared, error) {
	cfg, err := c.settings(ctx, r, spec)
	if err != nil {
		return nil, err
	}
	return c.pool.get(r, cfg, spec)
}

// resolve reads the configuration, or the one that replaces a missing one named default.
func (c *Connector) resolve(ctx context.Context, r reference) (reference, *v1alpha1.ProviderConfigSpec, error) {
	spec, err := r.get(ctx, c.kube)
	if !kerrors.IsNotFound(err) || r.name != DefaultName || c.defaultName == "" || c.defaultName == DefaultName {
		return r, spec, r.explain(err)
	}
	r.name = c.defaultName
	spec, err = r.get(ctx, c.kube)
	return r, spec, r.explain(err)
}

// Start closes unused connections until the context ends, and then all connections.
func (c *Connector) Start(ctx context.Context) error {
	defer c.pool.close()
	defer c.watches.close()
	defer c.followed.close()
	t := time.NewTicker(c.sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			c.sweep(ctx)
		}
	}
}

// sweep closes connections that have been without a configuration for the grace period, and forgets old contents of Secrets.
func (c *Connector) sweep(ctx context.Context) {
	for _, r := range c.pool.references() {
		if _, err := r.get(ctx, c.kube); kerrors.IsNotFound(err) {
			c.pool.release(r)
			c.watches.watch(r, nil)
		}
	}
	c.pool.sweep()
	c.objects.sweep()
}
