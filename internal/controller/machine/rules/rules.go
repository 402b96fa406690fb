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

// Package rules keeps the rules of high availability that the placement of Machines asks for. Package harules determines them.
package rules

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Client changes the rules.
type Client interface {
	AddHARule(ctx context.Context, r proxmox.HARule) error
	ChangeHARule(ctx context.Context, r proxmox.HARule) error
	RemoveHARule(ctx context.Context, r proxmox.HARule) error
}

// An Inventory reads the rules, and the objects that they refer to.
type Inventory interface {
	HARules(ctx context.Context, maxAge time.Duration) (proxmox.HARules, error)
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
}

// A Keeper keeps the rules of one connection's Machines.
type Keeper struct {
	Client    Client
	Inventory Inventory

	// Members returns the objects that share the cluster.
	Members func(ctx context.Context) (*scheduler.Members, error)

	// GuestCounts returns a function that reports whether a guest counts as the VM of a Machine that names its VMID. If it is nil, all count.
	GuestCounts func(ctx context.Context) func(resource.Managed, proxmox.Guest) bool
}

// guestCounts returns a function that reports whether a guest counts as the VM of a Machine that names its VMID.
func (k Keeper) guestCounts(ctx context.Context) func(resource.Managed, proxmox.Guest) bool {
	if k.GuestCounts == nil {
		return func(resource.Managed, proxmox.Guest) bool { return true }
	}
	return k.GuestCounts(ctx)
}

// Rules holds the changes of HA's rules for a VM.
type Rules struct {
	harules.Desired

	// Due is true if rules are kept or removed, Wanted if they are kept.
	Due, Wanted bool

	// Grouped is true for PVE 8, whose HA has groups.
	Grouped bool

	Steps      []harules.Step
	Rejections []string
}

// wantsRules reports whether the spec asks to keep rules.
func wantsRules(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled == nil || *ha.Enabled) && ptr.Deref(ha.Rules, "") == v1alpha1.HARulesPlacement
}

// removesRules reports whether the spec asks to remove rules. Without the field they are left alone.
func removesRules(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled != nil && !*ha.Enabled || ptr.Deref(ha.Rules, "") == v1alpha1.HARulesNone)
}

// Read compares the rules of HA with those that the VM is to have. If rules that may be out of date differ, they are read again.
func (k Keeper) Read(ctx context.Context, m object.Machine, id qemu.Identity, v *vmstate.VM) (Rules, error) {
	r := Rules{Wanted: wantsRules(m.Parameters()) && !v.Template()}
	r.Due = r.Wanted || removesRules(m.Parameters()) && m.GetAnnotations()[object.AnnotationHARules] != ""
	if !r.Due {
		return Rules{}, nil
	}
	r.Desired = noRules(m, id.UUID, v.VMID)
	if r.Wanted {
		if err := k.desiredFor(ctx, m, v.VMID, v.Node, &r); err != nil {
			return Rules{}, err
		}
	}
	for _, maxAge := range []time.Duration{inventory.Relaxed, inventory.Fresh} {
		has, err := k.Inventory.HARules(ctx, maxAge)
		if proxmox.IsAuthorization(err) {
			v.HAUnavailable = err.Error() // The rest of the VM is still observed.
			return Rules{}, nil
		}
		if err != nil {
			return Rules{}, err
		}
		r.Grouped, r.Steps = has.Grouped, r.Desired.Steps(has)
		if len(r.Steps) == 0 {
			break
		}
	}
	r.rejectAffinities(m.Parameters())
	return r, nil
}

// noRules returns the desired rules of a VM that is to have none.
func noRules(m object.Machine, uuid string, vmid int) harules.Desired {
	return harules.None(string(m.GetUID()), uuid, vmid, "provider-proxmox keeps this for Machine "+object.QualifiedName(m))
}

// desiredFor finds the nodes and affinities that the Machine's placement asks for.
func (k Keeper) desiredFor(ctx context.Context, m object.Machine, vmid int, node string, r *Rules) error {
	members, err := k.Members(ctx)
	if err != nil {
		return err
	}
	guests, err := k.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return err
	}
	nodes, err := k.Inventory.Nodes(ctx)
	if err != nil {
		return err
	}
	self := placement.Occupant{ID: string(m.GetUID()), Namespace: m.GetNamespace(), Labels: m.GetLabels(), Rules: scheduler.RulesOf(m), Node: node}
	r.Managed, r.Machines = map[string]bool{r.SID: true}, map[string]bool{}
	for _, g := range guests {
		if g.HAState != "" {
			r.Managed[harules.SID(g.VMID)] = true
		}
	}
	c := harules.NewMembers(self, vmid, scheduler.NodesOf(nodes, nil, members.Nodes))
	addMembers(c, members.Machines, guests, self.ID, r.Machines, k.guestCounts(ctx))
	r.Rejections = append(r.Rejections, c.SetTargets(&r.Desired)...)
	return nil
}

// addMembers adds the other Machines whose VMs may be put into rules, and records the VMs of all.
func addMembers(
	c *harules.Members, machines []object.Machine, guests []proxmox.Guest, self string, ours map[string]bool, has func(resource.Managed, proxmox.Guest) bool,
) {
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
		g, listed := proxmox.GuestOf(guests, vmid)
		if listed && !has(o, g) {
			continue
		}
		c.Add(placement.Occupant{ID: string(o.GetUID()), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Rules: scheduler.RulesOf(o), Node: g.Node}, vmid)
	}
}

// rejectAffinities rejects affinities with other VMs, which PVE 8 cannot keep.
func (r *Rules) rejectAffinities(p *v1alpha1.MachineParameters) {
	if r.Wanted && r.Grouped && p.Placement != nil && placement.Bound(*p.Placement) {
		r.Rejections = append(r.Rejections, "high availability of Proxmox VE 8 cannot keep VMs together or apart: "+
			"rules Placement needs Proxmox VE 9 for required affinity, antiAffinity and spread")
	}
}

// Group returns the group that the HA resource is to name in PVE 8, or nil if the provider does not set it.
func (r *Rules) Group(v *vmstate.VM) *string {
	switch {
	case !r.Due || !r.Grouped:
		return nil
	case r.Nodes != nil:
		return &r.Name
	case v.HA["group"] == r.Name:
		return new("")
	}
	return nil
}

// Annotation returns the annotation that permits other Machines to put the VM into rules.
func (r *Rules) Annotation(m object.Machine, v *vmstate.VM) map[string]string {
	vmid := strconv.Itoa(v.VMID)
	if !r.Wanted || m.GetAnnotations()[object.AnnotationHARules] == vmid {
		return nil
	}
	return map[string]string{object.AnnotationHARules: vmid}
}

// maxSteps is more than any single VM needs. The rest waits for the next reconcile.
const maxSteps = 50

// Apply changes the rules to the desired ones. It reads the rules before each call, because PVE refuses a change if anything was changed in between.
func (k Keeper) Apply(ctx context.Context, a harules.Desired, due func(harules.Step) bool) error {
	for range maxSteps {
		has, err := k.Inventory.HARules(ctx, inventory.Fresh)
		if err != nil {
			return err
		}
		steps := a.Steps(has)
		i := slices.IndexFunc(steps, due)
		if i < 0 {
			return nil
		}
		if err := k.ApplyStep(ctx, steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// ApplyStep makes one call.
func (k Keeper) ApplyStep(ctx context.Context, s harules.Step) error {
	switch s.Action {
	case harules.Add:
		return k.Client.AddHARule(ctx, s.Rule)
	case harules.Change:
		return k.Client.ChangeHARule(ctx, s.Rule)
	case harules.Remove:
	}
	return k.Client.RemoveHARule(ctx, s.Rule)
}

// Leave takes the VM out of the rules of HA before it is removed. A group of PVE 8 stays until its resource was removed with the VM.
func (k Keeper) Leave(ctx context.Context, m object.Machine) error {
	if m.GetAnnotations()[object.AnnotationHARules] == "" {
		return nil
	}
	has, err := k.Inventory.HARules(ctx, inventory.Fresh)
	if err != nil || has.Grouped {
		return errors.Wrap(err, "cannot take the VM out of the rules of high availability")
	}
	id, err := object.IdentityOf(m)
	if err != nil {
		return err
	}
	err = k.Apply(ctx, noRules(m, id.UUID, id.VMID), func(harules.Step) bool { return true })
	return errors.Wrap(err, "cannot take the VM out of the rules of high availability")
}

// Orphaned returns the steps that remove the rules of a VM that no longer exists. Its VMID may now belong to another Machine, whose rules stay.
func (k Keeper) Orphaned(ctx context.Context, m object.Machine) ([]harules.Step, error) {
	if m.GetAnnotations()[object.AnnotationHARules] == "" {
		return nil, nil
	}
	id, err := object.IdentityOf(m)
	if err != nil {
		return nil, err
	}
	members, err := k.Members(ctx)
	if err != nil {
		return nil, err
	}
	has, err := k.Inventory.HARules(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	a := noRules(m, id.UUID, id.VMID)
	if slices.ContainsFunc(members.Machines, func(o object.Machine) bool {
		return o.GetUID() != m.GetUID() && meta.GetExternalName(o) == meta.GetExternalName(m)
	}) {
		a.SID = ""
	}
	return a.Steps(has), nil
}
