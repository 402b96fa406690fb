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

package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// FirstPriority is the number of a node's first interface. The loopback interface has the numbers before it.
const FirstPriority = 3

// byPriority returns the names of interfaces in their order.
func byPriority(list map[string]*state.Interface) []string {
	return slices.SortedFunc(maps.Keys(list), func(a, b string) int {
		if d := list[a].Priority - list[b].Priority; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func listNetwork(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	list, out := n.Networks(), []map[string]any{}
	for _, name := range byPriority(list) {
		if !wantsInterface(c, list[name]) || !mayUse(c, list[name]) {
			continue
		}
		entry := show(n, name)
		entry["iface"] = name
		out = append(out, entry)
	}
	out = append(out, localVNets(c)...)
	if n.PendingInterfaces == nil {
		return out, nil
	}
	return engine.Changed{Data: out, Changes: stagedDiff(n, c.Now())}, nil
}

// localVNets returns the virtual networks of a node, which only some lists contain.
func localVNets(c *engine.Call) []map[string]any {
	out, kind := []map[string]any{}, c.Str("type")
	if kind != "any_bridge" && kind != "include_sdn" {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(c.State.SDN.AppliedVNets)) {
		vnet := c.State.SDN.AppliedVNets[name]
		if c.State.HasBridge(c.Node, name) &&
			c.State.CheckAny(c.Who, "/sdn/zones/"+vnet["zone"]+"/"+name, "SDN.Audit", "SDN.Use") == nil {
			entry := map[string]any{"iface": name, "type": "vnet", "active": "1", "ipam": 0, "vlanaware": schema.Int(vnet["vlanaware"]), "comments": nil}
			if alias := vnet["alias"]; alias != "" {
				entry["comments"] = alias
			}
			out = append(out, entry)
		}
	}
	return out
}

// wantsInterface applies the filter of a list of interfaces.
func wantsInterface(c *engine.Call, i *state.Interface) bool {
	switch t := c.Str("type"); t {
	case "", "include_sdn":
		return true
	case "any_bridge", "any_local_bridge":
		return i.Type == "bridge" || i.Type == "OVSBridge"
	default:
		return i.Type == t
	}
}

// mayUse reports whether an interface is shown. Bridges are only shown to users who may use or see them, or one of their VLANs.
func mayUse(c *engine.Call, i *state.Interface) bool {
	if i.Type != "bridge" && i.Type != "OVSBridge" {
		return true
	}
	path := "/sdn/zones/localnetwork/" + i.Name
	paths := []string{path}
	for _, entry := range c.State.ACL {
		if strings.HasPrefix(entry.Path, path+"/") {
			paths = append(paths, entry.Path)
		}
	}
	return slices.ContainsFunc(paths, func(path string) bool { return c.State.CheckAny(c.Who, path, "SDN.Audit", "SDN.Use") == nil })
}

func getInterface(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	if n.Networks()[c.Str("iface")] == nil {
		return nil, apierr.Param("iface", "interface does not exist")
	}
	return show(n, c.Str("iface")), nil
}

// show returns an interface as the API shows it.
func show(n *state.Node, name string) map[string]any {
	i := n.Networks()[name]
	out := map[string]any{
		"type": i.Type, "priority": i.Priority, "families": []string{"inet"}, "method": "manual", "method6": "manual",
	}
	for key, value := range i.Options {
		out[key] = value
	}
	if n.Up(name) {
		out["active"] = 1
	}
	if i.Autostart {
		out["autostart"] = 1
	}
	if i.Type == "bridge" {
		maps.Copy(out, map[string]any{"bridge_ports": i.Ports, "bridge_stp": "off", "bridge_fd": "0"})
	}
	if i.VLANAware {
		out["bridge_vlan_aware"], out["bridge_vids"] = 1, cmp.Or(i.Options["bridge_vids"], "2-4094")
	}
	if i.Type == "bond" && i.Options["bond_mode"] == "" {
		out["bond_mode"] = "balance-rr"
	}
	if dot := strings.LastIndex(name, "."); i.Type == "vlan" && dot > 0 {
		out["vlan-raw-device"], out["vlan-id"] = name[:dot], name[dot+1:]
	}
	if i.Type == "vlan" {
		out["exists"] = nil // The value is that of the interface below, which does not exist here.
	}
	showAddress(i, out)
	return out
}

func showAddress(i *state.Interface, out map[string]any) {
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

// fill copies the parameters of a call to an interface. A change without an address removes the address.
func fill(c *engine.Call, i *state.Interface) {
	i.Type = c.Str("type")
	if c.Has("autostart") {
		i.Autostart = c.Flag("autostart")
	}
	for _, key := range c.Deleted() {
		drop(i, key)
	}
	if i.CIDR = c.Str("cidr"); c.Has("address") && c.Has("netmask") {
		i.CIDR = c.Str("address") + "/" + maskLength(c.Str("netmask"))
	}
	if i.CIDR == "" {
		i.Gateway = ""
	}
	if !c.Has("cidr6") {
		delete(i.Options, "cidr6")
		delete(i.Options, "gateway6")
	}
	for name, value := range c.Given("iface", "type", "autostart", "address", "netmask", "cidr") {
		switch name {
		case "gateway":
			i.Gateway = value
		case "bridge_ports":
			i.Ports = value
		case "bridge_vlan_aware":
			i.VLANAware = true // PVE writes "yes" whatever the value is.
		case "comments":
			i.Options[name] = strings.TrimSuffix(value, "\n") + "\n"
		default:
			i.Options[name] = value
		}
	}
}

// maskLength returns the number of bits in a mask such as 255.255.255.0. A length is returned unchanged.
func maskLength(mask string) string {
	ip := net.ParseIP(mask).To4()
	if ip == nil {
		return mask
	}
	ones, _ := net.IPMask(ip).Size()
	return strconv.Itoa(ones)
}

// drop removes an option from an interface.
func drop(i *state.Interface, key string) {
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

// checkInterface rejects a second default route, a duplicate address, and ports that another interface has.
func checkInterface(c *engine.Call, name string) error {
	for _, part := range []string{"", "6"} {
		if c.Has("cidr"+part) && c.Has("address"+part) {
			return apierr.Param("address"+part, "address%s conflicts with cidr%s", part, part)
		}
		if c.Has("cidr"+part) && c.Has("netmask"+part) {
			return apierr.Param("netmask"+part, "netmask%s conflicts with cidr%s", part, part)
		}
	}
	list := c.State.Nodes[c.Node].Networks()
	for _, other := range byPriority(list) {
		if other == name {
			continue
		}
		if err := checkBeside(c, list[other]); err != nil {
			return err
		}
	}
	return checkHostAddress6(c.Str("cidr6"))
}

// checkHostAddress6 checks that a host may have an IPv6 address.
func checkHostAddress6(cidr string) error {
	address, _, _ := strings.Cut(cidr, "/")
	var kind string
	switch ip, _ := netip.ParseAddr(address); {
	case netip.MustParsePrefix("2001:db8::/32").Contains(ip):
		kind = "DOCUMENTATION"
	case ip.IsMulticast():
		kind = "MULTICAST"
	case ip.IsLoopback():
		kind = "LOOPBACK"
	case ip.IsUnspecified():
		kind = "UNSPECIFIED"
	default: // Others, none, and values that the schema has rejected.
		return nil
	}
	return apierr.Param("address", "%s with type '%s', cannot be used as host IPv6 address.", address, kind)
}

// checkBeside checks that two interfaces have no conflicting settings.
func checkBeside(c *engine.Call, other *state.Interface) error {
	switch {
	case c.Has("gateway") && other.Gateway != "":
		return apierr.Param("gateway", "Default gateway already exists on interface '%s'.", other.Name)
	case c.Has("gateway6") && other.Options["gateway6"] != "":
		return apierr.Param("gateway6", "Default ipv6 gateway already exists on interface '%s'.", other.Name)
	}
	taken := other.AllPorts()
	for _, key := range []string{"bridge_ports", "ovs_ports", "slaves", "ovs_bonds"} {
		for _, port := range schema.SplitList(c.Str(key)) {
			if slices.Contains(taken, port) {
				return apierr.Param(key, "%s is already used on interface '%s'.", port, other.Name)
			}
		}
	}
	return nil
}

// stage changes the staged interfaces. If they cannot be written, nothing is changed.
func stage(c *engine.Call, change func(map[string]*state.Interface) error) (any, error) {
	n := c.State.Nodes[c.Node]
	list := make(map[string]*state.Interface, len(n.Networks()))
	for name, i := range n.Networks() {
		copied := *i
		if copied.Options = maps.Clone(i.Options); copied.Options == nil {
			copied.Options = map[string]string{}
		}
		copied.Addresses = nil
		list[name] = &copied
	}
	if err := change(list); err != nil {
		return nil, err
	}
	if err := writable(list); err != nil {
		return nil, err
	}
	number(list)
	n.PendingInterfaces = list
	return nil, nil //nolint:nilnil // The answer is null.
}

func createInterface(c *engine.Call) (any, error) {
	name := c.Str("iface")
	return stage(c, func(list map[string]*state.Interface) error {
		if list[name] != nil {
			return apierr.Param("iface", "interface already exists")
		}
		if err := checkInterface(c, name); err != nil {
			return err
		}
		i := &state.Interface{Name: name, Options: map[string]string{}, Priority: FirstPriority}
		for _, other := range list {
			i.Priority = max(i.Priority, other.Priority+1)
		}
		fill(c, i)
		if err := joinSwitch(list, i); err != nil {
			return err
		}
		list[name] = i
		return nil
	})
}

// joinSwitch adds an interface that is created for an Open vSwitch bridge to the bridge's ports.
func joinSwitch(list map[string]*state.Interface, i *state.Interface) error {
	if i.Type != "OVSIntPort" && i.Type != "OVSBond" {
		return nil
	}
	name := i.Options["ovs_bridge"]
	switch bridge := list[name]; {
	case name == "":
		return apierr.Param("ovs_bridge", "parameter is required")
	case bridge == nil:
		return apierr.Param("ovs_bridge", "bridge '%s' does not exist", name)
	case bridge.Type != "OVSBridge":
		return apierr.Param("ovs_bridge", "interface '%s' is no OVS bridge", name)
	case !slices.Contains(bridge.AllPorts(), i.Name):
		bridge.Options["ovs_ports"] = strings.TrimSpace(bridge.Options["ovs_ports"] + " " + i.Name)
	}
	return nil
}

func updateInterface(c *engine.Call) (any, error) {
	name := c.Str("iface")
	return stage(c, func(list map[string]*state.Interface) error {
		if list[name] == nil {
			return apierr.Param("iface", "interface does not exist")
		}
		if err := checkInterface(c, name); err != nil {
			return err
		}
		fill(c, list[name])
		return nil
	})
}

func deleteInterface(c *engine.Call) (any, error) {
	name := c.Str("iface")
	return stage(c, func(list map[string]*state.Interface) error {
		i := list[name]
		if i == nil {
			return apierr.Param("iface", "interface does not exist")
		}
		if bridge := list[i.Options["ovs_bridge"]]; bridge != nil && i.Type != "OVSPort" {
			ports := slices.DeleteFunc(strings.Fields(bridge.Options["ovs_ports"]), func(p string) bool { return p == name })
			bridge.Options["ovs_ports"] = strings.Join(ports, " ")
		}
		delete(list, name)
		if i.Type == "eth" || i.Type == "OVSPort" { // The network card still exists.
			list[name] = &state.Interface{Name: name, Type: "eth", Options: map[string]string{}, Priority: i.Priority}
		}
		return nil
	})
}

// revertNetwork discards the staged changes.
func revertNetwork(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	n.PendingInterfaces, n.StagedLines = nil, nil
	return nil, nil //nolint:nilnil // The answer is null.
}

// applyNetwork applies the staged changes.
func applyNetwork(c *engine.Call) (any, error) {
	node := c.Node
	return c.Spawn("srvreload", "networking", func(w *engine.Worker) error {
		if err := w.PauseFor("srvreload"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			if n := st.Nodes[node]; n.PendingInterfaces != nil {
				n.Interfaces, n.PendingInterfaces, n.StagedLines, n.InterfacesWritten = n.PendingInterfaces, nil, nil, true
			}
			return nil
		})
	})
}
