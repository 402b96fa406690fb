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

// Package tasktrack remembers the tasks that were started for objects: which one runs, how the last one ended, when the next one may be
// tried, and what is not to be asked for twice. It calls nobody.
package tasktrack

import (
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Delays before a task that failed is tried again.
const (
	FirstRetry = 2 * time.Second
	LastRetry  = 5 * time.Minute
)

// Tracker remembers, for each Machine, the task that was started last and how it
// ended. It is a memory only: what it forgets in a restart is seen in PVE.
type Tracker struct {
	now func() time.Time

	// records of Machines, and one for those that have none. Both need the lock.
	records objectstate.Store[record]
	empty   record

	// gone is when Machines were forgotten, lately.
	gone objectstate.Store[time.Time]
}

// An Object is what tasks are tracked for. A new generation of it has nothing to do with the failures of the one before.
type Object interface {
	objectstate.Object

	GetGeneration() int64
}

type record struct {
	generation int64
	upid       proxmox.UPID
	begun      time.Time
	running    bool
	last       proxmox.Task
	ended      time.Time // When last was seen to have ended.
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
	asked       map[string]time.Time
	asking      string // the last of it
	rebootUntil time.Time

	// rebooted is when a reboot was asked for last, and shutdown the requests to shut down.
	rebooted time.Time
	shutdown shutdownRequests

	// starts are how often in a row the VM was started though it had not run for long, and
	// started when that was last.
	starts  int
	started time.Time

	// outcomeUnknown is when a call was made last whose outcome is not known.
	outcomeUnknown time.Time

	// creating is true once a call that makes the VM was begun, and creationLost when the answer to such a call was lost last.
	creating     bool
	creationLost time.Time

	// driveStale is true while PVE's cloud-init drive may have old data.
	driveStale bool

	// refusals are what PVE refuses while the VM's configuration is as it is, by the call.
	refusals map[string]refusal

	// lock is when the lock of the VM was held.
	lock LockWait
}

// New returns a Tracker that knows no tasks.
func New(now func() time.Time) *Tracker { return &Tracker{now: now} }

// known returns what is remembered of a Machine; an empty record, which is not kept, if that is nothing. Most Machines have no task for days.
func (t *Tracker) known(m Object) *record {
	if r := t.records.Get(m); r != nil {
		return r
	}
	t.empty = record{}
	return &t.empty
}

// attempt returns the record of a Machine, created again for a changed spec but for what is known of the VM.
func (t *Tracker) attempt(m Object) *record {
	r := t.records.Ensure(m)
	if r.generation != m.GetGeneration() {
		*r = record{
			generation: m.GetGeneration(), outcomeUnknown: r.outcomeUnknown, driveStale: r.driveStale, rebootUntil: r.rebootUntil, rebooted: r.rebooted,
			creating: r.creating, creationLost: r.creationLost,
		}
	}
	return r
}

// Started remembers a task that runs for a Machine.
func (t *Tracker) Started(m Object, u proxmox.UPID) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.upid, r.begun, r.running, r.err = u, t.now(), true, nil
}

// Ended remembers how a task ended. A task that failed holds back the next
// attempt, longer each time.
func (t *Tracker) Ended(m Object, task proxmox.Task, err error) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.records.Get(m); r != nil && r.upid == task.UPID {
		t.note(r, task, err)
	}
}

func (t *Tracker) note(r *record, task proxmox.Task, err error) {
	known := !r.running
	if r.last.UPID != task.UPID {
		r.ended = t.now()
	}
	r.running, r.last = false, task
	r.lock.Waits(err, t.now())
	r.awaitBoot(task, t.now())
	switch {
	case err == nil:
		r.failures, r.err, r.shutdown = 0, nil, shutdownRequests{}
		r.countStart(task, t.now())
	case r.shutdown.repeats(task, err):
		r.failures, r.err = 0, nil
		if !known {
			r.shutdown.spent += r.shutdown.round
		}
	case known:
		r.err = err // Its log has told more.
	default:
		t.failed(r, err)
	}
}

// Refused remembers that a task could not be started at all.
func (t *Tracker) Refused(m Object, err error) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	r.running = false
	t.failed(r, err)
}

func (t *Tracker) failed(r *record, err error) {
	r.failures++
	delay := min(FirstRetry<<min(r.failures-1, 10), LastRetry)
	r.until = t.now().Add(delay + mathrand.N(delay/4+1)) //nolint:gosec // Jitter needs no secrecy.
	r.err, r.shown = err, false
}

// MarkDriveStale remembers that PVE's cloud-init drive has old data from now on.
func (t *Tracker) MarkDriveStale(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Ensure(m).driveStale = true
}

// MarkDriveFresh forgets that.
func (t *Tracker) MarkDriveFresh(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.known(m).driveStale = false
}

// DriveStale reports whether PVE's cloud-init drive may have old data.
func (t *Tracker) DriveStale(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.records.Get(m)
	return r != nil && r.driveStale
}

// VisibleWithin is how long PVE's list may lack a task that was started.
const VisibleWithin = time.Minute

// Arrival is how long a call whose answer was lost may need to have its effect,
// less than until the first attempt after a failure.
const Arrival = 800 * time.Millisecond

// RecordUnknownOutcome remembers that nobody knows whether a call has started a task.
func (t *Tracker) RecordUnknownOutcome(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.attempt(m).outcomeUnknown = t.now()
}

// SinceUnknownOutcome returns how long ago that was, longer than anything if it never was.
func (t *Tracker) SinceUnknownOutcome(m Object) time.Duration {
	t.records.Lock()
	defer t.records.Unlock()
	return t.now().Sub(t.known(m).outcomeUnknown)
}

// BeginCreation remembers that a call that makes the VM is about to be made, and when the answer to one was lost that somebody else has made before:
// from now on it is known whether one was lost.
func (t *Tracker) BeginCreation(m Object, lost time.Time) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.records.Ensure(m); !r.creating {
		r.creating, r.creationLost = true, lost
	}
}

// RecordLostCreation remembers that the answer to the call was lost.
func (t *Tracker) RecordLostCreation(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Ensure(m).creationLost = t.now()
}

// LostCreation returns when the answer to a call that makes the VM was lost last, zero if none was, and whether that is known.
func (t *Tracker) LostCreation(m Object) (at time.Time, known bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.creationLost, r.creating
}

// Running reports whether a task runs for a Machine. One of some time ago has to be
// among the tasks that PVE lists: whoever followed it may be gone. A failure that is
// listed counts before whoever follows the task has told of it.
func (t *Tracker) Running(m Object, listed []proxmox.Task) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	i := slices.IndexFunc(listed, func(l proxmox.Task) bool { return l.UPID == r.upid })
	if r.running && i >= 0 && !listed[i].Running && !listed[i].OK() {
		t.note(r, listed[i], listed[i].Err())
	}
	if !r.running || t.now().Sub(r.begun) < VisibleWithin {
		return r.running
	}
	return i >= 0 && listed[i].Running
}

// RunningType returns the type of the task that runs for a Machine; empty if none does.
func (t *Tracker) RunningType(m Object) string {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m); r.running {
		return r.upid.Type()
	}
	return ""
}

// Destroyed reports whether the VM of a Machine was destroyed by a task of ours, and since when that is known.
func (t *Tracker) Destroyed(m Object) (since time.Time, yes bool) {
	t.gone.Lock()
	gone := t.gone.Get(m)
	t.gone.Unlock()
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	if gone != nil {
		return *gone, true
	}
	return r.ended, r.last.Type == "qmdestroy" && r.last.OK()
}

// Creates reports whether the task that was started last makes a VM.
func (t *Tracker) Creates(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return CreatesVM(t.known(m).upid.Type())
}

// BackoffReason returns why the next attempt has to wait: the last one failed, for the same spec,
// and not long ago or without anybody having been told.
func (t *Tracker) BackoffReason(m Object) error {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	if !t.holds(r, m) {
		return nil
	}
	r.shown = true
	return r.err
}

// RetryAt returns when the next attempt is due if the last one has failed with the error; else the zero time.
func (t *Tracker) RetryAt(m Object, err error) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m); t.holds(r, m) && errors.Is(err, r.err) && t.now().Before(r.until) {
		return r.until
	}
	return time.Time{}
}

// BackoffError reports whether held is an error, and tells nobody.
func (t *Tracker) BackoffError(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.holds(t.known(m), m)
}

func (t *Tracker) holds(r *record, m Object) bool {
	return r.err != nil && r.generation == m.GetGeneration() && (!r.shown || t.now().Before(r.until))
}

// Last returns the task of a Machine that was last seen to end.
func (t *Tracker) Last(m Object) (proxmox.Task, bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.last, r.last.UPID != ""
}

// Forget forgets a Machine that is gone.
func (t *Tracker) Forget(m Object) {
	t.gone.Lock()
	t.gone.DeleteFunc(func(at *time.Time) bool { return t.now().Sub(*at) > recently })
	t.gone.Set(m, new(t.now())) // It may be looked for once more.
	t.gone.Unlock()
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Delete(m)
}

// Waited returns how long ago PVE was first asked for this, which is now if it was not before.
func (t *Tracker) Waited(m Object, what string) time.Duration {
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

// Active reports whether a task of ours works on a VM, or did not long ago.
func (t *Tracker) Active(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.running || t.now().Sub(r.begun) < recently || t.now().Before(r.rebootUntil)
}

// Len returns the number of Machines that something is remembered of.
func (t *Tracker) Len() int {
	t.records.Lock()
	defer t.records.Unlock()
	return t.records.Len()
}

// A View is what was known of tasks at some time.
type View struct {
	Listed []proxmox.Task
	Err    error
	Ours   bool // Whether the Machine's own last task was running.
}

// Busy reports whether a task works on the VM, of ours or anybody's.
func (v View) Busy(vmid int) (bool, error) {
	return v.Err == nil && (v.Ours || slices.ContainsFunc(v.Listed, func(t proxmox.Task) bool {
		return t.Works() && t.ID == strconv.Itoa(vmid)
	})), v.Err
}

// CreatesVM reports whether tasks of a type make VMs.
func CreatesVM(task string) bool {
	return slices.Contains([]string{"qmcreate", "qmclone", "qmrestore"}, task)
}

// HasRecentTask reports whether a task, other than the one given, is listed that works on a VM
// or did not long ago.
func (v View) HasRecentTask(vmid int, but proxmox.UPID) bool {
	return v.Err != nil || slices.ContainsFunc(v.Listed, func(t proxmox.Task) bool { return t.ID == strconv.Itoa(vmid) && t.UPID != but })
}

// WithoutDead returns a list of tasks in which none runs whose node cannot be asked: PVE goes on
// listing what ran there when the node went down, until that is back.
func WithoutDead(listed []proxmox.Task, unreachable func(node string) bool) []proxmox.Task {
	lost := func(t proxmox.Task) bool { return t.Running && unreachable(t.Node) }
	if !slices.ContainsFunc(listed, lost) {
		return listed
	}
	listed = slices.Clone(listed)
	for i, t := range listed {
		if lost(t) {
			listed[i].Running, listed[i].ExitStatus = false, "its node went down"
		}
	}
	return listed
}
