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
	"sync"
	"time"
	"weak"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// reservedFor is how long a VMID stays reserved for its owner: long enough to create the VM, which then occupies it.
const reservedFor = 10 * time.Minute

// reservations holds the VMIDs that were recently handed out, by owner.
type reservations struct {
	mu sync.Mutex
	by map[int]reservation

	// of holds the VMID that each owner was given last.
	of map[string]int

	scan scan
}

type reservation struct {
	owner string
	until time.Time
}

// A scan records how far a range of VMIDs was searched, so that many VMs created at once do not each search all VMIDs in use.
type scan struct {
	guests weak.Pointer[proxmox.Guest] // the list from which taken was built
	taken  map[int]bool

	// All VMIDs from lowest up to but excluding next are taken or held, until the first of the held ones is free again.
	lowest, next int
	until        time.Time
}

// ReserveVMID returns the lowest VMID from lowest to highest that no guest has and that was not recently given to another owner here. PVE has no
// reservations: the first to create a guest gets the VMID, so the caller must be prepared to lose it.
func (c *Cluster) ReserveVMID(ctx context.Context, owner string, lowest, highest int) (int, error) {
	guests, err := c.Guests(ctx, Recent)
	if err != nil {
		return 0, err
	}
	id := c.ids.lowest(owner, lowest, highest, guests, c.now())
	if id == 0 {
		return 0, errors.Errorf("no free VMID from %d to %d: all are in use", lowest, highest)
	}
	return id, nil
}

// RenewVMID reserves a VMID for the owner that was given it earlier, before a restart or before the reservation expired.
func (c *Cluster) RenewVMID(id int, owner string) {
	c.ids.mu.Lock()
	defer c.ids.mu.Unlock()
	c.ids.hold(id, reservation{owner: owner, until: c.now().Add(reservedFor)})
}

// BlockVMID keeps a VMID from being handed out for a while, because a guest that we cannot see has it.
func (c *Cluster) BlockVMID(id int) { c.RenewVMID(id, "") }

func (r *reservations) lowest(owner string, lowest, highest int, guests []proxmox.Guest, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scan.begin(guests, lowest, now)
	if id, ok := r.of[owner]; ok && id >= lowest && id <= highest && !r.scan.taken[id] {
		r.hold(id, reservation{owner: owner, until: now.Add(reservedFor)})
		return id
	}
	for id := r.scan.next; id <= highest; id++ {
		held := r.by[id]
		if r.scan.taken[id] || now.Before(held.until) {
			r.scan.pass(id, held.until)
			continue
		}
		r.hold(id, reservation{owner: owner, until: now.Add(reservedFor)})
		return id
	}
	return 0
}

// begin continues the search if the list and the range are the same. Otherwise it starts a new one.
func (s *scan) begin(guests []proxmox.Guest, lowest int, now time.Time) {
	var list weak.Pointer[proxmox.Guest]
	if len(guests) > 0 {
		list = weak.Make(&guests[0])
	}
	if s.taken == nil || s.guests != list {
		s.guests, s.taken, s.lowest = list, make(map[int]bool, len(guests)), 0
		for _, g := range guests {
			s.taken[g.VMID] = true
		}
	}
	if s.lowest != lowest || !s.until.IsZero() && !now.Before(s.until) {
		s.lowest, s.next, s.until = lowest, lowest, time.Time{}
	}
}

// pass records that a VMID is not available, and until when if it is only held.
func (s *scan) pass(id int, until time.Time) {
	s.next = id + 1
	if !s.taken[id] && (s.until.IsZero() || until.Before(s.until)) {
		s.until = until
	}
}

func (r *reservations) hold(id int, by reservation) {
	if r.by == nil {
		r.by, r.of = map[int]reservation{}, map[string]int{}
	}
	if before := r.by[id]; r.of[before.owner] == id {
		delete(r.of, before.owner)
	}
	r.by[id] = by
	if by.owner != "" {
		r.of[by.owner] = id
	}
}
