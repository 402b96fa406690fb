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
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// firstRepeat is when a change is made again that still differs: it may have
// been undone, or PVE may not keep it.
const firstRepeat = 15 * time.Second

// send remembers a change of options that was made, and returns how often it was made
// in a row. The same one again, or a part of it, is held back, longer each time.
func (t *tasks) send(m object, d qemu.Difference) int {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	if !d.Within(r.change) {
		r.changes = 0
	}
	r.change, r.assumed = d, false
	r.changed = t.now().Add(min(firstRepeat<<min(r.changes, 10), lastRetry))
	r.changes++
	return r.changes
}

// kept notes that the change that was made last has held: as far as was seen, or as
// far as can be told without looking.
func (t *tasks) kept(m object, seen bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	if r.assumed = !seen && r.changes > 0; seen {
		r.change, r.changes = qemu.Difference{}, 0
	}
}

// sent reports whether this very change was made last, not long ago, and still
// differs.
func (t *tasks) sent(m object, d qemu.Difference) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	return !d.Empty() && !r.assumed && d.Within(r.change) && t.now().Before(r.changed)
}

// A VM that stops soon after each of its starts is started ever more seldom: the first time
// at once, and then firstStart after its last start, twice that … lastRetry. One that has
// run for runsFor is started at once again.
const (
	firstStart = 10 * time.Second
	runsFor    = 10 * time.Minute
)

// countStart counts a start of the VM that has ended well.
func (r *taskRecord) countStart(task proxmox.Task, now time.Time) {
	if task.Type != "qmstart" {
		return
	}
	if now.Sub(r.started) > runsFor {
		r.starts = 0
	}
	r.starts, r.started = r.starts+1, now
}

// crashes are how often in a row a VM has stopped soon after its start, if it is not to be
// started again yet; else zero.
func (t *tasks) crashes(m object) int {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	if r.starts < 2 || r.generation != m.GetGeneration() {
		return 0
	}
	if t.now().Sub(r.started) >= min(firstStart<<min(r.starts-2, 10), lastRetry) {
		return 0
	}
	return r.starts
}

// asked reports whether PVE was asked for this within a period. If not, it is taken
// to be asked now.
func (t *tasks) asked(m object, what string, period time.Duration) bool {
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

// withdrawAsked forgets what PVE was to be asked for last, and that the VM was to be left
// alone for it: nothing was sent.
func (t *tasks) withdrawAsked(m object) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	delete(r.asked, r.asking)
	r.asking, r.resting = "", time.Time{}
}

// restTime is how long a VM that reboots is left alone after the call, and again after
// its task: PVE starts it some time after that has ended.
const restTime = time.Minute

// restAfter leaves a VM alone for a while whose reboot has ended well: PVE is yet to start
// it. One that was not stopped goes on.
func (r *taskRecord) restAfter(task proxmox.Task, now time.Time) {
	switch {
	case task.Type != "qmreboot":
	case task.OK():
		r.resting = now.Add(restTime)
	default:
		r.resting = time.Time{}
	}
}

// markShown notes that the error of the last task has been shown.
func (t *tasks) markShown(m object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.of(m).shown = true
}

// rest leaves a VM alone for a while, for a reboot that was asked for.
func (t *tasks) rest(m object, d time.Duration) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.resting, r.rebooted = t.now().Add(d), t.now()
}

// endRest ends that time once the VM was started after the reboot was asked for: PVE has nothing
// more to do then.
func (t *tasks) endRest(m object, started time.Time) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.of(m); !r.rebooted.IsZero() && started.After(r.rebooted) {
		r.resting = time.Time{}
	}
}

// A guest is asked to shut down again after bootingRound while it may be booting, since it
// does not hear a request then, and after bootedRound otherwise.
const (
	bootingRound = 10 * time.Second
	bootedRound  = 30 * time.Second
)

// shutdownRequests are the requests to shut a guest down that follow each other.
type shutdownRequests struct {
	first, last time.Time

	// more is true if another request follows the last one.
	more bool
}

// repeats reports whether the task of a request has failed as it does while the guest does not
// hear it, and another request follows.
func (s shutdownRequests) repeats(task proxmox.Task, err error) bool {
	return s.more && task.Type == "qmshutdown" && proxmox.IsShutdownTimeout(err)
}

// repeatsShutdown reports that of the task of a Machine.
func (t *tasks) repeatsShutdown(m object, task proxmox.Task, err error) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.of(m).shutdown.repeats(task, err)
}

// requestShutdown returns the next request to shut a guest down that has this much time in all,
// in rounds of this length. The last one ends with a hard stop.
func (t *tasks) requestShutdown(m object, total, round time.Duration) proxmox.ShutdownOptions {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	if t.now().Sub(r.shutdown.last) > bootedRound+time.Minute {
		r.shutdown.first = t.now()
	}
	left := total - t.now().Sub(r.shutdown.first)
	r.shutdown.last, r.shutdown.more = t.now(), left > round
	if r.shutdown.more {
		return proxmox.ShutdownOptions{Timeout: round}
	}
	return proxmox.ShutdownOptions{Timeout: max(left, time.Second), ForceStop: true}
}

// shutdownBegun returns when a guest was asked to shut down first; the zero time if it was not
// lately.
func (t *tasks) shutdownBegun(m object) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	return t.of(m).shutdown.first
}

// resting reports whether a VM is left alone.
func (t *tasks) resting(m object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.now().Before(t.of(m).resting)
}
