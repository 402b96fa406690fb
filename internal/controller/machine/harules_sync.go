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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// haRules is what is to be done about the rules of HA for a VM.
type haRules struct {
	harules.Desired

	// due is true if rules are kept or removed, wanted if they are kept.
	due, wanted bool

	// grouped is true for PVE 8, whose HA has groups.
	grouped bool

	steps      []harules.Step
	rejections []string
}

// wantsRules reports whether the spec wants rules kept.
func wantsRules(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled == nil || *ha.Enabled) && ptr.Deref(ha.Rules, "") == v1alpha1.HARulesPlacement
}

// removesRules reports whether the spec wants rules removed. Without the field they are left alone.
func removesRules(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled != nil && !*ha.Enabled || ptr.Deref(ha.Rules, "") == v1alpha1.HARulesNone)
}

// readRules compares the rules of HA with those that the VM is to have. Rules that may be out of date are read again before they are
// found to differ.
func (e haFeature) readRules(ctx context.Context, m Machine, d *desired) error {
	r := haRules{wanted: wantsRules(m.Parameters()) && !e.vm.Template()}
	r.due = r.wanted || removesRules(m.Parameters()) && m.GetAnnotations()[object.AnnotationHARules] != ""
	if !r.due {
		return nil
	}
	r.Desired = noRules(m, d.Identity.UUID, e.vm.VMID)
	if r.wanted {
		if err := e.desiredRulesFor(ctx, m, &r); err != nil {
			return err
		}
	}
	for _, maxAge := range []time.Duration{inventory.Relaxed, inventory.Fresh} {
		has, err := e.inventory.HARules(ctx, maxAge)
		if proxmox.IsAuthorization(err) {
			e.vm.HAUnavailable = err.Error() // The rest of the VM is still observed.
			return nil
		}
		if err != nil {
			return err
		}
		r.grouped, r.steps = has.Grouped, r.Steps(has)
		if len(r.steps) == 0 {
			break
		}
	}
	r.rejectAffinities(m.Parameters())
	d.haRules = r
	return nil
}

// noRules returns what is desired of a VM that is to have no rules.
func noRules(m Machine, uuid string, vmid int) harules.Desired {
	return harules.None(string(m.GetUID()), uuid, vmid, "provider-proxmox keeps this for Machine "+object.QualifiedName(m))
}

// desiredRulesFor finds the nodes and affinities that the Machine's placement asks for.
func (e haFeature) desiredRulesFor(ctx context.Context, m Machine, r *haRules) error {
	members, err := e.scheduler.Members(ctx, e.sharesCluster(ctx))
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
	self := placement.Occupant{ID: string(m.GetUID()), Namespace: m.GetNamespace(), Labels: m.GetLabels(), Rules: scheduler.RulesOf(m), Node: e.vm.Node}
	r.Managed, r.Machines = map[string]bool{r.SID: true}, map[string]bool{}
	for _, g := range guests {
		if g.HAState != "" {
			r.Managed[harules.SID(g.VMID)] = true
		}
	}
	c := harules.NewMembers(self, e.vm.VMID, scheduler.NodesOf(nodes, nil, members.Nodes))
	addMembers(c, members.Machines, guests, self.ID, r.Machines)
	r.rejections = append(r.rejections, c.SetTargets(&r.Desired)...)
	return nil
}

// addMembers adds the Machines but one whose VMs may be put into rules, and notes the VMs of all.
func addMembers(c *harules.Members, machines []Machine, guests []proxmox.Guest, self string, ours map[string]bool) {
	for _, o := range machines {
		vmid, err := strconv.Atoi(meta.GetExternalName(o))
		if err != nil || string(o.GetUID()) == self {
			continue
		}
		ours[harules.SID(vmid)] = true
		proven := o.GetAnnotations()[object.AnnotationHARules] == meta.GetExternalName(o)
		if !proven || meta.WasDeleted(o) || !wantsRules(o.Parameters()) {
			continue
		}
		g, _ := vmcache.GuestOf(guests, vmid)
		c.Add(placement.Occupant{ID: string(o.GetUID()), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Rules: scheduler.RulesOf(o), Node: g.Node}, vmid)
	}
}

// rejectAffinities rejects affinities with other VMs, which PVE 8 cannot keep.
func (r *haRules) rejectAffinities(p *v1alpha1.MachineParameters) {
	if r.wanted && r.grouped && p.Placement != nil && placement.Bound(*p.Placement) {
		r.rejections = append(r.rejections, "high availability of Proxmox VE 8 cannot keep VMs together or apart: "+
			"rules Placement needs Proxmox VE 9 for required affinity, antiAffinity and spread")
	}
}

// group returns the group that the HA resource is to name in PVE 8, or nil if the provider does not set it.
func (r *haRules) group(v *vmstate.VM) *string {
	switch {
	case !r.due || !r.grouped:
		return nil
	case r.Nodes != nil:
		return &r.Name
	case v.HA["group"] == r.Name:
		return new("")
	}
	return nil
}

// ruleAnnotation returns the annotation by which others learn that they may put the VM into rules.
func (e haFeature) ruleAnnotation(m Machine) map[string]string {
	vmid := strconv.Itoa(e.vm.VMID)
	if !e.planned.haRules.wanted || m.GetAnnotations()[object.AnnotationHARules] == vmid {
		return nil
	}
	return map[string]string{object.AnnotationHARules: vmid}
}

// ruleSteps returns the calls before and after the HA resource is changed. A rule can only name resources that HA manages. A group
// must exist before a resource names it, and as long as one does.
func (e haFeature) ruleSteps() (before, after []step) {
	r := e.planned.haRules
	for _, s := range r.steps {
		n := step{difference: s.Difference()}
		if r.grouped && s.Action != harules.Remove {
			before = append(before, n)
		} else {
			after = append(after, n)
		}
	}
	if len(before) > 0 {
		before[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.applyRules(ctx, r.Desired, func(s harules.Step) bool { return s.Action != harules.Remove })
		}
	}
	if len(after) > 0 {
		after[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.applyRules(ctx, r.Desired, func(harules.Step) bool { return true })
		}
	}
	return before, after
}

// maxRuleSteps is more than any one VM takes. The rest waits for the next reconcile.
const maxRuleSteps = 50

// applyRules makes the rules as desired. It reads the rules before each call, since PVE refuses a change if anything was changed in
// between.
func (e haFeature) applyRules(ctx context.Context, a harules.Desired, due func(harules.Step) bool) error {
	for range maxRuleSteps {
		has, err := e.inventory.HARules(ctx, inventory.Fresh)
		if err != nil {
			return err
		}
		steps := a.Steps(has)
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

func (e haFeature) applyRuleStep(ctx context.Context, s harules.Step) error {
	switch s.Action {
	case harules.Add:
		return e.client.AddHARule(ctx, s.Rule)
	case harules.Change:
		return e.client.ChangeHARule(ctx, s.Rule)
	case harules.Remove:
	}
	return e.client.RemoveHARule(ctx, s.Rule)
}

// leaveRules takes the VM out of the rules of HA before it is removed. A group of PVE 8 stays until its resource has gone with the VM.
func (e haFeature) leaveRules(ctx context.Context, m Machine) error {
	if m.GetAnnotations()[object.AnnotationHARules] == "" {
		return nil
	}
	has, err := e.inventory.HARules(ctx, inventory.Fresh)
	if err != nil || has.Grouped {
		return errors.Wrap(err, "cannot take the VM out of the rules of high availability")
	}
	id, err := object.IdentityOf(m)
	if err != nil {
		return err
	}
	err = e.applyRules(ctx, noRules(m, id.UUID, id.VMID), func(harules.Step) bool { return true })
	return errors.Wrap(err, "cannot take the VM out of the rules of high availability")
}

// orphanedRules returns what removes the rules of a VM that is gone. Its VMID may belong to another Machine by now, whose rules stay.
func (e haFeature) orphanedRules(ctx context.Context, m Machine) ([]harules.Step, error) {
	if m.GetAnnotations()[object.AnnotationHARules] == "" {
		return nil, nil
	}
	id, err := object.IdentityOf(m)
	if err != nil {
		return nil, err
	}
	members, err := e.scheduler.Members(ctx, e.sharesCluster(ctx))
	if err != nil {
		return nil, err
	}
	has, err := e.inventory.HARules(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	a := noRules(m, id.UUID, id.VMID)
	if slices.ContainsFunc(members.Machines, func(o Machine) bool {
		return o.GetUID() != m.GetUID() && meta.GetExternalName(o) == meta.GetExternalName(m)
	}) {
		a.SID = ""
	}
	return a.Steps(has), nil
}
