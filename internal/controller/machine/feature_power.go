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
	"fmt"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/shutdown"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A powerClient is the part of a Client that starts and stops VMs.
type powerClient interface {
	Start(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Stop(ctx context.Context, ref proxmox.Ref, o proxmox.StopOptions) (proxmox.UPID, error)
	Suspend(ctx context.Context, ref proxmox.Ref, o proxmox.SuspendOptions) (proxmox.UPID, error)
	Resume(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Reboot(ctx context.Context, ref proxmox.Ref, o proxmox.RebootOptions) (proxmox.UPID, error)
	Reset(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Shutdown(ctx context.Context, ref proxmox.Ref, o proxmox.ShutdownOptions) (proxmox.UPID, error)
}

// A powerFeature keeps the VM in the power state that the spec asks for.
type powerFeature struct {
	noopFeature

	client    powerClient
	inventory Inventory
	tenant    tenant.Checks
	tasks     *tasktrack.Tracker
	pooled    *ipam.Addresses
	vm        *vmstate.VM
	now       time.Time
}

// powerFeature returns the powerFeature of the VM.
func (e *external) powerFeature() powerFeature {
	return powerFeature{client: e.client, inventory: e.inventory, tenant: e.tenant, tasks: e.tasks, pooled: e.pooled, vm: e.vm, now: e.now()}
}

// observe reads since when the VM and its node run, for the strategy that depends on it.
func (f powerFeature) observe(ctx context.Context, m Machine, d *desired) error {
	if ptr.Deref(d.RunStrategy, "") != power.RerunOnFailure {
		return nil
	}
	d.RunningSince, _ = time.Parse(time.RFC3339, m.GetAnnotations()[object.AnnotationRunningSince]) // Zero if it never ran.
	nodes, err := f.inventory.Nodes(ctx)
	for _, n := range nodes {
		if n.Name == f.vm.Node && n.Uptime > 0 {
			d.NodeBooted = f.now.Add(-n.Uptime)
		}
	}
	return err
}

func (f powerFeature) plan(ctx context.Context, _ Machine, p *plan) (proposal, error) {
	next := proposal{annotations: p.RunningAnnotation(f.vm, f.now)}
	if p.power != power.Suspend {
		return next, nil
	}
	next.rejections = p.PowerRejections(f.vm)
	if f.tenant.Tenant == nil {
		return next, nil
	}
	storages, err := f.inventory.Storages(ctx)
	if err != nil {
		return next, err
	}
	there := slices.DeleteFunc(slices.Clone(storages), func(s proxmox.Storage) bool { return s.Node != f.vm.Node })
	if err := f.tenant.CheckMemoryStorage(capacity.StateStorage(f.vm.Active, there)); err != nil {
		next.rejections = append(next.rejections, err.Error())
	}
	return next, nil
}

// lasts reports whether the power state depends on the VM alone. The strategy RerunOnFailure also depends on when its node has booted.
func (powerFeature) lasts(m Machine) bool {
	return ptr.Deref(m.Parameters().RunStrategy, "") != power.RerunOnFailure
}

// powerNeeds returns the privileges that the power state of the spec needs.
func (c *creation) powerNeeds(at validate.Place) []validate.PrivilegeRequirement {
	if c.SpecPower() != v1alpha1.PowerStateRunning {
		return nil
	}
	return []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.PowerMgmt")}
}

// begin begins the plan of a VM with the change of power that its spec asks for.
func (f powerFeature) begin(m Machine, d desired) plan {
	p := plan{
		desired: d, power: d.PowerChange(f.vm), annotations: map[string]string{}, restart: restart.Decision{Reason: conditions.ReasonPendingChanges},
	}
	switch {
	case p.power == power.Resume && f.unresumable(m) && d.DesiredPower(f.vm) == v1alpha1.PowerStateStopped:
		p.power = power.Off
	case p.power == power.On && !f.vm.Suspended() && len(d.awaited) > 0:
		p.power = power.Keep
	case p.power == power.On && !f.vm.Suspended():
		if p.crashes, p.nextStart = f.tasks.Crashes(m); p.crashes > 0 {
			p.power = power.Keep // It stops soon after each of its starts.
		}
	}
	return p
}

// unresumable reports whether the VM cannot be resumed to react to a request to shut down.
func (f powerFeature) unresumable(m Machine) bool {
	t, known := f.tasks.Last(m)
	return known && t.Type == "qmresume" && !t.OK() && !f.tasks.WaitsForLock(m, t.Err())
}

// haDelay is how long HA has to carry out a request: it acts some time after the task of the request has ended.
const haDelay = 2 * time.Minute

// set makes a change of power, unless it was just requested from HA.
func (f powerFeature) set(ctx context.Context, m Machine, change power.Change) (proxmox.UPID, error) {
	if change == power.Keep || f.vm.Status.HAManaged && change.LeftToHA() && f.tasks.Asked(m, fmt.Sprintf("power %d", change), haDelay) {
		return "", nil
	}
	switch ref := f.vm.Ref; change {
	case power.On:
		return f.client.Start(ctx, ref)
	case power.Off:
		return f.client.Shutdown(ctx, ref, f.guest(m).Request())
	case power.Suspend:
		return f.client.Suspend(ctx, ref, proxmox.SuspendOptions{ToDisk: true})
	case power.Pause:
		return f.client.Suspend(ctx, ref, proxmox.SuspendOptions{})
	case power.Resume:
		return f.client.Resume(ctx, ref)
	case power.Kill:
		return f.client.Stop(ctx, ref, proxmox.StopOptions{})
	case power.Keep:
	}
	return "", nil
}

// guest returns the guest of the VM, to be shut down.
func (f powerFeature) guest(m Machine) shutdown.Guest {
	return shutdown.Guest{Machine: m, VM: f.vm, Tasks: f.tasks}
}

// ready returns the condition Ready, which is true if the VM is in the power state that the spec asks for, with its identity in place.
func (f powerFeature) ready(m Machine, p plan) xpv2.Condition {
	switch lock := f.vm.Lock(); {
	case f.vm.IdentityPending:
		return xpv2.Creating()
	case p.power != power.Keep && lock != "" && lock != "suspended":
		return conditions.NotReady(conditions.ReasonLocked, fmt.Sprintf("the VM is not in the desired power state, and is locked (%s)", lock))
	case p.power == power.Off && f.guest(m).HardStop().After(f.now):
		return conditions.NotReady(conditions.ReasonPowerMismatch, p.power.Message()+": "+f.guest(m).Wait())
	case p.power != power.Keep:
		return conditions.NotReady(conditions.ReasonPowerMismatch, p.power.Message())
	case p.heldPower != power.Keep:
		return p.held()
	}
	if len(p.awaited) > 0 {
		return conditions.NotReady(conditions.ReasonWaitingForVolume, strings.Join(p.awaited, "; "))
	}
	if waits := f.pooled.Waits(); len(waits) > 0 {
		return conditions.NotReady(conditions.ReasonWaitingForIPAddress, strings.Join(waits, "; "))
	}
	if n := p.crashes; n > 0 {
		return conditions.NotReady(conditions.ReasonPowerMismatch,
			fmt.Sprintf("the VM has stopped soon after each of its last %d starts: its next start waits until %s, longer each time",
				n, p.nextStart.UTC().Format(time.RFC3339)))
	}
	if why := p.UnreachablePower(f.vm); why != "" {
		return conditions.NotReady(conditions.ReasonPowerMismatch, why)
	}
	return p.UnmanagedPower(f.vm)
}
