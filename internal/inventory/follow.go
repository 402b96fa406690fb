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

// missesBeforeLook is how many polls may not list a followed task before it is
// asked for by itself: a task may not be visible at once, and the list of recent
// tasks is short.
const missesBeforeLook = 3

// giveUpAfter ends the following of a task that nothing can be learned about,
// such as that of a node that nobody may ask about.
const giveUpAfter = 24 * time.Hour

// A follower waits for the end of one task.
type follower struct {
	done   func(proxmox.Task)
	begun  time.Time
	misses int

	// listed is true once the task was listed: one that is listed no more has ended, and many others after it.
	listed bool

	// looks is how often the task was asked for by itself, next when it is asked for
	// again, and looking is true meanwhile.
	looks   int
	next    time.Time
	looking bool
}

// compare tells which of two followed tasks is looked at first: one that has ended, or else the one that has waited longer.
func (f *follower) compare(o *follower) int {
	if f.listed != o.listed {
		if f.listed {
			return -1
		}
		return 1
	}
	return cmp.Or(f.next.Compare(o.next), f.begun.Compare(o.begun))
}

// Follow calls done once the task has ended. It returns at once; done must not
// block.
func (c *Cluster) Follow(u proxmox.UPID, done func(proxmox.Task)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.followed) == 0
	var once sync.Once // Two views may follow one task.
	c.followed[u] = &follower{done: func(t proxmox.Task) { once.Do(func() { c.forgetTask(u); done(t) }) }, begun: c.now()}
	c.run()
	if first {
		select {
		case c.taskReader.sooner <- struct{}{}:
		default:
		}
	}
}

// Handover hands over what another view of the same cluster follows and watches, whose client
// may not be let in any more. If that has other users, it keeps what it has besides:
// which is theirs is found by who watches here.
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
	// What happens between the lists of the two is not known.
	c.notifyMissed()
}

// handover hands over a watch. It must be called with the lock held. Whose watch it is may be unclear.
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

// settle tells followers about the tasks that have ended, and looks at those that the
// list, whose read began then, lacks.
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

// ended returns the calls to make for tasks that have ended, which are followed no
// longer.
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
