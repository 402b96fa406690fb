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

package controller_test

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestVNets checks Machines on VNets of the software-defined network.
func TestVNets(t *testing.T) {
	t.Parallel()
	const reason = "A Machine names a VNet as it names a bridge, is made where that is in force, and says so where it is not."
	runAll(t, map[string]scenario{
		"vnet":     {reason: reason, run: onVNet},
		"vnet-old": {reason: reason, run: onVNet, version: "8.4"},
	})
}

// vnet adds a VNet in a zone of one node, in force or not.
func (w *world) vnet(name, node string, inForce bool) {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		zones := map[string]map[string]string{"zone1": {"type": "simple", "nodes": node}}
		vnets := map[string]map[string]string{name: {"zone": "zone1"}}
		s.SDN.Zones, s.SDN.VNets = zones, vnets
		s.SDN.AppliedZones, s.SDN.AppliedVNets = nil, nil
		if inForce {
			s.SDN.AppliedZones, s.SDN.AppliedVNets = zones, vnets
		}
	})
}

// usersOn returns the users of a VNet that a ProxmoxNode shows.
func usersOn(all []v1alpha1.ProxmoxNodeInterface, vnet string) string {
	for _, i := range all {
		if i.Name == vnet && i.Type == "vnet" {
			return strings.Join(i.UsedBy, ", ")
		}
	}
	return "not shown"
}

func onVNet(w *world) {
	w.mayNetwork()
	w.vnet("green", "pve2", false)
	spec := ubuntu()
	spec.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("green")}}
	w.create(spec)
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkError, "bridge 'green' not found")
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("no VM may be made while the VNet is not in force, got %v", ours)
	}
	w.vnet("green", "pve2", true)
	w.ready()
	shown := slices.ContainsFunc(w.m.Observation().Networks, func(n v1alpha1.MachineNetworkObservation) bool { return n.Name == "lan" && n.Bridge == "green" })
	if node, bridge := w.vm().Node, w.pluggedInto("net0"); node != "pve2" || bridge != "green" || !shown {
		w.Errorf("want the VM on the node that has the VNet, got it on %s with %s, and %+v", node, bridge, w.m.Observation().Networks)
	}
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve2")})
	w.make(n)
	w.becomes(n, "the Machine is among the users of the VNet", func() bool {
		return strings.HasPrefix(usersOn(n.Observation().Interfaces, "green"), "Machine ") &&
			strings.HasSuffix(usersOn(n.Observation().Interfaces, "green"), w.m.GetName())
	})
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks[0].Bridge = new("blue") })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "bridge 'blue' not found on node pve2")
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks[0].Bridge = new("green") })
	w.ready()
	w.vnet("green", "pve1", true)
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkError, "bridge 'green' not found on node pve2")
	w.vnet("green", "pve2", true)
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkReady, "")
	if bridge := w.pluggedInto("net0"); bridge != "green" {
		w.Errorf("the VM was unplugged: %s", bridge)
	}
	w.remove(n)
	w.finish()
}
