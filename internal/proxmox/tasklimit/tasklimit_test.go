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

package tasklimit

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A task is the n-th of a node, as its name tells.
type task struct {
	node, kind, user string
	vmid, n          int
}

func (t task) Node() string { return t.node }
func (t task) Type() string { return t.kind }
func (t task) ID() string   { return strconv.Itoa(t.vmid) }
func (t task) User() string { return t.user }

func taskOf(node, kind string, vmid, n int, user string) task {
	return task{node: node, kind: kind, vmid: vmid, n: n, user: user}
}

// A manualClock goes on when it is told to.
type manualClock struct{ now time.Time }

func newManualClock() *manualClock         { return &manualClock{now: time.Unix(1_790_000_000, 0)} }
func (c *manualClock) Now() time.Time      { return c.now }
func (c *manualClock) Add(d time.Duration) { c.now = c.now.Add(d) }

func starts(node string, vmid int) Request {
	return Request{Key: "start " + strconv.Itoa(vmid), Node: node}
}

func clones(source, newID int) Request {
	return Request{Key: "clone to " + strconv.Itoa(newID), Node: "pve1", Source: strconv.Itoa(source)}
}

func TestLimitsOfTasks(t *testing.T) {
	cases := map[string]struct {
		reason string
		limits Limits
		ask    []Request
		want   []bool
	}{
		"None": {reason: "Nothing waits without limits.", ask: []Request{starts("a", 1), starts("a", 2)}, want: []bool{true, true}},
		"All":  {reason: "Tasks of all nodes count.", limits: Limits{All: 1}, ask: []Request{starts("a", 1), starts("b", 2)}, want: []bool{true, false}},
		"PerNode": {
			reason: "Other nodes are free.", limits: Limits{PerNode: 1}, ask: []Request{starts("a", 1), starts("a", 2), starts("b", 3)},
			want: []bool{true, false, true},
		},
		"PerSource": {
			reason: "Other sources are free, and what is no clone.", limits: Limits{ClonesPerSource: 1},
			ask: []Request{clones(9000, 1), clones(9000, 2), clones(9001, 3), starts("pve1", 9000)}, want: []bool{true, false, true, true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			turns, got := New[task](tc.limits, "u@pve", newManualClock().Now), []bool{}
			for _, r := range tc.ask {
				_, refused := turns.Enter(r)
				got = append(got, refused == nil)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// busyCluster is a cluster in which one task may run, and does.
type busyCluster struct {
	*Limiter[task]

	t     *testing.T
	clock *manualClock
	busy  task
}

func newBusyCluster(t *testing.T) *busyCluster {
	t.Helper()
	clock := newManualClock()
	q := &busyCluster{t: t, Limiter: New[task](Limits{All: 1}, "u@pve!t", clock.Now), clock: clock, busy: taskOf("a", "qmstart", 1, 1, "u@pve!t")}
	turn, refused := q.Enter(starts("a", 1))
	if refused != nil {
		t.Fatal(refused)
	}
	q.Leave(turn, q.busy)
	return q
}

// waits for a turn, which must not have come.
func (q *busyCluster) waits(vmid int) *Turn {
	q.t.Helper()
	_, refused := q.Enter(starts("a", vmid))
	if refused == nil {
		q.t.Fatalf("VM %d: want that it waits for its turn", vmid)
	}
	if came(refused.Turn) {
		q.t.Fatalf("VM %d: its turn must not have come", vmid)
	}
	return refused.Turn
}

func came(turn *Turn) (yes bool) {
	turn.Then(func() { yes = true })
	return yes
}

func (q *busyCluster) ends(u task) { q.Observe(map[task]bool{u: false}, true) }

func TestTurnsComeInOrder(t *testing.T) {
	q := newBusyCluster(t)
	first, second := q.waits(2), q.waits(3)
	q.Observe(map[task]bool{q.busy: true}, true)
	if came(first) {
		t.Error("the task still runs")
	}
	q.ends(q.busy)
	if !came(first) || came(second) {
		t.Error("it is the first one's turn, and only its")
	}
	q.waits(3)
	q.waits(4)
	turn, refused := q.Enter(starts("a", 2))
	if refused != nil {
		t.Fatalf("its turn has come: %v", refused)
	}
	q.Leave(turn, task{})
	if !came(second) {
		t.Error("a call that starts no task gives its turn to the next")
	}
}

func TestTurnIsNotKeptForEver(t *testing.T) {
	q := newBusyCluster(t)
	first := q.waits(2)
	q.waits(3)
	q.ends(q.busy)
	q.clock.Add(reservedFor + 1)
	if _, refused := q.Enter(starts("a", 3)); refused != nil || !came(first) {
		t.Errorf("the first did not come, so it is the second's turn: %v", refused)
	}
}

// TestPlaceInTheQueue checks that a request that comes too late for its turn keeps its place: with thousands of requests, many are late.
func TestPlaceInTheQueue(t *testing.T) {
	q := newBusyCluster(t)
	q.waits(2)
	second := q.waits(3)
	q.ends(q.busy)
	q.clock.Add(reservedFor + 1)
	if _, refused := q.Enter(starts("a", 4)); refused == nil || !came(second) {
		t.Fatal("want that the second one goes on instead of the first, and not one that came after it")
	}
	turn, refused := q.Enter(starts("a", 3))
	if refused != nil {
		t.Fatal("want that its turn has come")
	}
	first := q.waits(2)
	q.waits(5)
	q.Leave(turn, task{})
	if !came(first) {
		t.Error("want that the request that came first is the first again")
	}
}

// TestQueueExpires checks that a request keeps its place until its turn comes, however long that takes, and leaves the queue if it is not made then.
func TestQueueExpires(t *testing.T) {
	q := newBusyCluster(t)
	gone := q.waits(2)
	q.clock.Add(2 * waitsFor)
	q.waits(3)
	q.ends(q.busy)
	if !came(gone) || len(q.waiting.byKey) != 2 {
		t.Fatalf("want that the turn of the first comes, and that it keeps its place, got %v", q.waiting.byKey)
	}
	q.clock.Add(waitsFor + 1)
	q.Observe(nil, true)
	if _, waits := q.waiting.byKey[starts("a", 2).Key]; waits {
		t.Error("want that a request leaves the queue that is not made after its turn")
	}
}

// TestOtherPlace checks that a request for another node keeps its place in the order of arrival.
func TestOtherPlace(t *testing.T) {
	q := newBusyCluster(t)
	q.waits(2)
	q.waits(3)
	q.ends(q.busy)
	if _, refused := q.Enter(starts("b", 2)); refused != nil || len(q.waiting.lines) != 1 {
		t.Errorf("want its turn on the other node, got %v, %v", refused, q.waiting.lines)
	}
}

func TestTasksFromBeforeCount(t *testing.T) {
	q := newBusyCluster(t)
	q.ends(q.busy)
	old := taskOf("b", "qmclone", 9000, 2, "u@pve!t")
	others := taskOf("b", "qmclone", 9000, 3, "other@pve")
	q.Observe(map[task]bool{old: true, others: true}, true)
	turn := q.waits(2)
	q.Observe(map[task]bool{others: true}, true)
	if came(turn) {
		t.Error("a task may be missing from the list for a while")
	}
	q.clock.Add(listedWithin + 1)
	q.Observe(nil, true)
	if !came(turn) {
		t.Error("a task that is no longer listed has ended, and those of others do not count")
	}
}

// news is a request for a VM that is made from nothing.
func news(vmid int) Request { return Request{Key: "create " + strconv.Itoa(vmid), Node: "a"} }

func TestTurnIsKept(t *testing.T) {
	q := newBusyCluster(t)
	if q.Reserve(news(2)) == nil {
		t.Error("there is no turn to keep")
	}
	q.ends(q.busy)
	for range 2 {
		if refused := q.Reserve(news(2)); refused != nil {
			t.Fatalf("the turn has come, and stays: %v", refused)
		}
	}
	other := q.waits(3)
	turn, refused := q.Enter(news(2))
	if refused != nil {
		t.Fatalf("the turn was kept: %v", refused)
	}
	q.clock.Add(reservedFor + 1)
	q.Observe(nil, true)
	if came(other) {
		t.Error("a turn that was taken does not run out")
	}
	q.Leave(turn, task{})
	if !came(other) {
		t.Error("one turn was kept and taken, not two")
	}
}

func TestKeptTurnRunsOut(t *testing.T) {
	q := newBusyCluster(t)
	q.ends(q.busy)
	if refused := q.Reserve(news(2)); refused != nil {
		t.Fatal(refused)
	}
	other := q.waits(3)
	q.clock.Add(reservedFor + 1)
	q.Observe(nil, true)
	if !came(other) {
		t.Error("who has a turn kept and does not come loses it")
	}
}

func TestTaskSeenBeforeItsAnswerCountsOnce(t *testing.T) {
	q := newBusyCluster(t)
	q.ends(q.busy)
	turn, refused := q.Enter(starts("a", 2))
	if refused != nil {
		t.Fatal(refused)
	}
	u := taskOf("a", "qmstart", 2, 2, "u@pve!t")
	q.Observe(map[task]bool{u: true}, true)
	q.Leave(turn, u)
	other := q.waits(3)
	q.ends(u)
	if !came(other) {
		t.Error("one task is one task, and it has ended")
	}
}

func TestDismissed(t *testing.T) {
	q := newBusyCluster(t)
	first, second := q.waits(2), q.waits(3)
	q.WakeAll()
	if !came(first) || !came(second) {
		t.Error("all have to ask whoever takes the place")
	}
	q.ends(q.busy)
}

// TestTasksThatAreNotListed keeps the place of a task that PVE does not list to its token.
func TestTasksThatAreNotListed(t *testing.T) {
	q := newBusyCluster(t)
	q.clock.Add(2 * listedWithin)
	q.Observe(nil, false)
	turn := q.waits(2)
	q.Forget(q.busy)
	if !came(turn) {
		t.Error("A task that PVE does not know any more holds up the others")
	}
}

// TestTaskThatIsNotVisibleYet keeps the place of a task that PVE does not know yet.
func TestTaskThatIsNotVisibleYet(t *testing.T) {
	q := newBusyCluster(t)
	q.Forget(q.busy)
	q.waits(2)
}

// TestManyWaiting checks that the cost of a call does not depend on the number of requests that wait.
func TestManyWaiting(t *testing.T) {
	const many = 1000
	turns := New[task](Limits{All: 20, PerNode: 20, ClonesPerSource: 1}, "u@pve", newManualClock().Now)
	for i := range many {
		_, _ = turns.Enter(clones(9000, i))
	}
	allocated := testing.AllocsPerRun(10, func() {
		if turns.Reserve(clones(9000, many-1)) == nil {
			t.Error("want that the last one waits")
		}
	})
	if allocated > 12 {
		t.Errorf("a call that waits with %d others must not do something for each of them, want at most 12 allocations, got %.0f", many, allocated)
	}
}
