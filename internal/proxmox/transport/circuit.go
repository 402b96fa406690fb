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

package transport

import (
	"sync"
	"time"
)

const (
	// firstPause and lastPause are how long a circuit stays open after its first failure and after many failures.
	firstPause = time.Second
	lastPause  = 30 * time.Second

	// silences is how many requests in a row may get no answer before the target counts as dead. A single one may just have been slow.
	silences = 2
)

// A circuit holds back requests to a target that was just seen to be dead, so that they fail at once instead of each waiting for it. After a pause, one
// request is let through to check the target.
type circuit struct {
	clock func() time.Time

	mu      sync.Mutex
	failed  *Failure // why it is open; nil while it is closed
	silent  int      // requests in a row without an answer
	times   int      // failures in a row
	until   time.Time
	probing bool
}

// An outcome is the result of a request about the state of its target.
type outcome int

const (
	noOutcome outcome = iota // for example, the caller ended it
	alive                    // there was an answer
	dead                     // nothing could be sent
	silent                   // there was no answer
)

// enter returns nil if a request may be made, and the reason if not. Each request that enters has to leave.
func (c *circuit) enter() *Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		return nil
	}
	if c.probing || c.clock().Before(c.until) {
		return &Failure{Status: c.failed.Status, Message: c.failed.Message, Problem: c.failed.Problem, Unmade: true}
	}
	c.probing = true
	return nil
}

// leave records the result of a request that entered.
func (c *circuit) leave(v outcome, f *Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	switch v {
	case alive:
		c.failed, c.silent, c.times = nil, 0, 0
	case silent:
		if c.silent++; c.silent >= silences {
			c.open(f)
		}
	case dead:
		c.open(f)
	case noOutcome:
	}
}

func (c *circuit) open(f *Failure) {
	c.failed = f
	c.until = c.clock().Add(min(firstPause<<min(c.times, 10), lastPause))
	c.times++
}
