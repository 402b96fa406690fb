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

// Package harules decides which HA rules of Proxmox VE a VM needs, and which calls create them. It makes no calls itself.
package harules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// namePrefix begins the names of the provider's rules and groups. No other rule is changed. The name of one VM's rule has the VM's UUID. The name of a
// rule for several VMs has a hash of its creator's UID, so that it differs from the rules of another control plane with the same namespaces, which have
// none of our VMs.
const namePrefix = "crossplane-"

// reSharedRule matches the names of rules for several VMs.
var reSharedRule = regexp.MustCompile(`^` + namePrefix + `(apart|together)-[0-9a-f]{12}-[0-9a-f]{8}$`)

// migratedGroup begins the names of rules that PVE 9 creates from groups of PVE 8.
const migratedGroup = "ha-group-"

// Desired describes the desired HA rules of a VM. Without Nodes and Affinities, no rule is desired.
type Desired struct {
	// SID is the VM's name in HA.
	SID string

	// Name is the name of the VM's own rule.
	Name string

	// ownerSuffix ends the names of shared rules whose first VM this is.
	ownerSuffix string

	// Nodes that the VM may run on, or nil.
	Nodes []string

	// Owner is the comment of the VM's own rule, which names its owner.
	Owner string

	// Affinities with other VMs.
	Affinities []Affinity

	// Managed has the VMs that HA is known to manage.
	Managed map[string]bool

	// Machines has the VMs of all Machines.
	Machines map[string]bool
}

// None returns the desired state of a VM without rules.
func None(uid, uuid string, vmid int, owner string) Desired {
	return Desired{SID: SID(vmid), Name: ruleName(uuid), ownerSuffix: shortHash(uid, 8), Owner: owner}
}

// An Affinity describes one shared rule.
type Affinity struct {
	// Prefix of the rule's name.
	Prefix string

	// Affinity is proxmox.HAPositive or proxmox.HANegative.
	Affinity string

	// Comment of the rule.
	Comment string

	// Members are the VMs by their names in HA.
	Members []string
}

// A Step is one call that brings the HA rules closer to the desired ones.
type Step struct {
	Action Action
	Rule   proxmox.HARule

	// Before describes the rule as it is.
	Before string
}

// An Action is the operation of a Step on its rule.
type Action int

// The actions of a Step.
const (
	Add Action = iota
	Change
	Remove
)

// ruleName returns the name of the rule of one VM.
func ruleName(uuid string) string { return namePrefix + strings.ToLower(uuid) }

// newAffinity returns the affinity of the members of a namespace that share the key.
func newAffinity(namespace, key string, apart bool, members []string) Affinity {
	kind, affinity := "together", proxmox.HAPositive
	if apart {
		kind, affinity = "apart", proxmox.HANegative
	}
	comment := "provider-proxmox keeps this for Machines"
	if namespace != "" {
		comment += " of namespace " + namespace
	}
	return Affinity{Prefix: namePrefix + kind + "-" + shortHash(namespace+"/"+key, 12) + "-", Affinity: affinity, Comment: comment, Members: members}
}

// shortHash returns the first digits of a text's hash.
func shortHash(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// Steps returns the steps from the existing HA rules to the desired ones. Removals come first, since PVE refuses a rule that contradicts another.
func (d Desired) Steps(has proxmox.HARules) []Step {
	var keep []Step
	kept := map[string]bool{}
	for _, want := range d.rules(has) {
		kept[want.Name] = true
		i := slices.IndexFunc(has.Rules, func(r proxmox.HARule) bool { return r.Name == want.Name })
		if i < 0 {
			keep = append(keep, Step{Action: Add, Rule: want})
			continue
		}
		if now := has.Rules[i]; !sameRule(now, want) {
			want.Digest = now.Digest
			keep = append(keep, Step{Action: Change, Rule: want, Before: Describe(now)})
		}
	}
	var drop []Step
	for _, r := range has.Rules {
		if !kept[r.Name] {
			drop = append(drop, d.leave(r)...)
		}
	}
	return append(drop, keep...)
}

// rules returns the desired rules.
func (d Desired) rules(has proxmox.HARules) []proxmox.HARule {
	var all []proxmox.HARule
	if d.Nodes != nil {
		r := proxmox.HARule{Name: d.Name, Type: proxmox.HANodeAffinity, Resources: []string{d.SID}, Nodes: d.Nodes, Strict: true, Comment: d.Owner}
		if has.Grouped {
			r.Type, r.Resources = proxmox.HAGroup, nil
		}
		all = append(all, r)
	}
	for _, b := range d.Affinities {
		r := proxmox.HARule{Name: b.Prefix + d.ownerSuffix, Type: proxmox.HAResourceAffinity, Affinity: b.Affinity, Comment: b.Comment}
		var now []string
		i := slices.IndexFunc(has.Rules, func(r proxmox.HARule) bool {
			return strings.HasPrefix(r.Name, b.Prefix) && slices.ContainsFunc(r.Resources, func(s string) bool { return slices.Contains(b.Members, s) })
		})
		if i >= 0 {
			r.Name, now = has.Rules[i].Name, has.Rules[i].Resources
		}
		if r.Resources = d.resources(b, now); len(r.Resources) > 1 {
			all = append(all, r)
		}
	}
	return all
}

// resources returns the members of an affinity that its rule can have: those that HA manages, and VMs that others have added.
func (d Desired) resources(b Affinity, now []string) []string {
	var all []string
	for _, s := range b.Members {
		if d.Managed[s] || slices.Contains(now, s) {
			all = append(all, s)
		}
	}
	for _, s := range now {
		if !d.Machines[s] && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// leave returns the steps that remove the VM from a rule.
func (d Desired) leave(r proxmox.HARule) []Step {
	before := Describe(r)
	if r.Name == d.Name || r.Name == migratedGroup+d.Name {
		return []Step{{Action: Remove, Rule: r, Before: before}}
	}
	if !reSharedRule.MatchString(r.Name) || !slices.Contains(r.Resources, d.SID) {
		return nil
	}
	r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(s string) bool { return s == d.SID })
	if len(r.Resources) < 2 {
		return []Step{{Action: Remove, Rule: r, Before: before}}
	}
	return []Step{{Action: Change, Rule: r, Before: before}}
}

// sameRule reports whether two rules are equal.
func sameRule(a, b proxmox.HARule) bool {
	return a.Type == b.Type && a.Strict == b.Strict && a.Affinity == b.Affinity &&
		slices.Equal(a.Resources, b.Resources) && slices.Equal(a.Nodes, b.Nodes)
}

// Describe describes a rule, for the list of differences.
func Describe(r proxmox.HARule) string {
	if r.Type == proxmox.HAResourceAffinity {
		return r.Affinity + ": " + strings.Join(r.Resources, ", ")
	}
	text := strings.Join(r.Nodes, ", ")
	if r.Strict {
		text = "only " + text
	}
	if r.Type == proxmox.HAGroup {
		return text
	}
	return strings.Join(r.Resources, ", ") + ": " + text
}

// Difference returns the difference that a step removes.
func (s Step) Difference() v1alpha1.MachinePendingChange {
	c := v1alpha1.MachinePendingChange{Option: "high availability rule " + s.Rule.Name, Current: s.Before}
	if s.Action != Remove {
		c.Desired = Describe(s.Rule)
	}
	return c
}

// SID returns the name of a VM in HA.
func SID(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }
