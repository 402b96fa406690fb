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
	"maps"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestTenantsLostCreations loses nodes while they create VMs of team-a, which only pools distinguish from others. Such a VM is in no pool yet. It is
// created again for the Machine for which it is proven to be created, and nothing about it is revealed to others.
func TestTenantsLostCreations(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "lost", func(w *tenantWorld) {
			w.rules = func() []v1alpha1.ProviderTenant {
				all := w.tenants()
				for i := range all {
					all[i].VMIDRange, all[i].Nodes = nil, nil
				}
				return all
			}
		})
		own := v1alpha1.MachineParameters{Node: new("pve2"), Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("ceph")}}}
		w.losesMachine("created", "qmcreate", "pve2", own)
		cloned := linux()
		cloned.Node = new("pve1")
		w.losesMachine("cloned", "qmclone", "pve1", cloned)
	})
}

// losesMachine loses a node while it creates the VM of a Machine of team-a.
func (w *tenantWorld) losesMachine(name, task, node string, spec v1alpha1.MachineParameters) {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) { s.Guests[9002].Node = node })
	w.pve.Inject(simulator.Fault{Task: task, Count: 1, Hold: true})
	w.m = w.of("a", name, spec)
	w.make(w.m)
	half := w.diesCreating(node)
	w.waitNotReady(w.m, conditions.ReasonNodeOffline, "name it in recreation.lostNode")
	w.takesLost(half, node)
	w.pve.Edit(func(s *simulator.State) { s.Guests[9002].Node = "pve3" })
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve3") })
	w.recreates(v1alpha1.MachineRecreation{LostNode: node, Token: "1"}, v1alpha1.ActSucceeded)
	w.becomes(w.m, "has another VM", func() bool {
		return w.m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue && w.vmid() != half
	})
	w.comesBack(half, node)
	w.delete()
	w.gone()
	if _, there := w.pve.Guest(half); !there {
		w.Errorf("want VM %d left, which is in no pool of the team's", half)
	}
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests, half) })
}

// comesBack brings the node back with what the creation has left, and checks that this is reported to the Machine for which it was created. It stays,
// because it is in no pool that shows its owner.
func (w *tenantWorld) comesBack(half int, node string) {
	w.Helper()
	uuid := w.m.Observation().Recreation.Remains[0].UUID
	w.pve.PowerOn(node)
	w.pve.Edit(func(s *simulator.State) {
		s.Guests[half].Config["smbios1"] = "uuid=" + uuid
		delete(s.Guests[half].Config, "lock")
	})
	told := func(text string) {
		w.Helper()
		w.becomes(w.m, "is told of what came back with "+text, func() bool {
			return strings.Contains(w.m.GetCondition(conditions.TypeRemainsFound).Message, text)
		})
	}
	w.rewrite(func() { meta.AddAnnotations(w.m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"}) })
	told("set recreation.removeRemains")
	w.change(func(p *v1alpha1.MachineParameters) { p.Recreation.RemoveRemains = new(true) })
	told("is left to be removed by an operator")
	w.well(w.m)
}

// takesLost makes both teams name the VM whose creation was lost as that of one of their Machines, with the signature for the one for which it was
// created.
func (w *tenantWorld) takesLost(half int, node string) {
	w.Helper()
	w.exists()
	if w.m.GetAnnotations()[object.AnnotationCreation] == "" {
		w.Fatalf("want the creation signed: %v", w.m.GetAnnotations())
	}
	n := len(w.writes())
	for _, team := range []string{"a", "b"} {
		for _, uuid := range []string{w.m.GetAnnotations()[object.AnnotationUUID], "d0d0d0d0-0000-4000-8000-0000000d0d0d"} {
			spec := v1alpha1.MachineParameters{Recreation: &v1alpha1.MachineRecreation{LostNode: node, Token: "theirs", RemoveRemains: new(true)}}
			m := w.of(team, fmt.Sprintf("thief%d", half), spec)
			forged := maps.Clone(w.m.GetAnnotations())
			forged[object.AnnotationUUID] = uuid
			meta.AddAnnotations(m, forged)
			w.make(m)
			w.becomes(m, "is refused", func() bool { return m.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse })
			w.toldNothing(m, node)
			w.forgeStatus(m, func() { m.Observation().VMID, m.Observation().UUID = new(int32(half)), uuid })
			w.edit(m, func() { meta.AddAnnotations(m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"}) })
			w.becomes(m, "is refused again", func() bool { return m.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse })
			w.toldNothing(m, node)
			w.remove(m)
		}
	}
	w.wroteNothing(n)
}

// toldNothing checks that a Machine learns nothing about a VM that does not belong to it, and keeps naming it.
func (w *tenantWorld) toldNothing(m machine.Machine, node string) {
	w.Helper()
	if text := described(m); strings.Contains(text, node) {
		w.Errorf("%s tells where a VM is: %s", m.GetName(), text)
	}
	if m.Observation().Recreation != nil || meta.GetExternalName(m) != meta.GetExternalName(w.m) {
		w.Errorf("want nothing created again for %s, got %+v, VM %s", m.GetName(), m.Observation().Recreation, meta.GetExternalName(m))
	}
}
