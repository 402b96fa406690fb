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

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A view holds everything that was read about a cluster.
type view struct {
	version      proxmox.Version
	status       proxmox.ClusterStatus
	nodes        []proxmox.Node
	storages     []proxmox.Storage
	fingerprints map[string]string
	bridges      map[string][]proxmox.Bridge // by node
	vnets        []proxmox.VNet
	ha           *proxmox.HAStatus // nil if the user may not see it
}

// readCluster reads the cluster. HA is left out if the user may not see it. A missing network is looked for once more in newer lists before it is
// reported.
func readCluster(ctx context.Context, a config.Access, m Cluster) (*view, error) {
	s := &view{bridges: map[string][]proxmox.Bridge{}}
	reads := []func() error{
		func() (err error) { s.version, err = a.Inventory.Version(ctx); return },
		func() (err error) { s.status, err = a.Inventory.ClusterStatus(ctx, inventory.Relaxed); return },
		func() (err error) { s.nodes, err = a.Inventory.Nodes(ctx); return },
		func() (err error) { s.storages, err = a.Inventory.Storages(ctx); return },
		func() (err error) { s.fingerprints, err = a.Inventory.Fingerprints(ctx); return },
		func() (err error) { s.vnets, err = a.Inventory.VNets(ctx); return },
	}
	for _, read := range reads {
		if err := read(); err != nil {
			return nil, err
		}
	}
	ha, err := a.Inventory.HAStatus(ctx)
	if err == nil {
		s.ha = &ha
	} else if !proxmox.IsAuthorization(err) {
		return nil, err
	}
	if err := s.readBridges(ctx, a, inventory.Stable); err != nil || !s.lacks(m.Parameters().Networks) {
		return s, err
	}
	return s, s.readBridges(ctx, a, inventory.Relaxed)
}

// readBridges reads the bridges of the nodes that are online. A node that has just become unreachable has none.
func (s *view) readBridges(ctx context.Context, a config.Access, maxAge time.Duration) error {
	for _, n := range s.nodes {
		if !n.Online() {
			continue
		}
		b, err := a.Inventory.Bridges(ctx, n.Name, maxAge)
		switch {
		case err == nil:
			s.bridges[n.Name] = b
		case !proxmox.IsUnavailable(err) || ctx.Err() != nil:
			return err
		}
	}
	return nil
}

// problems returns the problems of the cluster itself.
func (s *view) problems() []kind.Problem {
	if s.status.Quorate {
		return nil
	}
	return []kind.Problem{{Reason: ReasonNoQuorum, Message: "the cluster has no quorum, so nothing can be changed: " +
		"bring back its other nodes or their network (pvecm status)"}}
}

// observation returns what the status shows.
func (s *view) observation() v1alpha1.ProxmoxClusterObservation {
	o := v1alpha1.ProxmoxClusterObservation{
		Version: s.version.Version, Name: s.status.Name, Quorate: new(s.status.Quorate),
		Nodes: s.members(), Storages: s.stores(), Networks: s.networks(), VNets: s.virtual(), HA: s.availability(),
	}
	o.NodesOnline = fmt.Sprintf("%d/%d", s.online(), len(o.Nodes))
	return o
}

// online returns the number of nodes that are online.
func (s *view) online() int {
	n := 0
	for _, node := range s.status.Nodes {
		if node.Online {
			n++
		}
	}
	return n
}

func (s *view) members() []v1alpha1.ProxmoxClusterNode {
	states := map[string]string{}
	for _, n := range s.nodes {
		states[n.Name] = n.Status
	}
	out := make([]v1alpha1.ProxmoxClusterNode, 0, len(s.status.Nodes))
	for _, n := range s.status.Nodes {
		out = append(out, v1alpha1.ProxmoxClusterNode{
			Name: n.Name, Online: n.Online, Status: states[n.Name], Address: n.Address, Fingerprint: s.fingerprints[n.Name],
		})
	}
	slices.SortFunc(out, func(a, b v1alpha1.ProxmoxClusterNode) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *view) stores() []v1alpha1.ProxmoxClusterStorage {
	all := map[string]*v1alpha1.ProxmoxClusterStorage{}
	for _, d := range s.storages {
		st := all[d.Name]
		if st == nil {
			st = &v1alpha1.ProxmoxClusterStorage{Name: d.Name, Type: d.Type, Shared: d.Shared, Content: slices.Sorted(slices.Values(d.Content))}
			all[d.Name] = st
		}
		addStore(st, v1alpha1.ProxmoxClusterStorageNode{
			Name: d.Node, Available: d.Status == available, Total: d.MaxDisk, Used: d.Disk,
		})
	}
	out := make([]v1alpha1.ProxmoxClusterStorage, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		slices.SortFunc(all[name].Nodes, func(a, b v1alpha1.ProxmoxClusterStorageNode) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, *all[name])
	}
	return out
}

// available is the status of a storage that can be used.
const available = "available"

// addStore adds the report of a node about a storage. For a shared storage, the report of one node is sufficient.
func addStore(to *v1alpha1.ProxmoxClusterStorage, n v1alpha1.ProxmoxClusterStorageNode) {
	to.Nodes = append(to.Nodes, n)
	switch {
	case !n.Available:
	case to.Shared:
		to.Total, to.Used = max(to.Total, n.Total), max(to.Used, n.Used)
	default:
		to.Total, to.Used = to.Total+n.Total, to.Used+n.Used
	}
}

func (s *view) networks() []v1alpha1.ProxmoxClusterNetwork {
	all := map[string]*v1alpha1.ProxmoxClusterNetwork{}
	for _, node := range slices.Sorted(maps.Keys(s.bridges)) {
		for _, b := range s.bridges[node] {
			if all[b.Name] == nil {
				all[b.Name] = &v1alpha1.ProxmoxClusterNetwork{Name: b.Name, Type: b.Type}
			}
			all[b.Name].Nodes = append(all[b.Name].Nodes, node)
		}
	}
	out := make([]v1alpha1.ProxmoxClusterNetwork, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

func (s *view) virtual() []v1alpha1.ProxmoxClusterVNet {
	out := make([]v1alpha1.ProxmoxClusterVNet, 0, len(s.vnets))
	for _, v := range s.vnets {
		n := v1alpha1.ProxmoxClusterVNet{Name: v.Name, Zone: v.Zone, Alias: v.Alias, VLANAware: v.VLANAware}
		if v.Tag != 0 {
			n.Tag = &v.Tag
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b v1alpha1.ProxmoxClusterVNet) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *view) availability() *v1alpha1.ProxmoxClusterHA {
	if s.ha == nil {
		return nil
	}
	out := &v1alpha1.ProxmoxClusterHA{
		Quorum: s.ha.Quorum, Fencing: s.ha.Armed, Manager: s.ha.Manager, Resources: int32(len(s.ha.Resources)), //nolint:gosec // Few.
	}
	for _, r := range s.ha.Resources {
		if r.State == "error" {
			out.Failed = append(out.Failed, r.ID)
		}
	}
	slices.Sort(out.Failed)
	return out
}

// missing returns the problems with the nodes, storages and networks that the spec expects the cluster to have.
func (s *view) missing(p *v1alpha1.ProxmoxClusterParameters, o v1alpha1.ProxmoxClusterObservation) []kind.Problem {
	var all []kind.Problem
	add := func(message string) {
		if message != "" {
			all = append(all, kind.Problem{Reason: ReasonMissing, Message: message})
		}
	}
	for _, name := range p.Nodes {
		add(wantedNode(name, o.Nodes))
	}
	for _, name := range p.Storages {
		add(wantedStorage(name, o.Storages))
	}
	for _, name := range p.Networks {
		add(s.wantedNetwork(name, o.Networks))
	}
	return all
}

// lacks reports whether one of the networks is missing.
func (s *view) lacks(networks []string) bool {
	has := s.networks()
	return slices.ContainsFunc(networks, func(name string) bool { return s.wantedNetwork(name, has) != "" })
}

func wantedNode(name string, nodes []v1alpha1.ProxmoxClusterNode) string {
	i := slices.IndexFunc(nodes, func(n v1alpha1.ProxmoxClusterNode) bool { return n.Name == name })
	switch {
	case i < 0:
		return "node " + strconv.Quote(name) + " does not exist"
	case !nodes[i].Online:
		return "node " + strconv.Quote(name) + " is offline"
	}
	return ""
}

func wantedStorage(name string, storages []v1alpha1.ProxmoxClusterStorage) string {
	i := slices.IndexFunc(storages, func(s v1alpha1.ProxmoxClusterStorage) bool { return s.Name == name })
	switch {
	case i < 0:
		return "storage " + strconv.Quote(name) + " does not exist, or the user may not see it"
	case !slices.ContainsFunc(storages[i].Nodes, func(n v1alpha1.ProxmoxClusterStorageNode) bool { return n.Available }):
		return "storage " + strconv.Quote(name) + " is available on no node"
	}
	return ""
}

// wantedNetwork returns what is wrong with a network that must be on all nodes whose networks are known.
func (s *view) wantedNetwork(name string, networks []v1alpha1.ProxmoxClusterNetwork) string {
	i := slices.IndexFunc(networks, func(n v1alpha1.ProxmoxClusterNetwork) bool { return n.Name == name })
	if i < 0 {
		return "network " + strconv.Quote(name) + " does not exist"
	}
	without := slices.DeleteFunc(slices.Sorted(maps.Keys(s.bridges)), func(n string) bool { return slices.Contains(networks[i].Nodes, n) })
	if len(without) > 0 {
		return "network " + strconv.Quote(name) + " is missing on node " + strings.Join(without, ", ")
	}
	return ""
}

// withoutUsage returns an observation without the parts that change all the time.
func withoutUsage(o *v1alpha1.ProxmoxClusterObservation) v1alpha1.ProxmoxClusterObservation {
	c := *o.DeepCopy()
	for i := range c.Storages {
		c.Storages[i].Used = 0
		for j := range c.Storages[i].Nodes {
			c.Storages[i].Nodes[j].Used = 0
		}
	}
	return c
}
