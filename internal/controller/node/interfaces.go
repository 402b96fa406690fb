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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A machine is a Machine of either scope, reduced to what a node needs.
type machine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// readUsers reads the users of the interfaces of the node: what is configured on them, and the Machines that have NICs on them. For a namespaced
// resource, Machines of other namespaces are only counted.
func (s *view) readUsers(ctx context.Context, a config.Access, n Node) error {
	all, err := a.Inventory.NodeInterfaces(ctx, s.node.Name, inventory.Stable)
	if err != nil {
		return err
	}
	s.interfaces = nodenet.Config{}
	for _, o := range all.Objects {
		s.interfaces[strings.TrimPrefix(o.Name, s.node.Name+"/")] = o.Values
	}
	if s.zones, err = a.Inventory.Zones(ctx, inventory.Stable); err != nil {
		return err
	}
	s.machines, s.others = map[string][]string{}, map[string]int{}
	guests, err := a.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return err
	}
	for _, empty := range a.Scope.Lists("Machine") {
		machines, err := kind.ListCached(ctx, a.Kube, empty)
		if err != nil {
			return err
		}
		for _, mg := range machines {
			if m, ok := mg.(machine); ok && s.runsOn(m.Observation(), guests) {
				s.noteMachine(n, m)
			}
		}
	}
	return nil
}

// runsOn reports whether the VM of a Machine is on the node. Nodes of other clusters may have the same name.
func (s *view) runsOn(o *v1alpha1.MachineObservation, guests []proxmox.Guest) bool {
	return o.VMID != nil && o.Node == s.node.Name && o.Cluster == s.cluster && slices.ContainsFunc(guests, func(g proxmox.Guest) bool {
		return g.VMID == int(*o.VMID) && g.Node == s.node.Name && g.Type == "qemu"
	})
}

// noteMachine records a Machine under each bridge that its VM has NICs on.
func (s *view) noteMachine(n Node, m machine) {
	var bridges []string
	for _, nic := range m.Observation().Networks {
		bridges = append(bridges, nic.Bridge)
	}
	slices.Sort(bridges)
	for _, bridge := range slices.Compact(bridges) {
		if n.GetNamespace() != "" && n.GetNamespace() != m.GetNamespace() {
			s.others[bridge]++
			continue
		}
		s.machines[bridge] = append(s.machines[bridge], "Machine "+strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/"))
	}
}

// mostUsers is how many Machines are named for each interface.
const mostUsers = 20

// users returns the users of each interface and VNet of the node.
func (s *view) users() []v1alpha1.ProxmoxNodeInterface {
	types, active := map[string]string{}, map[string]bool{}
	for name, o := range s.interfaces {
		types[name], active[name] = o["type"], o["active"] == "1"
	}
	for _, b := range s.bridges {
		types[b.Name], active[b.Name] = b.Type, b.Active
	}
	var all []v1alpha1.ProxmoxNodeInterface
	for name, kind := range types {
		all = append(all, v1alpha1.ProxmoxNodeInterface{Name: name, Type: kind, Active: ptr.To(active[name]), UsedBy: s.usersOf(name)})
	}
	slices.SortFunc(all, func(a, b v1alpha1.ProxmoxNodeInterface) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// usersOf returns the users of an interface: addresses of the node first, then interfaces, then zones of SDN, then Machines.
func (s *view) usersOf(name string) []string {
	var all []string
	o := s.interfaces[name]
	for _, option := range []string{"cidr", "cidr6"} {
		if o[option] != "" {
			all = append(all, "address "+o[option])
		}
	}
	for _, option := range []string{"gateway", "gateway6"} {
		if o[option] != "" {
			all = append(all, "default route by "+o[option])
		}
	}
	for _, above := range s.interfaces.Above(name) {
		all = append(all, s.interfaces[above]["type"]+" "+above)
	}
	all = append(all, o.ZonesOn(name, s.node.Name, s.zones)...)
	machines := slices.Sorted(slices.Values(s.machines[name]))
	more := s.others[name] + max(0, len(machines)-mostUsers)
	all = append(all, machines[:min(len(machines), mostUsers)]...)
	if more > 0 {
		all = append(all, fmt.Sprintf("%d more Machines", more))
	}
	return all
}
