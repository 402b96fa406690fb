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

// A Watcher is notified of signs that a guest has changed. Its methods must not block.
type Watcher interface {
	// Changed reports that the guest was changed, not by us.
	Changed(what Change)

	// Listed reports the guest as in the cluster's list, if it differs from before, or if this is the first list since the guest was read or changed. It is
	// nil if the guest is not in the list.
	Listed(g *proxmox.Guest)

	// Used reports the guest each time that the cluster's list is read. Do not keep the guest, which would keep the whole list in memory.
	Used(g *proxmox.Guest)

	// Missed reports that changes may have been missed.
	Missed()

	// Since returns when the guest was last read or changed, and until when lists that repeat the last one are ignored.
	Since() (changed, until time.Time)
}

// A watch is a guest and the watcher that is notified of its changes.
type watch struct {
	Watcher

	vmid     int
	notified summary
	listed   bool      // whether notified is set
	checked  time.Time // when notified was last compared

	// inherited is when the watch came from another view, if it is not known whether the watch continues here. It is zero once that is known.
	inherited time.Time
}

// claimWithin is how long an inherited watch is kept that no key claims.
const claimWithin = time.Hour

// Watch watches a guest from now on, until Unwatch. It returns true if the key has watched this guest without interruption. Otherwise data of the guest
// from before the call may be out of date, but data read after the call is not.
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
		c.forgetAllGuests() // Changes were not watched meanwhile.
	}
	// Concurrent callers wait as well. Otherwise an event after a caller's read of its guest could be taken for one before it.
	_, _ = c.primed.get(ctx, c.life, c.now, forGood)
	return false
}

// forGood is longer than any value is kept.
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

// InvalidateGuest invalidates what was read of a guest. Call it after a change of the guest that leaves no sign.
func (c *Cluster) InvalidateGuest(vmid int) {
	c.forgetGuests(func(id int) bool { return id == vmid })
}

// GuestChanged reports to the watchers of a guest that a task of ours has changed it.
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

// Unwatch ends the watch of a key.
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

// watching reports whether any guest is watched.
func (c *Cluster) watching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watches) > 0
}

// notify notifies the watchers of guests of changes.
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

// compare compares a list with what the watchers were last notified of. The read of the list began at begun.
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
		g, to := listed[w.vmid], w.Watcher // The watcher may be replaced once the lock is released.
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

// A usage is a guest in a list, and the watcher to notify of it.
type usage struct {
	watcher Watcher
	guest   *proxmox.Guest
}

// toTell reports whether to notify the watcher of a list. It is true if the entry of the guest has changed, or if the list is the first that shows the
// state after the last change. A list that may be older than that is ignored.
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
