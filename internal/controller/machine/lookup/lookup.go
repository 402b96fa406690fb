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

// Package lookup finds the VM of a Machine, and decides when it is read and when the cached VM is sufficient. The cache is in package vmcache.
package lookup

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Client reads the status of a VM.
type Client interface {
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
}

// changeWatcher is the part of an Inventory that reports signs of change.
type changeWatcher interface {
	Watch(ctx context.Context, key string, vmid int, w inventory.Watcher) bool
	Watches(key string, vmid int) bool
	Unwatch(key string)
	CatchUp(ctx context.Context, maxAge time.Duration) bool
	CatchUpEdits(ctx context.Context, maxAge time.Duration) bool
}

// An Inventory lists the VMs of a cluster, and reports signs that a VM has changed.
type Inventory interface {
	changeWatcher

	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	GuestsSince(ctx context.Context, after time.Time) ([]proxmox.Guest, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
}

// A Lookup finds the current VM, or the VM as it was last seen.
type Lookup struct {
	Client    Client
	Inventory Inventory
	Reader    *vmcache.Reader
	Cache     *vmcache.Cache
	Tasks     *tasktrack.Tracker
	Before    tasktrack.View              // The tasks as they were before the VM is read.
	Waker     func(object.Machine) func() // returns a function that requests a reconcile of the Machine
	Now       time.Time

	// Clones reports whether a Machine may be informed of clones of a VM. If it is nil, all may be.
	Clones func(ctx context.Context, vmid int) (bool, error)
}

// Running returns the current tasks. It must be called before the VM is read. In the other order, a task that ends between the two is missed: the VM
// would be as it was before the task, which would then be started once more. After a call whose outcome is unknown, the tasks are read again.
func (l Lookup) Running(ctx context.Context, m object.Machine) tasktrack.View {
	maxAge := inventory.Current
	switch ago := l.Tasks.SinceUnknownOutcome(m); {
	case ago < tasktrack.Arrival:
		return tasktrack.View{Ours: true}
	case ago < tasktrack.VisibleWithin:
		maxAge = inventory.Fresh
	}
	listed, err := l.Inventory.Tasks(ctx, maxAge)
	listed = tasktrack.WithoutDead(listed, func(node string) bool {
		unreachable, err := l.Reader.NodeUnreachable(ctx, node)
		return unreachable && err == nil
	})
	return tasktrack.View{Listed: listed, Err: err, Ours: l.Tasks.Running(m, listed)}
}

// Cached returns the VM as it was last seen, or nil if there is a reason to read it.
func (l Lookup) Cached(ctx context.Context, m object.Machine, id qemu.Identity) *vmstate.VM {
	if !l.Inventory.Watches(string(m.GetUID()), id.VMID) {
		return nil
	}
	if at := l.Cache.SeenAt(m); at != nil && at != l.Inventory {
		l.adoptCached(ctx, m, id)
	}
	v := l.Cache.Cached(m, id, l.Inventory, l.taskRuns())
	if v == nil {
		return nil
	}
	if off, err := l.Reader.NodeUnreachable(ctx, v.Node); off || err != nil {
		return nil
	}
	return v
}

// taskRuns reports whether a task of ours is known to run.
func (l Lookup) taskRuns() bool { return l.Before.Err == nil && l.Before.Ours }

// adoptCached takes over what is known of the VM through another connection to the cluster, as far as this connection shows the same. A new token is
// no reason to read all VMs again.
func (l Lookup) adoptCached(ctx context.Context, m object.Machine, id qemu.Identity) {
	guests, err := l.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return
	}
	if g, listed := proxmox.GuestOf(guests, id.VMID); listed {
		before := l.Cache.SeenAt(m)
		if l.Cache.Handover(m, l.Inventory, g); l.Cache.SeenAt(m) != before {
			before.Unwatch(string(m.GetUID()))
		}
	}
}

// OwnershipCurrent reports whether the VM was recently proven ours, and has not been changed by others since.
func (l Lookup) OwnershipCurrent(ctx context.Context, m object.Machine) bool {
	return l.Cache.Proven(m) && l.Inventory.CatchUp(ctx, inventory.Fresh) && l.Cache.Proven(m)
}

// SameProcess reports whether the VM, as it was last seen, has run since it was proven ours. A running VM cannot be replaced, and until a second ago
// it was not stopped, and its options, such as its protection, were not edited. That is sufficient to ask its guest to shut down, after which the VM
// is read before it is removed.
func (l Lookup) SameProcess(ctx context.Context, m object.Machine, v *vmstate.VM) bool {
	return v.Status.Running() && l.Cache.Unbroken(m) &&
		l.Inventory.CatchUpEdits(ctx, inventory.Recent) && l.Inventory.CatchUp(ctx, inventory.Recent) && l.Cache.Unbroken(m)
}

// Begin begins a read of the VM: from now on the VM is watched.
func (l Lookup) Begin(ctx context.Context, m object.Machine, id qemu.Identity) vmcache.ReadToken {
	key := string(m.GetUID())
	l.Cache.Leave(m, l.Inventory)
	unbroken := l.Inventory.Watch(ctx, key, id.VMID, vmcache.Watcher{Cache: l.Cache, UID: objectstate.UID(m.GetUID()), Wake: l.Waker(m)})
	return l.Cache.BeginRead(m, id, l.Inventory, unbroken)
}

// Creating reports whether a task of ours creates the VM, which shows nothing until the task ends.
func (l Lookup) Creating(m object.Machine) bool { return l.taskRuns() && l.Tasks.Creates(m) }

// Find finds the VM, or returns nil if there is none. If no creation was begun, the cluster's list is sufficient: PVE refuses to create a VM whose
// VMID is taken.
func (l Lookup) Find(ctx context.Context, m object.Machine, id qemu.Identity) (*vmstate.VM, error) {
	if m.GetAnnotations()[object.AnnotationNode] == "" && meta.GetExternalCreatePending(m).IsZero() && !meta.WasDeleted(m) {
		guests, err := l.Inventory.Guests(ctx, inventory.Recent)
		if _, listed := proxmox.GuestOf(guests, id.VMID); err != nil || !listed {
			return nil, err
		}
	}
	node := m.GetAnnotations()[object.AnnotationNode]
	since, destroyed := l.Tasks.Destroyed(m)
	switch {
	case destroyed:
		return l.remains(ctx, id.VMID, since)
	case l.JustCreated(m) && node != "": // The list may show it on the node of its creation.
		if v, err := l.Reader.GetConfig(ctx, proxmox.Ref{Node: node, VMID: id.VMID}); v != nil || err != nil {
			return v, err
		}
	}
	return l.Reader.Find(ctx, id.VMID, node)
}

// remains returns the VM that has the VMID of a VM that we have destroyed, as listed since a time, or nil.
func (l Lookup) remains(ctx context.Context, vmid int, since time.Time) (*vmstate.VM, error) {
	guests, err := l.Inventory.GuestsSince(ctx, since)
	if err != nil {
		return nil, err
	}
	g, ok := proxmox.GuestOf(guests, vmid)
	if !ok {
		return nil, nil
	}
	return l.Reader.GetListed(ctx, g)
}

// Status returns the status of the VM, and reads it if necessary. The status of a VM that we have just created is known, unless it was added to HA
// since. For a VM that is not known to have been changed recently, the cluster's list is sufficient as long as nothing is done to the VM.
func (l Lookup) Status(ctx context.Context, m object.Machine, v *vmstate.VM, read vmcache.ReadToken) (proxmox.Status, error) {
	if read.Status != nil {
		v.StatusListed = read.Listed
		return *read.Status, nil
	}
	if t, _ := l.Tasks.Last(m); l.JustCreated(m) && (l.Cache.First(m) || !power.HAEnabled(m.Parameters())) && !l.Before.HasRecentTask(v.VMID, t.UPID) {
		return proxmox.Status{Status: "stopped", QMPStatus: "stopped"}, nil
	}
	if s, ok := l.listedStatus(ctx, m, v); ok {
		v.StatusListed = true
		return s, nil
	}
	return l.Client.Status(ctx, v.Ref)
}

// JustCreated reports whether the last task of the VM was its creation by us, a short time ago.
func (l Lookup) JustCreated(m object.Machine) bool {
	t, ok := l.Tasks.Last(m)
	return ok && t.OK() && tasktrack.CreatesVM(t.Type) && l.Tasks.Active(m)
}

// listedStatus returns the status in the cluster's list. It is sufficient for a VM that is seen for the first time, unless something has recently
// happened to it.
func (l Lookup) listedStatus(ctx context.Context, m object.Machine, v *vmstate.VM) (proxmox.Status, bool) {
	if !l.Cache.First(m) || l.Before.HasRecentTask(v.VMID, "") {
		return proxmox.Status{}, false
	}
	guests, err := l.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return proxmox.Status{}, false
	}
	g, ok := proxmox.GuestOf(guests, v.VMID)
	if !ok || g.Node != v.Node || vmcache.StateInHA(g) != "" || g.Lock != v.Lock() || g.Status == "unknown" || g.Name != v.ListedName() {
		return proxmox.Status{}, false
	}
	s := proxmox.Status{Status: "running", QMPStatus: g.Status, Uptime: g.Uptime}
	if g.Status == "stopped" {
		s.Status = g.Status
	}
	return s, true
}

// Predict caches the expected state of the VM after a change of its options, or returns what must be read to know it.
func (l Lookup) Predict(m object.Machine, v *vmstate.VM, change qemu.Difference) vmcache.Dirty {
	values, known := change.Predict(v.Values)
	if !known || v.Status.Running() || v.Lock() != "" {
		return vmcache.DirtyConfig
	}
	l.Cache.Predict(m, values)
	return 0
}

// How long after our last attempt a running clone of the same template may be the one that we started. The time is short if this process has its
// task, because the VM soon appears, and longer if it does not, as after a restart.
const (
	cloneGrace        = time.Minute
	cloneGraceUnknown = 10 * time.Minute
)

// lostFor is how long a call whose answer was lost may still create the VM.
const lostFor = target.Arrival * time.Second

// MayBeCreated reports whether a call whose answer was lost may still create or restore the VM, although no task is listed. After a restart it relies
// on the annotations of the managed reconciler, which do not contain why a creation has failed.
func (l Lookup) MayBeCreated(m object.Machine) bool {
	asked, err := act.Parse(m.GetAnnotations()[object.AnnotationRestoreInPlace])
	if err == nil && asked.Open() && asked.Call.Task == "" && asked.Call.MayShow(l.Now) {
		return true
	}
	lost, known := l.Tasks.LostCreation(m)
	if !known {
		lost = LostCreation(m)
	}
	if since, destroyed := l.Tasks.Destroyed(m); destroyed && !since.Before(lost) {
		return false // The created VM no longer exists.
	}
	return !lost.IsZero() && l.Now.Sub(lost).Abs() < lostFor
}

// LostCreation returns when the answer to a call that creates the VM of a Machine may have been lost, as far as its annotations show: the last call
// was not seen to succeed, and no VM was seen. It is zero if none was lost.
func LostCreation(m object.Machine) time.Time {
	pending, failed, succeeded := meta.GetExternalCreatePending(m), meta.GetExternalCreateFailed(m), meta.GetExternalCreateSucceeded(m)
	last := pending
	if failed.After(last) {
		last = failed
	}
	if !last.After(succeeded) || m.Observation().UUID != "" {
		return time.Time{}
	}
	return last
}

// MayBeCreating reports whether a task may be creating the VM although it cannot be seen yet. The task of a clone only names its source.
func (l Lookup) MayBeCreating(ctx context.Context, m object.Machine, vmid int) (bool, error) {
	if busy, err := l.Before.Busy(vmid); busy || err != nil {
		return busy, err
	}
	source, begun := m.GetAnnotations()[object.AnnotationSource], meta.GetExternalCreatePending(m)
	grace := cloneGraceUnknown
	if l.Tasks.Creates(m) && !meta.ExternalCreateIncomplete(m) {
		grace = cloneGrace
	}
	if source == "" || begun.IsZero() || l.Now.Sub(begun) > grace {
		return false, nil
	}
	cloned, err := strconv.Atoi(source)
	runs := slices.ContainsFunc(l.Before.Listed, func(t proxmox.Task) bool {
		return t.Running && t.ID == source && t.Type == "qmclone"
	})
	if !runs || err != nil || l.Clones == nil {
		return runs && err == nil, nil
	}
	return l.Clones(ctx, cloned)
}
