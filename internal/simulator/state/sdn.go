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
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// SDN holds the zones and virtual networks of the cluster. Changes are pending until they are applied.
type SDN struct {
	Zones, VNets Sections
	// AppliedZones and AppliedVNets were applied last.
	AppliedZones, AppliedVNets Sections
}

func newSDN() *SDN {
	return &SDN{Zones: Sections{}, VNets: Sections{}}
}

// ZoneOf returns the zone of a bridge: its virtual network's, or that of the nodes' own bridges.
func (st *State) ZoneOf(bridge string) string {
	if vnet := st.SDN.AppliedVNets[bridge]; vnet != nil {
		return vnet["zone"]
	}
	if vnet := st.SDN.VNets[bridge]; vnet != nil {
		return vnet["zone"]
	}
	return "localnetwork"
}

// HasBridge reports whether a node has a bridge, either its own or that of a virtual network in force.
func (st *State) HasBridge(node, bridge string) bool {
	if n := st.Nodes[node]; n != nil && n.Interfaces[bridge] != nil {
		return true
	}
	vnet := st.SDN.AppliedVNets[bridge]
	if vnet == nil {
		return false
	}
	nodes := schema.SplitList(st.SDN.AppliedZones[vnet["zone"]]["nodes"])
	return len(nodes) == 0 || slices.Contains(nodes, node)
}
