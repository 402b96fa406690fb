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
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/sdn"
)

type (
	// A VNet is a network of SDN.
	VNet = sdn.VNet

	// A Zone is a zone of SDN.
	Zone = sdn.Zone
)

// VNets returns the VNets that the user may see, whether they have been applied or not.
func (c NetworkAPI) VNets(ctx context.Context) ([]VNet, error) {
	var data list[VNet]
	r := request{op: "list VNets", method: http.MethodGet, path: "/cluster/sdn/vnets"}
	err := c.do(ctx, r, &data)
	return data, err
}

// Zones returns the SDN zones that the user may see, including their changes that are not applied yet. PVE leaves out zones without SDN.Audit or
// SDN.Allocate on /sdn/zones/ZONE.
func (c NetworkAPI) Zones(ctx context.Context) ([]Zone, error) {
	var data list[Zone]
	r := request{op: "list SDN zones", method: http.MethodGet, path: "/cluster/sdn/zones", query: url.Values{"pending": {"1"}}}
	err := c.do(ctx, r, &data)
	return data, err
}

// A Bridge is a bridge of one node to which NICs of VMs can be attached.
type Bridge struct {
	// Name of the interface, such as vmbr0.
	Name string

	// Type is bridge, OVSBridge or vnet.
	Type string

	// Active reports whether the bridge is up.
	Active bool

	// VLANAware reports whether NICs may have VLAN tags.
	VLANAware bool

	// Ports of the bridge.
	Ports []string

	// CIDR is the node's own address on the bridge, if it has one.
	CIDR string
}

// Bridges returns the bridges of a node that the user may use, including those of SDN.
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

// NetworkCollection returns the network interfaces of a node. Changes of them are staged until ReloadNetwork.
func NetworkCollection(node string) Collection {
	return Collection{Noun: "interface", Path: "/nodes/{node}/network", Key: "iface", Node: node}
}

// NodeInterfaces holds the interfaces of a node with their staged changes, or as they are in force if there are none.
type NodeInterfaces struct {
	// Objects are the interfaces, each with the options that have a value.
	Objects []Object

	// Changes is the diff between the interfaces in force and the staged ones. It is empty if nothing is staged.
	Changes string
}

// NodeInterfaces reads the network interfaces of a node. PVE leaves out bridges that the user
// may not see.
func (c NetworkAPI) NodeInterfaces(ctx context.Context, node string) (NodeInterfaces, error) {
	return c.interfaces(ctx, node)
}

func (c *conn) interfaces(ctx context.Context, node string) (NodeInterfaces, error) {
	r := onNode("list interfaces", http.MethodGet, node, "/network")
	if !validNode(node) {
		return NodeInterfaces{}, r.refuse("node name is not valid")
	}
	var answer struct {
		Data    *list[map[string]setting] `json:"data"`
		Changes text                      `json:"changes"`
	}
	if err := c.envelope(ctx, r, &answer); err != nil {
		return NodeInterfaces{}, err
	}
	if answer.Data == nil {
		return NodeInterfaces{}, newCall(r, nil).unexpected()
	}
	all := NodeInterfaces{Changes: string(answer.Changes)}
	for _, d := range *answer.Data {
		name := string(d["iface"])
		delete(d, "iface")
		o := Object{Name: node + "/" + name, Settings: newSettings(d)}
		maps.DeleteFunc(o.Values, func(_, value string) bool { return value == "" })
		if comments, ok := o.Values["comments"]; ok {
			o.Values["comments"] = strings.TrimRight(comments, "\n") // PVE adds a line end.
		}
		all.Objects = append(all.Objects, o)
	}
	return all, nil
}

// ReloadNetwork starts to apply all staged changes of a node's interfaces, regardless of who has staged them.
func (c NetworkAPI) ReloadNetwork(ctx context.Context, node string) (UPID, error) {
	r := onNode("reload the network", http.MethodPut, node, "/network")
	if !validNode(node) {
		return "", r.refuse("node name is not valid")
	}
	return c.begin(ctx, r)
}

// CorosyncLinks returns the addresses of corosync's links, by the nodes' names. A standalone node has none. An address may be a name. It needs Sys.Audit
// on /.
func (c NetworkAPI) CorosyncLinks(ctx context.Context) (map[string][]string, error) {
	var data list[map[string]setting]
	r := request{op: "list the nodes of corosync", method: http.MethodGet, path: "/cluster/config/nodes"}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, d := range data {
		var links []string
		for _, option := range slices.Sorted(maps.Keys(d)) {
			if strings.HasPrefix(option, "ring") && strings.HasSuffix(option, "_addr") && d[option] != "" {
				links = append(links, string(d[option]))
			}
		}
		all[string(d["node"])] = links
	}
	return all, nil
}
