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

package tasktrack

import (
	"cmp"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// FirstRepeat is the delay before a change that still differs is made again: it may have been undone, or PVE may not keep it.
const FirstRepeat = 15 * time.Second

// Send remembers a change of options that was made, and returns how often it was made in succession. Repeating the change, or a part of it, is delayed
// longer each time.
func (t *Tracker) Send(m Object, d qemu.Difference) int {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.records.Ensure(m)
	if !d.Within(r.change) {
		r.changes = 0
	}
	r.change, r.assumed = d, false
	r.changed = t.now().Add(min(FirstRepeat<<min(r.changes, 10), LastRetry))
	r.changes++
	return r.changes
}

// Kept records that the last change has persisted: it was observed, or is assumed without reading.
func (t *Tracker) Kept(m Object, seen bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	if r.assumed = !seen && r.changes > 0; seen {
		r.change, r.changes = qemu.Difference{}, 0
	}
}

// Sent reports whether this change was the last one, was made recently, and still differs.
func (t *Tracker) Sent(m Object, d qemu.Difference) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return !d.Empty() && !r.assumed && d.Within(r.change) && t.now().Before(r.changed)
}

// A VM that stops soon after each of its starts is started at increasing intervals: at once the first time, then firstStart after its last start, twice
// that … LastRetry. A VM that has run for RunsFor is started at once again.
const (
	firstStart = 10 * time.Second
	RunsFor    = 10 * time.Minute
)

// countStart counts a successful start of the VM.
func (r *record) countStart(task proxmox.Task, now time.Time) {
	if task.Type != "qmstart" {
		return
	}
	if now.Sub(r.started) > RunsFor {
		r.starts = 0
	}
	r.starts, r.started = r.starts+1, now
}

// Crashes returns how often in succession a VM has stopped soon after its start, and the time until which it must not be started again. Both are zero
// if it may be started.
func (t *Tracker) Crashes(m Object) (n int, until time.Time) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	if r.starts < 2 || r.generation != m.GetGeneration() {
		return 0, time.Time{}
	}
	until = r.started.Add(min(firstStart<<min(r.starts-2, 10), LastRetry))
	if !t.now().Before(until) {
		return 0, time.Time{}
	}
	return r.starts, until
}

// CrashLoops reports whether a VM has stopped soon after its last starts, and has not run for RunsFor since.
func (t *Tracker) CrashLoops(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.starts > 1 && r.generation == m.GetGeneration() && t.now().Sub(r.started) <= RunsFor
}

// Asked reports whether something was requested from PVE within a period. If not, it records that it is requested now.
func (t *Tracker) Asked(m Object, what string, period time.Duration) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	if at, ok := r.asked[what]; ok && t.now().Sub(at) < period {
		return true
	}
	if r.asked == nil {
		r.asked = map[string]time.Time{}
	}
	r.asked[what], r.asking = t.now(), what
	return false
}

// WithdrawAsked forgets the last request to PVE, since it was not sent.
func (t *Tracker) WithdrawAsked(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	delete(r.asked, r.asking)
	r.asking = ""
}

// RebootTime is how long no changes are made to a VM that reboots after the call, and again after its task: PVE starts the VM some time after the task
// has ended.
const RebootTime = time.Minute

// awaitBoot prevents changes for a while if a reboot of the VM has succeeded, since PVE has not started the VM yet. A VM that was not stopped keeps
// running.
func (r *record) awaitBoot(task proxmox.Task, now time.Time) {
	switch {
	case task.Type != "qmreboot":
	case task.OK():
		r.rebootUntil = now.Add(RebootTime)
	default:
		r.rebootUntil = time.Time{}
	}
}

// MarkShown records that the error of the last task has been shown.
func (t *Tracker) MarkShown(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Ensure(m).shown = true
}

// AwaitReboot prevents changes of a VM for a while, since a reboot was requested.
func (t *Tracker) AwaitReboot(m Object, d time.Duration) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.rebootUntil, r.rebooted = t.now().Add(d), t.now()
}

// EndReboot ends that period if the VM was started after the reboot was requested, since PVE then has nothing more to do.
func (t *Tracker) EndReboot(m Object, started time.Time) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m); !r.rebooted.IsZero() && started.After(r.rebooted) {
		r.rebootUntil = time.Time{}
	}
}

// A guest is asked to shut down again after BootingRound while it may be booting, since it ignores requests then, and after BootedRound otherwise.
const (
	BootingRound = 10 * time.Second
	BootedRound  = 30 * time.Second
)

// shutdownRequests is a series of requests to shut a guest down.
type shutdownRequests struct {
	first, last time.Time

	// round is how long the guest has to react to the last request, and spent how long it had for earlier ones, according to PVE.
	round, spent time.Duration

	// more is true if another request follows the last one.
	more bool
}

// repeats reports whether the task of a request has failed since the guest did not react to it, and another request follows.
func (s shutdownRequests) repeats(task proxmox.Task, err error) bool {
	return s.more && task.Type == "qmshutdown" && proxmox.IsShutdownTimeout(err)
}

// RepeatsShutdown reports this for the task of a Machine.
func (t *Tracker) RepeatsShutdown(m Object, task proxmox.Task, err error) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.known(m).shutdown.repeats(task, err)
}

// RequestShutdown returns the next request to shut a guest down. The guest has a total time since the given time or, if that is zero, since the first
// request, in rounds of the given length. The last request ends with a hard stop.
func (t *Tracker) RequestShutdown(m Object, since time.Time, total, round time.Duration) proxmox.ShutdownOptions {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	if t.now().Sub(r.shutdown.last) > BootedRound+time.Minute {
		r.shutdown = shutdownRequests{first: cmp.Or(since, t.now())}
	}
	left := total - max(t.now().Sub(r.shutdown.first), r.shutdown.spent)
	r.shutdown.last, r.shutdown.round, r.shutdown.more = t.now(), round, left > round
	if r.shutdown.more {
		return proxmox.ShutdownOptions{Timeout: round}
	}
	return proxmox.ShutdownOptions{Timeout: max(left, time.Second), ForceStop: true}
}

// ShutdownBegun returns when a guest was first asked to shut down, or the zero time if it was not asked recently.
func (t *Tracker) ShutdownBegun(m Object) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	return t.known(m).shutdown.first
}

// RebootsUntil returns the time until which no changes are made to a VM. It may have passed.
func (t *Tracker) RebootsUntil(m Object) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	return t.known(m).rebootUntil
}

// Rebooting reports whether no changes are made to a VM since it reboots.
func (t *Tracker) Rebooting(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.now().Before(t.known(m).rebootUntil)
}
