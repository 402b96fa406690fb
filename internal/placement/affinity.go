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

// peers yields the occupants that are Machines of the same namespace.
func (p problem) peers(yield func(Occupant) bool) {
	for _, o := range p.occupants {
		if o.ID != "" && o.ID != p.ID && o.Namespace == p.Namespace && !yield(o) {
			return
		}
	}
}

// self returns the requesting Machine as others see it.
func (p problem) self() Occupant { return Occupant{Labels: p.Labels, Rules: p.Rules} }

// matches reports whether a Machine is one that the term means. A term that cannot
// be read matches none: the API does not let it in.
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

// count counts the Machines that a term means, on one node and in all.
func (p problem) count(t v1alpha1.MachineAffinityTerm, node string) (here, all int) {
	for o := range p.peers {
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

// together checks the required affinity. The first of Machines that attract each
// other may go anywhere.
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

// apart checks the required anti-affinity, this Machine's and that of the others
// towards it.
func apart(p problem, n Node) Rejection {
	for _, t := range p.Rules.AntiAffinity {
		if here, _ := p.count(t, n.Name); required(t) && here > 0 {
			return against(Excluded, "a Machine is there that anti-affinity keeps away (%s)", describe(t))
		}
	}
	for o := range p.peers {
		for _, t := range o.Rules.AntiAffinity {
			if o.Node == n.Name && required(t) && matches(t, p.self()) {
				return against(Excluded, "the anti-affinity of a Machine there keeps this one away (%s)", describe(t))
			}
		}
	}
	return Rejection{}
}

// spread checks a group that must not have two Machines on one node, whichever of
// the two says so.
func spread(p problem, n Node) Rejection {
	if group(p.Rules) == "" {
		return Rejection{}
	}
	for o := range p.peers {
		if o.Node == n.Name && group(o.Rules) == group(p.Rules) && (spreadRequired(p.Rules) || spreadRequired(o.Rules)) {
			return Rejection{Kind: Excluded, Reason: "a Machine of group " + group(p.Rules) + " is there"}
		}
	}
	return Rejection{}
}

// penalty returns how much a node is against the preferences: one for each Machine to
// stay away from, and one for each term of affinity that is not met.
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
	for o := range p.peers {
		if group(p.Rules) != "" && o.Node == node && group(o.Rules) == group(p.Rules) {
			n++
		}
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func list(s []string) string { return strings.Join(s, ", ") }
