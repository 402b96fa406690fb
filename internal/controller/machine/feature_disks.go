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
	"github.com/vitistack/provider-proxmox/internal/controller/machine/migration"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A disksFeature makes disks larger, moves them to other storages, and deletes those that the
// spec no longer lists if it says so.
type disksFeature struct {
	*external
	passive
}

func (e disksFeature) plan(ctx context.Context, m Machine) (proposal, error) {
	if meta.WasDeleted(m) {
		return proposal{}, nil
	}
	moves, rejections, err := e.moveSteps(ctx, m, &e.planned.move)
	return proposal{steps: slices.Concat(e.destroySteps(), moves, e.resizeSteps(m)), rejections: slices.Concat(rejections, e.refusedResizes())}, err
}

// refusedResizes says which disks that are to be larger are not for the tenant, such as those of other VMs: Proxmox VE asks for nothing but rights on
// the VM that has them.
func (e disksFeature) refusedResizes() []string {
	disks := map[string]string{}
	for _, r := range e.planned.Resizes(e.vm.Config) {
		disks[r.Device] = e.vm.Config[r.Device]
	}
	return e.tenant.Change(e.vm, qemu.Difference{Set: disks})
}

// moveSteps move disks, one after the other, or say why one cannot go. A disk
// whose storage is only where the VM is to migrate goes there with it.
func (e disksFeature) moveSteps(ctx context.Context, m Machine, j *migration.Migration) ([]step, []string, error) {
	moves := e.planned.Moves(e.vm.Config)
	if len(moves) == 0 {
		return nil, nil, nil
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, nil, err
	}
	var (
		steps []step
		no    []string
	)
	for _, d := range moves {
		here, there := preflight.StorageProblem(d.Storage, storages, e.vm.Node), preflight.StorageProblem(d.Storage, storages, j.Target)
		switch {
		case !d.OwnedBy(e.vm.VMID):
			no = append(no, fmt.Sprintf("disk %q (%s) cannot move: volume %s is not this VM's own, and its source would be deleted", d.Name, d.Device, d.Disk.Volume))
		case here == "" && d.OnlyStopped() && e.vm.Status.Running():
			no = append(no, "tpm cannot move while the VM runs: Proxmox VE moves its state of a stopped VM only")
		case here == "":
			steps = append(steps, e.onceInForce(d.Device, e.moveStep(m, d)))
		case j.Target != "" && there == "":
			j.AddDisk(d)
		default:
			no = append(no, fmt.Sprintf("disk %q (%s) cannot move: %s%s",
				d.Name, d.Device, here, e.checks.MissingReadPrivilege(ctx, preflight.StorageReadPrivilege(d.Storage))))
		}
	}
	return steps, no, nil
}

// moveStep moves one disk. What it leaves is deleted when all has been copied,
// whosever PVE holds it to be: it has to be the VM's own.
func (e disksFeature) moveStep(m Machine, d qemu.Move) step {
	o := proxmox.MoveOptions{Disk: d.Device, Storage: d.Storage, Format: d.Format, Delete: true, Digest: e.vm.Digest}
	return step{
		needsDigest: true, specAlone: true,
		difference: v1alpha1.MachinePendingChange{Option: d.Device + " storage", Current: d.From(), Desired: d.To()},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			what := "move " + d.Device + " to " + d.To()
			if err := e.tasks.RefusedAt(m, what, o.Digest); err != nil {
				return "", err
			}
			e.warn(m, e.planned.capacity, d.Name)
			u, err := e.client.MoveDisk(ctx, e.vm.Ref, o)
			if proxmox.IsInSnapshot(err) {
				err = errors.Wrapf(err, "disk %q (%s) cannot move while a snapshot of the VM has it: remove the snapshot", d.Name, d.Device)
				e.tasks.RefuseAt(m, what, o.Digest, err)
			}
			return u, err
		},
	}
}

// resizeSteps make disks larger.
func (e disksFeature) resizeSteps(m Machine) []step {
	var steps []step
	for _, r := range e.planned.Resizes(e.vm.Config) {
		steps = append(steps, e.onceInForce(r.Device, step{
			difference: v1alpha1.MachinePendingChange{Option: r.Device + " size", Current: r.From.String(), Desired: r.To.String()},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				e.cache.PredictResize(m, r.Device, r.To.String())
				e.warn(m, e.planned.capacity, r.Name)
				return e.client.Resize(ctx, e.vm.Ref, r.Device, r.To.String(), e.planned.currentDigest(e.vm))
			},
		}))
	}
	return steps
}

// onceInForce is a step for a disk, which PVE does only with one that the VM has
// already: another one that is pending waits for the restart.
func (e disksFeature) onceInForce(disk string, o step) step {
	if !e.vm.InForce(disk) {
		o.call, o.atNextStart = nil, true
	}
	return o
}

// destroySteps delete disks that the list has asked to be destroyed.
func (e disksFeature) destroySteps() []step {
	var steps []step
	for _, device := range e.planned.Devices.Destroyed(e.planned.MachineParameters, e.vm.Config) {
		change := proxmox.Change{Delete: []string{device}, Destroy: true, Digest: e.vm.Digest}
		steps = append(steps, step{
			needsDigest: true,
			difference:  v1alpha1.MachinePendingChange{Option: device, Current: e.vm.Config[device]},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				return e.client.ConfigureAsync(ctx, e.vm.Ref, change)
			},
		})
	}
	return steps
}
