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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/taskwatch"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// backups returns the reader of the Backups of the scope.
func (s *shared) backups() restore.Backups {
	return restore.Backups{Kube: s.kube, GroupVersion: s.images.MachineKind.GroupVersion()}
}

// backupFinder returns the finder of backups in the cluster.
func (e *external) backupFinder(ctx context.Context) restore.Finder {
	return restore.Finder{
		Backups: e.backups(), Client: e.client, Inventory: e.inventory, Checks: e.checks, SharesCluster: e.sharesCluster(ctx), Tenant: e.tenant,
	}
}

// findBackup finds the backup that the spec names, if any, and ensures that the VM is created on a node that has it.
func (c *creation) findBackup(ctx context.Context, m Machine, backups restore.Finder) error {
	if c.Restore == nil {
		return nil
	}
	var err error
	if c.archive, err = backups.Find(ctx, m, restore.SourceOf(m)); err != nil || c.madeOn == "" {
		return err
	}
	if no := c.archive.Lacks(c.madeOn); no != nil {
		c.madeOn = ""
		if c.Node != nil {
			return no
		}
	}
	return nil
}

// tracker returns the tracker of the calls that restore VMs. PVE gives a VM its intended identity when its restore has succeeded, and leaves what it
// has created if the restore fails.
func (e *external) tracker() restore.Tracker {
	return restore.Tracker{Kube: e.kube, Client: e.client, Members: e.inventory, Reader: e.reader, Now: e.now, MayName: e.tenant.MayName}
}

// observeUnfinished returns the observation of the remains of a failed restore. They block the next attempt, and are removed then, or with the Machine.
func (e *external) observeUnfinished(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	busy, err := e.tasksBefore.Busy(id.VMID)
	if busy || err != nil {
		return e.observeCreating(ctx, m, id)
	}
	if meta.WasDeleted(m) {
		e.ownershipProven = true
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	if !object.MayCreate(m) {
		return e.observeForeign(ctx, m, id)
	}
	ref := e.vm.Ref
	recordTask(m, e.tasks)
	e.vm = nil
	err = e.checkCreatable(ctx, m, id, false)
	if e.creation != nil {
		e.creation.unfinished = &ref
	}
	return managed.ExternalObservation{ConnectionDetails: e.password.Publish(nil)}, err
}

// observeLost returns the observation of the remains of a failed restore in place. They still belong to this Machine, and are only restored again or
// removed.
func (e *external) observeLost(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	if busy, err := e.tasksBefore.Busy(id.VMID); busy || err != nil || meta.WasDeleted(m) {
		return e.observeUnfinished(ctx, m, id)
	}
	e.ownershipProven, e.planned = true, plan{desired: e.spec().desired(m, id)}
	next, err := e.actFeature(restoresInPlace).plan(ctx, m, &e.planned)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	e.planned.steps = next.steps
	o, message := m.Observation(), fmt.Sprintf("VM %d has lost its configuration: a restore in place has failed", id.VMID)
	for _, a := range e.planned.acts {
		if _, why := act.Failure(a.kind, m, a.record); why != "" {
			message = why
		}
	}
	o.Phase, o.Difference, o.Annotations = v1alpha1.MachineError, nil, object.PersistedAnnotations(m)
	e.planned.showActs(m)
	recordTask(m, e.tasks)
	conditions.Set(m, conditions.NotReady(conditions.ReasonRestoreFailed, message))
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: len(next.steps) == 0 || !kind.Manages(m)}, nil
}

// removeUnfinished removes the remains of a failed restore, whose disks PVE itself has removed. The outcome of the removal is not counted as an attempt.
func removeUnfinished(ctx context.Context, in Client, w taskwatch.Watch, m Machine, ref proxmox.Ref) error {
	u, err := in.Delete(ctx, ref, proxmox.DeleteOptions{})
	if err != nil {
		w.RecordError(m, err)
		return errors.Wrap(err, "cannot remove what a restore has left that failed")
	}
	w.Follow(m, u, ref.Node)
	return nil
}
