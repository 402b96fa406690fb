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

// A pruning removes what counts no more from the entries of an account.
type pruning struct {
	*Keeper

	// config is the provider configuration that asks, in whose lists the VMs are.
	config  string
	entries quota.Ledger
	seen    quota.Seen
	in      Lister

	// ofTenant has the resources that were listed, by their UIDs: true for one that is the tenant's, and false for one that is another tenant's by now.
	ofTenant map[string]bool

	// begun are the VMs whose creation was begun for resources, and that nobody has seen yet, by the UIDs of these.
	begun map[string]quota.Resource

	// fresh is true if the VMs were listed just now. If not, needsFresh is set where a list that is read now may change what counts.
	fresh, needsFresh bool
}

// prune removes the entries of resources that are gone, but keeps what they have left in VMs as long as that is there. It reports whether the entries have
// changed.
func (p *pruning) prune(ctx context.Context) bool {
	before := maps.Clone(p.entries)
	for uid, e := range before {
		if e.Left || !p.ends(ctx, uid, e) {
			continue
		}
		if !p.fresh && len(e.Pending) > 0 && e.VMID != 0 && p.ofConfig(e) && !p.lists(e.VMID) {
			p.needsFresh = true // Its VM may be there since the VMs were listed.
			continue
		}
		p.entries.Leave(uid, p.seen.Outside[e.VMID], p.now())
	}
	p.pruneLeft(ctx, before)
	return !maps.EqualFunc(before, p.entries, func(a, b quota.Entry) bool { return a.State() == b.State() && a.Volume == b.Volume })
}

// ends reports whether the entry of a resource is to go: the resource is gone, or is another tenant's by now and has nothing. One of another tenant that
// has something keeps it, as its VM still uses it. No cache is trusted to tell that a resource is gone.
func (p *pruning) ends(ctx context.Context, uid string, e quota.Entry) bool {
	is, listed := p.ofTenant[uid]
	if listed {
		return !is && e.State() == quota.StateWaiting
	}
	return p.isGone(ctx, uid, e)
}

// replace applies what a request says of the entry of its resource: the VM was not made, so that what was granted is for the next one; or the resource has
// another VM or disk, or no entry of the one that was begun, so that there is an entry of what it has left. It reports whether the entries have changed.
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
	if e.Volume != "" && e.VMID == r.VMID { // The disk has arrived in the VM that it was on its way to, where it has another name.
		e.VMID = tenancy.OwnerOf(e.Volume)
		p.entries[r.UID] = e
	}
	p.entries.Leave(r.UID, p.seen.Outside[e.VMID], p.now())
	p.pruneLeft(ctx, before)
	return true
}

// pruneLeft removes the entries of what was left and is there no more, by the lists of VMs and storages. Entries that are not in the ledger of before are
// new.
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

// pruneDisk removes the entry of a disk that was left, once it is gone. Its storage is asked when the entry is new, and when the VMs were listed just now.
func (p *pruning) pruneDisk(ctx context.Context, uid string, e quota.Entry, isNew bool) {
	owner, ask := tenancy.OwnerOf(e.Volume), isNew || p.fresh
	switch {
	case p.lists(owner) && (!ask || p.has(ctx, owner, e.Volume)):
	case e.VMID != owner && p.lists(e.VMID): // It was on its way to that VM, where it has another name.
		e.Volume = ""
		p.entries[uid] = e
	default:
		delete(p.entries, uid)
	}
}

// creationDelay is how long after its resource is gone, or asks for another one, a VM may come to be listed: the request that makes it may be under way,
// and the task of a clone may be about to begin.
const creationDelay = time.Minute

// pruneCreating decides about a VM that nobody had seen when it was left:
//
//	the VM                                            its entry
//	is being made, or may be                          stays
//	is complete, and the tenant's                     is in state Left
//	is not there, and was left within creationDelay   stays
//	is not there by a list that is not fresh          stays, and the list is read again
//	is not there, or is somebody else's               is removed
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

// ofConfig reports whether the lists of the configuration show what became of the VM of an entry: another configuration that shares the account may see
// other VMs.
func (p *pruning) ofConfig(e quota.Entry) bool { return e.Config == "" || e.Config == p.config }

// lists reports whether the cluster lists a VM as one of the tenant's.
func (p *pruning) lists(vmid int) bool { return p.seen.Listed[vmid] != nil }

// has reports whether a VM has a disk, by its storage. A disk that cannot be looked for counts as one that is there.
func (p *pruning) has(ctx context.Context, vmid int, volume string) bool {
	guests, err := p.in.Guests(ctx, inventory.Current)
	i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == vmid })
	if err != nil || i < 0 {
		return err != nil
	}
	size, err := inventory.SizeOf(ctx, p.in, guests[i].Node, volume)
	return size > 0 || err != nil
}
