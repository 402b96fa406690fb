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
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/maintenance"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const restartWhenRequired = "WhenRequired"

// A guest that does not act on a request to restart is asked again firstRestartRetry after the
// request has failed, twice that after the next one, … lastRestartRetry.
const (
	firstRestartRetry = time.Minute
	lastRestartRetry  = 30 * time.Minute
)

// startsWithin is how long after a hard stop the provider starts a VM that it stopped for a
// restart, whatever powerState and runStrategy leave open.
const startsWithin = time.Hour

// A restartRequest is what is kept of the requests to restart the VM for one set of changes.
type restartRequest struct {
	// Changes is the fingerprint of the changes.
	Changes string `json:"changes"`

	// First is when the first request was made, of those of the same maintenance window, and
	// Last when the last one was. Count is how many there were.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Count int       `json:"count,omitempty"`

	// Stopped is true once the VM was stopped hard, to be started again.
	Stopped bool `json:"stopped,omitempty"`
}

// lastRestart returns the request that was made last. One that releases before have kept is
// the fingerprint alone.
func lastRestart(m Machine) restartRequest {
	text := m.GetAnnotations()[object.AnnotationLastRestart]
	var r restartRequest
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return restartRequest{Changes: text}
	}
	return r
}

func (r restartRequest) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return r.Changes // Strings, numbers and times can always be written.
	}
	return string(text)
}

// restarted reports whether the VM was started after the request.
func (r restartRequest) restarted(v *vmstate.VM, now time.Time) bool {
	return now.Add(-v.Status.Uptime).After(r.Last)
}

// starts reports whether the VM is to be started since it was stopped hard for a restart.
func (r restartRequest) starts(v *vmstate.VM, now time.Time) bool {
	return r.Stopped && !v.On() && now.Sub(r.Last) < startsWithin
}

// next returns the request that follows this one for a set of changes.
func (r restartRequest) next(changes string, opened, now time.Time) restartRequest {
	if r.Changes != changes || r.First.Before(opened) {
		r = restartRequest{Changes: changes, First: now}
	}
	return restartRequest{Changes: changes, First: r.First, Last: now, Count: r.Count + 1}
}

// A restart is what is decided about one that pending changes require.
type restart struct {
	due    bool
	reason xpv2.ConditionReason
	why    string

	// request is what is kept of the restart if it is due, hard whether the VM is stopped
	// without asking the guest, and timeout how long the guest has otherwise.
	request restartRequest
	hard    bool
	timeout time.Duration
}

// A restartFeature restarts the VM for changes that take effect at its next start only.
type restartFeature struct {
	*external
	passive
}

func (e restartFeature) plan(_ context.Context, m Machine) (proposal, error) {
	last := lastRestart(m)
	e.planned.restart = e.restart(m, last)
	target := e.planned.desiredPower(e.vm)
	if e.planned.power == keepPower && last.starts(e.vm, e.now()) && (target == "" || target == v1alpha1.PowerStateRunning) {
		e.planned.power = powerOn
	}
	return proposal{rejections: maintenance.Rejections(e.planned.MaintenanceWindow), annotations: e.restartAnnotation(m, last)}, nil
}

// restart decides whether the VM is restarted for its pending changes now.
func (e restartFeature) restart(m Machine, last restartRequest) restart {
	if !e.planned.change.Empty() { // It may take back what is pending.
		return restart{reason: conditions.ReasonPendingChanges}
	}
	r := e.planned.desired.restart(e.vm, last, e.now())
	if last.Changes == "" || last.Changes != r.request.Changes {
		return r
	}
	if busy, err := e.tasksBefore.Busy(e.vm.VMID); err == nil && (busy || e.tasks.Resting(m)) {
		return restart{reason: conditions.ReasonRestarting, why: restartingNow}
	}
	e.tasks.MarkShown(m)
	if t, _ := e.tasks.Last(m); r.reason == conditions.ReasonRestartFailed && !t.OK() && slices.Contains([]string{"qmreboot", "qmstop"}, t.Type) {
		r.why = fmt.Sprintf("the VM was not restarted: %s; %s", t.ExitStatus, r.why)
	} else if r.reason == conditions.ReasonRestartFailed {
		r.why = "the VM was not restarted, although that was asked for; " + r.why
	}
	return r
}

const restartingNow = "it is being restarted"

// restart decides it by the VM, and by the last request.
func (d desired) restart(v *vmstate.VM, last restartRequest, now time.Time) restart {
	ours := d.Pending(v.State)
	if !v.Status.Running() || len(ours) == 0 || ptr.Deref(d.RestartPolicy, "") != restartWhenRequired || v.Lock() != "" {
		return restart{reason: conditions.ReasonPendingChanges}
	}
	changes := fingerprint(ours)
	again := last.Changes == changes
	if again && last.restarted(v, now) {
		return restart{reason: conditions.ReasonRestartIneffective, why: "a restart was made for them and did not apply them, and is not repeated", request: last}
	}
	if no := validate.StartError(v.State); len(no) > 0 {
		return restart{reason: conditions.ReasonStartBlocked, why: "Proxmox VE would not start it again: " + strings.Join(no, "; ")}
	}
	open, opened := maintenance.State(d.MaintenanceWindow, now)
	switch {
	case !open && again:
		return restart{reason: conditions.ReasonRestartFailed, why: "it is asked for again when the maintenance window opens at " + opened.Format(time.RFC3339), request: last}
	case !open:
		return restart{reason: conditions.ReasonOutsideWindow, why: "the next maintenance window opens at " + opened.Format(time.RFC3339)}
	case again && !last.First.Before(maintenance.Opened(d.MaintenanceWindow, now)):
		return d.restartAgain(last, now)
	case !booted(v):
		return restart{reason: conditions.ReasonWaitingForGuest, why: "the guest may still be booting, and would not hear the request"}
	}
	return d.restartDue(last.next(changes, maintenance.Opened(d.MaintenanceWindow, now), now))
}

// restartAgain decides about a restart that was asked for in this maintenance window and was
// not made.
func (d desired) restartAgain(last restartRequest, now time.Time) restart {
	asked := cmp.Or(d.requestTimeout(last.Last.Sub(last.First)), defaultShutdownTimeout)
	ended := last.Last.Add(asked)
	if now.Before(ended) && !last.Stopped {
		return restart{reason: conditions.ReasonRestarting, why: restartingNow, request: last} // Its task may not be seen.
	}
	retry := ended.Add(min(firstRestartRetry<<min(max(last.Count-1, 0), 10), lastRestartRetry))
	if d.RestartTimeoutSeconds != nil && !last.Stopped {
		retry = earlier(retry, last.First.Add(d.hardAfter()))
	}
	if now.Before(retry) {
		return restart{reason: conditions.ReasonRestartFailed, why: "it is asked for again at " + retry.UTC().Format(time.RFC3339), request: last}
	}
	return d.restartDue(last.next(last.Changes, last.First, now))
}

// restartDue is a restart that is made now: by asking the guest, or without once it has had
// the time that the spec gives it.
func (d desired) restartDue(r restartRequest) restart {
	spent := r.Last.Sub(r.First)
	r.Stopped = d.RestartTimeoutSeconds != nil && spent >= d.hardAfter()
	return restart{due: true, reason: conditions.ReasonRestarting, why: restartingNow, request: r, hard: r.Stopped, timeout: d.requestTimeout(spent)}
}

// hardAfter is how long after the first request the VM is stopped hard, if the spec says so.
func (d desired) hardAfter() time.Duration {
	return time.Duration(ptr.Deref(d.RestartTimeoutSeconds, 0)) * time.Second
}

// requestTimeout is how long the guest has to act on a request that is made when this much of
// the time for the restart is spent; zero for what Proxmox VE gives it.
func (d desired) requestTimeout(spent time.Duration) time.Duration {
	timeout := time.Duration(ptr.Deref(d.ShutdownTimeoutSeconds, 0)) * time.Second
	left := d.hardAfter() - spent
	if d.RestartTimeoutSeconds == nil || left <= 0 || timeout > 0 && timeout < left {
		return timeout
	}
	return left
}

// defaultShutdownTimeout is how long Proxmox VE waits for a guest unless the call says so.
const defaultShutdownTimeout = time.Minute

// bootTime is how long a guest may take until it hears a request to shut down.
const bootTime = 2 * time.Minute

// booted reports whether the guest's system is up, as far as can be known.
func booted(v *vmstate.VM) bool {
	return v.Status.QMPStatus != vmstate.QMPPaused && (v.Interfaces != nil || v.Status.Uptime >= bootTime)
}

// booting reports whether the VM runs and its guest may not hear a request yet.
func booting(v *vmstate.VM) bool {
	return v.Status.Running() && v.Status.QMPStatus != vmstate.QMPPaused && !booted(v)
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
	r := e.planned.restart
	return e.callOnce(ctx, m, object.AnnotationLastRestart, r.request.String(), func() (proxmox.UPID, error) {
		if r.hard {
			return e.client.Stop(ctx, e.vm.Ref, proxmox.StopOptions{})
		}
		return e.client.Reboot(ctx, e.vm.Ref, proxmox.RebootOptions{Timeout: r.timeout})
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
func (e restartFeature) restartAnnotation(m Machine, last restartRequest) map[string]string {
	if m.GetAnnotations()[object.AnnotationLastRestart] == "" || len(e.vm.Pending) > 0 || last.starts(e.vm, e.now()) {
		return nil
	}
	return map[string]string{object.AnnotationLastRestart: ""}
}

// condition lists what a restart applies.
func (r restart) condition(v *vmstate.VM) xpv2.Condition {
	if !v.Status.Running() || len(v.Pending) == 0 {
		return conditions.New(conditions.TypeRestartRequired, corev1.ConditionFalse, conditions.ReasonUpToDate, "")
	}
	names := make([]string, 0, len(v.Pending))
	for _, p := range v.Pending {
		names = append(names, p.Key)
	}
	message := "a restart of the VM applies: " + strings.Join(names, ", ")
	if r.why != "" {
		message += "; " + r.why
	}
	return conditions.New(conditions.TypeRestartRequired, corev1.ConditionTrue, r.reason, message)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
