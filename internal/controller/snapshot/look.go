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
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A view holds what was found about a Snapshot, and the decision.
type view struct {
	decision

	record  *record
	name    string
	cluster string

	// requested is true if a reconcile was requested. Cached data must then not be used.
	requested bool

	// target is the VM as it is known, and guest its entry in the list of guests; nil for none.
	target target.VM
	guest  *proxmox.Guest

	// tree has the VM's snapshots, and entry is the one with the name, or nil.
	tree  proxmox.SnapshotTree
	entry *proxmox.Snapshot

	difference []v1alpha1.OptionDifference
	problems   []kind.Problem
}

// ref returns the location of the VM.
func (v *view) ref() proxmox.Ref { return v.guest.Ref() }

// Observe finds the snapshot, determines whether it belongs to the resource, and decides what to do.
func (e *external) Observe(ctx context.Context, m Snapshot) (managed.ExternalObservation, error) {
	switch {
	case e.waits != nil:
		e.view.decision = because(wait, *e.waits)
		e.show(m)
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	case e.client == nil:
		return managed.ExternalObservation{}, nil
	}
	o, err := e.observe(ctx, m)
	if err != nil {
		target.ShowError(m, err)
	}
	return o, err
}

func (e *external) observe(ctx context.Context, m Snapshot) (managed.ExternalObservation, error) {
	v := e.view
	var err error
	if v.name, err = nameOf(m); err != nil {
		return managed.ExternalObservation{}, err
	}
	if v.cluster, err = e.ClusterOf(ctx, e.inventory, m, v.name); err != nil {
		return managed.ExternalObservation{}, err
	}
	v.requested = kind.ReconcileRequested(m)
	e.Watch(ctx, e.inventory, m, v.target.VMID)
	if meta.WasDeleted(m) {
		return e.observeDeleted(ctx, m)
	}
	if err := e.look(ctx, m); err != nil {
		return managed.ExternalObservation{}, err
	}
	if v.action == start && v.problem == nil {
		if v.problem, err = e.preflight(ctx, m); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	if v.action == start && v.problem == nil && kind.MayChange(m) {
		if err := e.checkRoom(ctx); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	e.compare(m)
	e.show(m)
	switch {
	case v.action == start && (v.problem == nil || !kind.MayChange(m)):
		return managed.ExternalObservation{}, nil
	case v.action == keep && len(v.difference) > 0:
		return managed.ExternalObservation{ResourceExists: true}, nil
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// mostTurns is how often the decision is repeated after the record was updated.
const mostTurns = 4

// look reads the snapshot, records its state, and decides what to do.
func (e *external) look(ctx context.Context, m Snapshot) error {
	v := e.view
	var err error
	if v.guest, err = target.Locate(ctx, e.inventory, e.client, v.target.VMID); err != nil {
		return err
	}
	if v.guest == nil || v.guest.Type != "qemu" {
		return e.withoutVM(ctx, m)
	}
	if p, err := target.VMUnreachable(ctx, e.inventory, v.guest.Node); p != nil || err != nil {
		v.decision = decision{action: wait, problem: p}
		return err
	}
	for range mostTurns {
		s, err := e.stateOf(ctx, m)
		if err != nil {
			return err
		}
		if v.record.forgetLost(s, e.Now().Unix()) {
			if err := e.save(ctx, m); err != nil {
				return err
			}
			continue
		}
		v.decision = v.record.decide(s, e.Now().Unix(), m.GetGeneration())
		noted, err := e.note(ctx, m, s)
		if err != nil || !noted {
			return err
		}
	}
	return errors.New("cannot determine the state of the snapshot yet: it is checked again")
}

// withoutVM decides about a snapshot whose VM does not exist. It was deleted with the VM.
func (e *external) withoutVM(ctx context.Context, m Snapshot) error {
	v := e.view
	forgotten := v.record.forgetLost(state{looks: !kind.MayChange(m)}, e.Now().Unix())
	v.decision = because(stuck, v.record.gone())
	if !v.record.made() {
		v.decision = because(stuck, kind.Problem{Reason: target.ReasonVMNotFound, Message: "VM " + strconv.Itoa(v.target.VMID) +
			" does not exist: correct vmid, or see the conditions of the Machine"})
	}
	if !forgotten && (v.record.Gone || !v.record.Done) {
		return nil
	}
	v.record.Gone = v.record.Done
	return e.save(ctx, m)
}

// stateOf returns the state of the snapshot. The tasks are read before the snapshot, so that it shows their results.
func (e *external) stateOf(ctx context.Context, m Snapshot) (state, error) {
	v := e.view
	s := state{looks: !kind.MayChange(m), named: meta.GetExternalName(m) != "" && !v.record.made()}
	if !s.looks {
		if err := e.readTasks(ctx, &s); err != nil {
			return s, err
		}
	}
	if err := e.readEntry(ctx); err != nil {
		return s, err
	}
	s.entry = v.entry
	if s.entry != nil && s.entry.State != "" {
		var err error
		s.busy, err = target.Busy(ctx, e.inventory, e.view.target.VMID)
		return s, err
	}
	return s, nil
}

// readTasks reads the tasks that take the snapshot, or may do so.
func (e *external) readTasks(ctx context.Context, s *state) error {
	r := e.view.record
	var err error
	switch {
	case r.Done:
		return nil
	case r.Task != "":
		s.task, s.offline, err = e.taskOf(ctx, r.Task, "qmsnapshot")
	case r.Begun != 0 || r.Lost:
		s.busy, err = target.Busy(ctx, e.inventory, e.view.target.VMID)
	}
	if err != nil || !r.Lost && (r.Begun == 0 || r.Task != "") {
		return err
	}
	all, err := e.takingTasks(ctx, r.Node)
	if s.offline == nil {
		s.offline = all.Offline
	}
	s.others = slices.DeleteFunc(tasktrack.Since(all.All, r.Before), func(t proxmox.Task) bool { return t.UPID.User() != e.client.Identity().ID })
	return err
}

// taskOf returns a task of a type that works on the VM, or nil if PVE does not know it. No other task is read, because users can write the record.
func (e *external) taskOf(ctx context.Context, u proxmox.UPID, taskType string) (*proxmox.Task, *kind.Problem, error) {
	if !u.Is(taskType, e.view.target.VMID) {
		return nil, nil, nil
	}
	return target.Task(ctx, e.inventory, e.client, u)
}

// takingTasks returns the tasks on a node that take, or have taken, snapshots of the VM.
func (e *external) takingTasks(ctx context.Context, node string) (target.Tasks, error) {
	tasks, err := target.NodeTasks(ctx, e.inventory, e.client, node, "qmsnapshot")
	id := strconv.Itoa(e.view.target.VMID)
	tasks.All = slices.DeleteFunc(tasks.All, func(t proxmox.Task) bool { return t.ID != id })
	return tasks, err
}

// readEntry reads the snapshots of the VM. A cached list is sufficient if it has the snapshot as it was taken.
func (e *external) readEntry(ctx context.Context) error {
	v := e.view
	if v.record.Done && !v.requested {
		tree, err := e.inventory.Snapshots(ctx, v.ref(), inventory.Unchanged)
		if err != nil {
			return err
		}
		v.tree, v.entry = tree, tree.Named(v.name)
		if v.entry != nil && v.entry.State == "" && v.entry.Time.Unix() == v.record.Time {
			return nil
		}
	}
	tree, err := e.inventory.Snapshots(ctx, v.ref(), inventory.Fresh)
	v.tree, v.entry = tree, tree.Named(v.name)
	return err
}

// note updates the record with the state of the snapshot, and reports whether the decision has to be
// repeated.
func (e *external) note(ctx context.Context, m Snapshot, s state) (bool, error) {
	r := e.view.record
	switch e.view.action {
	case adopt:
		return e.adopt(ctx, m)
	case settle:
		return e.settle(ctx, m, s)
	case fail:
		e.noteFailure(m, s.task)
	case forget:
		r.Task = ""
	case lose:
		r.Done, r.Gone, r.Task = true, true, ""
	case keep, wait, start, stuck:
		return false, nil
	}
	return true, e.save(ctx, m)
}

// noteFailure records that the snapshot was not taken. A task that did not get the lock of the VM, which PVE holds for a moment, has done nothing.
func (e *external) noteFailure(m Snapshot, t *proxmox.Task) {
	r := e.view.record
	problem, message := proxmox.SnapshotExists, "another snapshot of the VM has the name: set another name, or adopt that snapshot"
	if t != nil && r.Lock.Waits(t.Err(), e.Now()) {
		r.undo()
		return
	}
	if t != nil {
		problem, message = proxmox.SnapshotFailure(t.Err())
	}
	r.fail(e.Now().Unix(), m.GetGeneration(), string(problem), message)
	e.Event(m, event.Warning(eventFailed, errors.New(message)))
}

// settle records that the snapshot exists, unless an older resource stands for it.
func (e *external) settle(ctx context.Context, m Snapshot, s state) (bool, error) {
	r, entry := e.view.record, e.view.entry
	if p, err := e.conflict(ctx, m, r.UUID); p != nil || err != nil {
		e.view.decision = decision{action: stuck, problem: p}
		return false, err
	}
	if !r.Done {
		r.Consistency = e.consistency(ctx, s)
	}
	r.Done, r.Gone, r.Task, r.Before, r.Lost, r.LostAt = true, false, "", nil, false, 0
	r.Failures, r.Lock = kind.Failures{}, tasktrack.LockWait{}
	r.Time, r.Memory, r.Size = entry.Time.Unix(), entry.Memory, e.sizeOf(ctx)
	e.Event(m, event.Normal(eventTaken, "snapshot "+r.Name+" is taken"))
	return true, e.save(ctx, m)
}

// sizeOf returns the size of the volume with the memory, or 0 if it is unknown. Nothing else depends on whether the user may see it.
func (e *external) sizeOf(ctx context.Context) int64 {
	v := e.view
	if !v.entry.Memory {
		return 0
	}
	config, err := e.client.SnapshotConfig(ctx, v.ref(), v.name)
	if err != nil {
		return 0
	}
	volume := config.Values["vmstate"]
	storage, _, _ := strings.Cut(volume, ":")
	if storage == "" {
		return 0
	}
	all, err := e.inventory.Volumes(ctx, v.guest.Node, storage, "images", inventory.Fresh)
	i := slices.IndexFunc(all, func(x proxmox.Volume) bool { return x.ID == volume })
	if err != nil || i < 0 {
		return 0
	}
	return all[i].Size
}

// adopt records that the snapshot that the user has named belongs to this resource. It writes nothing to PVE.
func (e *external) adopt(ctx context.Context, m Snapshot) (bool, error) {
	v := e.view
	_, p, err := e.prove(ctx)
	if p == nil && err == nil {
		p, err = e.conflict(ctx, m, v.target.UUID)
	}
	if p != nil || err != nil {
		v.decision = decision{action: stuck, problem: p}
		return false, err
	}
	r := v.record
	r.UUID, r.VMID, r.Name, r.Adopted, r.Done = v.target.UUID, v.target.VMID, v.name, true, true
	r.Time, r.Memory, r.Size = v.entry.Time.Unix(), v.entry.Memory, e.sizeOf(ctx)
	e.Event(m, event.Normal(target.EventAdopted, "snapshot "+r.Name+" is this resource's from now on"))
	return true, e.save(ctx, m)
}

// conflict returns the problem that an older resource stands for the snapshot.
func (e *external) conflict(ctx context.Context, m Snapshot, uuid string) (*kind.Problem, error) {
	owner, err := e.Older(ctx, m, e.to, func(other resource.Managed) (string, bool) {
		r, err := recordOf(other)
		return uuid, err == nil && r.made() && strings.EqualFold(r.UUID, uuid) && r.Name == e.view.name
	})
	if owner == "" || err != nil {
		return nil, err
	}
	p := kind.OwnershipConflict("snapshot", e.view.name, owner)
	return &p, nil
}

// save writes the record, with the annotations that belong to it. The name becomes the external name once the snapshot exists. An external name that
// exists before was set by the user, who requests adoption with it.
func (e *external) save(ctx context.Context, m Snapshot) error {
	name := ""
	if e.view.record.Done {
		name = e.view.name
	}
	if err := e.Save(ctx, m, map[string]string{kind.AnnotationSnapshot: e.view.record.String()}, name, e.view.cluster); err != nil {
		return err
	}
	m.Observation().Annotations = kind.SnapshotAnnotations().Copy(m, m.Observation().Annotations)
	return nil
}
