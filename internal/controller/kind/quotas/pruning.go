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
	VolumeLister
}

// A pruning removes what counts no more from the entries of a tenant.
type pruning struct {
	*Keeper

	// config is the provider configuration that asks, in whose lists the VMs are.
	config  string
	entries quota.Ledger
	seen    quota.Seen
	in      Lister

	// fresh is true if the VMs were listed just now. It is unsure whether some count if they were not.
	fresh, unsure bool
}

// prune entries of resources that are gone, which is asked of the API server: no cache is trusted with that. What they have left in a VM counts
// as long as that is there. One of another tenant by now keeps what it has, which its VM still uses. It reports whether the entries have changed.
func (p *pruning) prune(ctx context.Context, known others) bool {
	before := maps.Clone(p.entries)
	for uid, e := range before {
		is, listed := known[uid]
		if e.Left || listed && (is || len(e.Has) > 0) || !listed && !p.isGone(ctx, uid, e) {
			continue
		}
		if !p.fresh && len(e.Pending) > 0 && e.VMID != 0 && p.judges(e) && !p.lists(e.VMID) {
			p.unsure = true // Its VM may be there since the VMs were listed.
			continue
		}
		p.entries.Leave(uid, p.seen.Outside[e.VMID], p.now())
	}
	p.settle(ctx, before)
	return !maps.EqualFunc(before, p.entries, func(a, b quota.Entry) bool {
		return a.Left == b.Left && a.Volume == b.Volume && a.Creating == b.Creating
	})
}

// replace what a resource has no more to do with, as its record says now, by what it has left of it. What was granted for a VM that was not made is for
// the next one. It reports whether the entries have changed.
func (p *pruning) replace(ctx context.Context, r quota.Request) bool {
	rejected := p.entries.Reject(r)
	if !p.entries.Replaces(r) {
		return rejected
	}
	before, e := maps.Clone(p.entries), p.entries[r.UID]
	if e.Volume != "" && e.VMID == r.VMID { // It has arrived there.
		e.VMID = tenancy.OwnerOf(e.Volume)
		p.entries[r.UID] = e
	}
	p.entries.Leave(r.UID, p.seen.Outside[e.VMID], p.now())
	p.settle(ctx, before)
	return true
}

// settle removes what was left and is there no more. Whether a storage has a disk is read when something is left, and if the VMs were read.
func (p *pruning) settle(ctx context.Context, before quota.Ledger) {
	for uid, e := range maps.Clone(p.entries) {
		if !e.Left || !p.judges(e) {
			continue
		}
		_, settled := before[uid]
		owner := tenancy.OwnerOf(e.Volume)
		switch {
		case e.Creating != 0:
			p.settleCreating(uid, e)
		case e.Volume == "" && p.lists(e.VMID):
		case e.Volume != "" && p.lists(owner) && (settled && !p.fresh || p.has(ctx, owner, e.Volume)):
		case e.Volume != "" && e.VMID != owner && p.lists(e.VMID): // It was on its way there, where it has another name.
			e.Volume = ""
			p.entries[uid] = e
		default:
			delete(p.entries, uid)
		}
	}
}

// appears is how long after its Machine or Volume has gone, or names another one, a VM may come to be listed. A request that was under way has been sent by
// then, and the task of a clone has begun.
const appears = time.Minute

// settleCreating has a VM that was not seen before count as others do once it is complete, and no more if there is none.
func (p *pruning) settleCreating(uid string, e quota.Entry) {
	switch creating, there := p.seen.Creating[e.VMID]; {
	case creating:
	case p.lists(e.VMID):
		p.entries.Complete(uid, p.seen.Outside[e.VMID])
	case !there && p.now().Sub(time.Unix(e.Creating, 0)) < appears:
	case !p.fresh:
		p.unsure = true
	default:
		delete(p.entries, uid)
	}
}

// judges reports whether the lists of the configuration tell what became of an entry: another one that shares the account may see other VMs.
func (p *pruning) judges(e quota.Entry) bool { return e.Config == "" || e.Config == p.config }

// lists reports whether the cluster lists a VM as one of the tenant's.
func (p *pruning) lists(vmid int) bool { return p.seen.Listed[vmid] != nil }

// has reports whether a VM has a disk by its storage. In doubt it has.
func (p *pruning) has(ctx context.Context, vmid int, volume string) bool {
	guests, err := p.in.Guests(ctx, inventory.Current)
	i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == vmid })
	if err != nil || i < 0 {
		return err != nil
	}
	size, err := SizeOf(ctx, p.in, guests[i].Node, volume)
	return size > 0 || err != nil
}
