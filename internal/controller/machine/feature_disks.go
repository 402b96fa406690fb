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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A disksFeature grows disks, moves them to other storages, and deletes disks that the spec no longer lists if it says so.
type disksFeature struct {
	noopFeature

	client    Client
	inventory Inventory
	checks    *preflight.Checks
	tenant    tenant.Checks
	tasks     *tasktrack.Tracker
	cache     *vmcache.Cache
	warn      func(m Machine, c capacity.Fit, disks ...string)
	vm        *vmstate.VM
}

func (disksFeature) lasts(Machine) bool { return true }

func (f disksFeature) plan(ctx context.Context, m Machine, p *plan) (proposal, error) {
	if meta.WasDeleted(m) {
		return proposal{}, nil
	}
	next, err := f.planMoves(ctx, m, p)
	next.steps = slices.Concat(f.destroySteps(p.desired), next.steps, f.resizeSteps(m, p))
	next.rejections = append(next.rejections, f.refusedResizes(p.desired)...)
	return next, err
}

// refusedResizes returns a refusal for each disk that the tenant may not grow, such as a disk of another VM: Proxmox VE checks only the rights on the
// VM that has the disk attached.
func (f disksFeature) refusedResizes(d desired) []string {
	disks := map[string]string{}
	for _, r := range d.Resizes(f.vm.Config) {
		disks[r.Device] = f.vm.Config[r.Device]
	}
	return f.tenant.Change(f.vm, qemu.Difference{Set: disks})
}

// planMoves moves disks one after the other, or returns why a disk cannot move. A disk whose storage exists only where the VM is to migrate moves
// along with the VM.
func (f disksFeature) planMoves(ctx context.Context, m Machine, p *plan) (next proposal, err error) {
	moves, target := p.Moves(f.vm.Config), p.move.Target
	if len(moves) == 0 {
		return next, nil
	}
	storages, err := f.inventory.Storages(ctx)
	if err != nil {
		return next, err
	}
	no := func(format string, args ...any) {
		next.rejections = append(next.rejections, fmt.Sprintf(format, args...))
	}
	for _, d := range moves {
		here, there := preflight.StorageProblem(d.Storage, storages, f.vm.Node), preflight.StorageProblem(d.Storage, storages, target)
		switch {
		case !d.OwnedBy(f.vm.VMID):
			no("disk %q (%s) cannot move: volume %s is not this VM's own, and its source would be deleted", d.Name, d.Device, d.Disk.Volume)
		case here == "" && d.OnlyStopped() && f.vm.Status.Running():
			no("tpm cannot move while the VM runs: Proxmox VE moves its state of a stopped VM only")
		case here == "":
			next.steps = append(next.steps, f.onceInForce(d.Device, f.moveStep(m, p, d)))
		case target != "" && there == "":
			next.moves = append(next.moves, d)
		default:
			no("disk %q (%s) cannot move: %s%s", d.Name, d.Device, here, f.checks.MissingReadPrivilege(ctx, preflight.StorageReadPrivilege(d.Storage)))
		}
	}
	return next, nil
}

// moveStep returns the step that moves one disk. PVE deletes the source when all has been copied, whichever VM it assigns the source to and whichever
// VM has it attached. The source must therefore be used by this VM alone.
func (f disksFeature) moveStep(m Machine, p *plan, d qemu.Move) step {
	o := proxmox.MoveOptions{Disk: d.Device, Storage: d.Storage, Format: d.Format, Delete: true, Digest: f.vm.Digest}
	return step{
		needsDigest: true, specAlone: true,
		difference: v1alpha1.MachinePendingChange{Option: d.Device + " storage", Current: d.From(), Desired: d.To()},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			what := "move " + d.Device + " to " + d.To()
			if err := f.tasks.RefusedAt(m, what, o.Digest); err != nil {
				return "", err
			}
			undone := fmt.Sprintf("disk %q (%s) is not moved, since its source would be deleted", d.Name, d.Device)
			if err := f.checks.CheckSourcesUnshared(ctx, f.vm.Ref, undone, d.Disk.Volume); err != nil {
				return "", err
			}
			f.warn(m, p.capacity, d.Name)
			u, err := f.client.MoveDisk(ctx, f.vm.Ref, o)
			if proxmox.IsInSnapshot(err) {
				err = errors.Wrapf(err, "disk %q (%s) cannot move while a snapshot of the VM has it: remove the snapshot", d.Name, d.Device)
				f.tasks.RefuseAt(m, what, o.Digest, err)
			}
			return u, err
		},
	}
}

// resizeSteps returns the steps that grow disks.
func (f disksFeature) resizeSteps(m Machine, p *plan) []step {
	var steps []step
	for _, r := range p.Resizes(f.vm.Config) {
		steps = append(steps, f.onceInForce(r.Device, step{
			difference: v1alpha1.MachinePendingChange{Option: r.Device + " size", Current: r.From.String(), Desired: r.To.String()},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				f.cache.PredictResize(m, r.Device, r.To.String())
				f.warn(m, p.capacity, r.Name)
				return f.client.Resize(ctx, f.vm.Ref, r.Device, r.To.String(), p.currentDigest(f.vm))
			},
		}))
	}
	return steps
}

// onceInForce returns a step for a disk. PVE carries it out only for a disk that the VM already has: if another disk is pending, the step waits for
// the restart.
func (f disksFeature) onceInForce(disk string, o step) step {
	if !f.vm.InForce(disk) {
		o.call, o.atNextStart = nil, true
	}
	return o
}

// destroySteps returns the steps that delete the disks that the list has asked to destroy.
func (f disksFeature) destroySteps(d desired) []step {
	var steps []step
	for _, device := range d.Devices.Destroyed(d.MachineParameters, f.vm.Config) {
		change := proxmox.Change{Delete: []string{device}, Destroy: true, Digest: f.vm.Digest}
		steps = append(steps, step{
			needsDigest: true,
			difference:  v1alpha1.MachinePendingChange{Option: device, Current: f.vm.Config[device]},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				if err := f.checks.CheckDiskUnshared(ctx, f.vm.Ref, f.vm.Config.Volume(device)); err != nil {
					return "", err
				}
				return f.client.ConfigureAsync(ctx, f.vm.Ref, change)
			},
		})
	}
	return steps
}
