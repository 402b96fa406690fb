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

package tasktrack

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A testClock stands still until it is set.
type testClock struct{ time time.Time }

func newTestClock() *testClock { return &testClock{time: time.Unix(1_800_000_000, 0)} }

func (c *testClock) now() time.Time { return c.time }

func (c *testClock) wait(d time.Duration) { c.time = c.time.Add(d) }

func objectOf(uid types.UID, generation int64) Object {
	return &metav1.ObjectMeta{UID: uid, Generation: generation}
}

func taskOf(u proxmox.UPID) proxmox.Task {
	return proxmox.Task{UPID: u, Type: "qmstart", ExitStatus: "boom"}
}

func TestTasksHold(t *testing.T) {
	c := newTestClock()
	tasks := New(c.now)
	m, boom := objectOf("a", 1), errors.New("boom")

	if tasks.BackoffReason(m) != nil {
		t.Fatal("A Machine without a task is held back")
	}
	for failures, want := range []time.Duration{
		2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second, 128 * time.Second,
		256 * time.Second, 5 * time.Minute, 5 * time.Minute,
	} {
		tasks.Started(m, "u")
		if tasks.BackoffReason(m) != nil {
			t.Fatal("A task that runs holds back itself")
		}
		tasks.Ended(m, taskOf("u"), boom)
		c.wait(want - time.Millisecond)
		if err := tasks.BackoffReason(m); !errors.Is(err, boom) {
			t.Errorf("After %d failures the next attempt is not held back for %v: %v", failures+1, want, err)
		}
		c.wait(want/4 + 2*time.Millisecond)
		if err := tasks.BackoffReason(m); err != nil {
			t.Errorf("After %d failures the next attempt is held back for longer than %v and a quarter", failures+1, want)
		}
	}
	for range 100 { // The delay is limited, however many failures there are.
		tasks.Started(m, "u")
		tasks.Ended(m, taskOf("u"), boom)
	}
	c.wait(5*time.Minute + 5*time.Minute/4 + time.Millisecond)
	if err := tasks.BackoffReason(m); !errors.Is(err, boom) {
		t.Errorf("A failure that nobody was told of is not told: %v", err)
	}
	if tasks.BackoffReason(m) != nil {
		t.Error("After very many failures the next attempt is held back for longer than the longest delay")
	}

	tasks.Started(m, "u")
	tasks.Ended(m, proxmox.Task{UPID: "u", ExitStatus: "OK"}, nil)
	tasks.Started(m, "v")
	tasks.Ended(m, taskOf("v"), boom)
	if tasks.BackoffReason(m) == nil {
		t.Error("A failure after a success holds nothing back")
	}
	c.wait(2*time.Second + 500*time.Millisecond + time.Millisecond)
	if tasks.BackoffReason(m) != nil {
		t.Error("A success does not make the delay short again")
	}
}

func TestTasksTell(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason string
		happen func(*Tracker, Object)
		told   bool // Whether the failure is reported.
	}{
		"Failed": {
			reason: "A task that failed is told of, however late anybody asks.",
			happen: func(t *Tracker, m Object) {
				t.Started(m, "u")
				t.Ended(m, taskOf("u"), boom)
			},
			told: true,
		},
		"FailedAgain": {
			reason: "A second failure is told of like the first.",
			happen: func(t *Tracker, m Object) {
				for range 2 {
					t.Started(m, "u")
					t.Ended(m, taskOf("u"), boom)
					_ = t.BackoffReason(m)
				}
				t.Started(m, "u")
				t.Ended(m, taskOf("u"), boom)
			},
			told: true,
		},
		"Refused": {
			reason: "Conditions that tell of a refusal are set by the next look.",
			happen: func(t *Tracker, m Object) { t.Refused(m, boom) },
			told:   true,
		},
		"Succeeded": {
			reason: "There is nothing to tell of a task that went well.",
			happen: func(t *Tracker, m Object) {
				t.Started(m, "u")
				t.Ended(m, taskOf("u"), boom)
				t.Started(m, "v")
				t.Ended(m, taskOf("v"), nil)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newTestClock()
			tasks, m := New(c.now), objectOf("a", 1)
			tc.happen(tasks, m)
			c.wait(time.Hour)
			if err := tasks.BackoffReason(m); errors.Is(err, boom) != tc.told {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			if err := tasks.BackoffReason(m); err != nil {
				t.Errorf("What was told long ago holds back: %v", err)
			}
		})
	}
}

// TestTasksFailedInTheList checks that a failure in the list of tasks, before the goroutine that follows the task has reported it, delays the next
// attempt and counts once.
func TestTasksFailedInTheList(t *testing.T) {
	c := newTestClock()
	tasks, m := New(c.now), objectOf("1", 1)
	tasks.Started(m, "u")
	c.wait(2 * VisibleWithin)
	failed := proxmox.Task{UPID: "u", Type: "qmcreate", ExitStatus: "storage is full"}
	if tasks.Running(m, []proxmox.Task{failed}) {
		t.Error("A task that has failed does not run")
	}
	if err := tasks.BackoffReason(m); err == nil || !strings.Contains(err.Error(), "storage is full") {
		t.Errorf("A failure that is listed holds nothing back: %v", err)
	}
	tasks.Ended(m, failed, failed.Err("a line of its log"))
	c.wait(FirstRetry + FirstRetry/4 + time.Millisecond)
	if err := tasks.BackoffReason(m); err != nil {
		t.Errorf("A failure that was told of twice counts twice: %v", err)
	}
}

func TestTasksHoldForSpec(t *testing.T) {
	tasks := New(newTestClock().now)
	boom := errors.New("boom")
	tasks.Started(objectOf("a", 1), "u")
	tasks.Ended(objectOf("a", 1), taskOf("u"), boom)
	if tasks.BackoffReason(objectOf("a", 2)) != nil {
		t.Error("A changed spec is held back for the failure of the one before")
	}
	if tasks.BackoffReason(objectOf("b", 1)) != nil {
		t.Error("A Machine is held back for the failure of another")
	}
	if err := tasks.BackoffReason(objectOf("a", 1)); err == nil || strings.Count(err.Error(), "failed") > 1 {
		t.Errorf("Want the reason once, got %v", err)
	}
	tasks.Forget(objectOf("a", 1))
	if tasks.BackoffReason(objectOf("a", 1)) != nil {
		t.Error("What was forgotten holds back")
	}
}

func TestTasksEnd(t *testing.T) {
	c := newTestClock()
	tasks := New(c.now)
	m := objectOf("a", 1)
	tasks.Started(m, "u")
	if !tasks.Running(m, nil) {
		t.Error("A task that was just started does not run, although the list need not have it yet")
	}
	tasks.Started(m, "v")
	tasks.Ended(m, taskOf("u"), errors.New("late"))
	if !tasks.Running(m, nil) || tasks.BackoffReason(m) != nil {
		t.Error("The end of an earlier task ends the one that runs")
	}
	tasks.Ended(m, proxmox.Task{UPID: "v", Type: "qmstart", ExitStatus: "OK"}, nil)
	if tasks.Running(m, nil) {
		t.Error("A task that ended runs")
	}
	if last, ok := tasks.Last(m); !ok || last.UPID != "v" {
		t.Errorf("The last task is %v", last)
	}
	if _, ok := tasks.Last(objectOf("b", 1)); ok {
		t.Error("A Machine without tasks has a last one")
	}
}

func TestTasksWithoutEnd(t *testing.T) {
	c := newTestClock()
	tasks := New(c.now)
	m := objectOf("a", 1)
	tasks.Started(m, "u")
	c.wait(time.Hour)
	if !tasks.Running(m, []proxmox.Task{{UPID: "u", Running: true}}) {
		t.Error("A long task that PVE lists as running does not run")
	}
	if tasks.Running(m, []proxmox.Task{{UPID: "u"}}) || tasks.Running(m, nil) {
		t.Error("A task whose end nobody told about, and that PVE does not list as running, runs for ever")
	}
}

// TestSend makes changes of options, some of which do not persist.
func TestSend(t *testing.T) {
	a := qemu.Difference{Set: proxmox.Params{"machine": "q35"}}
	both := qemu.Difference{Set: proxmox.Params{"machine": "q35", "onboot": "1"}, Delete: []string{"tags"}}
	other := qemu.Difference{Set: proxmox.Params{"machine": "pc"}}
	cases := map[string]struct {
		reason string
		do     func(*Tracker, Object)
		ask    qemu.Difference
		held   bool
		times  int // in succession, if it is made now
	}{
		"New":  {reason: "What was not made is not held back.", do: func(*Tracker, Object) {}, ask: a, times: 1},
		"Same": {reason: "What was just made is.", do: func(k *Tracker, m Object) { k.Send(m, a) }, ask: a, held: true, times: 2},
		"Part": {reason: "What is left of what was made is held back.", do: func(k *Tracker, m Object) { k.Send(m, both) }, ask: a, held: true, times: 2},
		"More": {reason: "More than it is not.", do: func(k *Tracker, m Object) { k.Send(m, a) }, ask: both, times: 1},
		"Removal": {
			reason: "A removal that is left of what was made is held back.", do: func(k *Tracker, m Object) { k.Send(m, both) },
			ask: qemu.Difference{Delete: []string{"tags"}}, held: true, times: 2,
		},
		"Other": {reason: "Another value is not held back.", do: func(k *Tracker, m Object) { k.Send(m, a) }, ask: other, times: 1},
		"Held": {
			reason: "What was seen to hold is made at once if it was undone.", do: func(k *Tracker, m Object) { k.Send(m, a); k.Kept(m, true) },
			ask: a, times: 1,
		},
		"Assumed": {
			reason: "What was taken to hold is not held back, but counted.", do: func(k *Tracker, m Object) { k.Send(m, a); k.Kept(m, false) },
			ask: a, times: 2,
		},
		"Nothing": {reason: "Nothing is never held back.", do: func(k *Tracker, m Object) { k.Send(m, a) }, ask: qemu.Difference{}, times: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, m := New(newTestClock().now), objectOf("a", 1)
			tc.do(k, m)
			if got := k.Sent(m, tc.ask); got != tc.held {
				t.Errorf("%s\nwant it held back %t, got %t", tc.reason, tc.held, got)
			}
			if got := k.Send(m, tc.ask); got != tc.times {
				t.Errorf("%s\nwant it made %d times in a row, got %d", tc.reason, tc.times, got)
			}
		})
	}
}

// TestEndedAfterMachine checks a task that ends after its Machine was deleted, such as when its VM is kept.
func TestEndedAfterMachine(t *testing.T) {
	c := newTestClock()
	tasks, m := New(c.now), objectOf("a", 1)
	tasks.Started(m, "u")
	tasks.Forget(m)
	if tasks.Ended(m, taskOf("u"), nil); tasks.records.Len() != 0 {
		t.Errorf("want nothing remembered of a Machine that is gone, got %d", tasks.records.Len())
	}
}

// TestNothingRemembered checks that nothing is kept of a Machine without tasks, since there may be ten thousand of them.
func TestNothingRemembered(t *testing.T) {
	tasks, m, boom := New(newTestClock().now), objectOf("a", 1), errors.New("boom")
	tasks.SinceUnknownOutcome(m)
	tasks.Running(m, nil)
	tasks.RunningType(m)
	tasks.Destroyed(m)
	tasks.Creates(m)
	tasks.RetryAt(m, boom)
	tasks.Last(m)
	tasks.Active(m)
	tasks.Kept(m, true)
	tasks.Sent(m, qemu.Difference{})
	tasks.Crashes(m)
	tasks.CrashLoops(m)
	tasks.WithdrawAsked(m)
	tasks.EndReboot(m, time.Time{})
	tasks.RepeatsShutdown(m, taskOf("u"), boom)
	tasks.ShutdownBegun(m)
	tasks.RebootsUntil(m)
	tasks.LockTimedOut(m, "qmstart")
	if tasks.Rebooting(m) || tasks.BackoffError(m) || tasks.BackoffReason(m) != nil || tasks.RefusedAt(m, "resize", "digest") != nil || tasks.Len() != 0 {
		t.Errorf("want nothing remembered, got %d", tasks.Len())
	}
}

// TestDestroyed checks that a VM is known to be destroyed since the end of the task was observed, however often that is reported.
func TestDestroyed(t *testing.T) {
	c := newTestClock()
	tasks, m := New(c.now), objectOf("a", 1)
	if _, yes := tasks.Destroyed(m); yes {
		t.Error("want nothing destroyed yet")
	}
	tasks.Started(m, "u")
	c.wait(time.Second)
	ended := c.now()
	for range 2 {
		tasks.Ended(m, proxmox.Task{UPID: "u", Type: "qmdestroy", ExitStatus: "OK"}, nil)
		if since, yes := tasks.Destroyed(m); !yes || !since.Equal(ended) {
			t.Errorf("want it destroyed since %s, got %s, %t", ended, since, yes)
		}
		c.wait(time.Second)
	}
	forgotten := c.now()
	tasks.Forget(m)
	c.wait(time.Second)
	if since, yes := tasks.Destroyed(m); !yes || !since.Equal(forgotten) {
		t.Errorf("want it gone since it was forgotten at %s, got %s, %t", forgotten, since, yes)
	}
}

// TestAwaitReboot checks that no changes are made to a VM during a reboot.
func TestAwaitReboot(t *testing.T) {
	cases := map[string]struct {
		reason    string
		happen    func(*testClock, *Tracker)
		rebooting bool
	}{
		"Asked":   {reason: "Proxmox VE is about to stop and start it.", happen: func(*testClock, *Tracker) {}, rebooting: true},
		"Expired": {reason: "A reboot does not take longer than the VM is left alone.", happen: func(c *testClock, _ *Tracker) { c.wait(RebootTime) }},
		"NewSpec": {
			reason: "A spec that changes does not end the reboot of the VM.", rebooting: true,
			happen: func(_ *testClock, k *Tracker) { k.Started(objectOf("a", 2), "v") },
		},
		"Withdrawn": {
			reason: "Another call that was not sent is another one.", rebooting: true,
			happen: func(_ *testClock, k *Tracker) { k.WithdrawAsked(objectOf("a", 1)) },
		},
		"Started": {
			reason: "The VM was started after the request.",
			happen: func(c *testClock, k *Tracker) { c.wait(time.Second); k.EndReboot(objectOf("a", 1), c.now()) },
		},
		"StartedUnderNewSpec": {
			reason: "A start after the request is known of whatever spec.",
			happen: func(c *testClock, k *Tracker) {
				c.wait(time.Second)
				k.Started(objectOf("a", 2), "v")
				k.EndReboot(objectOf("a", 2), c.now())
			},
		},
		"Before": {reason: "The VM has not stopped yet.", rebooting: true, happen: func(c *testClock, k *Tracker) { k.EndReboot(objectOf("a", 1), c.now()) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newTestClock()
			k := New(c.now)
			k.AwaitReboot(objectOf("a", 1), RebootTime)
			tc.happen(c, k)
			if got := k.Rebooting(objectOf("a", 1)); got != tc.rebooting {
				t.Errorf("%s\nwant it left alone: %t, got %t", tc.reason, tc.rebooting, got)
			}
		})
	}
}
