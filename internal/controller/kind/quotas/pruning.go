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

package quotas

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// A Lister lists the VMs and the volumes of a cluster.
type Lister interface {
	connect.GuestLister
	inventory.VolumeLister
}

// A pruning removes entries that no longer count from an account.
type pruning struct {
	*Keeper

	// config is the provider configuration that asks, whose lists contain the VMs.
	config  string
	entries quota.Ledger
	seen    quota.Seen
	in      Lister

	// ofTenant has the resources that were listed, by their UIDs: true for a resource of the tenant, and false for one that belongs to another tenant
	// now.
	ofTenant map[string]bool

	// begun has the VMs whose creation was begun and that were not seen yet, by the UIDs of their resources.
	begun map[string]quota.Resource

	// fresh is true if the VMs were listed just now. Otherwise, needsFresh is set if a fresh list may change what counts.
	fresh, needsFresh bool
}

// prune removes the entries of deleted resources, but keeps what they have left in VMs as long as that exists. It reports whether the entries have
// changed.
func (p *pruning) prune(ctx context.Context) bool {
	before := maps.Clone(p.entries)
	for uid, e := range before {
		if e.Left || !p.ends(ctx, uid, e) {
			continue
		}
		if !p.fresh && len(e.Pending) > 0 && e.VMID != 0 && p.ofConfig(e) && !p.lists(e.VMID) {
			p.needsFresh = true // Its VM may have been created since the VMs were listed.
			continue
		}
		p.entries.Leave(uid, p.seen.Outside[e.VMID], p.now())
	}
	p.pruneLeft(ctx, before)
	return !maps.EqualFunc(before, p.entries, func(a, b quota.Entry) bool { return a.State() == b.State() && a.Volume == b.Volume })
}

// ends reports whether the entry of a resource is to be removed: the resource is deleted, or belongs to another tenant now and has nothing. A
// resource of another tenant that has something keeps its entry, because its VM still uses it. A cache is not trusted to prove that a resource is
// deleted.
func (p *pruning) ends(ctx context.Context, uid string, e quota.Entry) bool {
	is, listed := p.ofTenant[uid]
	if listed {
		return !is && e.State() == quota.StateWaiting
	}
	return p.isGone(ctx, uid, e)
}

// replace applies a request to the entry of its resource. If the VM was not created, the grant is for the next one. If the resource has another VM or
// disk, or no entry of the one that was begun, an entry records what it has left. replace reports whether the entries have changed.
func (p *pruning) replace(ctx context.Context, r quota.Request) bool {
	begun := p.begun[r.UID]
	left := p.entries.LeaveBegun(r, begun.There, begun.VMID, p.now())
	if left {
		p.pruneLeft(ctx, p.entries)
	}
	if rejected := p.entries.Reject(r); !p.entries.Replaces(r) {
		return left || rejected
	}
	before, e := maps.Clone(p.entries), p.entries[r.UID]
	if e.Volume != "" && e.VMID == r.VMID { // The disk has arrived in the VM that it was being moved to, where it has another name.
		e.VMID = tenancy.OwnerOf(e.Volume)
		p.entries[r.UID] = e
	}
	p.entries.Leave(r.UID, p.seen.Outside[e.VMID], p.now())
	p.pruneLeft(ctx, before)
	return true
}

// pruneLeft removes the entries of leftovers that no longer exist according to the lists of VMs and storages. Entries that are not in the ledger
// before are new.
func (p *pruning) pruneLeft(ctx context.Context, before quota.Ledger) {
	for uid, e := range maps.Clone(p.entries) {
		if !p.ofConfig(e) {
			continue
		}
		_, known := before[uid]
		switch state := e.State(); {
		case state == quota.StateLeftCreating:
			p.pruneCreating(uid, e)
		case state == quota.StateLeft && e.Volume != "":
			p.pruneDisk(ctx, uid, e, !known)
		case state == quota.StateLeft && !p.lists(e.VMID):
			delete(p.entries, uid)
		}
	}
}

// pruneDisk removes the entry of a leftover disk once the disk is deleted. It asks the storage if the entry is new, or if the VMs were listed just
// now.
func (p *pruning) pruneDisk(ctx context.Context, uid string, e quota.Entry, isNew bool) {
	owner, ask := tenancy.OwnerOf(e.Volume), isNew || p.fresh
	switch {
	case p.lists(owner) && (!ask || p.has(ctx, owner, e.Volume)):
	case e.VMID != owner && p.lists(e.VMID): // The disk was being moved to that VM, where it has another name.
		e.Volume = ""
		p.entries[uid] = e
	default:
		delete(p.entries, uid)
	}
}

// creationDelay is how long a VM may take to be listed after its resource was deleted or asks for another VM. The request that creates it may be
// under way, and the task of a clone may be about to begin.
const creationDelay = time.Minute

// pruneCreating decides about a VM that was not seen before its resource left it:
//
//	the VM                                            its entry
//	is being created, or may be                       stays
//	is complete, and the tenant's                     is in state Left
//	does not exist, and was left in creationDelay     stays
//	is missing in a list that is not fresh            stays, and the list is read again
//	does not exist, or is not the tenant's            is removed
func (p *pruning) pruneCreating(uid string, e quota.Entry) {
	switch creating, there := p.seen.Creating[e.VMID]; {
	case creating:
	case p.lists(e.VMID):
		p.entries.Complete(uid, p.seen.Outside[e.VMID])
	case !there && p.now().Sub(time.Unix(e.Creating, 0)) < creationDelay:
	case !p.fresh:
		p.needsFresh = true
	default:
		delete(p.entries, uid)
	}
}

// ofConfig reports whether the lists of the configuration show the VM of an entry. Another configuration that shares the account may see other VMs.
func (p *pruning) ofConfig(e quota.Entry) bool { return e.Config == "" || e.Config == p.config }

// lists reports whether the cluster lists a VM of the tenant.
func (p *pruning) lists(vmid int) bool { return p.seen.Listed[vmid] != nil }

// has reports whether a VM has a disk, according to the storage. A disk that cannot be looked up counts as existing.
func (p *pruning) has(ctx context.Context, vmid int, volume string) bool {
	guests, err := p.in.Guests(ctx, inventory.Current)
	i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == vmid })
	if err != nil || i < 0 {
		return err != nil
	}
	size, err := inventory.SizeOf(ctx, p.in, guests[i].Node, volume)
	return size > 0 || err != nil
}
