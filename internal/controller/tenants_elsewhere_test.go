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
	"maps"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// An otherConfig is a provider configuration that a Machine of team-a changes to, and what the Machine then reports.
type otherConfig struct {
	kind, name string // The kind is the one for namespaced Machines.
	says       string
}

// configurations returns configurations other than that of the tenants, where their limits would not apply.
func (w *tenantWorld) configurations() map[string]otherConfig {
	w.Helper()
	const common, own = "ClusterProviderConfig", "ProviderConfig"
	free := w.beside(nil)
	warns := w.besideAs("warns", func(s *v1alpha1.ProviderConfigSpec) { s.TenantEnforcement = new(v1alpha1.TenantWarn) })
	others := w.besideAs("others", func(s *v1alpha1.ProviderConfigSpec) { s.Tenants = s.Tenants[1:] })
	all := map[string]otherConfig{
		"free":    {kind: common, name: free.GetName(), says: "has no tenants, while another of the same cluster has"},
		"warns":   {kind: common, name: warns.GetName(), says: `tenant "team-a" may not (nodes): no VM on node pve3`},
		"others":  {kind: common, name: others.GetName(), says: "belongs to no tenant"},
		"missing": {kind: common, name: w.name + "-missing", says: "does not exist"},
	}
	if !w.namespaced {
		return all
	}
	guessed := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.space("a"), Name: "guessed"}, StringData: map[string]string{
		"tokenID": "crossplane@pve!demo", "tokenSecret": "00000000-0000-4000-8000-000000000000",
	}}
	guesses := &namespaced.ProviderConfig{ObjectMeta: w.meta(), Spec: *free.Settings().DeepCopy()}
	guesses.Namespace, guesses.Name = w.space("a"), w.config
	guesses.Spec.Credentials = v1alpha1.ProviderCredentials{
		SecretRef: &v1alpha1.SecretOptionalKeyReference{SecretReference: v1alpha1.SecretReference{Name: guessed.Name}},
	}
	for _, o := range []client.Object{guessed, guesses} {
		if err := w.kube.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
	all["ownkind"] = otherConfig{kind: own, name: guesses.Name, says: ""}
	all["ownmissing"] = otherConfig{kind: own, name: free.GetName(), says: "does not exist"}
	return all
}

// names makes a Machine name a provider configuration.
func (w *tenantWorld) names(m machine.Machine, kind, name string) {
	w.Helper()
	switch m := m.(type) {
	case *namespaced.Machine:
		m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: kind, Name: name})
	case *cluster.Machine:
		m.SetProviderConfigReference(&xpv2.Reference{Name: name})
	default:
		w.Fatalf("a %T names no configuration", m)
	}
}

// TestTenantsElsewhere makes a Machine of team-a, which has a VM, name a configuration where the limits of its tenant would not apply, and request
// what these forbid. It checks that nothing is written, that the VM always counts in the quota, and that it stays if the Machine is then deleted.
func TestTenantsElsewhere(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "elsewhere", withQuota(v1alpha1.TenantQuota{VMs: new(int32(1))}))
		w.m = w.of("a", "own", linux())
		w.make(w.m)
		w.ready()
		before := w.m.DeepCopyObject().(machine.Machine)
		more := w.of("a", "more", linux())
		w.make(more)
		w.waitsForRoom(more, "vms: 1 more, of 1 1 are used by 1 resource")
		n, all := len(w.writes()), w.configurations()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			w.namesElsewhere(name, all[name])
			w.wroteNothing(n)
			w.rewrite(func() { w.names(w.m, "ClusterProviderConfig", w.config) })
			w.isAgain(before)
			w.ready()
			w.wroteNothing(n)
		}
		w.namesElsewhere("free", all["free"])
		w.delete()
		w.gone()
		w.wroteNothing(n)
		if told := w.leftBehind(w.m); len(told) == 0 || !strings.Contains(told[0], "VM 20000 is left where it is") {
			t.Errorf("want it told that the VM stays, got %q", told)
		}
		if _, there := w.pve.Guest(20000); !there {
			t.Error("the VM is gone")
		}
		w.waitsForRoom(more, "vms: 1 more, of 1 1 are used by")
		w.pve.Edit(func(s *simulator.State) {
			delete(s.Guests, 20000)
			delete(s.Pools["team-a"].VMs, 20000)
		})
		w.well(more)
	})
}

// namesElsewhere makes the Machine name a configuration, and request what its tenant may not have, until both are refused.
func (w *tenantWorld) namesElsewhere(name string, to otherConfig) {
	w.Helper()
	w.rewrite(func() {
		w.names(w.m, to.kind, to.name)
		w.m.Parameters().Node, w.m.Parameters().CPU = new("pve3"), &v1alpha1.MachineCPU{Cores: new(int32(8))}
	})
	w.becomes(w.m, "is kept from "+name, func() bool {
		s := w.m.GetCondition(xpv2.TypeSynced)
		return s.Status == corev1.ConditionFalse && strings.Contains(s.Message, to.says) && s.ObservedGeneration == w.m.GetGeneration()
	})
}
