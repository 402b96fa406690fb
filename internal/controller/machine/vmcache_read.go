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

package machine

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
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

// A lookup finds the VM, as it is or as it was seen last.
type lookup struct{ *external }

// ChangeWatcher is the part of an Inventory that tells of signs of change.
type ChangeWatcher interface {
	Watch(ctx context.Context, key string, vmid int, w inventory.Watcher) bool
	Watches(key string, vmid int) bool
	Unwatch(key string)
	InvalidateGuest(vmid int)
	CatchUp(ctx context.Context, maxAge time.Duration) bool
}

// cachedVM returns the VM as it was seen last, unless there is a reason to look at it.
func (e lookup) cachedVM(ctx context.Context, m Machine, id qemu.Identity) bool {
	if !e.inventory.Watches(string(m.GetUID()), id.VMID) {
		return false
	}
	if at := e.cache.SeenAt(m); at != nil && at != e.inventory {
		e.adoptCached(ctx, m, id)
	}
	busy := e.tasksBefore.Err == nil && e.tasksBefore.Ours
	e.vm = e.cache.Cached(m, id, e.inventory, busy)
	if e.vm == nil {
		return false
	}
	off, err := e.reader.NodeUnreachable(ctx, e.vm.Node)
	return err == nil && !off
}

// adoptCached takes over what is known of the VM through another connection to the cluster, as far as
// this one shows the same. To read all VMs because of a new token would be in vain.
func (e lookup) adoptCached(ctx context.Context, m Machine, id qemu.Identity) {
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return
	}
	if g, listed := vmcache.GuestOf(guests, id.VMID); listed {
		before := e.cache.SeenAt(m)
		if e.cache.Handover(m, e.inventory, g); e.cache.SeenAt(m) != before {
			before.Unwatch(string(m.GetUID()))
		}
	}
}

// mustRead reports whether what is planned for the VM, as it is remembered, needs a
// look before. Before anything is done to a VM it is proven ours.
func (e lookup) mustRead(ctx context.Context, m Machine) bool {
	if busy, err := e.tasksBefore.Busy(e.vm.VMID); busy || err != nil {
		return false
	}
	switch {
	case meta.WasDeleted(m):
		if e.tasks.BackoffError(m) {
			return false
		}
		e.ownershipProven = e.sameProcess(ctx, m)
		return !e.ownershipProven
	case e.due(m).empty(), !kind.Manages(m), e.tasks.BackoffError(m), !e.planned.proceeds(e.vm):
		return false
	}
	e.ownershipProven = e.justCreated(m) && e.cache.Fresh(m) || e.planned.onlyStarts() && e.ownershipCurrent(ctx, m)
	return !e.ownershipProven
}

// ownershipCurrent reports whether the VM was proven ours lately, and nobody else has done anything
// to it until now.
func (e lookup) ownershipCurrent(ctx context.Context, m Machine) bool {
	return e.cache.Proven(m) && e.inventory.CatchUp(ctx, inventory.Fresh) && e.cache.Proven(m)
}

// sameProcess reports whether the VM has run since it was proven ours: nobody can replace one that runs, and until a second ago nobody
// has stopped it. That is enough to ask its guest to shut down, after which it is read before it is removed.
func (e lookup) sameProcess(ctx context.Context, m Machine) bool {
	return e.vm.Status.Running() && e.cache.Unbroken(m) && e.inventory.CatchUp(ctx, inventory.Recent) && e.cache.Unbroken(m)
}

// onlyStarts reports whether the VM is as it is to be, and is to be started.
func (p plan) onlyStarts() bool {
	started := p.power == power.On
	p.power = power.Keep
	return started && p.empty()
}

// beginRead begins a read of the VM: from now on the VM is watched.
func (e lookup) beginRead(ctx context.Context, m Machine, id qemu.Identity) vmcache.ReadToken {
	key := string(m.GetUID())
	e.cache.Leave(m, e.inventory)
	unbroken := e.inventory.Watch(ctx, key, id.VMID, vmcache.Watcher{Cache: e.cache, UID: objectstate.UID(m.GetUID()), Wake: e.waker(m)})
	return e.cache.BeginRead(m, id, e.inventory, unbroken)
}

// waker wakes a Machine. Each is kept as long as its Machine is, and so holds on to its
// name only.
func (e *external) waker(m Machine) func() {
	wake := e.wake
	named, _ := e.object.DeepCopyObject().(Machine)
	named.SetUID(m.GetUID())
	named.SetNamespace(m.GetNamespace())
	named.SetName(m.GetName())
	return func() { go wake(named) }
}

// creating reports whether a task of ours creates the VM, which has nothing to show
// before that ends.
func (e *external) creating(m Machine) bool {
	return e.tasksBefore.Err == nil && e.tasksBefore.Ours && e.tasks.Creates(m)
}

// locate is the VM, or nil if there is none. Where nothing was begun, the cluster's list
// is good enough: PVE refuses to make a VM whose VMID is taken.
func (e lookup) locate(ctx context.Context, m Machine, id qemu.Identity) (*vmstate.VM, error) {
	if m.GetAnnotations()[object.AnnotationNode] == "" && meta.GetExternalCreatePending(m).IsZero() && !meta.WasDeleted(m) {
		guests, err := e.inventory.Guests(ctx, inventory.Recent)
		if _, listed := vmcache.GuestOf(guests, id.VMID); err != nil || !listed {
			return nil, err
		}
	}
	node := m.GetAnnotations()[object.AnnotationNode]
	since, destroyed := e.tasks.Destroyed(m)
	switch {
	case destroyed:
		return e.remains(ctx, id.VMID, since)
	case e.justCreated(m) && node != "": // The list may have it where it was made from.
		if v, err := e.reader.GetConfig(ctx, proxmox.Ref{Node: node, VMID: id.VMID}); v != nil || err != nil {
			return v, err
		}
	}
	return e.reader.Find(ctx, id.VMID, node)
}

// remains is the VM that has the VMID of one that we have destroyed, since a time, or nil.
func (e lookup) remains(ctx context.Context, vmid int, since time.Time) (*vmstate.VM, error) {
	guests, err := e.inventory.GuestsSince(ctx, since)
	if err != nil {
		return nil, err
	}
	g, ok := vmcache.GuestOf(guests, vmid)
	if !ok {
		return nil, nil
	}
	return e.reader.GetListed(ctx, g)
}

// readStatus adds the status, if that has to be read. Of a VM that we have just created
// it is known, unless HA was told of it since, and of one that nobody has touched
// lately the cluster's list has it.
func (e lookup) readStatus(ctx context.Context, m Machine, g vmcache.ReadToken) error {
	if g.Status != nil {
		e.vm.Status = *g.Status
		return nil
	}
	if t, _ := e.tasks.Last(m); e.justCreated(m) && (e.cache.First(m) || !power.HAEnabled(m.Parameters())) && !e.tasksBefore.HasRecentTask(e.vm.VMID, t.UPID) {
		e.vm.Status = proxmox.Status{Status: "stopped", QMPStatus: "stopped"}
		return nil
	}
	if s, ok := e.listedStatus(ctx, m); ok {
		e.vm.Status = s
		return nil
	}
	var err error
	e.vm.Status, err = e.client.Status(ctx, e.vm.Ref)
	return err
}

// justCreated reports whether the last that was done to the VM is that we have made it, not
// long ago.
func (e *external) justCreated(m Machine) bool {
	t, ok := e.tasks.Last(m)
	return ok && t.OK() && tasktrack.CreatesVM(t.Type) && e.tasks.Active(m)
}

// listedStatus is the status as the cluster lists it, which is good enough for a VM
// that is seen for the first time, unless something has happened to it lately.
func (e lookup) listedStatus(ctx context.Context, m Machine) (proxmox.Status, bool) {
	if !e.cache.First(m) || e.tasksBefore.HasRecentTask(e.vm.VMID, "") {
		return proxmox.Status{}, false
	}
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return proxmox.Status{}, false
	}
	g, ok := vmcache.GuestOf(guests, e.vm.VMID)
	if !ok || g.Node != e.vm.Node || vmcache.StateInHA(g) != "" || g.Lock != e.vm.Lock() || g.Status == "unknown" || g.Name != e.vm.ListedName() {
		return proxmox.Status{}, false
	}
	s := proxmox.Status{Status: "running", QMPStatus: g.Status, Uptime: g.Uptime}
	if g.Status == "stopped" {
		s.Status = g.Status
	}
	return s, true
}

// predictChange keeps what the VM is like after a change of options that was made.
func (e lookup) predictChange(m Machine) {
	values, known := e.planned.change.Predict(e.vm.Values)
	if !known || e.vm.Status.Running() || e.vm.Lock() != "" {
		e.dirty |= vmcache.DirtyConfig
		return
	}
	e.cache.Predict(m, values)
}
