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

package backup

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestDecide(t *testing.T) {
	const now = 1_700_000_000
	volume := &proxmox.Volume{ID: "nas:backup/x", Changed: now - 100}
	other := &proxmox.Volume{ID: "nas:backup/x", Changed: now - 99}
	running, ok, failed := &proxmox.Task{Running: true}, &proxmox.Task{ExitStatus: "OK"}, &proxmox.Task{ExitStatus: "job errors"}
	begun := record{Begun: now - 100}
	tasked, lost, done := begun, begun, begun
	tasked.Task, lost.Begun = "x", now-1
	done.Done, done.Volume, done.Time = true, volume.ID, volume.Changed
	isGone, resting := done, record{Failures: kind.Failures{Count: 1, FailedAt: now - 1, Generation: 1, Problem: "StorageFull", Message: "full"}}
	isGone.Gone = true
	cases := map[string]struct {
		reason  string
		record  record
		seen    state
		want    action
		problem xpv2.ConditionReason
	}{
		"New":        {reason: "What is not there is made.", want: start},
		"Named":      {reason: "What the user has named is adopted.", seen: state{volume: volume, named: true}, want: adopt},
		"NamedNone":  {reason: "What is named and not there is never made.", seen: state{named: true}, want: stuck, problem: target.ReasonNotFound},
		"Resting":    {reason: "A failure is told, and tried again later.", record: resting, want: wait, problem: target.ReasonStorageFull},
		"Running":    {reason: "The task is waited for.", record: tasked, seen: state{task: running}, want: wait, problem: target.ReasonCreating},
		"Made":       {reason: "What the task has made is noted.", record: tasked, seen: state{volume: volume, task: ok}, want: settle},
		"MadeFailed": {reason: "A task may fail after it has made the backup.", record: tasked, seen: state{volume: volume, task: failed}, want: settle},
		"MadeGone":   {reason: "What was removed at once is gone.", record: tasked, seen: state{task: ok}, want: lose},
		"Failed":     {reason: "A failure is noted.", record: tasked, seen: state{task: failed}, want: fail},
		"NoTask":     {reason: "A task that PVE does not know is forgotten.", record: tasked, want: forget},
		"LostTask":   {reason: "The task with the mark is ours.", record: begun, seen: state{found: running}, want: claim},
		"LostMade":   {reason: "The backup with the mark is ours.", record: begun, seen: state{volume: volume}, want: settle},
		"LostBusy": {
			reason: "While a task does not tell what it makes, it may be ours.",
			record: begun, seen: state{unclear: true}, want: wait, problem: target.ReasonCreating,
		},
		"LostLong": {
			reason: "A call may have taken all the time that it has.", record: record{Begun: now - 35}, want: wait, problem: target.ReasonCreating,
		},
		"LostNow":  {reason: "A call may show late.", record: lost, want: wait, problem: target.ReasonCreating},
		"LostGone": {reason: "A call that never shows is made again.", record: begun, want: start},
		"Kept":     {reason: "What is there is kept.", record: done, seen: state{volume: volume}, want: keep},
		"Removed":  {reason: "What is not there any more is noted.", record: done, want: lose},
		"Gone":     {reason: "What is gone is not made again.", record: isGone, want: stuck, problem: target.ReasonGone},
		"Back":     {reason: "What is back is noted.", record: isGone, seen: state{volume: volume}, want: settle},
		"Replaced": {
			reason: "One of another time is another.",
			record: done, seen: state{volume: other}, want: stuck, problem: kind.ReasonAlreadyExists,
		},
		"Looks":     {reason: "What is there is looked at.", seen: state{volume: volume, looks: true}, want: keep},
		"LooksNone": {reason: "What is not there cannot be looked at.", seen: state{looks: true}, want: start, problem: target.ReasonNotFound},
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

// TestMarked checks that the mark of one resource is not that of another whose UID has the same beginning.
func TestMarked(t *testing.T) {
	m := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{UID: "1234"}}
	for text, want := range map[string]bool{
		"provider-proxmox: 1234": true, "--notes-template 'a\\nprovider-proxmox: 1234' --storage x": true, "a\nprovider-proxmox: 1234\n": true,
		"provider-proxmox: 12345": false, "provider-proxmox: 123": false, "1234": false, "": false,
	} {
		if got := marked(text, m); got != want {
			t.Errorf("marked(%q): got %t", text, got)
		}
	}
}

func TestMayBe(t *testing.T) {
	const tried proxmox.UPID = "UPID:pve1:00000EF8:000629DA:6B00B985:vzdump:100:tester@pve!full:"
	r := record{Tried: tried}
	for reason, tc := range map[string]struct {
		task proxmox.Task
		want bool
	}{
		"The one that was tried is another.": {proxmox.Task{UPID: tried, Start: tried.Start()}, false},
		"So is an older one.":                {proxmox.Task{UPID: "x", Start: tried.Start().Add(-time.Second)}, false},
		"A later one may be it.":             {proxmox.Task{UPID: "x", Start: tried.Start().Add(time.Second)}, true},
	} {
		if got := r.mayBe(tc.task); got != tc.want {
			t.Errorf("%s got %t", reason, got)
		}
	}
}
