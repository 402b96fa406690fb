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
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// AnnotationLastRestart names the pending changes that the VM was restarted for. It
// is written before the call: no set of changes restarts a VM twice.
const AnnotationLastRestart = "proxmox.vitistack.io/last-restart-hash"

const restartWhenRequired = "WhenRequired"

// Reasons of the condition RestartRequired beside PendingChanges.
const (
	ReasonRestarting         xpv2.ConditionReason = "Restarting"
	ReasonWaitingForGuest    xpv2.ConditionReason = "WaitingForGuest"
	ReasonOutsideWindow      xpv2.ConditionReason = "OutsideMaintenanceWindow"
	ReasonRestartIneffective xpv2.ConditionReason = "RestartIneffective"
	ReasonStartBlocked       xpv2.ConditionReason = "StartBlocked"
)

// A restart is what is decided about one that pending changes require.
type restart struct {
	due    bool
	reason xpv2.ConditionReason
	why    string
}

// A restartFeature restarts the VM for changes that take effect at its next start only.
type restartFeature struct {
	*external
	passive
}

func (e restartFeature) plan(_ context.Context, m Machine) (proposal, error) {
	e.planned.restart = e.restart(m)
	return proposal{rejections: windowRefusals(e.planned.MaintenanceWindow), annotations: e.restartAnnotation(m)}, nil
}

// restart decides whether the VM is restarted for its pending changes now.
func (e restartFeature) restart(m Machine) restart {
	if !e.planned.change.Empty() { // It may take back what is pending.
		return restart{reason: ReasonPendingChanges}
	}
	r := e.planned.desired.restart(e.vm, m.GetAnnotations()[AnnotationLastRestart], e.now())
	if busy, err := e.tasksBefore.busy(e.vm.VMID); r.reason == ReasonRestartIneffective && err == nil && (busy || e.tasks.resting(m)) {
		return restart{reason: ReasonRestarting, why: restartingNow}
	}
	return r
}

const restartingNow = "it is being restarted"

// restart decides it by the VM, and by what it was restarted for last.
func (d desired) restart(v *vm, done string, now time.Time) restart {
	ours := d.Pending(v.State)
	if !v.Status.Running() || len(ours) == 0 || ptr.Deref(d.RestartPolicy, "") != restartWhenRequired || v.lock() != "" {
		return restart{reason: ReasonPendingChanges}
	}
	if done == fingerprint(ours) {
		return restart{reason: ReasonRestartIneffective, why: "a restart was made for them and did not apply them, and is not repeated"}
	}
	if no := validate.StartError(v.State); len(no) > 0 {
		return restart{reason: ReasonStartBlocked, why: "Proxmox VE would not start it again: " + strings.Join(no, "; ")}
	}
	if open, next := d.window(now); !open {
		return restart{reason: ReasonOutsideWindow, why: "the next maintenance window opens at " + next.Format(time.RFC3339)}
	}
	if !v.booted() {
		return restart{reason: ReasonWaitingForGuest, why: "the guest may still be booting, and would not hear the request"}
	}
	return restart{due: true, reason: ReasonRestarting, why: restartingNow}
}

// bootTime is how long a guest may take until it hears a request to shut down.
const bootTime = 2 * time.Minute

// booted reports whether the guest's system is up, as far as can be known.
func (v *vm) booted() bool {
	return v.Status.QMPStatus != qmpPaused && (v.Interfaces != nil || v.Status.Uptime >= bootTime)
}

// fingerprint of a set of changes. It is not kept in clear, since values may be
// secret.
func fingerprint(pending []proxmox.PendingValue) string {
	h := sha256.New()
	for _, p := range pending {
		fmt.Fprintf(h, "%q %q %q %d\n", p.Key, ptr.Deref(p.Value, ""), ptr.Deref(p.Pending, ""), p.Delete)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// reboot restarts the VM for its pending changes.
func (e restartFeature) reboot(ctx context.Context, m Machine) (proxmox.UPID, error) {
	done := fingerprint(e.planned.Pending(e.vm.State))
	return e.callOnce(ctx, m, AnnotationLastRestart, done, func() (proxmox.UPID, error) {
		return e.client.Reboot(ctx, e.vm.Ref, proxmox.RebootOptions{Timeout: shutdownTimeout(m)})
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

// restartAnnotation forgets what the VM was restarted for once nothing is pending.
func (e restartFeature) restartAnnotation(m Machine) map[string]string {
	if m.GetAnnotations()[AnnotationLastRestart] == "" || len(e.vm.Pending) > 0 {
		return nil
	}
	return map[string]string{AnnotationLastRestart: ""}
}

// restartCondition lists what a restart applies.
func (v *vm) restartCondition(r restart) xpv2.Condition {
	if !v.Status.Running() || len(v.Pending) == 0 {
		return condition(TypeRestartRequired, corev1.ConditionFalse, ReasonUpToDate, "")
	}
	names := make([]string, 0, len(v.Pending))
	for _, p := range v.Pending {
		names = append(names, p.Key)
	}
	message := "a restart of the VM applies: " + strings.Join(names, ", ")
	if r.why != "" {
		message += "; " + r.why
	}
	return condition(TypeRestartRequired, corev1.ConditionTrue, r.reason, message)
}
