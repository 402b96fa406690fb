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
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A poolClient is the part of a Client that adds VMs to pools.
type poolClient interface {
	PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error)
	JoinPool(ctx context.Context, pool string, vmid int) error
	LeavePool(ctx context.Context, pool string, vmid int) error
}

// A poolFeature keeps the VM in the pool of the spec. If the spec names none, the status shows the pool that the VM is in.
type poolFeature struct {
	noopFeature

	client    poolClient
	inventory Inventory
	vm        *vmstate.VM
}

func (f poolFeature) observe(ctx context.Context, _ Machine, d *desired) error {
	return f.readPool(ctx, *d)
}

func (f poolFeature) plan(_ context.Context, _ Machine, p *plan) (proposal, error) {
	if p.Pool == nil {
		return proposal{}, nil
	}
	return proposal{steps: f.poolSteps(*p.Pool), rejections: p.poolRejections(f.vm)}, nil
}

func (poolFeature) lasts(Machine) bool { return true }

// readPool reads the pool that the VM is a member of. If a list that may be out of date differs, it is read again. PVE does not name a pool that the
// user may not audit, so that the members of the declared pool are read instead.
func (f poolFeature) readPool(ctx context.Context, d desired) error {
	for _, maxAge := range []time.Duration{inventory.Current, inventory.Fresh} {
		guests, err := f.inventory.Guests(ctx, maxAge)
		if err != nil {
			return err
		}
		g, listed := proxmox.GuestOf(guests, f.vm.VMID)
		f.vm.Pool = g.Pool
		if d.Pool == nil || listed && g.Pool == *d.Pool {
			return nil
		}
		if listed && g.Pool == "" && f.recentlyPooled(ctx, *d.Pool) {
			f.vm.Pool = *d.Pool
			return nil
		}
		f.vm.PoolVisibility = vmstate.PoolKnown
		if !listed {
			f.vm.PoolVisibility = vmstate.PoolHidden
		}
	}
	if *d.Pool == "" {
		return nil
	}
	vmids, exists, err := f.client.PoolVMs(ctx, *d.Pool)
	switch {
	case slices.Contains(vmids, f.vm.VMID):
		f.vm.Pool, f.vm.PoolVisibility = *d.Pool, vmstate.PoolKnown
	case proxmox.IsAuthorization(err):
		f.vm.PoolVisibility = vmstate.PoolHidden
	case err != nil:
		return err
	case !exists:
		f.vm.PoolVisibility = vmstate.PoolAbsent
	}
	return nil
}

// recentlyPooled reports whether the VM was recently in a pool that the list may not name. A pool whose members are not cached is read.
func (f poolFeature) recentlyPooled(ctx context.Context, pool string) bool {
	vmids, _, err := f.inventory.PoolVMs(ctx, pool)
	return err == nil && slices.Contains(vmids, f.vm.VMID)
}

// poolSteps returns the steps that move the VM to the pool of the spec.
func (f poolFeature) poolSteps(want string) []step {
	has := f.vm.Pool
	if want == has || f.vm.PoolVisibility != vmstate.PoolKnown {
		return nil
	}
	return []step{{
		lockFree: true, specAlone: true,
		difference: v1alpha1.MachinePendingChange{Option: "pool", Current: has, Desired: want},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return "", f.move(ctx, has, want)
		},
	}}
}

// move moves the VM from one pool to another; either may be none. It invalidates the members of both, whatever the result of the call.
func (f poolFeature) move(ctx context.Context, has, want string) error {
	defer f.inventory.InvalidatePoolMembers(has)
	defer f.inventory.InvalidatePoolMembers(want)
	if want == "" {
		return f.client.LeavePool(ctx, has, f.vm.VMID)
	}
	return f.client.JoinPool(ctx, want, f.vm.VMID)
}

// poolRejections returns a rejection if the pool does not exist.
func (d desired) poolRejections(v *vmstate.VM) []string {
	if v.PoolVisibility == vmstate.PoolAbsent {
		return []string{fmt.Sprintf("pool '%s' not found: create it, or correct pool", *d.Pool)}
	}
	return nil
}
