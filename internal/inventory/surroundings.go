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
	"sync"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// slowly is how many times older than others a shared reading may be of what
// seldom changes and is asked of each node: bridges, mappings and certificates.
const slowly = 10

// surroundings are what VMs of a cluster can be attached to.
type surroundings struct {
	mappings     reading[[]proxmox.PCIMapping]
	fingerprints reading[map[string]string]
	status       reading[proxmox.ClusterStatus]
	rules        reading[proxmox.HARules]

	mu      sync.Mutex
	bridges map[string]*reading[[]proxmox.Bridge]
}

// Bridges of a node, those of SDN included, at most ten times the maximum age
// old. Ask for those of nodes that are online: PVE is slow to say that a node is not.
func (c *Cluster) Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error) {
	return c.bridgesOf(node).get(ctx, c.life, c.now, slowly*c.maxAge)
}

func (c *Cluster) bridgesOf(node string) *reading[[]proxmox.Bridge] {
	c.around.mu.Lock()
	defer c.around.mu.Unlock()
	r, ok := c.around.bridges[node]
	if !ok {
		r = &reading[[]proxmox.Bridge]{read: func(ctx context.Context) ([]proxmox.Bridge, error) {
			return c.client.Bridges(ctx, node)
		}}
		c.around.bridges[node] = r
	}
	return r
}

// PCIMappings of the cluster, at most ten times the maximum age old.
func (c *Cluster) PCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error) {
	return c.around.mappings.get(ctx, c.life, c.now, slowly*c.maxAge)
}

// Fingerprints of the nodes' certificates, at most ten times the maximum age old.
func (c *Cluster) Fingerprints(ctx context.Context) (map[string]string, error) {
	return c.around.fingerprints.get(ctx, c.life, c.now, slowly*c.maxAge)
}

// ClusterStatus is the cluster's name, quorum and members, at most ten
// times the maximum age old.
func (c *Cluster) ClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error) {
	return c.around.status.get(ctx, c.life, c.now, slowly*c.maxAge)
}

// HARules of the cluster, at most ten times the maximum age old.
func (c *Cluster) HARules(ctx context.Context) (proxmox.HARules, error) {
	return c.around.rules.get(ctx, c.life, c.now, slowly*c.maxAge)
}

// FreshHARules of the cluster, read after this call began.
func (c *Cluster) FreshHARules(ctx context.Context) (proxmox.HARules, error) {
	c.around.rules.expire()
	return c.HARules(ctx)
}
