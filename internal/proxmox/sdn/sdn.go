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

// Package sdn decodes Proxmox VE's answers about its software-defined network.
package sdn

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
)

// A VNet of the cluster.
type VNet struct {
	// Name of the VNet, which is the name of its bridge on the nodes.
	Name string

	// Zone it belongs to.
	Zone string

	// Tag is the VLAN or VXLAN ID, or 0.
	Tag int64

	// Alias is a second name, or empty.
	Alias string

	// VLANAware reports whether NICs may have VLAN tags.
	VLANAware bool
}

// UnmarshalJSON decodes an entry of GET /cluster/sdn/vnets.
func (v *VNet) UnmarshalJSON(b []byte) error {
	var d struct {
		Name      lenient.Text    `json:"vnet"`
		Zone      lenient.Text    `json:"zone"`
		Tag       lenient.Integer `json:"tag"`
		Alias     lenient.Text    `json:"alias"`
		VLANAware lenient.Flag    `json:"vlanaware"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*v = VNet{Name: string(d.Name), Zone: string(d.Zone), Tag: int64(d.Tag), Alias: string(d.Alias), VLANAware: bool(d.VLANAware)}
	return nil
}

// A Zone of the cluster: in force, and with the changes that are not applied yet.
type Zone struct {
	// Name of the zone.
	Name string

	// Type is simple, vlan, qinq, vxlan or evpn.
	Type string

	// Bridges that the zone uses: one for a VLAN or QinQ zone, and a second one while a change of it is not applied.
	Bridges []string

	// Peers are the addresses of a VXLAN zone's nodes.
	Peers []string

	// Nodes of the zone, by name. An empty list stands for all nodes.
	Nodes []string
}

// On reports whether the zone is on a node.
func (z *Zone) On(node string) bool { return len(z.Nodes) == 0 || slices.Contains(z.Nodes, node) }

// options of a zone. A pending change contains only the options that change.
type options struct {
	Bridge lenient.Text  `json:"bridge"`
	Peers  lenient.Text  `json:"peers"`
	Nodes  *lenient.Text `json:"nodes"`
}

// UnmarshalJSON decodes an entry of GET /cluster/sdn/zones?pending=1, which contains the options in force and the pending ones.
func (z *Zone) UnmarshalJSON(b []byte) error {
	var d struct {
		options

		Name    lenient.Text    `json:"zone"`
		Type    lenient.Text    `json:"type"`
		State   lenient.Text    `json:"state"`
		Pending json.RawMessage `json:"pending"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	var waits options
	if lenient.IsObject(d.Pending) {
		if err := json.Unmarshal(d.Pending, &waits); err != nil {
			return err
		}
	}
	*z = Zone{Name: string(d.Name), Type: string(d.Type)}
	if d.State == "new" {
		z.add(waits)
		return nil
	}
	if waits.Nodes == nil {
		waits.Nodes = d.Nodes
	}
	z.add(d.options, waits)
	return nil
}

// add adds the values of a zone from several sets of options: in force and pending.
func (z *Zone) add(ways ...options) {
	everywhere := false
	for _, o := range ways {
		z.Bridges = append(z.Bridges, values(&o.Bridge)...)
		z.Peers = append(z.Peers, values(&o.Peers)...)
		nodes := values(o.Nodes)
		z.Nodes, everywhere = append(z.Nodes, nodes...), everywhere || len(nodes) == 0
	}
	if everywhere {
		z.Nodes = nil
	}
	for _, all := range []*[]string{&z.Bridges, &z.Peers, &z.Nodes} {
		slices.Sort(*all)
		*all = slices.Compact(*all)
	}
}

// values returns the values of a list. In a pending change, "deleted" stands for none.
func values(list *lenient.Text) []string {
	if list == nil || *list == "" || *list == "deleted" {
		return nil
	}
	return strings.FieldsFunc(string(*list), func(r rune) bool { return strings.ContainsRune(",; \t\n", r) })
}
