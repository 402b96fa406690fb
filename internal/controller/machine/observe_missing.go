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
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/claims"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/lookup"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// observeMissing returns the observation where there is no VM. If the VM may be created, everything is decided and checked here, where conditions can
// be shown.
func (e *external) observeMissing(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	e.vm = nil
	recordTask(m, e.tasks)
	if id.VMID != 0 {
		if busy, err := e.lookup().MayBeCreating(ctx, m, id.VMID); busy || err != nil {
			return e.observeCreating(ctx, m, id)
		}
	}
	if meta.WasDeleted(m) && id.VMID != 0 && e.lookup().MayBeCreated(m) {
		return observeLostCreation(m, id, &e.planned)
	}
	if meta.WasDeleted(m) {
		return e.observeCleanup(ctx, m, nil)
	}
	if id.VMID == 0 || !object.MayCreate(m) {
		conditions.SetMissing(m, id)
		return managed.ExternalObservation{ResourceUpToDate: true}, nil // There is nothing to change.
	}
	err := e.checkCreatable(ctx, m, id, false)
	return managed.ExternalObservation{ConnectionDetails: e.password.Publish(nil)}, err
}

// observeLostCreation returns the observation of a Machine that is being deleted while Proxmox VE may still carry out the call that creates its VM:
// nothing would remove that VM later.
func observeLostCreation(m Machine, id qemu.Identity, p *plan) (managed.ExternalObservation, error) {
	m.Observation().Annotations = object.PersistedAnnotations(m)
	p.waitReason = kind.Wait(kind.Held(errors.Errorf(
		"the answer to the call that creates VM %d was lost: the provider waits a minute for the VM, to remove it if it appears", id.VMID)))
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// observeCleanup returns the observation of a Machine that is being deleted and has no VM. It removes the images that were created for the VM, except
// for images of the VM that now has the VMID: it may be the same VM with another UUID, and would not start without them.
func (e *external) observeCleanup(ctx context.Context, m Machine, there qemu.Config) (managed.ExternalObservation, error) {
	var err error
	if e.planned.orphanedRules, err = e.rules(m).Orphaned(ctx, m); err != nil || len(e.planned.orphanedRules) > 0 {
		return managed.ExternalObservation{ResourceExists: true}, err
	}
	all, err := e.noCloud().Stale(ctx, m, e.planned.image)
	e.planned.staleImages = slices.DeleteFunc(all, func(p nocloud.Ref) bool { return there.Uses(p.Volume) != "" })
	if err != nil || len(e.planned.staleImages) > 0 {
		return managed.ExternalObservation{ResourceExists: true}, err
	}
	if e.planned.waitReason, err = e.noCloud().Wait(ctx, m); err != nil || e.planned.waitReason != nil {
		return managed.ExternalObservation{ResourceExists: true}, err
	}
	if err := e.addresses.Release(ctx, m, m.GetAnnotations()[object.AnnotationUUID], there); err != nil {
		return managed.ExternalObservation{ResourceExists: true}, err
	}
	e.recreator(m).EmitOrphaned(m)
	e.forget(m)
	return managed.ExternalObservation{}, nil
}

// checkCreatable decides how the VM is created, or shows why it cannot be. taken is true if a VM was seen that has the VMID and another owner.
func (e *external) checkCreatable(ctx context.Context, m Machine, id qemu.Identity, taken bool) error {
	c, err := e.decideCreation(ctx, m, id, taken)
	if err != nil {
		showUncreatable(m, err)
		return err
	}
	e.creation = c
	m.Observation().Phase = v1alpha1.MachinePending
	return nil
}

// decideCreation decides how the VM is created, and reserves what it needs: room in the quota, addresses, and the turn of its task.
func (e *external) decideCreation(ctx context.Context, m Machine, id qemu.Identity, taken bool) (*creation, error) {
	failed := e.tasks.BackoffReason(m)
	lost := proxmox.IsAlreadyExists(failed) && object.MayReplaceVMID(m)
	if failed != nil && !lost {
		return nil, failed
	}
	if err := e.claims().CheckVMID(ctx, m, id); err != nil {
		return nil, err
	}
	create := e.creator(ctx)
	c, err := create.prepare(ctx, m, id)
	if err != nil {
		return nil, err
	}
	c.vmidTaken, c.first, c.lost = taken || lost, meta.GetExternalCreatePending(m).IsZero(), lookup.LostCreation(m)
	if lost || taken && create.wasRejected(m, id) {
		c.rejected = id.VMID // The task has shown that a guest has it which we may not see.
	}
	if err := create.admit(ctx, m, c); err != nil {
		e.scheduler.Release(m) // The node is released for VMs that are created meanwhile.
		return nil, err
	}
	if lost {
		return c, nil // It gets another VMID before its task begins.
	}
	return c, create.reserveTask(c)
}

// showUncreatable shows why the VM is not created: it waits for something, or cannot be created as the spec has it.
func showUncreatable(m Machine, why error) {
	if conditions.SetSourceWait(m, why) {
		return
	}
	if _, ok := proxmox.Waiting(why); ok {
		m.Observation().Phase = v1alpha1.MachinePending
		message := "the VM is not created yet: " + conditions.WaitReason(why)
		conditions.Set(m, xpv2.Creating().WithMessage(message), conditions.New(conditions.TypeVMCreated, corev1.ConditionFalse, conditions.ReasonCreating, message))
		return
	}
	m.Observation().Phase = v1alpha1.MachineError
	conditions.SetRejection(m, why)
}

// wasRejected reports whether our last task has failed because another guest has the VMID.
func (e creator) wasRejected(m Machine, id qemu.Identity) bool {
	t, ended := e.tasks.Last(m)
	return ended && proxmox.TakenVMID(t.Err()) == id.VMID
}

// admit checks whether there is room in the quota for the VM, and claims its addresses if so: a Machine that waits for room takes no addresses from
// others.
func (e creator) admit(ctx context.Context, m Machine, c *creation) error {
	if err := e.tenant.Room(ctx, m, c.Desired, c.sourceConfig(), c.place()); err != nil {
		return err
	}
	if err := e.addresses.Claim(ctx, m, e.spec.pooled, m.Parameters().Networks); err != nil {
		return err
	}
	return e.spec.pooled.Wait()
}

// reserveTask reserves the turn of the task that is about to create the VM.
func (e creator) reserveTask(c *creation) error {
	if c.source == nil {
		return e.client.ReserveCreate(proxmox.Ref{Node: c.madeOn, VMID: c.Identity.VMID})
	}
	return e.client.ReserveClone(c.source.Ref(), c.Identity.VMID)
}

// observePartialDestroy returns the observation of a VM that is being destroyed, or of the remains of a destruction that was interrupted, which only
// root on the node can remove.
func observePartialDestroy(m Machine, v *vmstate.VM, tasksBefore tasktrack.View) (managed.ExternalObservation, error) {
	busy, err := tasksBefore.Busy(v.VMID)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if busy {
		conditions.Set(m, conditions.NotReady(conditions.ReasonLocked, fmt.Sprintf("VM %d is being removed", v.VMID)))
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	err = errors.Errorf("the removal of VM %d on node %s was interrupted after its disks were removed: "+
		"remove the rest on the node by \"qm destroy %d --skiplock\"",
		v.VMID, v.Node, v.VMID)
	m.Observation().Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonLocked, err.Error()))
	return managed.ExternalObservation{}, err
}

// observeForeign returns the observation of a VM that has another owner. It is treated as if there were none: a VMID that we chose is replaced, one
// that the user named is a conflict.
func (e *external) observeForeign(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	busy, err := e.tasksBefore.Busy(id.VMID)
	if why := restore.Overwritten(m, id, e.vm, busy); why != "" && e.tenant.MayName(ctx, m, id.VMID) {
		e.vm, e.planned.waitReason = nil, kind.Wait(errors.New(why)) // A deletion waits as well.
		conditions.Set(m, conditions.NotReady(conditions.ReasonLocked, why))
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, err
	}
	node, there := e.vm.Node, e.vm.Config
	e.vm = nil
	if meta.WasDeleted(m) {
		return e.observeCleanup(ctx, m, there)
	}
	if object.MayReplaceVMID(m) && object.MayCreate(m) {
		err := e.checkCreatable(ctx, m, id, true)
		return managed.ExternalObservation{ConnectionDetails: e.password.Publish(nil)}, err
	}
	err = errors.Errorf("VM %d already exists%s and is not this resource's: it is left alone. "+
		"Delete this resource, which leaves that VM alone too, and create one without vmid or with another, or with the annotation %s: \"%d\" to adopt it",
		id.VMID, e.tenant.OnNode(node), meta.AnnotationKeyExternalName, id.VMID)
	m.Observation().Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonOwnershipConflict, err.Error()),
		conditions.New(conditions.TypeVMCreated, corev1.ConditionFalse, conditions.ReasonCreationFailed, err.Error()))
	return managed.ExternalObservation{}, err
}

// observeConflict returns the observation of a VM that is another Machine's, as if there were none and none may be created.
func (s *shared) observeConflict(m Machine, err error) (managed.ExternalObservation, error) {
	if claims.IsConflict(err) && meta.WasDeleted(m) {
		if claims.IsLeftBehind(err) {
			s.record.Event(m, xpevent.Warning(events.ReasonLeftBehind, err))
		}
		s.forget(m)
		return managed.ExternalObservation{}, nil
	}
	claims.ShowConflict(m, err)
	return managed.ExternalObservation{}, err
}

// observeRefused returns the observation of a Machine that is being deleted and whose VM does not belong to its tenant: that VM stays.
func (e *external) observeRefused(ctx context.Context, m Machine, id qemu.Identity, why error) (managed.ExternalObservation, error) {
	seen, err := e.observeForeign(ctx, m, id)
	if err == nil && !seen.ResourceExists {
		e.record.Event(m, xpevent.Warning(events.ReasonLeftBehind, errors.Wrapf(why, "VM %d is left where it is", id.VMID)))
	}
	return seen, err
}
