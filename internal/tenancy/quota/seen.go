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

package quota

import (
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Seen has what the resources of a tenant are observed to have now.
type Seen struct {
	// Of has the amounts of each resource, by its UID.
	Of map[string]Amounts

	// Listed has the amounts of the tenant's VMs, by their VMIDs. Named has the VMIDs that resources name among them, by the UIDs of the resources.
	Listed map[int]Amounts
	Named  map[string]int

	// Outside has the VMIDs of listed VMs that were adopted and are still outside of the tenant's pools and range.
	Outside map[int]bool

	// Creating has the VMID of each guest of the cluster. The value is true for a VM that may be one of the tenant's under creation: a VM of its own that
	// is not complete, or one in no pool, since a VM is in none until it is complete.
	Creating map[int]bool

	// Others has the amounts of the tenant's VMs that belong to no resource. OtherNumber is their number.
	Others      Amounts
	OtherNumber int

	// Deleting has the UIDs of resources that are being deleted: they wait for nothing.
	Deleting map[string]bool
}

// Adopted returns the VMIDs of VMs that may have been adopted: those that Machines were granted or have left.
func (l Ledger) Adopted() map[int]bool {
	all := map[int]bool{}
	for _, e := range l {
		if e.VMID != 0 && e.Volume == "" && (e.Left || e.Has[VMs] > 0) {
			all[e.VMID] = true
		}
	}
	return all
}

// MayBeStale reports whether a resource may lack room only because a VM is still listed that no longer exists.
func (s Seen) MayBeStale(r Request, name string) bool {
	return s.Others[name] > 0 || r.Beside && s.Listed[s.Named[r.UID]][name] > 0
}

// With returns the observed amounts, with each VM that may be under creation counted only with its entry. This also applies if the entry's resource
// already names another VM that it has not requested yet.
func (s Seen) With(l Ledger) Seen {
	var creating []string
	for uid, e := range l {
		is := e.State() == StateCreating || e.State() == StateLeftCreating
		if is && s.Listed[e.VMID] != nil && s.Named[uid] != e.VMID {
			creating = append(creating, uid)
		}
	}
	if len(creating) == 0 {
		return s
	}
	slices.Sort(creating)
	named := map[int]bool{}
	for _, vmid := range s.Named {
		named[vmid] = true
	}
	s.Of, s.Named = maps.Clone(s.Of), maps.Clone(s.Named)
	for _, uid := range creating {
		vmid := l[uid].VMID
		there := s.Listed[vmid]
		if s.Named[uid] = vmid; named[vmid] {
			continue
		}
		named[vmid], s.Of[uid] = true, Most(s.Of[uid], there)
		s.Others = s.Others.Beyond(there)
		s.OtherNumber--
	}
	return s
}

// A Resource is a resource of the tenant.
type Resource struct {
	UID string

	// VMID that a Machine names, or 0.
	VMID int

	// There are the amounts that its status shows.
	There Amounts

	// Deleting is true while the resource is being deleted.
	Deleting bool
}

// holdersOf returns the UIDs of the resources that VMs count with, by VMID. If several resources name a VM, such as Machines of both scopes of which
// only one can have it, it is the one whose status shows amounts.
func holdersOf(all []Resource) map[int]string {
	holders := map[int]Resource{}
	for _, r := range all {
		h, named := holders[r.VMID]
		if shows := len(r.There) > 0; !named || shows && len(h.There) == 0 || shows == (len(h.There) > 0) && r.UID < h.UID {
			holders[r.VMID] = r
		}
	}
	uids := make(map[int]string, len(holders))
	for vmid, r := range holders {
		uids[vmid] = r.UID
	}
	return uids
}

// See returns what resources have, by their status and by the cluster's list of VMs. A VM or template of the tenant also counts if no resource names
// it, such as a VM that was kept when its Machine was deleted.
func See(all []Resource, guests []proxmox.Guest, owns func(proxmox.Guest) bool) Seen {
	listed := map[int]Amounts{}
	s := Seen{Of: map[string]Amounts{}, Listed: listed, Named: map[string]int{}, Others: Amounts{}, Deleting: map[string]bool{}}
	for _, g := range guests {
		if g.Type == "qemu" && owns(g) {
			listed[g.VMID] = Amounts{VMs: 1, Cores: int64(g.MaxCPU), Memory: g.MaxMemory}
		}
	}
	named, holders := map[int]bool{}, holdersOf(all)
	for _, r := range all {
		there := r.There
		if holders[r.VMID] == r.UID {
			there = Most(there, listed[r.VMID])
		}
		if len(there) > 0 {
			s.Of[r.UID] = there
		}
		if r.Deleting {
			s.Deleting[r.UID] = true
		}
		if named[r.VMID] = true; listed[r.VMID] != nil {
			s.Named[r.UID] = r.VMID
		}
	}
	for vmid, there := range listed {
		if !named[vmid] {
			s.Others.add(there)
			s.OtherNumber++
		}
	}
	return s
}
