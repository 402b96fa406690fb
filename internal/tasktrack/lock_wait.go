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
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// LockHeld is how long PVE may hold the lock of a VM's configuration file while it cleans up after it has stopped the VM, or has rolled it back to a
// snapshot with memory.
const LockHeld = 30 * time.Second

// HoldsLock is a message about this lock.
const HoldsLock = "Proxmox VE holds the lock of the VM, as it does for up to 30 seconds after a stop or a rollback"

// lockRetry is the delay before a call that got no lock is retried. PVE itself waits for the lock then.
const lockRetry = 5 * time.Second

// A LockWait is the time for which a VM's lock was observed to be held.
type LockWait struct {
	// First and Last are when the lock was first and last observed to be held.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// Waits reports whether an error means that PVE holds the VM's lock, and has not held it longer than it takes to clean up. A call that got no lock has
// changed nothing.
func (w *LockWait) Waits(err error, now time.Time) bool {
	if !proxmox.IsLockTimeout(err) {
		return false
	}
	if w.Last.IsZero() || now.Sub(w.Last) > LockHeld {
		w.First = now
	}
	w.Last = now
	return now.Sub(w.First) < LockHeld
}

// BacksOff reports whether a call that got no lock must not be retried yet.
func (w *LockWait) BacksOff(now time.Time) bool {
	return w.Last.Sub(w.First) < LockHeld && now.Sub(w.Last) < lockRetry
}

// WaitsForLock reports whether an error means that PVE holds the VM's lock, and has not held it longer than it takes to clean up.
func (t *Tracker) WaitsForLock(m Object, err error) bool {
	if !proxmox.IsLockTimeout(err) {
		return false
	}
	t.records.Lock()
	defer t.records.Unlock()
	return t.records.Ensure(m).lock.Waits(err, t.now())
}

// LockTimedOut reports whether the last task, of one of these types, has changed nothing because PVE held the VM's lock, and no later request may have
// succeeded instead.
func (t *Tracker) LockTimedOut(m Object, types ...string) bool {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.records.Get(m)
	return r != nil && !r.running && r.last.UPID == r.upid && slices.Contains(types, r.last.Type) && !r.outcomeUnknown.After(r.begun) &&
		proxmox.IsLockTimeout(r.last.Err()) && t.now().Sub(r.lock.First) < LockHeld
}
