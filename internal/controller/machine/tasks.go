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
	"crypto/rand"
	"crypto/sha256"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

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

	mu   sync.Mutex
	all  map[types.UID]*taskRecord
	gone map[types.UID]time.Time // Machines, lately

	// passwords that were sent, by the hashes that seal makes of them.
	passwords map[types.UID][sha256.Size]byte
	key       []byte
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

func newTasks(now func() time.Time) *tasks {
	return &tasks{
		now: now, all: map[types.UID]*taskRecord{}, gone: map[types.UID]time.Time{},
		passwords: map[types.UID][sha256.Size]byte{}, key: []byte(rand.Text()),
	}
}

func (t *tasks) of(m Machine) *taskRecord {
	r := t.all[m.GetUID()]
	if r == nil {
		r = &taskRecord{}
		t.all[m.GetUID()] = r
	}
	return r
}

// attempt is the record of a Machine, made anew for a changed spec.
func (t *tasks) attempt(m Machine) *taskRecord {
	r := t.of(m)
	if r.generation != m.GetGeneration() {
		*r = taskRecord{generation: m.GetGeneration(), outcomeUnknown: r.outcomeUnknown, driveStale: r.driveStale}
	}
	return r
}

// started remembers a task that runs for a Machine.
func (t *tasks) started(m Machine, u proxmox.UPID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.attempt(m)
	r.upid, r.begun, r.running, r.err = u, t.now(), true, nil
}

// ended remembers how a task ended. A task that failed holds back the next
// attempt, longer each time.
func (t *tasks) ended(m Machine, task proxmox.Task, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.all[m.GetUID()]; r != nil && r.upid == task.UPID {
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
func (t *tasks) refused(m Machine, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
func (t *tasks) markDriveStale(m Machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(m).driveStale = true
}

// markDriveFresh forgets that.
func (t *tasks) markDriveFresh(m Machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(m).driveStale = false
}

func (t *tasks) driveStale(m Machine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.all[m.GetUID()]
	return r != nil && r.driveStale
}

// visibleWithin is how long PVE's list may lack a task that was started.
const visibleWithin = time.Minute

// arrival is how long a call whose answer was lost may need to have its effect,
// less than until the first attempt after a failure.
const arrival = 800 * time.Millisecond

// recordUnknownOutcome remembers that nobody knows whether a call has started a task.
func (t *tasks) recordUnknownOutcome(m Machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempt(m).outcomeUnknown = t.now()
}

// sinceUnknownOutcome is how long ago that was, longer than anything if it never was.
func (t *tasks) sinceUnknownOutcome(m Machine) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now().Sub(t.of(m).outcomeUnknown)
}

// running reports whether a task runs for a Machine. One of some time ago has to be
// among the tasks that PVE lists: whoever followed it may be gone. A failure that is
// listed counts before whoever follows the task has told of it.
func (t *tasks) running(m Machine, listed []proxmox.Task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
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
func (t *tasks) runningType(m Machine) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.of(m); r.running {
		return r.upid.Type()
	}
	return ""
}

// destroyed reports whether the VM of a Machine was destroyed by a task of ours.
func (t *tasks) destroyed(m Machine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.of(m).last
	_, gone := t.gone[m.GetUID()]
	return gone || last.Type == "qmdestroy" && last.OK()
}

// creates reports whether the task that was started last makes a VM.
func (t *tasks) creates(m Machine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return createsVM(t.of(m).upid.Type())
}

// backoffReason is why the next attempt has to wait: the last one failed, for the same spec,
// and not long ago or without anybody having been told.
func (t *tasks) backoffReason(m Machine) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(m)
	if !t.holds(r, m) {
		return nil
	}
	r.shown = true
	return r.err
}

// backoffError reports whether held is an error, and tells nobody.
func (t *tasks) backoffError(m Machine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holds(t.of(m), m)
}

func (t *tasks) holds(r *taskRecord, m Machine) bool {
	return r.err != nil && r.generation == m.GetGeneration() && (!r.shown || t.now().Before(r.until))
}

// last is the task of a Machine that was last seen to end.
func (t *tasks) last(m Machine) (proxmox.Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(m)
	return r.last, r.last.UPID != ""
}

// forget a Machine that is gone.
func (t *tasks) forget(m Machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.gone, func(_ types.UID, at time.Time) bool { return t.now().Sub(at) > recently })
	t.gone[m.GetUID()] = t.now() // It may be looked for once more.
	delete(t.all, m.GetUID())
	delete(t.passwords, m.GetUID())
}

// waited is how long ago PVE was first asked for this, which is now if it was not before.
func (t *tasks) waited(m Machine, what string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
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
func (t *tasks) active(m Machine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(m)
	return r.running || t.now().Sub(r.begun) < recently || t.now().Before(r.resting)
}
