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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ha"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rules"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A haClient is the part of a Client that manages high availability.
type haClient interface {
	rules.Client

	AddHAResource(ctx context.Context, vmid int, r proxmox.HASettings) error
	ChangeHAResource(ctx context.Context, vmid int, r proxmox.HASettings) error
	RemoveHAResource(ctx context.Context, vmid int) error
	LeaveHA(ctx context.Context, vmid int) error
}

// A haFeature puts the VM under high availability, with the rules that placement asks for.
type haFeature struct {
	noopFeature

	client    haClient
	inventory Inventory
	checks    *preflight.Checks
	cache     *vmcache.Cache
	rules     rules.Keeper
	vm        *vmstate.VM
}

// haFeature returns the haFeature of the VM.
func (e *external) haFeature(m Machine) haFeature {
	return haFeature{client: e.client, inventory: e.inventory, checks: e.checks, cache: e.cache, rules: e.rules(m), vm: e.vm}
}

func (f haFeature) observe(ctx context.Context, m Machine, d *desired) error {
	var err error
	if d.haRules, err = f.rules.Read(ctx, m, d.Identity, f.vm); err != nil {
		return err
	}
	err = d.ha().Read(ctx, f.inventory, f.vm)
	if errors.As(err, &ha.UnlistedError{}) {
		f.cache.Invalidate(m, vmcache.DirtyStatus)
	}
	return err
}

// plan adds the VM to HA after the group that it names, and before the rules that name the VM. A VM that leaves HA leaves its rules first: Proxmox VE
// refuses to change a rule that names another VM which HA no longer manages.
func (f haFeature) plan(ctx context.Context, m Machine, p *plan) (proposal, error) {
	unknown, err := f.checks.UnmetRequirements(ctx, p.ha().VersionRequirements(f.vm))
	resource := f.haSteps(p.desired)
	before, after := f.ruleSteps(p.haRules, len(resource) == 0)
	steps := slices.Concat(before, resource, after)
	if !p.HAEnabled() && !p.haRules.Grouped {
		steps = slices.Concat(before, after, resource)
	}
	return proposal{
		steps:       steps,
		rejections:  slices.Concat(unknown, p.ha().Rejections(f.vm), p.haRules.Rejections),
		annotations: p.haRules.Annotation(m, f.vm),
	}, err
}

// haNeeds returns the privileges that high availability needs.
func (c *creation) haNeeds() []validate.PrivilegeRequirement {
	if !c.HAEnabled() {
		return nil
	}
	return []validate.PrivilegeRequirement{validate.On("/", "Sys.Audit"), validate.On("/", "Sys.Console")}
}

// ha returns the desired settings of HA.
func (d desired) ha() ha.Settings { return ha.Settings{Policy: d.Policy, Rules: d.haRules} }

// invalidateHA invalidates the cached settings of HA, whatever the result of the call.
func (f haFeature) invalidateHA(err error) error {
	f.inventory.InvalidateHA()
	return err
}

// haSteps returns the steps that change the HA settings of the VM.
func (f haFeature) haSteps(d desired) []step {
	v := f.vm
	switch {
	case d.HighAvailability == nil || v.HAUnavailable != "":
		return nil
	case !d.HAEnabled() && v.InHA:
		return []step{{
			difference: v1alpha1.MachinePendingChange{Option: "high availability", Current: v.Status.HAState},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				return "", f.leaveHA(ctx)
			},
		}}
	case !d.HAEnabled() || v.Template():
		return nil
	case !v.InHA:
		return []step{f.addToHA(d.ha().First(v))}
	}
	change := d.ha().Change(v)
	steps := make([]step, 0, len(change))
	for _, difference := range ha.Differences(v, change) {
		steps = append(steps, step{difference: difference})
	}
	if len(steps) > 0 && !d.ha().Refuses(v) {
		steps[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", f.invalidateHA(f.client.ChangeHAResource(ctx, v.VMID, change))
		}
	}
	return steps
}

// leaveHA removes the VM from HA, while the VM continues as it is. The rules of others keep the VM in case it returns.
func (f haFeature) leaveHA(ctx context.Context) error {
	version, err := f.inventory.Version(ctx)
	if err != nil {
		return err
	}
	leave := f.client.LeaveHA
	if !version.AtLeast(9, 0) { // It has no rules.
		leave = f.client.RemoveHAResource
	}
	return f.invalidateHA(resource.Ignore(proxmox.IsNotInHA, leave(ctx, f.vm.VMID)))
}

// removeFromHA removes a VM that is to be destroyed from HA and its rules.
func (f haFeature) removeFromHA(ctx context.Context) error {
	return f.invalidateHA(resource.Ignore(proxmox.IsNotInHA, f.client.RemoveHAResource(ctx, f.vm.VMID)))
}

// addToHA returns the step that adds the VM to HA.
func (f haFeature) addToHA(r proxmox.HASettings) step {
	return step{
		difference: v1alpha1.MachinePendingChange{Option: "high availability", Desired: r["state"]},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return "", f.invalidateHA(f.client.AddHAResource(ctx, f.vm.VMID, r))
		},
	}
}

// rules returns the keeper of the rules of high availability.
func (e *external) rules(m Machine) rules.Keeper {
	members := func(ctx context.Context) (*scheduler.Members, error) {
		shares, specCounts := e.sharesCluster(ctx), e.isolation.specCounts(ctx, m)
		return e.scheduler.Members(ctx, func(mg resource.Managed) bool {
			_, machine := mg.(Machine)
			return shares(mg) && (machine || specCounts(mg))
		})
	}
	return rules.Keeper{Client: e.client, Inventory: e.inventory, Members: members, GuestCounts: e.isolation.guestCounts}
}

// ruleSteps returns the calls to make before and after the HA resource is changed, if that differs. A rule can only name resources that HA manages. A
// group must exist before a resource names it, and as long as one does.
func (f haFeature) ruleSteps(r rules.Rules, resourceKept bool) (before, after []step) {
	for _, s := range r.Steps {
		if r.Grouped && s.Action != harules.Remove {
			before = append(before, step{difference: s.Difference(), lockFree: true})
		} else {
			after = append(after, step{difference: s.Difference(), lockFree: resourceKept})
		}
	}
	if len(before) > 0 {
		before[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", f.rules.Apply(ctx, r.Desired, func(s harules.Step) bool { return s.Action != harules.Remove })
		}
	}
	if len(after) > 0 {
		after[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", f.rules.Apply(ctx, r.Desired, func(harules.Step) bool { return true })
		}
	}
	return before, after
}
