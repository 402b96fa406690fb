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

// FirstRepeat is when a change is made again that still differs: it may have
// been undone, or PVE may not keep it.
const FirstRepeat = 15 * time.Second

// Send remembers a change of options that was made, and returns how often it was made
// in a row. The same one again, or a part of it, is held back, longer each time.
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

// Kept notes that the change that was made last has held: as far as was seen, or as
// far as can be told without looking.
func (t *Tracker) Kept(m Object, seen bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	if r.assumed = !seen && r.changes > 0; seen {
		r.change, r.changes = qemu.Difference{}, 0
	}
}

// Sent reports whether this very change was made last, not long ago, and still
// differs.
func (t *Tracker) Sent(m Object, d qemu.Difference) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return !d.Empty() && !r.assumed && d.Within(r.change) && t.now().Before(r.changed)
}

// A VM that stops soon after each of its starts is started ever more seldom: the first time
// at once, and then firstStart after its last start, twice that … LastRetry. One that has
// run for RunsFor is started at once again.
const (
	firstStart = 10 * time.Second
	RunsFor    = 10 * time.Minute
)

// countStart counts a start of the VM that has ended well.
func (r *record) countStart(task proxmox.Task, now time.Time) {
	if task.Type != "qmstart" {
		return
	}
	if now.Sub(r.started) > RunsFor {
		r.starts = 0
	}
	r.starts, r.started = r.starts+1, now
}

// Crashes returns how often in a row a VM has stopped soon after its start, and until when it is not to be
// started again; zero if it may be.
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

// CrashLoops reports whether a VM has stopped soon after its last starts, and has not run for long since.
func (t *Tracker) CrashLoops(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.starts > 1 && r.generation == m.GetGeneration() && t.now().Sub(r.started) <= RunsFor
}

// Asked reports whether PVE was asked for this within a period. If not, it is taken
// to be asked now.
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

// WithdrawAsked forgets what PVE was to be asked for last: it was not sent.
func (t *Tracker) WithdrawAsked(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	delete(r.asked, r.asking)
	r.asking = ""
}

// RebootTime is how long a VM that reboots is left alone after the call, and again after
// its task: PVE starts it some time after that has ended.
const RebootTime = time.Minute

// awaitBoot leaves a VM alone for a while whose reboot has ended well: PVE is yet to start
// it. One that was not stopped goes on.
func (r *record) awaitBoot(task proxmox.Task, now time.Time) {
	switch {
	case task.Type != "qmreboot":
	case task.OK():
		r.rebootUntil = now.Add(RebootTime)
	default:
		r.rebootUntil = time.Time{}
	}
}

// MarkShown notes that the error of the last task has been shown.
func (t *Tracker) MarkShown(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Ensure(m).shown = true
}

// AwaitReboot leaves a VM alone for a while, for a reboot that was asked for.
func (t *Tracker) AwaitReboot(m Object, d time.Duration) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.rebootUntil, r.rebooted = t.now().Add(d), t.now()
}

// EndReboot ends that time once the VM was started after the reboot was asked for: PVE has nothing
// more to do then.
func (t *Tracker) EndReboot(m Object, started time.Time) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m); !r.rebooted.IsZero() && started.After(r.rebooted) {
		r.rebootUntil = time.Time{}
	}
}

// A guest is asked to shut down again after BootingRound while it may be booting, since it
// does not react to a request then, and after BootedRound otherwise.
const (
	BootingRound = 10 * time.Second
	BootedRound  = 30 * time.Second
)

// shutdownRequests are the requests to shut a guest down that follow each other.
type shutdownRequests struct {
	first, last time.Time

	// round is how long the guest has to act on the last request, and spent how long it had for
	// those before, by what PVE says.
	round, spent time.Duration

	// more is true if another request follows the last one.
	more bool
}

// repeats reports whether the task of a request has failed as it does while the guest does not
// react to it, and another request follows.
func (s shutdownRequests) repeats(task proxmox.Task, err error) bool {
	return s.more && task.Type == "qmshutdown" && proxmox.IsShutdownTimeout(err)
}

// RepeatsShutdown reports that of the task of a Machine.
func (t *Tracker) RepeatsShutdown(m Object, task proxmox.Task, err error) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.known(m).shutdown.repeats(task, err)
}

// RequestShutdown returns the next request to shut a guest down that has this much time in all, since the given time or, if that is
// zero, the first request, in rounds of this length. The last one ends with a hard stop.
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

// ShutdownBegun returns when a guest was asked to shut down first; the zero time if it was not
// lately.
func (t *Tracker) ShutdownBegun(m Object) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	return t.known(m).shutdown.first
}

// RebootsUntil returns until when a VM is left alone at most; the time may have gone by.
func (t *Tracker) RebootsUntil(m Object) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	return t.known(m).rebootUntil
}

// Rebooting reports whether a VM is left alone, since it reboots.
func (t *Tracker) Rebooting(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.now().Before(t.known(m).rebootUntil)
}
