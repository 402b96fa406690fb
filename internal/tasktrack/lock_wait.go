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
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// LockHeld is how long PVE may hold the lock of a VM's configuration file after it has stopped
// the VM, or has rolled it back to a snapshot with memory: it cleans up.
const LockHeld = 30 * time.Second

// lockWait is the time in which a VM's lock was held, as far as was seen.
type lockWait struct{ first, last time.Time }

// Seen notes that the lock is held, and returns since when.
func (w *lockWait) Seen(now time.Time) time.Duration {
	if w.last.IsZero() || now.Sub(w.last) > LockHeld {
		w.first = now
	}
	w.last = now
	return now.Sub(w.first)
}

// WaitsForLock reports whether an error says that PVE holds the VM's lock, and has not held it
// for longer than it does to clean up.
func (t *Tracker) WaitsForLock(m Object, err error) bool {
	if !proxmox.IsLockTimeout(err) {
		return false
	}
	t.records.Lock()
	defer t.records.Unlock()
	return t.records.Ensure(m).lock.Seen(t.now()) < LockHeld
}
