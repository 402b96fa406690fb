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
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// among yields the other Machines of the same namespace that a function selects.
func (p problem) among(find func(*peers) map[string]bool) func(yield func(Occupant) bool) {
	return func(yield func(Occupant) bool) {
		of := p.occupancy.namespaces[p.Namespace]
		if of == nil {
			return
		}
		for id := range find(of) {
			if id != p.ID && !yield(p.occupancy.machines[id]) {
				return
			}
		}
	}
}

func everyone(of *peers) map[string]bool { return of.all }

func keepingAway(of *peers) map[string]bool { return of.keepAway }

func members(group string) func(*peers) map[string]bool {
	return func(of *peers) map[string]bool { return of.groups[group] }
}

// meant yields a set of Machines that includes all that a term matches.
func (p problem) meant(t v1alpha1.MachineAffinityTerm) func(yield func(Occupant) bool) {
	if t.Group != nil && *t.Group != "" {
		return p.among(members(*t.Group))
	}
	return p.among(everyone)
}

// self returns the requesting Machine as an occupant.
func (p problem) self() Occupant { return Occupant{Labels: p.Labels, Rules: p.Rules} }

// matches reports whether a term matches a Machine. A term that cannot be parsed matches none: the API refuses it.
func matches(t v1alpha1.MachineAffinityTerm, o Occupant) bool {
	if t.Group != nil && *t.Group != group(o.Rules) {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: t.MatchLabels, MatchExpressions: t.MatchExpressions})
	return err == nil && s.Matches(labels.Set(o.Labels))
}

func required(t v1alpha1.MachineAffinityTerm) bool { return t.Required == nil || *t.Required }

func group(r v1alpha1.MachinePlacement) string {
	if r.Group == nil {
		return ""
	}
	return *r.Group
}

func spreadRequired(r v1alpha1.MachinePlacement) bool {
	return group(r) != "" && r.Spread != nil && *r.Spread == v1alpha1.SpreadRequired
}

// describe describes a term for messages.
func describe(t v1alpha1.MachineAffinityTerm) string {
	var parts []string
	if t.Group != nil {
		parts = append(parts, "group "+*t.Group)
	}
	selector := metav1.LabelSelector{MatchLabels: t.MatchLabels, MatchExpressions: t.MatchExpressions}
	if len(t.MatchLabels)+len(t.MatchExpressions) > 0 {
		parts = append(parts, metav1.FormatLabelSelector(&selector))
	}
	return strings.Join(parts, " and ")
}

// count counts the Machines that a term matches, on one node and in total.
func (p problem) count(t v1alpha1.MachineAffinityTerm, node string) (here, all int) {
	for o := range p.meant(t) {
		if !matches(t, o) {
			continue
		}
		all++
		if o.Node == node {
			here++
		}
	}
	return here, all
}

// together checks the required affinity. The first of several Machines that attract each other may use any node.
func together(p problem, n Node) Rejection {
	for _, t := range p.Rules.Affinity {
		here, all := p.count(t, n.Name)
		if !required(t) || here > 0 || all == 0 && matches(t, p.self()) {
			continue
		}
		return against(Excluded, "no Machine is there that affinity requires (%s)", describe(t))
	}
	return Rejection{}
}

// apart checks the required anti-affinity of this Machine and that of others against it.
func apart(p problem, n Node) Rejection {
	for _, t := range p.Rules.AntiAffinity {
		if here, _ := p.count(t, n.Name); required(t) && here > 0 {
			return against(Excluded, "a Machine is there that anti-affinity keeps away (%s)", describe(t))
		}
	}
	var terms []string
	for o := range p.among(keepingAway) {
		for _, t := range o.Rules.AntiAffinity {
			if o.Node == n.Name && required(t) && matches(t, p.self()) {
				terms = append(terms, describe(t))
			}
		}
	}
	if len(terms) == 0 {
		return Rejection{}
	}
	return against(Excluded, "the anti-affinity of a Machine there keeps this one away (%s)", slices.Min(terms))
}

// spread checks that no node gets two Machines of a group, whichever of the two requires it.
func spread(p problem, n Node) Rejection {
	if group(p.Rules) == "" {
		return Rejection{}
	}
	for o := range p.among(members(group(p.Rules))) {
		if o.Node == n.Name && (spreadRequired(p.Rules) || spreadRequired(o.Rules)) {
			return Rejection{Kind: Excluded, Reason: "a Machine of group " + group(p.Rules) + " is there"}
		}
	}
	return Rejection{}
}

// penalty returns how much the preferences speak against a node: one for each Machine to avoid, and one for each term of affinity that is not met.
func (p problem) penalty(node string) int {
	n := 0
	for _, t := range p.Rules.AntiAffinity {
		if here, _ := p.count(t, node); !required(t) {
			n += here
		}
	}
	for _, t := range p.Rules.Affinity {
		if here, all := p.count(t, node); !required(t) && here == 0 && all > 0 {
			n++
		}
	}
	return n + p.groupOn(node)
}

func (p problem) groupOn(node string) int {
	n := 0
	for o := range p.among(members(group(p.Rules))) {
		if o.Node == node {
			n++
		}
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func list(s []string) string { return strings.Join(s, ", ") }
