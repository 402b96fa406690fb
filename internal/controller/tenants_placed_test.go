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
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
)

// TestTenantsPlaced makes team-a name VMs of team-b, so that they seem to belong to its Machines, and checks that its VMs are not placed near them,
// and nothing that it writes about them counts for team-b.
func TestTenantsPlaced(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "placed")
		bait := w.names20050()
		w.placesBeside()
		w.eventually("the bait is older", func() bool { return time.Since(bait.GetCreationTimestamp().Time) > 2*time.Second })
		theirs := w.of("b", "theirs", v1alpha1.MachineParameters{})
		meta.SetExternalName(theirs, "20050")
		meta.AddLabels(theirs, map[string]string{"app": "theirs"})
		w.make(theirs)
		w.well(theirs)
		apart := linux()
		apart.Placement = &v1alpha1.MachinePlacement{
			Nodes: []string{"pve1"}, AntiAffinity: []v1alpha1.MachineAffinityTerm{{MatchLabels: map[string]string{"app": "theirs"}}},
		}
		w.findsNoPlace(w.of("b", "apart", apart), "a Machine is there that anti-affinity keeps away (app=theirs)")
	})
}

// names20050 makes team-a create a Machine that names a VM which team-b may adopt, with a configuration whose Secret does not exist, so that it is
// never refused.
func (w *tenantWorld) names20050() machine.Machine {
	w.Helper()
	bait := w.of("a", "bait", linux())
	meta.SetExternalName(bait, "20050")
	if m, is := bait.(*namespaced.Machine); is {
		shared := &namespaced.ClusterProviderConfig{}
		if err := w.kube.Get(w.Context(), client.ObjectKey{Name: w.config}, shared); err != nil {
			w.Fatal(err)
		}
		own := &namespaced.ProviderConfig{ObjectMeta: w.meta(), Spec: *shared.Spec.DeepCopy()}
		own.Namespace, own.Name, own.Spec.Tenants, own.Spec.TenantEnforcement = w.space("a"), "own", nil, nil
		own.Spec.Credentials = v1alpha1.ProviderCredentials{
			SecretRef: &v1alpha1.SecretOptionalKeyReference{SecretReference: v1alpha1.SecretReference{Name: "missing"}},
		}
		if err := w.kube.Create(w.Context(), own); err != nil {
			w.Fatal(err)
		}
		m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: own.Name})
	}
	w.make(bait)
	return bait
}

// placesBeside makes team-a request a place near the VM of team-b, which a Machine of team-a names that no provider reconciles.
func (w *tenantWorld) placesBeside() {
	w.Helper()
	named := map[string]string{"app": "named"}
	m := w.of("a", "named", linux())
	meta.AddAnnotations(m, map[string]string{meta.AnnotationKeyExternalName: "30001", meta.AnnotationKeyReconciliationPaused: "true"})
	meta.AddLabels(m, named)
	w.make(m)
	w.becomes(m, "is paused", func() bool { return m.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused })
	beside := linux()
	beside.Placement = &v1alpha1.MachinePlacement{Affinity: []v1alpha1.MachineAffinityTerm{{MatchLabels: maps.Clone(named)}}}
	w.findsNoPlace(w.of("a", "beside", beside), "no Machine is there that affinity requires (app=named)")
}

// findsNoPlace creates a Machine that no node can take, for a reason.
func (w *tenantWorld) findsNoPlace(m machine.Machine, why string) {
	w.Helper()
	w.make(m)
	w.becomes(m, "finds no place", func() bool {
		s := m.GetCondition(xpv2.TypeSynced)
		return s.Status == corev1.ConditionFalse && strings.Contains(s.Message, why)
	})
	w.remove(m)
}
