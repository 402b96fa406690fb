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

package ha

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A rule is an HA rule that is in force.
type rule struct {
	id        string
	resources []string
	// nodes are the nodes of a node affinity rule, with their priorities.
	nodes []string
}

// overlap returns the resources that two rules have in common.
func (r rule) overlap(resources []string) []string {
	return slices.DeleteFunc(slices.Clone(r.resources), func(sid string) bool { return !slices.Contains(resources, sid) })
}

// severalPriorities reports whether the nodes of a rule have different priorities.
func (r rule) severalPriorities() bool {
	priorities := map[string]bool{}
	for _, n := range r.nodes {
		_, priority, _ := strings.Cut(n, ":")
		priorities[priority] = true
	}
	return len(priorities) > 1
}

// rules holds the rules in force by their kinds.
type rules struct{ positive, negative, places []rule }

func rulesInForce(st *state.State) rules {
	out := rules{}
	for _, id := range slices.Sorted(maps.Keys(st.HARules)) {
		r := st.HARules[id]
		entry := rule{id: id, resources: schema.SplitList(r["resources"]), nodes: schema.SplitList(r["nodes"])}
		switch {
		case r["disable"] == "1":
		case r["type"] == "node-affinity":
			out.places = append(out.places, entry)
		case r["affinity"] == "negative":
			out.negative = append(out.negative, entry)
		default:
			out.positive = append(out.positive, entry)
		}
	}
	return out
}

// problems holds the reasons why rules cannot be satisfied, by the rules' IDs.
type problems map[string][]string

func (p problems) add(text string, list ...rule) {
	for _, r := range list {
		p[r.id] = append(p[r.id], text)
	}
}

// ruleProblems returns the reasons why rules cannot be satisfied, in the order of PVE's checks (PVE::HA::Rules::check_feasibility).
func ruleProblems(st *state.State) map[string][]string {
	out, all := problems{}, rulesInForce(st)
	out.usedTwice(all.places)
	for _, r := range slices.Concat(all.positive, all.negative) {
		if len(r.resources) < 2 {
			out.add("rule is ineffective as there are less than two resources", r)
		}
	}
	for _, r := range all.negative {
		if len(r.resources) > len(st.Nodes) {
			out.add("rule defines more resources than available nodes", r)
		}
	}
	sets := disjoint(all.positive)
	out.contradictions(sets, all.negative)
	out.priorities(slices.Concat(all.positive, all.negative), all.places)
	out.manyPlaces(sets, all.places)
	out.fewNodes(all.negative, all.places)
	return out
}

// usedTwice finds resources in more than one node affinity rule.
func (p problems) usedTwice(places []rule) {
	for _, r := range places {
		for _, other := range places {
			if common := r.overlap(other.resources); other.id != r.id && len(common) > 0 {
				p.add("resource '"+common[0]+"' is already used in another node affinity rule", r)
				break
			}
		}
	}
}

// A set holds rules that share resources.
type set struct {
	rules     []rule
	resources []string
}

// disjoint groups the rules that share resources.
func disjoint(list []rule) []*set {
	var out []*set
	for _, r := range list {
		i := slices.IndexFunc(out, func(s *set) bool { return len(r.overlap(s.resources)) > 0 })
		if i < 0 {
			out = append(out, &set{})
			i = len(out) - 1
		}
		out[i].rules = append(out[i].rules, r)
		out[i].resources = append(out[i].resources, r.resources...)
	}
	return out
}

// contradictions finds resources that must be both together and apart.
func (p problems) contradictions(sets []*set, negative []rule) {
	for _, s := range sets {
		for _, r := range negative {
			if len(r.overlap(s.resources)) > 1 {
				p.add("rule shares two or more resources with a positive resource affinity rule", r)
				p.add("rule shares two or more resources with a negative resource affinity rule", s.rules...)
			}
		}
	}
}

// priorities finds resources of other rules whose node affinity rule has several priorities.
func (p problems) priorities(list, places []rule) {
	for _, r := range list {
		paired := slices.DeleteFunc(slices.Clone(places), func(n rule) bool { return len(n.overlap(r.resources)) == 0 })
		if slices.ContainsFunc(paired, rule.severalPriorities) {
			p.add("resources are in a resource affinity rule and cannot be in a node affinity rule with multiple priorities", paired...)
			p.add("resources are in node affinity rules with multiple priorities", r)
		}
	}
}

// manyPlaces finds resources that must be together and have more than one node affinity rule.
func (p problems) manyPlaces(sets []*set, places []rule) {
	for _, s := range sets {
		paired := slices.DeleteFunc(slices.Clone(places), func(n rule) bool { return len(n.overlap(s.resources)) == 0 })
		if len(paired) > 1 {
			p.add("at least one resource is in a positive resource affinity rule and there are other resources in at least one other node"+
				" affinity rule already", paired...)
			p.add("resources are in multiple node affinity rules", s.rules...)
		}
	}
}

// fewNodes finds resources that must be apart and have fewer allowed nodes than there are resources.
func (p problems) fewNodes(negative, places []rule) {
	for _, r := range negative {
		located, nodes, paired := map[string]bool{}, map[string]bool{}, []rule{}
		for _, n := range places {
			common := n.overlap(r.resources)
			if len(common) == 0 {
				continue
			}
			paired = append(paired, n)
			for _, sid := range common {
				located[sid] = true
			}
			for _, node := range n.nodes {
				name, _, _ := strings.Cut(node, ":")
				nodes[name] = true
			}
		}
		if len(nodes) < len(located) {
			p.add("at least one resource is in a negative resource affinity rule and this rule would restrict these to less nodes than available to"+
				" the resources", paired...)
			p.add("two or more resources are restricted to less nodes than available to the resources", r)
		}
	}
}
