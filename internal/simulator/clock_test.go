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

package simulator_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// handClock is a clock that tests advance.
type handClock struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan time.Time]time.Time
	changed chan struct{}
}

func newHandClock() *handClock {
	return &handClock{
		now: time.Now(), waiting: map[chan time.Time]time.Time{}, changed: make(chan struct{}),
	}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waiting[ch] = c.now.Add(d)
	close(c.changed)
	c.changed = make(chan struct{})
	return ch
}

// advance advances the time and wakes all whose wait has ended.
func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for ch, at := range c.waiting {
		if !at.After(c.now) {
			ch <- c.now
			delete(c.waiting, ch)
		}
	}
}

// await waits until there are n waits.
func (c *handClock) await(t *testing.T, n int) {
	t.Helper()
	for {
		c.mu.Lock()
		have, changed := len(c.waiting), c.changed
		c.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("nobody waits")
		}
	}
}

// ended waits until a task has ended and returns its exit status. The clock advances while the task runs.
func (c *handClock) ended(t *testing.T, s *simulator.Server, upid string) string {
	t.Helper()
	for {
		for _, task := range s.Tasks() {
			if task.UPID == upid && !task.Running() {
				return task.Exit
			}
		}
		if t.Context().Err() != nil {
			t.Fatal("the task does not end")
		}
		c.advance(100 * time.Millisecond)
		<-time.After(time.Millisecond) // A woken goroutine has to continue before others have waited for too long.
	}
}
