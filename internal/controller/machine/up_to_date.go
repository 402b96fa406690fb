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
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A report shows in conditions how the VM differs from the spec, and what the differences wait for.
type report struct {
	tasks       *tasktrack.Tracker
	tasksBefore tasktrack.View
	now         time.Time
	vm          *vmstate.VM // nil if there is none
	planned     plan
}

// report returns the report of this reconcile.
func (e *external) report() report {
	return report{tasks: e.tasks, tasksBefore: e.tasksBefore, now: e.now(), vm: e.vm, planned: e.planned}
}

// upToDate returns the condition UpToDate after an observation of the VM. It is False while anything differs from the spec or waits, and names both.
func (r report) upToDate(m Machine, seen managed.ExternalObservation, err error) xpv2.Condition {
	ready := m.GetCondition(xpv2.TypeReady)
	switch {
	case meta.WasDeleted(m):
		return conditions.NotUpToDate(xpv2.ReasonDeleting, "the Machine is being deleted")
	case err != nil && r.vm == nil && proxmox.IsUnavailable(err):
		return conditions.New(kind.TypeUpToDate, corev1.ConditionUnknown, xpv2.ReasonUnavailable, err.Error())
	case tenancy.IsRefusal(err):
		return conditions.NotUpToDate(v1alpha1.ReasonTenantRefused, err.Error())
	case quota.IsExceeded(err):
		return conditions.NotUpToDate(v1alpha1.ReasonQuotaExceeded, err.Error())
	case err != nil:
		return conditions.NotUpToDate(xpv2.ReasonUpdateFailed, err.Error()+r.retry(m, err))
	case r.vm == nil && ready.Status == corev1.ConditionFalse, r.vm != nil && r.vm.BeingCreated():
		return conditions.NotUpToDate(ready.Reason, ready.Message)
	case r.vm == nil || !seen.ResourceExists:
		return conditions.NotUpToDate(xpv2.ReasonCreating, "the VM does not exist")
	case len(r.planned.rejections) > 0:
		return conditions.NotUpToDate(xpv2.ReasonUpdateFailed, strings.Join(r.planned.rejections, "; "))
	}
	return r.difference(m, ready)
}

// difference returns the condition UpToDate of a VM that exists and whose spec can be carried out.
func (r report) difference(m Machine, ready xpv2.Condition) xpv2.Condition {
	var reason xpv2.ConditionReason
	lines := r.differences(m)
	if len(lines) > 0 {
		reason = xpv2.ReasonUpdateRequested
		if wait := r.updateWait(m); wait != "" {
			lines = append(lines, wait)
		}
		if !kind.Manages(m) {
			reason = xpv2.ReasonUpdateRestricted
		}
	}
	if wait := r.shutsDown(m); wait != "" {
		lines, reason = append(lines, wait), cmp.Or(reason, xpv2.ReasonUpdateRequested)
	}
	if err := r.planned.exceeded; err != nil {
		lines, reason = append(lines, err.Error()), xpv2.ReasonUnavailable
		if quota.IsExceeded(err) {
			reason = v1alpha1.ReasonQuotaExceeded
		}
	}
	if o := r.planned.offline(); o != nil {
		reason = o.Reason
		if !strings.Contains(ready.Message, o.Message) {
			lines = append(lines, o.Message)
		}
	}
	for _, a := range r.planned.acts {
		if why, message := act.Failure(a.kind, m, a.record); why != "" {
			lines = append(lines, message)
			reason = cmp.Or(reason, why)
		}
	}
	if pending := r.pendingLines(); len(pending) > 0 {
		lines = append(lines, pending...)
		reason = cmp.Or(reason, r.planned.restart.Reason)
	}
	if ready.Status == corev1.ConditionFalse {
		if !slices.Contains(lines, ready.Message) {
			lines = append(lines, ready.Message)
		}
		reason = cmp.Or(reason, ready.Reason)
	}
	if reason == "" {
		return conditions.New(kind.TypeUpToDate, corev1.ConditionTrue, kind.ReasonUpToDate, "")
	}
	return conditions.NotUpToDate(reason, strings.Join(lines, "; "))
}

// retry returns when a failed change is tried again, or an empty string if that is not known.
func (r report) retry(m Machine, err error) string {
	at := r.tasks.RetryAt(m, err)
	if at.IsZero() {
		return ""
	}
	return "; it is tried again at " + at.UTC().Format(time.RFC3339)
}

// differences returns the differences between the VM and the spec, one per line.
func (r report) differences(m Machine) []string {
	var lines []string
	for _, d := range m.Observation().Difference {
		lines = append(lines, kind.Changes(d.Option, d.Current, d.Desired)...)
	}
	if a := r.planned.action; a != nil && r.shutsDown(m) == "" {
		lines = append(lines, "powerAction "+a.Action+" is to be done")
	}
	if a := r.planned.laterAction; a != nil {
		lines = append(lines, poweraction.WaitsForGuest(m, a, restart.BootTime))
	}
	if len(r.planned.staleImages) > 0 {
		lines = append(lines, "an image of cloud-init data that is no longer used is to be removed")
	}
	return lines
}

// shutsDown returns what a power action that shuts the guest down waits for, or an empty string if there is none.
func (r report) shutsDown(m Machine) string {
	guest := guestOfAction(m, r.vm, r.tasks)
	if !poweraction.UnderWay(m) || !r.vm.Status.Running() || !guest.HardStop().After(r.now) {
		return ""
	}
	return "powerAction Shutdown: " + guest.Wait()
}

// updateWait returns what a change waits for, or an empty string if it is about to be made.
func (r report) updateWait(m Machine) string {
	busy, err := r.tasksBefore.Busy(r.vm.VMID)
	_, locking := r.planned.splitByLock()
	switch {
	case !kind.Manages(m):
		return "managementPolicies leave out Update"
	case r.tasks.Rebooting(m) && (!locking.empty() || locking.laterAction != nil):
		return "waits for a reboot of the VM to end, until " + r.tasks.RebootsUntil(m).UTC().Format(time.RFC3339) + " at most"
	case err == nil && busy:
		return strings.TrimSpace("waits for a task of Proxmox VE to end " + r.tasks.RunningType(m))
	case !r.planned.allowedDuringLock(r.vm):
		return r.vm.WaitsFor()
	case r.planned.ha().Refuses(r.vm):
		return "high availability has given the VM up (state error), and takes no change of it"
	case r.planned.empty() && r.planned.laterAction == nil:
		return "waits for the next start of the VM"
	}
	return ""
}

// pendingLines lists the declared options that the next start or restart of the VM applies, and what the restart waits for.
func (r report) pendingLines() []string {
	off := !r.vm.Status.Running()
	if len(r.vm.Pending) == 0 || off && !r.planned.change.Empty() {
		return nil
	}
	var lines []string
	for _, p := range r.planned.Pending(r.vm.State) {
		lines = append(lines, kind.Changes(p.Key, vmstate.Masked(p.Key, ptr.Deref(p.Value, "")), vmstate.Masked(p.Key, ptr.Deref(p.Pending, "")))...)
	}
	if len(lines) == 0 {
		return nil
	}
	if off {
		return append(lines, "waits for the next start of the VM")
	}
	if why := r.planned.restart.Why; why != "" {
		return append(lines, "waits for a restart of the VM: "+why)
	}
	return append(lines, "waits for a restart of the VM")
}

// adds reports whether a device comes with the next change, or with the change whose task runs. After a failure, no change is known to add it.
func (r report) adds(m Machine, device string) bool {
	failed := m.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse || r.tasks.BackoffError(m)
	if failed || len(r.planned.rejections) > 0 || !kind.Manages(m) || !r.planned.allowedDuringLock(r.vm) {
		return false
	}
	return r.planned.change.Set[device] != "" || r.planned.deferred.Set[device] != ""
}

// powerFault returns why the VM does not reach the power state of the spec by itself.
func (r report) powerFault(m Machine) events.PowerFault {
	switch p := r.planned; {
	case r.vm == nil || p.MachineParameters == nil || p.power != power.Keep:
		return events.PowerFault{Lasts: r.tasks.CrashLoops(m)}
	case p.crashes > 0:
		return events.PowerFault{Fault: "stops after each start", Lasts: true}
	default:
		return events.PowerFault{Fault: p.UnreachablePower(r.vm), Lasts: r.tasks.CrashLoops(m)}
	}
}
