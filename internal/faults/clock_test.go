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

package faults

import (
	"sync"
	"time"
)

// A clock is the clock of both the provider and PVE. It stands still until it is advanced, so that hours pass in a moment.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
}

type waiter struct {
	at   time.Time
	rang chan time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

// Now returns the time of the clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After returns a channel on which the time arrives once d has passed.
func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{at: c.now.Add(d), rang: make(chan time.Time, 1)}
	if d <= 0 {
		w.rang <- c.now
		return w.rang
	}
	c.waiters = append(c.waiters, w)
	return w.rang
}

// advance lets time pass, and wakes those that wait for it.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	var waiting []waiter
	for _, w := range c.waiters {
		if w.at.After(c.now) {
			waiting = append(waiting, w)
			continue
		}
		w.rang <- c.now
	}
	c.waiters = waiting
}
