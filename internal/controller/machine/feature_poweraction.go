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
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/shutdown"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A powerActionFeature carries out one-time actions that the spec asks for: a reboot, a reset, a stop.
type powerActionFeature struct {
	noopFeature

	client Client
	kube   client.Client
	calls  notedCalls
	tasks  *tasktrack.Tracker
	vm     *vmstate.VM
	now    time.Time
	log    logging.Logger
}

// powerActionFeature returns the powerActionFeature of the VM.
func (e *external) powerActionFeature() powerActionFeature {
	return powerActionFeature{client: e.client, kube: e.kube, calls: notedCalls{e.kube}, tasks: e.tasks, vm: e.vm, now: e.now(), log: e.log}
}

func (f powerActionFeature) plan(_ context.Context, m Machine, _ *plan) (proposal, error) {
	now, later := f.due(m)
	return proposal{action: now, laterAction: later}, nil
}

// lasts reports whether no power action is due or waited for.
func (powerActionFeature) lasts(m Machine) bool {
	seen := m.Observation().PowerAction
	return poweraction.Due(m) == nil && (seen == nil || seen.Result != "")
}

// due finds the power action that is to be done, now or later. A reboot waits if the guest may still be booting and would not react to the request:
// the action would fail, and is not repeated.
func (f powerActionFeature) due(m Machine) (now, later *v1alpha1.MachinePowerAction) {
	a := poweraction.Due(m)
	if a != nil && a.Action == poweraction.Reboot && restart.Booting(f.vm) {
		return nil, a
	}
	return a, nil
}

// showEarly shows that the power action of a Machine that takes over a VM is not done: it was requested before the Machine had a VM. It writes the
// status at once, because the write of the finalizer, which comes next, would drop it.
func (f powerActionFeature) showEarly(ctx context.Context, m Machine) error {
	a := m.Parameters().PowerAction
	before, ok := m.DeepCopyObject().(Machine)
	if a == nil || !ok {
		return nil
	}
	m.Observation().PowerAction = poweraction.Result(a, "", errors.New("not done: it was asked for before the Machine had its VM"))
	return errors.Wrap(f.kube.Status().Patch(ctx, m, client.MergeFrom(before)), "cannot show that the power action is not done")
}

// startAction starts a power action, or asks the guest again to shut down. A refusal of PVE is the result of the action, which is not repeated. A
// call that waits for its turn was not sent, and is sent later.
func (f powerActionFeature) startAction(ctx context.Context, m Machine, a *v1alpha1.MachinePowerAction) (proxmox.UPID, error) {
	var refused error
	u, err := f.calls.once(ctx, m, object.AnnotationPowerAction, poweraction.Done(m, a.Token, f.now), func() (proxmox.UPID, error) {
		u, err := f.callAction(ctx, m, a.Action)
		if _, waits := proxmox.Waiting(err); waits {
			return "", err
		}
		refused = err
		return u, nil
	})
	if err != nil {
		return "", err
	}
	m.Observation().PowerAction = poweraction.Result(a, u, refused)
	if refused != nil {
		f.log.Info("Power action failed", "action", a.Action, "token", a.Token, "error", refused)
	}
	return u, nil
}

// guestOfAction returns the guest of a VM that an action shuts down.
func guestOfAction(m Machine, v *vmstate.VM, t *tasktrack.Tracker) shutdown.Guest {
	return shutdown.Guest{Machine: m, VM: v, Tasks: t, Begun: poweraction.Begun(m)}
}

func (f powerActionFeature) callAction(ctx context.Context, m Machine, action string) (proxmox.UPID, error) {
	switch ref := f.vm.Ref; action {
	case poweraction.Reboot:
		return f.client.Reboot(ctx, ref, proxmox.RebootOptions{Timeout: shutdown.Timeout(m)})
	case "Reset":
		return f.client.Reset(ctx, ref)
	case poweraction.Shutdown:
		return f.client.Shutdown(ctx, ref, guestOfAction(m, f.vm, f.tasks).Request())
	case "Stop":
		// HA itself stops a VM, whatever task runs, and takes no such option.
		return f.client.Stop(ctx, ref, proxmox.StopOptions{OverruleShutdown: !f.vm.Status.HAManaged})
	default:
		return f.client.Start(ctx, ref)
	}
}

// observeAction updates the result of the last power action.
func (f powerActionFeature) observeAction(ctx context.Context, m Machine, p *plan) {
	poweraction.Show(m)
	seen := m.Observation().PowerAction
	if seen == nil || seen.UPID == "" || seen.Result != "" {
		return
	}
	u := proxmox.UPID(seen.UPID)
	if u.ID() != strconv.Itoa(f.vm.VMID) {
		seen.Result = poweraction.Unknown // The status may be forged, and tasks of other VMs are not read.
		return
	}
	t, err := f.actionTask(ctx, m, u)
	switch {
	case proxmox.IsNoSuchTask(err):
		seen.Result = poweraction.Unknown
	case err != nil || t.Running:
	case f.tasks.WaitsForLock(m, t.Err()):
		f.repeatAction(ctx, m, p)
	case poweraction.NeedsAnotherRequest(m, f.vm, t, f.now):
		p.action = m.Parameters().PowerAction
	default:
		seen.Result = strings.TrimSpace(t.ExitStatus)
	}
}

// actionTask returns the task of a power action, as it was last seen or as it is now.
func (f powerActionFeature) actionTask(ctx context.Context, m Machine, u proxmox.UPID) (proxmox.Task, error) {
	if last, ok := f.tasks.Last(m); ok && last.UPID == u {
		return last, nil
	}
	return f.client.Task(ctx, u)
}

// repeatAction repeats a power action whose task did nothing because it did not get the VM's lock.
func (f powerActionFeature) repeatAction(ctx context.Context, m Machine, p *plan) {
	if err := kind.Annotate(ctx, f.kube, m, map[string]string{object.AnnotationPowerAction: poweraction.Undone(m)}); err != nil {
		f.log.Debug("Cannot repeat power action", "error", err) // The next reconcile does.
		return
	}
	m.Observation().PowerAction = nil
	p.action, p.laterAction = f.due(m)
}
