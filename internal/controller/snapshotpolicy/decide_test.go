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

package snapshotpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func night(n int) time.Time { return time.Date(2026, 1, n, 1, 30, 0, 0, time.UTC) }

// of returns a snapshot of a Machine for the run of a night.
func of(machine string, n int, s state) *snapshot {
	return &snapshot{name: objectName("p", machine, night(n)), machine: machine, run: night(n), state: s, problem: "Locked: it is"}
}

func metaTime(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t)) }

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		reason  string
		now     time.Time
		change  func(*view)
		made    []*snapshot
		take    []string
		remove  []string
		problem string
		events  []string
	}{
		"Early":  {reason: "No run is due.", now: night(1).Add(-time.Minute)},
		"Due":    {reason: "A run begins in its minute.", now: night(1), take: []string{"a", "b"}},
		"Missed": {reason: "The last one is made up for.", now: night(5).Add(time.Hour), take: []string{"a", "b"}, events: []string{"(4)"}},
		"Many": {
			reason: "Not all are counted that were missed.", now: night(1).AddDate(1, 0, 0), take: []string{"a", "b"}, events: []string{"(more than 100)"},
		},
		"Late": {
			reason: "What is too late is told and left.", now: night(2).Add(2 * time.Hour), problem: "was missed", events: []string{"(1)", "was missed"},
			change: func(v *view) { v.spec.StartingDeadlineMinutes = ptr.To(int32(60)) },
		},
		"Suspended": {reason: "Nothing begins while a policy is suspended.", now: night(1), change: func(v *view) { v.spec.Suspend = ptr.To(true) }},
		"Observed":  {reason: "Nothing is done that the policies do not allow.", now: night(1), change: func(v *view) { v.takes = false }},
		"Suspension": {
			reason: "What it has left out is not made up for.", now: night(5).Add(time.Hour),
			change: func(v *view) { v.status.ScheduledUntil = metaTime(night(5)) },
		},
		"NewSchedule": {
			reason: "Times before the change are no runs.", now: night(1).Add(time.Hour),
			change: func(v *view) { v.status.ObservedSchedule = "0 12 * * * UTC" },
		},
		"ClockBehind": {
			reason: "A clock that is set back takes nothing again.", now: night(1), problem: "the clock of the provider's node shows",
			change: func(v *view) { v.status.LastScheduleTime = metaTime(night(3)) },
		},
		"ObjectsAhead": {
			reason: "A clock that is set back takes nothing again when only the objects tell; the way out is told.",
			now:    night(1), problem: "remove the Snapshots of that run, and lastScheduleTime",
			made: []*snapshot{of("a", 3, taken), of("b", 3, taken)},
		},
		"Going": {
			reason: "A run goes on where it was.", now: night(1).Add(time.Minute), made: []*snapshot{of("a", 1, taken)}, take: []string{"b"},
			change: running(1),
		},
		"Concurrent": {
			reason: "No more are begun than are allowed.", now: night(1).Add(time.Minute), made: []*snapshot{of("a", 1, begun)},
			change: func(v *view) { running(1)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
		},
		"Waits": {
			reason: "What does not begin gives up its place.", now: night(1).Add(beginTimeout), made: []*snapshot{of("a", 1, waiting)},
			change: func(v *view) { running(1)(v); attempted(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
			remove: []string{"a1"}, problem: "a: Locked: it is",
		},
		"NoAttempt": {
			reason: "What is not known to wait for long gets its time.", now: night(1).Add(beginTimeout), made: []*snapshot{of("a", 1, waiting)},
			change: running(1), take: []string{"b"},
		},
		"Superseded": {
			reason: "What did not begin until the next run is removed.", now: night(2), made: []*snapshot{of("a", 1, waiting), of("b", 1, taken)},
			take: []string{"b"}, remove: []string{"a1"}, problem: "a: Locked: it is",
		},
		"NoTwoAtOnce": {
			reason: "What still runs is waited for.", now: night(2), made: []*snapshot{of("a", 1, begun), of("b", 1, taken)}, take: []string{"b"},
		},
		"NoVM": {
			reason: "A Machine without a VM waits.", now: night(1), take: []string{"b"}, problem: "a: the Machine has no VM yet",
			change: func(v *view) { v.machines[0].hasVM = false },
		},
		"NotWhole": {
			reason: "A VM that has not had all of its disks yet waits.", now: night(1), take: []string{"b"},
			problem: "a: the VM does not have all of its disks yet: data, logs",
			change:  func(v *view) { v.machines[0].pending = []string{"data", "logs"} },
		},
		"Younger": {
			reason: "A Machine that came later has no part in the run.", now: night(1).Add(time.Minute), take: []string{"b"},
			change: func(v *view) { running(1)(v); v.machines[0].created = night(1).Add(time.Second) },
		},
		"Prune": {
			reason: "The oldest goes first, one at a time.", now: night(4).Add(time.Hour), change: kept(1, 4),
			made: []*snapshot{of("a", 1, taken), of("a", 2, taken), of("a", 3, taken)}, remove: []string{"a1"},
		},
		"PruneUnselected": {
			reason: "Snapshots of a Machine that is not selected any more are pruned, the oldest first.", now: night(4).Add(time.Hour), change: kept(1, 4),
			made: []*snapshot{of("c", 1, taken), of("c", 2, taken)}, remove: []string{"c1"},
		},
		"Retained": {
			reason: "What is retained neither goes nor counts.", now: night(4).Add(time.Hour), change: kept(1, 4),
			made: []*snapshot{of("a", 1, taken), of("a", 2, taken), retained(of("a", 3, taken))}, remove: []string{"a1"},
		},
		"Unfinished": {
			reason: "What was not taken removes nothing.", now: night(4).Add(time.Hour), change: kept(1, 4),
			made: []*snapshot{of("a", 1, taken), of("a", 4, stuck)}, problem: "a: Locked",
		},
		"Gone": {
			reason: "What is not there is no way back.", now: night(4).Add(time.Hour), change: kept(1, 4),
			made: []*snapshot{of("a", 1, taken), of("a", 2, gone)}, remove: []string{"a2"},
		},
		"GoesBack": {
			reason: "A rollback needs its snapshot.", now: night(4).Add(time.Hour),
			change: func(v *view) { kept(1, 4)(v); v.goBack = map[string]bool{"a": true} },
			made:   []*snapshot{of("a", 1, taken), of("a", 2, taken)},
		},
		"MayNotRemove": {
			reason: "The policies do not allow it.", now: night(4).Add(time.Hour), change: func(v *view) { kept(1, 4)(v); v.removes = false },
			made: []*snapshot{of("a", 1, taken), of("a", 2, taken)},
		},
		"Removing": {
			reason: "Removals count like the others.", now: night(4).Add(time.Hour),
			change: func(v *view) { kept(1, 4)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
			made:   []*snapshot{of("a", 1, taken), of("a", 2, taken), of("b", 1, deleting)},
		},
		"Unseen": {
			reason: "Snapshots whose VM cannot be reached hold up no other Machine.", now: night(5), take: []string{"b"}, problem: "a: Locked: it is",
			made: []*snapshot{of("a", 1, unseen), of("a", 2, unseen), of("a", 3, unseen), of("a", 4, unseen)}, change: lastRun(4),
		},
		"UnseenPruned": {
			reason: "Snapshots of a VM that cannot be reached are left alone, and those of others are pruned.", now: night(4).Add(time.Hour),
			change: func(v *view) { kept(1, 4)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
			made: []*snapshot{
				of("a", 1, taken), of("a", 2, taken), of("a", 3, unseen), of("a", 4, unseen), of("b", 1, taken), of("b", 2, taken),
			}, remove: []string{"b1"},
		},
		"UnseenKept": {
			reason: "Snapshots that cannot be seen have nothing removed in their place.", now: night(4).Add(time.Hour),
			change: func(v *view) { kept(2, 4)(v); v.uuids = map[string]string{"a": "new"} },
			made:   []*snapshot{of("a", 1, taken), of("a", 2, taken), former(of("a", 3, unseen))},
		},
		"Offline": {
			reason: "Removals that wait for a node hold up no other Machine.", now: night(2).Add(time.Hour), take: []string{"b"},
			change: func(v *view) {
				running(2)(v)
				v.spec.MaxConcurrent, v.offline = ptr.To(int32(1)), map[string]string{"a": "NodeOffline: pve2"}
			},
			made: []*snapshot{of("a", 1, deleting)}, problem: "a: NodeOffline: pve2",
		},
		"TaskOffline": {
			reason: "A Snapshot whose task is on a node that is offline holds up no other Machine, wherever its VM is.",
			now:    night(1).Add(time.Minute), take: []string{"b"}, made: []*snapshot{offline(of("a", 1, waiting))},
			change: func(v *view) { running(1)(v); attempted(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
		},
		"RemovalOffline": {
			reason: "A removal that waits for another node than that of the VM holds up no other Machine.",
			now:    night(2).Add(time.Hour), take: []string{"b"}, made: []*snapshot{offline(of("a", 1, deleting))},
			change: func(v *view) { running(2)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) }, problem: "a: Locked: it is",
		},
		"RemovalOfflinePruned": {
			reason: "Snapshots are pruned while the removal of another waits for a node.", now: night(4).Add(time.Hour),
			change: func(v *view) { kept(1, 4)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
			made:   []*snapshot{offline(of("a", 1, deleting)), of("b", 1, taken), of("b", 2, taken)}, remove: []string{"b1"},
		},
		"FormerOffline": {
			reason: "A removal from a former VM that waits for a node takes no place.", now: night(2).Add(time.Hour), take: []string{"b"},
			change: func(v *view) {
				running(2)(v)
				v.spec.MaxConcurrent, v.uuids = ptr.To(int32(1)), map[string]string{"a": "new"}
			},
			made: []*snapshot{former(offline(of("a", 1, deleting)))},
		},
		"FormerVM": {
			reason: "A former VM that cannot be reached says nothing about the present one.", now: night(2), take: []string{"a", "b"},
			change: func(v *view) { lastRun(1)(v); v.uuids = map[string]string{"a": "new"} }, made: []*snapshot{former(of("a", 1, unseen))},
		},
		"HeldUp": {
			reason: "Machines tell for what they wait once no place becomes free.", now: night(2).Add(3 * time.Hour),
			change:  func(v *view) { running(2)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
			made:    []*snapshot{since(of("a", 1, deleting), night(2))},
			problem: "b: all places of maxConcurrent, 1, are taken since more than an hour: see the Snapshots p-a-",
		},
		"InTurn": {
			reason: "Machines wait in silence while others have their turn.", now: night(2).Add(time.Minute),
			change: func(v *view) { running(2)(v); v.spec.MaxConcurrent = ptr.To(int32(1)) },
			made:   []*snapshot{since(of("a", 1, deleting), night(2))},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, tc.now, tc.made)
			if tc.change != nil {
				tc.change(v)
			}
			plan := v.decide()
			var remove []string
			for _, s := range plan.remove {
				remove = append(remove, s.machine+s.run.Format("2"))
			}
			if diff := cmp.Diff([][]string{tc.take, tc.remove}, [][]string{plan.take, remove}); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
			checkTold(t, tc.reason, tc.problem, tc.events, plan)
		})
	}
}

// TestDifference checks that the status names the snapshots that a retention removes, even if nothing may be removed or taken. That is how users try
// a retention.
func TestDifference(t *testing.T) {
	nights := func(machine string, n int) []*snapshot {
		var all []*snapshot
		for i := range n {
			all = append(all, of(machine, i+1, taken))
		}
		return all
	}
	cases := map[string]struct {
		reason string
		made   []*snapshot
		change func(*view)
		want   []v1alpha1.OptionDifference
		count  int
		next   bool
	}{
		"Observed": {
			reason: "What would be removed is named, and the next run is shown.", made: nights("a", 3), count: 2, next: true,
			change: func(v *view) { v.takes, v.removes = false, false },
			want: []v1alpha1.OptionDifference{
				{Option: nights("a", 1)[0].name, Current: "a at " + stamp(night(1))}, {Option: nights("a", 2)[1].name, Current: "a at " + stamp(night(2))},
			},
		},
		"Removed": {
			reason: "A Snapshot that is to be removed is named, one at a time.", made: nights("a", 2), count: 1, next: true,
			want: []v1alpha1.OptionDifference{{Option: nights("a", 1)[0].name, Current: "a at " + stamp(night(1))}},
		},
		"Suspended": {reason: "A policy that is suspended removes nothing.", made: nights("a", 3), change: func(v *view) { v.spec.Suspend = ptr.To(true) }},
		"Kept":      {reason: "What is kept is no difference.", made: nights("a", 1), next: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, night(4).Add(time.Hour), tc.made)
			kept(1, 4)(v)
			if tc.change != nil {
				tc.change(v)
			}
			plan := v.decide()
			if diff := cmp.Diff(tc.want, plan.next.Difference); diff != "" || len(plan.surplus) != tc.count {
				t.Errorf("%s %d to be removed, -want, +got:\n%s", tc.reason, len(plan.surplus), diff)
			}
			if next := plan.next.NextScheduleTime != nil; next != tc.next || plan.next.ActiveRun != nil {
				t.Errorf("%s next run %v, the run that goes on %v", tc.reason, plan.next.NextScheduleTime, plan.next.ActiveRun)
			}
		})
	}
	many := viewOf(t, night(4).Add(time.Hour), nights("a", 3*different))
	kept(1, 4)(many)
	if plan := many.decide(); len(plan.next.Difference) != different || len(plan.surplus) <= different {
		t.Errorf("the difference is bounded: got %d of %d", len(plan.next.Difference), len(plan.surplus))
	}
}

// viewOf returns a view of two Machines at a time.
func viewOf(t *testing.T, now time.Time, made []*snapshot) *view {
	t.Helper()
	p := newPlay(t, 0, nightly())
	p.now = now
	v := p.view()
	v.machines = []machine{{name: "a", created: p.created, hasVM: true}, {name: "b", created: p.created, hasVM: true}}
	v.snapshots = made
	return v
}

func checkTold(t *testing.T, reason, problem string, events []string, plan *plan) {
	t.Helper()
	var problems []string
	for _, p := range plan.problems {
		problems = append(problems, p.Message)
	}
	if got := strings.Join(problems, "\n"); !strings.Contains(got, problem) || problem == "" && got != "" {
		t.Errorf("%s want the problem %q, got %q", reason, problem, got)
	}
	if len(plan.events) != len(events) {
		t.Fatalf("%s want %d events, got %v", reason, len(events), plan.events)
	}
	for i, e := range plan.events {
		if !strings.Contains(e.Message, events[i]) {
			t.Errorf("%s want the event %q, got %q", reason, events[i], e.Message)
		}
	}
}

// attempted makes the Snapshot of Machine a begin with its run.
func attempted(v *view) {
	v.status.MachineStatuses = []v1alpha1.SnapshotPolicyMachineStatus{{Name: "a", AttemptTime: metaTime(night(1)), LastScheduleTime: metaTime(night(1))}}
}

// running makes the run of a night active.
func running(n int) func(*view) {
	return func(v *view) {
		v.status.ActiveRun, v.status.LastScheduleTime, v.status.ScheduledUntil = metaTime(night(n)), metaTime(night(n)), metaTime(night(n))
	}
}

// kept makes the retention keep a number of snapshots after the run of a night.
func kept(last int32, n int) func(*view) {
	return func(v *view) {
		v.status.LastScheduleTime = metaTime(night(n))
		v.spec.Retention = &v1alpha1.SnapshotRetention{Last: ptr.To(last)}
	}
}

// lastRun makes the run of a night the last one, which is complete.
func lastRun(n int) func(*view) {
	return func(v *view) {
		v.status.LastScheduleTime, v.status.ScheduledUntil = metaTime(night(n)), metaTime(night(n))
	}
}

// former returns a snapshot of a VM that a Machine had before.
func former(s *snapshot) *snapshot {
	s.vm = "old"
	return s
}

// offline returns a snapshot that waits for a node.
func offline(s *snapshot) *snapshot {
	s.offline = true
	return s
}

func since(s *snapshot, at time.Time) *snapshot {
	s.since = at
	return s
}

func retained(s *snapshot) *snapshot {
	s.retained = true
	return s
}

// TestRetry checks that Machines that failed wait longer each time, and let others go first.
func TestRetry(t *testing.T) {
	p := newPlay(t, 2, nightly())
	p.spec.MaxConcurrent = ptr.To(int32(1))
	p.refuses["m000"] = true
	p.now = night(1)
	if plan := p.step(); !slices.Equal(plan.take, []string{"m000"}) {
		t.Fatalf("want the first one, got %v", plan.take)
	}
	attempts := 0
	for end := p.now.Add(6 * time.Hour); p.now.Before(end); p.now = p.now.Add(time.Minute) {
		if slices.Contains(p.step().take, "m000") {
			attempts++
		}
	}
	if len(p.made) != 1 || attempts < 4 || attempts > 10 {
		t.Errorf("want a snapshot of the other one, got %v, and some attempts, got %d", p.made, attempts)
	}
	p.now = night(2)
	if plan := p.step(); !strings.Contains(plan.problems[0].Message, "m000: missed the run at 2026-01-01T01:30:00Z: Locked") {
		t.Errorf("want to be told of what was missed, got %v", plan.problems)
	}
	p.refuses = nil
	p.until(night(2).Add(time.Hour), time.Minute)
	if plan := p.step(); len(plan.problems) != 0 || plan.next.ActiveRun != nil {
		t.Errorf("want all to be well, got %v", plan.problems)
	}
}
