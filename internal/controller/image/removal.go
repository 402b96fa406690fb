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
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A removal removes what is made of an Image and is of no use any more.
type removal struct{ *external }

// observeDeleted finds what there is to remove of an Image that is deleted. What an
// older Image makes too is that one's.
func (e removal) observeDeleted(ctx context.Context, m Image, v *view) (managed.ExternalObservation, error) {
	owner, err := e.olderClaim(ctx, m, v)
	if owner != "" || err != nil {
		return managed.ExternalObservation{}, err
	}
	for _, rev := range v.record.Revisions {
		if err := e.lookAtLeaving(ctx, m, v, rev); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	exists := slices.ContainsFunc(v.record.Revisions, func(r *revision) bool { return !r.empty() })
	if exists {
		show(m, v, e.now())
	}
	return managed.ExternalObservation{ResourceExists: exists, ResourceUpToDate: true}, nil
}

// lookAtOld finds the revisions that are kept no longer.
func (e removal) lookAtOld(ctx context.Context, m Image, v *view) error {
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
			if err := e.lookAtCurrent(ctx, m, v, rev); err != nil {
				return err
			}
			continue
		case rev.Complete && kept > 0:
			kept--
			continue
		}
		if err := e.lookAtLeaving(ctx, m, v, rev); err != nil {
			return err
		}
	}
	return nil
}

// lookAtCurrent looks whether the revision that Machines are made from is there, while
// a newer one is on its way. What it lacks cannot be downloaded any more.
func (e removal) lookAtCurrent(ctx context.Context, m Image, v *view, rev *revision) error {
	for _, key := range rev.fileKeys() {
		i := v.leaving(rev, key)
		i.removing, i.superseded = false, true
		if err := e.lookAtFile(ctx, m, v, i); err != nil {
			return err
		}
	}
	return nil
}

// lookAtLeaving decides about the files and templates of a revision that is to go,
// unless it is in use.
func (e removal) lookAtLeaving(ctx context.Context, m Image, v *view, rev *revision) error {
	if used, err := e.inUse(ctx, m, v, rev); used || err != nil {
		return err
	}
	if err := e.leaveTemplates(ctx, m, v, rev); err != nil {
		return err
	}
	for _, key := range rev.fileKeys() {
		if err := e.lookAtFile(ctx, m, v, v.leaving(rev, key)); err != nil {
			return err
		}
	}
	return nil
}

// inUse reports whether anybody needs a revision, or may need it, and notes who does.
func (e removal) inUse(ctx context.Context, m Image, v *view, rev *revision) (bool, error) {
	users, err := e.users(ctx, m, v, rev)
	if len(users) > 0 {
		v.users[rev.Number] = users
	}
	if off, down := (vmcache.OfflineError{}), (downError{}); errors.As(err, &off) || errors.As(err, &down) {
		v.unseen[rev.Number] = err.Error()
		return true, nil
	}
	return len(users) > 0, err
}

// A downError says that a storage cannot be looked at now.
type downError struct{ error }

// removal returns what is to be done about an item that is to go: first, what was
// begun is brought to an end as ever; start means that, keep nothing now, and settle
// that it can be removed or forgotten.
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
		return keep // What was begun may show yet, and what is busy is let go.
	}
	return settle
}

// lost reports whether the item was on a storage whose definition is gone, or on a node that is no member of the cluster any more,
// where nothing can be removed.
func (i *item) lost() bool { return i.undefined || i.nodeRemoved }

// node is the one that has the item, or works on its storage.
func (i *item) node() string {
	if i.template != nil {
		return i.template.Node
	}
	return i.place.Node
}

// why is why an item is lost.
func (i *item) why() string {
	if i.undefined {
		return noStorage
	}
	return "its node is not a member of the cluster any more"
}

// away reports whether the item is where it cannot be looked at now, or made by a task on a node that cannot be asked.
func (i *item) away(v *view) bool {
	return !v.online(i.place.Node) && !i.place.Shared || i.offline != "" || i.unlisted != ""
}

// begun reports whether anything of the item may be in PVE.
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

// remove removes an item that is to go, or forgets it if it is not there or not ours.
func (e removal) remove(ctx context.Context, m Image, v *view, i *item) error {
	a := i.attempt()
	if i.lost() {
		e.event(m, event.Warning(eventLeftBehind, errors.Errorf("%s: %s is left in place: %s", i, i.name(), i.why())))
		i.forget()
		v.record.drop()
		return nil
	}
	if a.Removal != "" {
		return e.finishRemoval(ctx, m, i)
	}
	if a.Task != "" {
		return e.stop(ctx, i)
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

// forget takes an item out of the record.
func (i *item) forget() {
	if i.template != nil {
		delete(i.rev.Templates, i.key)
		return
	}
	delete(i.rev.Files, i.key)
}

// stop stops the task that makes an item. It cleans up after itself.
func (e removal) stop(ctx context.Context, i *item) error {
	return e.client.StopTask(ctx, proxmox.UPID(i.attempt().Task))
}

// removeFile starts to delete a file that is as it was made. Its storage is listed
// once more: somebody may have replaced it.
func (e removal) removeFile(ctx context.Context, m Image, i *item) error {
	there, err := e.client.Volumes(ctx, i.place.Node, i.place.Storage, string(contentOf(m.Parameters())))
	if err != nil {
		return err
	}
	v := volumeNamed(there, i.rev.File)
	if v == nil || !i.file.is(*v) {
		return nil // The next look finds that.
	}
	return e.removing(ctx, m, i)(e.client.DeleteVolume(ctx, i.place.Node, v.ID))
}

// removeTemplate starts to destroy a template whose VM is proven to be ours.
func (e removal) removeTemplate(ctx context.Context, m Image, i *item) error {
	t := i.template
	config, _, err := e.vm(ctx, t)
	switch {
	case err != nil:
		return err
	case config == nil || t.identity().Prove(config) != ours:
		i.forget()
		return nil
	}
	return e.removing(ctx, m, i)(e.client.Delete(ctx, proxmox.Ref{Node: t.Node, VMID: t.VMID}, proxmox.DeleteOptions{Purge: true}))
}

// removing notes the task that removes an item.
func (e removal) removing(_ context.Context, m Image, i *item) func(proxmox.UPID, error) error {
	return func(u proxmox.UPID, err error) error {
		if err != nil {
			return err
		}
		if i.attempt().Removal = string(u); u == "" {
			i.forget()
		}
		e.follow(m, u)
		return nil
	}
}

// finishRemoval forgets an item whose removal has ended.
func (e removal) finishRemoval(ctx context.Context, m Image, i *item) error {
	a := i.attempt()
	t, err := e.task(ctx, a.Removal)
	switch {
	case err != nil || t != nil && t.Running:
		return err
	case t != nil && t.OK():
		i.forget()
		e.view.record.drop()
		return nil
	}
	a.Removal = ""
	if t == nil {
		return nil // The next look finds whether it is there.
	}
	err = t.Err()
	e.event(m, event.Warning(eventRemovalFailed, err))
	return errors.Wrapf(err, "cannot remove the %s", i)
}

// mostUsers of a revision that are named.
const mostUsers = 10

// users returns who needs a revision: Machines that are being made from it, VMs whose
// disks are linked to its templates', and VMs that have its ISO image in a drive. Those that are known come with an OfflineError too.
func (e removal) users(ctx context.Context, m Image, v *view, rev *revision) ([]string, error) {
	users, err := e.machineUsers(ctx, m, rev)
	if err != nil {
		return nil, err
	}
	for _, key := range rev.templateKeys() {
		linked, err := e.linkedTo(ctx, v, rev.Templates[key])
		if err != nil {
			return nil, err
		}
		users = append(users, linked...)
	}
	if contentOf(m.Parameters()) == v1alpha1.ImageContentISO {
		inserted, err := e.insertedIn(ctx, m, v, rev)
		if err != nil {
			return users, err
		}
		users = append(users, inserted...)
	}
	slices.Sort(users)
	users = slices.Compact(users)
	return users[:min(len(users), mostUsers)], nil
}

// machineUsers returns the Machines that are being made from a revision, or are linked
// clones of its templates. Those that are known to be of other tenants are not made from the Image of a tenant, whatever their annotations say.
func (e removal) machineUsers(ctx context.Context, m Image, rev *revision) ([]string, error) {
	var users []string
	among := e.isolation(ctx)
	counts := func(x Machine) bool { return e.tenant == nil || !among.OtherTenant(m, x) }
	for _, empty := range e.kinds.Machines {
		all, err := kind.ListCached(ctx, e.kube, empty)
		if err != nil {
			return nil, err
		}
		for _, mg := range all {
			if x, ok := mg.(Machine); ok && needs(x, m, rev) && counts(x) {
				users = append(users, "Machine "+client.ObjectKeyFromObject(x).String())
			}
		}
	}
	return users, nil
}

// needs reports whether a Machine needs a revision of an Image of its own scope and
// namespace.
func needs(x Machine, m Image, rev *revision) bool {
	pin, ok := imageref.PinOf(x)
	if !ok || pin.UID != string(m.GetUID()) || pin.Revision != rev.Number || x.GetNamespace() != m.GetNamespace() {
		return false
	}
	making := x.Observation().UUID == "" && !meta.WasDeleted(x)
	c := x.Parameters().Clone
	linked := pin.Template && (c == nil || !ptr.Deref(c.Full, false))
	return making || linked
}

// linkedTo returns the VMs whose disks are linked to those of a template. What PVE calls
// them begins with what the base is called.
func (e removal) linkedTo(ctx context.Context, v *view, t *template) ([]string, error) {
	if t.VMID == 0 || !v.online(t.Node) {
		return nil, nil
	}
	if undefined, err := e.undefined(ctx, v, place{Node: t.Node, Storage: t.Storage, Shared: t.Shared}); undefined || err != nil {
		return nil, err
	}
	volumes, err := e.client.Volumes(ctx, t.Node, t.Storage, "images")
	if err != nil && !proxmox.IsAuthorization(err) && ctx.Err() == nil {
		err = downError{errors.Wrapf(err, "cannot see whether other VMs use the disks of VM %d", t.VMID)}
	}
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("base-%d-", t.VMID)
	var users []string
	for _, x := range volumes {
		_, name, _ := strings.Cut(x.ID, ":")
		before, after, linked := strings.Cut(name, base)
		if linked && strings.Contains(after, "/") && (before == "" || before == fmt.Sprintf("%d/", t.VMID)) && x.VMID != t.VMID {
			users = append(users, fmt.Sprintf("VM %d", x.VMID))
		}
	}
	return users, nil
}
