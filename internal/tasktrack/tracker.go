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

// Package tasktrack remembers the tasks that were started for objects: which one runs, how the last one ended, when the next one may be tried, and
// which requests must not be repeated. It makes no calls.
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

// Delays before a failed task is retried.
const (
	FirstRetry = 2 * time.Second
	LastRetry  = 5 * time.Minute
)

// Tracker remembers, for each Machine, the task that was started last and how it ended. It keeps its data only in memory. After a restart, PVE shows
// what it has forgotten.
type Tracker struct {
	now func() time.Time

	// records has the records of Machines, and empty is the record of Machines without one. Both need the lock.
	records objectstate.Store[record]
	empty   record

	// gone is when Machines were recently forgotten.
	gone objectstate.Store[time.Time]
}

// An Object is an object that tasks are tracked for. Failures of an earlier generation do not count for a new one.
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
	ended      time.Time // When last was observed to have ended.
	failures   int
	until      time.Time
	err        error
	shown      bool // Whether err has been shown.

	// change is the last change of options until it is observed to persist, changes how often it was made in succession, changed the time until which it
	// is not made again, and assumed whether it is assumed to persist.
	change  qemu.Difference
	changes int
	changed time.Time
	assumed bool

	// asked has the requests to PVE that take effect later, with their times. No changes are made to the VM before rebootUntil.
	asked       map[string]time.Time
	asking      string // the last request
	rebootUntil time.Time

	// rebooted is when a reboot was last requested, and shutdown has the requests to shut down.
	rebooted time.Time
	shutdown shutdownRequests

	// starts is how often in succession the VM was started though it had not run for long, and started when that was last.
	starts  int
	started time.Time

	// outcomeUnknown is when the last call with an unknown outcome was made.
	outcomeUnknown time.Time

	// creating is true once a call that creates the VM has begun, and creationLost is when the response to such a call was last lost.
	creating     bool
	creationLost time.Time

	// driveStale is true while PVE's cloud-init drive may have old data.
	driveStale bool

	// refusals has the errors of PVE for the current configuration of the VM, by the call.
	refusals map[string]refusal

	// lock is when the lock of the VM was held.
	lock LockWait
}

// New returns an empty Tracker.
func New(now func() time.Time) *Tracker { return &Tracker{now: now} }

// known returns the record of a Machine. If there is none, it returns an empty record that is not kept. Most Machines have no task for days.
func (t *Tracker) known(m Object) *record {
	if r := t.records.Get(m); r != nil {
		return r
	}
	t.empty = record{}
	return &t.empty
}

// attempt returns the record of a Machine. For a changed spec it resets the record, except for what is known of the VM.
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

// Ended remembers how a task ended. A failed task delays the next attempt, longer each time.
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
		r.err = err // Its log contains more.
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

// MarkDriveStale remembers that PVE's cloud-init drive has old data now.
func (t *Tracker) MarkDriveStale(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Ensure(m).driveStale = true
}

// MarkDriveFresh remembers that PVE's cloud-init drive has current data.
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

// Arrival is how long a call whose response was lost may need to take effect. It is shorter than the delay before the first retry after a failure.
const Arrival = 800 * time.Millisecond

// RecordUnknownOutcome remembers that it is not known whether a call has started a task.
func (t *Tracker) RecordUnknownOutcome(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.attempt(m).outcomeUnknown = t.now()
}

// SinceUnknownOutcome returns how long ago the last such call was. It is very long if there was none.
func (t *Tracker) SinceUnknownOutcome(m Object) time.Duration {
	t.records.Lock()
	defer t.records.Unlock()
	return t.now().Sub(t.known(m).outcomeUnknown)
}

// BeginCreation remembers that a call that creates the VM is about to be made, and when the response to an earlier such call of another process was
// lost. From now on it is known whether a response was lost.
func (t *Tracker) BeginCreation(m Object, lost time.Time) {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.records.Ensure(m); !r.creating {
		r.creating, r.creationLost = true, lost
	}
}

// RecordLostCreation remembers that the response to the call was lost.
func (t *Tracker) RecordLostCreation(m Object) {
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Ensure(m).creationLost = t.now()
}

// LostCreation returns when the response to a call that creates the VM was last lost, or the zero time if none was, and whether that is known.
func (t *Tracker) LostCreation(m Object) (at time.Time, known bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.creationLost, r.creating
}

// Running reports whether a task runs for a Machine. A task that was started some time ago has to be among those that PVE lists, since the goroutine
// that followed it may have ended. A listed failure counts even before that goroutine has reported it.
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

// RunningType returns the type of the task that runs for a Machine, or an empty string if none does.
func (t *Tracker) RunningType(m Object) string {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m); r.running {
		return r.upid.Type()
	}
	return ""
}

// Destroyed reports whether a task of ours has destroyed the VM of a Machine, and since when that is known.
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

// Creates reports whether the last task creates a VM.
func (t *Tracker) Creates(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return CreatesVM(t.known(m).upid.Type())
}

// BackoffReason returns why the next attempt has to wait: the last one has failed for the same spec, and either recently or without having been shown.
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

// RetryAt returns when the next attempt is due if the last one has failed with the error, or the zero time.
func (t *Tracker) RetryAt(m Object, err error) time.Time {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m); t.holds(r, m) && errors.Is(err, r.err) && t.now().Before(r.until) {
		return r.until
	}
	return time.Time{}
}

// BackoffError reports whether BackoffReason would return an error, without marking it as shown.
func (t *Tracker) BackoffError(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	return t.holds(t.known(m), m)
}

func (t *Tracker) holds(r *record, m Object) bool {
	return r.err != nil && r.generation == m.GetGeneration() && (!r.shown || t.now().Before(r.until))
}

// Last returns the task of a Machine that was last observed to end.
func (t *Tracker) Last(m Object) (proxmox.Task, bool) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.last, r.last.UPID != ""
}

// Forget forgets a Machine that no longer exists.
func (t *Tracker) Forget(m Object) {
	t.gone.Lock()
	t.gone.DeleteFunc(func(at *time.Time) bool { return t.now().Sub(*at) > recently })
	t.gone.Set(m, new(t.now())) // It may be looked up once more.
	t.gone.Unlock()
	t.records.Lock()
	defer t.records.Unlock()
	t.records.Delete(m)
}

// Waited returns how long ago something was first requested from PVE. If it was not requested before, that is now.
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

// recently is how long changes of a VM may be caused by our last task.
const recently = time.Minute

// Active reports whether a task of ours works on a VM, or recently did.
func (t *Tracker) Active(m Object) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.known(m)
	return r.running || t.now().Sub(r.begun) < recently || t.now().Before(r.rebootUntil)
}

// Len returns the number of Machines with a record.
func (t *Tracker) Len() int {
	t.records.Lock()
	defer t.records.Unlock()
	return t.records.Len()
}

// A View is what was known of tasks at one time.
type View struct {
	Listed []proxmox.Task
	Err    error
	Ours   bool // Whether the Machine's own last task was running.
}

// Busy reports whether any task works on the VM, whoever has started it.
func (v View) Busy(vmid int) (bool, error) {
	return v.Err == nil && (v.Ours || slices.ContainsFunc(v.Listed, func(t proxmox.Task) bool {
		return t.Works() && t.ID == strconv.Itoa(vmid)
	})), v.Err
}

// CreatesVM reports whether tasks of a type create VMs.
func CreatesVM(task string) bool {
	return slices.Contains([]string{"qmcreate", "qmclone", "qmrestore"}, task)
}

// HasRecentTask reports whether the list has a task, other than the given one, that works on a VM or recently did.
func (v View) HasRecentTask(vmid int, but proxmox.UPID) bool {
	return v.Err != nil || slices.ContainsFunc(v.Listed, func(t proxmox.Task) bool { return t.ID == strconv.Itoa(vmid) && t.UPID != but })
}

// WithoutDead returns a list of tasks without running ones on nodes that cannot be asked: PVE continues to list the tasks that ran when a node went
// down until the node is back.
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
