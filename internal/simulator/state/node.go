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

package state

import (
	"maps"
	"slices"
	"strings"
)

// Resolves reports whether a name that is not a member's resolves to a node: its address, or its name in other letter case.
func (st *State) Resolves(name string) bool {
	for _, n := range st.Nodes {
		if strings.EqualFold(n.Name, name) || n.Address == name {
			return true
		}
		for _, i := range n.Interfaces {
			if address, _, ok := strings.Cut(i.CIDR, "/"); ok && address == name {
				return true
			}
		}
	}
	return false
}

// Networks returns the configured interfaces: the pending ones if there are any, else those in force.
func (n *Node) Networks() map[string]*Interface {
	if n.PendingInterfaces != nil {
		return n.PendingInterfaces
	}
	return n.Interfaces
}

// Up reports whether an interface is in force and in use: one that starts with the node, or one that another interface consists of.
func (n *Node) Up(name string) bool {
	i := n.Interfaces[name]
	if n.Down[name] {
		return false
	}
	if i == nil || i.Autostart || i.Type == "eth" && i.CIDR != "" || i.Options["ovs_bridge"] != "" {
		return i != nil
	}
	for _, other := range n.Interfaces {
		if slices.Contains(other.AllPorts(), name) || other.Options["vlan-raw-device"] == name {
			return true
		}
	}
	return false
}

// AllPorts returns the interfaces that an interface consists of.
func (i *Interface) AllPorts() []string {
	return strings.Fields(i.Ports + " " + i.Options["ovs_ports"] + " " + i.Options["slaves"] + " " + i.Options["ovs_bonds"])
}

// FirstNode returns the alphabetically first node.
func (st *State) FirstNode() string {
	names := slices.Sorted(maps.Keys(st.Nodes))
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
