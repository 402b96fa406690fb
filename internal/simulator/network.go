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

package simulator

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// firstPriority is the number of a node's first interface; those before are the loopback's.
const firstPriority = 3

// networks are the interfaces as they are written down: changes that wait to be applied, or what is in force.
func (n *Node) networks() map[string]*Interface {
	if n.PendingInterfaces != nil {
		return n.PendingInterfaces
	}
	return n.Interfaces
}

// changing returns the interfaces for a change that waits to be applied.
func (n *Node) changing() map[string]*Interface {
	if n.PendingInterfaces == nil {
		n.PendingInterfaces = maps.Clone(n.Interfaces)
	}
	return n.PendingInterfaces
}

// up reports whether an interface is in force and in use: a network card is while something is connected to it.
func (n *Node) up(name string) bool {
	i := n.Interfaces[name]
	if i == nil || i.Type != "eth" || i.CIDR != "" {
		return i != nil
	}
	for _, other := range n.Interfaces {
		if slices.Contains(strings.Fields(other.Ports+" "+other.Options["slaves"]), name) {
			return true
		}
	}
	return false
}

// byPriority are the names of interfaces in their order.
func byPriority(list map[string]*Interface) []string {
	return slices.SortedFunc(maps.Keys(list), func(a, b string) int {
		if d := list[a].priority - list[b].priority; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func (c *call) listNetwork() (any, error) {
	n := c.state.Nodes[c.node]
	list, out := n.networks(), []map[string]any{}
	for _, name := range byPriority(list) {
		if !c.wantsInterface(list[name]) {
			continue
		}
		entry := n.show(name)
		entry["iface"] = name
		out = append(out, entry)
	}
	return append(out, c.localVNets()...), nil
}

// localVNets are the virtual networks of a node, which only some lists have.
func (c *call) localVNets() []map[string]any {
	out, kind := []map[string]any{}, c.str("type")
	if kind != "any_bridge" && kind != "include_sdn" {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(c.state.SDN.AppliedVNets)) {
		vnet := c.state.SDN.AppliedVNets[name]
		if c.state.hasBridge(c.node, name) &&
			c.state.checkAny(c.who, "/sdn/zones/"+vnet["zone"]+"/"+name, "SDN.Audit", "SDN.Use") == nil {
			entry := map[string]any{"iface": name, "type": "vnet", "active": "1", "ipam": 0, "vlanaware": atoi(vnet["vlanaware"]), "comments": nil}
			if alias := vnet["alias"]; alias != "" {
				entry["comments"] = alias
			}
			out = append(out, entry)
		}
	}
	return out
}

// wantsInterface applies the filter of a list of interfaces.
func (c *call) wantsInterface(i *Interface) bool {
	switch t := c.str("type"); t {
	case "", "include_sdn":
		return true
	case "any_bridge", "any_local_bridge":
		return i.Type == "bridge" || i.Type == "OVSBridge"
	default:
		return i.Type == t
	}
}

func (c *call) getInterface() (any, error) {
	n := c.state.Nodes[c.node]
	if n.networks()[c.str("iface")] == nil {
		return nil, paramError("iface", "interface does not exist")
	}
	return n.show(c.str("iface")), nil
}

// show is an interface as the API tells it.
func (n *Node) show(name string) map[string]any {
	i := n.networks()[name]
	out := map[string]any{
		"type": i.Type, "priority": i.priority, "families": []string{"inet"}, "method": "manual", "method6": "manual",
	}
	for key, value := range i.Options {
		out[key] = value
	}
	if n.up(name) {
		out["active"] = 1
	}
	if i.Autostart {
		out["autostart"] = 1
	}
	if i.Type == "bridge" {
		maps.Copy(out, map[string]any{"bridge_ports": i.Ports, "bridge_stp": "off", "bridge_fd": "0"})
	}
	if i.VLANAware {
		out["bridge_vlan_aware"], out["bridge_vids"] = 1, "2-4094"
	}
	i.showAddress(out)
	return out
}

func (i *Interface) showAddress(out map[string]any) {
	if p, err := netip.ParsePrefix(i.CIDR); err == nil {
		maps.Copy(out, map[string]any{
			"method": "static", "cidr": i.CIDR, "address": p.Addr().String(), "netmask": fmt.Sprint(p.Bits()),
		})
	}
	if i.Gateway != "" {
		out["gateway"] = i.Gateway
	}
	p, err := netip.ParsePrefix(i.Options["cidr6"])
	if err != nil {
		return
	}
	families := []string{"inet6"}
	if i.CIDR != "" {
		families = []string{"inet", "inet6"}
	}
	maps.Copy(out, map[string]any{"method6": "static", "address6": p.Addr().String(), "netmask6": p.Bits(), "families": families})
}

// fill puts the parameters of a call into an interface. A change without an address takes the address away.
func (c *call) fill(i *Interface) {
	i.Type = c.str("type")
	if c.has("autostart") {
		i.Autostart = c.flag("autostart")
	}
	for _, key := range c.deleted() {
		i.drop(key)
	}
	if i.CIDR = c.str("cidr"); c.has("address") && c.has("netmask") {
		i.CIDR = c.str("address") + "/" + maskLength(c.str("netmask"))
	}
	if i.CIDR == "" {
		i.Gateway = ""
	}
	if !c.has("cidr6") {
		delete(i.Options, "cidr6")
		delete(i.Options, "gateway6")
	}
	for name, value := range c.given("iface", "type", "autostart", "address", "netmask", "cidr") {
		switch name {
		case "gateway":
			i.Gateway = value
		case "bridge_ports":
			i.Ports = value
		case "bridge_vlan_aware":
			i.VLANAware = value == "1"
		case "comments":
			i.Options[name] = strings.TrimSuffix(value, "\n") + "\n"
		default:
			i.Options[name] = value
		}
	}
}

// maskLength is how many bits a mask such as 255.255.255.0 has; a length stays as it is.
func maskLength(mask string) string {
	ip := net.ParseIP(mask).To4()
	if ip == nil {
		return mask
	}
	ones, _ := net.IPMask(ip).Size()
	return strconv.Itoa(ones)
}

// drop takes an option from an interface.
func (i *Interface) drop(key string) {
	switch key {
	case "gateway":
		i.Gateway = ""
	case "bridge_ports":
		i.Ports = ""
	case "bridge_vlan_aware":
		i.VLANAware = false
	case "autostart":
		i.Autostart = false
	}
	delete(i.Options, key)
}

// checkInterface refuses a second default route, an address that is given twice, and ports that another interface has.
func (c *call) checkInterface(name string) error {
	for _, part := range []string{"", "6"} {
		if c.has("cidr"+part) && c.has("address"+part) {
			return paramError("address"+part, "address%s conflicts with cidr%s", part, part)
		}
		if c.has("cidr"+part) && c.has("netmask"+part) {
			return paramError("netmask"+part, "netmask%s conflicts with cidr%s", part, part)
		}
	}
	list := c.state.Nodes[c.node].networks()
	for _, other := range byPriority(list) {
		if other == name {
			continue
		}
		if err := c.checkBeside(list[other]); err != nil {
			return err
		}
	}
	return nil
}

// checkBeside checks what an interface must not have in common with another one.
func (c *call) checkBeside(other *Interface) error {
	switch {
	case c.has("gateway") && other.Gateway != "":
		return paramError("gateway", "Default gateway already exists on interface '%s'.", other.Name)
	case c.has("gateway6") && other.Options["gateway6"] != "":
		return paramError("gateway6", "Default ipv6 gateway already exists on interface '%s'.", other.Name)
	}
	taken := strings.Fields(other.Ports + " " + other.Options["ovs_ports"] + " " + other.Options["slaves"] + " " + other.Options["ovs_bonds"])
	for _, key := range []string{"bridge_ports", "ovs_ports", "slaves", "ovs_bonds"} {
		for _, port := range schema.SplitList(c.str(key)) {
			if slices.Contains(taken, port) {
				return paramError(key, "%s is already used on interface '%s'.", port, other.Name)
			}
		}
	}
	return nil
}

func (c *call) createInterface() (any, error) {
	n, name := c.state.Nodes[c.node], c.str("iface")
	if n.networks()[name] != nil {
		return nil, paramError("iface", "interface already exists")
	}
	if err := c.checkInterface(name); err != nil {
		return nil, err
	}
	list := n.changing()
	i := &Interface{Name: name, Options: map[string]string{}, priority: firstPriority}
	for _, other := range list {
		i.priority = max(i.priority, other.priority+1)
	}
	c.fill(i)
	list[name] = i
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateInterface() (any, error) {
	n, name := c.state.Nodes[c.node], c.str("iface")
	old := n.networks()[name]
	if old == nil {
		return nil, paramError("iface", "interface does not exist")
	}
	if err := c.checkInterface(name); err != nil {
		return nil, err
	}
	i := *old
	i.Options = maps.Clone(old.Options)
	if i.Options == nil {
		i.Options = map[string]string{}
	}
	c.fill(&i)
	n.changing()[name] = &i
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteInterface() (any, error) {
	n, name := c.state.Nodes[c.node], c.str("iface")
	if n.networks()[name] == nil {
		return nil, paramError("iface", "interface does not exist")
	}
	delete(n.changing(), name)
	return nil, nil //nolint:nilnil // The answer is null.
}

// revertNetwork forgets the changes that wait.
func (c *call) revertNetwork() (any, error) {
	c.state.Nodes[c.node].PendingInterfaces = nil
	return nil, nil //nolint:nilnil // The answer is null.
}

// applyNetwork puts the changes that wait into force.
func (c *call) applyNetwork() (any, error) {
	node := c.node
	return c.spawn("srvreload", "networking", func(w *worker) error {
		if err := w.pauseFor("srvreload"); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			if n := st.Nodes[node]; n.PendingInterfaces != nil {
				n.Interfaces, n.PendingInterfaces = n.PendingInterfaces, nil
			}
			return nil
		})
	})
}
