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

package snapshot

import (
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestDerivedName(t *testing.T) {
	long := strings.Repeat("a", 40)
	cases := map[string]struct {
		reason, resource, want string
	}{
		"Same":     {reason: "A name that PVE takes stays.", resource: "before-upgrade", want: "before-upgrade"},
		"Longest":  {reason: "The longest name that PVE takes stays.", resource: long, want: long},
		"Dots":     {reason: "Dots become hyphens, and the hash tells it from a name with hyphens.", resource: "a.b", want: "a-b-" + hashOf("a.b")},
		"Digit":    {reason: "A digit cannot be the first.", resource: "2026", want: "s-2026-" + hashOf("2026")},
		"Short":    {reason: "One letter is not enough.", resource: "a", want: "a-" + hashOf("a")},
		"Reserved": {reason: "What PVE reserves is not taken.", resource: "current", want: "current-" + hashOf("current")},
		"Pending":  {reason: "What PVE reserves is not taken.", resource: "pending", want: "pending-" + hashOf("pending")},
		"Long":     {reason: "A long one is cut.", resource: long + "b", want: long[:31] + "-" + hashOf(long+"b")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := derivedName(tc.resource)
			if got != tc.want || !validName(got) {
				t.Errorf("\n%s\nderivedName(%q): got %q, want %q", tc.reason, tc.resource, got, tc.want)
			}
		})
	}
}

// hashOf returns the shortened output of sha256sum for a name.
func hashOf(name string) string {
	return map[string]string{
		"a.b": "2e7336dc", "2026": "158a323a", "a": "ca978112", "current": "97b05602", "pending": "62a2fed3",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab": "e2088575",
	}[name]
}

func TestDecide(t *testing.T) {
	const now = 1_700_000_000
	at := time.Unix(now-100, 0)
	whole := &proxmox.Snapshot{Name: "s1", Time: at}
	half := &proxmox.Snapshot{Name: "s1", Time: at, State: statePrepare}
	ours := []proxmox.Task{{UPID: "x"}}
	running, ok, failed := &proxmox.Task{Running: true}, &proxmox.Task{ExitStatus: "OK"}, &proxmox.Task{ExitStatus: "no"}
	begun := record{SnapshotState: kind.SnapshotState{Begun: now - 100}, Name: "s1"}
	tasked, done, lost := begun, begun, begun
	tasked.Task, done.Done, done.Time = "x", true, at.Unix()
	lost.Begun = now - 1
	again, given := tasked, record{Name: "s1", Lost: true}
	again.Lost = true
	late := []proxmox.Task{{UPID: "y", ExitStatus: "OK", Start: at, End: at.Add(time.Second)}}
	isGone, resting := done, record{Failures: kind.Failures{Count: 1, FailedAt: now - 1, Generation: 1, Problem: "StorageFull", Message: "full"}}
	isGone.Gone = true
	cases := map[string]struct {
		reason  string
		record  record
		seen    state
		want    action
		problem xpv2.ConditionReason
	}{
		"New":       {reason: "What is not there is taken.", want: start},
		"Foreign":   {reason: "What was there before is left alone.", seen: state{entry: whole}, want: stuck, problem: kind.ReasonAlreadyExists},
		"Named":     {reason: "What the user has named is adopted.", seen: state{entry: whole, named: true}, want: adopt},
		"NamedHalf": {reason: "What is not whole is not adopted.", seen: state{entry: half, named: true}, want: stuck, problem: reasonIncomplete},
		"Resting":   {reason: "A failure is told, and tried again later.", record: resting, want: wait, problem: target.ReasonStorageFull},
		"Running": {
			reason: "The task is waited for.",
			record: tasked, seen: state{entry: half, task: running}, want: wait, problem: target.ReasonCreating,
		},
		"Taken":        {reason: "What the task has taken is noted.", record: tasked, seen: state{entry: whole, task: ok}, want: settle},
		"TakenAndGone": {reason: "What was removed at once is gone.", record: tasked, seen: state{task: ok}, want: lose},
		"Failed":       {reason: "A failure is noted.", record: tasked, seen: state{task: failed}, want: fail},
		"FailedHalf": {
			reason: "A failure that leaves something is not one that leaves nothing.",
			record: tasked, seen: state{entry: half, task: failed}, want: forget,
		},
		"UnknownTask":  {reason: "A task that PVE does not know is forgotten.", record: tasked, seen: state{entry: whole}, want: forget},
		"LostFound":    {reason: "What our task has taken is ours.", record: begun, seen: state{entry: whole, others: ours}, want: settle},
		"LostToOthers": {reason: "A snapshot without a task of ours is somebody else's.", record: begun, seen: state{entry: whole}, want: fail},
		"LostDifferent": {
			reason: "What is not as intended is somebody else's.",
			record: begun, seen: state{entry: &proxmox.Snapshot{Name: "s1", Description: "x"}, others: ours}, want: fail,
		},
		"LostMemory": {
			reason: "Memory that was not asked for is somebody else's.",
			record: begun, seen: state{entry: &proxmox.Snapshot{Name: "s1", Memory: true}, others: ours}, want: fail,
		},
		"LostHalf": {
			reason: "What was killed half-way is told.",
			record: begun, seen: state{entry: half, others: ours}, want: stuck, problem: reasonIncomplete,
		},
		"LostBusy": {
			reason: "While a task works on the VM it may be ours.",
			record: begun, seen: state{busy: true}, want: wait, problem: target.ReasonCreating,
		},
		"LostJustNow": {reason: "A call may show late.", record: lost, want: wait, problem: target.ReasonCreating},
		"LostLong": {
			reason: "A call may have taken all the time that it has.",
			record: record{SnapshotState: kind.SnapshotState{Begun: now - 35}}, want: wait, problem: target.ReasonCreating,
		},
		"Late": {
			reason: "What a call has taken whose answer was lost is ours, though the one after it has failed.",
			record: again, seen: state{entry: whole, task: failed, others: late}, want: settle,
		},
		"LateThere": {
			reason: "A snapshot that a call has taken whose answer was lost is ours before another attempt.",
			record: given, seen: state{entry: whole, others: late}, want: settle,
		},
		"LateUnderWay": {
			reason: "A snapshot that is being taken may be that of a call whose answer was lost.",
			record: given, seen: state{entry: half, others: late, busy: true}, want: wait, problem: target.ReasonCreating,
		},
		"LateOthers": {
			reason: "What no task of ours was at is somebody else's.",
			record: given, seen: state{entry: whole}, want: stuck, problem: kind.ReasonAlreadyExists,
		},
		"LateElsewhen": {
			reason: "What was taken at another time than that of our task is somebody else's.",
			record: given, seen: state{entry: whole, others: []proxmox.Task{{UPID: "y", ExitStatus: "OK", Start: at.Add(time.Second), End: at.Add(time.Minute)}}},
			want: stuck, problem: kind.ReasonAlreadyExists,
		},
		"LateFailed": {
			reason: "Our task that has failed has taken nothing.",
			record: again, seen: state{entry: whole, task: failed, others: []proxmox.Task{{UPID: "x", ExitStatus: "OK", Start: at, End: at}}}, want: fail,
		},
		"NotLost": {
			reason: "A task fails because of a snapshot of somebody else if no answer was lost.",
			record: tasked, seen: state{entry: whole, task: failed, others: late}, want: fail,
		},
		"LostForGood": {reason: "A call that never shows is made again.", record: begun, want: start},
		"Kept":        {reason: "What is there is kept.", record: done, seen: state{entry: whole}, want: keep},
		"Removed":     {reason: "What is not there any more is noted.", record: done, want: lose},
		"Gone":        {reason: "What is gone is not taken again.", record: isGone, want: stuck, problem: target.ReasonGone},
		"Back":        {reason: "What is back is noted.", record: isGone, seen: state{entry: whole}, want: settle},
		"Replaced": {
			reason: "One of another time is another.",
			record: done, seen: state{entry: &proxmox.Snapshot{Name: "s1", Time: at.Add(time.Second)}}, want: stuck, problem: kind.ReasonAlreadyExists,
		},
		"RemovedHalf": {
			reason: "A removal that was killed is told.",
			record: done, seen: state{entry: &proxmox.Snapshot{Name: "s1", Time: at, State: stateDelete}}, want: stuck, problem: reasonIncomplete,
		},
		"OnlyLooks":           {reason: "What is there is looked at.", seen: state{entry: whole, looks: true}, want: keep},
		"OnlyLooksNone":       {reason: "What is not there cannot be looked at.", seen: state{looks: true}, want: start, problem: target.ReasonNotFound},
		"OnlyLooksIncomplete": {reason: "What is not whole is told.", seen: state{entry: half, looks: true}, want: stuck, problem: reasonIncomplete},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.record.decide(tc.seen, now, 1)
			var problem xpv2.ConditionReason
			if got.problem != nil {
				problem = got.problem.Reason
			}
			if got.action != tc.want || problem != tc.problem {
				t.Errorf("\n%s\ndecide(): got %d and %q, want %d and %q", tc.reason, got.action, problem, tc.want, tc.problem)
			}
		})
	}
}

// TestForgetLost checks that a call whose answer was lost is waited for as long as it may take the snapshot, and not forever.
func TestForgetLost(t *testing.T) {
	const now = 1_700_000_000
	at := time.Unix(now-100, 0)
	whole := &proxmox.Snapshot{Name: "s1", Time: at}
	ours := []proxmox.Task{{UPID: "y", ExitStatus: "OK", Start: at, End: at.Add(time.Second)}}
	lost := record{Name: "s1", Lost: true, LostAt: now - target.Arrival - 1}
	recent, begun, tasked, done, never := lost, lost, lost, lost, lost
	recent.LostAt, begun.Begun, tasked.Task, done.Done, never.Lost = now-target.Arrival, now-1000, "x", true, false
	for name, tc := range map[string]struct {
		reason string
		record record
		seen   state
		want   bool
	}{
		"Refused": {reason: "Nothing takes it any more.", record: lost, want: true},
		"Others":  {reason: "Somebody else has taken it.", record: lost, seen: state{entry: whole}, want: true},
		"Late":    {reason: "An earlier call has taken it.", record: lost, seen: state{entry: whole, others: ours}},
		"Busy":    {reason: "A task works on the VM.", record: lost, seen: state{busy: true}},
		"Recent":  {reason: "The last call may show yet.", record: recent},
		"Begun":   {reason: "The last call has no answer either.", record: begun},
		"Tasked":  {reason: "The last call has a task.", record: tasked},
		"Done":    {reason: "The snapshot is taken.", record: done},
		"Looks":   {reason: "A resource that only looks notes nothing.", record: lost, seen: state{looks: true}},
		"Never":   {reason: "No answer was lost.", record: never},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.record.forgetLost(tc.seen, now); got != tc.want || got && tc.record.made() {
				t.Errorf("%s forgetLost(): %t, %+v", tc.reason, got, tc.record)
			}
		})
	}
}

// TestIncomplete checks that a snapshot whose task was killed is reported with commands as a remedy, and that one in progress is not.
func TestIncomplete(t *testing.T) {
	r := record{VMID: 500}
	half := proxmox.Snapshot{Name: "s1", State: stateDelete}
	got := r.incomplete(state{entry: &half}).Message
	if !strings.Contains(got, "not removed to the end") || !strings.Contains(got, `"qm delsnapshot 500 s1 --force"`) {
		t.Errorf("got %q", got)
	}
	if got := r.incomplete(state{entry: &half, busy: true}).Message; got != "the snapshot is being removed" {
		t.Errorf("got %q", got)
	}
}
