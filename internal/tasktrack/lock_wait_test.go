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
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestLockHeldAgain holds the lock at two unrelated times.
func TestLockHeldAgain(t *testing.T) {
	w, now := LockWait{}, time.Unix(1, 0)
	held := proxmox.Task{ExitStatus: "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"}.Err()
	for _, at := range []time.Duration{0, 20 * time.Second, time.Hour} {
		if !w.Waits(held, now.Add(at)) || !w.BacksOff(now.Add(at)) || w.BacksOff(now.Add(at+lockRetry)) {
			t.Errorf("after %s the lock is not held for long, and soon tried again", at)
		}
	}
	if late := now.Add(time.Hour + LockHeld); w.Waits(held, late) || w.BacksOff(late) {
		t.Error("the lock is held for too long")
	}
	if w.Waits(proxmox.Task{ExitStatus: "no space left"}.Err(), now.Add(2*time.Hour)) {
		t.Error("another error is none of the lock")
	}
}

// TestLockTimedOut checks a last task that got no lock, and other last tasks.
func TestLockTimedOut(t *testing.T) {
	const u = proxmox.UPID("UPID:pve1:0000:0000:0000:qmreboot:100:root@pam:")
	const noLock = "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"
	cases := map[string]struct {
		reason string
		exit   string
		then   func(*Tracker, *testClock)
		want   bool
	}{
		"NoLock": {reason: "A task that got no lock has done nothing.", exit: noLock, want: true},
		"Failed": {reason: "The guest did not act on it.", exit: "VM quit/powerdown failed - got timeout"},
		"Done":   {reason: "The task was done.", exit: "OK"},
		"Storage": {
			reason: "Another lock was not got, at any time of the task.", exit: "can't lock file '/var/lock/pve-manager/pve-storage-lvm' - got timeout",
		},
		"Unknown": {
			reason: "Whether it was asked for again is not known.", exit: noLock,
			then: func(tasks *Tracker, c *testClock) { c.wait(time.Second); tasks.RecordUnknownOutcome(objectOf("a", 1)) },
		},
		"Again": {
			reason: "The reboot was asked for again.", exit: noLock,
			then: func(tasks *Tracker, _ *testClock) { tasks.Started(objectOf("a", 1), u+"2") },
		},
		"Long": {
			reason: "The lock is held for longer than it takes to clean up.", exit: noLock,
			then: func(_ *Tracker, c *testClock) { c.wait(LockHeld) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newTestClock()
			tasks, m := New(c.now), objectOf("a", 1)
			if tasks.LockTimedOut(m, "qmreboot") {
				t.Error("nothing is known yet")
			}
			task := proxmox.Task{UPID: u, Type: "qmreboot", ExitStatus: tc.exit}
			tasks.Started(m, u)
			tasks.Ended(m, task, task.Err())
			if tc.then != nil {
				tc.then(tasks, c)
			}
			if got := tasks.LockTimedOut(m, "qmreboot"); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}
