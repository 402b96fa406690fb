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

// Package tasklimit decides when a call may start a task, so that no more of the provider's tasks run at once than the limits of a provider configuration
// allow. Without it, clones of one template fail on the lock of their storage (TestClonesOfOneSource of package proxmox), and VMs are not created in the
// order of the requests (TestCreationsWaitInOrder there).
package tasklimit

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// reservedFor is how long a turn is reserved for a call that waited for it.
	reservedFor = 10 * time.Second

	// waitsFor is how long a request stays in the queue if it is not made again after its turn has come. Before that it stays: with thousands of requests, a
	// turn may take longer.
	waitsFor = 10 * time.Minute

	// listedWithin is how long PVE's list may lack a task that was started.
	listedWithin = time.Minute
)

// clone is the type of the tasks that clone a VM.
const clone = "qmclone"

// A Task identifies a task by its user, its node, its type and its subject. The zero value identifies no task.
type Task interface {
	comparable

	// Node that runs the task.
	Node() string

	// Type of the task, such as qmclone.
	Type() string

	// ID is the subject of the task, such as the VMID of the source of a clone.
	ID() string

	// User that started the task.
	User() string
}

// Limits are the numbers of the provider's tasks that may run at once. Zero is no limit.
type Limits struct {
	// All limits the tasks in the cluster.
	All int

	// PerNode limits the tasks of each node.
	PerNode int

	// ClonesPerSource limits the clones of each VM.
	ClonesPerSource int
}

func (l Limits) limited() bool { return l.All > 0 || l.PerNode > 0 || l.ClonesPerSource > 0 }

// A Request asks for a task.
type Request struct {
	// Key identifies the operation and its subject. A request that is made again has the same key.
	Key string

	// Node that is to run the task.
	Node string

	// Source is the VMID of the VM that the request clones, or empty.
	Source string
}

// A Refusal contains the reason why a request has to wait.
type Refusal struct {
	// Limit that is reached: its field in the provider configuration, and its value.
	Limit string

	// Turn comes when the request may be made again.
	Turn *Turn
}

// A Limiter lets no more of the provider's tasks run than the limits allow. It refuses a request that comes too early, and gives it a turn in the order of
// arrival. A semaphore is not sufficient: three limits apply at once, tasks from before this process count until PVE reports their end
// (TestTasksFromBeforeCount), a turn is reserved from the choice of a node to the call (TestTurnIsKept), and requests are woken in order instead of being
// repeated, each time with the calls of a reconcile (TestTurnsComeInOrder). A Limiter is safe for concurrent use.
type Limiter[T Task] struct {
	limits Limits
	user   string // whose tasks count
	clock  func() time.Time

	mu      sync.Mutex
	last    int
	running map[int]*ownTask[T]
	waiting queue
}

// An ownTask is a task of the provider that runs or is being started.
type ownTask[T Task] struct {
	place

	name    T // zero while it is being started
	begun   time.Time
	keptFor string // key of the request that has reserved it, empty once the request was made
}

// A place contains the values by which the limits of a task are counted.
type place struct{ node, source string }

// New returns a Limiter of the tasks of a user.
func New[T Task](l Limits, user string, clock func() time.Time) *Limiter[T] {
	return &Limiter[T]{limits: l, user: user, clock: clock, running: map[int]*ownTask[T]{}, waiting: newQueue()}
}

// Enter takes a turn for the task that a request starts: the turn that is reserved for the request, if there is one. The caller must call Leave with the
// turn.
func (t *Limiter[T]) Enter(r Request) (int, *Refusal) {
	if !t.limits.limited() {
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

// Reserve reserves a turn for ten seconds, for a request that follows.
func (t *Limiter[T]) Reserve(r Request) *Refusal {
	if !t.limits.limited() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn, refused := t.acquire(r)
	if refused != nil {
		return refused
	}
	t.running[turn].keptFor, t.running[turn].begun = r.Key, t.clock()
	return nil
}

// acquire takes the turn that is reserved for a request, or a free one.
func (t *Limiter[T]) acquire(r Request) (int, *Refusal) {
	t.wakeReady()
	for turn, o := range t.running {
		if o.keptFor == r.Key {
			return turn, nil
		}
	}
	w := t.waiting.find(r)
	if reached := t.exceeded(w); reached != noLimit {
		return 0, t.wait(w, reached)
	}
	t.waiting.remove(w)
	t.last++
	t.running[t.last] = &ownTask[T]{place: w.place, begun: t.clock()}
	return t.last, nil
}

// wait adds a request to the queue, or leaves it at its place there.
func (t *Limiter[T]) wait(w *waiter, reached limit) *Refusal {
	t.waiting.add(w)
	if w.turn == nil || !w.due.IsZero() {
		w.turn, w.due = &Turn{}, time.Time{}
	}
	return &Refusal{Limit: reached.String(), Turn: w.turn}
}

// Leave records the task that was started in a turn. If no task was started, it gives the turn back.
func (t *Limiter[T]) Leave(turn int, started T) {
	if turn == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var none T
	if started == none {
		delete(t.running, turn)
	} else {
		// PVE's list may have shown the task before the answer arrived.
		maps.DeleteFunc(t.running, func(_ int, o *ownTask[T]) bool { return o.name == started })
		t.running[turn].name = started
	}
	t.wakeReady()
}

// Observe updates the running tasks from a list of all tasks of the cluster, or of some. Tasks that were started before this process count too.
func (t *Limiter[T]) Observe(listed map[T]bool, all bool) {
	if !t.limits.limited() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known := map[T]bool{}
	maps.DeleteFunc(t.running, func(_ int, r *ownTask[T]) bool {
		runs, ok := listed[r.name]
		var none T
		known[r.name] = true
		return r.name != none && (ok && !runs || all && !ok && t.clock().Sub(r.begun) > listedWithin)
	})
	for name, runs := range listed {
		if runs && !known[name] && name.User() == t.user {
			t.last++
			t.running[t.last] = &ownTask[T]{place: placeOf(name), name: name, begun: t.clock()}
		}
	}
	t.wakeReady()
}

// placeOf returns the place of a task that runs.
func placeOf[T Task](t T) place {
	if t.Type() != clone {
		return place{node: t.Node()}
	}
	return place{node: t.Node(), source: t.ID()}
}

// Forget forgets a task that PVE does not know, unless it may not be visible yet.
func (t *Limiter[T]) Forget(name T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.running, func(_ int, r *ownTask[T]) bool { return r.name == name && t.clock().Sub(r.begun) > listedWithin })
	t.wakeReady()
}

// wakeReady wakes the requests whose turn has come.
func (t *Limiter[T]) wakeReady() {
	now := t.clock()
	maps.DeleteFunc(t.running, func(_ int, o *ownTask[T]) bool { return o.keptFor != "" && now.Sub(o.begun) > reservedFor })
	used := t.used()
	for _, w := range t.waiting.inOrder(func(w *waiter) bool { return w.missed(now) || used.take(t.limits, w.place) == noLimit }) {
		switch {
		case w.due.IsZero():
			w.due = now
			w.turn.come()
		case now.Sub(w.due) > waitsFor:
			t.waiting.remove(w)
		}
	}
}

// WakeAll wakes all requests that wait, because another Limiter has replaced this one.
func (t *Limiter[T]) WakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waiting.byKey {
		w.turn.come()
	}
	t.waiting = newQueue()
}

// exceeded returns the limit that the running tasks and the requests before this one leave no room below, or noLimit.
func (t *Limiter[T]) exceeded(w *waiter) limit {
	now, used, reached, decided := t.clock(), t.used(), noLimit, false
	t.waiting.inOrder(func(before *waiter) bool {
		if decided || before != w && before.missed(now) {
			return !decided
		}
		// A request that has to wait takes nothing from later ones, except from those of the same place, which wait too.
		l := used.take(t.limits, before.place)
		if before == w || l != noLimit && before.place == w.place {
			reached, decided = l, true
		}
		return l == noLimit
	})
	if decided {
		return reached
	}
	return used.take(t.limits, w.place)
}

// used counts the tasks that run.
func (t *Limiter[T]) used() *usage {
	u := &usage{nodes: map[string]int{}, sources: map[string]int{}}
	for _, o := range t.running {
		u.add(o.place)
	}
	return u
}

// A usage is the number of tasks: all, on each node, and of each source.
type usage struct {
	all            int
	nodes, sources map[string]int
}

func (u *usage) add(p place) {
	u.all++
	u.nodes[p.node]++
	u.sources[p.source]++
}

// take counts one more task. If a limit is reached, it counts nothing and returns the limit.
func (u *usage) take(l Limits, p place) limit {
	switch {
	case l.All > 0 && u.all >= l.All:
		return limit{"limits.concurrentTasks", l.All}
	case l.PerNode > 0 && u.nodes[p.node] >= l.PerNode:
		return limit{"limits.concurrentTasksPerNode", l.PerNode}
	case l.ClonesPerSource > 0 && p.source != "" && u.sources[p.source] >= l.ClonesPerSource:
		return limit{"limits.concurrentClonesPerSource", l.ClonesPerSource}
	}
	u.add(p)
	return noLimit
}

// A limit is a field of the provider configuration and its value.
type limit struct {
	field string
	value int
}

// noLimit means that no limit is reached.
var noLimit = limit{} //nolint:gochecknoglobals // It is never written.

func (l limit) String() string { return fmt.Sprintf("%s (%d)", l.field, l.value) }
