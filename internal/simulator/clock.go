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

package simulator

import "time"

// Clock tells the time and waits. Tests may bring their own.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// After returns a channel on which the time arrives once d has passed.
	After(d time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// pace turns simulated durations into real ones.
type pace struct {
	clock Clock
	// speed divides durations; 0 makes everything instant.
	speed float64
}

// minimumLockWait keeps waits for locks above what a scheduler needs, however fast the tasks are.
const minimumLockWait = 50 * time.Millisecond

func (p pace) instant() bool { return p.speed == 0 }

func (p pace) scale(d time.Duration) time.Duration {
	if p.instant() {
		return 0
	}
	return time.Duration(float64(d) / p.speed)
}

// lockWait is how long to wait for a lock that is waited for d in reality. Instant tasks hold locks for a moment only,
// so that the real time is used.
func (p pace) lockWait(d time.Duration) time.Duration {
	if p.instant() {
		return d
	}
	return max(p.scale(d), minimumLockWait)
}
