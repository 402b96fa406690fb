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

// Package restart decides when and how a VM is restarted for changes that take effect only at its next start. It makes no calls.
package restart

import (
	"cmp"
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

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/maintenance"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const whenRequired = "WhenRequired"

// A guest that does not act on a request to restart is asked again firstRetry after the request has failed, twice that after the next one, … lastRetry.
const (
	firstRetry = time.Minute
	lastRetry  = 30 * time.Minute
)

// startsWithin is how long after a hard stop the provider starts a VM that it stopped for a restart, even if powerState and runStrategy do not require it.
const startsWithin = time.Hour

// A Request is the record of the requests to restart the VM for one set of changes.
type Request struct {
	// Changes is the fingerprint of the changes.
	Changes string `json:"changes"`

	// First is when the first request of the same maintenance window was made, and Last when the last one was made. Count is the number of requests.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Count int       `json:"count,omitempty"`

	// Stopped is true once the VM was stopped hard, to be started again.
	Stopped bool `json:"stopped,omitempty"`
}

// Last returns the last request. Earlier releases have saved only the fingerprint.
func Last(m object.Machine) Request {
	text := m.GetAnnotations()[object.AnnotationLastRestart]
	var r Request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Request{Changes: text}
	}
	return r
}

// String returns the text of the request that is saved.
func (r Request) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return r.Changes // Strings, numbers and times can always be written.
	}
	return string(text)
}

// restarted reports whether the VM was started after the request.
func (r Request) restarted(v *vmstate.VM, now time.Time) bool {
	return now.Add(-v.Status.Uptime).After(r.Last)
}

// Starts reports whether the VM is to be started because it was stopped hard for a restart.
func (r Request) Starts(v *vmstate.VM, now time.Time) bool {
	return r.Stopped && !v.On() && now.Sub(r.Last) < startsWithin
}

// next returns the request that follows this one for a set of changes.
func (r Request) next(changes string, opened, now time.Time) Request {
	if r.Changes != changes || r.First.Before(opened) {
		r = Request{Changes: changes, First: now}
	}
	return Request{Changes: changes, First: r.First, Last: now, Count: r.Count + 1}
}

// TaskTypes returns the types of the tasks that a request may start.
func TaskTypes() []string { return []string{"qmreboot", "qmstop"} }

// repeated returns the request for its repetition after it has done nothing. The time for the restart begins with the first request that may have had
// an effect.
func (r Request) repeated(now time.Time) Request {
	if r.Last = now; r.Count <= 1 {
		r.First = now
	}
	return r
}

// A Policy holds the settings of the spec for restarts.
type Policy struct {
	qemu.Desired

	// LockTimedOut is true if the task of the last request has done nothing because PVE held the VM's lock, as it does for a moment. Then the request is
	// made again.
	LockTimedOut bool
}

// A Decision is the decision about a restart that pending changes require.
type Decision struct {
	Due    bool
	Reason xpv2.ConditionReason
	Why    string

	// Request is the record of the restart if it is due. Hard is whether the VM is stopped without asking the guest. Timeout is how long the guest has
	// otherwise.
	Request Request
	Hard    bool
	Timeout time.Duration
}

// UnderWay is the message that the restart has begun.
const UnderWay = "it is being restarted"

// Decide decides about a restart according to the VM and the last request.
func (p Policy) Decide(v *vmstate.VM, last Request, now time.Time) Decision {
	ours := p.Pending(v.State)
	if !v.Status.Running() || len(ours) == 0 || ptr.Deref(p.RestartPolicy, "") != whenRequired || v.Lock() != "" {
		return Decision{Reason: conditions.ReasonPendingChanges}
	}
	changes := fingerprint(ours)
	again := last.Changes == changes
	if again && last.restarted(v, now) {
		return Decision{Reason: conditions.ReasonRestartIneffective, Why: "a restart was made for them and did not apply them, and is not repeated", Request: last}
	}
	if v.Paused() {
		return Decision{Reason: conditions.ReasonWaitingForGuest, Why: "the VM is paused, and its guest would not react to the request"}
	}
	if no := validate.StartError(v.State); len(no) > 0 {
		return Decision{Reason: conditions.ReasonStartBlocked, Why: "Proxmox VE would not start it again: " + strings.Join(no, "; ")}
	}
	open, opened := maintenance.State(p.MaintenanceWindow, now)
	switch {
	case !open && again:
		why := "it is asked for again when the maintenance window opens at " + opened.Format(time.RFC3339)
		return Decision{Reason: conditions.ReasonRestartFailed, Why: why, Request: last}
	case !open:
		return Decision{Reason: conditions.ReasonOutsideMaintenanceWindow, Why: "the next maintenance window opens at " + opened.Format(time.RFC3339)}
	case again && !last.First.Before(maintenance.Opened(p.MaintenanceWindow, now)):
		return p.again(last, now)
	case !Booted(v):
		return Decision{Reason: conditions.ReasonWaitingForGuest, Why: "the guest may still be booting, and would not react to the request"}
	}
	return p.due(last.next(changes, maintenance.Opened(p.MaintenanceWindow, now), now))
}

// again decides about a restart that was requested in this maintenance window and did not happen.
func (p Policy) again(last Request, now time.Time) Decision {
	if p.LockTimedOut {
		return p.due(last.repeated(now))
	}
	asked := cmp.Or(p.requestTimeout(last.Last.Sub(last.First)), defaultShutdownTimeout)
	ended := last.Last.Add(asked)
	if now.Before(ended) && !last.Stopped {
		return Decision{Reason: conditions.ReasonRestarting, Why: UnderWay, Request: last} // Its task may not be visible.
	}
	retry := ended.Add(min(firstRetry<<min(max(last.Count-1, 0), 10), lastRetry))
	if p.RestartTimeoutSeconds != nil && !last.Stopped {
		retry = earlier(retry, last.First.Add(p.hardAfter()))
	}
	if now.Before(retry) {
		return Decision{Reason: conditions.ReasonRestartFailed, Why: "it is asked for again at " + retry.UTC().Format(time.RFC3339), Request: last}
	}
	return p.due(last.next(last.Changes, last.First, now))
}

// due returns a restart that is made now: through the guest, or without it once the guest has had the time of the spec.
func (p Policy) due(r Request) Decision {
	spent := r.Last.Sub(r.First)
	r.Stopped = p.RestartTimeoutSeconds != nil && spent >= p.hardAfter()
	return Decision{Due: true, Reason: conditions.ReasonRestarting, Why: UnderWay, Request: r, Hard: r.Stopped, Timeout: p.requestTimeout(spent)}
}

// hardAfter returns how long after the first request the VM is stopped hard, if the spec says so.
func (p Policy) hardAfter() time.Duration {
	return time.Duration(ptr.Deref(p.RestartTimeoutSeconds, 0)) * time.Second
}

// requestTimeout returns how long the guest has to act on a request if this much of the time for the restart is spent. Zero stands for the default of
// Proxmox VE.
func (p Policy) requestTimeout(spent time.Duration) time.Duration {
	timeout := time.Duration(ptr.Deref(p.ShutdownTimeoutSeconds, 0)) * time.Second
	left := p.hardAfter() - spent
	if p.RestartTimeoutSeconds == nil || left <= 0 || timeout > 0 && timeout < left {
		return timeout
	}
	return left
}

// defaultShutdownTimeout is how long Proxmox VE waits for a guest unless the call says otherwise.
const defaultShutdownTimeout = time.Minute

// BootTime is how long it may take until a guest reacts to a request to shut down.
const BootTime = 2 * time.Minute

// Booted reports whether the guest's system is up, as far as that can be known.
func Booted(v *vmstate.VM) bool {
	return !v.Paused() && (v.Interfaces != nil || v.Status.Uptime >= BootTime)
}

// Booting reports whether the VM runs and its guest may not react to a request yet.
func Booting(v *vmstate.VM) bool {
	return v.Status.Running() && !v.Paused() && !Booted(v)
}

// fingerprint returns a checksum of a set of changes. The changes are not saved in clear, because values may be secret.
func fingerprint(pending []proxmox.PendingValue) string {
	h := sha256.New()
	for _, p := range pending {
		fmt.Fprintf(h, "%q %q %q %d\n", p.Key, ptr.Deref(p.Value, ""), ptr.Deref(p.Pending, ""), p.Delete)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// After adds why the task of the last request has not restarted the VM, if that is so.
func (r Decision) After(t proxmox.Task) Decision {
	switch {
	case r.Reason != conditions.ReasonRestartFailed:
	case !t.OK() && slices.Contains(TaskTypes(), t.Type):
		r.Why = fmt.Sprintf("the VM was not restarted: %s; %s", t.ExitStatus, r.Why)
	default:
		r.Why = "the VM was not restarted, although that was asked for; " + r.Why
	}
	return r
}

// Condition lists what a restart applies.
func (r Decision) Condition(v *vmstate.VM) xpv2.Condition {
	if !v.Status.Running() || len(v.Pending) == 0 {
		return conditions.New(conditions.TypeRestartRequired, corev1.ConditionFalse, conditions.ReasonUpToDate, "")
	}
	names := make([]string, 0, len(v.Pending))
	for _, p := range v.Pending {
		names = append(names, p.Key)
	}
	message := "a restart of the VM applies: " + strings.Join(names, ", ")
	if r.Why != "" {
		message += "; " + r.Why
	}
	return conditions.New(conditions.TypeRestartRequired, corev1.ConditionTrue, r.Reason, message)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
