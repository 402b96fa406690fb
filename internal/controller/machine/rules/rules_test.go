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

package rules

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const uuid = "11111111-2222-4333-8444-55555555555a"

// A pve is a Client and an Inventory of two nodes. Its old rules are the cached ones.
type pve struct {
	grouped    bool
	old, rules []proxmox.HARule
	calls      []string
}

func (p *pve) HARules(_ context.Context, maxAge time.Duration) (proxmox.HARules, error) {
	if maxAge != inventory.Fresh && p.old != nil {
		return proxmox.HARules{Grouped: p.grouped, Rules: p.old}, nil
	}
	return proxmox.HARules{Grouped: p.grouped, Rules: p.rules}, nil
}

func (p *pve) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	return []proxmox.Guest{{VMID: 100, Node: "pve1", HAState: "started"}, {VMID: 101, Node: "pve2", HAState: "started"}}, nil
}

func (p *pve) Nodes(context.Context) ([]proxmox.Node, error) {
	return []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "online"}}, nil
}

func (p *pve) AddHARule(_ context.Context, r proxmox.HARule) error {
	p.calls, p.rules = append(p.calls, "add "+r.Name), append(p.rules, r)
	return nil
}

func (p *pve) ChangeHARule(_ context.Context, r proxmox.HARule) error {
	p.calls = append(p.calls, "change "+r.Name)
	return nil
}

func (p *pve) RemoveHARule(_ context.Context, r proxmox.HARule) error {
	p.calls = append(p.calls, "remove "+r.Name)
	var rest []proxmox.HARule
	for _, has := range p.rules {
		if has.Name != r.Name {
			rest = append(rest, has)
		}
	}
	p.rules = rest
	return nil
}

// machine returns a Machine of VM 100 whose placement names pve1, with rules as given.
func machine(rules v1alpha1.HARules, enabled *bool) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "uid", Annotations: map[string]string{
		object.AnnotationUUID: uuid, meta.AnnotationKeyExternalName: "100", object.AnnotationHARules: "100",
	}}}
	m.Spec.ForProvider.HighAvailability = &v1alpha1.MachineHighAvailability{Rules: &rules, Enabled: enabled}
	m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}
	return m
}

func keeper(p *pve, machines ...object.Machine) Keeper {
	return Keeper{Client: p, Inventory: p, Members: func(context.Context) (*scheduler.Members, error) {
		return &scheduler.Members{Machines: machines}, nil
	}}
}

func vm() *vmstate.VM { return &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}} }

// kept returns the rule that the Machine's placement asks for, as a first Read finds it.
func kept(t *testing.T) proxmox.HARule {
	t.Helper()
	r, err := keeper(&pve{}).Read(t.Context(), machine(v1alpha1.HARulesPlacement, nil), qemu.Identity{UUID: uuid, VMID: 100}, vm())
	if err != nil || len(r.Steps) != 1 || r.Steps[0].Action != harules.Add {
		t.Fatalf("want one rule to be added, got %+v, %v", r.Steps, err)
	}
	return r.Steps[0].Rule
}

func TestRead(t *testing.T) {
	rule := kept(t)
	changed := rule
	changed.Nodes = []string{"pve2"}
	none := func(*namespaced.Machine) {}
	cases := map[string]struct {
		reason     string
		rules      v1alpha1.HARules
		enabled    *bool
		machine    func(*namespaced.Machine)
		grouped    bool
		old, has   []proxmox.HARule
		due        bool
		want       []harules.Action
		rejections int
	}{
		"New":  {reason: "A rule that is missing is added.", rules: v1alpha1.HARulesPlacement, due: true, want: []harules.Action{harules.Add}},
		"Kept": {reason: "A rule as it is to be stays.", rules: v1alpha1.HARulesPlacement, has: []proxmox.HARule{rule}, due: true},
		"Changed": {
			reason: "A rule of other nodes is changed.", rules: v1alpha1.HARulesPlacement, has: []proxmox.HARule{changed}, due: true,
			want: []harules.Action{harules.Change},
		},
		"Outdated": {
			reason: "Known rules that differ are read again.", rules: v1alpha1.HARulesPlacement, old: []proxmox.HARule{changed},
			has: []proxmox.HARule{rule}, due: true,
		},
		"None": {
			reason: "A rule that is no longer wanted is removed.", rules: v1alpha1.HARulesNone, has: []proxmox.HARule{rule}, due: true,
			want: []harules.Action{harules.Remove},
		},
		"Disabled": {
			reason: "Without high availability there are no rules.", rules: v1alpha1.HARulesPlacement, enabled: new(false), has: []proxmox.HARule{rule}, due: true,
			want: []harules.Action{harules.Remove},
		},
		"Never": {
			reason: "The rules of a VM that the provider never gave any are left alone.", rules: v1alpha1.HARulesNone, has: []proxmox.HARule{rule},
			machine: func(m *namespaced.Machine) { delete(m.Annotations, object.AnnotationHARules) },
		},
		"Undeclared": {
			reason: "Without the field rules are left alone.", has: []proxmox.HARule{rule},
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.HighAvailability = nil },
		},
		"Affinity": {
			reason: "PVE 8 keeps VMs neither together nor apart.", rules: v1alpha1.HARulesPlacement, grouped: true, due: true, rejections: 1,
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Placement.AntiAffinity = []v1alpha1.MachineAffinityTerm{{Group: new("web")}}
			}, want: []harules.Action{harules.Add},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := machine(tc.rules, tc.enabled)
			if tc.machine == nil {
				tc.machine = none
			}
			tc.machine(m)
			r, err := keeper(&pve{grouped: tc.grouped, old: tc.old, rules: tc.has}).Read(t.Context(), m, qemu.Identity{UUID: uuid, VMID: 100}, vm())
			if err != nil || r.Due != tc.due || len(r.Rejections) != tc.rejections {
				t.Errorf("%s Want due %t and %d rejections, got %+v, %v", tc.reason, tc.due, tc.rejections, r, err)
			}
			var got []harules.Action
			for _, s := range r.Steps {
				got = append(got, s.Action)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s Steps: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadOthers checks that a rule only names the VMs of Machines that have them.
func TestReadOthers(t *testing.T) {
	for reason, tc := range map[string]struct {
		has  bool
		want int
	}{
		"The rule is about the VMs of both Machines.":   {has: true, want: 1},
		"Of a Machine that only names a VM no rule is.": {},
	} {
		apart := func(m *namespaced.Machine) *namespaced.Machine {
			m.Labels = map[string]string{"app": "web"}
			m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{AntiAffinity: []v1alpha1.MachineAffinityTerm{{MatchLabels: m.Labels}}}
			return m
		}
		m, other := apart(machine(v1alpha1.HARulesPlacement, nil)), apart(machine(v1alpha1.HARulesPlacement, nil))
		other.Name, other.UID = "other", "uid-other"
		other.Annotations[meta.AnnotationKeyExternalName], other.Annotations[object.AnnotationHARules] = "101", "101"
		k := keeper(&pve{}, m, other)
		k.GuestCounts = func(context.Context) func(resource.Managed, proxmox.Guest) bool {
			return func(mg resource.Managed, g proxmox.Guest) bool {
				return tc.has || mg.GetUID() != "uid-other" || g.VMID != 101
			}
		}
		r, err := k.Read(t.Context(), m, qemu.Identity{UUID: uuid, VMID: 100}, vm())
		if err != nil || len(r.Affinities) != tc.want {
			t.Errorf("%s Want %d rules, got %+v, %v", reason, tc.want, r.Affinities, err)
		}
	}
}

func TestGroup(t *testing.T) {
	cases := map[string]struct {
		reason string
		rules  Rules
		group  string
		want   *string
	}{
		"New": {
			reason: "The resource names the group of its nodes.",
			rules:  Rules{Due: true, Grouped: true, Desired: harules.Desired{Name: "g", Nodes: []string{"a"}}}, want: new("g"),
		},
		"Gone": {
			reason: "The resource no longer names a group that goes.", rules: Rules{Due: true, Grouped: true, Desired: harules.Desired{Name: "g"}},
			group: "g", want: new(""),
		},
		"Theirs": {reason: "A group that somebody else has set stays.", rules: Rules{Due: true, Grouped: true, Desired: harules.Desired{Name: "g"}}, group: "x"},
		"Rules":  {reason: "PVE 9 has no groups.", rules: Rules{Due: true, Desired: harules.Desired{Name: "g", Nodes: []string{"a"}}}},
		"Idle":   {reason: "Without rules nothing is set.", rules: Rules{Grouped: true, Desired: harules.Desired{Name: "g", Nodes: []string{"a"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := vm()
			v.HA = proxmox.HASettings{"group": tc.group}
			if diff := cmp.Diff(tc.want, tc.rules.Group(v)); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAnnotation(t *testing.T) {
	m := machine(v1alpha1.HARulesPlacement, nil)
	delete(m.Annotations, object.AnnotationHARules)
	if got := (&Rules{Wanted: true}).Annotation(m, vm()); !maps.Equal(got, map[string]string{object.AnnotationHARules: "100"}) {
		t.Errorf("a VM that may be put into rules is noted, got %v", got)
	}
	if got := (&Rules{}).Annotation(m, vm()); got != nil {
		t.Errorf("a VM that is to have no rules is not noted, got %v", got)
	}
	m.Annotations[object.AnnotationHARules] = "100"
	if got := (&Rules{Wanted: true}).Annotation(m, vm()); got != nil {
		t.Errorf("what is noted is not noted again, got %v", got)
	}
}

// TestLeave checks that a VM that is removed leaves its rules, and that a VMID that another Machine has acquired meanwhile keeps them.
func TestLeave(t *testing.T) {
	rule := kept(t)
	other := machine(v1alpha1.HARulesPlacement, nil)
	other.UID = "other"
	shared := proxmox.HARule{Name: "theirs", Type: proxmox.HAResourceAffinity, Resources: []string{"vm:100", "vm:101"}, Affinity: proxmox.HANegative}
	p := &pve{rules: []proxmox.HARule{rule, shared}}
	if err := keeper(p).Leave(t.Context(), machine(v1alpha1.HARulesPlacement, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"remove " + rule.Name}, p.calls); diff != "" {
		t.Errorf("The VM's own rule is removed, and no rule of others: -want, +got:\n%s", diff)
	}
	p = &pve{grouped: true, rules: []proxmox.HARule{rule}}
	if err := keeper(p).Leave(t.Context(), machine(v1alpha1.HARulesPlacement, nil)); err != nil || len(p.calls) > 0 {
		t.Errorf("a group of PVE 8 stays as long as the resource, got %v, %v", p.calls, err)
	}
	for reason, machines := range map[string][]object.Machine{"The VMID is free.": nil, "The VMID is another Machine's.": {other}} {
		steps, err := keeper(&pve{rules: []proxmox.HARule{rule}}, machines...).Orphaned(t.Context(), machine(v1alpha1.HARulesPlacement, nil))
		if err != nil || len(steps) != 1 || steps[0].Action != harules.Remove || steps[0].Rule.Name != rule.Name {
			t.Errorf("%s Want the rule of the VM that is gone removed, got %+v, %v", reason, steps, err)
		}
	}
}
