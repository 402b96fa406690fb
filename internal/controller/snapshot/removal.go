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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// observeDeleted finds what to remove for a deleted Snapshot: a snapshot that was taken or adopted, and still exists.
func (e *external) observeDeleted(ctx context.Context, m Snapshot) (managed.ExternalObservation, error) {
	none, there := managed.ExternalObservation{}, managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
	v, r := e.view, e.view.record
	if ptr.Deref(m.Parameters().RemovalPolicy, "") == v1alpha1.SnapshotRetain && r.Removal == "" {
		e.Event(m, event.Normal(target.EventRetained, "snapshot "+v.name+" is retained in Proxmox VE"))
		return none, nil
	}
	if !kind.MayChange(m) {
		return none, nil
	}
	if running, err := e.removing(ctx, m); running || err != nil {
		return there, err
	}
	if err := e.look(ctx, m); err != nil {
		return there, err
	}
	if v.leaves() {
		return there, nil
	}
	if v.action == stuck && v.entry != nil {
		e.Event(m, event.Warning(target.EventLeftBehind, errors.Errorf("snapshot %s is left where it is: %s", v.name, v.problem.Message)))
	}
	return none, nil
}

// leaves reports whether there is something to remove, or to wait for before that is known.
func (v *view) leaves() bool {
	switch v.action {
	case keep, wait:
		return true
	case stuck:
		return v.problem.Reason == reasonIncomplete
	case start, adopt, settle, fail, forget, lose:
	}
	return false
}

// removing reports whether the removal is under way. A failed removal is reported, and tried again.
func (e *external) removing(ctx context.Context, m Snapshot) (bool, error) {
	r := e.view.record
	if r.Removal == "" {
		return e.waitsForLock(), nil
	}
	t, offline, err := e.taskOf(ctx, r.Removal, "qmdelsnapshot")
	if err != nil {
		return false, err
	}
	if offline != nil {
		e.view.decision = because(wait, *offline)
		return true, nil
	}
	if t != nil && t.Running {
		e.view.decision = because(wait, kind.Problem{Reason: target.ReasonDeleting, Message: "the snapshot is being removed"})
		return true, nil
	}
	r.Removal, r.Message = "", ""
	if t != nil && !t.OK() && !r.Lock.Waits(t.Err(), e.Now()) {
		_, r.Message = proxmox.SnapshotFailure(t.Err())
		e.Event(m, event.Warning(target.EventRemovalFailed, errors.New(r.Message)))
	}
	e.inventory.InvalidateGuest(e.view.target.VMID)
	return e.waitsForLock(), e.save(ctx, m)
}

// waitsForLock reports whether the removal waits because PVE held the lock of the VM a moment ago.
func (e *external) waitsForLock() bool {
	if !e.view.record.Lock.BacksOff(e.Now()) {
		return false
	}
	e.view.decision = because(wait, target.HeldLock("removed"))
	return true
}

// Delete starts to remove the snapshot, if it is proven to belong to this resource and nothing else works on the VM.
func (e *external) Delete(ctx context.Context, m Snapshot) (managed.ExternalDelete, error) {
	none := managed.ExternalDelete{}
	e.ShowDeleting(m, e.view.problem, e.view.record.Message)
	v := e.view
	if v.guest == nil || v.entry == nil || v.action == wait {
		return none, nil
	}
	if there, err := e.stillThere(ctx); err != nil || !there {
		return none, err
	}
	if err := e.unused(ctx, m); err != nil {
		return none, err
	}
	if err := e.unlocked(ctx); err != nil {
		return none, err
	}
	if err := e.permit(ctx, "remove a snapshot of"); err != nil {
		return none, err
	}
	return none, e.remove(ctx, m)
}

// unlocked returns an error while something else works on the VM.
func (e *external) unlocked(ctx context.Context) error {
	config, err := e.client.Config(ctx, e.view.ref())
	if err != nil {
		return err
	}
	p, err := target.Locked(ctx, e.inventory, e.view.target.VMID, config.Values)
	switch {
	case err != nil || p == nil:
		return err
	case e.view.problem != nil:
		p = e.view.problem
	}
	return kind.Held(target.Error(*p))
}

// remove removes the snapshot, and follows the task.
func (e *external) remove(ctx context.Context, m Snapshot) error {
	v, r := e.view, e.view.record
	u, err := e.client.RemoveSnapshot(ctx, v.ref(), v.name)
	e.inventory.InvalidateGuest(v.target.VMID)
	if err != nil {
		return err
	}
	r.Removal, r.Message = u, ""
	e.Follow(e.inventory, m, u)
	return e.save(ctx, m)
}
