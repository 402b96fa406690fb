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

package image

import (
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A removal finds the files and templates of an Image to remove: those that are no longer required, and not in use.
type removal struct {
	reader reader
	usage  usage
}

func (e *external) removal() removal { return removal{reader: e.reader(), usage: e.usage()} }

// observeDeleted finds what to remove for a deleted Image. What an older Image creates too belongs to that one.
func (e *external) observeDeleted(ctx context.Context, m Image, v *view) (managed.ExternalObservation, error) {
	owner, err := e.olderClaim(ctx, m, v)
	if owner != "" || err != nil {
		return managed.ExternalObservation{}, err
	}
	for _, rev := range v.record.Revisions {
		if err := e.removal().planRevisionRemoval(ctx, m, v, rev); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	exists := slices.ContainsFunc(v.record.Revisions, func(r *revision) bool { return !r.empty() })
	if exists {
		show(m, v, e.now())
	}
	return managed.ExternalObservation{ResourceExists: exists, ResourceUpToDate: true}, nil
}

// planOldRevisions finds the revisions that are no longer kept.
func (r removal) planOldRevisions(ctx context.Context, m Image, v *view) error {
	last := v.record.latest()
	if last == nil {
		return nil
	}
	kept := int(ptr.Deref(m.Parameters().Keep, 1))
	for _, rev := range slices.Backward(v.record.Revisions) {
		switch {
		case rev == last:
			continue
		case rev == v.record.current():
			if err := r.lookAtCurrent(ctx, m, v, rev); err != nil {
				return err
			}
			continue
		case rev.Complete && kept > 0:
			kept--
			continue
		}
		if err := r.planRevisionRemoval(ctx, m, v, rev); err != nil {
			return err
		}
	}
	return nil
}

// lookAtCurrent checks whether the revision that Machines are created from exists, while a newer one is being created. What is missing of it cannot
// be downloaded again.
func (r removal) lookAtCurrent(ctx context.Context, m Image, v *view, rev *revision) error {
	for _, key := range rev.fileKeys() {
		i := v.leaving(rev, key)
		i.removing, i.superseded = false, true
		if err := r.reader.lookAtFile(ctx, m, v, i); err != nil {
			return err
		}
	}
	return nil
}

// planRevisionRemoval decides about the files and templates of a revision to remove, unless it is in use.
func (r removal) planRevisionRemoval(ctx context.Context, m Image, v *view, rev *revision) error {
	if used, err := r.usage.inUse(ctx, m, v, rev); used || err != nil {
		return err
	}
	if err := r.reader.leaveTemplates(ctx, m, v, rev); err != nil {
		return err
	}
	for _, key := range rev.fileKeys() {
		if err := r.reader.lookAtFile(ctx, m, v, v.leaving(rev, key)); err != nil {
			return err
		}
	}
	return nil
}

// leaveUnused decides about removing templates that the spec no longer requires, unless they are in use.
func (r removal) leaveUnused(ctx context.Context, m Image, v *view, rev *revision) error {
	if len(rev.Templates) == 0 {
		return nil
	}
	if used, err := r.usage.inUse(ctx, m, v, rev); used || err != nil {
		return err
	}
	return r.reader.leaveTemplates(ctx, m, v, rev)
}

// removal returns what to do about an item to remove. start means that what was begun is first brought to its end as usual, keep that nothing can be
// done now, and settle that the item can be removed or forgotten.
func (i *item) removal(v *view) action {
	a := i.attempt()
	switch {
	case a.Removal != "", i.lost():
		return settle
	case i.away(v):
		return keep
	case slices.Contains([]action{join, settle, fail, forget}, i.action):
		return start
	case i.action == wait && a.Task == "" && i.begun():
		return keep // The result of what was begun may still appear, and what is busy is left alone.
	}
	return settle
}

// lost reports whether the item was on a storage whose definition is deleted, or on a node that is no longer a member of the cluster, where nothing
// can be removed.
func (i *item) lost() bool { return i.undefined || i.nodeRemoved }

// node returns the node that has the item, or works on its storage.
func (i *item) node() string {
	if i.template != nil {
		return i.template.Node
	}
	return i.place.Node
}

// why returns why an item is lost.
func (i *item) why() string {
	if i.undefined {
		return noStorage
	}
	return "its node is not a member of the cluster any more"
}

// away reports whether the item is at a place that cannot be read now, or is created by a task on a node that cannot be asked.
func (i *item) away(v *view) bool {
	return !v.online(i.place.Node) && !i.place.Shared || i.offline != "" || i.unlisted != ""
}

// begun reports whether any part of the item may be in PVE.
func (i *item) begun() bool {
	if i.template != nil {
		return i.template.VMID != 0
	}
	return i.file.Begun != 0 || i.file.Done
}

// attempt returns the attempt of the item.
func (i *item) attempt() *attempt {
	if i.template != nil {
		return &i.template.attempt
	}
	return &i.file.attempt
}

// remove removes an item, or forgets it if it does not exist or is not ours.
func (e *external) remove(ctx context.Context, m Image, v *view, i *item) error {
	a := i.attempt()
	if i.lost() {
		e.event(m, event.Warning(eventLeftBehind, errors.Errorf("%s: %s is left in place: %s", i, i.name(), i.why())))
		i.forget()
		v.record.drop()
		return nil
	}
	if a.Removal != "" {
		return e.finishRemoval(ctx, m, v, i)
	}
	if a.Task != "" {
		return e.client.StopTask(ctx, proxmox.UPID(a.Task)) // The task cleans up after itself.
	}
	if i.foreign {
		e.event(m, event.Warning(eventLeftBehind, errors.Errorf("%s is left in place: %s", i, i.message)))
	}
	if i.template != nil && (i.action == keep || i.action == convert) {
		return e.removeTemplate(ctx, m, i)
	}
	if i.file != nil && i.action == keep && i.volume != nil {
		return e.removeFile(ctx, m, i)
	}
	i.forget()
	v.record.drop()
	return nil
}

// forget removes an item from the record.
func (i *item) forget() {
	if i.template != nil {
		delete(i.rev.Templates, i.key)
		return
	}
	delete(i.rev.Files, i.key)
}

// removeFile starts to delete a file that is as it was created. It lists the storage once more, because the file may have been replaced.
func (e *external) removeFile(ctx context.Context, m Image, i *item) error {
	there, err := e.client.Volumes(ctx, i.place.Node, i.place.Storage, string(contentOf(m.Parameters())))
	if err != nil {
		return err
	}
	v := volumeNamed(there, i.rev.File)
	if v == nil || !i.file.is(*v) {
		return nil // The next reconcile finds that.
	}
	u, err := e.client.DeleteVolume(ctx, i.place.Node, v.ID)
	return e.noteRemoval(m, i, u, err)
}

// removeTemplate starts to destroy a template whose VM is proven to be ours.
func (e *external) removeTemplate(ctx context.Context, m Image, i *item) error {
	t := i.template
	config, _, err := e.reader().vm(ctx, t)
	switch {
	case err != nil:
		return err
	case config == nil || t.identity().Prove(config) != ours:
		i.forget()
		return nil
	}
	u, err := e.client.Delete(ctx, proxmox.Ref{Node: t.Node, VMID: t.VMID}, proxmox.DeleteOptions{Purge: true})
	return e.noteRemoval(m, i, u, err)
}

// noteRemoval records the task that removes an item, unless it could not be started.
func (e *external) noteRemoval(m Image, i *item, u proxmox.UPID, err error) error {
	if err != nil {
		return err
	}
	if i.attempt().Removal = string(u); u == "" {
		i.forget()
	}
	e.follow(m, u)
	return nil
}

// finishRemoval forgets an item whose removal has ended.
func (e *external) finishRemoval(ctx context.Context, m Image, v *view, i *item) error {
	a := i.attempt()
	t, err := e.reader().task(ctx, a.Removal)
	switch {
	case err != nil || t != nil && t.Running:
		return err
	case t != nil && t.OK():
		i.forget()
		v.record.drop()
		return nil
	}
	a.Removal = ""
	if t == nil {
		return nil // The next reconcile determines whether the item exists.
	}
	err = t.Err()
	e.event(m, event.Warning(eventRemovalFailed, err))
	return errors.Wrapf(err, "cannot remove the %s", i)
}
