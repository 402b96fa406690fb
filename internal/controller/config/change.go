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

package config

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// Create adds the object to its collection. The intent is recorded first. If the answer is lost, Observe determines the outcome.
func (e *external[P, O]) Create(ctx context.Context, mg Resource[P, O]) (managed.ExternalCreation, error) {
	none := managed.ExternalCreation{}
	if err := e.stillThere(ctx, mg); err != nil {
		return none, err
	}
	if err := e.permit(ctx, mg, Create, e.plan.findings.Privileges...); err != nil {
		return none, err
	}
	change := e.complete(mg, e.plan.change)
	intent := kind.Intent{Name: e.name, Options: change.Set}
	if err := kind.NoteIntent(ctx, e.kube, mg, intent); err != nil {
		return none, err
	}
	err := e.write(ctx, mg, Create, change, func(ctx context.Context) error {
		defer e.to.Inventory.InvalidateObjects(e.in(mg))
		return e.to.Client.CreateObject(ctx, e.in(mg), e.name, withSecrets(change.Set, e.plan.secrets))
	})
	switch {
	case proxmox.IsOutcomeUnknown(err):
		return none, err
	case err != nil:
		return none, errors.Join(err, kind.DropIntent(ctx, e.kube, mg))
	}
	if err := kind.Own(ctx, e.kube, mg, e.name, e.ownAnnotations(mg, versions(e.plan.secrets))); err != nil {
		return none, err
	}
	e.record.Event(mg, event.Normal("Created", e.table.Collection.Noun+" "+e.name+" is created in Proxmox VE"))
	return none, nil
}

// complete completes a change with what Proxmox VE requires in addition to the differences.
func (e *external[P, O]) complete(mg Resource[P, O], c proxmox.Change) proxmox.Change {
	if e.table.Complete == nil || c.Empty() {
		return c
	}
	return e.table.Complete(e.view(mg, true), c)
}

// write makes a change, which may only be staged.
func (e *external[P, O]) write(ctx context.Context, mg Resource[P, O], v Verb, c proxmox.Change, do func(context.Context) error) error {
	if e.table.Staged == nil {
		return do(ctx)
	}
	return e.table.Staged.Write(ctx, e.view(mg, true), v, c, do)
}

// Update changes what Observe found to differ.
func (e *external[P, O]) Update(ctx context.Context, mg Resource[P, O]) (managed.ExternalUpdate, error) {
	none := managed.ExternalUpdate{}
	if err := e.stillThere(ctx, mg); err != nil {
		return none, err
	}
	if err := e.permit(ctx, mg, Update, e.plan.findings.Privileges...); err != nil {
		return none, err
	}
	if err := e.updateOptions(ctx, mg); err != nil {
		return none, err
	}
	changed, _ := e.plan.split()
	if err := e.restage(ctx, mg); err != nil {
		return none, err
	}
	if apply := e.plan.findings.Apply; apply != nil {
		if err := apply(ctx); err != nil {
			return none, err
		}
	}
	tellChanges(e.record, mg, "ChangedOptions", "changed in Proxmox VE: ", changed)
	_, stays := e.plan.split()
	mg.Observation().Common().Difference = stays
	mg.SetConditions(kind.UpToDate(stays, e.plan.problems...).WithObservedGeneration(mg.GetGeneration()))
	return none, nil
}

// restage reads options again that were only staged, and plans to apply them.
func (e *external[P, O]) restage(ctx context.Context, mg Resource[P, O]) error {
	if e.table.Staged == nil || e.plan.change.Empty() {
		return nil
	}
	if err := e.find(ctx, mg, true); err != nil {
		return err
	}
	if e.seen == nil {
		return errors.Errorf("%s %q is not there any more", e.table.Collection.Noun, e.name)
	}
	err := e.makePlan(ctx, mg, true)
	e.show(mg, kind.Ready(e.plan.problems...), kind.UpToDate(e.plan.difference, e.plan.problems...))
	return err
}

// updateOptions changes options and secrets, and records the versions of the latter.
func (e *external[P, O]) updateOptions(ctx context.Context, mg Resource[P, O]) error {
	change := e.complete(mg, e.plan.change)
	change.Set = withSecrets(change.Set, e.plan.secrets)
	if change.Empty() {
		return nil
	}
	if err := e.write(ctx, mg, Update, change, func(ctx context.Context) error { return e.send(ctx, mg, change) }); err != nil {
		return err
	}
	if len(e.plan.secrets) == 0 {
		return nil
	}
	return kind.Annotate(ctx, e.kube, mg, versions(e.plan.secrets))
}

// mostTries is how often a change is sent while others change the same file.
const mostTries = 3

// send sends a change. A digest covers the whole collection. If it no longer matches, but this object is unchanged, the change is sent again with the
// new digest.
func (e *external[P, O]) send(ctx context.Context, mg Resource[P, O], change proxmox.Change) error {
	defer e.to.Inventory.InvalidateObjects(e.in(mg))
	for try := 1; ; try++ {
		err := e.to.Client.UpdateObject(ctx, e.in(mg), e.name, change)
		if !proxmox.IsDigestMismatch(err) || try == mostTries {
			return err
		}
		before := e.seen.Values
		if failed := e.read(ctx, mg, inventory.Fresh); failed != nil {
			return failed
		}
		if e.seen == nil || !sameValues(before, e.seen.Values) {
			return err
		}
		change.Digest = e.seen.Digest
	}
}

// Delete removes the object, unless it is in use.
func (e *external[P, O]) Delete(ctx context.Context, mg Resource[P, O]) (managed.ExternalDelete, error) {
	none := managed.ExternalDelete{}
	mg.SetConditions(xpv2.Deleting())
	if err := e.stillThere(ctx, mg); err != nil {
		return none, err
	}
	if err := e.permit(ctx, mg, Delete); err != nil {
		return none, err
	}
	view := e.view(mg, true)
	if e.seen == nil { // The removal is staged.
		return none, e.table.Staged.Apply(ctx, view)
	}
	if err := e.unused(ctx, view); err != nil {
		return none, err
	}
	if err := e.beforeDelete(ctx, view); err != nil {
		return none, err
	}
	err := e.write(ctx, mg, Delete, proxmox.Change{}, func(ctx context.Context) error {
		defer e.to.Inventory.InvalidateObjects(e.in(mg))
		return e.to.Client.DeleteObject(ctx, e.in(mg), e.name)
	})
	if err != nil {
		return none, err
	}
	e.record.Event(mg, event.Normal("Deleted", e.table.Collection.Noun+" "+e.name+" is removed from Proxmox VE"))
	if e.table.Staged != nil {
		return none, nil
	}
	return none, kind.Annotate(ctx, e.kube, mg, map[string]string{kind.AnnotationRemoved: e.name})
}

// unused returns an error that names the users of the object.
func (e *external[P, O]) unused(ctx context.Context, view View[P, O]) error {
	if e.table.Users == nil {
		return nil
	}
	users, err := e.table.Users(ctx, view)
	if err != nil {
		return errors.Wrapf(err, "cannot tell who uses %s %q", e.table.Collection.Noun, e.name)
	}
	if len(users) == 0 {
		return nil
	}
	const most = 10
	if n := len(users); n > most {
		users = append(users[:most:most], "and more")
	}
	inUse := errors.Errorf("%s %q is in use, so it is not removed: %s", e.table.Collection.Noun, e.name, strings.Join(users, ", "))
	if e.table.UsersKnown {
		return kind.Held(inUse)
	}
	return inUse
}

// beforeDelete removes what this resource has added to the object.
func (e *external[P, O]) beforeDelete(ctx context.Context, view View[P, O]) error {
	if e.table.Inspect == nil {
		return nil
	}
	f, err := e.table.Inspect(ctx, view)
	if err != nil || f.BeforeDelete == nil {
		return err
	}
	return f.BeforeDelete(ctx)
}

func sameValues(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w && !settings.SameList(v, w) {
			return false
		}
	}
	return true
}
