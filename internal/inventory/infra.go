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

package inventory

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// How old a shared reading may be of what seldom changes and is asked of each node
// or storage.
const (
	// slowAge is for what is of use to few.
	slowAge = 20 * time.Second

	// minuteAge is for what is looked at once a minute, and of use to nearly nobody.
	minuteAge = time.Minute

	// slowestAge is for what all want again and again.
	slowestAge = 5 * time.Minute
)

// An infraClient reads what VMs can be attached to, and where copies of them are.
type infraClient interface {
	Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error)
	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	PCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error)
	PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error)
	Replications(ctx context.Context) ([]proxmox.Replication, error)
}

// infra are what VMs of a cluster can be attached to.
type infra struct {
	mappings     cached[[]proxmox.PCIMapping]
	fingerprints cached[map[string]string]
	status       cached[readResult[proxmox.ClusterStatus]]
	replications cached[[]proxmox.Replication]
	version      cached[proxmox.Version]
	bridges      *cachedBy[string, []proxmox.Bridge]
	volumes      *cachedBy[storageKey, []proxmox.Volume]
	configs      *cachedBy[proxmox.Ref, proxmox.VMConfig]
	privileges   *cachedBy[string, proxmox.Privileges]
	pools        *cachedBy[string, members]
}

// A storageKey is where volumes are.
type storageKey struct{ node, storage, content string }

func newInfra(client Client) *infra {
	return &infra{
		mappings:     cached[[]proxmox.PCIMapping]{read: client.PCIMappings},
		fingerprints: cached[map[string]string]{read: client.Fingerprints},
		status:       cached[readResult[proxmox.ClusterStatus]]{read: newReadResult(client.ClusterStatus)},
		replications: cached[[]proxmox.Replication]{read: client.Replications},
		version:      cached[proxmox.Version]{read: client.Version},
		bridges:      newCachedBy(client.Bridges),
		configs:      newCachedBy(client.Config),
		privileges: newCachedBy(func(ctx context.Context, path string) (proxmox.Privileges, error) {
			all, err := client.Permissions(ctx, path)
			return all[path], err
		}),
		pools: newCachedBy(func(ctx context.Context, pool string) (members, error) {
			vmids, exists, err := client.PoolVMs(ctx, pool)
			return members{vmids, exists}, err
		}),
		volumes: newCachedBy(func(ctx context.Context, p storageKey) ([]proxmox.Volume, error) {
			return client.Volumes(ctx, p.node, p.storage, p.content)
		}),
	}
}

// members are the guests of a pool that may exist.
type members struct {
	vmids  []int
	exists bool
}

// cachedBy are of several things of one kind.
type cachedBy[K comparable, T any] struct {
	read func(context.Context, K) (T, error)

	mu  sync.Mutex
	all map[K]*cached[T]
}

func newCachedBy[K comparable, T any](read func(context.Context, K) (T, error)) *cachedBy[K, T] {
	return &cachedBy[K, T]{read: read, all: map[K]*cached[T]{}}
}

func (r *cachedBy[K, T]) of(k K) *cached[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.all[k]
	if !ok {
		one = &cached[T]{read: func(ctx context.Context) (T, error) { return r.read(ctx, k) }}
		r.all[k] = one
	}
	return one
}

// forget those that a function picks.
func (r *cachedBy[K, T]) forget(pick func(K) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.all, func(k K, _ *cached[T]) bool { return pick(k) })
}

// KnownConfig is the configuration of a VM that many are made from. It is at most
// five minutes old while signs of its change would be seen, and otherwise at most as
// old as resources. It must not be changed.
func (c *Cluster) KnownConfig(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	age := c.maxAge
	if c.watching() && c.mayReadLog(ctx) {
		age = c.slow(slowestAge)
	}
	return c.infra.configs.of(ref).get(ctx, c.life, c.now, age)
}

// Bridges of a node, those of SDN included, at most 20 seconds old. Ask for those
// of nodes that are online: PVE is slow to say that a node is not.
func (c *Cluster) Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error) {
	return c.infra.bridges.of(node).get(ctx, c.life, c.now, c.slow(slowAge))
}

// KnownBridges of a node are at most five minutes old: enough for who finds there
// what is looked for.
func (c *Cluster) KnownBridges(ctx context.Context, node string) ([]proxmox.Bridge, error) {
	return c.infra.bridges.of(node).get(ctx, c.life, c.now, c.slow(slowestAge))
}

// Volumes of a content type on a storage of a node, at most as old as resources.
func (c *Cluster) Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error) {
	return c.infra.volumes.of(storageKey{node, storage, content}).get(ctx, c.life, c.now, c.maxAge)
}

// KnownVolumes are at most five minutes old: enough for who finds there what is
// looked for.
func (c *Cluster) KnownVolumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error) {
	return c.infra.volumes.of(storageKey{node, storage, content}).get(ctx, c.life, c.now, c.slow(slowestAge))
}

// slow is an age, in proportion to that of resources.
func (c *Cluster) slow(age time.Duration) time.Duration {
	return time.Duration(float64(age) / float64(DefaultMaxAge) * float64(c.maxAge))
}

// Version of PVE, at most five minutes old.
func (c *Cluster) Version(ctx context.Context) (proxmox.Version, error) {
	return c.infra.version.get(ctx, c.life, c.now, c.slow(slowestAge))
}

// PCIMappings of the cluster, at most 20 seconds old: VMs are placed by them.
func (c *Cluster) PCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error) {
	return c.infra.mappings.get(ctx, c.life, c.now, c.slow(slowAge))
}

// KnownPCIMappings of the cluster are at most five minutes old: enough to show them.
func (c *Cluster) KnownPCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error) {
	return c.infra.mappings.get(ctx, c.life, c.now, c.slow(slowestAge))
}

// Fingerprints of the nodes' certificates, at most five minutes old, and read after
// nodes have come or gone.
func (c *Cluster) Fingerprints(ctx context.Context) (map[string]string, error) {
	return c.infra.fingerprints.get(ctx, c.life, c.now, c.slow(slowestAge))
}

// ClusterStatus is the cluster's name, quorum and members, at most 20 seconds old.
func (c *Cluster) ClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error) {
	r, err := c.infra.status.get(ctx, c.life, c.now, c.slow(slowAge))
	return r.or(err)
}

// ClusterName is the cluster's name, which stays: it is read once a day, and every five
// minutes while PVE does not permit that. It is empty for a node that is in no cluster.
func (c *Cluster) ClusterName(ctx context.Context) (string, error) {
	s, err := granted(ctx, c, &c.infra.status, 24*time.Hour, c.slow(slowestAge))
	return s.Name, err
}

// FreshClusterStatus is the cluster's name, quorum and members, read after this call
// began.
func (c *Cluster) FreshClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error) {
	r, err := c.infra.status.fresh(ctx, c.life, c.now)
	return r.or(err)
}

// PoolVMs are the VMIDs of the guests in a pool, at most 20 seconds old, and whether there
// is such a pool.
func (c *Cluster) PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error) {
	m, err := c.infra.pools.of(pool).get(ctx, c.life, c.now, c.slow(slowAge))
	return m.vmids, m.exists, err
}

// Privileges of the user on a path, at most 20 seconds old: enough for who finds there
// what is looked for.
func (c *Cluster) Privileges(ctx context.Context, path string) (proxmox.Privileges, error) {
	return c.infra.privileges.of(path).get(ctx, c.life, c.now, c.slow(slowAge))
}

// Replications are the replication jobs of all guests, at most 20 seconds old.
func (c *Cluster) Replications(ctx context.Context) ([]proxmox.Replication, error) {
	return c.infra.replications.get(ctx, c.life, c.now, c.slow(slowAge))
}

// FreshReplications are the replication jobs of all guests, read after this call
// began.
func (c *Cluster) FreshReplications(ctx context.Context) ([]proxmox.Replication, error) {
	return c.infra.replications.fresh(ctx, c.life, c.now)
}
