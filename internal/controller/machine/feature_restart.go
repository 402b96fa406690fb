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

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/maintenance"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A restartFeature restarts the VM for changes that take effect at its next start only.
type restartFeature struct {
	*external
	passive
}

func (e restartFeature) plan(_ context.Context, m Machine, _ *plan) (proposal, error) {
	last := restart.Last(m)
	e.planned.restart = e.restart(m, last)
	target := e.planned.DesiredPower(e.vm)
	if e.planned.power == power.Keep && last.Starts(e.vm, e.now()) && (target == "" || target == v1alpha1.PowerStateRunning) {
		e.planned.power = power.On
	}
	return proposal{rejections: maintenance.Rejections(e.planned.MaintenanceWindow), annotations: e.restartAnnotation(m, last)}, nil
}

// restart decides whether the VM is restarted for its pending changes now.
func (e restartFeature) restart(m Machine, last restart.Request) restart.Decision {
	if !e.planned.change.Empty() { // It may take back what is pending.
		return restart.Decision{Reason: conditions.ReasonPendingChanges}
	}
	r := restart.Policy{Desired: e.planned.Desired, GotNoLock: e.tasks.GotNoLock(m, restart.TaskTypes()...)}.Decide(e.vm, last, e.now())
	if last.Changes == "" || last.Changes != r.Request.Changes {
		return r
	}
	if busy, err := e.tasksBefore.Busy(e.vm.VMID); err == nil && (busy || e.tasks.Resting(m)) {
		return restart.Decision{Reason: conditions.ReasonRestarting, Why: restart.UnderWay}
	}
	e.tasks.MarkShown(m)
	t, _ := e.tasks.Last(m)
	return r.After(t)
}

// reboot restarts the VM for its pending changes.
func (e restartFeature) reboot(ctx context.Context, m Machine) (proxmox.UPID, error) {
	r := e.planned.restart
	return e.callOnce(ctx, m, object.AnnotationLastRestart, r.Request.String(), func() (proxmox.UPID, error) {
		if r.Hard {
			return e.client.Stop(ctx, e.vm.Ref, proxmox.StopOptions{})
		}
		return e.client.Reboot(ctx, e.vm.Ref, proxmox.RebootOptions{Timeout: r.Timeout})
	})
}

// callOnce makes a call that is noted before, so that it is never made twice. The note is taken
// back if the call is known to have begun nothing, and may be made later.
func (e *external) callOnce(ctx context.Context, m Machine, annotation, note string, call func() (proxmox.UPID, error)) (proxmox.UPID, error) {
	before := m.GetAnnotations()[annotation]
	if err := kind.Annotate(ctx, e.kube, m, map[string]string{annotation: note}); err != nil {
		return "", err
	}
	u, err := call()
	if err == nil || proxmox.IsOutcomeUnknown(err) {
		return u, err
	}
	return "", cmp.Or(kind.Annotate(ctx, e.kube, m, map[string]string{annotation: before}), err)
}

// restartAnnotation forgets what the VM was restarted for once nothing is pending and the VM
// need not be started for it.
func (e restartFeature) restartAnnotation(m Machine, last restart.Request) map[string]string {
	if m.GetAnnotations()[object.AnnotationLastRestart] == "" || len(e.vm.Pending) > 0 || last.Starts(e.vm, e.now()) {
		return nil
	}
	return map[string]string{object.AnnotationLastRestart: ""}
}
