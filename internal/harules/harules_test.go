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

package harules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	uuid    = "5A7A5F2C-0000-4000-8000-000000000001"
	ownName = "crossplane-5a7a5f2c-0000-4000-8000-000000000001"
)

func rules(all ...proxmox.HARule) proxmox.HARules { return proxmox.HARules{Rules: all} }

func nodeRule(nodes ...string) proxmox.HARule {
	return proxmox.HARule{
		Name: ownName, Type: proxmox.HANodeAffinity, Resources: []string{"vm:100"}, Nodes: nodes, Strict: true, Digest: "d7",
	}
}

func TestSteps(t *testing.T) {
	apart := newAffinity("team", "group g", true, []string{"vm:100", "vm:101"})
	shared := func(owner string, resources ...string) proxmox.HARule {
		return proxmox.HARule{Name: apart.Prefix + owner, Type: proxmox.HAResourceAffinity, Affinity: proxmox.HANegative, Resources: resources, Digest: "d7"}
	}
	migrated := nodeRule("pve1")
	migrated.Name = "ha-group-" + migrated.Name
	foreign := proxmox.HARule{Name: "theirs", Type: proxmox.HANodeAffinity, Resources: []string{"vm:100"}, Nodes: []string{"pve2"}}
	cases := map[string]struct {
		reason  string
		desired func(*Desired)
		has     proxmox.HARules
		want    []string
	}{
		"Nothing": {reason: "Rules of others stay where none is desired.", has: rules(foreign)},
		"Add":     {reason: "A missing rule is added.", desired: onNodes("pve1"), want: []string{"add " + ownName + " vm:100: only pve1"}},
		"Keep":    {reason: "A rule that says what is desired costs no call.", desired: onNodes("pve1"), has: rules(nodeRule("pve1"))},
		"Change": {
			reason:  "A rule that differs is changed.",
			desired: onNodes("pve1"), has: rules(nodeRule("pve2")), want: []string{"change " + ownName + " vm:100: only pve1"},
		},
		"Remove": {reason: "A rule that is not desired is removed.", has: rules(nodeRule("pve1")), want: []string{"remove " + ownName}},
		"Group": {
			reason:  "PVE 8 has groups instead of rules about nodes.",
			desired: onNodes("pve1"), has: proxmox.HARules{Grouped: true}, want: []string{"add " + ownName + " only pve1"},
		},
		"Migrated": {
			reason:  "The rule that PVE 9 made of our group goes before ours comes.",
			desired: onNodes("pve1"), has: rules(migrated), want: []string{"remove " + migrated.Name, "add " + ownName + " vm:100: only pve1"},
		},
		"Join": {
			reason: "A shared rule that has another member is joined, whoever created it.", desired: with(apart, "vm:100", "vm:101"),
			has: rules(shared("0badcafe", "vm:101", "vm:7")), want: []string{"change " + apart.Prefix + "0badcafe negative: vm:100, vm:101, vm:7"},
		},
		"Unmanaged": {reason: "PVE takes no rule about VMs that HA does not manage.", desired: with(apart, "vm:100")},
		"Leave": {
			reason: "A VM leaves a shared rule that is not desired.",
			has:    rules(shared("0badcafe", "vm:100", "vm:101", "vm:102")), want: []string{"change " + apart.Prefix + "0badcafe negative: vm:101, vm:102"},
		},
		"Last": {
			reason: "A shared rule of one VM is removed.",
			has:    rules(shared("0badcafe", "vm:100", "vm:101")), want: []string{"remove " + apart.Prefix + "0badcafe"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := None("uid", uuid, 100, "owner")
			if tc.desired != nil {
				tc.desired(&d)
			}
			var got []string
			for _, s := range d.Steps(tc.has) {
				got = append(got, describeStep(s))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func onNodes(nodes ...string) func(*Desired) { return func(d *Desired) { d.Nodes = nodes } }

// with adds an affinity, with the VMs that HA manages.
func with(a Affinity, managed ...string) func(*Desired) {
	return func(d *Desired) {
		d.Affinities, d.Managed, d.Machines = []Affinity{a}, map[string]bool{}, map[string]bool{"vm:100": true, "vm:101": true}
		for _, sid := range managed {
			d.Managed[sid] = true
		}
	}
}

func describeStep(s Step) string {
	action := map[Action]string{Add: "add ", Change: "change ", Remove: "remove "}[s.Action]
	if s.Action == Remove {
		return action + s.Rule.Name
	}
	return action + s.Rule.Name + " " + Describe(s.Rule)
}

func TestSetTargets(t *testing.T) {
	nodes := []placement.Node{{Name: "pve1"}, {Name: "pve2"}}
	attracted := func(id string, nodes ...string) placement.Occupant {
		return placement.Occupant{ID: id, Namespace: "team", Rules: v1alpha1.MachinePlacement{
			Nodes: nodes, Group: new("g"), Affinity: []v1alpha1.MachineAffinityTerm{{Group: new("g")}},
		}}
	}
	cases := map[string]struct {
		reason   string
		self     placement.Occupant
		other    placement.Occupant
		nodes    []string
		rejected string
	}{
		"First": {
			reason: "The VM with the lowest ID among those kept together has the rule about nodes.",
			self:   attracted("a", "pve1"), other: attracted("b", "pve1"), nodes: []string{"pve1"},
		},
		"Second": {reason: "The other has none.", self: attracted("b", "pve1"), other: attracted("a", "pve1")},
		"Different": {
			reason: "VMs that may run on different nodes cannot be kept together.",
			self:   attracted("a", "pve1"), other: attracted("b", "pve2"), nodes: []string{"pve1"}, rejected: "which may run on other nodes",
		},
		"NoNode": {
			reason: "HA takes no rule without a node.",
			self:   attracted("a", "pve9"), other: attracted("b", "pve9"), rejected: "no node of the cluster",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := NewMembers(tc.self, 100, nodes)
			m.Add(tc.other, 101)
			d := None(tc.self.ID, uuid, 100, "owner")
			d.Managed = map[string]bool{"vm:100": true, "vm:101": true}
			rejections := strings.Join(m.SetTargets(&d), "; ")
			if tc.rejected == "" && rejections != "" || !strings.Contains(rejections, tc.rejected) {
				t.Errorf("\n%s\nwant rejection %q, got %q", tc.reason, tc.rejected, rejections)
			}
			if diff := cmp.Diff(tc.nodes, d.Nodes); diff != "" {
				t.Errorf("\n%s\nnodes: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]string{"vm:100", "vm:101"}, slices.Sorted(slices.Values(d.Affinities[0].Members))); diff != "" {
				t.Errorf("\n%s\nmembers: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
