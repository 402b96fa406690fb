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
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rules"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A haFeature has high availability manage the VM, with the rules that placement asks for.
type haFeature struct {
	*external
	passive
}

func (e haFeature) observe(ctx context.Context, m Machine, d *desired) error {
	var err error
	if d.haRules, err = e.rules(m).Read(ctx, m, d.Identity, e.vm); err != nil {
		return err
	}
	err = d.ha().Read(ctx, e.inventory, e.vm)
	if errors.As(err, &ha.UnlistedError{}) {
		e.cache.Invalidate(m, vmcache.DirtyStatus)
	}
	return err
}

// plan has the VM in HA after a group that it names, and before a rule that names it.
func (e haFeature) plan(ctx context.Context, m Machine) (proposal, error) {
	unknown, err := e.checks.UnmetRequirements(ctx, e.planned.ha().VersionRequirements(e.vm))
	resource := e.haSteps()
	before, after := e.ruleSteps(m, len(resource) == 0)
	return proposal{
		steps:       slices.Concat(before, resource, after),
		rejections:  slices.Concat(unknown, e.planned.ha().Rejections(e.vm), e.planned.haRules.Rejections),
		annotations: e.planned.haRules.Annotation(m, e.vm),
	}, err
}

// haNeeds are the privileges that high availability takes.
func (c *creation) haNeeds() []validate.PrivilegeRequirement {
	if !c.HAEnabled() {
		return nil
	}
	return []validate.PrivilegeRequirement{validate.On("/", "Sys.Audit"), validate.On("/", "Sys.Console")}
}

// ha is what HA is to be told.
func (d desired) ha() ha.Settings { return ha.Settings{Policy: d.Policy, Rules: d.haRules} }

// invalidateHA has what HA was told read anew, whatever came of the call.
func (e haFeature) invalidateHA(err error) error {
	e.inventory.InvalidateHA()
	return err
}

// haSteps change what HA is told of the VM.
func (e haFeature) haSteps() []step {
	d, v := e.planned.desired, e.vm
	switch {
	case d.HighAvailability == nil || v.HAUnavailable != "":
		return nil
	case !d.HAEnabled() && v.InHA:
		return []step{{
			difference: v1alpha1.MachinePendingChange{Option: "high availability", Current: v.Status.HAState},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				return "", e.removeFromHA(ctx)
			},
		}}
	case !d.HAEnabled() || v.Template():
		return nil
	case !v.InHA:
		return []step{e.addToHA()}
	}
	change := d.ha().Change(v)
	steps := make([]step, 0, len(change))
	for _, difference := range ha.Differences(v, change) {
		steps = append(steps, step{difference: difference})
	}
	if len(steps) > 0 && !d.ha().Refuses(v) {
		steps[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.invalidateHA(e.client.ChangeHAResource(ctx, v.VMID, change))
		}
	}
	return steps
}

// removeFromHA lets HA forget the VM, which goes on as it is.
func (e haFeature) removeFromHA(ctx context.Context) error {
	e.dirty |= vmcache.DirtyAll
	return e.invalidateHA(resource.Ignore(proxmox.IsNotInHA, e.client.RemoveHAResource(ctx, e.vm.VMID)))
}

// addToHA lets HA manage the VM.
func (e haFeature) addToHA() step {
	r := e.planned.ha().First(e.vm)
	return step{
		difference: v1alpha1.MachinePendingChange{Option: "high availability", Desired: r["state"]},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.invalidateHA(e.client.AddHAResource(ctx, e.vm.VMID, r))
		},
	}
}

// rules returns what keeps the rules of high availability.
func (e *external) rules(m Machine) rules.Keeper {
	members := func(ctx context.Context) (*scheduler.Members, error) {
		shares, heard := e.sharesCluster(ctx), e.heard(ctx, m)
		return e.scheduler.Members(ctx, func(mg resource.Managed) bool {
			_, machine := mg.(Machine)
			return shares(mg) && (machine || heard(mg))
		})
	}
	return rules.Keeper{Client: e.client, Inventory: e.inventory, Members: members}
}

// ruleSteps returns the calls before and after the HA resource is changed, if that is not as it is to be. A rule can only name resources
// that HA manages. A group must exist before a resource names it, and as long as one does.
func (e haFeature) ruleSteps(m Machine, resourceKept bool) (before, after []step) {
	r := e.planned.haRules
	for _, s := range r.Steps {
		if r.Grouped && s.Action != harules.Remove {
			before = append(before, step{difference: s.Difference(), lockFree: true})
		} else {
			after = append(after, step{difference: s.Difference(), lockFree: resourceKept})
		}
	}
	if len(before) > 0 {
		before[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.rules(m).Apply(ctx, r.Desired, func(s harules.Step) bool { return s.Action != harules.Remove })
		}
	}
	if len(after) > 0 {
		after[0].call = func(ctx context.Context) (proxmox.UPID, error) {
			return "", e.rules(m).Apply(ctx, r.Desired, func(harules.Step) bool { return true })
		}
	}
	return before, after
}
