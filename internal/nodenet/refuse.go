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

package nodenet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/sdn"
)

// An Address is one that something is reached by.
type Address struct {
	// For names what is reached: words such as "the node", "corosync link 0" or "the endpoint https://…".
	For string

	// IPs of the address: one, or those of a name. None for a name that cannot be resolved.
	IPs []netip.Addr
}

// A Request asks whether the interfaces of a node may change.
type Request struct {
	// Node by its name.
	Node string

	// Before and After are the interfaces without and with the change. If Before is not known, it is nil, and only the addresses that After must have are
	// checked.
	Before, After Config

	// Cluster addresses of the node: its own, and those of corosync's links.
	Cluster []Address

	// Endpoints of the API.
	Endpoints []Address

	// Others are addresses of the other nodes.
	Others []netip.Addr

	// Gone are addresses that the staged changes remove, and that no interface has any more.
	Gone []netip.Addr

	// Zones of SDN, which may use an address of the node that is removed.
	Zones []sdn.Zone

	// Confirmed accepts addresses that no interface of the node has.
	Confirmed bool

	// Users of interfaces apart from dependent interfaces, such as guests on a bridge, as words for a sentence.
	Users map[string][]string
}

// A protected address is one that an interface of the node has and must keep.
type protected struct {
	words   string
	carrier string
	prefix  netip.Prefix
	path    []string
}

// Refuse returns the reasons why a change is refused, sorted. None means that it is allowed.
func Refuse(r Request) []string {
	basis := r.Before
	if basis == nil {
		basis = r.After
	}
	all, reasons := r.protect(basis)
	for _, p := range all {
		if r.Before == nil {
			reasons = append(reasons, r.carrier(p)...)
			continue
		}
		reasons = append(reasons, r.address(p)...)
		reasons = append(reasons, r.path(p)...)
		reasons = append(reasons, r.captured(p)...)
		reasons = append(reasons, r.overlaps(p)...)
		reasons = append(reasons, r.gateways(p)...)
	}
	reasons = append(reasons, r.removed()...)
	reasons = append(reasons, r.gone()...)
	reasons = append(reasons, r.peers()...)
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// protect finds the interfaces that have the addresses, and returns a reason for each address that no interface has.
func (r Request) protect(c Config) ([]protected, []string) {
	var all []protected
	var reasons []string
	for _, a := range r.Cluster {
		found, unmapped := r.find(c, a, nil)
		all = append(all, found...)
		if unmapped {
			reasons = append(reasons, r.unmapped(a))
		}
	}
	for _, a := range r.Endpoints {
		found, unmapped := r.find(c, a, r.Others)
		all = append(all, found...)
		if unmapped {
			reasons = append(reasons, r.unmapped(a))
		}
	}
	if r.Confirmed {
		return all, nil
	}
	return all, reasons
}

// find finds the interfaces that have an address. It reports whether one of its IPs is neither on
// the node nor on another one.
func (r Request) find(c Config, a Address, others []netip.Addr) (all []protected, unmapped bool) {
	unmapped = len(a.IPs) == 0
	for _, ip := range a.IPs {
		name, prefix, ok := c.InterfaceWith(ip)
		switch {
		case ok:
			words := fmt.Sprintf("%s, through which %s is reached", ip, a.For)
			all = append(all, protected{words: words, carrier: name, prefix: prefix, path: c.below(name)})
		case !slices.Contains(others, ip.Unmap()):
			unmapped = true
		}
	}
	return all, unmapped
}

func (r Request) unmapped(a Address) string {
	ips := make([]string, 0, len(a.IPs))
	for _, ip := range a.IPs {
		ips = append(ips, ip.String())
	}
	words := "has no known address"
	if len(ips) > 0 {
		words = "has the address " + strings.Join(ips, ", ") + ", which no interface of node " + r.Node + " has in Proxmox VE"
	}
	return fmt.Sprintf("%s %s, so it cannot be told whether the change cuts it off: set confirmUnmappedAddresses if it does not", a.For, words)
}

// address checks that an interface keeps its address.
func (r Request) address(p protected) []string {
	if slices.Contains(r.After[p.carrier].prefixes(), p.prefix) {
		return nil
	}
	if to, prefix, ok := r.After.InterfaceWith(p.prefix.Addr()); ok && to != p.carrier {
		return []string{fmt.Sprintf("it moves %s from %s to %s", p.words, p.carrier, to)}
	} else if ok {
		return []string{fmt.Sprintf("it changes the length of %s, from %d to %d", p.words, p.prefix.Bits(), prefix.Bits())}
	}
	return []string{fmt.Sprintf("it takes away %s, from %s", p.words, p.carrier)}
}

// harmless reports whether an option of a path cannot disconnect anything, or is checked separately.
func (r Request) harmless(p protected, option string) bool {
	switch option {
	case "address", "netmask", "cidr", "gateway", "address6", "netmask6", "cidr6", "gateway6", "method", "method6", "families",
		"comments", "comments6", "mtu", "priority", "active", "exists", "altnames":
		return true
	case "bridge_vids", "bridge_vlan_aware":
		return r.Before[p.carrier][typeOption] != "vlan" // Frames without a tag pass.
	}
	return false
}

// path checks that the interfaces that an address depends on do not change.
func (r Request) path(p protected) []string {
	var reasons []string
	for _, name := range p.path {
		before, existed := r.Before[name]
		after, exists := r.After[name]
		switch {
		case !existed:
		case !exists:
			reasons = append(reasons, fmt.Sprintf("it removes %s, upon which stands %s", name, p.words))
		default:
			reasons = append(reasons, r.pathOptions(p, name, before, after)...)
		}
	}
	return reasons
}

// pathOptions checks the options of one interface of a path.
func (r Request) pathOptions(p protected, name string, before, after Options) []string {
	var reasons []string
	options := maps.Clone(before)
	maps.Copy(options, after)
	for _, option := range slices.Sorted(maps.Keys(options)) {
		if r.harmless(p, option) || r.keeps(name, option) {
			continue
		}
		reasons = append(reasons, fmt.Sprintf("it changes %s of %s from %q to %q, upon which stands %s",
			option, name, before[option], after[option], p.words))
	}
	return reasons
}

// keeps reports whether changing an option keeps the connection through the interface: adding ports does, and so does starting the interface
// automatically.
func (r Request) keeps(name, option string) bool {
	before, after := r.Before[name][option], r.After[name][option]
	switch {
	case option == autostart:
		return before != "1" || after == "1"
	case slices.Contains(portLists(), option):
		has := List(after)
		return !slices.ContainsFunc(r.Before.ports(name, option), func(port string) bool { return !slices.Contains(has, port) })
	}
	return before == after
}

// captured checks that no interface of a path becomes a port of one outside of the path.
func (r Request) captured(p protected) []string {
	var reasons []string
	for name, o := range r.After {
		if slices.Contains(p.path, name) {
			continue
		}
		for _, option := range portLists() {
			for _, port := range List(o[option]) {
				if slices.Contains(p.path, port) && !slices.Contains(List(r.Before[name][option]), port) {
					reasons = append(reasons, fmt.Sprintf("it makes %s a port of %s, upon which stands %s", port, name, p.words))
				}
			}
		}
	}
	return reasons
}

// overlaps checks that no other interface gets an address in the same network.
func (r Request) overlaps(p protected) []string {
	var reasons []string
	for name, o := range r.After {
		for _, prefix := range o.prefixes() {
			if name == p.carrier || slices.Contains(r.Before[name].prefixes(), prefix) || !prefix.Overlaps(p.prefix) {
				continue
			}
			if prefix.Addr() == p.prefix.Addr() && !slices.Contains(r.After[p.carrier].prefixes(), p.prefix) {
				continue // The address moves, which is already reported.
			}
			reasons = append(reasons, fmt.Sprintf("it gives %s the address %s, in the same network as %s", name, prefix, p.words))
		}
	}
	return reasons
}

// gateways checks that the default route of the family of an address stays.
func (r Request) gateways(p protected) []string {
	option := "gateway"
	if p.prefix.Addr().Is6() {
		option = "gateway6"
	}
	var reasons []string
	for name, o := range r.Before {
		if before, after := o[option], r.After[name][option]; before != "" && before != after {
			reasons = append(reasons, fmt.Sprintf("it changes the default route %s of %s, over which other networks reach %s", before, name, p.words))
		}
	}
	return reasons
}

// gone checks that no required address is removed. Confirmed does not allow that, since an interface of the node has had the address.
func (r Request) gone() []string {
	var reasons []string
	for _, a := range slices.Concat(r.Cluster, r.Endpoints) {
		for _, ip := range a.IPs {
			if slices.Contains(r.Gone, ip.Unmap()) {
				reasons = append(reasons, fmt.Sprintf("it takes away %s, through which %s is reached", ip, a.For))
			}
		}
	}
	return reasons
}

// Leaving returns the addresses that remaining interfaces lose, by the names of the interfaces.
func (r Request) Leaving() map[string][]netip.Addr {
	leaving := map[string][]netip.Addr{}
	for name, before := range r.Before {
		after, exists := r.After[name]
		if left := slices.DeleteFunc(before.Addresses(), func(ip netip.Addr) bool { return slices.Contains(after.Addresses(), ip) }); exists && len(left) > 0 {
			leaving[name] = left
		}
	}
	return leaving
}

// peers checks that no SDN zone loses an address that the node has in it.
func (r Request) peers() []string {
	var reasons []string
	for name, addresses := range r.Leaving() {
		for _, ip := range addresses {
			for _, z := range r.Zones {
				if z.On(r.Node) && slices.ContainsFunc(z.Peers, func(peer string) bool { return samePeer(peer, ip) }) {
					reasons = append(reasons, fmt.Sprintf("it takes away %s, which SDN zone %s has among its peers, from %s", ip, z.Name, name))
				}
			}
		}
	}
	return reasons
}

// removed checks that no interface in use is removed or changes its type.
func (r Request) removed() []string {
	var reasons []string
	for name, before := range r.Before {
		if after, exists := r.After[name]; exists && after[typeOption] == before[typeOption] {
			continue
		}
		for _, user := range append(r.After.Above(name), r.Users[name]...) {
			reasons = append(reasons, fmt.Sprintf("it removes %s, which %s uses", name, user))
		}
	}
	return reasons
}

// carrier checks a configuration whose former state is not known: an address must depend on a network card, and must come back after a restart of the
// node.
func (r Request) carrier(p protected) []string {
	var reasons []string
	card := false
	for _, name := range p.path {
		o, exists := r.After[name]
		card = card || !exists || o[typeOption] == "eth" || o[typeOption] == "OVSPort" || o[typeOption] == "unknown"
	}
	if !card {
		reasons = append(reasons, fmt.Sprintf("%s, stands upon no network card", p.words))
	}
	if o := r.After[p.carrier]; o[autostart] != "1" && !strings.HasPrefix(o[typeOption], "OVS") {
		reasons = append(reasons, fmt.Sprintf("%s, is on %s, which is not started with the node", p.words, p.carrier))
	}
	return reasons
}
