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
	"context"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Watcher wants to know of signs that a guest has changed. Its functions must
// not block.
type Watcher interface {
	// Changed tells that something was done to the guest, not by us.
	Changed(what Change)

	// Listed tells what the cluster's list says of the guest: something else than
	// before, or for the first time since it was looked at or changed; nil if the
	// guest is not in the list.
	Listed(g *proxmox.Guest)

	// Used tells what the cluster's list says of the guest, each time that it is read. The
	// guest is not to be kept, which would keep the list.
	Used(g *proxmox.Guest)

	// Missed tells that changes may have been missed.
	Missed()

	// Since is when the guest was looked at or changed last, and until when lists are
	// of no use that say the same as the last one.
	Since() (changed, until time.Time)
}

// A watch is a guest that somebody wants to know of.
type watch struct {
	Watcher

	vmid     int
	notified summary
	listed   bool      // whether told says something
	checked  time.Time // when it was told

	// inherited is when the watch came from another view, of which it is not known
	// whether it goes on here; zero once it does.
	inherited time.Time
}

// claimWithin is how long a watch is kept that was inherited and that nobody claims.
const claimWithin = time.Hour

// Watch watches a guest from now on, until Unwatch. It returns true if the key has watched
// this guest without a break. Where it has not, whatever is known of the guest from
// before may be out of date; what is read after Watch is not.
func (c *Cluster) Watch(ctx context.Context, key string, vmid int, w Watcher) bool {
	c.mu.Lock()
	was, ok := c.watches[key]
	if ok && was.vmid == vmid {
		was.Watcher, was.inherited = w, time.Time{}
		c.mu.Unlock()
		return true
	}
	again := len(c.watches) == 0
	c.forget(key)
	c.watch(key, &watch{Watcher: w, vmid: vmid})
	c.mu.Unlock()
	if again {
		_, _ = c.primed.fresh(ctx, c.life, c.now)
		c.forgetAllGuests() // Nobody has looked for signs meanwhile.
	}
	// Whoever comes meanwhile waits as well: what happens after it has read its guest
	// must not be taken for what was before.
	_, _ = c.primed.get(ctx, c.life, c.now, forGood)
	return false
}

// forGood is longer than anything is kept.
const forGood = 1<<63 - 1

// Watches reports whether the key watches this guest.
func (c *Cluster) Watches(key string, vmid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.watches[key]
	if !ok || w.vmid != vmid {
		return false
	}
	w.inherited = time.Time{}
	return true
}

// InvalidateGuest invalidates what was read of a guest that we have changed, of which there is no sign: what others
// know of it is read again.
func (c *Cluster) InvalidateGuest(vmid int) {
	c.forgetGuests(func(id int) bool { return id == vmid })
}

// GuestChanged tells that a task of ours has changed a guest that others look after: whoever watches it looks at it again.
func (c *Cluster) GuestChanged(vmid int) { c.notify(changes{vmid: ChangeAll}) }

// watch adds a watch. It must be called with the lock held.
func (c *Cluster) watch(key string, w *watch) {
	c.watches[key] = w
	if c.watchers[w.vmid] == nil {
		c.watchers[w.vmid] = map[string]*watch{}
	}
	c.watchers[w.vmid][key] = w
	c.run()
}

// Unwatch ends Watch.
func (c *Cluster) Unwatch(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(key)
}

func (c *Cluster) forget(key string) {
	w, ok := c.watches[key]
	if !ok {
		return
	}
	delete(c.watches, key)
	delete(c.watchers[w.vmid], key)
	if len(c.watchers[w.vmid]) == 0 {
		delete(c.watchers, w.vmid)
	}
}

// watching reports whether anybody watches.
func (c *Cluster) watching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watches) > 0
}

// notify notifies the watchers of guests that these were touched.
func (c *Cluster) notify(all changes) {
	if c.concerns(all) {
		c.InvalidateHA()
	}
	c.forgetTouched(all)
	type told struct {
		Watcher

		what Change
	}
	var tell []told
	c.mu.Lock()
	for vmid, what := range all {
		for _, w := range c.watchers[vmid] {
			tell = append(tell, told{Watcher: w.Watcher, what: what})
		}
	}
	c.mu.Unlock()
	for _, t := range tell {
		t.Changed(t.what)
	}
}

// notifyMissed tells all watchers that changes may have been missed.
func (c *Cluster) notifyMissed() {
	c.forgetAllGuests()
	c.mu.Lock()
	all := make([]Watcher, 0, len(c.watches))
	for _, w := range c.watches {
		all = append(all, w.Watcher)
	}
	c.mu.Unlock()
	for _, w := range all {
		w.Missed()
	}
}

// compare compares a list, whose reading began at a time, with what watchers were told.
func (c *Cluster) compare(guests []proxmox.Guest, begun time.Time) {
	c.mu.Lock()
	if begun.Before(c.compared) || len(c.watches) == 0 {
		c.mu.Unlock()
		return
	}
	c.compared = begun
	listed := make(map[int]*proxmox.Guest, len(guests))
	for i := range guests {
		listed[guests[i].VMID] = &guests[i]
	}
	var tell []func()
	used := make([]usage, 0, len(c.watches))
	for key, w := range c.watches {
		if !w.inherited.IsZero() && c.now().Sub(w.inherited) > claimWithin {
			c.forget(key)
			continue
		}
		g, to := listed[w.vmid], w.Watcher // Another may take its place once the lock is free.
		used = append(used, usage{watcher: to, guest: g})
		if w.toTell(g, begun, c.lag) {
			tell = append(tell, func() { to.Listed(g) })
		}
	}
	c.mu.Unlock()
	for _, u := range used {
		u.watcher.Used(u.guest)
	}
	for _, t := range tell {
		t()
	}
}

// A usage is what a watcher is told of its guest.
type usage struct {
	watcher Watcher
	guest   *proxmox.Guest
}

// toTell reports whether the watcher is to be told of a list: it says something new of the guest, or is
// the first that shows how the guest was left. One that may be older than that says
// nothing.
func (w *watch) toTell(g *proxmox.Guest, begun time.Time, lag time.Duration) bool {
	since, until := w.Since()
	if since.After(begun.Add(-lag)) {
		return false
	}
	s := summaryOf(g)
	changed := w.listed && s.differs(w.notified)
	if !changed && w.listed && until.After(begun.Add(-lag)) {
		return false
	}
	changed = changed || since.After(w.checked)
	w.notified, w.checked, w.listed = s.merge(w.notified), begun, true
	return changed
}
