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

package nodenetwork

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// refusal returns the problem that a change would cut off a connection, or nil. The request has the interfaces before and after the change, and their
// users.
func (s *stager) refusal(ctx context.Context, v view, r nodenet.Request) (*kind.Problem, error) {
	reasons, err := s.reasons(ctx, v, r)
	if err != nil {
		return nil, err
	}
	return refusalFor(reasons), nil
}

// refusalFor returns the problem that there are reasons against a change, or nil.
func refusalFor(reasons []string) *kind.Problem {
	if len(reasons) == 0 {
		return nil
	}
	return &kind.Problem{Reason: ReasonRefused, Message: "the change is refused: " + strings.Join(reasons, "; ")}
}

// reasons returns why a change is refused.
func (s *stager) reasons(ctx context.Context, v view, r nodenet.Request) ([]string, error) {
	p := v.Resource.Parameters()
	r.Node, r.Confirmed = p.Node, p.ConfirmUnmappedAddresses != nil && *p.ConfirmUnmappedAddresses
	if err := s.clusterAddresses(ctx, v, &r); err != nil {
		return nil, err
	}
	for _, endpoint := range v.Endpoints {
		r.Endpoints = append(r.Endpoints, nodenet.Address{For: "the endpoint " + endpoint, IPs: s.resolve(ctx, hostOf(endpoint))})
	}
	if err := otherAddresses(ctx, v, &r); err != nil {
		return nil, err
	}
	if err := zonesOf(ctx, v, &r); err != nil {
		return nil, err
	}
	return nodenet.Refuse(r), nil
}

// zonesOf adds the zones of SDN, if an interface loses an address that one of them may have among its peers.
func zonesOf(ctx context.Context, v view, r *nodenet.Request) error {
	if len(r.Leaving()) == 0 {
		return nil
	}
	if err := kind.CheckPrivileges(ctx, v.Client, "tell which zones of SDN use the address", seeZones()); err != nil {
		return err
	}
	var err error
	r.Zones, err = v.Inventory.Zones(ctx, inventory.Fresh)
	return errors.Wrap(err, "cannot tell which zones of SDN use the address")
}

// clusterAddresses adds the addresses at which the cluster reaches the node, and those of the other nodes.
func (s *stager) clusterAddresses(ctx context.Context, v view, r *nodenet.Request) error {
	status, err := v.Inventory.ClusterStatus(ctx, v.MaxAge(inventory.Stable))
	if err != nil {
		return errors.Wrap(err, "cannot tell by which addresses the cluster reaches the node")
	}
	links, err := v.Client.CorosyncLinks(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot tell the links of corosync")
	}
	for _, n := range status.Nodes {
		ip, err := netip.ParseAddr(n.Address)
		switch {
		case n.Name == r.Node && err == nil:
			r.Cluster = append(r.Cluster, nodenet.Address{For: "node " + n.Name, IPs: []netip.Addr{ip}})
		case n.Name == r.Node:
			r.Cluster = append(r.Cluster, nodenet.Address{For: "node " + n.Name})
		case err == nil:
			r.Others = append(r.Others, ip)
		}
	}
	for number, address := range links[r.Node] {
		r.Cluster = append(r.Cluster, nodenet.Address{
			For: fmt.Sprintf("link %d of corosync, %s,", number, address), IPs: s.linkAddress(ctx, address, r),
		})
	}
	return nil
}

// linkAddress returns the address of a link of corosync, which may be the name of the node.
func (s *stager) linkAddress(ctx context.Context, address string, r *nodenet.Request) []netip.Addr {
	if address == r.Node && len(r.Cluster) > 0 {
		return r.Cluster[0].IPs
	}
	return s.resolve(ctx, address)
}

// otherAddresses adds all addresses of the other nodes, if the cluster uses none of the addresses of an endpoint.
func otherAddresses(ctx context.Context, v view, r *nodenet.Request) error {
	known := slices.Clone(r.Others)
	mapped := func(ip netip.Addr) bool {
		_, _, here := r.After.InterfaceWith(ip)
		_, _, was := r.Before.InterfaceWith(ip)
		return here || was || slices.Contains(known, ip.Unmap())
	}
	missing := slices.ContainsFunc(r.Endpoints, func(a nodenet.Address) bool {
		return slices.ContainsFunc(a.IPs, func(ip netip.Addr) bool { return !ip.IsLoopback() && !mapped(ip) })
	})
	if !missing || r.Confirmed {
		return nil
	}
	nodes, err := v.Inventory.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Name == r.Node || !n.Online() {
			continue
		}
		all, err := v.Inventory.NodeInterfaces(ctx, n.Name, inventory.Current)
		if err != nil {
			return err
		}
		for _, o := range configOf(all, n.Name) {
			r.Others = append(r.Others, o.Addresses()...)
		}
	}
	return nil
}

// resolve resolves a host to its addresses. It returns none if there are none.
func (s *stager) resolve(ctx context.Context, host string) []netip.Addr {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}
	}
	all, err := s.lookup(ctx, host)
	if err != nil {
		return nil
	}
	for i, ip := range all {
		all[i] = ip.Unmap()
	}
	return all
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// users returns the users of an interface, because of which its removal is refused.
func (s *stager) users(ctx context.Context, v view) ([]string, error) {
	p := v.Resource.Parameters()
	now, err := v.Inventory.NodeInterfaces(ctx, p.Node, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	before := configOf(now, p.Node)
	// The users are reported without details. Before the removal is staged, all guests are read again.
	known := func(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
		return v.Inventory.Options(ctx, ref, inventory.Unchanged)
	}
	users, err := usersOf(ctx, v, nodenet.Config{p.Interface: before[p.Interface]}, known)
	if err != nil {
		return nil, err
	}
	return s.reasons(ctx, v, nodenet.Request{Before: before, After: before.Removed(p.Interface), Users: users})
}

// removalInUse returns the problem that interfaces have come into use since their removal was staged, or nil.
func removalInUse(ctx context.Context, v view, staged nodenet.Config) (*kind.Problem, error) {
	notes, err := notesOn(ctx, v)
	if err != nil {
		return nil, err
	}
	removed := nodenet.Config{}
	for name, n := range notes {
		if n.Interface == nil && staged[name] == nil {
			removed[name] = n.Former
		}
	}
	if len(removed) == 0 {
		return nil, nil //nolint:nilnil // Nothing is removed.
	}
	users, err := usersOf(ctx, v, removed, v.Client.Pending)
	if err != nil {
		return nil, err
	}
	var reasons []string
	for _, name := range slices.Sorted(maps.Keys(users)) {
		for _, user := range users[name] {
			reasons = append(reasons, fmt.Sprintf("it removes %s, which %s uses", name, user))
		}
	}
	return refusalFor(reasons), nil
}

// unasked returns the problem that the staged changes remove addresses although no resource asks for it, or nil. Proxmox VE does not keep all manual
// changes to the file.
func unasked(ctx context.Context, v view, now pending) (*kind.Problem, error) {
	gone := nodenet.Gone(now.changes)
	if len(gone) == 0 || now.consented {
		return nil, nil //nolint:nilnil // Nothing is taken away, or somebody has seen what is.
	}
	notes, err := notesOn(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		gone = slices.DeleteFunc(gone, n.takes)
	}
	var reasons []string
	for _, ip := range gone {
		reasons = append(reasons, fmt.Sprintf("it takes away the address %s, for which no NodeNetwork asks: Proxmox VE keeps one address "+
			"of each family of an interface when it writes %s, so put others into a file that it sources, and revert what is staged", ip, interfacesFile))
	}
	return refusalFor(reasons), nil
}

// interfacesFile is the file with the configuration that is in force on a node.
const interfacesFile = "/etc/network/interfaces"

// An optionReader reads the options of a guest, including those that wait for a restart.
type optionReader func(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)

// usersOf returns the users of interfaces apart from other interfaces: the VMs and containers of the node that have NICs on one, and the zones of SDN
// that use one.
func usersOf(ctx context.Context, v view, of nodenet.Config, read optionReader) (map[string][]string, error) {
	users := map[string][]string{}
	zones, err := v.Inventory.Zones(ctx, inventory.Fresh)
	if err != nil {
		return nil, errors.Wrap(err, "cannot tell which zones of SDN use an interface")
	}
	for name, o := range of {
		users[name] = o.ZonesOn(name, v.Resource.Parameters().Node, zones)
	}
	all, err := v.Inventory.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	for _, g := range slices.SortedFunc(slices.Values(all), func(a, b proxmox.Guest) int { return a.VMID - b.VMID }) {
		if g.Node != v.Resource.Parameters().Node {
			continue
		}
		words, nics, err := nicsOf(ctx, g, read)
		if err != nil {
			return nil, err
		}
		for name := range of {
			if slices.ContainsFunc(nics, func(nic string) bool { return onBridge(nic, name) }) {
				users[name] = append(users[name], words)
			}
		}
	}
	return users, nil
}

// nicsOf returns the NICs in the configuration of a guest, including those that wait for a restart.
func nicsOf(ctx context.Context, g proxmox.Guest, read optionReader) (words string, nics []string, err error) {
	all, err := read(ctx, g.RefByType())
	for _, option := range all {
		nics = append(nics, nicOf(option.Key, option.Value)...)
		nics = append(nics, nicOf(option.Key, option.Pending)...)
	}
	return g.RefByType().Words(), nics, err
}

// nicOf returns the value of an option that describes a NIC.
func nicOf(option string, value *string) []string {
	if rest, ok := strings.CutPrefix(option, "net"); !ok || value == nil || strings.Trim(rest, "0123456789") != "" {
		return nil
	}
	return []string{*value}
}

func onBridge(nic, bridge string) bool {
	return slices.Contains(strings.Split(nic, ","), "bridge="+bridge)
}
