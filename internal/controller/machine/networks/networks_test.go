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

package networks

import (
	"context"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
)

// network of a node, with a label, and whether it is applied.
func network(name, node, iface, kind, label string, applied corev1.ConditionStatus) *namespaced.NodeNetwork {
	n := &namespaced.NodeNetwork{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{"network": label}}}
	n.Spec.ForProvider.Node, n.Spec.ForProvider.Interface, n.Spec.ForProvider.Type = node, iface, kind
	if applied != "" {
		n.SetConditions(conditions.New(typeApplied, applied, "Staged", "it waits for the reload"))
	}
	return n
}

func all() []client.Object {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	other := network("elsewhere", "pve3", "vmbr20", "bridge", "storage", yes)
	other.Labels["cluster"] = "other"
	foreign := network("pve3-vmbr20", "pve3", "vmbr20", "bridge", "storage", yes)
	foreign.Namespace = "another"
	going := network("pve4-vmbr20", "pve4", "vmbr20", "bridge", "storage", yes)
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"test/keep"}
	return []client.Object{
		network("pve1-vmbr20", "pve1", "vmbr20", "bridge", "storage", yes), network("pve2-vmbr20", "pve2", "vmbr20", "OVSBridge", "storage", no),
		network("pve1-bond0", "pve1", "bond0", "bond", "storage", yes), network("pve1-vlan", "pve1", "vmbr20.5", "vlan", "storage", yes),
		network("pve1-vmbr30", "pve1", "vmbr30", "bridge", "mixed", yes), network("pve2-vmbr31", "pve2", "vmbr31", "bridge", "mixed", yes),
		network("pve1-new", "pve1", "vmbr40", "bridge", "new", ""), other, foreign, going,
	}
}

// A confinement hides one bridge, or none.
type confinement string

func (c confinement) HidesBridge(name string) bool { return string(c) == name }

func (c confinement) AmongAllowed(rule string) string {
	if c == "" {
		return ""
	}
	return " within " + rule
}

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		reason   string
		ref      v1alpha1.MachineNetworkReference
		bridge   string
		hidden   string // A bridge that the tenant may not have.
		problems []string
		lacks    map[string]string // by node; empty if the node has it
	}{
		"Name": {
			reason: "A name is that of the interface, on the nodes of the same cluster and scope on which it is applied.",
			ref:    v1alpha1.MachineNetworkReference{Name: new("vmbr20")}, bridge: "vmbr20",
			lacks: map[string]string{
				"pve1": "", "pve2": `network "lan": NodeNetwork 'pve2-vmbr20' is not applied yet (Staged)`,
				"pve3": `network "lan": no NodeNetwork has the interface 'vmbr20' of node pve3`, "pve4": "is being deleted",
			},
		},
		"Selector": {
			reason: "A selector means the bridges that it matches, not what they stand upon.", ref: selected("storage"), bridge: "vmbr20",
			lacks: map[string]string{"pve1": "", "pve2": "NodeNetwork 'pve2-vmbr20' is not applied yet (Staged)"},
		},
		"Ambiguous": {
			reason: "No bridge is guessed where there are several names.", ref: selected("mixed"),
			problems: []string{`network "lan": networkRef.selector matches NodeNetworks of several interfaces: ` +
				`vmbr30 (NodeNetwork 'pve1-vmbr30'), vmbr31 (NodeNetwork 'pve2-vmbr31')`},
		},
		"None": {
			reason: "A selector that matches no NodeNetwork is told: there is no bridge by default.", ref: selected("void"),
			problems: []string{`network "lan": networkRef.selector matches no NodeNetwork of a bridge of this cluster`},
		},
		"Hidden": {
			reason: "One that is not for the tenant is neither meant nor named.", ref: selected("mixed"), hidden: "vmbr31", bridge: "vmbr30",
			lacks: map[string]string{"pve1": "", "pve2": "no NodeNetwork has the interface 'vmbr30' of node pve2"},
		},
		"AllHidden": {
			reason: "Where all that it matches are not for the tenant it is told by which rule.", ref: selected("new"), hidden: "vmbr40",
			problems: []string{`network "lan": networkRef.selector matches no NodeNetwork of a bridge of this cluster within bridges`},
		},
		"New": {
			reason: "One that was not looked at is not applied.", ref: selected("new"), bridge: "vmbr40",
			lacks: map[string]string{"pve1": "NodeNetwork 'pve1-new' is not applied yet"},
		},
		"NoBridge": {
			reason: "No NIC is plugged into a bond.", ref: v1alpha1.MachineNetworkReference{Name: new("bond0")}, bridge: "bond0",
			lacks: map[string]string{"pve1": "NodeNetwork 'pve1-bond0' is of type bond, not a bridge"},
		},
	}
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := Reader{Kube: fake.NewClientBuilder().WithScheme(scheme).WithObjects(all()...).Build(), List: &namespaced.NodeNetworkList{}}
	same := func(context.Context) func(resource.Managed) bool {
		return func(mg resource.Managed) bool { return mg.GetLabels()["cluster"] != "other" }
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
			m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "admin", Bridge: new("vmbr0")}, {Name: "lan", NetworkRef: &tc.ref}}
			b, err := r.Resolve(t.Context(), m, same, confinement(tc.hidden))
			if err != nil {
				t.Fatal(err)
			}
			p := b.Parameters(m.Parameters())
			if got := *p.Networks[0].Bridge; got != "vmbr0" {
				t.Errorf("%s: another network has become %s", tc.reason, got)
			}
			if got := p.Networks[1].Bridge; (got == nil) != (tc.bridge == "") || got != nil && *got != tc.bridge || m.Spec.ForProvider.Networks[1].Bridge != nil {
				t.Errorf("%s: want bridge %q, got %v", tc.reason, tc.bridge, got)
			}
			if diff := cmp.Diff(tc.problems, b.Problems()); diff != "" {
				t.Errorf("%s: problems: -want, +got:\n%s", tc.reason, diff)
			}
			for node, want := range tc.lacks {
				got := b.Lacks(node)
				if (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%s: %s: want %q, got %q", tc.reason, node, want, got)
				}
				if among := b.Missing(node, []string{tc.bridge}); (len(among) == 0) != (want == "") || len(b.Missing(node, []string{"vmbr0"})) > 0 {
					t.Errorf("%s: %s: want only what is among the given ones, got %q", tc.reason, node, among)
				}
			}
		})
	}
}

func selected(label string) v1alpha1.MachineNetworkReference {
	return v1alpha1.MachineNetworkReference{Selector: &v1alpha1.NodeNetworkSelector{MatchLabels: map[string]string{"network": label}}}
}

func TestNoReferences(t *testing.T) {
	m := &namespaced.Machine{}
	m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0")}}
	b, err := Reader{}.Resolve(t.Context(), m, nil, confinement(""))
	if err != nil || b.Parameters(m.Parameters()) != m.Parameters() || b.Lacks("pve1") != "" || b.Problems() != nil ||
		b.Missing("pve1", []string{"vmbr0"}) != nil {
		t.Errorf("who names no NodeNetwork asks nobody, got %+v, %v", b, err)
	}
}
