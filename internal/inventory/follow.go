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

package inventory

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// missesBeforeLook is how many polls may lack a followed task before it is read by itself. A new task may not be visible at once, and the list of recent
// tasks is short.
const missesBeforeLook = 3

// giveUpAfter ends the following of a task about which nothing can be learned, such as one on a node that the user may not ask.
const giveUpAfter = 24 * time.Hour

// A follower waits for the end of one task.
type follower struct {
	done   func(proxmox.Task)
	begun  time.Time
	misses int

	// listed is true once the task was listed. If it is no longer listed, it has ended, and many other tasks after it.
	listed bool

	// looks counts the reads of this task by itself, next is the time of the next one, and looking is true during one.
	looks   int
	next    time.Time
	looking bool
}

// compare orders followed tasks for reading: first those that have ended, then those that have waited longest.
func (f *follower) compare(o *follower) int {
	if f.listed != o.listed {
		if f.listed {
			return -1
		}
		return 1
	}
	return cmp.Or(f.next.Compare(o.next), f.begun.Compare(o.begun))
}

// Follow calls done when the task has ended. It returns at once; done must not block.
func (c *Cluster) Follow(u proxmox.UPID, done func(proxmox.Task)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.followed) == 0
	var once sync.Once // Two Clusters may follow one task.
	c.followed[u] = &follower{done: func(t proxmox.Task) { once.Do(func() { c.forgetTask(u); done(t) }) }, begun: c.now()}
	c.run()
	if first {
		select {
		case c.taskReader.sooner <- struct{}{}:
		default:
		}
	}
}

// Handover takes over what another view of the same cluster follows and watches, because the client of that view may have lost its access. If the other
// view has other users, it keeps its watches and followers too, and those who watch here show which ones are theirs.
func (c *Cluster) Handover(from *Cluster, others bool) {
	from.mu.Lock()
	followed, watches := maps.Clone(from.followed), maps.Clone(from.watches)
	if !others {
		clear(from.followed)
		clear(from.watches)
		clear(from.watchers)
	}
	from.mu.Unlock()
	c.mu.Lock()
	for key, w := range watches {
		c.handover(key, w, others)
	}
	c.mu.Unlock()
	for u, f := range followed {
		c.Follow(u, f.done)
	}
	// Events between the lists of the two views are not known.
	c.notifyMissed()
}

// handover takes over a watch. It must be called with the lock held. unclear means that it is not known whether the watch continues here.
func (c *Cluster) handover(key string, w *watch, unclear bool) {
	if _, ok := c.watches[key]; ok {
		return
	}
	successor := *w
	if unclear {
		successor.inherited = c.now()
	}
	c.watch(key, &successor)
}

// settle notifies the followers of tasks that have ended, and reads the tasks that the list lacks. The read of the list began at begun.
func (c *Cluster) settle(tasks []proxmox.Task, begun time.Time) {
	listed := make(map[proxmox.UPID]proxmox.Task, len(tasks))
	for _, t := range tasks {
		listed[t.UPID] = t
	}
	c.lookAt(c.due(listed, begun, !c.client.ListsOwnTasks(tasks)))
	for _, end := range c.ended(listed) {
		end()
	}
}

// ended returns the calls for followed tasks that have ended, and stops following these.
func (c *Cluster) ended(listed map[proxmox.UPID]proxmox.Task) []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var calls []func()
	for u, f := range c.followed {
		t, ok := listed[u]
		if ok && !t.Running {
			calls = append(calls, func() {
				c.client.TraceEnd(t)
				f.done(t)
			})
		}
		if ok && !t.Running || c.now().Sub(f.begun) > giveUpAfter {
			delete(c.followed, u)
		}
	}
	return calls
}
