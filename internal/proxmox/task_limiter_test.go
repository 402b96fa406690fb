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
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// upidOf is a task on a node with a VM, of a user.
func upidOf(node, kind string, vmid, n int, user string) UPID {
	return UPID(fmt.Sprintf("UPID:%s:%08X:000629DA:6B00B985:%s:%d:%s:", node, n, kind, vmid, user))
}

func starts(node string, vmid int) request {
	return request{op: "start", method: "POST", path: "/nodes/{node}/qemu/{vmid}/status/start", args: []string{node, strconv.Itoa(vmid)}}
}

func clones(source, newID int) request {
	return request{
		op: "clone to " + strconv.Itoa(newID), method: "POST", path: clonePath, args: []string{"pve1", strconv.Itoa(source)},
		form: map[string]string{"newid": strconv.Itoa(newID)},
	}
}

func TestLimitsOfTasks(t *testing.T) {
	cases := map[string]struct {
		reason string
		limits Limits
		ask    []request
		want   []bool
	}{
		"None": {reason: "Without limits nothing waits.", ask: []request{starts("a", 1), starts("a", 2)}, want: []bool{true, true}},
		"All":  {reason: "Tasks of all nodes count.", limits: Limits{Tasks: 1}, ask: []request{starts("a", 1), starts("b", 2)}, want: []bool{true, false}},
		"PerNode": {
			reason: "Other nodes are free.", limits: Limits{TasksPerNode: 1}, ask: []request{starts("a", 1), starts("a", 2), starts("b", 3)},
			want: []bool{true, false, true},
		},
		"PerSource": {
			reason: "Other sources are free, and what is no clone.", limits: Limits{ClonesPerSource: 1},
			ask: []request{clones(9000, 1), clones(9000, 2), clones(9001, 3), starts("pve1", 9000)}, want: []bool{true, false, true, true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			turns, got := newTaskLimiter(tc.limits, "u@pve", newManualClock().Now), []bool{}
			for _, r := range tc.ask {
				_, err := turns.enter(r)
				got = append(got, err == nil)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// queue is a cluster in which one task may run, and does.
type queue struct {
	*taskLimiter

	t     *testing.T
	clock *manualClock
	busy  UPID
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	clock := newManualClock()
	q := &queue{t: t, taskLimiter: newTaskLimiter(Limits{Tasks: 1}, "u@pve!t", clock.Now), clock: clock, busy: upidOf("a", "qmstart", 1, 1, "u@pve!t")}
	turn, err := q.enter(starts("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	q.leave(turn, q.busy)
	return q
}

// waits for a turn, which must not have come.
func (q *queue) waits(vmid int) <-chan struct{} {
	q.t.Helper()
	_, err := q.enter(starts("a", vmid))
	turn, ok := Waiting(err)
	if err == nil || !ok || ClassOf(err) != ClassConflict || IsOutcomeUnknown(err) {
		q.t.Fatalf("VM %d: got %v, want that it waits for its turn", vmid, err)
	}
	if came(turn) {
		q.t.Fatalf("VM %d: its turn must not have come", vmid)
	}
	return turn
}

func came(turn <-chan struct{}) bool {
	select {
	case <-turn:
		return true
	default:
		return false
	}
}

func (q *queue) ends(u UPID) { q.observe([]Task{{UPID: u}}, true) }

func TestTurnsComeInOrder(t *testing.T) {
	q := newQueue(t)
	first, second := q.waits(2), q.waits(3)
	q.observe([]Task{{UPID: q.busy, Running: true}}, true)
	if came(first) {
		t.Error("the task still runs")
	}
	q.ends(q.busy)
	if !came(first) || came(second) {
		t.Error("it is the first one's turn, and only its")
	}
	q.waits(3)
	q.waits(4)
	turn, err := q.enter(starts("a", 2))
	if err != nil {
		t.Fatalf("its turn has come: %v", err)
	}
	q.leave(turn, "")
	if !came(second) {
		t.Error("a call that starts no task gives its turn to the next")
	}
}

func TestTurnIsNotKeptForEver(t *testing.T) {
	q := newQueue(t)
	first := q.waits(2)
	q.waits(3)
	q.ends(q.busy)
	q.clock.Add(reservedFor + 1)
	if _, err := q.enter(starts("a", 3)); err != nil || !came(first) {
		t.Errorf("the first did not come, so it is the second's turn: %v", err)
	}
}

func TestConsolesDoNotCount(t *testing.T) {
	q := newQueue(t)
	q.ends(q.busy)
	q.observe([]Task{{UPID: upidOf("b", "vncproxy", 100, 2, "u@pve!t"), Type: "vncproxy", Running: true}}, true)
	if _, err := q.enter(starts("a", 2)); err != nil {
		t.Errorf("a console that is open is no task to wait for: %v", err)
	}
}

func TestTasksFromBeforeCount(t *testing.T) {
	q := newQueue(t)
	q.ends(q.busy)
	old := upidOf("b", "qmclone", 9000, 2, "u@pve!t")
	q.observe([]Task{{UPID: old, Running: true}, {UPID: upidOf("b", "qmclone", 9000, 3, "other@pve"), Running: true}}, true)
	turn := q.waits(2)
	q.observe([]Task{{UPID: upidOf("b", "qmclone", 9000, 3, "other@pve"), Running: true}}, true)
	if came(turn) {
		t.Error("a task may be missing from the list for a while")
	}
	q.clock.Add(listedWithin + 1)
	q.observe(nil, true)
	if !came(turn) {
		t.Error("a task that is no longer listed has ended, and those of others do not count")
	}
}

// news is a request for a VM that is made from nothing.
func news(vmid int) request { return creation(Ref{Node: "a", VMID: vmid}, nil) }

func TestCreationsWaitInOrder(t *testing.T) {
	q := newQueue(t)
	asks := func(r request) <-chan struct{} {
		_, err := q.enter(r)
		turn, _ := Waiting(err)
		return turn
	}
	first, second := asks(news(2)), asks(news(3))
	q.ends(q.busy)
	if !came(first) || came(second) {
		t.Error("two that are created on one node are two that wait")
	}
}

func TestTurnIsKept(t *testing.T) {
	q := newQueue(t)
	if _, ok := Waiting(q.reserve(news(2))); !ok {
		t.Error("there is no turn to keep")
	}
	q.ends(q.busy)
	for range 2 {
		if err := q.reserve(news(2)); err != nil {
			t.Fatalf("the turn has come, and stays: %v", err)
		}
	}
	other := q.waits(3)
	turn, err := q.enter(news(2))
	if err != nil {
		t.Fatalf("the turn was kept: %v", err)
	}
	q.clock.Add(reservedFor + 1)
	q.observe(nil, true)
	if came(other) {
		t.Error("a turn that was taken does not run out")
	}
	q.leave(turn, "")
	if !came(other) {
		t.Error("one turn was kept and taken, not two")
	}
}

func TestKeptTurnRunsOut(t *testing.T) {
	q := newQueue(t)
	q.ends(q.busy)
	if err := q.reserve(news(2)); err != nil {
		t.Fatal(err)
	}
	other := q.waits(3)
	q.clock.Add(reservedFor + 1)
	q.observe(nil, true)
	if !came(other) {
		t.Error("who has a turn kept and does not come loses it")
	}
}

func TestTaskSeenBeforeItsAnswerCountsOnce(t *testing.T) {
	q := newQueue(t)
	q.ends(q.busy)
	turn, err := q.enter(starts("a", 2))
	if err != nil {
		t.Fatal(err)
	}
	u := upidOf("a", "qmstart", 2, 2, "u@pve!t")
	q.observe([]Task{{UPID: u, Running: true}}, true)
	q.leave(turn, u)
	other := q.waits(3)
	q.ends(u)
	if !came(other) {
		t.Error("one task is one task, and it has ended")
	}
}

func TestDismissed(t *testing.T) {
	q := newQueue(t)
	first, second := q.waits(2), q.waits(3)
	q.wakeAll()
	if !came(first) || !came(second) {
		t.Error("all have to ask whoever takes the place")
	}
	q.ends(q.busy)
}

// TestTasksThatAreNotListed keeps the place of a task that PVE does not list to its token.
func TestTasksThatAreNotListed(t *testing.T) {
	q := newQueue(t)
	q.clock.Add(2 * listedWithin)
	q.observe(nil, false)
	turn := q.waits(2)
	q.forget(q.busy)
	if !came(turn) {
		t.Error("A task that PVE does not know any more holds up the others")
	}
}

// TestTaskThatIsNotVisibleYet keeps the place of a task that PVE does not know yet.
func TestTaskThatIsNotVisibleYet(t *testing.T) {
	q := newQueue(t)
	q.forget(q.busy)
	q.waits(2)
}
