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

// Unchanged is for values of a VM that were read since the last sign that the VM has changed: a task, a line of the log, another entry in the list of
// resources, or a change of ours. Such a value justifies doing nothing, never an action. Values that were read longer ago are read again.
const Unchanged = 30 * time.Minute

// guestAge returns the maximum age of what was read of a VM. Unchanged is replaced by Current if nothing is watched, or without Sys.Syslog on /. It is
// reduced by up to a third, by the VMID, so that values that were read together are not read again together.
func (c *Cluster) guestAge(ctx context.Context, vmid int, maxAge time.Duration) time.Duration {
	switch {
	case maxAge != Unchanged:
		return maxAge
	case !c.watching() || !c.mayReadLog(ctx):
		return Current
	}
	return Unchanged - Unchanged/3*time.Duration(vmid%100)/100
}

// Options returns the options of a VM. They must not be changed.
func (c *Cluster) Options(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) ([]proxmox.PendingValue, error) {
	return read(ctx, c.times, c.infra.options.of(ref), c.guestAge(ctx, ref.VMID, maxAge))
}

// Snapshots returns the snapshots of a VM. They must not be changed.
func (c *Cluster) Snapshots(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) (proxmox.SnapshotTree, error) {
	return read(ctx, c.times, c.snapshots.of(ref), c.guestAge(ctx, ref.VMID, maxAge))
}

// forgetGuests forgets what was read of the guests whose VMIDs pick selects.
func (i *infra) forgetGuests(pick func(vmid int) bool) {
	of := func(ref proxmox.Ref) bool { return pick(ref.VMID) }
	i.configs.forget(of)
	i.snapshots.forget(of)
	i.options.forget(of)
}

// forgetAllGuests forgets what was read of all guests.
func (i *infra) forgetAllGuests() { i.forgetGuests(func(int) bool { return true }) }

// forgetTouched forgets what was read of the guests for which an event was seen.
func (i *infra) forgetTouched(all changes) {
	if len(all) > 0 {
		i.forgetGuests(func(vmid int) bool { _, ok := all[vmid]; return ok })
	}
}

// forgetTask forgets what was read of the guests that a task has worked on.
func (i *infra) forgetTask(u proxmox.UPID) {
	touched := changes{}
	touched.add(u.ID(), ChangeAll)
	i.forgetTouched(touched)
}

// forgetListed forgets what was read of guests whose entry in the list has changed or is missing.
func (c *Cluster) forgetListed(guests []proxmox.Guest) {
	all := map[int]summary{}
	for _, vmid := range append(vmidsOf(c.infra.options), vmidsOf(c.snapshots)...) {
		all[vmid] = summary{}
	}
	for i := range guests {
		if _, ok := all[guests[i].VMID]; ok {
			all[guests[i].VMID] = summaryOf(&guests[i])
		}
	}
	changed := changes{}
	c.mu.Lock()
	for vmid, s := range all {
		before, listed := c.known[vmid]
		if !s.listed || listed && s.differs(before) {
			changed[vmid] = ChangeAll
		}
		all[vmid] = s.merge(before)
	}
	c.known = all
	c.mu.Unlock()
	c.forgetTouched(changed)
}

// guestTasks finds tasks of any user that have begun or ended since the previous list.
type guestTasks struct{ ended map[proxmox.UPID]bool }

// take processes a list and returns the guests that its new tasks affect.
func (f *guestTasks) take(list []proxmox.Task) changes {
	touched, ended := changes{}, make(map[proxmox.UPID]bool, len(list))
	for _, t := range list {
		ended[t.UPID] = !t.Running
		if before, known := f.ended[t.UPID]; f.ended != nil && (!known || !t.Running && !before) {
			touched.add(t.ID, ChangeAll)
		}
	}
	f.ended = ended
	return touched
}

// An OnChange is a Watcher that is called when others have changed a guest.
type OnChange func()

// Changed calls f.
func (f OnChange) Changed(Change) { f() }

// Listed does nothing, because what was read of the guest is forgotten anyway.
func (f OnChange) Listed(*proxmox.Guest) {}

// Used does nothing.
func (f OnChange) Used(*proxmox.Guest) {}

// Missed does nothing, because what was read of all guests is forgotten anyway.
func (f OnChange) Missed() {}

// Since returns zero times.
func (f OnChange) Since() (changed, until time.Time) { return time.Time{}, time.Time{} }
