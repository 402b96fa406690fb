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
	"slices"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Watching is the part of an Inventory that tells of signs of change.
type Watching interface {
	Watch(ctx context.Context, key string, vmid int, w inventory.Watcher) bool
	Watches(key string, vmid int) bool
	Unwatch(key string)
	Changed(vmid int)
	CatchUp(ctx context.Context) bool
}

// remember the VM as it was seen last, unless there is a reason to look at it.
func (e *external) remember(ctx context.Context, m Machine, id qemu.Identity) bool {
	if !e.inventory.Watches(string(m.GetUID()), id.VMID) {
		return false
	}
	if at := e.sights.seenAt(m); at != nil && at != e.inventory {
		e.inherit(ctx, m, id)
	}
	busy := e.before.err == nil && e.before.ours
	e.vm = e.sights.recall(m, id, e.inventory, busy)
	if e.vm == nil {
		return false
	}
	off, err := e.silent(ctx, e.vm.Node)
	return err == nil && !off
}

// inherit what is known of the VM through another connection to the cluster, as far as
// this one shows the same. To read all VMs because of a new token would be in vain.
func (e *external) inherit(ctx context.Context, m Machine, id qemu.Identity) {
	guests, err := e.inventory.Guests(ctx)
	if err != nil {
		return
	}
	if g, listed := guestOf(guests, id.VMID); listed {
		before := e.sights.seenAt(m)
		if e.sights.inherit(m, e.inventory, g); e.sights.seenAt(m) != before {
			before.Unwatch(string(m.GetUID()))
		}
	}
}

// hasToLook says whether what is planned for the VM, as it is remembered, needs a
// look before. Before anything is done to a VM it is proven ours.
func (e *external) hasToLook(ctx context.Context, m Machine) bool {
	if busy, err := e.before.busy(e.vm.VMID); busy || err != nil {
		return false
	}
	switch {
	case meta.WasDeleted(m):
		return !e.tasks.waits(m)
	case e.plan.empty(), !kind.Manages(m), e.tasks.resting(m), e.tasks.waits(m), !e.plan.mayPass(e.vm):
		return false
	}
	e.proven = e.newborn(m) && e.sights.fresh(m) || e.plan.onlyStarts() && e.stillOurs(ctx, m)
	return !e.proven
}

// stillOurs says whether the VM was proven ours lately, and nobody else has done anything
// to it until now.
func (e *external) stillOurs(ctx context.Context, m Machine) bool {
	return e.sights.proven(m) && e.inventory.CatchUp(ctx) && e.sights.proven(m)
}

// onlyStarts says whether the VM is as it is to be, and is to be started.
func (p plan) onlyStarts() bool {
	started := p.power == powerOn
	p.power = keepPower
	return started && p.empty()
}

// glance before a look: from now on the VM is watched.
func (e *external) glance(ctx context.Context, m Machine, id qemu.Identity) glance {
	key := string(m.GetUID())
	e.sights.leave(m, e.inventory)
	unbroken := e.inventory.Watch(ctx, key, id.VMID, spotter{sights: e.sights, uid: m.GetUID(), wake: e.waker(m)})
	return e.sights.glance(m, id, e.inventory, unbroken)
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

// beingBorn says whether a task of ours creates the VM, which has nothing to show
// before that ends.
func (e *external) beingBorn(m Machine) bool {
	return e.before.err == nil && e.before.ours && e.tasks.creates(m)
}

// found is the VM, or nil if there is none. Where nothing was begun, the cluster's list
// is good enough: PVE refuses to make a VM whose VMID is taken.
func (e *external) found(ctx context.Context, m Machine, id qemu.Identity) (*vm, error) {
	if m.GetAnnotations()[AnnotationNode] == "" && meta.GetExternalCreatePending(m).IsZero() && !meta.WasDeleted(m) {
		guests, err := e.inventory.RecentGuests(ctx)
		if _, listed := guestOf(guests, id.VMID); err != nil || !listed {
			return nil, err
		}
	}
	node := m.GetAnnotations()[AnnotationNode]
	switch {
	case e.tasks.destroyed(m):
		return e.remains(ctx, id.VMID)
	case e.newborn(m) && node != "": // The list may have it where it was made from.
		if v, err := e.look(ctx, proxmox.Ref{Node: node, VMID: id.VMID}); v != nil || err != nil {
			return v, err
		}
	}
	return e.find(ctx, id.VMID, node)
}

// remains is the VM that has the VMID of one that we have destroyed, or nil.
func (e *external) remains(ctx context.Context, vmid int) (*vm, error) {
	guests, err := e.inventory.FreshGuests(ctx)
	if err != nil {
		return nil, err
	}
	g, ok := guestOf(guests, vmid)
	if !ok {
		return nil, nil
	}
	return e.relook(ctx, g)
}

// enrich adds the status, if that has to be read. Of a VM that we have just created
// it is known, unless HA was told of it since, and of one that nobody has touched
// lately the cluster's list has it.
func (e *external) enrich(ctx context.Context, m Machine, g glance) error {
	if g.status != nil {
		e.vm.Status = *g.status
		return nil
	}
	if t, _ := e.tasks.last(m); e.newborn(m) && (e.sights.first(m) || !haOn(m.Parameters())) && !e.before.names(e.vm.VMID, t.UPID) {
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

// newborn says whether the last that was done to the VM is that we have made it, not
// long ago.
func (e *external) newborn(m Machine) bool {
	t, ok := e.tasks.last(m)
	return ok && t.OK() && births(t.Type) && e.tasks.active(m)
}

// births says whether tasks of a type make VMs.
func births(task string) bool { return slices.Contains([]string{"qmcreate", "qmclone"}, task) }

// names says whether a task, other than the one given, is listed that works on a VM
// or did not long ago.
func (v taskView) names(vmid int, but proxmox.UPID) bool {
	return v.err != nil || slices.ContainsFunc(v.listed, func(t proxmox.Task) bool { return t.ID == strconv.Itoa(vmid) && t.UPID != but })
}

// listedStatus is the status as the cluster lists it, which is good enough for a VM
// that is seen for the first time, unless something has happened to it lately.
func (e *external) listedStatus(ctx context.Context, m Machine) (proxmox.Status, bool) {
	if !e.sights.first(m) || e.before.names(e.vm.VMID, "") {
		return proxmox.Status{}, false
	}
	guests, err := e.inventory.Guests(ctx)
	if err != nil {
		return proxmox.Status{}, false
	}
	g, ok := guestOf(guests, e.vm.VMID)
	if !ok || g.Node != e.vm.Node || stateInHA(g) != "" || g.Lock != e.vm.lock() || g.Status == "unknown" || g.Name != e.vm.listedName() {
		return proxmox.Status{}, false
	}
	s := proxmox.Status{Status: "running", QMPStatus: g.Status, Uptime: g.Uptime}
	if g.Status == "stopped" {
		s.Status = g.Status
	}
	return s, true
}

// inferChange after a change of options that was made.
func (e *external) inferChange(m Machine) {
	values, known := e.plan.change.Applied(e.vm.values)
	if !known || e.vm.Status.Running() || e.vm.lock() != "" {
		e.unsure |= blurConfig
		return
	}
	e.sights.infer(m, values)
}

// changed has others read anew what they know of the VM.
func (e *external) changed(m Machine) {
	if id, err := identityOf(m); err == nil {
		e.inventory.Changed(id.VMID)
	}
}

// settleSight has the VM read again after something was done to it, unless it is
// known what it is like now, or a task goes on whose end tells.
func (e *external) settleSight(m Machine, err error) {
	e.sights.act(m)
	e.changed(m)
	_, waits := proxmox.Turn(err)
	if err != nil && !waits {
		e.unsure = blurAll
	}
	if e.unsure != 0 {
		e.sights.blur(m, e.unsure)
	}
}
