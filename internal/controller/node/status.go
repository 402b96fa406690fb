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

package node

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A view holds everything that was read about a node.
type view struct {
	node        proxmox.Node
	cluster     string
	clusterSeen bool // Whether the user may see which cluster it is.
	fingerprint string
	vms         int32
	storages    []proxmox.Storage

	// The following fields are known only for a node that is online.
	status   proxmox.NodeStatus
	bridges  []proxmox.Bridge
	mappings []proxmox.PCIMapping

	// zones of SDN that the user may see.
	zones []proxmox.Zone

	// interfaces of the node, and the Machines that have NICs on each bridge: their names, and the number of those that are not named.
	interfaces nodenet.Config
	machines   map[string][]string
	others     map[string]int
}

// readNode reads the node from the node itself. The cluster is asked first, because a node that is offline answers late or never.
func readNode(ctx context.Context, a config.Access, n Node) (*view, error) {
	name := meta.GetExternalName(n)
	nodes, err := a.Inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(nodes, func(n proxmox.Node) bool { return n.Name == name })
	if i < 0 {
		return nil, config.Rejection(kind.Problem{
			Reason: ReasonNotFound, Message: "node " + strconv.Quote(name) + " does not exist: the cluster has " + names(nodes),
		})
	}
	s := &view{node: nodes[i]}
	if err := s.readCluster(ctx, a); err != nil {
		return nil, err
	}
	if !s.node.Online() {
		return s, nil
	}
	if err := s.readStatus(ctx, a); err != nil {
		return nil, err
	}
	return s, s.readUsers(ctx, a, n)
}

// stays checks that the node belongs to the cluster in which it was seen before. Nodes of other clusters may have the same name.
func stays(_ context.Context, _ config.Access, n Node, s *view) error {
	before := n.Observation().ClusterName
	if before == "" || !s.clusterSeen || s.cluster == before {
		return nil
	}
	return config.Rejection(kind.Problem{Reason: ReasonConflict, Message: fmt.Sprintf(
		"the provider configuration leads to cluster %q, not to %q as before: to have this resource stand for that node %q, delete it and create it again",
		s.cluster, before, s.node.Name,
	)})
}

func names(nodes []proxmox.Node) string {
	all := make([]string, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// readCluster reads what the cluster knows of the node. The cluster's name needs a privilege that nothing else here needs.
func (s *view) readCluster(ctx context.Context, a config.Access) error {
	status, err := a.Inventory.ClusterStatus(ctx, inventory.Relaxed)
	if err != nil && !proxmox.IsAuthorization(err) {
		return err
	}
	s.cluster, s.clusterSeen = status.Name, err == nil
	fingerprints, err := a.Inventory.Fingerprints(ctx)
	if err != nil {
		return err
	}
	s.fingerprint = fingerprints[s.node.Name]
	guests, err := a.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return err
	}
	for _, g := range guests {
		if g.Node == s.node.Name && g.Type == "qemu" && !g.Template {
			s.vms++
		}
	}
	storages, err := a.Inventory.Storages(ctx)
	s.storages = slices.DeleteFunc(slices.Clone(storages), func(st proxmox.Storage) bool {
		return st.Node != s.node.Name || st.Status != "available"
	})
	return err
}

// readStatus reads what the node itself reports.
func (s *view) readStatus(ctx context.Context, a config.Access) error {
	var err error
	if s.status, err = a.Inventory.NodeStatus(ctx, s.node.Name); err != nil {
		return err
	}
	if s.bridges, err = a.Inventory.Bridges(ctx, s.node.Name, inventory.Stable); err != nil {
		return err
	}
	s.mappings, err = a.Inventory.PCIMappings(ctx, inventory.Stable)
	return err
}

// observation returns what the status shows. For a node that is offline, it shows what was seen before.
func (s *view) observation(before v1alpha1.ProxmoxNodeObservation) v1alpha1.ProxmoxNodeObservation {
	o := *before.DeepCopy()
	o.NodeName, o.ClusterName, o.Status, o.Fingerprint = s.node.Name, s.cluster, s.node.Status, s.fingerprint
	o.VMCount = &s.vms
	if !s.node.Online() {
		o.UptimeSeconds = nil
		return o
	}
	o.Version, o.Kernel = s.status.Version, s.status.Kernel
	o.UptimeSeconds = new(int64(s.use().Uptime / time.Second))
	o.Resources, o.Networks, o.PCIMappings, o.Interfaces = s.resources(), s.networks(), s.devices(), s.users()
	return o
}

// use returns the usage of the node as the cluster lists it, which is newer than the node's own report. The list has no usage of a node that has not
// reported to the cluster yet.
func (s *view) use() proxmox.NodeStatus {
	n := s.node
	if n.MaxMemory == 0 || n.MaxCPU == 0 {
		return s.status
	}
	return proxmox.NodeStatus{CPU: n.CPU, CPUs: n.MaxCPU, Memory: n.Memory, MaxMemory: n.MaxMemory, Uptime: n.Uptime}
}

func (s *view) resources() *v1alpha1.ProxmoxNodeResources {
	use := s.use()
	r := &v1alpha1.ProxmoxNodeResources{
		CPU:    v1alpha1.ResourceUse{Total: int64(use.CPUs), Used: int64(math.Ceil(use.CPU * float64(use.CPUs)))},
		Memory: v1alpha1.ResourceUse{Total: use.MaxMemory, Used: use.Memory},
	}
	for _, st := range s.storages {
		r.Storage.Total += st.MaxDisk
		r.Storage.Used += st.Disk
	}
	return r
}

func (s *view) networks() []v1alpha1.ProxmoxNodeNetwork {
	out := make([]v1alpha1.ProxmoxNodeNetwork, 0, len(s.bridges))
	for _, b := range s.bridges {
		out = append(out, v1alpha1.ProxmoxNodeNetwork{
			Name: b.Name, Type: b.Type, Active: b.Active, VLANAware: b.VLANAware, CIDR: b.CIDR,
			Ports: slices.Compact(slices.Sorted(slices.Values(b.Ports))),
		})
	}
	slices.SortFunc(out, func(a, b v1alpha1.ProxmoxNodeNetwork) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *view) devices() []v1alpha1.ProxmoxNodePCIMapping {
	var out []v1alpha1.ProxmoxNodePCIMapping
	for _, m := range s.mappings {
		if devices := m.Devices[s.node.Name]; len(devices) > 0 {
			out = append(out, v1alpha1.ProxmoxNodePCIMapping{Name: m.Name, Devices: slices.Compact(slices.Sorted(slices.Values(devices)))})
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.ProxmoxNodePCIMapping) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// withoutUsage returns an observation without the parts that change all the time.
func withoutUsage(o *v1alpha1.ProxmoxNodeObservation) v1alpha1.ProxmoxNodeObservation {
	c := *o.DeepCopy()
	if c.UptimeSeconds != nil {
		c.UptimeSeconds = new(int64)
	}
	if c.Resources != nil {
		c.Resources.CPU.Used, c.Resources.Memory.Used, c.Resources.Storage.Used = 0, 0, 0
	}
	return c
}
