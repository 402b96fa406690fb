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

package backup

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// retains reports whether the backup stays when its resource is deleted.
func retains(m Backup) bool {
	return ptr.Deref(m.Parameters().RemovalPolicy, v1alpha1.BackupRetain) != v1alpha1.BackupDelete
}

// retain reports that the backup of a deleted resource stays.
func (e *external) retain(m Backup) {
	if r := e.view.record; r.Done && !r.Gone {
		e.Event(m, event.Normal(target.EventRetained, "backup "+r.Volume+" is retained in Proxmox VE"))
	}
}

// observeDeleted finds what to remove for a deleted Backup: a backup that was created or adopted, and still exists.
func (e *external) observeDeleted(ctx context.Context, m Backup) (managed.ExternalObservation, error) {
	none, there := managed.ExternalObservation{}, managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
	v := e.view
	if !kind.MayChange(m) {
		return none, nil
	}
	switch err := e.look(ctx, m); {
	case tenancy.IsRefusal(err):
		e.leave(m, err)
		return none, nil
	case err != nil:
		return there, err
	}
	if running, err := e.removing(ctx, m); running || err != nil {
		return there, err
	}
	if v.action == wait && v.node == "" {
		left, err := e.leaveLost(ctx, m)
		return managed.ExternalObservation{ResourceExists: !left, ResourceUpToDate: true}, err
	}
	if v.action == keep || v.action == wait {
		return there, nil
	}
	if v.action == stuck && v.volume != nil {
		e.Event(m, event.Warning(target.EventLeftBehind, errors.Errorf("backup %s is left where it is: %s", v.volume.ID, v.problem.Message)))
	}
	return none, nil
}

// leaveLost reports whether a backup that no node can be asked for is left where it is, because it can never be removed. Otherwise it is waited for,
// or stays if the spec says so.
func (e *external) leaveLost(ctx context.Context, m Backup) (bool, error) {
	storage := storageOf(e.volumeID(m))
	if storage == "" {
		storage = m.Parameters().Storage
	}
	why, err := e.lost(ctx, storage)
	switch {
	case err != nil:
		return false, err
	case why != "":
		what := "what was made for it on storage " + storage
		if id := e.volumeID(m); id != "" {
			what = "backup " + id
		}
		e.Event(m, event.Warning(target.EventLeftBehind, errors.Errorf("%s is left where it is: %s", what, why)))
		return true, nil
	case !retains(m):
		e.view.problem.Message += ", or set removalPolicy to Retain to leave the backup where it is"
	}
	return false, nil
}

// removing reports whether the removal is under way. A failed removal is reported, and tried again.
func (e *external) removing(ctx context.Context, m Backup) (bool, error) {
	r := e.view.record
	if r.Removal == "" {
		return false, nil
	}
	t, offline, err := target.Task(ctx, e.inventory, e.client, r.Removal)
	if err != nil {
		return false, err
	}
	if offline != nil {
		e.view.decision = because(wait, *offline)
		return true, nil
	}
	if t != nil && t.Running {
		e.view.decision = because(wait, kind.Problem{Reason: target.ReasonDeleting, Message: "the backup is being removed"})
		return true, nil
	}
	r.Removal, r.Message = "", ""
	if t != nil && !t.OK() {
		_, r.Message = backuplog.Failure(t.ExitStatus, nil)
		e.Event(m, event.Warning(target.EventRemovalFailed, errors.New(r.Message)))
	}
	if err := e.save(ctx, m); err != nil {
		return false, err
	}
	return false, e.look(ctx, m)
}

// removable returns an error while the backup must not be removed, because a user has protected it, or a VM is being put back to it.
func (e *external) removable(ctx context.Context, m Backup, volume *proxmox.Volume) error {
	if volume.Protected && !liftable(m, e.view.record) {
		return kind.Held(target.Error(kind.Problem{Reason: reasonProtected, Message: fmt.Sprintf(
			"backup %s is protected in Proxmox VE: it is removed once the protection is lifted there, or stays with removalPolicy Retain", volume.ID)}))
	}
	users, err := e.users(ctx, m)
	if err != nil {
		return err
	}
	return e.CheckUnused(volume.ID, users)
}

// liftable reports whether this provider has protected a backup without a request, and no user has.
func liftable(m Backup, r *record) bool { return r.Guarded && m.Parameters().Protected == nil }

// Delete starts to remove the backup, if it is proven to belong to this resource.
func (e *external) Delete(ctx context.Context, m Backup) (managed.ExternalDelete, error) {
	none := managed.ExternalDelete{}
	e.ShowDeleting(m, e.view.problem, e.view.record.Message)
	v, r := e.view, e.view.record
	if v.volume == nil || v.action != keep || retains(m) && !r.Lifted {
		return none, nil
	}
	volume, err := e.stillThere(ctx)
	if err != nil || volume == nil {
		return none, err
	}
	if retains(m) {
		return none, e.protect(ctx, m)
	}
	if err := e.removable(ctx, m, volume); err != nil {
		m.SetConditions(xpv2.Deleting().WithMessage(err.Error()).WithObservedGeneration(m.GetGeneration()))
		return none, err
	}
	if err := e.permitToSee(ctx, m); err != nil {
		return none, err
	}
	if volume.Protected {
		if err := e.unprotect(ctx, m); err != nil {
			return none, err
		}
	}
	u, err := e.client.DeleteVolume(ctx, v.node, volume.ID)
	if err != nil {
		return none, err
	}
	r.Removal, r.Message = u, ""
	e.Follow(e.inventory, m, u)
	return none, e.save(ctx, m)
}

// unprotect removes the protection of the backup before its removal. That is recorded first, so that the protection is restored if the backup is to
// stay after all.
func (e *external) unprotect(ctx context.Context, m Backup) error {
	e.view.record.Lifted = true
	if err := e.save(ctx, m); err != nil {
		return err
	}
	return e.client.ChangeVolume(ctx, e.view.node, e.view.record.Volume, nil, ptr.To(false))
}

// protect restores the protection of a backup that was to be removed, and is to stay.
func (e *external) protect(ctx context.Context, m Backup) error {
	if err := e.client.ChangeVolume(ctx, e.view.node, e.view.record.Volume, nil, ptr.To(true)); err != nil {
		return err
	}
	e.view.record.Lifted = false
	return e.save(ctx, m)
}
