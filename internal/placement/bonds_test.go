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

package placement

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// bondsOf returns bonds as texts: their kind and their members.
func bondsOf(bonds []Bond) []string {
	var all []string
	for _, b := range bonds {
		text := "together"
		if b.Apart {
			text = "apart"
		}
		for _, o := range b.Members {
			text += " " + o.ID
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func TestBonds(t *testing.T) {
	app := func(name string) v1alpha1.MachineAffinityTerm {
		return v1alpha1.MachineAffinityTerm{MatchLabels: map[string]string{"app": name}}
	}
	preferred := func(t v1alpha1.MachineAffinityTerm) v1alpha1.MachineAffinityTerm {
		t.Required = new(false)
		return t
	}
	machine := func(id, name, node string, r v1alpha1.MachinePlacement) Occupant {
		return Occupant{ID: id, Namespace: "team", Labels: map[string]string{"app": name}, Node: node, Rules: r}
	}
	away := func(terms ...v1alpha1.MachineAffinityTerm) v1alpha1.MachinePlacement {
		return v1alpha1.MachinePlacement{AntiAffinity: terms}
	}
	with := func(terms ...v1alpha1.MachineAffinityTerm) v1alpha1.MachinePlacement {
		return v1alpha1.MachinePlacement{Affinity: terms}
	}
	spread := func(group string, rule *v1alpha1.PlacementSpreadRule) v1alpha1.MachinePlacement {
		return v1alpha1.MachinePlacement{Group: &group, Spread: rule}
	}
	must := new(v1alpha1.SpreadRequired)
	none := v1alpha1.MachinePlacement{}
	cases := map[string]struct {
		reason string
		all    []Occupant
		want   map[string][]string // by the ID of the requesting Machine
	}{
		"None": {reason: "Who has no rules is free.", all: []Occupant{machine("a", "x", "n1", none), machine("b", "x", "n1", none)}},
		"Group": {
			reason: "Machines of a group that require its spreading are one bond.",
			all: []Occupant{
				machine("a", "x", "n1", spread("g", must)), machine("b", "x", "n2", spread("g", must)), machine("c", "x", "n3", spread("g", must)),
				machine("d", "x", "n3", spread("h", must)),
			},
			want: map[string][]string{"a": {"apart a b c"}, "b": {"apart a b c"}, "c": {"apart a b c"}},
		},
		"GroupPreferred": {reason: "A preference is no bond.", all: []Occupant{machine("a", "x", "n1", spread("g", nil)), machine("b", "x", "n2", spread("g", nil))}},
		"GroupMixed": {
			reason: "Whoever requires it is kept from each of the others, who are not kept from each other.",
			all:    []Occupant{machine("a", "x", "n1", spread("g", must)), machine("b", "x", "n2", spread("g", nil)), machine("c", "x", "n2", spread("g", nil))},
			want:   map[string][]string{"a": {"apart a b", "apart a c"}, "b": {"apart a b"}, "c": {"apart a c"}},
		},
		"Alone": {reason: "One alone is no bond.", all: []Occupant{machine("a", "x", "n1", spread("g", must))}},
		"OtherNamespace": {
			reason: "Other namespaces do not count.",
			all:    []Occupant{machine("a", "x", "n1", spread("g", must)), {ID: "b", Namespace: "other", Rules: spread("g", must)}},
		},
		"Unowned": {
			reason: "What is no Machine does not count.", all: []Occupant{machine("a", "x", "n1", spread("g", must)), {Namespace: "team", Rules: spread("g", must)}},
		},
		"Apart": {
			reason: "Machines that keep away from each other by the same term are one bond.",
			all:    []Occupant{machine("a", "x", "n1", away(app("x"))), machine("b", "x", "n2", away(app("x"))), machine("c", "y", "n2", none)},
			want:   map[string][]string{"a": {"apart a b"}, "b": {"apart a b"}},
		},
		"ApartFromOthers": {
			reason: "A rule that one has is a bond with each of those that it means, who may be together.",
			all:    []Occupant{machine("a", "web", "n1", away(app("db"))), machine("b", "db", "n2", none), machine("c", "db", "n2", none)},
			want:   map[string][]string{"a": {"apart a b", "apart a c"}, "b": {"apart a b"}, "c": {"apart a c"}},
		},
		"ApartBothWays": {
			reason: "Two rules for the same two are one bond.",
			all:    []Occupant{machine("a", "web", "n1", away(app("db"))), machine("b", "db", "n2", away(app("web")))},
			want:   map[string][]string{"a": {"apart a b"}, "b": {"apart a b"}},
		},
		"ApartPartly": {
			reason: "Who is meant without having the term is kept from each of those that have it.",
			all:    []Occupant{machine("a", "x", "n1", away(app("x"))), machine("b", "x", "n2", away(app("x"))), machine("c", "x", "n3", none)},
			want:   map[string][]string{"a": {"apart a b", "apart a c"}, "b": {"apart a b", "apart b c"}, "c": {"apart a c", "apart b c"}},
		},
		"ApartPreferred": {
			reason: "A preference is no bond.",
			all:    []Occupant{machine("a", "x", "n1", away(preferred(app("x")))), machine("b", "x", "n2", away(preferred(app("x"))))},
		},
		"Held": {
			reason: "Machines that a bond of more holds need none of their own.",
			all: []Occupant{
				machine("a", "x", "n1", v1alpha1.MachinePlacement{Group: new("g"), Spread: must, AntiAffinity: []v1alpha1.MachineAffinityTerm{app("y")}}),
				machine("b", "y", "n2", spread("g", must)),
			},
			want: map[string][]string{"a": {"apart a b"}, "b": {"apart a b"}},
		},
		"Together": {
			reason: "Machines that attract each other by the same term are one bond.",
			all:    []Occupant{machine("a", "x", "n1", with(app("x"))), machine("b", "x", "n1", with(app("x"))), machine("c", "x", "n2", with(app("x")))},
			want:   map[string][]string{"a": {"together a b c"}, "b": {"together a b c"}, "c": {"together a b c"}},
		},
		"Follows": {
			reason: "Who has to be with any of several is kept with one that it is with.",
			all: []Occupant{
				machine("a", "web", "n2", with(app("db"))), machine("b", "db", "n1", none), machine("c", "db", "n2", none),
				machine("d", "db", "n2", none),
			},
			want: map[string][]string{"a": {"together a c"}, "c": {"together a c"}},
		},
		"FollowsNobody": {
			reason: "Who is not where the others are is not moved there.",
			all:    []Occupant{machine("a", "web", "n2", with(app("db"))), machine("b", "db", "n1", none)},
		},
		"FollowsPreferably": {
			reason: "A preference is no bond.",
			all:    []Occupant{machine("a", "web", "n1", with(preferred(app("db")))), machine("b", "db", "n1", none)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for i, self := range tc.all {
				if self.ID == "" {
					continue
				}
				others := slices.Concat(tc.all[i+1:], tc.all[:i])
				if diff := cmp.Diff(tc.want[self.ID], bondsOf(Bonds(self, others))); diff != "" {
					t.Errorf("\n%s\nbonds of %s: -want, +got:\n%s", tc.reason, self.ID, diff)
				}
			}
		})
	}
}

// TestBondsAreSymmetric checks that all members find the same bond with the same key. Otherwise they would undo each other's rules in turn.
func TestBondsAreSymmetric(t *testing.T) {
	term := v1alpha1.MachineAffinityTerm{MatchLabels: map[string]string{"app": "x"}}
	all := []Occupant{
		{
			ID: "a", Node: "n1", Labels: map[string]string{"app": "x"},
			Rules: v1alpha1.MachinePlacement{Group: new("g"), AntiAffinity: []v1alpha1.MachineAffinityTerm{{Group: new("g")}, term}},
		},
		{
			ID: "b", Node: "n2", Labels: map[string]string{"app": "x"},
			Rules: v1alpha1.MachinePlacement{Group: new("g"), Spread: new(v1alpha1.SpreadRequired), AntiAffinity: []v1alpha1.MachineAffinityTerm{term}},
		},
		{
			ID: "c", Node: "n1", Labels: map[string]string{"app": "y"},
			Rules: v1alpha1.MachinePlacement{Group: new("g"), Affinity: []v1alpha1.MachineAffinityTerm{{Group: new("g"), MatchLabels: map[string]string{"app": "x"}}}},
		},
		{ID: "d", Node: "n1", Rules: v1alpha1.MachinePlacement{Affinity: []v1alpha1.MachineAffinityTerm{term}}},
	}
	found := map[string]map[string]int{}
	for i, self := range all {
		for _, b := range Bonds(self, slices.Concat(all[:i], all[i+1:])) {
			text := b.Key + ": " + bondsOf([]Bond{b})[0]
			if found[text] == nil {
				found[text] = map[string]int{}
			}
			found[text][self.ID] = len(b.Members)
		}
	}
	if len(found) == 0 {
		t.Fatal("no bonds were found")
	}
	for text, by := range found {
		for _, members := range by {
			if members != len(by) {
				t.Errorf("%s: only %d of %d members find it", text, len(by), members)
			}
		}
	}
}

func TestAllowed(t *testing.T) {
	nodes := []Node{
		{Name: "c", Labels: map[string]string{"zone": "1"}, Status: "offline"},
		{Name: "a", Labels: map[string]string{"zone": "1"}, Cordoned: true},
		{Name: "b"},
	}
	cases := map[string]struct {
		reason  string
		rules   v1alpha1.MachinePlacement
		want    []string
		limited bool
	}{
		"All": {reason: "Without a rule there is no limit."},
		"List": {
			reason: "A list counts by those of its nodes that exist.", rules: v1alpha1.MachinePlacement{Nodes: []string{"b", "a", "x"}},
			want: []string{"a", "b"}, limited: true,
		},
		"Selector": {
			reason: "What passes, such as a node that is off or cordoned, does not count.",
			rules:  v1alpha1.MachinePlacement{NodeSelector: map[string]string{"zone": "1"}}, want: []string{"a", "c"}, limited: true,
		},
		"Both": {
			reason: "The list and the selector both have to hold.",
			rules:  v1alpha1.MachinePlacement{Nodes: []string{"b", "c"}, NodeSelector: map[string]string{"zone": "1"}}, want: []string{"c"},
			limited: true,
		},
		"Nothing": {reason: "A list may leave no node.", rules: v1alpha1.MachinePlacement{Nodes: []string{"x"}}, want: []string{}, limited: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, limited := Allowed(tc.rules, nodes)
			if diff := cmp.Diff(tc.want, got); diff != "" || limited != tc.limited {
				t.Errorf("\n%s\nlimited %t: -want, +got:\n%s", tc.reason, limited, diff)
			}
		})
	}
}
