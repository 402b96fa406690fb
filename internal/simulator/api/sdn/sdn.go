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
	"cmp"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// show returns a zone or virtual network in the form that the call asks for: the configured one, the running one, or with pending changes. It is nil if
// there is none.
func show(c *engine.Call, key, name string, list, applied state.Sections) map[string]any {
	out := map[string]any{"type": "vnet"}
	switch {
	case c.Flag("pending"):
		if list[name] == nil && applied[name] == nil {
			return nil
		}
		out["digest"] = nil
		maps.Copy(out, pending(c, list[name], applied[name]))
	case c.Flag("running"):
		if applied[name] == nil {
			return nil
		}
		out["digest"] = nil
		maps.Copy(out, c.Typed(applied[name]))
	default:
		if list[name] == nil {
			return nil
		}
		out["digest"] = state.SectionsDigest(list)
		maps.Copy(out, c.Typed(list[name]))
	}
	out[key] = name
	return out
}

// pending returns the running values of an object, and below them the pending ones: new values, and "deleted" for removed options
// (PVE::Network::SDN::pending_config).
func pending(c *engine.Call, config, running map[string]string) map[string]any {
	out, waiting, status := c.Typed(running), map[string]any{}, ""
	values := c.Typed(config)
	for key := range running {
		if _, stays := config[key]; !stays && config != nil && key != "type" {
			waiting[key], status = "deleted", "changed"
		}
	}
	for key, value := range config {
		switch now, runs := running[key]; {
		case key == "type":
			out[key] = value
		case !runs || now != value:
			waiting[key], status = values[key], "changed"
		}
	}
	switch {
	case config == nil:
		status = "deleted"
	case running == nil:
		status = "new"
	}
	if status != "" {
		out["state"], out["pending"] = status, waiting
	}
	return out
}

// names returns the objects of a list, including deleted ones that are still running.
func names(list, applied state.Sections) []string {
	all := maps.Clone(list)
	maps.Copy(all, applied)
	return slices.Sorted(maps.Keys(all))
}

func listZones(c *engine.Call) (any, error) {
	out, sdn := []map[string]any{}, c.State.SDN
	for _, name := range names(sdn.Zones, sdn.AppliedZones) {
		if c.State.CheckAny(c.Who, "/sdn/zones/"+name, "SDN.Audit", "SDN.Allocate") != nil {
			continue
		}
		zone := show(c, "zone", name, sdn.Zones, sdn.AppliedZones)
		if t := c.Str("type"); zone != nil && (t == "" || t == zone["type"]) {
			out = append(out, zone)
		}
	}
	return out, nil
}

func createZone(c *engine.Call) (any, error) {
	zones, name := c.State.SDN.Zones, c.Str("zone")
	if zones[name] != nil {
		return nil, apierr.Errorf("create sdn zone object failed: sdn zone object ID '%s' already defined", name)
	}
	if err := checkZone(c); err != nil {
		return nil, apierr.Errorf("create sdn zone object failed: %s", err)
	}
	zones[name] = c.Given("zone", "lock-token")
	return nil, nil //nolint:nilnil // The answer is null.
}

// evpnLine is the line of EvpnPlugin.pm that fails.
const evpnLine = 354

// checkZone checks the references of a zone. No controller can be created here, and the built-in IPAM is the only one.
func checkZone(c *engine.Call) error {
	if ipam := c.Str("ipam"); ipam != "" && ipam != "pve" {
		return errors.Errorf("400 Parameter verification failed.\nipam: %s not existing", ipam)
	}
	if c.Str("type") != "evpn" {
		return nil
	}
	//nolint:revive // PVE's words.
	return errors.Errorf("controller %s don't exist at /usr/share/perl5/PVE/Network/SDN/Zones/EvpnPlugin.pm line %d.", c.Str("controller"), evpnLine)
}

func getZone(c *engine.Call) (any, error) {
	sdn, name := c.State.SDN, c.Str("zone")
	if zone := show(c, "zone", name, sdn.Zones, sdn.AppliedZones); zone != nil {
		return zone, nil
	}
	return nil, apierr.Errorf("sdn '%s' does not exist", name)
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
	for _, name := range names(sdn.VNets, sdn.AppliedVNets) {
		vnet := show(c, "vnet", name, sdn.VNets, sdn.AppliedVNets)
		if vnet == nil {
			continue
		}
		zone := cmp.Or(sdn.AppliedVNets[name]["zone"], sdn.VNets[name]["zone"])
		if !c.Flag("pending") && !c.Flag("running") {
			zone = sdn.VNets[name]["zone"]
		}
		if c.State.CheckAny(c.Who, "/sdn/zones/"+zone+"/"+name, "SDN.Audit", "SDN.Allocate") == nil {
			out = append(out, vnet)
		}
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

// mayVNet checks the privileges on a virtual network, whose path includes its zone.
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
	if vnet := show(c, "vnet", name, sdn.VNets, sdn.AppliedVNets); vnet != nil {
		return vnet, nil
	}
	return nil, apierr.Errorf("sdn vnet object '%s' does not exist", name)
}

// updateVNet changes a virtual network, which always has a zone.
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

// applySDN applies all changes and makes every node reload its network.
func applySDN(c *engine.Call) (any, error) {
	return c.Spawn("reloadnetworkall", "", func(w *engine.Worker) error {
		if err := w.PauseFor("reloadnetworkall"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			st.SDN.AppliedZones, st.SDN.AppliedVNets = clone(st.SDN.Zones), clone(st.SDN.VNets)
			return nil
		})
	})
}

// clone also copies the entries, so that the running configuration stays unchanged when one of them changes.
func clone(list state.Sections) state.Sections {
	out := state.Sections{}
	for name, values := range list {
		out[name] = maps.Clone(values)
	}
	return out
}
