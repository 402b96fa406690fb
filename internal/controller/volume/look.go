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

package volume

import (
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A view holds what was found about a Volume, and the decision.
type view struct {
	decision

	*state

	cluster    string
	difference []v1alpha1.OptionDifference
	problems   []kind.Problem

	// beside is a problem that is only shown, and prevents nothing.
	beside *kind.Problem

	// found is a disk that has the name of one that was lost, or of one whose identity is uncertain; nil for none.
	found *found

	// storage and node on which a disk is created.
	storage, node string

	// fit is whether the disk fits on the storage of which it is to take more.
	fit capacity.Fit
}

// Observe finds the disk, and decides what to do about it.
func (e *external) Observe(ctx context.Context, m Volume) (managed.ExternalObservation, error) {
	if e.client == nil {
		return managed.ExternalObservation{}, nil
	}
	o, err := e.observe(ctx, m)
	if err != nil {
		target.ShowError(m, err)
		tenancy.ShowRefusal(m, err)
		showBound(m, e.view)
	}
	return o, err
}

func (e *external) observe(ctx context.Context, m Volume) (managed.ExternalObservation, error) {
	v := e.view
	var err error
	if v.cluster, err = e.ClusterOf(ctx, e.inventory, m, v.Volume); err != nil {
		return managed.ExternalObservation{}, err
	}
	owner, _ := qemu.VolumeOwner(v.Volume)
	e.Watch(ctx, e.inventory, m, owner)
	if meta.WasDeleted(m) && !kind.MayChange(m) {
		return managed.ExternalObservation{}, nil
	}
	if err := e.selectDisk(ctx, m); err != nil {
		return managed.ExternalObservation{}, err
	}
	if v.action == release && meta.WasDeleted(m) {
		e.emitRetained(m)
		return managed.ExternalObservation{}, nil
	}
	if v.action == makeStub && v.problem == nil {
		if v.problem, err = e.preflight(ctx, m); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	if err := v.judge(ctx, e.inventory, m.GetName()); err != nil {
		return managed.ExternalObservation{}, err
	}
	no, err := e.room.check(ctx, m, v)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if no != nil {
		v.problem = no
	}
	e.show(m)
	if v.action == makeStub && !v.Made() && (v.problem == nil || !kind.MayChange(m)) && !meta.WasDeleted(m) {
		return managed.ExternalObservation{}, nil
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: v.problem != nil || !v.due() || !kind.MayChange(m)}, nil
}

// due reports whether a call is needed.
func (d *decision) due() bool {
	return slices.Contains([]action{makeStub, migrate, give, move, attach, grow, protect, destroy}, d.action)
}

// emitRetained reports what becomes of a disk that is kept.
func (e *external) emitRetained(m Volume) {
	if e.view.Made() && !e.view.Removing && !e.view.Lost {
		e.Event(m, event.Normal(eventRetained, fmt.Sprintf("disk %s is retained in Proxmox VE", e.view.Volume)))
	}
}

// mostTurns is how often the decision is repeated after the record was updated.
const mostTurns = 4

// look reads the disk, records its state, and decides what to do.
func (e *external) look(ctx context.Context, m Volume) error {
	if e.stillSettled(ctx, m) {
		return nil
	}
	for range mostTurns {
		if err := e.readState(ctx, m); err != nil {
			return err
		}
		e.view.decision = *e.view.decide()
		if e.view.action == lose {
			if err := e.confirmLoss(ctx, m); err != nil {
				return err
			}
		}
		noted, err := e.consented(ctx, m)
		if !noted && err == nil {
			noted, err = e.note(ctx, m)
		}
		if err != nil || !noted {
			return err
		}
	}
	return errors.New("cannot determine the state of the disk yet: it is checked again")
}

// confirmLoss repeats the decision about a disk that looks lost. While a VM is restored in place, its configuration has neither its UUID nor its
// disks, and no lock (PVE::QemuServer, restore_vma_archive). What was read therefore counts only if no task works on the VMs before and after.
func (e *external) confirmLoss(ctx context.Context, m Volume) error {
	for _, read := range []func() error{func() error { return e.readState(ctx, m) }, func() error { return nil }} {
		works, err := e.reader.worksOnDisk(ctx, e.view.state)
		if err != nil {
			return err
		}
		if works != 0 {
			e.view.decision = *because(wait, reasonLocked, "another task of Proxmox VE works on VM %d: the provider waits for it", works)
			return nil
		}
		if err := read(); err != nil {
			return err
		}
	}
	e.view.decision = *e.view.decide()
	return nil
}

// stillSettled reports whether a Volume that was settled still is, according to cached data of the VMs, which takes no call for each of them. That
// data is only trusted to show that there is nothing to do.
func (e *external) stillSettled(ctx context.Context, m Volume) bool {
	v := e.view
	if kind.ReconcileRequested(m) || !settled(m) || !v.Made() || v.Lost || meta.WasDeleted(m) || v.Handover != nil || v.Begun != 0 || v.Task != "" || v.Removing {
		return false
	}
	e.reader.usesKnown = true
	defer func() { e.reader.usesKnown = false }()
	if err := e.readState(ctx, m); err != nil {
		return false // The error recurs in the complete observation.
	}
	v.decision = *v.decide()
	uid := ""
	if w := v.firstClaim(); w != nil {
		uid = w.uid
	}
	return v.action == keep && v.problem == nil && v.Machine == uid && (v.placed() || !kind.MayChange(m))
}

// readState reads the state of the Volume. The tasks are read before the VMs, so that these show their results.
func (e *external) readState(ctx context.Context, m Volume) error {
	s, p := e.view.state, m.Parameters()
	s.now, s.deleted, s.retain = e.Now().Unix(), meta.WasDeleted(m), ptr.Deref(p.ReclaimPolicy, "") == v1alpha1.VolumeRetain
	if ptr.Deref(p.ReclaimPolicy, "") == "" {
		s.retain = s.Adopted
	}
	s.size, s.storage = qemu.SizeOf(v1alpha1.MachineDisk{Size: p.Size}), ptr.Deref(p.Storage, "")
	if err := e.reader.readTasks(ctx, s); err != nil {
		return err
	}
	if err := e.reader.readVMs(ctx, s); err != nil {
		return err
	}
	if err := e.readClaims(ctx, m, s); err != nil {
		return err
	}
	if s.leaving && s.holder != nil && s.holder.offline == "" {
		status, err := e.client.Status(ctx, s.holder.Ref)
		if err != nil {
			return err
		}
		s.holder.running = status.Running()
	}
	if err := e.reader.readStorage(ctx, s); err != nil {
		return err
	}
	return s.readNeighbours(ctx, m, e.peers(m))
}

// note updates the record with the state of the disk, and reports whether the decision has to be repeated.
func (e *external) note(ctx context.Context, m Volume) (bool, error) {
	v := e.view
	switch v.action {
	case settle:
		e.noteStub(m)
	case arrive:
		e.noteArrival(m)
	case follow:
		e.Event(m, v.noteFollowed())
	case forget:
		e.noteEnd(m)
	case lose:
		v.Lost, v.LostAt, v.Message, v.Handover = true, e.Now().Unix(), v.problem.Message, nil
		e.Event(m, event.Warning(eventLost, errors.New(v.problem.Message)))
	case keep, wait, makeStub, migrate, give, move, attach, grow, protect, destroy, release, stuck:
		return e.noteMachine(ctx, m)
	}
	return true, e.save(ctx, m)
}

// noteMachine records for which Machine the disk is kept, and where it was seen. It never requires another decision.
func (e *external) noteMachine(ctx context.Context, m Volume) (bool, error) {
	v := e.view
	uid, name := "", ""
	if w := v.firstClaim(); w != nil {
		uid, name = w.uid, w.name
	}
	moved := v.notePlace(m)
	kept := v.Machine == uid && v.MachineName == name || !v.Made() || !kind.MayChange(m) || meta.WasDeleted(m)
	if !kept {
		v.Machine, v.MachineName = uid, name
	}
	if kept && !moved {
		return false, nil
	}
	return false, e.save(ctx, m)
}

// noteStub records that the stub VM exists, with the disk that it was created with.
func (e *external) noteStub(m Volume) {
	v := e.view
	v.Begun, v.Task, v.Failures, v.FailedAt, v.Message = 0, "", 0, 0, ""
	if v.Made() {
		return
	}
	all := v.stub.volumes()
	if len(all) == 0 {
		v.Lost, v.LostAt, v.Message = true, e.Now().Unix(), fmt.Sprintf("VM %d, which was made with the disk, does not have it"+newVolume, v.stub.VMID)
		v.Volume = fmt.Sprintf("%s:vm-%d-disk-0", e.storageFor(m), v.stub.VMID)
		return
	}
	v.Volume, v.Holder, v.Place = all[0], v.stub.holder(), placeOf(v.stub, all[0], "")
	e.Event(m, event.Normal(eventMade, fmt.Sprintf("disk %s is made", v.Volume)))
}

// noteArrival records that the target of the handover has the disk.
func (e *external) noteArrival(m Volume) {
	v, h := e.view, e.view.Handover
	volume := v.arrived()
	v.Rename(volume)
	v.Holder, v.Place, v.Handover = h.Holder, placeOf(v.target, volume, v.Place.Size), nil
	v.Failures, v.FailedAt, v.Message, v.Lock = 0, 0, "", tasktrack.LockWait{}
	if h.Storage != "" {
		e.Event(m, event.Normal(eventMoved, fmt.Sprintf("the disk is on storage %s, as %s", h.Storage, v.Volume)))
	} else {
		e.Event(m, event.Normal(eventHandedOver, fmt.Sprintf("VM %d has the disk from VM %d, as %s", h.To, h.From, v.Volume)))
	}
	e.inventory.GuestChanged(h.From)
	e.inventory.GuestChanged(h.To)
}

// noteEnd records the end of an attempt, and its failure, if it has failed.
func (e *external) noteEnd(m Volume) {
	v := e.view
	refused := v.Handover != nil && v.Handover.Begun == 0
	switch {
	case v.task != nil && !v.task.OK():
		if err := v.task.Err(); !v.Lock.Waits(err, e.Now()) {
			e.fail(m, err.Error())
		}
	case !refused:
		v.Failures, v.FailedAt, v.Message, v.Lock = 0, 0, "", tasktrack.LockWait{}
	}
	if v.foreign && !v.Made() || v.foreign && v.Begun != 0 {
		e.inventory.BlockVMID(v.VMID)
		v.VMID, v.UUID = 0, ""
	}
	if v.Handover == nil && v.holder != nil {
		e.inventory.GuestChanged(v.holder.VMID) // The size may have changed.
	}
	v.Handover, v.Begun, v.Task, v.Removing = nil, 0, "", false
}

// fail records that an attempt has failed.
func (e *external) fail(m Volume, message string) {
	v := e.view
	v.Failures++
	v.FailedAt, v.Message = e.Now().Unix(), message
	e.Event(m, event.Warning(eventFailed, errors.New(message)))
}

// Event records an event of the disk, unless the Volume only observes. In that case nothing is recorded, and each reconcile would repeat the event.
func (e *external) Event(m Volume, v event.Event) {
	if kind.MayChange(m) {
		e.Parts.Event(m, v)
	}
}

// save writes the record, with the annotations that belong to it. Nothing is written for a disk that is only observed. What was found about it holds
// for this reconcile.
func (e *external) save(ctx context.Context, m Volume) error {
	if !kind.MayChange(m) {
		return nil
	}
	a := e.confinement.signed(m, e.view.String())
	if e.view.Made() {
		a[meta.AnnotationKeyExternalName] = e.view.Volume
	}
	if e.view.cluster != "" {
		a[kind.AnnotationCluster] = e.view.cluster
	}
	if err := kind.Annotate(ctx, e.Kube, m, a); err != nil {
		return err
	}
	m.Observation().Annotations = persisted().Copy(m, m.Observation().Annotations)
	return nil
}
