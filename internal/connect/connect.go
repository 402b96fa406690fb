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

// Package connect turns a managed resource into a connection to the Proxmox VE
// cluster that its provider configuration describes.
//
// Resources whose configurations come to the same share one client and one
// inventory. Secrets and ConfigMaps are read again after a few seconds, so that
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

	// defaultGrace is how long a connection outlives its last configuration. It
	// is longer than a reconcile may take, and than it takes until what goes
	// together with the configuration is tried again.
	defaultGrace = 10 * time.Minute
)

// DefaultName is the name of the provider configuration of a resource that names
// none. It is also the default in the resources' schemas.
const DefaultName = "default"

// A Connection to a PVE cluster. The client and the inventory are shared and are
// good for one reconcile: ask for a connection again in the next.
type Connection struct {
	// Client of the cluster's API.
	Client *proxmox.Client

	// Inventory is the shared view of the cluster.
	Inventory *inventory.Cluster

	// Config is what the provider configuration says for the tenant. It is the caller's own.
	Config *v1alpha1.ProviderConfigSpec

	// Tenant of the resource; nil for one that may do everything.
	Tenant *tenancy.Tenant

	// Warned is the tenant of a resource whose configuration shows only what would be refused; nil where nothing would.
	Warned *tenancy.Tenant

	// Records of which VMs were seen to be whose. None are kept without tenants.
	Records tenancy.Records

	// Name of the provider configuration with its kind and, if it has one, its
	// namespace: ProviderConfig/default or ProviderConfig/team-a/default.
	Name string
}

// A Connector makes connections. It is safe for concurrent use.
type Connector struct {
	kube    client.Client
	track   tracker
	objects *objects
	pool    *pool
	watches *watches
	records recordKey
	names   names

	accounts accounts

	// followed are those of resources other than configurations, which read them
	// themselves.
	followed *watches
	subscribers

	defaultName string
	userAgent   string
	observe     func(proxmox.Call)
	sweepEvery  time.Duration
}

// An Option changes a Connector.
type Option func(*Connector)

// WithDefault sets the name of the provider configuration that is used instead
// of one named default where that does not exist, for resources that name none
// or that name default. Its kind and namespace are those of the one it replaces.
func WithDefault(name string) Option {
	return func(c *Connector) { c.defaultName = name }
}

// WithUserAgent sets the User-Agent header of the requests to PVE.
func WithUserAgent(s string) Option {
	return func(c *Connector) { c.userAgent = s }
}

// WithObserver sets what is told about every HTTP request to PVE. It must be
// safe for concurrent use and must not block.
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

// WithWatcher sets what watches Secrets and ConfigMaps, one by one and their
// metadata only, so that a change of one is noticed at once. Without, it is
// noticed when it is read again.
func WithWatcher(kube client.WithWatch) Option {
	return func(c *Connector) { c.watches.kube, c.followed.kube = kube, kube }
}

// WithClock sets what tells the time.
func WithClock(now func() time.Time) Option {
	return func(c *Connector) { c.objects.now, c.pool.now = now, now }
}

// New makes a Connector that reads provider configurations, Secrets and
// ConfigMaps with the client, which had better not cache the latter two.
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

// Connect connects to the cluster of the resource's provider configuration and records
// that the resource uses that. It does not reach out to PVE. Errors say what is
// wrong and where, and have no secrets in them; see IsConfiguration.
//
// A resource that is being deleted together with its configuration, as all in a
// namespace are that is deleted, gets the connection that there was last where the
// configuration or its Secret is gone already: what the resource stands for would
// be left over otherwise.
//
// A resource of a configuration with tenants gets a connection that is confined to what its tenant
// may do, or none if it asks for more: see tenancy.IsRefusal.
func (c *Connector) Connect(ctx context.Context, mg resource.Managed) (*Connection, error) {
	return c.ConnectVia(ctx, mg, mg)
}

// ConnectVia connects to the cluster of another resource's provider configuration, as Connect does.
// What the resource itself may do counts.
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
	// The use of a configuration that does not work counts too: otherwise it
	// could be deleted between two attempts to repair it.
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

// closing reports whether the use of a configuration cannot be recorded because the
// namespace of a resource is being deleted with it, where nothing new is taken.
func closing(mg resource.Managed, err error) bool {
	return meta.WasDeleted(mg) && kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// use uses what belongs to a configuration, unless it is missing.
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

// Open connects to the cluster of a provider configuration by its name, or to that
// of the one that stands in for it.
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

// share shares what belongs to the configuration.
func (c *Connector) share(ctx context.Context, r reference, spec *v1alpha1.ProviderConfigSpec) (*shared, error) {
	cfg, err := c.settings(ctx, r, spec)
	if err != nil {
		return nil, err
	}
	return c.pool.get(r, cfg, spec)
}

// resolve gets the configuration, or the one that stands in for a missing one
// named default.
func (c *Connector) resolve(ctx context.Context, r reference) (reference, *v1alpha1.ProviderConfigSpec, error) {
	spec, err := r.get(ctx, c.kube)
	if !kerrors.IsNotFound(err) || r.name != DefaultName || c.defaultName == "" || c.defaultName == DefaultName {
		return r, spec, r.explain(err)
	}
	r.name = c.defaultName
	spec, err = r.get(ctx, c.kube)
	return r, spec, r.explain(err)
}

// Start closes what is no longer used, until the context ends, then everything.
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

// sweep closes connections that no configuration has come to for the time of
// grace, and forgets old contents of Secrets.
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
