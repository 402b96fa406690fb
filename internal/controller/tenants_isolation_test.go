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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/node"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestTenantsIsolation makes team-a create ProxmoxNodes, which it may not have, and write false annotations while team-b creates VMs.
func TestTenantsIsolation(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "isolation", func(w *tenantWorld) {
			w.teams = append(w.teams, "ops")
			w.rules = func() []v1alpha1.ProviderTenant {
				return append(w.tenants(), v1alpha1.ProviderTenant{Name: "ops", Namespaces: []string{w.space("ops")}, Unrestricted: new(true)})
			}
			w.pve.Edit(func(s *simulator.State) { s.Guests[strayVM].Config["memory"] = "4000000" })
		})
		w.ruled(p.version)
		w.cordons()
		w.floods()
	})
}

// ruled makes team-a label a node with a ProxmoxNode, which it may not have, and checks that the high availability rules of team-b contain only the
// nodes that operators have labelled.
func (w *tenantWorld) ruled(version string) {
	w.Helper()
	zone := map[string]string{"zone": "red"}
	w.well(w.labelled("ops", "pve1", zone))
	w.refused(w.labelled("a", "pve2", zone), "(kinds): to have a resource of kind ProxmoxNode")
	spec := linux()
	spec.PowerState = new(v1alpha1.PowerStateStopped) // High availability takes time to stop what is running.
	spec.Placement = &v1alpha1.MachinePlacement{NodeSelector: zone}
	spec.HighAvailability = &v1alpha1.MachineHighAvailability{Rules: new(v1alpha1.HARulesPlacement)}
	ruled := w.of("b", "ruled", spec)
	w.make(ruled)
	w.m = ruled
	w.ready() // Including its rules: nothing differs from what it requests.
	want := "node-affinity vm:30000 pve1 1 "
	if version == "8.4" {
		want = "group vm:30000 pve1 1"
	}
	if got := (&population{world: w.world}).rules(); !slices.Equal(got, []string{want}) {
		w.Errorf("want the rule %q, got %q", want, got)
	}
	w.remove(ruled)
}

// labelled creates a ProxmoxNode of a team that labels a node.
func (w *tenantWorld) labelled(team, name string, labels map[string]string) node.Node {
	w.Helper()
	var n node.Node = &cluster.ProxmoxNode{}
	if w.namespaced {
		n = &namespaced.ProxmoxNode{}
	}
	w.give(n, team, w.name+"-"+team+"-"+name)
	n.Parameters().NodeName, n.Parameters().Labels = &name, labels
	w.make(n)
	return n
}

// cordons makes team-a declare, with resources that it may not have, that no node accepts VMs, while team-b creates one.
func (w *tenantWorld) cordons() {
	w.Helper()
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		o := w.example("ProxmoxNode", administrators()["ProxmoxNode"])
		o.SetName(w.name + "-" + node)
		spec := map[string]any{"nodeName": node, "schedulable": false, "maxVMs": int64(0)}
		if err := unstructured.SetNestedMap(o.Object, spec, "spec", "forProvider"); err != nil {
			w.Fatal(err)
		}
		if err := w.kube.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
		w.eventually("the ProxmoxNode is refused", func() bool {
			if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				w.Fatal(err)
			}
			all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			return strings.Contains(fmt.Sprint(all), "(kinds): to have a resource of kind ProxmoxNode")
		})
	}
	placed := w.of("b", "placed", linux())
	w.make(placed)
	w.well(placed)
	w.remove(placed)
}

// floods makes team-a write into annotations that a large VM, which does not belong to it and is off, runs on each node, while team-b creates one.
func (w *tenantWorld) floods() {
	w.Helper()
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		m := w.of("a", "flood-"+node, linux())
		meta.AddAnnotations(m, map[string]string{
			meta.AnnotationKeyExternalName: "40001", object.AnnotationTarget: node, meta.AnnotationKeyReconciliationPaused: "true",
		})
		w.make(m)
		w.becomes(m, "is paused", func() bool { return m.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused })
	}
	placed := w.of("b", "beside", linux())
	w.make(placed)
	w.well(placed)
	w.remove(placed)
}
