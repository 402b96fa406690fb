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

package engine

import (
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A Clock returns the time and waits. Tests may provide their own.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// After returns a channel on which the time arrives once d has passed.
	After(d time.Duration) <-chan time.Time
}

// WallClock is the real time.
type WallClock struct{}

// Now returns the current time.
func (WallClock) Now() time.Time { return time.Now() }

// After waits in real time.
func (WallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Pace converts simulated durations to real ones.
type Pace struct {
	Clock Clock
	// Speed divides durations. 0 makes everything instant.
	Speed float64
}

// minimumLockWait is the minimum for lock timeouts, so that they exceed scheduling delays however fast the tasks are.
const minimumLockWait = 50 * time.Millisecond

// Instant reports whether tasks take no time.
func (p Pace) Instant() bool { return p.Speed == 0 }

// Scale returns how long a simulated duration takes.
func (p Pace) Scale(d time.Duration) time.Duration {
	if p.Instant() {
		return 0
	}
	return time.Duration(float64(d) / p.Speed)
}

// lockWait returns how long to wait for a lock with the timeout d in PVE. Instant tasks hold locks only briefly, so the real time is used.
func (p Pace) lockWait(d time.Duration) time.Duration {
	if p.Instant() {
		return d
	}
	return max(p.Scale(d), minimumLockWait)
}

// Gone reports whether the other nodes have noticed that a node is off.
func (s *Engine) Gone(n *state.Node) bool {
	return n != nil && n.Offline && s.Clock.Now().Sub(n.Left) >= s.Scale(s.Duration("membership"))
}
