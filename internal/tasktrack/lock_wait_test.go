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
)

// TestLockHeldAgain has the lock held at two times that have nothing to do with each other.
func TestLockHeldAgain(t *testing.T) {
	w, now := lockWait{}, time.Unix(1, 0)
	for _, at := range []time.Duration{0, 20 * time.Second, time.Hour} {
		if w.Seen(now.Add(at)) >= LockHeld {
			t.Errorf("after %s the lock is not held for long", at)
		}
	}
	if w.Seen(now.Add(time.Hour+LockHeld)) < LockHeld {
		t.Error("the lock is held for too long")
	}
}
