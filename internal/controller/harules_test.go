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

package controller_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestHARules checks that HA maintains the decisions of placement, in a cluster whose HA has rules and in one whose HA has groups.
func TestHARules(t *testing.T) {
	t.Parallel()
	all := map[string]func(t *testing.T, scopeName string){
		"9.2": func(t *testing.T, scopeName string) {
			t.Helper()
			keepsRules(newRuled(t, scopeName, "9.2"))
		},
		"8.4": func(t *testing.T, scopeName string) {
			t.Helper()
			keepsGroups(newRuled(t, scopeName, "8.4"))
		},
		"compared": func(t *testing.T, scopeName string) {
			t.Helper()
			comparesRules(newWorld(t, scopes()[scopeName], "rules-compared-"+strings.ToLower(scopeName), nil, ""))
		},
	}
	for scopeName, name := range pairs(scopes(), all) {
		t.Run(scopeName+"/"+name, func(t *testing.T) {
			t.Parallel()
			all[name](t, scopeName)
		})
	}
}

// newRuled returns a population that may configure HA, along with an administrator.
func newRuled(t *testing.T, scopeName, version string) *population {
	t.Helper()
	c := populations()[scopeName]
	c.world = newWorld(t, scopes()[scopeName], "rules-"+version[:1]+"-"+strings.ToLower(scopeName), map[string]string{"ha": "100ms"}, version)
	c.grant("/", "PVESysAdmin")
	c.pve.Edit(func(s *simulator.State) {
		theirs := map[string]string{"nodes": "pve1", "comment": "a person's"}
		if version == "8.4" {
			s.HAGroups["crossplane-like"] = theirs
			return
		}
		theirs["type"], theirs["resources"], theirs["order"] = "node-affinity", "vm:9001", "1"
		s.HA["vm:9001"] = &simulator.HAResource{State: "ignored"}
		s.HARules["crossplane-like"] = theirs
	})
	return &c
}

func ruledSpec() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{
		PowerState:       new(v1alpha1.PowerStateStopped), // HA takes time to stop what is running.
		Placement:        &v1alpha1.MachinePlacement{Nodes: []string{"pve1", "pve2"}},
		HighAvailability: &v1alpha1.MachineHighAvailability{Rules: new(v1alpha1.HARulesPlacement)},
	}
}

// rules returns the rules of HA as texts without their order. Those that are ours are described by the kind and the resources.
func (c *population) rules() []string {
	var all []string
	c.pve.Edit(func(s *simulator.State) {
		for name, r := range s.HARules {
			if !strings.HasSuffix(name, "-like") {
				all = append(all, strings.Join([]string{r["type"], r["resources"], r["nodes"], r["strict"], r["affinity"]}, " "))
			}
		}
		for name, g := range s.HAGroups {
			var users []string
			for sid, r := range s.HA {
				if r.Options["group"] == name {
					users = append(users, sid)
				}
			}
			if !strings.HasSuffix(name, "-like") {
				slices.Sort(users)
				all = append(all, strings.Join([]string{"group", strings.Join(users, ","), g["nodes"], g["restricted"]}, " "))
			}
		}
	})
	slices.Sort(all)
	return all
}

func (c *population) haveRules(what string, want ...string) {
	c.Helper()
	c.eventually(what, func() bool { return slices.Equal(c.rules(), want) })
}

// allAreWell waits until all Machines match their specs.
func (c *population) allAreWell() {
	c.Helper()
	c.slowly("all Machines are as they should be", func() string {
		for _, m := range c.machines() {
			r, s := m.GetCondition(xpv2.TypeReady), m.GetCondition(xpv2.TypeSynced)
			if r.Status != corev1.ConditionTrue || s.Status != corev1.ConditionTrue || len(m.Observation().Difference) > 0 {
				return m.GetName() + ": " + r.Message + "; " + s.Message
			}
		}
		return ""
	})
}

// edit changes the HA configuration manually.
func (c *population) edit(in func(*simulator.State) simulator.Sections, change func(map[string]string)) {
	c.pve.Edit(func(s *simulator.State) {
		for _, name := range slices.Sorted(maps.Keys(in(s))) {
			if !strings.HasSuffix(name, "-like") {
				r := maps.Clone(in(s)[name])
				change(r)
				in(s)[name] = r
			}
		}
	})
}

func (c *population) set(number int, change func(*v1alpha1.MachineParameters)) {
	c.Helper()
	c.m = c.machines()[number]
	c.change(change)
}

func (c *population) theirsIsLeft() {
	c.Helper()
	c.pve.Edit(func(s *simulator.State) {
		if s.HARules["crossplane-like"]["nodes"]+s.HAGroups["crossplane-like"]["nodes"] != "pve1" {
			c.Error("what a person has told HA was changed")
		}
	})
}

// accepted returns the number of writes that had an effect. A write that is refused because another provider's came first is repeated.
func (c *population) accepted() int {
	return len(slices.DeleteFunc(c.writes(), func(r simulator.Request) bool { return r.Status != http.StatusOK }))
}

func keepsRules(c *population) {
	spec := ruledSpec()
	spec.Placement.Group, spec.Placement.Spread = new("web"), new(v1alpha1.SpreadRequired)
	c.create(2, spec)
	first, second := "node-affinity vm:10000 pve1,pve2 1 ", "node-affinity vm:10001 pve1,pve2 1 "
	apart := "resource-affinity vm:10000,vm:10001   negative"
	c.haveRules("HA keeps what placement decided", first, second, apart)
	c.allAreWell()
	n := c.accepted()
	rules := func(s *simulator.State) simulator.Sections { return s.HARules }
	c.edit(rules, func(r map[string]string) {
		if r["type"] == "node-affinity" {
			r["nodes"], r["strict"] = "pve1", "0"
		}
	})
	c.haveRules("what was edited is as it should be", first, second, apart)
	c.allAreWell()
	if got := c.accepted() - n; got != 2 {
		c.Errorf("want one write for each rule that was edited, got %d:\n%s", got, c)
	}
	c.set(0, func(p *v1alpha1.MachineParameters) { p.HighAvailability.Rules = new(v1alpha1.HARulesNone) })
	c.eventually("one Machine has no rules any more", func() bool { return len(c.rules()) == 1 && strings.HasPrefix(c.rules()[0], "node-affinity") })
	c.allAreWell()
	c.set(0, func(p *v1alpha1.MachineParameters) { p.HighAvailability.Rules = new(v1alpha1.HARulesPlacement) })
	c.haveRules("it has them again", first, second, apart)
	c.allAreWell()
	c.leavesHA(first, second, apart)
	c.deleteAll()
	c.haveRules("nothing is left")
	c.theirsIsLeft()
}

// leavesHA removes a VM from HA and adds it again, and checks that the administrator's rule about it is unchanged.
func (c *population) leavesHA(first, second, apart string) {
	c.Helper()
	const name, both = "apart-like", "vm:10000,vm:9001"
	c.pve.Edit(func(s *simulator.State) {
		s.HARules[name] = map[string]string{"type": "resource-affinity", "resources": both, "affinity": "negative", "order": "9"}
	})
	leaves := slices.IndexFunc(c.machines(), func(m machine.Machine) bool { return *m.Observation().VMID == 10000 })
	c.set(leaves, func(p *v1alpha1.MachineParameters) {
		p.HighAvailability = &v1alpha1.MachineHighAvailability{Enabled: new(false)}
	})
	c.haveRules("one Machine is out of HA, and of our rules", second)
	c.allAreWell()
	c.set(leaves, func(p *v1alpha1.MachineParameters) { p.HighAvailability = ruledSpec().HighAvailability })
	c.haveRules("it is back", first, second, apart)
	c.allAreWell()
	c.pve.Edit(func(s *simulator.State) {
		if got := s.HARules[name]["resources"]; got != both {
			c.Errorf("want the rule of a person to be about %s still, got %q", both, got)
		}
	})
}

// comparesRules compares rules without permission to write them.
func comparesRules(w *world) {
	w.create(ruledSpec(), func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionDelete})
	})
	w.eventually("the VM is ready, and the rule it lacks is shown", func() bool {
		w.exists()
		return w.m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue && w.m.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue &&
			slices.ContainsFunc(w.m.Observation().Difference, func(d v1alpha1.MachinePendingChange) bool {
				return strings.HasPrefix(d.Option, "high availability rule crossplane-") && d.Desired == "vm:10000: only pve1, pve2"
			})
	})
	w.finish()
	for _, r := range w.writes() {
		if strings.HasPrefix(r.Path, "/cluster/ha") {
			w.Errorf("want HA told nothing: %s %s", r.Method, r.Path)
		}
	}
}

func keepsGroups(c *population) {
	c.create(1, ruledSpec())
	group := "group vm:10000 pve1,pve2 1"
	c.haveRules("HA keeps what placement decided", group)
	c.allAreWell()
	c.edit(func(s *simulator.State) simulator.Sections { return s.HAGroups }, func(g map[string]string) { delete(g, "restricted") })
	c.haveRules("what was edited is as it should be", group)
	c.allAreWell()
	c.set(0, func(p *v1alpha1.MachineParameters) {
		p.Placement.Group, p.Placement.Spread = new("web"), new(v1alpha1.SpreadRequired)
	})
	c.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "Proxmox VE 8 cannot keep VMs together or apart")
	c.set(0, func(p *v1alpha1.MachineParameters) {
		p.Placement.Group, p.Placement.Spread = nil, nil
		p.HighAvailability.Rules = new(v1alpha1.HARulesNone)
	})
	c.haveRules("the group is gone")
	c.allAreWell()
	c.set(0, func(p *v1alpha1.MachineParameters) { p.HighAvailability.Rules = new(v1alpha1.HARulesPlacement) })
	c.haveRules("it is there again", group)
	c.deleteAll()
	c.haveRules("nothing is left")
	c.theirsIsLeft()
}
