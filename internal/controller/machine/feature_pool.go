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
	"fmt"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A poolFeature keeps the VM in the pool of the spec. Without one the status shows the pool
// that it is in.
type poolFeature struct {
	*external
	passive
}

func (e poolFeature) observe(ctx context.Context, _ Machine, d *desired) error {
	return e.readPool(ctx, *d)
}

func (e poolFeature) plan(context.Context, Machine) (proposal, error) {
	if e.planned.Pool == nil {
		return proposal{}, nil
	}
	return proposal{steps: e.poolSteps(), rejections: e.planned.poolRejections(e.vm)}, nil
}

// readPool adds the pool that the VM is a member of. A list that may be out of
// date is read again before it is found to differ. It names no pool to who may not audit
// that, which then tells itself whom it has.
func (e poolFeature) readPool(ctx context.Context, d desired) error {
	for _, maxAge := range []time.Duration{inventory.Current, inventory.Fresh} {
		guests, err := e.inventory.Guests(ctx, maxAge)
		if err != nil {
			return err
		}
		g, listed := vmcache.GuestOf(guests, e.vm.VMID)
		e.vm.Pool = g.Pool
		if d.Pool == nil || listed && g.Pool == *d.Pool {
			return nil
		}
		if listed && g.Pool == "" && e.recentlyPooled(ctx, *d.Pool) {
			e.vm.Pool = *d.Pool
			return nil
		}
		e.vm.PoolVisibility = vmstate.PoolKnown
		if !listed {
			e.vm.PoolVisibility = vmstate.PoolHidden
		}
	}
	if *d.Pool == "" {
		return nil
	}
	vmids, exists, err := e.client.PoolVMs(ctx, *d.Pool)
	switch {
	case slices.Contains(vmids, e.vm.VMID):
		e.vm.Pool, e.vm.PoolVisibility = *d.Pool, vmstate.PoolKnown
	case proxmox.IsAuthorization(err):
		e.vm.PoolVisibility = vmstate.PoolHidden
	case err != nil:
		return err
	case !exists:
		e.vm.PoolVisibility = vmstate.PoolAbsent
	}
	return nil
}

// recentlyPooled reports whether the VM was in a pool not long ago that the list may not name. What
// is not known here is asked for.
func (e poolFeature) recentlyPooled(ctx context.Context, pool string) bool {
	vmids, _, err := e.inventory.PoolVMs(ctx, pool)
	return err == nil && slices.Contains(vmids, e.vm.VMID)
}

// poolSteps move the VM to the pool of the spec.
func (e poolFeature) poolSteps() []step {
	want, has := e.planned.Pool, e.vm.Pool
	if want == nil || *want == has || e.vm.PoolVisibility != vmstate.PoolKnown {
		return nil
	}
	return []step{{
		lockFree: true, specAlone: true,
		difference: v1alpha1.MachinePendingChange{Option: "pool", Current: has, Desired: *want},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			if *want == "" {
				return "", e.client.LeavePool(ctx, has, e.vm.VMID)
			}
			return "", e.client.JoinPool(ctx, *want, e.vm.VMID)
		},
	}}
}

// poolRejections are a pool that does not exist.
func (d desired) poolRejections(v *vmstate.VM) []string {
	if v.PoolVisibility == vmstate.PoolAbsent {
		return []string{fmt.Sprintf("pool '%s' not found: create it, or correct pool", *d.Pool)}
	}
	return nil
}
