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

// Package tasklimit decides when a call may start a task, so that no more tasks of ours run at once than the limits of a provider
// configuration allow. Without it clones of one template fail on the lock of their storage (TestClonesOfOneSource of package proxmox), and new VMs
// are made out of turn (TestCreationsWaitInOrder there).
package tasklimit

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// reservedFor is how long a slot is reserved for a call that waited for it.
	reservedFor = 10 * time.Second

	// waitsFor is how long a call that is not made again counts as waiting.
	waitsFor = 10 * time.Minute

	// listedWithin is how long PVE's list may lack a task that was started.
	listedWithin = time.Minute
)

// clone is the type of the tasks that clone a VM.
const clone = "qmclone"

// A Task is named by what says who has started it, where it runs and what it works on. Its zero value names none.
type Task interface {
	comparable

	// Node that runs the task.
	Node() string

	// Type of the task, such as qmclone.
	Type() string

	// ID of what the task works on: the VMID of the source for a clone.
	ID() string

	// User who has started the task.
	User() string
}

// Limits are how many tasks of ours may run at once. Zero is no limit.
type Limits struct {
	// All of them, in the cluster.
	All int

	// PerNode are those of one node.
	PerNode int

	// ClonesPerSource are the clones of one VM.
	ClonesPerSource int
}

func (l Limits) limited() bool { return l.All > 0 || l.PerNode > 0 || l.ClonesPerSource > 0 }

// A Request asks for a task.
type Request struct {
	// Key is the same for requests that do the same to the same.
	Key string

	// Node that is to run the task.
	Node string

	// Source is the VMID of the VM that the request clones, or empty.
	Source string
}

// A Refusal is why a request has to wait.
type Refusal struct {
	// Limit that is reached: its field in the provider configuration, and its value.
	Limit string

	// Turn is when the request may be made again.
	Turn *Turn
}

// A Limiter lets no more tasks of ours run than the limits allow. A request that comes too early
// is refused at once and gets its turn in the order of coming. Without it, clones of one
// template fail (TestClonesOfOneSource). A semaphore does not do: three limits hold at
// once, tasks from before this process count until PVE says that they have ended
// (TestTasksFromBeforeCount), a turn is kept from the choice of a node to the call
// (TestTurnIsKept), and who waits is woken in order instead of asking again, each time
// with the calls that a look costs (TestTurnsComeInOrder). It is safe for concurrent use.
type Limiter[T Task] struct {
	limits Limits
	user   string // whose tasks count
	clock  func() time.Time

	mu      sync.Mutex
	last    int
	running map[int]*ownTask[T]
	waiting queue
}

// An ownTask is one of ours that runs or is being started.
type ownTask[T Task] struct {
	place

	name    T // zero while it is being started
	begun   time.Time
	keptFor string // key of the request that is to start it, empty once that was made
}

// A place is what the limits of a task are counted by.
type place struct{ node, source string }

// New returns a Limiter of the tasks of a user.
func New[T Task](l Limits, user string, clock func() time.Time) *Limiter[T] {
	return &Limiter[T]{limits: l, user: user, clock: clock, running: map[int]*ownTask[T]{}, waiting: newQueue()}
}

// Enter takes a turn for the task that a request starts, the one that is reserved for
// it if there is one. What enters has to leave.
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

// Reserve reserves a turn for a request that is made next, for ten seconds.
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

// acquire acquires the turn that is kept for a request, or a free one.
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

// wait queues a request, or keeps it where it is in the queue.
func (t *Limiter[T]) wait(w *waiter, reached limit) *Refusal {
	w.seen = t.clock()
	t.waiting.add(w)
	if w.turn == nil || !w.due.IsZero() {
		w.turn, w.due = &Turn{}, time.Time{}
	}
	return &Refusal{Limit: reached.String(), Turn: w.turn}
}

// Leave notes which task a turn was taken for, or that there is none.
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
		// It may have been seen in PVE's list before we got the answer.
		maps.DeleteFunc(t.running, func(_ int, o *ownTask[T]) bool { return o.name == started })
		t.running[turn].name = started
	}
	t.wakeReady()
}

// Observe takes in which tasks run, by a list of all of the cluster or of some. Those that were started
// before this process count too.
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

// placeOf returns what the limits of a task that runs are counted by.
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

// wakeReady wakes those whose turn has come.
func (t *Limiter[T]) wakeReady() {
	now := t.clock()
	maps.DeleteFunc(t.running, func(_ int, o *ownTask[T]) bool { return o.keptFor != "" && now.Sub(o.begun) > reservedFor })
	used := t.used()
	for _, w := range t.waiting.inOrder(func(w *waiter) bool { return w.missed(now) || used.take(t.limits, w.place) == noLimit }) {
		switch {
		case now.Sub(w.seen) > waitsFor:
			t.waiting.remove(w)
			w.turn.come()
		case w.due.IsZero():
			w.due = now
			w.turn.come()
		}
	}
}

// WakeAll has all who wait ask again: another Limiter has taken the place of this.
func (t *Limiter[T]) WakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waiting.byKey {
		w.turn.come()
	}
	t.waiting = newQueue()
}

// exceeded returns the limit that keeps a request from what those that run and those that came before it leave, or noLimit.
func (t *Limiter[T]) exceeded(w *waiter) limit {
	now, used, reached, decided := t.clock(), t.used(), noLimit, false
	t.waiting.inOrder(func(before *waiter) bool {
		if decided || before != w && before.missed(now) {
			return !decided
		}
		// One that has to wait takes nothing from those after it, and those that want the same wait too.
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

// used counts what runs.
func (t *Limiter[T]) used() *usage {
	u := &usage{nodes: map[string]int{}, sources: map[string]int{}}
	for _, o := range t.running {
		u.add(o.place)
	}
	return u
}

// A usage is how many tasks there are, on each node, and of each source.
type usage struct {
	all            int
	nodes, sources map[string]int
}

func (u *usage) add(p place) {
	u.all++
	u.nodes[p.node]++
	u.sources[p.source]++
}

// take counts one more task, unless a limit is reached, which it returns.
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

// A limit is a field of the provider configuration, and its value.
type limit struct {
	field string
	value int
}

// noLimit is none that is reached.
var noLimit = limit{} //nolint:gochecknoglobals // It is never written.

func (l limit) String() string { return fmt.Sprintf("%s (%d)", l.field, l.value) }
