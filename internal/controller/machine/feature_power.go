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
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/shutdown"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// Power is the part of a Client that starts and stops VMs.
type Power interface {
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
	*external
	passive
}

// observe reads since when the VM and its node run, for the strategy that depends on it.
func (e powerFeature) observe(ctx context.Context, m Machine, d *desired) error {
	if ptr.Deref(d.RunStrategy, "") != power.RerunOnFailure {
		return nil
	}
	d.RunningSince, _ = time.Parse(time.RFC3339, m.GetAnnotations()[object.AnnotationRunningSince]) // Zero if never.
	nodes, err := e.inventory.Nodes(ctx)
	for _, n := range nodes {
		if n.Name == e.vm.Node && n.Uptime > 0 {
			d.NodeBooted = e.now().Add(-n.Uptime)
		}
	}
	return err
}

func (e powerFeature) plan(ctx context.Context, _ Machine, _ *plan) (proposal, error) {
	p := proposal{annotations: e.planned.RunningAnnotation(e.vm, e.now())}
	if e.planned.power != power.Suspend {
		return p, nil
	}
	p.rejections = e.planned.PowerRejections(e.vm)
	if e.tenant.Tenant == nil {
		return p, nil
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return p, err
	}
	there := slices.DeleteFunc(slices.Clone(storages), func(s proxmox.Storage) bool { return s.Node != e.vm.Node })
	if err := e.tenant.SavesMemory(capacity.StateStorage(e.vm.Active, there)); err != nil {
		p.rejections = append(p.rejections, err.Error())
	}
	return p, nil
}

// powerNeeds are the privileges that the power state of the spec takes.
func (c *creation) powerNeeds(at validate.Place) []validate.PrivilegeRequirement {
	if c.SpecPower() != v1alpha1.PowerStateRunning {
		return nil
	}
	return []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.PowerMgmt")}
}

// stopUnresumable stops a VM hard that is to be off and cannot be resumed to react to that.
func (e powerFeature) stopUnresumable(m Machine) {
	t, known := e.tasks.Last(m)
	failed := known && t.Type == "qmresume" && !t.OK() && !e.tasks.WaitsForLock(m, t.Err())
	if failed && e.planned.power == power.Resume && e.planned.DesiredPower(e.vm) == v1alpha1.PowerStateStopped {
		e.planned.power = power.Off
	}
}

// delayStart delays the start of a VM that stops soon after each of its starts.
func (e powerFeature) delayStart(m Machine) {
	if e.planned.power != power.On || e.vm.Suspended() {
		return
	}
	if len(e.planned.awaited) > 0 {
		e.planned.power = power.Keep
		return
	}
	if e.planned.crashes, e.planned.nextStart = e.tasks.Crashes(m); e.planned.crashes > 0 {
		e.planned.power = power.Keep
	}
}

// haDelay is how long HA has for what it was asked for: it acts some time after
// the task that asks it has ended.
const haDelay = 2 * time.Minute

// setPower makes the change of power that is planned.
func (e powerFeature) setPower(ctx context.Context, m Machine) error {
	if e.planned.power == power.Keep {
		return nil
	}
	if e.vm.Status.HAManaged && e.planned.power.LeftToHA() && e.tasks.Asked(m, fmt.Sprintf("power %d", e.planned.power), haDelay) {
		return nil
	}
	return e.start(m)(e.power(ctx, m))
}

func (e powerFeature) power(ctx context.Context, m Machine) (proxmox.UPID, error) {
	switch ref := e.vm.Ref; e.planned.power {
	case power.On:
		return e.client.Start(ctx, ref)
	case power.Off:
		return e.client.Shutdown(ctx, ref, e.guest(m).Request())
	case power.Suspend:
		return e.client.Suspend(ctx, ref, proxmox.SuspendOptions{ToDisk: true})
	case power.Pause:
		return e.client.Suspend(ctx, ref, proxmox.SuspendOptions{})
	case power.Resume:
		return e.client.Resume(ctx, ref)
	case power.Kill:
		return e.client.Stop(ctx, ref, proxmox.StopOptions{})
	case power.Keep:
	}
	return "", nil
}

// guest is that of the VM, to be shut down.
func (e *external) guest(m Machine) shutdown.Guest {
	return shutdown.Guest{Machine: m, VM: e.vm, Tasks: e.tasks}
}

// ready reports whether the VM is in the power state that the spec wants, with
// its identity in place.
func (e powerFeature) ready(m Machine) xpv2.Condition {
	switch lock := e.vm.Lock(); {
	case e.vm.IdentityPending:
		return xpv2.Creating()
	case e.planned.power != power.Keep && lock != "" && lock != "suspended":
		return conditions.NotReady(conditions.ReasonLocked, fmt.Sprintf("the VM is not in the desired power state, and is locked (%s)", lock))
	case e.planned.power == power.Off && e.guest(m).HardStop().After(e.now()):
		return conditions.NotReady(conditions.ReasonPowerMismatch, e.planned.power.Message()+": "+e.guest(m).Wait())
	case e.planned.power != power.Keep:
		return conditions.NotReady(conditions.ReasonPowerMismatch, e.planned.power.Message())
	case e.planned.heldPower != power.Keep:
		return conditions.NotReady(conditions.ReasonPowerMismatch, e.planned.heldPower.Message()+": it waits for "+e.planned.heldFor)
	}
	if len(e.planned.awaited) > 0 {
		return conditions.NotReady(conditions.ReasonWaitingForVolume, strings.Join(e.planned.awaited, "; "))
	}
	if waits := e.pooled.Waits(); len(waits) > 0 {
		return conditions.NotReady(conditions.ReasonWaitingForIPAddress, strings.Join(waits, "; "))
	}
	if n := e.planned.crashes; n > 0 {
		return conditions.NotReady(conditions.ReasonPowerMismatch,
			fmt.Sprintf("the VM has stopped soon after each of its last %d starts: its next start waits until %s, longer each time",
				n, e.planned.nextStart.UTC().Format(time.RFC3339)))
	}
	if why := e.planned.UnreachablePower(e.vm); why != "" {
		return conditions.NotReady(conditions.ReasonPowerMismatch, why)
	}
	return e.planned.UnmanagedPower(e.vm)
}
