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
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// ruled enables the rules of a placement in HA.
func ruled(p *v1alpha1.MachinePlacement) func(*namespaced.Machine) {
	return spec(func(s *v1alpha1.MachineParameters) {
		s.Placement, s.HighAvailability = p, &v1alpha1.MachineHighAvailability{Rules: new(v1alpha1.HARulesPlacement)}
	})
}

// joined marks a Machine that has been put into rules before.
func joined(m *namespaced.Machine) { m.Annotations[object.AnnotationHARules] = "10000" }

// A neighbour is another Machine of the namespace, whose VM has the VMID.
func neighbour(uid, vmid string, p *v1alpha1.MachinePlacement, change ...func(*namespaced.Machine)) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: uid, UID: types.UID(uid), Annotations: map[string]string{
		meta.AnnotationKeyExternalName: vmid, object.AnnotationHARules: vmid,
	}}}
	for _, c := range append([]func(*namespaced.Machine){ruled(p)}, change...) {
		c(m)
	}
	return m
}

const (
	ownRule  = "crossplane-" + ourUUID
	onlyPVE1 = "only pve1"
)

func nodeRule(nodes ...string) proxmox.HARule {
	return proxmox.HARule{Name: ownRule, Type: proxmox.HANodeAffinity, Resources: []string{"vm:10000"}, Nodes: nodes, Strict: true, Digest: "d7"}
}

// shortHash returns the part of a checksum that names of shared rules contain.
func shortHash(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// sharedRule returns the rule of a group that is spread, created by the given owner.
func sharedRule(key, owner string, resources ...string) proxmox.HARule {
	name := "crossplane-apart-" + shortHash("team/"+key, 12) + "-" + owner
	return proxmox.HARule{Name: name, Type: proxmox.HAResourceAffinity, Affinity: proxmox.HANegative, Resources: resources, Digest: "d7"}
}

func rulesAre(rules ...proxmox.HARule) func(*bench) {
	return func(b *bench) { b.rules.Rules = rules }
}

// TestHARules checks what HA is told about where the VM may run.
func TestHARules(t *testing.T) {
	must := new(v1alpha1.SpreadRequired)
	onPVE1 := &v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}
	spread := &v1alpha1.MachinePlacement{Group: new("g"), Spread: must}
	shared := func(owner string, resources ...string) proxmox.HARule {
		return sharedRule("group g", owner, resources...)
	}
	mine := shared(shortHash("uid", 8)).Name
	attracted := func(nodes ...string) *v1alpha1.MachinePlacement {
		return &v1alpha1.MachinePlacement{Nodes: nodes, Group: new("g"), Affinity: []v1alpha1.MachineAffinityTerm{{Group: new("g")}}}
	}
	together := "crossplane-together-" + shortHash(`team/together {"group":"g"}`, 12) + "-" + shortHash("uid", 8)
	off := spec(func(s *v1alpha1.MachineParameters) {
		s.HighAvailability = &v1alpha1.MachineHighAvailability{Rules: new(v1alpha1.HARulesNone)}
	})
	out := spec(func(s *v1alpha1.MachineParameters) {
		s.HighAvailability = &v1alpha1.MachineHighAvailability{Enabled: new(false)}
	})
	grouped := func(rules ...proxmox.HARule) func(*bench) {
		return func(b *bench) { b.rules = proxmox.HARules{Grouped: true, Rules: rules} }
	}
	ownGroup := proxmox.HARule{Name: ownRule, Type: proxmox.HAGroup, Nodes: []string{"pve1"}, Strict: true}
	theirs := proxmox.HARule{Name: "theirs", Type: proxmox.HANodeAffinity, Resources: []string{"vm:10000"}, Nodes: []string{"pve2"}}

	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		others  []runtime.Object
		managed []int // VMs of others that HA manages.
		notOurs bool  // HA does not manage our VM yet.
		pve     func(*bench)
		writes  []string
		err     string
	}{
		"Nodes":     {reason: "The nodes become a rule of the VM alone.", machine: ruled(onPVE1), writes: []string{"AddHARule " + ownRule + " vm:10000: only pve1"}},
		"NodesKept": {reason: "What is as it should be costs no write.", machine: all(joined, ruled(onPVE1)), pve: rulesAre(nodeRule("pve1"))},
		"NodesDrift": {
			reason: "What was edited is set again.", machine: all(joined, ruled(onPVE1)), pve: rulesAre(nodeRule("pve1", "pve2")),
			writes: []string{"ChangeHARule " + ownRule + " vm:10000: only pve1 digest d7"},
		},
		"NotStrict": {
			reason: "Placement's nodes are a must.", machine: all(joined, ruled(onPVE1)),
			pve:    func(b *bench) { r := nodeRule("pve1"); r.Strict = false; b.rules.Rules = []proxmox.HARule{r} },
			writes: []string{"ChangeHARule " + ownRule + " vm:10000: only pve1 digest d7"},
		},
		"NodesGone": {
			reason: "Without nodes there is no rule.", machine: all(joined, ruled(nil)), pve: rulesAre(nodeRule("pve1")),
			writes: []string{"RemoveHARule " + ownRule},
		},
		"NoNode": {
			reason: "PVE takes no rule without a node.", machine: ruled(&v1alpha1.MachinePlacement{Nodes: []string{"pve9"}}),
			err: "no node of the cluster is one that placement.nodes",
		},
		"Added": {
			reason: "HA manages the VM before a rule names it.", machine: ruled(onPVE1), notOurs: true,
			writes: []string{"AddHAResource 10000 map[state:started]", "AddHARule " + ownRule + " vm:10000: only pve1"},
		},
		"Migrated": {
			reason: "The rule that PVE 9 makes of our group gives way to ours.", machine: all(joined, ruled(onPVE1)),
			pve: rulesAre(proxmox.HARule{
				Name: "ha-group-" + ownRule, Type: proxmox.HANodeAffinity, Resources: []string{"vm:10000"}, Nodes: []string{"pve1"}, Strict: true,
			}),
			writes: []string{"RemoveHARule " + "ha-group-" + ownRule, "AddHARule " + ownRule + " vm:10000: only pve1"},
		},
		"Theirs": {reason: "What others have told HA is left alone.", machine: all(joined, ruled(nil)), pve: rulesAre(theirs)},
		"Unseen": {
			reason: "Who may not see rules is told so.", machine: ruled(onPVE1),
			pve: func(b *bench) { b.errs["HARules"] = refused(403, "Permission check failed (/, Sys.Audit)") }, err: "Sys.Audit",
		},

		"Apart": {
			reason: "A group that is spread becomes a rule of all.", machine: ruled(spread),
			others: []runtime.Object{neighbour("b", "10001", spread)}, managed: []int{10001},
			writes: []string{"AddHARule " + mine + " negative: vm:10000, vm:10001"},
		},
		"ApartAlone": {reason: "A rule of one is none.", machine: ruled(spread)},
		"Unmanaged":  {reason: "HA takes no rule about what it does not manage.", machine: ruled(spread), others: []runtime.Object{neighbour("b", "10001", spread)}},
		"Unproven": {
			reason: "A VM that its own Machine has not proven is left out.", machine: ruled(spread),
			others:  []runtime.Object{neighbour("b", "10001", spread, func(m *namespaced.Machine) { delete(m.Annotations, object.AnnotationHARules) })},
			managed: []int{10001},
		},
		"Reallocated": {
			reason: "A VM whose Machine has another VMID now is left out.", machine: ruled(spread), managed: []int{10001},
			others: []runtime.Object{neighbour("b", "10001", spread, func(m *namespaced.Machine) { m.Annotations[object.AnnotationHARules] = "10002" })},
		},
		"Unasked": {
			reason: "A Machine that wants no rules is left out.", machine: ruled(spread),
			others:  []runtime.Object{neighbour("b", "10001", spread, func(m *namespaced.Machine) { m.Spec.ForProvider.HighAvailability = nil })},
			managed: []int{10001},
		},
		"Joins": {
			reason: "A rule that has one of the others is joined, whoever made it.", machine: ruled(spread),
			others: []runtime.Object{neighbour("b", "10001", spread), neighbour("c", "10002", spread)}, managed: []int{10001, 10002},
			pve:    rulesAre(shared("0badcafe", "vm:10001", "vm:10002")),
			writes: []string{"ChangeHARule " + shared("0badcafe").Name + " negative: vm:10000, vm:10001, vm:10002 digest d7"},
		},
		"Elsewhere": {
			reason: "One of the same name that has none of our VMs is another control plane's.", machine: ruled(spread), others: []runtime.Object{
				neighbour("b", "10001", spread),
			}, managed: []int{10001},
			pve: rulesAre(shared("0badcafe", "vm:500", "vm:501")), writes: []string{"AddHARule " + mine + " negative: vm:10000, vm:10001"},
		},
		"Guest": {
			reason: "Who was added by hand stays.", machine: all(joined, ruled(spread)), others: []runtime.Object{neighbour("b", "10001", spread)},
			managed: []int{10001}, pve: rulesAre(shared("0badcafe", "vm:10000", "vm:10001", "vm:77")),
		},
		"Left": {
			reason: "A Machine that has left the group is taken out.", machine: all(joined, ruled(spread)),
			others: []runtime.Object{neighbour("b", "10001", spread), neighbour("c", "10002", nil)}, managed: []int{10001},
			pve:    rulesAre(shared("0badcafe", "vm:10000", "vm:10001", "vm:10002")),
			writes: []string{"ChangeHARule " + shared("0badcafe").Name + " negative: vm:10000, vm:10001 digest d7"},
		},
		"LastOne": {
			reason: "Who is left alone removes the rule.", machine: all(joined, ruled(spread)), pve: rulesAre(shared("0badcafe", "vm:10000")),
			writes: []string{"RemoveHARule " + shared("0badcafe").Name},
		},
		"TwoOfThem": {
			reason: "One of two rules for the same VMs is enough.", machine: all(joined, ruled(spread)),
			others: []runtime.Object{neighbour("b", "10001", spread)}, managed: []int{10001},
			pve:    rulesAre(shared("0badcafe", "vm:10000", "vm:10001"), shared("1badcafe", "vm:10000", "vm:10001")),
			writes: []string{"RemoveHARule " + shared("1badcafe").Name},
		},
		"Refused": {
			reason: "What PVE cannot keep beside the rest is said as it says it.", machine: ruled(spread), others: []runtime.Object{
				neighbour("b", "10001", spread),
			}, managed: []int{10001},
			pve:    func(b *bench) { b.errs["AddHARule"] = refused(400, "Rule 'x' is invalid.") },
			writes: []string{"AddHARule " + mine + " negative: vm:10000, vm:10001"}, err: "is invalid",
		},
		"Together": {
			reason: "Machines that attract each other share one rule about nodes.", machine: ruled(attracted("pve1")),
			others: []runtime.Object{neighbour("zz", "10001", attracted("pve1"))}, managed: []int{10001},
			writes: []string{"AddHARule " + ownRule + " vm:10000: only pve1", "AddHARule " + together + " positive: vm:10000, vm:10001"},
		},
		"TogetherOther": {
			reason: "One of them keeps it.", machine: all(joined, ruled(attracted("pve1"))),
			others: []runtime.Object{neighbour("aa", "10001", attracted("pve1"))}, managed: []int{10001}, pve: rulesAre(nodeRule("pve1")),
			writes: []string{"RemoveHARule " + ownRule, "AddHARule " + together + " positive: vm:10000, vm:10001"},
		},
		"TogetherApart": {
			reason: "VMs that may run on different nodes cannot be kept together.", machine: ruled(attracted("pve1")),
			others: []runtime.Object{neighbour("b", "10001", attracted("pve2"))}, managed: []int{10001},
			err: "together with vm:10001, which may run on other nodes (pve2, not pve1)",
		},

		"None": {
			reason: "None takes back what was written.", machine: all(joined, off),
			pve:    rulesAre(nodeRule("pve1"), shared("0badcafe", "vm:10000", "vm:10001", "vm:10002"), theirs),
			writes: []string{"RemoveHARule " + ownRule, "ChangeHARule " + shared("0badcafe").Name + " negative: vm:10001, vm:10002 digest d7"},
		},
		"NoneBefore": {
			reason: "Where nothing was written nothing is looked for.", machine: off,
			pve: func(b *bench) { b.errs["HARules"] = refused(403, "Permission check failed (/, Sys.Audit)") },
		},
		"Out": {
			reason: "Who is taken out of HA has no rules there any more, and others' stay.", machine: all(joined, out), pve: rulesAre(nodeRule("pve1"), theirs),
			writes: []string{"RemoveHARule " + ownRule, "RemoveHAResource 10000"},
		},
		"Silent": {
			reason:  "Without the field rules are left alone.",
			machine: all(joined, spec(func(s *v1alpha1.MachineParameters) { s.HighAvailability = &v1alpha1.MachineHighAvailability{} })),
			pve:     rulesAre(nodeRule("pve2")),
		},
		"Group": {
			reason: "PVE 8 has a group, which is there before a resource names it.", machine: ruled(onPVE1), pve: grouped(),
			writes: []string{"AddHARule " + ownRule + " " + onlyPVE1, "ChangeHAResource 10000 map[group:" + ownRule + "]"},
		},
		"GroupAdded": {
			reason: "A group is there in PVE 8 before HA manages the VM.", machine: ruled(onPVE1), notOurs: true, pve: grouped(),
			writes: []string{"AddHARule " + ownRule + " " + onlyPVE1, "AddHAResource 10000 map[group:" + ownRule + " state:started]"},
		},
		"GroupKept": {
			reason: "What is as it should be costs no write.", machine: all(joined, ruled(onPVE1)),
			pve: all2(grouped(ownGroup), haIs(proxmox.HASettings{"group": ownRule})),
		},
		"GroupNone": {
			reason: "A group goes when no resource names it.", machine: all(joined, off),
			pve:    all2(grouped(ownGroup), haIs(proxmox.HASettings{"group": ownRule})),
			writes: []string{"ChangeHAResource 10000 map[group:]", "RemoveHARule " + ownRule},
		},
		"GroupTheirs": {reason: "The group of others stays the VM's.", machine: all(joined, off), pve: all2(grouped(), haIs(proxmox.HASettings{"group": "theirs"}))},
		"GroupApart":  {reason: "PVE 8 cannot keep VMs apart.", machine: ruled(spread), pve: grouped(), err: "Proxmox VE 8 cannot keep VMs together or apart"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.scheduler = schedulerOf(t, append(tc.others, b.m.DeepCopy())...)
			b.vms[10000] = ourVM("running")
			if !tc.notOurs {
				managedByHA(b.vms[10000], "started")
			}
			for _, vmid := range tc.managed {
				b.vms[vmid] = managedByHA(theirVM(), "started")
			}
			if tc.pve != nil {
				tc.pve(b)
			}
			s := b.reconcile(t.Context())
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.err == "" && len(tc.writes) > 0 && len(b.m.Observation().Difference) == 0 {
				t.Errorf("\n%s\nwant the difference shown", tc.reason)
			}
		})
	}
}

func all2(fns ...func(*bench)) func(*bench) {
	return func(b *bench) {
		for _, fn := range fns {
			fn(b)
		}
	}
}

// TestHARulesOfDeletedMachines checks that a VM leaves HA's rules before it is removed, and that the remains of an interrupted deletion are found.
func TestHARulesOfDeletedMachines(t *testing.T) {
	shared := sharedRule("group g", "0badcafe", "vm:10000", "vm:10001", "vm:10002")
	theirs := proxmox.HARule{Name: "theirs", Type: proxmox.HANodeAffinity, Resources: []string{"vm:10000"}, Nodes: []string{"pve2"}}
	group := proxmox.HARule{Name: ownRule, Type: proxmox.HAGroup, Nodes: []string{"pve1"}}
	left := []string{"RemoveHARule " + ownRule, "ChangeHARule " + shared.Name + " negative: vm:10001, vm:10002 digest d7"}
	cases := map[string]struct {
		reason string
		change func(*namespaced.Machine)
		vm     *guest
		others []runtime.Object
		rules  proxmox.HARules
		errs   map[string]error
		writes []string
		err    string
		gone   bool
	}{
		"There": {
			reason: "Rules go before the VM.", change: joined, vm: ourVM("stopped"),
			rules:  proxmox.HARules{Rules: []proxmox.HARule{nodeRule("pve1"), shared, theirs}},
			writes: append(slices.Clone(left), "Delete 10000 purge true"),
		},
		"Never": {
			reason: "Who never had rules is not looked for there.", vm: ourVM("stopped"), errs: map[string]error{"HARules": refused(403, "no")},
			writes: []string{"Delete 10000 purge true"},
		},
		"Forbidden": {
			reason: "A rule that cannot be removed is not forgotten.", change: joined, vm: ourVM("stopped"),
			rules: proxmox.HARules{Rules: []proxmox.HARule{nodeRule("pve1")}},
			errs:  map[string]error{"RemoveHARule": refused(403, "Permission check failed (/, Sys.Console)")}, writes: left[:1], err: "Sys.Console",
		},
		"Gone": {
			reason: "What is left when the VM is gone is removed.", change: joined,
			rules: proxmox.HARules{Rules: []proxmox.HARule{nodeRule("pve1"), shared, theirs}}, writes: left, gone: true,
		},
		"Taken": {
			reason: "A VMID that another Machine has by now stays in its rules.", change: joined,
			others: []runtime.Object{neighbour("b", "10000", nil)}, rules: proxmox.HARules{Rules: []proxmox.HARule{nodeRule("pve1"), shared}},
			writes: left[:1], gone: true,
		},
		"Group": {
			reason: "A group goes when its resource has gone with the VM.", change: joined, vm: ourVM("stopped"),
			rules: proxmox.HARules{Grouped: true, Rules: []proxmox.HARule{group}}, writes: []string{"Delete 10000 purge true"},
		},
		"GroupGone": {
			reason: "A group goes when its resource has gone.", change: joined, rules: proxmox.HARules{Grouped: true, Rules: []proxmox.HARule{group}}, writes: left[:1],
			gone: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(deleted, func(m *namespaced.Machine) {
				if tc.change != nil {
					tc.change(m)
				}
			}))
			b.scheduler = schedulerOf(t, tc.others...)
			b.rules, b.errs = tc.rules, tc.errs
			if tc.vm != nil {
				b.vms[10000] = tc.vm
			}
			var s reconcileResult
			for range 3 {
				if s = b.reconcile(t.Context()); s.err != nil || !s.exists || tc.vm != nil {
					break
				}
			}
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if s.exists == tc.gone {
				t.Errorf("\n%s\nwant gone %t, got %+v", tc.reason, tc.gone, s)
			}
		})
	}
}
