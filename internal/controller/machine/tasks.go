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
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Delays before a task that failed is tried again.
const (
	firstRetry = 2 * time.Second
	lastRetry  = 5 * time.Minute
)

// tasks remembers, for each Machine, the task that was started last and how it
// ended. It is a memory only: what it forgets in a restart is seen in PVE.
type tasks struct {
	now func() time.Time

	records objectstate.Store[taskRecord]

	// gone is when Machines were forgotten, lately.
	gone objectstate.Store[time.Time]
}

// An object is what tasks are tracked for. A new generation of it has nothing to do with the failures of the one before.
type object interface {
	objectstate.Object

	GetGeneration() int64
}

type taskRecord struct {
	generation int64
	upid       proxmox.UPID
	begun      time.Time
	running    bool
	last       proxmox.Task
	failures   int
	until      time.Time
	err        error
	shown      bool // Whether err has been shown.

	// change of options that was made last, until it was seen to hold; how often in
	// a row; until when it is not made again; and whether it is taken to hold unseen.
	change  qemu.Difference
	changes int
	changed time.Time
	assumed bool

	// asked is what PVE was asked for that it does later, and when; and until
	// when the VM is left alone.
	asked   map[string]time.Time
	asking  string // the last of it
	resting time.Time

	// rebooted is when a reboot was asked for last, and shutdown the requests to shut down.
	rebooted time.Time
	shutdown shutdownRequests

	// starts are how often in a row the VM was started though it had not run for long, and
	// started when that was last.
	starts  int
	started time.Time

	// outcomeUnknown is when a call was made last whose outcome is not known.
	outcomeUnknown time.Time

	// driveStale is true while PVE's cloud-init drive may have old data.
	driveStale bool

	// lock is when the lock of the VM was held.
	lock lockWait
}

func newTasks(now func() time.Time) *tasks { return &tasks{now: now} }

func (t *tasks) of(m object) *taskRecord { return t.records.Ensure(m) }

// attempt is the record of a Machine, made anew for a changed spec.
func (t *tasks) attempt(m object) *taskRecord {
	r := t.of(m)
	if r.generation != m.GetGeneration() {
		*r = taskRecord{generation: m.GetGeneration(), outcomeUnknown: r.outcomeUnknown, driveStale: r.driveStale}
	}
	return r
}

// started remembers a task that runs for a Machine.
func (t *tasks) started(m object, u proxmox.UPID) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.upid, r.begun, r.running, r.err = u, t.now(), true, nil
}

// ended remembers how a task ended. A task that failed holds back the next
// attempt, longer each time.
func (t *tasks) ended(m object, task proxmox.Task, err error) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.records.Get(m); r != nil && r.upid == task.UPID {
		t.note(r, task, err)
	}
}

func (t *tasks) note(r *taskRecord, task proxmox.Task, err error) {
	known := !r.running
	r.running, r.last = false, task
	r.restAfter(task, t.now())
	switch {
	case err == nil:
		r.failures, r.err = 0, nil
		r.countStart(task, t.now())
	case r.shutdown.repeats(task, err):
		r.failures, r.err = 0, nil
	case known:
		r.err = err // Its log has told more.
	default:
		t.failed(r, err)
	}
}

// refused remembers that a task could not be started at all.
func (t *tasks) refused(m object, err error) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.running = false
	t.failed(r, err)
}

func (t *tasks) failed(r *taskRecord, err error) {
	r.failures++
	delay := min(firstRetry<<min(r.failures-1, 10), lastRetry)
	r.until = t.now().Add(delay + mathrand.N(delay/4+1)) //nolint:gosec // Jitter needs no secrecy.
	r.err, r.shown = err, false
}

// markDriveStale remembers that PVE's cloud-init drive has old data from now on.
func (t *tasks) markDriveStale(m object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.of(m).driveStale = true
}

// markDriveFresh forgets that.
func (t *tasks) markDriveFresh(m object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.of(m).driveStale = false
}

func (t *tasks) driveStale(m object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.records.Get(m)
	return r != nil && r.driveStale
}

// visibleWithin is how long PVE's list may lack a task that was started.
const visibleWithin = time.Minute

// arrival is how long a call whose answer was lost may need to have its effect,
// less than until the first attempt after a failure.
const arrival = 800 * time.Millisecond

// recordUnknownOutcome remembers that nobody knows whether a call has started a task.
func (t *tasks) recordUnknownOutcome(m object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.attempt(m).outcomeUnknown = t.now()
}

// sinceUnknownOutcome is how long ago that was, longer than anything if it never was.
func (t *tasks) sinceUnknownOutcome(m object) time.Duration {
	t.records.Lock()
	defer t.records.Unlock()
	return t.now().Sub(t.of(m).outcomeUnknown)
}

// running reports whether a task runs for a Machine. One of some time ago has to be
// among the tasks that PVE lists: whoever followed it may be gone. A failure that is
// listed counts before whoever follows the task has told of it.
func (t *tasks) running(m object, listed []proxmox.Task) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	i := slices.IndexFunc(listed, func(l proxmox.Task) bool { return l.UPID == r.upid })
	if r.running && i >= 0 && !listed[i].Running && !listed[i].OK() {
		t.note(r, listed[i], listed[i].Err())
	}
	if !r.running || t.now().Sub(r.begun) < visibleWithin {
		return r.running
	}
	return i >= 0 && listed[i].Running
}

// runningType returns the type of the task that runs for a Machine; empty if none does.
func (t *tasks) runningType(m object) string {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.of(m); r.running {
		return r.upid.Type()
	}
	return ""
}

// destroyed reports whether the VM of a Machine was destroyed by a task of ours.
func (t *tasks) destroyed(m object) bool {
	if t.forgotten(m) {
		return true
	}
	t.records.Lock()
	defer t.records.Unlock()
	last := t.of(m).last
	return last.Type == "qmdestroy" && last.OK()
}

// forgotten reports whether a Machine is gone.
func (t *tasks) forgotten(m object) bool {
	t.gone.Lock()
	defer t.gone.Unlock()
	return t.gone.Get(m) != nil
}

// creates reports whether the task that was started last makes a VM.
func (t *tasks) creates(m object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return createsVM(t.of(m).upid.Type())
}

// backoffReason is why the next attempt has to wait: the last one failed, for the same spec,
// and not long ago or without anybody having been told.
func (t *tasks) backoffReason(m object) error {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	if !t.holds(r, m) {
		return nil
	}
	r.shown = true
	return r.err
}

// backoffError reports whether held is an error, and tells nobody.
func (t *tasks) backoffError(m object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.holds(t.of(m), m)
}

func (t *tasks) holds(r *taskRecord, m object) bool {
	return r.err != nil && r.generation == m.GetGeneration() && (!r.shown || t.now().Before(r.until))
}

// last is the task of a Machine that was last seen to end.
func (t *tasks) last(m object) (proxmox.Task, bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	return r.last, r.last.UPID != ""
}

// forget a Machine that is gone.
func (t *tasks) forget(m object) {
	t.gone.Lock()
	t.gone.DeleteFunc(func(at *time.Time) bool { return t.now().Sub(*at) > recently })
	t.gone.Set(m, new(t.now())) // It may be looked for once more.
	t.gone.Unlock()
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Delete(m)
}

// waited is how long ago PVE was first asked for this, which is now if it was not before.
func (t *tasks) waited(m object, what string) time.Duration {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	if r.asked == nil {
		r.asked = map[string]time.Time{}
	}
	if _, ok := r.asked[what]; !ok {
		r.asked[what] = t.now()
	}
	return t.now().Sub(r.asked[what])
}

// recently is how long what happens to a VM may be the work of our last task.
const recently = time.Minute

// active reports whether a task of ours works on a VM, or did not long ago.
func (t *tasks) active(m object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.of(m)
	return r.running || t.now().Sub(r.begun) < recently || t.now().Before(r.resting)
}

// size is the number of Machines that something is remembered of.
func (t *tasks) size() int {
	t.records.Lock()
	defer t.records.Unlock()
	return t.records.Len()
}
