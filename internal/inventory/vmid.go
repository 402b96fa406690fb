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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// reservedFor is how long a VMID stays with who asked for it: long enough to
// create the VM, which then keeps it.
const reservedFor = 10 * time.Minute

// reservations are the VMIDs that were handed out lately, by owner.
type reservations struct {
	mu sync.Mutex
	by map[int]reservation
}

type reservation struct {
	owner string
	until time.Time
}

// ReserveVMID returns the lowest VMID from lowest to highest that no guest has
// and nobody else here was given lately. PVE reserves nothing: who creates a
// guest first has the VMID, so the caller must be prepared to lose it.
func (c *Cluster) ReserveVMID(ctx context.Context, owner string, lowest, highest int) (int, error) {
	guests, err := c.Guests(ctx, Recent)
	if err != nil {
		return 0, err
	}
	taken := make(map[int]bool, len(guests))
	for _, g := range guests {
		taken[g.VMID] = true
	}
	id := c.ids.lowest(owner, lowest, highest, taken, c.now())
	if id == 0 {
		return 0, errors.Errorf("no free VMID from %d to %d: all are in use", lowest, highest)
	}
	return id, nil
}

// RenewVMID keeps a VMID for who was given it earlier: longer ago than VMIDs are
// remembered, or before a restart.
func (c *Cluster) RenewVMID(owner string, id int) {
	c.ids.mu.Lock()
	defer c.ids.mu.Unlock()
	if held, ok := c.ids.by[id]; !ok || !c.now().Before(held.until) {
		c.ids.hold(id, reservation{owner: owner, until: c.now().Add(reservedFor)})
	}
}

// BlockVMID keeps a VMID from being handed out for a while: somebody has it whom
// we do not see.
func (c *Cluster) BlockVMID(id int) {
	c.ids.mu.Lock()
	defer c.ids.mu.Unlock()
	c.ids.hold(id, reservation{until: c.now().Add(reservedFor)})
}

func (r *reservations) lowest(owner string, lowest, highest int, taken map[int]bool, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := lowest; id <= highest; id++ {
		held, ok := r.by[id]
		if taken[id] || ok && held.owner != owner && now.Before(held.until) {
			continue
		}
		r.hold(id, reservation{owner: owner, until: now.Add(reservedFor)})
		return id
	}
	return 0
}

func (r *reservations) hold(id int, by reservation) {
	if r.by == nil {
		r.by = map[int]reservation{}
	}
	r.by[id] = by
}
