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
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Bond is a required rule between Machines of one namespace.
type Bond struct {
	// Key identifies the bond within a namespace. It is the same for all members.
	Key string

	// Apart is true if no two members may be on one node. Otherwise all must be on the same node.
	Apart bool

	// Members of the bond, two or more, sorted by their IDs.
	Members []Occupant
}

// Bonds returns the bonds of a Machine with others. Machines with the same rule about each other are one bond, and so are those of a group that require
// its spreading. A rule of only one of two Machines is a bond of the two. An affinity to any one of several Machines is a bond with one on the same
// node, if there is one. All members compute the same bond.
func Bonds(self Occupant, others []Occupant) []Bond {
	b := bonding{self: self, all: slices.DeleteFunc(slices.Clone(others), func(o Occupant) bool {
		return o.ID == "" || o.ID == self.ID || o.Namespace != self.Namespace
	})}
	b.all = append(b.all, self)
	slices.SortFunc(b.all, func(a, b Occupant) int { return cmp.Compare(a.ID, b.ID) })
	b.mutual()
	for _, o := range b.all {
		if o.ID == self.ID {
			continue
		}
		if b.keepsAway(self, o) || b.keepsAway(o, self) {
			b.pair(o, true)
		}
		if b.follows(self, o) || b.follows(o, self) {
			b.pair(o, false)
		}
	}
	return b.bonds
}

// Bound reports whether a Machine has rules that may bind it to others.
func Bound(r v1alpha1.MachinePlacement) bool {
	return spreadRequired(r) || slices.ContainsFunc(r.Affinity, required) || slices.ContainsFunc(r.AntiAffinity, required)
}

// Allowed returns the nodes that a Machine's list and selector allow, sorted by name. The second result is false if it has neither.
func Allowed(r v1alpha1.MachinePlacement, nodes []Node) ([]string, bool) {
	if len(r.Nodes)+len(r.NodeSelector) == 0 {
		return nil, false
	}
	p := problem{Request: Request{Rules: r}}
	names := []string{}
	for _, n := range nodes {
		if listed(p, n).Reason == "" && selected(p, n).Reason == "" {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names, true
}

// bonding finds the bonds of self among all, which are sorted by their IDs.
type bonding struct {
	self  Occupant
	all   []Occupant
	bonds []Bond
}

// add adds a bond of all Machines that belong to it, if self does and is not the only one.
func (b *bonding) add(key string, apart bool, belongs func(Occupant) bool) {
	members := slices.DeleteFunc(slices.Clone(b.all), func(o Occupant) bool { return !belongs(o) })
	known := slices.ContainsFunc(b.bonds, func(x Bond) bool { return x.Key == key })
	if len(members) > 1 && belongs(b.self) && !known {
		b.bonds = append(b.bonds, Bond{Key: key, Apart: apart, Members: members})
	}
}

// mutual adds the bonds of Machines with the same rule about each other.
func (b *bonding) mutual() {
	b.add("group "+group(b.self.Rules), true, func(o Occupant) bool {
		return spreadRequired(o.Rules) && group(o.Rules) == group(b.self.Rules)
	})
	for _, t := range b.self.Rules.AntiAffinity {
		b.add(key("apart", t), true, func(o Occupant) bool { return matches(t, o) && has(o.Rules.AntiAffinity, t) })
	}
	for _, t := range b.self.Rules.Affinity {
		b.add(key("together", t), false, func(o Occupant) bool { return matches(t, o) && has(o.Rules.Affinity, t) })
	}
}

// pair adds a bond of two, unless a larger bond already contains them.
func (b *bonding) pair(o Occupant, apart bool) {
	held := slices.ContainsFunc(b.bonds, func(x Bond) bool {
		return x.Apart == apart && slices.ContainsFunc(x.Members, func(m Occupant) bool { return m.ID == o.ID })
	})
	if held {
		return
	}
	kind := "together"
	if apart {
		kind = "apart"
	}
	b.add(fmt.Sprintf("%s %s %s", kind, min(b.self.ID, o.ID), max(b.self.ID, o.ID)), apart, func(m Occupant) bool {
		return m.ID == o.ID || m.ID == b.self.ID
	})
}

// keepsAway reports whether the rules of one Machine keep the other away.
func (b *bonding) keepsAway(one, other Occupant) bool {
	return spreadRequired(one.Rules) && group(one.Rules) == group(other.Rules) ||
		slices.ContainsFunc(one.Rules.AntiAffinity, func(t v1alpha1.MachineAffinityTerm) bool { return required(t) && matches(t, other) })
}

// follows reports whether one Machine has its node because of the other.
func (b *bonding) follows(one, other Occupant) bool {
	return slices.ContainsFunc(one.Rules.Affinity, func(t v1alpha1.MachineAffinityTerm) bool {
		return required(t) && matches(t, other) && b.leader(one, t) == other.ID
	})
}

// leader returns the ID of the Machine that another one is placed with by a term: the first match on the same node. It is empty if a match has the term
// too, since they are one bond.
func (b *bonding) leader(one Occupant, t v1alpha1.MachineAffinityTerm) string {
	first := ""
	for _, o := range b.all {
		switch {
		case o.ID == one.ID || !matches(t, o):
		case matches(t, one) && has(o.Rules.Affinity, t):
			return ""
		case first == "" && o.Node == one.Node:
			first = o.ID
		}
	}
	return first
}

// has reports whether a required term is in the list.
func has(terms []v1alpha1.MachineAffinityTerm, t v1alpha1.MachineAffinityTerm) bool {
	return required(t) && slices.ContainsFunc(terms, func(o v1alpha1.MachineAffinityTerm) bool { return required(o) && key("", o) == key("", t) })
}

// key returns a key of a term, which is the same for all Machines that have the term.
func key(kind string, t v1alpha1.MachineAffinityTerm) string {
	t.Required = nil
	text, err := json.Marshal(t)
	if err != nil {
		return kind // Strings can always be encoded.
	}
	return kind + " " + string(text)
}
