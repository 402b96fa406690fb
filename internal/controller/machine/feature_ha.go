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
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rules"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// haDefaults are what holds in HA if it is not set.
//
//nolint:gochecknoglobals // A constant.
var haDefaults = map[string]string{"state": vmstate.HAStarted, "max_restart": "1", "max_relocate": "1", "failback": "1"}

// A haFeature has high availability manage the VM, with the rules that placement asks for.
type haFeature struct {
	*external
	passive
}

func (e haFeature) observe(ctx context.Context, m Machine, d *desired) error {
	var err error
	if d.haRules, err = e.rules().Read(ctx, m, d.Identity, e.vm); err != nil {
		return err
	}
	return e.readHA(ctx, m, *d)
}

// plan has the VM in HA after a group that it names, and before a rule that names it.
func (e haFeature) plan(ctx context.Context, m Machine) (proposal, error) {
	unknown, err := e.checks.UnmetRequirements(ctx, e.planned.haVersionRequirements(e.vm))
	before, after := e.ruleSteps()
	return proposal{
		steps:       slices.Concat(before, e.haSteps(), after),
		rejections:  slices.Concat(unknown, haRejections(e.vm), e.planned.haRules.Rejections),
		annotations: e.planned.haRules.Annotation(m, e.vm),
	}, err
}

func (e haFeature) needs(_ context.Context, c *creation, _ validate.Place) ([]validate.PrivilegeRequirement, error) {
	if !c.HAEnabled() {
		return nil, nil
	}
	return []validate.PrivilegeRequirement{validate.On("/", "Sys.Audit"), validate.On("/", "Sys.Console")}, nil
}

// haSettings is what HA is to be told of the VM.
func (d desired) haSettings(v *vmstate.VM) proxmox.HASettings {
	r := qemu.HASettings(d.HighAvailability)
	if ours := d.haRules.Group(v); ours != nil {
		r["group"] = *ours
	}
	delete(r, "state")
	if s := d.HAState(v); s != "" {
		r["state"] = s
	}
	return r
}

// haChange is what of it differs from what HA was told.
func (d desired) haChange(v *vmstate.VM) proxmox.HASettings {
	change := d.haSettings(v)
	maps.DeleteFunc(change, func(name, wanted string) bool {
		has := cmp.Or(v.HA[name], haDefaults[name])
		return cmp.Or(wanted, haDefaults[name]) == has || name == "state" && wanted == vmstate.HAStarted && has == "enabled"
	})
	return change
}

// haRefuses reports whether Proxmox VE refuses to change what HA was told: it has given the VM up, and first has to be told to disable it.
func (d desired) haRefuses(v *vmstate.VM) bool {
	if !v.InHA || !v.HAFailed() || !d.HAEnabled() {
		return false
	}
	change := d.haChange(v)
	return len(change) > 0 && change["state"] != vmstate.HADisabled
}

// haVersionRequirements are what HA is to be told that not every version of PVE knows.
func (d desired) haVersionRequirements(v *vmstate.VM) []validate.VersionRequirement {
	if !d.HAEnabled() || v.Template() || v.HAUnavailable != "" {
		return nil
	}
	told := d.haSettings(v)
	if v.InHA {
		told = d.haChange(v)
	}
	return validate.HAVersionRequirements(told)
}

// readHA adds what HA was told of the VM, if the spec declares that. What may be out of
// date is read again before it is found to differ. The status of a VM that HA is to
// ignore says that HA does not manage it.
func (e haFeature) readHA(ctx context.Context, m Machine, d desired) error {
	if d.HighAvailability == nil || e.vm.Template() || e.vm.InHA && !d.HAEnabled() {
		return nil
	}
	if !e.vm.InHA {
		if ignored, err := e.mayIgnoreInHA(ctx, d); err != nil || !ignored {
			return err
		}
	}
	for _, maxAge := range []time.Duration{inventory.Stable, inventory.Fresh} {
		all, err := e.inventory.HAResources(ctx, maxAge)
		if proxmox.IsAuthorization(err) {
			return e.setHAUnavailable(d, err)
		}
		if err != nil {
			return err
		}
		e.vm.HA, e.vm.InHA = all[e.vm.VMID], all[e.vm.VMID] != nil
		if e.vm.InHA == d.HAEnabled() && (!e.vm.InHA || len(d.haChange(e.vm)) == 0) {
			return nil
		}
	}
	if e.vm.Status.HAManaged && !e.vm.InHA {
		e.cache.Invalidate(m, vmcache.DirtyStatus)
		return errors.Errorf("VM %d is said to be managed by high availability, which does not list it", e.vm.VMID)
	}
	return nil
}

// mayIgnoreInHA reports whether HA may be to ignore the VM, by the spec or the cluster's list.
func (e haFeature) mayIgnoreInHA(ctx context.Context, d desired) (bool, error) {
	if d.HAState(e.vm) == vmstate.HAIgnored {
		return true, nil
	}
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	g, _ := vmcache.GuestOf(guests, e.vm.VMID)
	return g.HAState == vmstate.HAIgnored, err
}

// setHAUnavailable goes on seeing all else, if nobody may see HA.
func (e haFeature) setHAUnavailable(d desired, why error) error {
	if d.HAEnabled() {
		e.vm.HAUnavailable = why.Error()
	}
	return nil
}

// invalidateHA has what HA was told read anew, whatever came of the call.
func (e haFeature) invalidateHA(err error) error {
	e.inventory.InvalidateHA()
	return err
}

// haRejections are why HA cannot be told of the VM.
func haRejections(v *vmstate.VM) []string {
	if v.HAUnavailable == "" {
		return nil
	}
	return []string{v.HAUnavailable}
}

// haSteps change what HA is told of the VM.
func (e haFeature) haSteps() []step {
	d, v := e.planned.desired, e.vm
	switch {
	case d.HighAvailability == nil || v.Template() || v.HAUnavailable != "":
		return nil
	case !d.HAEnabled() && v.InHA:
		return []step{{
			difference: v1alpha1.MachinePendingChange{Option: "high availability", Current: v.Status.HAState},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				return "", e.removeFromHA(ctx)
			},
		}}
	case !d.HAEnabled():
		return nil
	case !v.InHA:
		return []step{e.addToHA()}
	}
	change := d.haChange(v)
	if len(change) == 0 {
		return nil
	}
	steps := make([]step, 0, len(change))
	for _, name := range slices.Sorted(maps.Keys(change)) {
		steps = append(steps, step{
			difference: v1alpha1.MachinePendingChange{Option: "high availability " + name, Current: v.HA[name], Desired: change[name]},
		})
	}
	if d.haRefuses(v) {
		return steps
	}
	steps[0].call = func(ctx context.Context) (proxmox.UPID, error) {
		return "", e.invalidateHA(e.client.ChangeHAResource(ctx, v.VMID, change))
	}
	return steps
}

// removeFromHA lets HA forget the VM, which goes on as it is.
func (e haFeature) removeFromHA(ctx context.Context) error {
	e.dirty |= vmcache.DirtyAll
	return e.invalidateHA(resource.Ignore(proxmox.IsNotInHA, e.client.RemoveHAResource(ctx, e.vm.VMID)))
}

// addToHA lets HA manage the VM. HA starts what it is told nothing else of, so it
// is always told a state.
func (e haFeature) addToHA() step {
	r := e.planned.haSettings(e.vm)
	maps.DeleteFunc(r, func(_, wanted string) bool { return wanted == "" })
	if r["state"] == "" {
		r["state"] = vmstate.HAStopped
		if e.vm.On() {
			r["state"] = vmstate.HAStarted
		}
	}
	return step{
		difference: v1alpha1.MachinePendingChange{Option: "high availability", Desired: r["state"]},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.invalidateHA(e.client.AddHAResource(ctx, e.vm.VMID, r))
		},
	}
}

// rules returns what keeps the rules of high availability.
func (e *external) rules() rules.Keeper {
	members := func(ctx context.Context) (*scheduler.Members, error) {
		return e.scheduler.Members(ctx, e.sharesCluster(ctx))
	}
	return rules.Keeper{Client: e.client, Inventory: e.inventory, Members: members}
}

// ruleSteps returns the calls before and after the HA resource is changed. A rule can only name resources that HA manages. A group
// must exist before a resource names it, and as long as one does.
func (e haFeature) ruleSteps() (before, after []step) {
	r := e.planned.haRules
	for _, s := range r.Steps {
		n := step{difference: s.Difference()}
		if r.Grouped && s.Action != harules.Remove {
			before = append(before, n)
		} else {
			after = append(after, n)
		}
	}
	if len(before) > 0 {
		before[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.rules().Apply(ctx, r.Desired, func(s harules.Step) bool { return s.Action != harules.Remove })
		}
	}
	if len(after) > 0 {
		after[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.rules().Apply(ctx, r.Desired, func(harules.Step) bool { return true })
		}
	}
	return before, after
}
