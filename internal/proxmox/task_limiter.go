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

package proxmox

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// reservedFor is how long a slot is reserved for a call that waited for it.
	reservedFor = 10 * time.Second

	// waitsFor is how long a call that is not made again counts as waiting.
	waitsFor = 10 * time.Minute

	// listedWithin is how long PVE's list may lack a task that was started.
	listedWithin = time.Minute
)

// Waiting returns a channel that is closed when what was refused since too many tasks of ours run may be
// tried again. It is false for errors of another kind.
func Waiting(err error) (<-chan struct{}, bool) {
	var e *Error
	if !errors.As(err, &e) || e.waiting == nil {
		return nil, false
	}
	return e.waiting, true
}

// taskLimiter lets no more tasks of ours run than the limits allow. Who comes too early
// is refused at once and gets its turn in the order of coming. Without it, clones of one
// template fail (TestClonesOfOneSource). A semaphore does not do: three limits hold at
// once, tasks from before this process count until PVE says that they have ended
// (TestTasksFromBeforeCount), a turn is kept from the choice of a node to the call
// (TestTurnIsKept), and who waits is woken in order instead of asking again, each time
// with the calls that a look costs (TestTurnsComeInOrder).
type taskLimiter struct {
	limits Limits
	user   string // whose tasks count
	clock  func() time.Time

	mu      sync.Mutex
	last    int
	running map[int]*ownTask
	waiting []*waiter
}

// An ownTask is one of ours that runs or is being started.
type ownTask struct {
	node, source string
	upid         UPID // empty while it is being started
	begun        time.Time
	keptFor      string // key of the call that is to start it, empty once that was made
}

// A waiter asked for a task and has to wait.
type waiter struct {
	ownTask

	key  string
	seen time.Time // when it asked last
	turn chan struct{}
	due  time.Time // when its turn came, zero before
}

func newTaskLimiter(l Limits, user string, clock func() time.Time) *taskLimiter {
	return &taskLimiter{limits: l, user: user, clock: clock, running: map[int]*ownTask{}}
}

func (t *taskLimiter) limited() bool {
	return t.limits.Tasks > 0 || t.limits.TasksPerNode > 0 || t.limits.ClonesPerSource > 0
}

// enter takes a turn for the task that a request starts, the one that is kept for
// it if there is one. What enters has to leave.
func (t *taskLimiter) enter(r request) (int, *Error) {
	if !t.limited() {
		return 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn, refused := t.acquire(r)
	if refused != nil {
		return 0, refused
	}
	t.running[turn].keptFor = ""
	return turn, nil
}

// reserve reserves a turn for a request that is made next, but not for long.
func (t *taskLimiter) reserve(r request) *Error {
	if !t.limited() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn, refused := t.acquire(r)
	if refused != nil {
		return refused
	}
	t.running[turn].keptFor, t.running[turn].begun = r.key(), t.clock()
	return nil
}

// acquire acquires the turn that is kept for a request, or a free one.
func (t *taskLimiter) acquire(r request) (int, *Error) {
	t.wakeReady()
	for turn, o := range t.running {
		if o.keptFor == r.key() {
			return turn, nil
		}
	}
	w := &waiter{ownTask: ownTask{node: r.args[0], source: r.source()}, key: r.key()}
	for _, known := range t.waiting {
		if known.key == w.key {
			w = known
		}
	}
	if limit := t.exceeded(w); limit != "" {
		return 0, t.wait(r, w, limit)
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(o *waiter) bool { return o == w })
	t.last++
	t.running[t.last] = &ownTask{node: w.node, source: w.source, begun: t.clock()}
	return t.last, nil
}

// key returns the same for requests that do the same to the same.
func (r request) key() string { return r.op + " " + r.url() }

// wait queues a request, or keeps it where it is in the queue.
func (t *taskLimiter) wait(r request, w *waiter, limit string) *Error {
	w.seen = t.clock()
	if !slices.Contains(t.waiting, w) {
		t.waiting = append(t.waiting, w)
	}
	if w.turn == nil || !w.due.IsZero() {
		w.turn, w.due = make(chan struct{}), time.Time{}
	}
	return &Error{
		Op: r.op, Method: r.method, Path: r.path, waiting: w.turn,
		Message: "it waits for its turn: as many tasks of this provider run as " + limit + " allows",
	}
}

// leave notes which task a turn was taken for, or that there is none.
func (t *taskLimiter) leave(turn int, u UPID) {
	if turn == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if u != "" {
		// It may have been seen in PVE's list before we got the answer.
		maps.DeleteFunc(t.running, func(_ int, o *ownTask) bool { return o.upid == u })
		t.running[turn].upid = u
		t.wakeReady()
		return
	}
	delete(t.running, turn)
	t.wakeReady()
}

// observe observes which tasks run, in a list of all or of one. Those that were started
// before us count too.
func (t *taskLimiter) observe(tasks []Task, all bool) {
	if !t.limited() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	listed := make(map[UPID]bool, len(tasks))
	for _, s := range tasks {
		listed[s.UPID] = s.Works()
	}
	maps.DeleteFunc(t.running, func(_ int, r *ownTask) bool {
		runs, ok := listed[r.upid]
		delete(listed, r.upid)
		return r.upid != "" && (ok && !runs || all && !ok && t.clock().Sub(r.begun) > listedWithin)
	})
	for u, runs := range listed {
		if runs && u.User() == t.user {
			t.last++
			t.running[t.last] = &ownTask{node: u.Node(), source: sourceOf(u), upid: u, begun: t.clock()}
		}
	}
	t.wakeReady()
}

// forget forgets a task that PVE does not know, unless it may not be visible yet.
func (t *taskLimiter) forget(u UPID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.running, func(_ int, r *ownTask) bool { return r.upid == u && t.clock().Sub(r.begun) > listedWithin })
	t.wakeReady()
}

// wakeReady wakes those whose turn has come.
func (t *taskLimiter) wakeReady() {
	now := t.clock()
	maps.DeleteFunc(t.running, func(_ int, o *ownTask) bool { return o.keptFor != "" && now.Sub(o.begun) > reservedFor })
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waiter) bool {
		return now.Sub(w.seen) > waitsFor || !w.due.IsZero() && now.Sub(w.due) > reservedFor
	})
	for _, w := range t.waiting {
		if w.due.IsZero() && t.exceeded(w) == "" {
			w.due = now
			close(w.turn)
		}
	}
}

// wakeAll has all who wait ask again: another client has taken the place of this.
func (t *taskLimiter) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waiting {
		if w.due.IsZero() {
			close(w.turn)
		}
	}
	t.waiting = nil
}

// exceeded returns the limit that keeps a request waiting, with turns kept for those
// that have come before.
func (t *taskLimiter) exceeded(w *waiter) string {
	in := slices.Collect(maps.Values(t.running))
	for _, before := range t.waiting {
		if before == w {
			break
		}
		if t.full(in, before.ownTask) == "" {
			in = append(in, &before.ownTask)
		}
	}
	return t.full(in, w.ownTask)
}

// full returns the limit that one more task would exceed.
func (t *taskLimiter) full(in []*ownTask, one ownTask) string {
	onNode, ofSource := 0, 0
	for _, o := range in {
		if o.node == one.node {
			onNode++
		}
		if one.source != "" && o.source == one.source {
			ofSource++
		}
	}
	l := t.limits
	switch {
	case l.Tasks > 0 && len(in) >= l.Tasks:
		return fmt.Sprintf("limits.concurrentTasks (%d)", l.Tasks)
	case l.TasksPerNode > 0 && onNode >= l.TasksPerNode:
		return fmt.Sprintf("limits.concurrentTasksPerNode (%d)", l.TasksPerNode)
	case l.ClonesPerSource > 0 && ofSource >= l.ClonesPerSource:
		return fmt.Sprintf("limits.concurrentClonesPerSource (%d)", l.ClonesPerSource)
	}
	return ""
}

// source returns the VM that a request clones, if it does.
func (r request) source() string {
	if r.path != clonePath {
		return ""
	}
	return r.args[1]
}

func sourceOf(u UPID) string {
	if u.Type() != "qmclone" {
		return ""
	}
	return u.ID()
}

const clonePath = "/nodes/{node}/qemu/{vmid}/clone"
