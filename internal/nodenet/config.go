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

// Package nodenet analyzes how the network interfaces of a node depend on each other, which changes would disconnect the node, and what has changed in
// the staged configuration since it was read before. It makes no calls.
package nodenet

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/sdn"
)

// Options of an interface by their PVE names, as PVE lists them.
type Options map[string]string

// A Config has the interfaces of a node by their names.
type Config map[string]Options

// Options that name other interfaces.
const (
	bridgePorts = "bridge_ports"
	ovsPorts    = "ovs_ports"
	ovsBonds    = "ovs_bonds"
	ovsBridge   = "ovs_bridge"
	slaves      = "slaves"
	rawDevice   = "vlan-raw-device"
	autostart   = "autostart"
	typeOption  = "type"
)

// Types of Open vSwitch ports: an internal one, and a network card.
const (
	internalPort = "OVSIntPort"
	switchPort   = "OVSPort"
)

// portLists returns the names of options that list the ports of an interface.
func portLists() []string { return []string{bridgePorts, ovsPorts, slaves, ovsBonds} }

// List returns the items of a list, which are separated by spaces, commas or semicolons.
func List(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,;\t\n", r) })
}

// Clone returns a copy that can be changed.
func (c Config) Clone() Config {
	all := make(Config, len(c))
	for name, o := range c {
		all[name] = maps.Clone(o)
	}
	return all
}

// lower returns the interfaces that one directly depends on.
func (c Config) lower(name string) []string {
	o := c[name]
	var all []string
	for _, option := range portLists() {
		all = append(all, c.ports(name, option)...)
	}
	if parent := o[rawDevice]; parent != "" {
		all = append(all, parent)
	}
	if o[typeOption] == internalPort && o[ovsBridge] != "" {
		all = append(all, o[ovsBridge])
	}
	if at := strings.LastIndexAny(name, ".:"); at > 0 && o[rawDevice] == "" {
		all = append(all, name[:at]) // A VLAN eno1.5 or an alias eno1:0.
	}
	return all
}

// ports returns the ports that an option of an interface lists. It leaves out internal ports of Open vSwitch: such a port depends on its bridge, and
// not the bridge on it.
func (c Config) ports(name, option string) []string {
	return slices.DeleteFunc(List(c[name][option]), func(port string) bool { return c[port][typeOption] == internalPort })
}

// below returns an interface and all that it depends on, sorted.
func (c Config) below(name string) []string {
	seen, queue := map[string]bool{}, []string{name}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if seen[next] {
			continue
		}
		seen[next] = true
		queue = append(queue, c.lower(next)...)
	}
	return slices.Sorted(maps.Keys(seen))
}

// Above returns the interfaces that directly depend on one, sorted.
func (c Config) Above(name string) []string {
	var all []string
	for other := range c {
		if other != name && slices.Contains(c.lower(other), name) {
			all = append(all, other)
		}
	}
	slices.Sort(all)
	return all
}

// prefixes returns the addresses of an interface with their prefix lengths.
func (o Options) prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, option := range []string{"cidr", "cidr6"} {
		if p, err := netip.ParsePrefix(o[option]); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// Addresses returns the addresses of an interface.
func (o Options) Addresses() []netip.Addr {
	var all []netip.Addr
	for _, p := range o.prefixes() {
		all = append(all, p.Addr())
	}
	return all
}

// ZonesOn returns the SDN zones that use an interface of a node, either as a bridge of that name or by one of its addresses, as words for a sentence.
func (o Options) ZonesOn(name, node string, zones []sdn.Zone) []string {
	var all []string
	for _, z := range zones {
		uses := slices.Contains(z.Bridges, name) || slices.ContainsFunc(z.Peers, func(peer string) bool {
			return slices.ContainsFunc(o.Addresses(), func(ip netip.Addr) bool { return samePeer(peer, ip) })
		})
		if uses && z.On(node) {
			all = append(all, "SDN zone "+z.Name)
		}
	}
	return all
}

// samePeer reports whether a peer of a zone is an address.
func samePeer(peer string, ip netip.Addr) bool {
	is, err := netip.ParseAddr(peer)
	return err == nil && is == ip
}

// InterfaceWith returns the interface with an address, and the address with its prefix length.
func (c Config) InterfaceWith(ip netip.Addr) (string, netip.Prefix, bool) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		for _, p := range c[name].prefixes() {
			if p.Addr() == ip.Unmap() {
				return name, p, true
			}
		}
	}
	return "", netip.Prefix{}, false
}
