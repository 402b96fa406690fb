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

// Package inventory is one shared view of each PVE cluster: what many resources
// want to know is asked once, and the tasks they started are followed by one
// poll for all.
package inventory

import (
	"context"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Client reads what the inventory shares.
type Client interface {
	Guests(ctx context.Context) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Tasks(ctx context.Context) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error)
	PCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error)
	HARules(ctx context.Context) (proxmox.HARules, error)
	Fingerprints(ctx context.Context) (map[string]string, error)
	ClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error)
}

// Defaults of the options.
const (
	// DefaultPollInterval is how often tasks are looked at while some are
	// followed.
	DefaultPollInterval = time.Second

	// DefaultMaxAge is how old a shared reading may be.
	DefaultMaxAge = 2 * time.Second
)

// An Option changes a Cluster.
type Option func(*Cluster)

// WithPollInterval sets how often tasks are looked at while some are followed.
func WithPollInterval(d time.Duration) Option {
	return func(c *Cluster) { c.poll = d }
}

// WithMaxAge sets how old a shared reading may be.
func WithMaxAge(d time.Duration) Option {
	return func(c *Cluster) { c.maxAge = d }
}

// WithClock sets what tells the time.
func WithClock(now func() time.Time) Option {
	return func(c *Cluster) { c.now = now }
}

// A Cluster is the shared view of one PVE cluster. It is safe for concurrent
// use. Close it when it is no longer needed.
type Cluster struct {
	client Client
	poll   time.Duration
	maxAge time.Duration
	now    func() time.Time

	guests   reading[[]proxmox.Guest]
	nodes    reading[[]proxmox.Node]
	storages reading[[]proxmox.Storage]
	tasks    reading[[]proxmox.Task]
	around   surroundings

	ids  reservations
	life context.Context //nolint:containedctx // It is the life of the goroutine that follows tasks.
	end  context.CancelFunc

	mu       sync.Mutex
	followed map[proxmox.UPID]*follower
	running  bool
}

// New makes the view of a cluster. It does no I/O.
func New(client Client, opts ...Option) *Cluster {
	c := &Cluster{
		client:   client,
		poll:     DefaultPollInterval,
		maxAge:   DefaultMaxAge,
		now:      time.Now,
		followed: map[proxmox.UPID]*follower{},
	}
	for _, o := range opts {
		o(c)
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.guests.read, c.nodes.read, c.storages.read, c.tasks.read = client.Guests, client.Nodes, client.Storages, client.Tasks
	c.around.mappings.read, c.around.fingerprints.read = client.PCIMappings, client.Fingerprints
	c.around.status.read = client.ClusterStatus
	c.around.rules.read = client.HARules
	c.around.bridges = map[string]*reading[[]proxmox.Bridge]{}
	return c
}

// Close stops following tasks.
func (c *Cluster) Close() { c.end() }

// Guests of the cluster, at most the maximum age old. A guest that is missing
// may be invisible to the user.
func (c *Cluster) Guests(ctx context.Context) ([]proxmox.Guest, error) {
	return c.guests.get(ctx, c.life, c.now, c.maxAge)
}

// FreshGuests are the guests of the cluster, read after this call began.
func (c *Cluster) FreshGuests(ctx context.Context) ([]proxmox.Guest, error) {
	c.guests.expire()
	return c.Guests(ctx)
}

// Nodes of the cluster, at most the maximum age old.
func (c *Cluster) Nodes(ctx context.Context) ([]proxmox.Node, error) {
	return c.nodes.get(ctx, c.life, c.now, c.maxAge)
}

// Storages of all nodes, at most the maximum age old.
func (c *Cluster) Storages(ctx context.Context) ([]proxmox.Storage, error) {
	return c.storages.get(ctx, c.life, c.now, c.maxAge)
}

// Tasks of the cluster, running and recent, read after this call began.
func (c *Cluster) Tasks(ctx context.Context) ([]proxmox.Task, error) {
	c.tasks.expire()
	return c.tasks.get(ctx, c.life, c.now, c.maxAge)
}

// RecentTasks of the cluster, running and recent, at most one poll old.
func (c *Cluster) RecentTasks(ctx context.Context) ([]proxmox.Task, error) {
	return c.tasks.get(ctx, c.life, c.now, c.poll)
}
