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

package machine

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A clusterView is what is known of a cluster when a node is chosen.
type clusterView struct {
	guests   []proxmox.Guest
	machines []Machine
	nodes    []placement.Node

	// known are the nodes that were inspected.
	known map[string]bool
}

// clusterView the cluster by what all Machines share.
func (e creator) clusterView(ctx context.Context, c *creation) (*clusterView, error) {
	members, err := e.scheduler.members(ctx, e.sharesCluster(ctx))
	if err != nil {
		return nil, err
	}
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	s := &clusterView{guests: guests, machines: members.machines, nodes: nodesOf(nodes, storages, members.nodes), known: map[string]bool{}}
	if len(c.mappings()) == 0 {
		return s, nil
	}
	mappings, err := e.inventory.PCIMappings(ctx, inventory.Relaxed)
	if proxmox.IsAuthorization(err) {
		return s, nil
	}
	s.assign(mappings)
	return s, err
}

// nodesOf a cluster with what their ProxmoxNodes say of them. Of several for one
// node, the strictest counts, and the labels of all.
func nodesOf(nodes []proxmox.Node, storages []proxmox.Storage, declared []Node) []placement.Node {
	out := make([]placement.Node, 0, len(nodes))
	for _, n := range nodes {
		p := placement.Node{
			Name: n.Name, Status: n.Status, CPUs: n.MaxCPU, Memory: n.MaxMemory, UsedMemory: n.Memory,
			Labels: map[string]string{}, Storages: map[string]placement.Storage{},
		}
		for _, s := range storages {
			if s.Node == n.Name {
				p.Storages[s.Name] = placement.Storage{
					Active: s.Status == "" || s.Status == "available", Shared: s.Shared, Thin: thin(s.Type),
					Content: s.Content, Size: s.MaxDisk, Used: s.Disk,
				}
			}
		}
		for _, d := range declared {
			if cmp.Or(ptr.Deref(d.Parameters().NodeName, ""), meta.GetExternalName(d), d.GetName()) == n.Name {
				declare(&p, d.Parameters(), d.GetLabels())
			}
		}
		out = append(out, p)
	}
	return out
}

// thin reports whether a type of storage takes disks that use what is written to
// them only. ZFS may be set not to, and then says itself that it is full.
func thin(storageType string) bool {
	return slices.Contains([]string{"btrfs", "cephfs", "cifs", "dir", "glusterfs", "lvmthin", "nfs", "rbd", "zfspool"}, storageType)
}

func declare(n *placement.Node, p *v1alpha1.ProxmoxNodeParameters, labels map[string]string) {
	maps.Copy(n.Labels, labels)
	maps.Copy(n.Labels, p.Labels)
	n.Cordoned = n.Cordoned || p.Schedulable != nil && !*p.Schedulable
	if p.MaxVMs != nil && (n.MaxVMs == nil || int(*p.MaxVMs) < *n.MaxVMs) {
		n.MaxVMs = new(int(*p.MaxVMs))
	}
}

// assign the devices of resource mappings to the nodes that have them.
func (s *clusterView) assign(mappings []proxmox.PCIMapping) {
	for i := range s.nodes {
		s.nodes[i].Mappings = []string{}
		for _, m := range mappings {
			if len(m.Devices[s.nodes[i].Name]) > 0 {
				s.nodes[i].Mappings = append(s.nodes[i].Mappings, m.Name)
			}
		}
	}
}

// inspectNode a node for what takes calls to learn. Where the user may not look,
// nothing is held against the node.
func (e creator) inspectNode(ctx context.Context, m Machine, s *clusterView, node string, wanted []string) error {
	s.known[node] = true
	n := &s.nodes[slices.IndexFunc(s.nodes, func(n placement.Node) bool { return n.Name == node })]
	bridges, err := e.checks.bridgesWith(ctx, wanted, node)
	if err != nil && !proxmox.IsAuthorization(err) {
		return err
	}
	if err == nil {
		n.Bridges = bridgeNames(bridges)
	}
	missing, err := e.checks.missingMedium(ctx, media(m.Parameters()), node)
	if missing != nil {
		n.Lacks = missing.Error()
	}
	return err
}
