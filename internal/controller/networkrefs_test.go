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
	"fmt"
	"hash/fnv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	nodenets "github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestNetworkRefs checks Machines that name their bridges by NodeNetworks.
func TestNetworkRefs(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"netref":       {reason: "A Machine waits until the bridge that it names is applied on a node, and is made there.", run: awaitsBridge},
		"netref-later": {reason: "A network that is added waits for the node of the VM.", run: addsNetworkLater},
		"netref-which": {reason: "No bridge is guessed where there are several names.", run: ambiguousBridge},
	})
}

// bridge returns a NodeNetwork of the world.
func (w *world) bridge(node, name, apply string) nodenets.NodeNetwork {
	w.Helper()
	p := v1alpha1.NodeNetworkParameters{Node: node, Interface: name, Type: "bridge", ConfirmUnmappedAddresses: new(true)}
	if apply != "" {
		p.Apply = &apply
	}
	o := w.meta()
	o.Name += "-" + node + "-" + name
	var n nodenets.NodeNetwork
	if w.scope.namespaced() {
		o.Namespace = namespace
		mine := &namespaced.NodeNetwork{ObjectMeta: o}
		mine.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		n = mine
	} else {
		mine := &cluster.NodeNetwork{ObjectMeta: o}
		mine.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
		n = mine
	}
	*n.Parameters() = p
	w.make(n)
	return n
}

// iface returns the name of a bridge that no other world has. Their clusters have the same name.
func (w *world) iface(number uint32) string {
	sum := fnv.New32()
	_, _ = sum.Write([]byte(w.name))
	return fmt.Sprintf("vmbr%d", sum.Sum32()%1000000*100+number)
}

// mayNetwork allows the provider to change the networks of nodes.
func (w *world) mayNetwork() {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		s.Roles["Networker"] = &simulator.Role{Privileges: map[string]bool{"Sys.Audit": true, "Sys.Modify": true, "SDN.Audit": true, "SDN.Use": true}}
	})
	w.grant("/", "Networker")
}

func (w *world) isApplied(n nodenets.NodeNetwork) {
	w.Helper()
	w.becomes(n, "it is applied", func() bool { return n.GetCondition("Applied").Status == corev1.ConditionTrue })
}

// selecting returns a network that selects the bridges of the world.
func (w *world) selecting() v1alpha1.MachineNetwork {
	return v1alpha1.MachineNetwork{Name: "lan", NetworkRef: &v1alpha1.MachineNetworkReference{
		Selector: &v1alpha1.NodeNetworkSelector{MatchLabels: map[string]string{label: w.name}},
	}}
}

// pluggedInto returns the bridge of a NIC of the VM.
func (w *world) pluggedInto(device string) string {
	nic, err := proxmox.ParseNIC(w.vm().Config[device])
	if err != nil {
		return ""
	}
	return nic.Bridge()
}

func awaitsBridge(w *world) {
	w.mayNetwork()
	spec := ubuntu()
	spec.Networks = []v1alpha1.MachineNetwork{w.selecting()}
	w.create(spec)
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkError, "matches no NodeNetwork of a bridge of this cluster")
	second := w.bridge("pve2", w.iface(20), "Manual")
	w.says(conditions.TypeResourcesAllocated, conditions.ReasonAllocationFailed, "is not applied yet (Staged)")
	w.says(conditions.TypeResourcesAllocated, conditions.ReasonAllocationFailed, "no NodeNetwork has the interface '"+w.iface(20)+"' of node pve1")
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("no VM may be made, got %v", ours)
	}
	w.edit(second, func() { second.Parameters().Apply = new("Automatic") })
	w.isApplied(second)
	w.ready()
	if node, bridge := w.vm().Node, w.pluggedInto("net0"); node != "pve2" || bridge != w.iface(20) {
		w.Errorf("want the VM on the node that has the bridge, got it on %s with %s", node, bridge)
	}
	w.isApplied(w.bridge("pve1", w.iface(20), ""))
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve3") })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "no NodeNetwork has the interface '"+w.iface(20)+"' of node pve3")
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve1") })
	w.eventually("the VM goes where the bridge is", func() bool { return w.vm().Node == "pve1" })
	w.ready()
	w.finish()
}

func addsNetworkLater(w *world) {
	w.mayNetwork()
	spec := ubuntu()
	spec.Node = new("pve3")
	w.create(spec)
	w.ready()
	before := w.pluggedInto("net0")
	w.isApplied(w.bridge("pve1", w.iface(20), ""))
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Networks = []v1alpha1.MachineNetwork{{Name: "lan"}, {Name: "storage", NetworkRef: &v1alpha1.MachineNetworkReference{Name: new(w.iface(20))}}}
	})
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "no NodeNetwork has the interface '"+w.iface(20)+"' of node pve3")
	if got := w.pluggedInto("net1"); got != "" {
		w.Errorf("nothing may be plugged in before, got %s", got)
	}
	here := w.bridge("pve3", w.iface(20), "Manual")
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "is not applied yet (Staged)")
	w.edit(here, func() { here.Parameters().Apply = new("Automatic") })
	w.eventually("it is plugged in", func() bool { return w.pluggedInto("net1") == w.iface(20) })
	w.ready()
	if got := w.pluggedInto("net0"); got != before {
		w.Errorf("the other network was plugged into %s, and is into %s", before, got)
	}
	w.finish()
}

func ambiguousBridge(w *world) {
	w.mayNetwork()
	w.isApplied(w.bridge("pve1", w.iface(20), ""))
	w.isApplied(w.bridge("pve2", w.iface(21), ""))
	spec := ubuntu()
	spec.Networks = []v1alpha1.MachineNetwork{w.selecting()}
	w.create(spec)
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkError, "matches NodeNetworks of several interfaces: "+w.iface(20)+" (")
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkError, w.iface(21)+" (")
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", NetworkRef: &v1alpha1.MachineNetworkReference{Name: new(w.iface(21))}}}
	})
	w.ready()
	if node, bridge := w.vm().Node, w.pluggedInto("net0"); node != "pve2" || bridge != w.iface(21) {
		w.Errorf("want the VM on pve2 with the other bridge, got it on %s with %s", node, bridge)
	}
	w.finish()
}
