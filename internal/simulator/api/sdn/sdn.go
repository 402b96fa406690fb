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

// Package sdn serves /cluster/sdn: zones and virtual networks.
package sdn

import (
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Routes are the methods of SDN.
func Routes() map[string]engine.Handler {
	return map[string]engine.Handler{
		"GET /cluster/sdn/zones":           listZones,
		"POST /cluster/sdn/zones":          createZone,
		"GET /cluster/sdn/zones/{zone}":    getZone,
		"PUT /cluster/sdn/zones/{zone}":    updateZone,
		"DELETE /cluster/sdn/zones/{zone}": deleteZone,
		"GET /cluster/sdn":                 engine.IndexOf("vnets", "zones", "controllers", "ipams", "dns", "fabrics"),
		"GET /cluster/sdn/vnets":           listVNets,
		"POST /cluster/sdn/vnets":          createVNet,
		"GET /cluster/sdn/vnets/{vnet}":    getVNet,
		"PUT /cluster/sdn/vnets/{vnet}":    updateVNet,
		"DELETE /cluster/sdn/vnets/{vnet}": deleteVNet,
		"PUT /cluster/sdn":                 applySDN,
	}
}

// showSDN is a zone or virtual network; pending tells what waits to be applied.
func showSDN(c *engine.Call, key, name string, list, applied state.Sections) map[string]any {
	out := map[string]any{key: name, "digest": state.SectionsDigest(list), "type": "vnet"}
	if t := list[name]["type"]; t != "" {
		out["type"] = t
	}
	if !c.Flag("pending") {
		maps.Copy(out, c.Typed(list[name]))
		return out
	}
	out["digest"] = nil
	values := c.Typed(list[name])
	if applied[name] == nil && c.State.Version != "8.4" {
		delete(values, "type")
		out["state"], out["pending"] = "new", values
		return out
	}
	maps.Copy(out, values)
	return out
}

func listZones(c *engine.Call) (any, error) {
	out, sdn := []map[string]any{}, c.State.SDN
	for _, name := range slices.Sorted(maps.Keys(sdn.Zones)) {
		if c.State.CheckAny(c.Who, "/sdn/zones/"+name, "SDN.Audit", "SDN.Allocate") != nil {
			continue
		}
		if t := c.Str("type"); t == "" || t == sdn.Zones[name]["type"] {
			out = append(out, showSDN(c, "zone", name, sdn.Zones, sdn.AppliedZones))
		}
	}
	return out, nil
}

func createZone(c *engine.Call) (any, error) {
	zones, name := c.State.SDN.Zones, c.Str("zone")
	if zones[name] != nil {
		return nil, apierr.Errorf("create sdn zone object failed: sdn zone object ID '%s' already defined", name)
	}
	zones[name] = c.Given("zone", "lock-token")
	return nil, nil //nolint:nilnil // The answer is null.
}

func getZone(c *engine.Call) (any, error) {
	sdn, name := c.State.SDN, c.Str("zone")
	if sdn.Zones[name] == nil {
		return nil, apierr.Errorf("sdn '%s' does not exist", name)
	}
	return showSDN(c, "zone", name, sdn.Zones, sdn.AppliedZones), nil
}

func deleteZone(c *engine.Call) (any, error) {
	sdn, name := c.State.SDN, c.Str("zone")
	if sdn.Zones[name] == nil {
		return nil, apierr.Errorf("sdn '%s' does not exist", name)
	}
	for _, vnet := range slices.Sorted(maps.Keys(sdn.VNets)) {
		if sdn.VNets[vnet]["zone"] == name {
			return nil, apierr.Errorf("delete sdn zone object failed: zone %s is used by vnet %s", name, vnet)
		}
	}
	delete(sdn.Zones, name)
	return nil, nil //nolint:nilnil // The answer is null.
}

func listVNets(c *engine.Call) (any, error) {
	out, sdn := []map[string]any{}, c.State.SDN
	for _, name := range slices.Sorted(maps.Keys(sdn.VNets)) {
		if mayVNet(c, name, "SDN.Audit", "SDN.Allocate") != nil {
			continue
		}
		out = append(out, showSDN(c, "vnet", name, sdn.VNets, sdn.AppliedVNets))
	}
	return out, nil
}

func createVNet(c *engine.Call) (any, error) {
	sdn, name, zone := c.State.SDN, c.Str("vnet"), c.Str("zone")
	if sdn.VNets[name] != nil {
		return nil, apierr.Errorf("create sdn vnet object failed: sdn vnet object ID '%s' already defined", name)
	}
	if sdn.Zones[zone] == nil {
		return nil, apierr.Errorf("create sdn vnet object failed: zone %s don't exist", zone)
	}
	sdn.VNets[name] = c.Given("vnet", "lock-token")
	return nil, nil //nolint:nilnil // The answer is null.
}

// mayVNet checks the privileges on a virtual network, which is named by its zone too.
func mayVNet(c *engine.Call, name string, privileges ...string) error {
	vnet := c.State.SDN.VNets[name]
	if vnet == nil {
		return apierr.Errorf("sdn vnet object '%s' does not exist", name)
	}
	return c.State.CheckAny(c.Who, "/sdn/zones/"+vnet["zone"]+"/"+name, privileges...)
}

func getVNet(c *engine.Call) (any, error) {
	sdn, name := c.State.SDN, c.Str("vnet")
	if err := mayVNet(c, name, "SDN.Audit", "SDN.Allocate"); err != nil {
		return nil, err
	}
	return showSDN(c, "vnet", name, sdn.VNets, sdn.AppliedVNets), nil
}

// updateVNet changes a virtual network; it always has a zone.
func updateVNet(c *engine.Call) (any, error) {
	name, vnets := c.Str("vnet"), c.State.SDN.VNets
	if err := mayVNet(c, name, "SDN.Allocate"); err != nil {
		return nil, err
	}
	file := &engine.SectionFile{Update: "update sdn vnet object failed: ", Missing: "sdn vnet object '%s' does not exist", Fixed: []string{"zone"}}
	set := c.Given("vnet", "lock-token")
	if zone := set["zone"]; zone != "" && c.State.SDN.Zones[zone] == nil {
		return nil, apierr.Errorf("%szone %s don't exist", file.Update, zone)
	}
	return nil, file.Change(c, vnets, name, set)
}

func updateZone(c *engine.Call) (any, error) {
	file := &engine.SectionFile{Update: "update sdn zone object failed: ", Missing: "sdn '%s' does not exist", Fixed: []string{"type"}}
	return nil, file.Change(c, c.State.SDN.Zones, c.Str("zone"), c.Given("zone", "lock-token"))
}

func deleteVNet(c *engine.Call) (any, error) {
	sdn, name := c.State.SDN, c.Str("vnet")
	if err := mayVNet(c, name, "SDN.Allocate"); err != nil {
		return nil, err
	}
	delete(sdn.VNets, name)
	return nil, nil //nolint:nilnil // The answer is null.
}

// applySDN puts all changes into force and makes every node reload its network.
func applySDN(c *engine.Call) (any, error) {
	return c.Spawn("reloadnetworkall", "", func(w *engine.Worker) error {
		if err := w.PauseFor("reloadnetworkall"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			st.SDN.AppliedZones, st.SDN.AppliedVNets = maps.Clone(st.SDN.Zones), maps.Clone(st.SDN.VNets)
			return nil
		})
	})
}
