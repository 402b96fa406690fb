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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/maintenance"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A restartFeature restarts the VM for changes that take effect only at its next start.
type restartFeature struct {
	noopFeature

	client      powerClient
	calls       notedCalls
	tasks       *tasktrack.Tracker
	tasksBefore tasktrack.View
	vm          *vmstate.VM
	now         time.Time
}

// restartFeature returns the restartFeature of the VM.
func (e *external) restartFeature() restartFeature {
	return restartFeature{client: e.client, calls: notedCalls{e.kube}, tasks: e.tasks, tasksBefore: e.tasksBefore, vm: e.vm, now: e.now()}
}

func (f restartFeature) plan(_ context.Context, m Machine, p *plan) (proposal, error) {
	last := restart.Last(m)
	next := proposal{
		restart: new(f.decide(m, p, last)), rejections: maintenance.Rejections(p.MaintenanceWindow), annotations: f.restartAnnotation(m, last),
	}
	if target := p.DesiredPower(f.vm); last.Starts(f.vm, f.now) && (target == "" || target == v1alpha1.PowerStateRunning) {
		next.power = power.On
	}
	return next, nil
}

// lasts reports whether no restart is waited for: without pending changes, neither the time nor a maintenance window matters.
func (f restartFeature) lasts(m Machine) bool {
	return len(f.vm.Pending) == 0 && m.GetAnnotations()[object.AnnotationLastRestart] == ""
}

// decide decides whether the VM is restarted now for its pending changes.
func (f restartFeature) decide(m Machine, p *plan, last restart.Request) restart.Decision {
	if !p.change.Empty() { // The change may revert what is pending.
		return restart.Decision{Reason: conditions.ReasonPendingChanges}
	}
	r := restart.Policy{Desired: p.Desired, LockTimedOut: f.tasks.LockTimedOut(m, restart.TaskTypes()...)}.Decide(f.vm, last, f.now)
	if last.Changes == "" || last.Changes != r.Request.Changes {
		return r
	}
	if busy, err := f.tasksBefore.Busy(f.vm.VMID); err == nil && (busy || f.tasks.Rebooting(m)) {
		return restart.Decision{Reason: conditions.ReasonRestarting, Why: restart.UnderWay}
	}
	f.tasks.MarkShown(m)
	t, _ := f.tasks.Last(m)
	return r.After(t)
}

// reboot restarts the VM for its pending changes.
func (f restartFeature) reboot(ctx context.Context, m Machine, r restart.Decision) (proxmox.UPID, error) {
	return f.calls.once(ctx, m, object.AnnotationLastRestart, r.Request.String(), func() (proxmox.UPID, error) {
		if r.Hard {
			return f.client.Stop(ctx, f.vm.Ref, proxmox.StopOptions{})
		}
		return f.client.Reboot(ctx, f.vm.Ref, proxmox.RebootOptions{Timeout: r.Timeout})
	})
}

// notedCalls makes calls to PVE that are recorded on their Machines.
type notedCalls struct{ kube client.Client }

// once records a call before it makes it, so that the call is never made twice. It removes the record if the call is known to have begun nothing, and
// may be made later.
func (c notedCalls) once(ctx context.Context, m Machine, annotation, note string, call func() (proxmox.UPID, error)) (proxmox.UPID, error) {
	before := m.GetAnnotations()[annotation]
	if err := kind.Annotate(ctx, c.kube, m, map[string]string{annotation: note}); err != nil {
		return "", err
	}
	u, err := call()
	if err == nil || proxmox.IsOutcomeUnknown(err) {
		return u, err
	}
	return "", cmp.Or(kind.Annotate(ctx, c.kube, m, map[string]string{annotation: before}), err)
}

// restartAnnotation clears the record of the last restart once nothing is pending and the VM need not be started for it.
func (f restartFeature) restartAnnotation(m Machine, last restart.Request) map[string]string {
	if m.GetAnnotations()[object.AnnotationLastRestart] == "" || len(f.vm.Pending) > 0 || last.Starts(f.vm, f.now) {
		return nil
	}
	return map[string]string{object.AnnotationLastRestart: ""}
}
