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
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A settingsClient is the part of a Client that reads the settings of a cluster and of its nodes.
type settingsClient interface {
	VNets(ctx context.Context) ([]proxmox.VNet, error)
	Zones(ctx context.Context) ([]proxmox.Zone, error)
	ClusterOptions(ctx context.Context) (proxmox.Settings, error)
	NodeStatus(ctx context.Context, node string) (proxmox.NodeStatus, error)
	NodeConfig(ctx context.Context, node string) (proxmox.Settings, error)
	NodeDNS(ctx context.Context, node string) (proxmox.DNS, error)
	NodeTimeZone(ctx context.Context, node string) (string, error)
}

// settings caches the settings of a cluster and of its nodes, which seldom change. All of them are Stable.
type settings struct {
	times *times

	sdn     cached[[]proxmox.Zone]
	vnets   cached[[]proxmox.VNet]
	options cached[proxmox.Settings]
	status  *cachedBy[string, proxmox.NodeStatus]
	configs *cachedBy[string, proxmox.Settings]
	dns     *cachedBy[string, proxmox.DNS]
	zones   *cachedBy[string, string]
}

func newSettings(times *times, client settingsClient) *settings {
	return &settings{
		times: times,

		sdn:     cached[[]proxmox.Zone]{read: client.Zones},
		vnets:   cached[[]proxmox.VNet]{read: client.VNets},
		options: cached[proxmox.Settings]{read: client.ClusterOptions},
		status:  newCachedBy(client.NodeStatus),
		configs: newCachedBy(client.NodeConfig),
		dns:     newCachedBy(client.NodeDNS),
		zones:   newCachedBy(client.NodeTimeZone),
	}
}

// VNets returns the VNets of SDN. They are Stable, and read again after a reload of networks was seen.
func (s *settings) VNets(ctx context.Context) ([]proxmox.VNet, error) {
	return read(ctx, s.times, &s.vnets, Stable)
}

// Zones returns the zones of SDN. They are read again after a reload of networks was seen. They must not be changed.
func (s *settings) Zones(ctx context.Context, maxAge time.Duration) ([]proxmox.Zone, error) {
	return read(ctx, s.times, &s.sdn, maxAge)
}

// ClusterOptions returns the options of the cluster. They are Stable, and read again after InvalidateOptions. They must not be changed.
func (s *settings) ClusterOptions(ctx context.Context) (proxmox.Settings, error) {
	return read(ctx, s.times, &s.options, Stable)
}

// InvalidateOptions invalidates the cluster's options. Call it after a change of them.
func (s *settings) InvalidateOptions() { s.options.invalidate() }

// NodeStatus returns the status that a node reports. It is Stable, and read again after the node was unreachable or restarted.
func (s *settings) NodeStatus(ctx context.Context, node string) (proxmox.NodeStatus, error) {
	return read(ctx, s.times, s.status.of(node), Stable)
}

// NodeConfig returns the configuration of a node. It is Stable, and read again after InvalidateNode. It must not be changed.
func (s *settings) NodeConfig(ctx context.Context, node string) (proxmox.Settings, error) {
	return read(ctx, s.times, s.configs.of(node), Stable)
}

// NodeDNS returns the DNS settings of a node. They are Stable, and read again after InvalidateNode.
func (s *settings) NodeDNS(ctx context.Context, node string) (proxmox.DNS, error) {
	return read(ctx, s.times, s.dns.of(node), Stable)
}

// NodeTimeZone returns the time zone of a node. It is Stable, and read again after InvalidateNode.
func (s *settings) NodeTimeZone(ctx context.Context, node string) (string, error) {
	return read(ctx, s.times, s.zones.of(node), Stable)
}

// InvalidateNode invalidates the settings of a node. Call it after a change of them.
func (s *settings) InvalidateNode(node string) {
	s.configs.of(node).invalidate()
	s.dns.of(node).invalidate()
	s.zones.of(node).invalidate()
}

// states holds the HA states and node states of a list of resources. Their changes are signs that more may have changed.
type states struct {
	ha      map[int]string // HA states of guests
	nodes   map[string]string
	uptimes map[string]time.Duration
}

func statesOf(r proxmox.Resources) *states {
	s := &states{ha: map[int]string{}, nodes: map[string]string{}, uptimes: map[string]time.Duration{}}
	for _, g := range r.Guests {
		if g.HAState != "" {
			s.ha[g.VMID] = g.HAState
		}
	}
	for _, n := range r.Nodes {
		s.nodes[n.Name], s.uptimes[n.Name] = n.Status, n.Uptime
	}
	return s
}

// detectChanges searches a list for signs of changes in data that the list does not contain.
func (c *Cluster) detectChanges(r proxmox.Resources) {
	now := statesOf(r)
	c.mu.Lock()
	before := c.states
	c.states = now
	c.mu.Unlock()
	if before == nil {
		return
	}
	stay := maps.Equal(before.nodes, now.nodes)
	if !stay {
		c.infra.status.invalidate()
		c.fingerprints.invalidate()
	}
	if !stay || !maps.Equal(before.ha, now.ha) {
		c.InvalidateHA()
	}
	for name, status := range now.nodes {
		if before.nodes[name] != status || now.uptimes[name] < before.uptimes[name] {
			c.settings.status.of(name).invalidate()
		}
	}
}

// An endedFeed finds newly ended tasks in lists, of the types after which something is read again.
type endedFeed struct{ seen map[proxmox.UPID]bool }

// The types of tasks that apply changes of networks: on a node, and of SDN on all nodes.
const reloadNode, reloadAll = "srvreload", "reloadnetworkall"

// take processes a list and returns the tasks that have ended since the previous one.
func (f *endedFeed) take(list []proxmox.Task) (fresh []proxmox.Task) {
	seen := map[proxmox.UPID]bool{}
	for _, t := range list {
		if t.Running || !slices.Contains([]string{reloadNode, reloadAll, backupTask}, t.Type) {
			continue
		}
		seen[t.UPID] = true
		if f.seen != nil && !f.seen[t.UPID] {
			fresh = append(fresh, t)
		}
	}
	f.seen = seen
	return fresh
}

// invalidateAfter invalidates data of networks that were reloaded, and of backups that were created.
func (c *Cluster) invalidateAfter(tasks []proxmox.Task) {
	for _, t := range tasks {
		if t.Type == backupTask {
			c.backups.tasks.of(t.Node).invalidate()
			continue
		}
		if t.Type == reloadAll {
			c.vnets.invalidate()
			c.sdn.invalidate()
		}
		onNode := func(node string) bool { return t.Type == reloadAll || node == t.Node }
		c.bridges.forget(onNode)
		c.interfaces.forget(onNode)
	}
}
