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
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// SDN are the zones and virtual networks of the cluster. Changes wait until they are applied.
type SDN struct {
	Zones, VNets Sections
	// AppliedZones and AppliedVNets are what was applied last.
	AppliedZones, AppliedVNets Sections
}

func newSDN() *SDN {
	return &SDN{Zones: Sections{}, VNets: Sections{}}
}

// sdnRoutes are the methods of SDN.
func sdnRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/sdn/zones":           (*call).listZones,
		"POST /cluster/sdn/zones":          (*call).createZone,
		"GET /cluster/sdn/zones/{zone}":    (*call).getZone,
		"PUT /cluster/sdn/zones/{zone}":    (*call).updateZone,
		"DELETE /cluster/sdn/zones/{zone}": (*call).deleteZone,
		"GET /cluster/sdn":                 indexOf("vnets", "zones", "controllers", "ipams", "dns", "fabrics"),
		"GET /cluster/sdn/vnets":           (*call).listVNets,
		"POST /cluster/sdn/vnets":          (*call).createVNet,
		"GET /cluster/sdn/vnets/{vnet}":    (*call).getVNet,
		"PUT /cluster/sdn/vnets/{vnet}":    (*call).updateVNet,
		"DELETE /cluster/sdn/vnets/{vnet}": (*call).deleteVNet,
		"PUT /cluster/sdn":                 (*call).applySDN,
	}
}

func digestOf(list Sections) string {
	text := &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		text.WriteString(name + "\n")
		for _, key := range slices.Sorted(maps.Keys(list[name])) {
			text.WriteString(key + " " + list[name][key] + "\n")
		}
	}
	return hash([]byte(text.String()))
}

// showSDN is a zone or virtual network; pending tells what waits to be applied.
func (c *call) showSDN(key, name string, list, applied Sections) map[string]any {
	out := map[string]any{key: name, "digest": digestOf(list), "type": "vnet"}
	if t := list[name]["type"]; t != "" {
		out["type"] = t
	}
	if !c.flag("pending") {
		maps.Copy(out, c.typed(list[name]))
		return out
	}
	out["digest"] = nil
	values := c.typed(list[name])
	if applied[name] == nil && c.state.Version != "8.4" {
		delete(values, "type")
		out["state"], out["pending"] = "new", values
		return out
	}
	maps.Copy(out, values)
	return out
}

func (c *call) listZones() (any, error) {
	out, sdn := []map[string]any{}, c.state.SDN
	for _, name := range slices.Sorted(maps.Keys(sdn.Zones)) {
		if c.state.checkAny(c.who, "/sdn/zones/"+name, "SDN.Audit", "SDN.Allocate") != nil {
			continue
		}
		if t := c.str("type"); t == "" || t == sdn.Zones[name]["type"] {
			out = append(out, c.showSDN("zone", name, sdn.Zones, sdn.AppliedZones))
		}
	}
	return out, nil
}

func (c *call) createZone() (any, error) {
	zones, name := c.state.SDN.Zones, c.str("zone")
	if zones[name] != nil {
		return nil, die("create sdn zone object failed: sdn zone object ID '%s' already defined", name)
	}
	zones[name] = c.given("zone", "lock-token")
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) getZone() (any, error) {
	sdn, name := c.state.SDN, c.str("zone")
	if sdn.Zones[name] == nil {
		return nil, die("sdn '%s' does not exist", name)
	}
	return c.showSDN("zone", name, sdn.Zones, sdn.AppliedZones), nil
}

func (c *call) deleteZone() (any, error) {
	sdn, name := c.state.SDN, c.str("zone")
	if sdn.Zones[name] == nil {
		return nil, die("sdn '%s' does not exist", name)
	}
	for _, vnet := range slices.Sorted(maps.Keys(sdn.VNets)) {
		if sdn.VNets[vnet]["zone"] == name {
			return nil, die("delete sdn zone object failed: zone %s is used by vnet %s", name, vnet)
		}
	}
	delete(sdn.Zones, name)
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) listVNets() (any, error) {
	out, sdn := []map[string]any{}, c.state.SDN
	for _, name := range slices.Sorted(maps.Keys(sdn.VNets)) {
		if c.mayVNet(name, "SDN.Audit", "SDN.Allocate") != nil {
			continue
		}
		out = append(out, c.showSDN("vnet", name, sdn.VNets, sdn.AppliedVNets))
	}
	return out, nil
}

func (c *call) createVNet() (any, error) {
	sdn, name, zone := c.state.SDN, c.str("vnet"), c.str("zone")
	if sdn.VNets[name] != nil {
		return nil, die("create sdn vnet object failed: sdn vnet object ID '%s' already defined", name)
	}
	if sdn.Zones[zone] == nil {
		return nil, die("create sdn vnet object failed: zone %s don't exist", zone)
	}
	sdn.VNets[name] = c.given("vnet", "lock-token")
	return nil, nil //nolint:nilnil // The answer is null.
}

// mayVNet checks the privileges on a virtual network, which is named by its zone too.
func (c *call) mayVNet(name string, privileges ...string) error {
	vnet := c.state.SDN.VNets[name]
	if vnet == nil {
		return die("sdn vnet object '%s' does not exist", name)
	}
	return c.state.checkAny(c.who, "/sdn/zones/"+vnet["zone"]+"/"+name, privileges...)
}

func (c *call) getVNet() (any, error) {
	sdn, name := c.state.SDN, c.str("vnet")
	if err := c.mayVNet(name, "SDN.Audit", "SDN.Allocate"); err != nil {
		return nil, err
	}
	return c.showSDN("vnet", name, sdn.VNets, sdn.AppliedVNets), nil
}

// updateVNet changes a virtual network; it always has a zone.
func (c *call) updateVNet() (any, error) {
	name, vnets := c.str("vnet"), c.state.SDN.VNets
	if err := c.mayVNet(name, "SDN.Allocate"); err != nil {
		return nil, err
	}
	file := &sectionFile{update: "update sdn vnet object failed: ", missing: "sdn vnet object '%s' does not exist", fixed: []string{"zone"}}
	set := c.given("vnet", "lock-token")
	if zone := set["zone"]; zone != "" && c.state.SDN.Zones[zone] == nil {
		return nil, die("%szone %s don't exist", file.update, zone)
	}
	return nil, file.change(c, vnets, name, set)
}

func (c *call) updateZone() (any, error) {
	file := &sectionFile{update: "update sdn zone object failed: ", missing: "sdn '%s' does not exist", fixed: []string{"type"}}
	return nil, file.change(c, c.state.SDN.Zones, c.str("zone"), c.given("zone", "lock-token"))
}

// zoneOf is the zone that a bridge belongs to: its virtual network's, or that of the nodes' own bridges.
func (st *State) zoneOf(bridge string) string {
	if vnet := st.SDN.AppliedVNets[bridge]; vnet != nil {
		return vnet["zone"]
	}
	if vnet := st.SDN.VNets[bridge]; vnet != nil {
		return vnet["zone"]
	}
	return "localnetwork"
}

// hasBridge reports whether a node has a bridge: one of its own, or that of a virtual network in force.
func (st *State) hasBridge(node, bridge string) bool {
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

func (c *call) deleteVNet() (any, error) {
	sdn, name := c.state.SDN, c.str("vnet")
	if err := c.mayVNet(name, "SDN.Allocate"); err != nil {
		return nil, err
	}
	delete(sdn.VNets, name)
	return nil, nil //nolint:nilnil // The answer is null.
}

// applySDN puts all changes into force and makes every node reload its network.
func (c *call) applySDN() (any, error) {
	return c.spawn("reloadnetworkall", "", func(w *worker) error {
		if err := w.pauseFor("reloadnetworkall"); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			st.SDN.AppliedZones, st.SDN.AppliedVNets = maps.Clone(st.SDN.Zones), maps.Clone(st.SDN.VNets)
			return nil
		})
	})
}
