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

package snapshot

import (
	"context"
	"fmt"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// A room checks the quota of the tenant for a Snapshot.
type room struct {
	// ask returns an error if there is no room for a snapshot. It is nil if there is no quota.
	ask func(ctx context.Context, s quota.Taken) error

	// taken returns the last snapshot that was granted to the Snapshot, which is empty before the first one.
	taken func(ctx context.Context) (quota.Taken, error)
}

func (c *connector) roomFor(m Snapshot, to *connect.Connection) room {
	limits := to.Tenant.Limits()
	if limits == nil {
		return room{}
	}
	_, limited := limits[quota.Snapshots]
	return room{
		ask: func(ctx context.Context, s quota.Taken) error {
			return c.quota.Ask(ctx, m, to, target.Amounts{Wants: quota.Amounts{quota.Snapshots: 1}, Whole: true, Taken: s})
		},
		taken: func(ctx context.Context) (quota.Taken, error) {
			e, err := c.quota.Entered(ctx, to.Name, to.Tenant.Name, string(m.GetUID()))
			if e.Has[quota.Snapshots] == 0 || !limited {
				e.Taken = quota.Taken{}
			}
			return e.Taken, err
		},
	}
}

// checkRoom checks whether the quota prevents the snapshot now.
func (e *external) checkRoom(ctx context.Context) error {
	if e.room.ask == nil {
		return nil
	}
	s := quota.Taken{VMID: e.view.target.VMID, Name: e.view.name}
	p, err := e.takenBefore(ctx, s)
	if p == nil && err == nil {
		p, err = target.NoRoom(ctx, func(ctx context.Context) error { return e.room.ask(ctx, s) })
	}
	if p != nil {
		e.view.decision = because(wait, *p)
	}
	return err
}

// takenBefore returns the problem that the resource has taken another snapshot, which still exists, and which its record no longer names. Users can
// remove a record, and each resource counts as one snapshot.
func (e *external) takenBefore(ctx context.Context, s quota.Taken) (*kind.Problem, error) {
	before, err := e.room.taken(ctx)
	if before.Name == "" || before == s || err != nil {
		return nil, err
	}
	p := &kind.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: fmt.Sprintf("this resource has taken snapshot %q of VM %d, and counts as that one: "+
		"name it as its external name again, or delete this resource", before.Name, before.VMID)}
	if busy, err := target.Busy(ctx, e.inventory, before.VMID); busy || err != nil {
		return p, err // The snapshot may be about to appear.
	}
	tree := e.view.tree
	if before.VMID != s.VMID {
		guest, err := target.Locate(ctx, e.inventory, e.client, before.VMID)
		if guest == nil || guest.Type != "qemu" || err != nil {
			return nil, err // A container may have the VMID now.
		}
		if tree, err = e.inventory.Snapshots(ctx, guest.Ref(), inventory.Fresh); err != nil {
			return nil, err
		}
	}
	if tree.Named(before.Name) == nil {
		return nil, nil
	}
	return p, nil
}
