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
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A clock that stands until it is set.
type clock struct{ time time.Time }

func newClock() *clock                { return &clock{time: time.Unix(1_800_000_000, 0)} }
func (c *clock) now() time.Time       { return c.time }
func (c *clock) wait(d time.Duration) { c.time = c.time.Add(d) }
func taskOf(u proxmox.UPID) proxmox.Task {
	return proxmox.Task{UPID: u, Type: "qmstart", ExitStatus: "boom"}
}

func resourceOf(uid types.UID, generation int64) Machine {
	return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}}
}

func TestTasksHold(t *testing.T) {
	c := newClock()
	tasks := newTasks(c.now)
	m, boom := resourceOf("a", 1), errors.New("boom")

	if tasks.backoffReason(m) != nil {
		t.Fatal("A Machine without a task is held back")
	}
	for failures, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second, 128 * time.Second, 256 * time.Second, 5 * time.Minute, 5 * time.Minute} {
		tasks.started(m, "u")
		if tasks.backoffReason(m) != nil {
			t.Fatal("A task that runs holds back itself")
		}
		tasks.ended(m, taskOf("u"), boom)
		c.wait(want - time.Millisecond)
		if err := tasks.backoffReason(m); !errors.Is(err, boom) {
			t.Errorf("After %d failures the next attempt is not held back for %v: %v", failures+1, want, err)
		}
		c.wait(want/4 + 2*time.Millisecond)
		if err := tasks.backoffReason(m); err != nil {
			t.Errorf("After %d failures the next attempt is held back for longer than %v and a quarter", failures+1, want)
		}
	}
	for range 100 { // The delay stays within bounds however many failures there are.
		tasks.started(m, "u")
		tasks.ended(m, taskOf("u"), boom)
	}
	c.wait(5*time.Minute + 5*time.Minute/4 + time.Millisecond)
	if err := tasks.backoffReason(m); !errors.Is(err, boom) {
		t.Errorf("A failure that nobody was told of is not told: %v", err)
	}
	if tasks.backoffReason(m) != nil {
		t.Error("After very many failures the next attempt is held back for longer than the longest delay")
	}

	tasks.started(m, "u")
	tasks.ended(m, proxmox.Task{UPID: "u", ExitStatus: "OK"}, nil)
	tasks.started(m, "v")
	tasks.ended(m, taskOf("v"), boom)
	if tasks.backoffReason(m) == nil {
		t.Error("A failure after a success holds nothing back")
	}
	c.wait(2*time.Second + 500*time.Millisecond + time.Millisecond)
	if tasks.backoffReason(m) != nil {
		t.Error("A success does not make the delay short again")
	}
}

func TestTasksTell(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason string
		happen func(*tasks, Machine)
		told   bool // Whether the next round is.
	}{
		"Failed": {
			reason: "A task that failed is told of, however late anybody asks.",
			happen: func(t *tasks, m Machine) {
				t.started(m, "u")
				t.ended(m, taskOf("u"), boom)
			},
			told: true,
		},
		"FailedAgain": {
			reason: "A second failure is told of like the first.",
			happen: func(t *tasks, m Machine) {
				for range 2 {
					t.started(m, "u")
					t.ended(m, taskOf("u"), boom)
					_ = t.backoffReason(m)
				}
				t.started(m, "u")
				t.ended(m, taskOf("u"), boom)
			},
			told: true,
		},
		"Refused": {
			reason: "Conditions that tell of a refusal are set by the next look.",
			happen: func(t *tasks, m Machine) { t.refused(m, boom) },
			told:   true,
		},
		"Succeeded": {
			reason: "There is nothing to tell of a task that went well.",
			happen: func(t *tasks, m Machine) {
				t.started(m, "u")
				t.ended(m, taskOf("u"), boom)
				t.started(m, "v")
				t.ended(m, taskOf("v"), nil)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			tasks, m := newTasks(c.now), resourceOf("a", 1)
			tc.happen(tasks, m)
			c.wait(time.Hour)
			if err := tasks.backoffReason(m); errors.Is(err, boom) != tc.told {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			if err := tasks.backoffReason(m); err != nil {
				t.Errorf("What was told long ago holds back: %v", err)
			}
		})
	}
}

// The list of tasks may tell of a failure before whoever follows the task does: it
// holds back the next attempt all the same, and counts once.
func TestTasksFailedInTheList(t *testing.T) {
	c := newClock()
	tasks, m := newTasks(c.now), resourceOf("1", 1)
	tasks.started(m, "u")
	c.wait(2 * visibleWithin)
	failed := proxmox.Task{UPID: "u", Type: "qmcreate", ExitStatus: "storage is full"}
	if tasks.running(m, []proxmox.Task{failed}) {
		t.Error("A task that has failed does not run")
	}
	if err := tasks.backoffReason(m); err == nil || !strings.Contains(err.Error(), "storage is full") {
		t.Errorf("A failure that is listed holds nothing back: %v", err)
	}
	tasks.ended(m, failed, failed.Err("a line of its log"))
	c.wait(firstRetry + firstRetry/4 + time.Millisecond)
	if err := tasks.backoffReason(m); err != nil {
		t.Errorf("A failure that was told of twice counts twice: %v", err)
	}
}

func TestTasksHoldForSpec(t *testing.T) {
	tasks := newTasks(newClock().now)
	boom := errors.New("boom")
	tasks.started(resourceOf("a", 1), "u")
	tasks.ended(resourceOf("a", 1), taskOf("u"), boom)
	if tasks.backoffReason(resourceOf("a", 2)) != nil {
		t.Error("A changed spec is held back for the failure of the one before")
	}
	if tasks.backoffReason(resourceOf("b", 1)) != nil {
		t.Error("A Machine is held back for the failure of another")
	}
	if err := tasks.backoffReason(resourceOf("a", 1)); err == nil || strings.Count(err.Error(), "failed") > 1 {
		t.Errorf("Want the reason once, got %v", err)
	}
	tasks.forget(resourceOf("a", 1))
	if tasks.backoffReason(resourceOf("a", 1)) != nil {
		t.Error("What was forgotten holds back")
	}
}

func TestTasksEnd(t *testing.T) {
	c := newClock()
	tasks := newTasks(c.now)
	m := resourceOf("a", 1)
	tasks.started(m, "u")
	if !tasks.running(m, nil) {
		t.Error("A task that was just started does not run, although the list need not have it yet")
	}
	tasks.started(m, "v")
	tasks.ended(m, taskOf("u"), errors.New("late"))
	if !tasks.running(m, nil) || tasks.backoffReason(m) != nil {
		t.Error("The end of an earlier task ends the one that runs")
	}
	tasks.ended(m, proxmox.Task{UPID: "v", Type: "qmstart", ExitStatus: "OK"}, nil)
	if tasks.running(m, nil) {
		t.Error("A task that ended runs")
	}
	if last, ok := tasks.last(m); !ok || last.UPID != "v" {
		t.Errorf("The last task is %v", last)
	}
	if _, ok := tasks.last(resourceOf("b", 1)); ok {
		t.Error("A Machine without tasks has a last one")
	}
}

func TestTasksWithoutEnd(t *testing.T) {
	c := newClock()
	tasks := newTasks(c.now)
	m := resourceOf("a", 1)
	tasks.started(m, "u")
	c.wait(time.Hour)
	if !tasks.running(m, []proxmox.Task{{UPID: "u", Running: true}}) {
		t.Error("A long task that PVE lists as running does not run")
	}
	if tasks.running(m, []proxmox.Task{{UPID: "u"}}) || tasks.running(m, nil) {
		t.Error("A task whose end nobody told about, and that PVE does not list as running, runs for ever")
	}
}

// The VM was read as it was before the task: what the task has done must not be done once more.
func TestTaskThatEndsWhileTheVMIsLookedAt(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	b.on["Status"] = func() { b.end(t, upid("pve1", "qmstart", 10000), "OK") }
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Start 10000"}, b.writes); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
}

// TestSend has changes of options made, some of which do not hold.
func TestSend(t *testing.T) {
	a := qemu.Difference{Set: proxmox.Params{"machine": "q35"}}
	both := qemu.Difference{Set: proxmox.Params{"machine": "q35", "onboot": "1"}, Delete: []string{"tags"}}
	other := qemu.Difference{Set: proxmox.Params{"machine": "pc"}}
	cases := map[string]struct {
		reason string
		do     func(*tasks, Machine)
		ask    qemu.Difference
		held   bool
		times  int // in a row, if it is made now
	}{
		"New":     {reason: "What was not made is not held back.", do: func(*tasks, Machine) {}, ask: a, times: 1},
		"Same":    {reason: "What was just made is.", do: func(k *tasks, m Machine) { k.send(m, a) }, ask: a, held: true, times: 2},
		"Part":    {reason: "So is what is left of it.", do: func(k *tasks, m Machine) { k.send(m, both) }, ask: a, held: true, times: 2},
		"More":    {reason: "More than it is not.", do: func(k *tasks, m Machine) { k.send(m, a) }, ask: both, times: 1},
		"Removal": {reason: "A removal that is left counts too.", do: func(k *tasks, m Machine) { k.send(m, both) }, ask: qemu.Difference{Delete: []string{"tags"}}, held: true, times: 2},
		"Other":   {reason: "Nor is another value.", do: func(k *tasks, m Machine) { k.send(m, a) }, ask: other, times: 1},
		"Held":    {reason: "What was seen to hold is made at once if it was undone.", do: func(k *tasks, m Machine) { k.send(m, a); k.kept(m, true) }, ask: a, times: 1},
		"Assumed": {reason: "So is what was taken to hold, but how often is counted.", do: func(k *tasks, m Machine) { k.send(m, a); k.kept(m, false) }, ask: a, times: 2},
		"Nothing": {reason: "Nothing is never held back.", do: func(k *tasks, m Machine) { k.send(m, a) }, ask: qemu.Difference{}, times: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, m := newTasks(newClock().now), resourceOf("a", 1)
			tc.do(k, m)
			if got := k.sent(m, tc.ask); got != tc.held {
				t.Errorf("%s\nwant it held back %t, got %t", tc.reason, tc.held, got)
			}
			if got := k.send(m, tc.ask); got != tc.times {
				t.Errorf("%s\nwant it made %d times in a row, got %d", tc.reason, tc.times, got)
			}
		})
	}
}

// The task of a Machine may end after the Machine: when its VM stays, say.
func TestEndedAfterMachine(t *testing.T) {
	c := newClock()
	tasks, m := newTasks(c.now), resourceOf("a", 1)
	tasks.started(m, "u")
	tasks.forget(m)
	if tasks.ended(m, taskOf("u"), nil); tasks.records.Len() != 0 {
		t.Errorf("want nothing remembered of a Machine that is gone, got %d", tasks.records.Len())
	}
}
