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

package machine

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

// The names of rules and groups of HA that are ours. Nothing else is touched. The
// rule of one VM has the UUID in its name. That of several has who made it: those
// of another control plane with the same namespaces have none of our VMs.
const rulePrefix = "crossplane-"

// reSharedRule are the names of rules for several VMs.
var reSharedRule = regexp.MustCompile(`^` + rulePrefix + `(apart|together)-[0-9a-f]{12}-[0-9a-f]{8}$`)

// migratedGroup is how PVE 9 names the rule that it makes of a group of PVE 8.
const migratedGroup = "ha-group-"

// An desiredRules is what HA's rules are to say of a VM. The zero value of nodes and bonds
// wants none.
type desiredRules struct {
	// sid is the VM as HA names it, and name that of its own rule.
	sid, name string

	// ownerSuffix ends the names of shared rules that this VM is the first of.
	ownerSuffix string

	// nodes that the VM may run on, or nil; and whom the rule is kept for.
	nodes []string
	owner string

	// affinities with other VMs.
	affinities []affinityRule

	// managed are the VMs that HA is known to manage; ours are those of all Machines.
	managed, machines map[string]bool
}

// A affinityRule is what one shared rule is to say.
type affinityRule struct {
	prefix, affinity, comment string
	members                   []string
}

// A ruleStep is one call that brings HA's rules nearer to the aim.
type ruleStep struct {
	action ruleAction
	rule   proxmox.HARule
	before string
}

type ruleAction int

const (
	addRule ruleAction = iota
	changeRule
	removeRule
)

// ruleName is the name of the rule of one VM.
func ruleName(uuid string) string { return rulePrefix + strings.ToLower(uuid) }

// newAffinityRule for the members of a namespace that have the key.
func newAffinityRule(namespace, key string, apart bool, members []string) affinityRule {
	kind, affinity := "together", proxmox.HAPositive
	if apart {
		kind, affinity = "apart", proxmox.HANegative
	}
	comment := "provider-proxmox keeps this for Machines"
	if namespace != "" {
		comment += " of namespace " + namespace
	}
	return affinityRule{prefix: rulePrefix + kind + "-" + shortHash(namespace+"/"+key, 12) + "-", affinity: affinity, comment: comment, members: members}
}

// shortHash is the beginning of a text's checksum.
func shortHash(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// steps from the rules that there are to the aim. What has to go goes first, for
// PVE takes no rule that contradicts another.
func (a desiredRules) steps(has proxmox.HARules) []ruleStep {
	var keep []ruleStep
	kept := map[string]bool{}
	for _, want := range a.rules(has) {
		kept[want.Name] = true
		i := slices.IndexFunc(has.Rules, func(r proxmox.HARule) bool { return r.Name == want.Name })
		if i < 0 {
			keep = append(keep, ruleStep{action: addRule, rule: want})
			continue
		}
		if now := has.Rules[i]; !sameRule(now, want) {
			want.Digest = now.Digest
			keep = append(keep, ruleStep{action: changeRule, rule: want, before: describeRule(now)})
		}
	}
	var drop []ruleStep
	for _, r := range has.Rules {
		if !kept[r.Name] {
			drop = append(drop, a.leave(r)...)
		}
	}
	return append(drop, keep...)
}

// rules are the rules as they should be.
func (a desiredRules) rules(has proxmox.HARules) []proxmox.HARule {
	var all []proxmox.HARule
	if a.nodes != nil {
		r := proxmox.HARule{Name: a.name, Type: proxmox.HANodeAffinity, Resources: []string{a.sid}, Nodes: a.nodes, Strict: true, Comment: a.owner}
		if has.Grouped {
			r.Type, r.Resources = proxmox.HAGroup, nil
		}
		all = append(all, r)
	}
	for _, b := range a.affinities {
		r := proxmox.HARule{Name: b.prefix + a.ownerSuffix, Type: proxmox.HAResourceAffinity, Affinity: b.affinity, Comment: b.comment}
		var now []string
		i := slices.IndexFunc(has.Rules, func(r proxmox.HARule) bool {
			return strings.HasPrefix(r.Name, b.prefix) && slices.ContainsFunc(r.Resources, func(s string) bool { return slices.Contains(b.members, s) })
		})
		if i >= 0 {
			r.Name, now = has.Rules[i].Name, has.Rules[i].Resources
		}
		if r.Resources = a.affinityMembers(b, now); len(r.Resources) > 1 {
			all = append(all, r)
		}
	}
	return all
}

// affinityMembers a bond that its rule can have: those that HA manages, and whoever was
// added by others.
func (a desiredRules) affinityMembers(b affinityRule, now []string) []string {
	var all []string
	for _, s := range b.members {
		if a.managed[s] || slices.Contains(now, s) {
			all = append(all, s)
		}
	}
	for _, s := range now {
		if !a.machines[s] && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// leave a rule that the VM should not be in.
func (a desiredRules) leave(r proxmox.HARule) []ruleStep {
	before := describeRule(r)
	if r.Name == a.name || r.Name == migratedGroup+a.name {
		return []ruleStep{{action: removeRule, rule: r, before: before}}
	}
	if !reSharedRule.MatchString(r.Name) || !slices.Contains(r.Resources, a.sid) {
		return nil
	}
	r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(s string) bool { return s == a.sid })
	if len(r.Resources) < 2 {
		return []ruleStep{{action: removeRule, rule: r, before: before}}
	}
	return []ruleStep{{action: changeRule, rule: r, before: before}}
}

// sameRule compares what a rule is kept to say.
func sameRule(a, b proxmox.HARule) bool {
	return a.Type == b.Type && a.Strict == b.Strict && a.Affinity == b.Affinity &&
		slices.Equal(a.Resources, b.Resources) && slices.Equal(a.Nodes, b.Nodes)
}

// describeRule for the list of differences.
func describeRule(r proxmox.HARule) string {
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

// difference is the difference that a step ends.
func (s ruleStep) difference() v1alpha1.MachinePendingChange {
	c := v1alpha1.MachinePendingChange{Option: "high availability rule " + s.rule.Name, Current: s.before}
	if s.action != removeRule {
		c.Desired = describeRule(s.rule)
	}
	return c
}

// sidOf a VM, as HA names it.
func sidOf(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }
