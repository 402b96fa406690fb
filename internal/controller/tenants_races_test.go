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
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestTenantsAtOnce makes two teams adopt one VM at the same time, and changes the tenant of a VM and of a namespace while a Machine changes.
func TestTenantsAtOnce(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "atonce", func(w *tenantWorld) {
			w.rules = func() []v1alpha1.ProviderTenant {
				all := w.tenants()
				all[0].Allow = &v1alpha1.TenantPermissions{Adopt: []string{"handover"}}
				heirs := *all[1].DeepCopy()
				heirs.Name, heirs.NamespaceSelector.MatchLabels = "team-c", map[string]string{"team": w.name + "-c"}
				heirs.VMIDRange, heirs.Pools, heirs.Tags = &v1alpha1.VMIDRange{Min: 40100, Max: 40199}, []string{"team-c"}, nil
				return append(all, heirs)
			}
		})
		w.adoptAtOnce()

		spec := linux()
		moved, inherited := w.of("a", "moved", spec), w.of("b", "inherited", spec)
		for _, m := range []machine.Machine{moved, inherited} {
			w.make(m)
			w.becomes(m, "is ready", func() bool { return m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue })
		}
		w.losesVM(moved, func(vmid int) {
			w.pve.Edit(func(s *simulator.State) { delete(s.Pools["team-a"].VMs, vmid) })
		}, fmt.Sprintf("VM %d, which is not the tenant's", *moved.Observation().VMID))
		w.losesVM(inherited, func(int) { w.relabel("b", w.name+"-c") }, `tenant "team-c" may not`)
	})
}

// adoptAtOnce makes two teams that may adopt the VMs of a pool try to adopt the same one at the same time, and checks that one of them has it, and
// the other changes nothing of it, even if its Machine is deleted.
func (w *tenantWorld) adoptAtOnce() {
	w.Helper()
	const vmid = 20050
	var both []machine.Machine
	for _, team := range []string{"a", "b"} {
		m := w.of(team, "adopts-"+team, v1alpha1.MachineParameters{Description: new("that of " + team)})
		meta.SetExternalName(m, fmt.Sprint(vmid))
		both = append(both, m)
	}
	w.makeAll(both)
	var winner, loser machine.Machine
	w.eventually("one team has the VM, and the other one is refused", func() bool {
		ready := w.readyOf(both)
		if len(ready) != 1 {
			return false
		}
		winner = ready[0]
		loser = both[1-slices.Index(both, winner)]
		return loser.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse
	})
	w.remove(loser)
	w.m = winner
	w.ready()
	g, there := w.pve.Guest(vmid)
	if want := *winner.Parameters().Description; !there || strings.TrimSpace(g.Config["description"]) != want {
		w.Errorf("want the VM of %s with its description, got %t, %q", winner.GetName(), there, g.Config["description"])
	}
	for _, r := range w.writes() {
		if text := fmt.Sprint(r); strings.Contains(text, *loser.Parameters().Description) {
			w.Errorf("want no write for %s, got %s", loser.GetName(), text)
		}
	}
}

// losesVM changes a Machine while its VM, or its namespace, becomes another tenant's. What was written before stays. Once the Machine is refused,
// nothing more is written.
func (w *tenantWorld) losesVM(m machine.Machine, change func(vmid int), says string) {
	w.Helper()
	vmid := int(*m.Observation().VMID)
	w.edit(m, func() { m.Parameters().Description = new("before") })
	change(vmid)
	w.edit(m, func() { m.Parameters().Description = new("meanwhile") })
	w.refused(m, says)
	n := len(w.writes())
	w.edit(m, func() { m.Parameters().Description = new("after") })
	w.refused(m, says)
	w.wroteNothing(n)
}

// relabel relabels the namespace of a team.
func (w *tenantWorld) relabel(team, value string) {
	w.Helper()
	w.label(team, map[string]string{"team": value})
}

// swapped makes Machines of team-a name the VM of team-b while they are being created, whatever the provider is about to write then.
func (w *tenantWorld) swapped() {
	w.Helper()
	n := len(w.writes())
	for i := range 2 {
		m := w.of("a", fmt.Sprintf("swapped%d", i), linux())
		w.make(m)
		swap := func() {
			meta.AddAnnotations(m, map[string]string{meta.AnnotationKeyExternalName: fmt.Sprint(victim), object.AnnotationUUID: victimUUID})
		}
		w.edit(m, swap)
		w.becomes(m, fmt.Sprintf("is refused with VMID %d", victim), func() bool {
			if meta.GetExternalName(m) != fmt.Sprint(victim) {
				w.edit(m, swap) // The provider wrote its value at the same time, and last.
			}
			return isRefused(m, fmt.Sprintf("VMID %d", victim))
		})
		w.remove(m)
	}
	for _, r := range w.writes()[n:] {
		if strings.Contains(r.Path+" ", fmt.Sprintf("/%d", victim)) || strings.Contains(fmt.Sprint(r), victimUUID) {
			w.Errorf("want no write to the VM of team-b, got %v", r)
		}
	}
	if _, there := w.pve.Guest(victim); !there {
		w.Error("the VM of team-b is gone")
	}
}

// leaves deletes a Machine whose namespace has lost its tenant during its creation, with its VM if that was seen to belong to it before.
func (w *tenantWorld) leaves(late machine.Machine) {
	w.Helper()
	w.refused(late, "belongs to no tenant")
	id, signed := late.Observation().VMID, late.Observation().RecordSignature != ""
	w.remove(late)
	if id == nil || !signed {
		return
	}
	if _, there := w.pve.Guest(int(*id)); there {
		w.Errorf("VM %d, which was seen to be the Machine's own, is left", *id)
	}
}
