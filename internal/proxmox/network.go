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

package proxmox

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// A VNet of the cluster's software-defined network.
type VNet struct {
	// Name of the VNet, which is the name of its bridge on the nodes.
	Name string

	// Zone it belongs to.
	Zone string

	// Tag is the VLAN or VXLAN id, or 0.
	Tag int64

	// Alias is a second name, or empty.
	Alias string

	// VLANAware reports whether NICs may have VLAN tags of their own.
	VLANAware bool
}

// VNets are those that the user may see, whether they have been applied or not.
func (c NetworkAPI) VNets(ctx context.Context) ([]VNet, error) {
	var data list[struct {
		Name      text    `json:"vnet"`
		Zone      text    `json:"zone"`
		Tag       integer `json:"tag"`
		Alias     text    `json:"alias"`
		VLANAware flag    `json:"vlanaware"`
	}]
	r := request{op: "list VNets", method: http.MethodGet, path: "/cluster/sdn/vnets"}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make([]VNet, 0, len(data))
	for _, d := range data {
		all = append(all, VNet{
			Name: string(d.Name), Zone: string(d.Zone), Tag: int64(d.Tag), Alias: string(d.Alias), VLANAware: bool(d.VLANAware),
		})
	}
	return all, nil
}

// A Bridge of one node that NICs of VMs may be attached to.
type Bridge struct {
	// Name of the interface, such as vmbr0.
	Name string

	// Type is bridge, OVSBridge or vnet.
	Type string

	// Active reports whether the bridge is up.
	Active bool

	// VLANAware reports whether NICs may have VLAN tags of their own.
	VLANAware bool

	// Ports of the bridge.
	Ports []string

	// CIDR is the node's own address on the bridge, if it has one.
	CIDR string
}

// Bridges are the bridges of a node that the user may use, with those of SDN.
func (c NetworkAPI) Bridges(ctx context.Context, node string) ([]Bridge, error) {
	r := request{
		op: "list bridges of node " + strconv.Quote(node), method: http.MethodGet,
		path: "/nodes/{node}/network", args: []string{node}, query: url.Values{"type": {"any_bridge"}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var data list[struct {
		Name      text `json:"iface"`
		Type      text `json:"type"`
		Active    flag `json:"active"`
		VLANAware flag `json:"bridge_vlan_aware"`
		Ports     text `json:"bridge_ports"`
		OVSPorts  text `json:"ovs_ports"`
		CIDR      text `json:"cidr"`
	}]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	bridges := make([]Bridge, 0, len(data))
	for _, d := range data {
		bridges = append(bridges, Bridge{
			Name: string(d.Name), Type: string(d.Type), Active: bool(d.Active), VLANAware: bool(d.VLANAware),
			Ports: splitList(string(d.Ports + " " + d.OVSPorts)), CIDR: string(d.CIDR),
		})
	}
	return bridges, nil
}
