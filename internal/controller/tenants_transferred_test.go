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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// withOperators adds a tenant that has all permissions.
func withOperators(w *tenantWorld) {
	w.teams = append(w.teams, "ops")
	rules := w.rules
	w.rules = func() []v1alpha1.ProviderTenant {
		return append(rules(), v1alpha1.ProviderTenant{Name: "ops", Namespaces: []string{w.space("ops")}, Unrestricted: new(true)})
	}
}

// TestTenantsTransferred makes operators give VMs of team-a to team-b, by a pool that it may adopt from, and to themselves, where they stay. The
// remaining Machines of team-a do not keep them from their new Machines, and do not remove them when they are deleted. Neither do Snapshots where
// team-b may adopt.
func TestTenantsTransferred(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "handed", withOperators)
		for name, to := range map[string]struct{ team, pool string }{
			"team": {team: "b", pool: "handover"}, "operators": {team: "ops"}, "nobody": {pool: "handover"},
		} {
			old, vmid := w.transfers("a", name, to.pool)
			var successor machine.Machine
			if to.team != "" {
				successor = w.adopts(to.team, vmid)
			}
			w.edit(old, func() { old.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll}) })
			w.refused(old, fmt.Sprintf("VM %d, which is not the tenant's", vmid))
			if successor != nil {
				w.edit(successor, func() { successor.Parameters().Description = new("of the successor") })
				w.becomes(successor, "manages the VM", func() bool { return w.described(successor) == "of the successor" && isUpToDate(successor) })
			}
			n, snapshots := len(w.writes()), 1
			w.remove(w.snapshotOf("a", old.GetName()))
			if to.pool == "" { // What a team has taken, and no other team may have now, is removed.
				n, snapshots = n+1, 0
			}
			w.remove(old)
			w.wroteNothing(n)
			if g, there := w.pve.Guest(vmid); !there || len(g.Snapshots) != snapshots {
				t.Errorf("want VM %d left to team %q with %d snapshots in pool %q, got %v", vmid, to.team, snapshots, to.pool, g)
			}
			if told := w.leftBehind(old); len(told) != 1 || !strings.HasPrefix(told[0], fmt.Sprintf("VM %d is left where it is", vmid)) {
				t.Errorf("want it told that the VM stays, got %q", told)
			}
			if successor != nil {
				w.remove(successor)
			}
		}
	})
}

// TestTenantsTransferredWithoutTenant checks that a namespace that has lost its tenant does not delete a VM that another team may now adopt, and
// deletes another one.
func TestTenantsTransferredWithoutTenant(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "dissolved", func(w *tenantWorld) {
			w.rules = func() []v1alpha1.ProviderTenant {
				all := w.tenants()
				all[0].Allow, all[1].Allow = all[1].Allow, nil
				return all
			}
		})
		own := w.of("b", "own", linux())
		w.make(own)
		w.well(own)
		handed, vmid := w.transfers("b", "handed", "handover")
		w.edit(handed, func() { handed.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll}) })
		w.refused(handed, fmt.Sprintf("VM %d, which is not the tenant's", vmid))
		w.relabel("b", "dissolved")
		w.refused(own, "belongs to no tenant")
		w.remove(w.snapshotOf("b", handed.GetName()))
		w.remove(handed)
		if g, there := w.pve.Guest(vmid); !there || len(g.Snapshots) != 1 {
			t.Errorf("want VM %d left to team-a with its snapshot, got %v", vmid, g)
		}
		id := int(*own.Observation().VMID)
		w.remove(own)
		if _, there := w.pve.Guest(id); there {
			t.Errorf("want VM %d removed, which nobody else has", id)
		}
	})
}

// TestTenantsTransferredToOtherConfig makes operators give a VM of team-a to a team of another configuration for the cluster, where it stays, and
// makes that team adopt what a Machine of team-a still has, which is refused as long as that is so.
func TestTenantsTransferredToOtherConfig(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "beside", func(w *tenantWorld) {
			w.rules = func() []v1alpha1.ProviderTenant {
				all := w.tenants()
				all[1].Allow = nil // None of its tenants may adopt the VM.
				return all
			}
		})
		site := w.beside([]v1alpha1.ProviderTenant{{
			Name: "team-c", Namespaces: []string{w.space("none")}, Pools: []string{"handover"}, Storages: []string{"ceph"},
			Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}}, Allow: &v1alpha1.TenantPermissions{Adopt: []string{"handover", "team-a"}},
		}})
		old, vmid := w.transfers("a", "old", "handover")
		successor := w.ofConfig(site.GetName(), "none", "successor", v1alpha1.MachineParameters{})
		meta.SetExternalName(successor, fmt.Sprint(vmid))
		w.make(successor)
		w.well(successor)
		w.edit(old, func() { old.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll}) })
		w.refused(old, fmt.Sprintf("VM %d, which is not the tenant's", vmid))
		n := len(w.writes())
		w.remove(old)
		w.wroteNothing(n)
		if _, there := w.pve.Guest(vmid); !there {
			t.Errorf("want VM %d left to the Machine of the other configuration", vmid)
		}
		if told := w.leftBehind(old); len(told) != 1 || !strings.HasPrefix(told[0], fmt.Sprintf("VM %d is left where it is", vmid)) {
			t.Errorf("want it told that the VM stays, got %q", told)
		}
		kept := w.of("a", "kept", linux())
		w.make(kept)
		w.well(kept)
		vmid = int(*kept.Observation().VMID)
		w.edit(kept, func() {
			kept.Parameters().Networks = []v1alpha1.MachineNetwork{{Name: "office", Bridge: new("vmbr0")}}
		})
		w.refused(kept, "bridge vmbr0")
		n = len(w.writes())
		thief := w.ofConfig(site.GetName(), "none", "thief", v1alpha1.MachineParameters{})
		meta.SetExternalName(thief, fmt.Sprint(vmid))
		w.make(thief)
		w.becomes(thief, "is kept from the VM", func() bool {
			return strings.Contains(thief.GetCondition(xpv2.TypeSynced).Message, fmt.Sprintf("VM %d belongs to another", vmid))
		})
		w.wroteNothing(n)
		w.remove(thief)
	})
}

// transfers gives a team a VM with a Snapshot, changes its Machine to observe only, and moves the VM to another pool, or to none.
func (w *tenantWorld) transfers(team, name, pool string) (machine.Machine, int) {
	w.Helper()
	old := w.of(team, name, linux())
	w.make(old)
	w.well(old)
	taken := w.snapshotOf(team, old.GetName())
	w.make(taken)
	w.well(taken)
	vmid := int(*old.Observation().VMID)
	w.edit(old, func() { old.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
	w.well(old)
	w.pve.Edit(func(s *simulator.State) {
		delete(s.Guests[vmid].Config, "tags")
		for _, p := range s.Pools {
			delete(p.VMs, vmid)
		}
		if pool != "" {
			s.Pools[pool].VMs[vmid] = true
		}
	})
	return old, vmid
}

// adopts makes a team adopt a VM.
func (w *tenantWorld) adopts(team string, vmid int) machine.Machine {
	w.Helper()
	successor := w.of(team, "successor-"+team, v1alpha1.MachineParameters{})
	meta.SetExternalName(successor, fmt.Sprint(vmid))
	w.make(successor)
	w.well(successor)
	return successor
}

// TestTenantsRange checks a team whose VMs are identified only by their range, which clones, and has, a VM with such a VMID that another team may
// adopt.
func TestTenantsRange(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "ranged", func(w *tenantWorld) {
			w.rules = func() []v1alpha1.ProviderTenant {
				all := w.tenants()
				all[0].Pools = nil
				return all
			}
		})
		const uuid = "a0a0a0a0-0000-4000-8000-000000020050"
		w.pve.Edit(func(s *simulator.State) { s.Guests[20050].Config["smbios1"] = "uuid=" + uuid })
		clone := w.of("a", "clone", v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{VM: new(intstr.FromInt32(20050))}})
		named := w.of("a", "named", linux())
		meta.AddAnnotations(named, map[string]string{meta.AnnotationKeyExternalName: "20050", object.AnnotationUUID: uuid})
		w.make(clone)
		w.refused(clone, "not found")
		w.make(named)
		w.refused(named, "VM 20050")
		w.wroteNothing(0)
	})
}
