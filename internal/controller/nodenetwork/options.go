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
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// Options that this package reads.
const (
	optionType      = "type"
	optionAutostart = "autostart"
	optionOVSPorts  = "ovs_ports"
)

// Types of interfaces that this package distinguishes.
const (
	typeCard     = "eth"
	typeOVSPort  = "OVSPort"
	typeOVSBond  = "OVSBond"
	typeInternal = "OVSIntPort"
)

// isCard reports whether an interface is a network card, which always exists.
func isCard(interfaceType string) bool {
	return interfaceType == typeCard || interfaceType == typeOVSPort
}

// startedByBridge reports whether the bridge of an interface starts it.
func startedByBridge(interfaceType string) bool {
	return slices.Contains([]string{typeOVSPort, typeOVSBond, typeInternal}, interfaceType)
}

// declare declares the options of an interface.
func declare(p *parameters) settings.Declared {
	d := settings.Declared{}
	d.Set(optionType, &p.Type)
	d.SetSame(optionAutostart, settings.Boolean(p.Autostart), sameFlag)
	d.SetSame("comments", p.Comments, nodenet.SameComments)
	d.Set("mtu", number(p.MTU))
	for option, value := range map[string]*string{"cidr": p.CIDR, "cidr6": p.CIDR6, "gateway": p.Gateway, "gateway6": p.Gateway6} {
		d.SetSame(option, value, sameAddress)
	}
	declareBridge(d, p)
	declareBond(d, p)
	if v := p.VLAN; v != nil {
		d.Set("vlan-id", number(v.ID))
		d.Set("vlan-raw-device", v.RawDevice)
	}
	declareOVS(d, p)
	return d
}

func declareBridge(d settings.Declared, p *parameters) {
	b := p.Bridge
	if b == nil {
		return
	}
	d.SetSame("bridge_ports", list(b.Ports), settings.SameList)
	d.SetSame("bridge_vids", b.VLANs, settings.SameList)
	if b.VLANAware != nil {
		// PVE writes "yes" for any value, so false removes the option.
		d.Set("bridge_vlan_aware", new(strings.TrimPrefix(*settings.Boolean(b.VLANAware), "0")))
	}
}

func declareBond(d settings.Declared, p *parameters) {
	b := p.Bond
	if b == nil {
		return
	}
	slaves := "slaves"
	if p.Type == typeOVSBond {
		slaves = "ovs_bonds"
	}
	d.SetSame(slaves, list(b.Slaves), settings.SameList)
	d.Set("bond_mode", b.Mode)
	d.Set("bond-primary", b.Primary)
	d.Set("bond_xmit_hash_policy", b.TransmitHashPolicy)
}

func declareOVS(d settings.Declared, p *parameters) {
	o := p.OVS
	if o == nil {
		return
	}
	d.SetSame(optionOVSPorts, list(o.Ports), within)
	d.Set("ovs_bridge", o.Bridge)
	d.Set("ovs_tag", number(o.Tag))
	d.SetSame("ovs_options", o.Options, settings.SameList)
}

// number returns a number as PVE writes it, or nil. 0 results in an empty string, which resets the option.
func number(n *int32) *string {
	if n != nil && *n == 0 {
		return new("")
	}
	return settings.Number(n)
}

// list returns a list of interfaces as PVE writes it, or nil.
func list(names []string) *string {
	if names == nil {
		return nil
	}
	return new(strings.Join(names, " "))
}

// sameFlag compares flags. PVE shows only those that are set.
func sameFlag(a, b string) bool { return (a == "1") == (b == "1") }

// within reports whether all declared ports exist.
func within(declared, seen string) bool {
	has := nodenet.List(seen)
	return !slices.ContainsFunc(nodenet.List(declared), func(port string) bool { return !slices.Contains(has, port) })
}

// sameAddress compares addresses, which can be written in several forms.
func sameAddress(a, b string) bool {
	if x, err := netip.ParsePrefix(a); err == nil {
		y, err := netip.ParsePrefix(b)
		return err == nil && x == y
	}
	x, errA := netip.ParseAddr(a)
	y, errB := netip.ParseAddr(b)
	return errA == nil && errB == nil && x == y
}

// complete completes a change. A new interface is started with the node unless the spec says otherwise. A change of an existing interface includes
// its type, which PVE requires, and its addresses, which PVE would otherwise remove. Ports are added to the existing ones.
func complete(v view, c proxmox.Change) proxmox.Change {
	set := proxmox.Params{}
	maps.Copy(set, c.Set)
	c.Set = set
	if !v.Exists {
		if _, declared := set[optionAutostart]; !declared && v.Resource.Parameters().Autostart == nil && !startedByBridge(set[optionType]) {
			set[optionAutostart] = "1"
		}
		return c
	}
	seen := v.Seen.Values
	for _, option := range []string{optionType, "cidr", "cidr6", "gateway", "gateway6"} {
		if _, changes := set[option]; !changes && seen[option] != "" && !slices.Contains(c.Delete, option) {
			set[option] = seen[option]
		}
	}
	if ports, ok := set[optionOVSPorts]; ok {
		all := append(nodenet.List(seen[optionOVSPorts]), nodenet.List(ports)...)
		slices.Sort(all)
		set[optionOVSPorts] = strings.Join(slices.Compact(all), " ")
	}
	return c
}

// configOf returns interfaces in the form of package nodenet, including what is staged.
func configOf(all proxmox.NodeInterfaces, node string) nodenet.Config {
	c := nodenet.Config{}
	for _, o := range all.Objects {
		c[strings.TrimPrefix(o.Name, node+"/")] = o.Values
	}
	if lines := nodenet.OutsideOf(nodenet.Changes(all.Changes)); lines != nil {
		c[nodenet.Outside] = lines
	}
	return c
}

// after returns the interfaces after a change.
func after(c nodenet.Config, v view, verb config.Verb, change proxmox.Change) nodenet.Config {
	name := v.Resource.Parameters().Interface
	if verb == config.Delete {
		return c.Removed(name)
	}
	return c.Changed(name, change.Set, change.Delete)
}
