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

// An infraClient reads what VMs can be attached to, and where their replicas are.
type infraClient interface {
	backupsClient

	Fingerprints(ctx context.Context) (map[string]string, error)
	CorosyncLinks(ctx context.Context) (map[string][]string, error)
	ClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error)
	Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error)
	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	PCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error)
	Replications(ctx context.Context) ([]proxmox.Replication, error)
	SnapshotTree(ctx context.Context, ref proxmox.Ref) (proxmox.SnapshotTree, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
}

// infra caches what VMs of a cluster can be attached to.
type infra struct {
	times *times

	mappings     cached[[]proxmox.PCIMapping]
	fingerprints cached[map[string]string]
	status       cached[readResult[proxmox.ClusterStatus]]
	corosync     cached[map[string][]string]
	replications cached[[]proxmox.Replication]
	version      cached[proxmox.Version]
	bridges      *cachedBy[string, []proxmox.Bridge]
	volumes      *cachedBy[storageKey, []proxmox.Volume]
	configs      *cachedBy[proxmox.Ref, proxmox.VMConfig]
	snapshots    *cachedBy[proxmox.Ref, proxmox.SnapshotTree]
	options      *cachedBy[proxmox.Ref, []proxmox.PendingValue]
	privileges   *cachedBy[string, proxmox.Privileges]
	permissions  cached[map[string]proxmox.Privileges]
}

// A storageKey identifies the volumes of a content type on a storage of a node.
type storageKey struct{ node, storage, content string }

func newInfra(times *times, client Client) *infra {
	return &infra{
		times: times,

		mappings:     cached[[]proxmox.PCIMapping]{read: client.PCIMappings},
		fingerprints: cached[map[string]string]{read: client.Fingerprints},
		status:       cached[readResult[proxmox.ClusterStatus]]{read: newReadResult(client.ClusterStatus)},
		corosync:     cached[map[string][]string]{read: client.CorosyncLinks},
		replications: cached[[]proxmox.Replication]{read: client.Replications},
		version:      cached[proxmox.Version]{read: client.Version},
		bridges:      newCachedBy(client.Bridges),
		configs:      newCachedBy(client.Config),
		snapshots:    newCachedBy(client.SnapshotTree),
		options:      newCachedBy(client.Pending),
		privileges: newCachedBy(func(ctx context.Context, path string) (proxmox.Privileges, error) {
			all, err := client.Permissions(ctx, path)
			return all[path], err
		}),
		permissions: cached[map[string]proxmox.Privileges]{read: func(ctx context.Context) (map[string]proxmox.Privileges, error) {
			return client.Permissions(ctx, "")
		}},
		volumes: newCachedBy(func(ctx context.Context, p storageKey) ([]proxmox.Volume, error) {
			return client.Volumes(ctx, p.node, p.storage, p.content)
		}),
	}
}

// cachedBy holds cached values of one kind by key.
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

// forget deletes the values whose keys pick selects.
func (r *cachedBy[K, T]) forget(pick func(K) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.all, func(k K, _ *cached[T]) bool { return pick(k) })
}

// vmidsOf returns the VMIDs of the guests with a cached value.
func vmidsOf[T any](r *cachedBy[proxmox.Ref, T]) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]int, 0, len(r.all))
	for ref := range r.all {
		all = append(all, ref.VMID)
	}
	return all
}

// Config returns the configuration of a VM from which many VMs are created. It is at most Stable if signs of its change would be seen, and otherwise
// Current. It must not be changed.
func (c *Cluster) Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	age := Current
	if c.watching() && c.mayReadLog(ctx) {
		age = Stable
	}
	return read(ctx, c.times, c.infra.configs.of(ref), age)
}

// Bridges returns the bridges of a node, including those of SDN. Call it only for nodes that are online, because PVE is slow to report that a node is
// offline.
func (i *infra) Bridges(ctx context.Context, node string, maxAge time.Duration) ([]proxmox.Bridge, error) {
	return read(ctx, i.times, i.bridges.of(node), maxAge)
}

// Volumes returns the volumes of a content type on a storage of a node.
func (i *infra) Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error) {
	return read(ctx, i.times, i.volumes.of(storageKey{node, storage, content}), maxAge)
}

// Version returns the version of PVE, which is Stable.
func (i *infra) Version(ctx context.Context) (proxmox.Version, error) {
	return read(ctx, i.times, &i.version, Stable)
}

// PCIMappings returns the PCI mappings of the cluster.
func (i *infra) PCIMappings(ctx context.Context, maxAge time.Duration) ([]proxmox.PCIMapping, error) {
	return read(ctx, i.times, &i.mappings, maxAge)
}

// Fingerprints returns the fingerprints of the nodes' certificates. They are Stable, and read again after nodes have joined or left.
func (i *infra) Fingerprints(ctx context.Context) (map[string]string, error) {
	return read(ctx, i.times, &i.fingerprints, Stable)
}

// ClusterStatus returns the cluster's name, quorum and members. A read also finds out whether a node that reports no cluster is standalone: the
// configuration of corosync names the nodes of a cluster even before the node has joined it after a start.
func (i *infra) ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error) {
	r, err := read(ctx, i.times, &i.status, maxAge)
	s, err := r.or(err)
	if err != nil || s.Name != "" || maxAge != Fresh {
		return s, err
	}
	links, err := read(ctx, i.times, &i.corosync, Fresh)
	s.Standalone = err == nil && len(links) == 0
	return s, ctx.Err()
}

// ClusterName returns the cluster's name, which does not change. It is read once a day, and every five minutes while PVE does not permit that. It is empty
// for a standalone node.
func (i *infra) ClusterName(ctx context.Context) (string, error) {
	s, err := granted(ctx, i.times, &i.status, 24*time.Hour, i.times.scale(Stable))
	return s.Name, err
}

// Privileges returns the privileges of the user on a path. They are Relaxed.
func (i *infra) Privileges(ctx context.Context, path string) (proxmox.Privileges, error) {
	return read(ctx, i.times, i.privileges.of(path), Relaxed)
}

// PrivilegesOn returns the privileges on a path like Privileges, but reads those on all paths by one call. The result may lack privileges that the user
// has, see proxmox.PrivilegesOn.
func (i *infra) PrivilegesOn(ctx context.Context, path string) (proxmox.Privileges, error) {
	all, err := read(ctx, i.times, &i.permissions, Relaxed)
	return proxmox.PrivilegesOn(all, path), err
}

// Replications returns the replication jobs of all guests.
func (i *infra) Replications(ctx context.Context, maxAge time.Duration) ([]proxmox.Replication, error) {
	return read(ctx, i.times, &i.replications, maxAge)
}
