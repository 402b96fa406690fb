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
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// AnnotationHARules is the VMID of a VM that is proven to be this Machine's and
// that HA may have rules of. It is written before the first of them, stays, and
// is where others learn that they may put the VM into rules with theirs.
const AnnotationHARules = "proxmox.vitistack.io/ha-rules"

// A haRules is what becomes of HA's rules of a VM.
type haRules struct {
	desiredRules

	// due says that rules are kept or removed; wanted, that they are kept.
	due, wanted bool

	// grouped is true for PVE 8, whose HA has groups.
	grouped bool

	steps      []ruleStep
	rejections []string
}

// wantsRules says whether the spec wants rules kept.
func wantsRules(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled == nil || *ha.Enabled) && ptr.Deref(ha.Rules, "") == v1alpha1.HARulesPlacement
}

// removesRules says whether the spec wants rules gone. Without the field they are
// left alone.
func removesRules(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled != nil && !*ha.Enabled || ptr.Deref(ha.Rules, "") == v1alpha1.HARulesNone)
}

// readRules finds what HA's rules are to say of the VM and what they say. Rules
// that may be out of date are read again before they are found to differ.
func (e *external) readRules(ctx context.Context, m Machine, d *desired) error {
	r := haRules{wanted: wantsRules(m.Parameters()) && !e.vm.template()}
	r.due = r.wanted || removesRules(m.Parameters()) && m.GetAnnotations()[AnnotationHARules] != ""
	if !r.due {
		return nil
	}
	r.desiredRules = noRules(m, d.Identity.UUID, e.vm.VMID)
	if r.wanted {
		if err := e.desiredRulesFor(ctx, m, &r); err != nil {
			return err
		}
	}
	for _, maxAge := range []time.Duration{inventory.Relaxed, inventory.Fresh} {
		has, err := e.inventory.HARules(ctx, maxAge)
		if proxmox.IsAuthorization(err) {
			e.vm.haUnavailable = err.Error() // All else goes on being seen.
			return nil
		}
		if err != nil {
			return err
		}
		r.grouped, r.steps = has.Grouped, r.desiredRules.steps(has)
		if len(r.steps) == 0 {
			break
		}
	}
	r.rejectAffinities(m.Parameters())
	d.haRules = r
	return nil
}

// noRules wants no rules of a VM.
func noRules(m Machine, uuid string, vmid int) desiredRules {
	return desiredRules{sid: sidOf(vmid), name: ruleName(uuid), ownerSuffix: shortHash(string(m.GetUID()), 8), owner: "provider-proxmox keeps this for Machine " + qualifiedName(m)}
}

func qualifiedName(m Machine) string {
	return strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/")
}

// desiredRulesFor finds the nodes and bonds that the Machine's placement asks for.
func (e *external) desiredRulesFor(ctx context.Context, m Machine, r *haRules) error {
	members, err := e.scheduler.members(ctx, e.sharesCluster(ctx))
	if err != nil {
		return err
	}
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return err
	}
	self := placement.Occupant{ID: string(m.GetUID()), Namespace: m.GetNamespace(), Labels: m.GetLabels(), Rules: rulesOf(m), Node: e.vm.Node}
	c := ruleMembers{known: nodesOf(nodes, nil, members.nodes), sids: map[string]string{self.ID: r.sid}}
	r.managed, r.machines = map[string]bool{r.sid: true}, map[string]bool{}
	for _, g := range guests {
		if g.HAState != "" {
			r.managed[sidOf(g.VMID)] = true
		}
	}
	c.add(members.machines, guests, self.ID, r.machines)
	c.setTargets(r, self)
	return nil
}

// rejectAffinities that PVE 8 cannot keep.
func (r *haRules) rejectAffinities(p *v1alpha1.MachineParameters) {
	if r.wanted && r.grouped && p.Placement != nil && placement.Bound(*p.Placement) {
		r.rejections = append(r.rejections, "high availability of Proxmox VE 8 cannot keep VMs together or apart: "+
			"rules Placement needs Proxmox VE 9 for required affinity, antiAffinity and spread")
	}
}

// group that the HA resource is to name in PVE 8, if that is for us to say.
func (r *haRules) group(v *vm) *string {
	switch {
	case !r.due || !r.grouped:
		return nil
	case r.nodes != nil:
		return &r.name
	case v.HA["group"] == r.name:
		return new("")
	}
	return nil
}

// ruleAnnotation says that the VM may be put into rules.
func (e *external) ruleAnnotation(m Machine) map[string]string {
	vmid := strconv.Itoa(e.vm.VMID)
	if !e.plan.haRules.wanted || m.GetAnnotations()[AnnotationHARules] == vmid {
		return nil
	}
	return map[string]string{AnnotationHARules: vmid}
}

// ruleSteps are the calls before and after the HA resource is what it should be.
// A rule is about resources that HA manages; a group is there before a resource
// names it, and as long as one does.
func (e *external) ruleSteps() (before, after []step) {
	r := e.plan.haRules
	for _, s := range r.steps {
		n := step{difference: s.difference()}
		if r.grouped && s.action != removeRule {
			before = append(before, n)
		} else {
			after = append(after, n)
		}
	}
	if len(before) > 0 {
		before[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.applyRules(ctx, r.desiredRules, func(s ruleStep) bool { return s.action != removeRule })
		}
	}
	if len(after) > 0 {
		after[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.applyRules(ctx, r.desiredRules, func(ruleStep) bool { return true })
		}
	}
	return before, after
}

// maxRuleSteps is more than any one VM takes: what is left waits for the next look.
const maxRuleSteps = 50

// applyRules as they are aimed at. Each call is decided by what the one before has
// left, since a change is refused if anything was changed in between.
func (e *external) applyRules(ctx context.Context, a desiredRules, due func(ruleStep) bool) error {
	for range maxRuleSteps {
		has, err := e.inventory.HARules(ctx, inventory.Fresh)
		if err != nil {
			return err
		}
		steps := a.steps(has)
		i := slices.IndexFunc(steps, due)
		if i < 0 {
			return nil
		}
		if err := e.applyRuleStep(ctx, steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *external) applyRuleStep(ctx context.Context, s ruleStep) error {
	switch s.action {
	case addRule:
		return e.client.AddHARule(ctx, s.rule)
	case changeRule:
		return e.client.ChangeHARule(ctx, s.rule)
	case removeRule:
	}
	return e.client.RemoveHARule(ctx, s.rule)
}

// leaveRules takes the VM out of HA's rules before it is removed. A group of PVE 8
// has to stay until its resource has gone with the VM.
func (e *external) leaveRules(ctx context.Context, m Machine) error {
	if m.GetAnnotations()[AnnotationHARules] == "" {
		return nil
	}
	has, err := e.inventory.HARules(ctx, inventory.Fresh)
	if err != nil || has.Grouped {
		return errors.Wrap(err, "cannot take the VM out of the rules of high availability")
	}
	id, err := identityOf(m)
	if err != nil {
		return err
	}
	err = e.applyRules(ctx, noRules(m, id.UUID, id.VMID), func(ruleStep) bool { return true })
	return errors.Wrap(err, "cannot take the VM out of the rules of high availability")
}

// orphanedRules are what is left of HA's rules of a VM that is gone. Its VMID may be
// another Machine's by now, whose rules stay.
func (e *external) orphanedRules(ctx context.Context, m Machine) ([]ruleStep, error) {
	if m.GetAnnotations()[AnnotationHARules] == "" {
		return nil, nil
	}
	id, err := identityOf(m)
	if err != nil {
		return nil, err
	}
	members, err := e.scheduler.members(ctx, e.sharesCluster(ctx))
	if err != nil {
		return nil, err
	}
	has, err := e.inventory.HARules(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	a := noRules(m, id.UUID, id.VMID)
	if slices.ContainsFunc(members.machines, func(o Machine) bool {
		return o.GetUID() != m.GetUID() && meta.GetExternalName(o) == meta.GetExternalName(m)
	}) {
		a.sid = ""
	}
	return a.steps(has), nil
}
