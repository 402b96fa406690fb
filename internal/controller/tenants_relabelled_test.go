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
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
)

// A relabelling of the namespace of a team, and what its Machines then report.
type relabelling struct {
	team   string
	labels map[string]string // An empty label is removed.
	says   string

	// successor is true if a new Machine belongs to the new tenant of the namespace.
	successor bool
}

// relabellings returns relabellings by which a namespace leaves its tenant, or gets another one in addition or instead.
func (w *tenantWorld) relabellings() map[string]relabelling {
	const nobody, several = "belongs to no tenant", "belongs to several tenants of the provider configuration, team-"
	return map[string]relabelling{
		"leaves":     {team: "b", labels: map[string]string{"team": "dissolved"}, says: nobody},
		"loseslabel": {team: "b", labels: map[string]string{"team": ""}, says: nobody},
		"changes":    {team: "b", labels: map[string]string{"team": w.space("c")}, says: `tenant "team-c" may not`, successor: true},
		"joins":      {team: "b", labels: map[string]string{"also": w.space("c")}, says: several + "b and team-d"},
		"isjoined":   {team: "a", labels: map[string]string{"team": w.space("b")}, says: several + "a and team-b"},
		"inherits":   {team: "a", labels: map[string]string{"also": w.space("c")}, says: several + "a and team-d"},
	}
}

// withSuccessors adds two tenants that select namespaces by a label each.
func withSuccessors(w *tenantWorld) {
	w.rules = func() []v1alpha1.ProviderTenant {
		all := w.tenants()
		successor := *all[1].DeepCopy()
		successor.Name, successor.VMIDRange, successor.Pools, successor.Tags = "team-c", &v1alpha1.VMIDRange{Min: 40100, Max: 40199}, nil, nil
		successor.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": w.space("c")}}
		also := *successor.DeepCopy()
		also.Name, also.VMIDRange = "team-d", &v1alpha1.VMIDRange{Min: 40200, Max: 40299}
		also.NamespaceSelector.MatchLabels = map[string]string{"also": w.space("c")}
		return append(all, successor, also)
	}
}

// TestTenantsRelabelled relabels the namespaces of teams while they have Machines, so that they leave their tenant or get another one. It checks that
// nothing is done for existing resources, or for new ones unless they belong to another tenant, and that all work continues when the namespace
// belongs to its tenant again.
func TestTenantsRelabelled(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "relabelled", withSuccessors)
		own := map[string]machine.Machine{}
		for _, team := range []string{"a", "b"} {
			own[team] = w.of(team, "own", linux())
			own[team].SetName(own[team].GetName() + team)
			w.make(own[team])
			w.well(own[team])
		}
		n, all := len(w.writes()), w.relabellings()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			r := all[name]
			was := w.label(r.team, r.labels)
			m := own[r.team]
			w.refused(m, r.says)
			w.edit(m, func() { m.Parameters().Description = new(name) })
			w.refused(m, r.says)
			if !r.successor {
				fresh := w.of(r.team, "new"+name, linux())
				w.make(fresh)
				w.refused(fresh, r.says)
				w.remove(fresh)
			}
			w.edit(m, func() { m.Parameters().Description = nil })
			w.label(r.team, was)
			w.well(m)
			w.wroteNothing(n)
		}
	})
}

// label labels the namespace of a team. It returns the labels that restore the previous ones.
func (w *tenantWorld) label(team string, labels map[string]string) map[string]string {
	w.Helper()
	ns, was := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.space(team)}}, map[string]string{}
	w.eventually("the namespace is relabelled", func() bool {
		if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(ns), ns); err != nil {
			w.Fatal(err)
		}
		for key, value := range labels {
			was[key] = ns.Labels[key]
			if ns.Labels[key] = value; value == "" {
				delete(ns.Labels, key)
			}
		}
		err := w.kube.Update(w.Context(), ns)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
	return was
}
