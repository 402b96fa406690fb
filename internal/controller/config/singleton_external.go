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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// statusInterval is how old amounts and times in a status may be.
const statusInterval = time.Minute

// A singleton manages an object that Proxmox VE itself provides during one reconcile.
type singleton[R Singular[O], S, O any] struct {
	env

	table Singleton[R, S, O]
	to    Access // It has no Client if nothing will be asked.

	// The changes that Observe has found to be needed.
	edits      []edit[R, S]
	difference []v1alpha1.OptionDifference
}

// An edit changes settings that are written together.
type edit[R, S any] struct {
	of     Settings[R, S]
	seen   proxmox.Settings
	change proxmox.Change
}

// connect connects to the cluster.
func (e *singleton[R, S, O]) connect(ctx context.Context, r R) error {
	via := resource.Managed(r)
	if e.table.Via != nil {
		var err error
		if via, err = e.table.Via(ctx, e.to, r); err != nil {
			return err
		}
	}
	to, err := e.connections.ConnectVia(ctx, r, via)
	if err != nil {
		return err
	}
	e.to = e.access(to, false)
	return nil
}

// Observe reads the object, and compares its settings with those declared.
func (e *singleton[R, S, O]) Observe(ctx context.Context, r R) (managed.ExternalObservation, error) {
	if meta.WasDeleted(r) {
		return e.leaving(ctx, r)
	}
	seen, err := e.look(ctx, r)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	failed := e.compare(ctx, r, seen)
	e.settle(r, seen)
	problems := e.table.Problems(r, seen)
	conflict, err := e.table.Conflict(ctx, e.conflicts, r)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if conflict != nil {
		problems = append(problems, *conflict)
	}
	e.show(r, kind.Ready(problems...), failed)
	held := conflict != nil || e.table.Hold != nil && e.table.Hold(seen)
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: len(e.edits) == 0 || held}, failed
}

// look reads the object that the resource stands for, and checks that it still is the same.
func (e *singleton[R, S, O]) look(ctx context.Context, r R) (S, error) {
	seen, err := e.table.Look(ctx, e.to, r)
	if err != nil {
		e.unreachable(r, err)
		return seen, err
	}
	err = e.table.Identify(ctx, e.to, r, seen)
	if isRejection(err) {
		e.unreachable(r, err)
	}
	return seen, err
}

// compare compares the settings with those declared. If cached values differ, they are read again first.
func (e *singleton[R, S, O]) compare(ctx context.Context, r R, seen S) error {
	all := make([]settings.Declared, len(e.table.Settings))
	for i, s := range e.table.Settings {
		var err error
		if all[i], err = s.Declare(ctx, e.to, r, seen); err != nil {
			return err
		}
	}
	for _, fresh := range []bool{false, true} {
		if err := e.plan(ctx, r, fresh, all, settings.Declared.Change); err != nil || len(e.edits) == 0 {
			return err
		}
	}
	return nil
}

// plan plans the changes to settings, given those declared in the order of the table.
func (e *singleton[R, S, O]) plan(
	ctx context.Context, r R, fresh bool, all []settings.Declared, by func(settings.Declared, proxmox.Settings) (proxmox.Change, error),
) error {
	e.edits, e.difference = nil, nil
	to := e.to
	to.Fresh = fresh
	for i, declared := range all {
		if len(declared) == 0 {
			continue
		}
		seen, err := e.table.Settings[i].Read(ctx, to, r)
		if err != nil {
			return err
		}
		change, err := by(declared, seen)
		if err != nil {
			return err
		}
		if !change.Empty() {
			e.edits = append(e.edits, edit[R, S]{of: e.table.Settings[i], seen: seen, change: change})
			e.difference = append(e.difference, declared.Differences(change, seen)...)
		}
	}
	return nil
}

// settle writes the observed state into the status. If only usage has changed, the status is not changed before the interval is over.
func (e *singleton[R, S, O]) settle(r R, seen S) {
	o := r.Observation()
	now, shown := e.table.Observe(seen, *o), e.table.Status(o)
	*e.table.Status(&now).Difference = e.difference
	at := *shown.At
	young := at != nil && e.now().Sub(at.Time) < statusInterval && !at.After(e.now())
	if young && equality.Semantic.DeepEqual(e.withoutUsage(o), e.withoutUsage(&now)) {
		return
	}
	*o = now
	*shown.At = &metav1.Time{Time: e.now().Truncate(time.Second)}
}

// withoutUsage returns an observation without the parts that change all the time.
func (e *singleton[R, S, O]) withoutUsage(o *O) O {
	c := e.table.WithoutUsage(o)
	s := e.table.Status(&c)
	*s.Ready, *s.At = false, nil
	return c
}

// Create does nothing. If the object does not exist, Observe returns an error.
func (e *singleton[R, S, O]) Create(context.Context, R) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, errors.New("a " + e.table.Kind + " represents an object that already exists in Proxmox VE: it cannot be created")
}

// Update changes the settings that Observe found to differ, if the object is still the same.
func (e *singleton[R, S, O]) Update(ctx context.Context, r R) (managed.ExternalUpdate, error) {
	if err := e.stillThere(ctx, r); err != nil {
		return managed.ExternalUpdate{}, err
	}
	err := e.carryOut(ctx, r, e.table.Words.Set)
	if err == nil {
		*e.table.Status(r.Observation()).Difference = nil
	}
	return managed.ExternalUpdate{}, err
}

func (e *singleton[R, S, O]) stillThere(ctx context.Context, r R) error {
	if e.table.StillThere == nil {
		return nil
	}
	return e.table.StillThere(ctx, e.to, r)
}

// carryOut carries out the plan. If it fails halfway, the next reconcile finds the completed part done.
func (e *singleton[R, S, O]) carryOut(ctx context.Context, r R, done string) error {
	for _, d := range e.edits {
		if err := d.of.Write(ctx, e.to, r, d.seen, d.change); err != nil {
			return err
		}
	}
	tellChanges(e.record, r, e.table.Words.Changed, done, e.difference)
	return nil
}

// leaving reports whether settings are left to reset before the resource is deleted.
func (e *singleton[R, S, O]) leaving(ctx context.Context, r R) (managed.ExternalObservation, error) {
	if e.to.Client != nil {
		if err := e.findReset(ctx, r); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	if len(e.edits) > 0 {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	if e.table.Gone != nil {
		e.table.Gone(e.to, r)
	}
	return managed.ExternalObservation{}, nil
}

// findReset finds the settings to reset. Settings that an older resource manages stay, and so do those of another object that the connection leads
// to.
func (e *singleton[R, S, O]) findReset(ctx context.Context, r R) error {
	conflict, err := e.table.Conflict(ctx, e.conflicts, r)
	if conflict != nil || err != nil {
		return err
	}
	err = e.stillThere(ctx, r)
	if isRejection(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return e.plan(ctx, r, true, e.undeclared(r), settings.Declared.Reset)
}

// undeclared returns the settings to reset, in the order of the table.
func (e *singleton[R, S, O]) undeclared(r R) []settings.Declared {
	all := make([]settings.Declared, len(e.table.Settings))
	for i, s := range e.table.Settings {
		if s.Undeclare != nil {
			all[i] = s.Undeclare(r)
		}
	}
	return all
}

// Delete resets the settings. The object stays.
func (e *singleton[R, S, O]) Delete(ctx context.Context, r R) (managed.ExternalDelete, error) {
	r.SetConditions(xpv2.Deleting())
	return managed.ExternalDelete{}, e.carryOut(ctx, r, e.table.Words.Reset)
}

// Disconnect does nothing: connections are shared.
func (e *singleton[R, S, O]) Disconnect(context.Context) error { return nil }

// unreachable shows that the object cannot be observed.
func (e *singleton[R, S, O]) unreachable(r R, err error) {
	if e.table.Unreachable != nil {
		e.table.Unreachable(e.to, r)
	}
	e.show(r, unready(err), nil)
}

// show shows whether the resource is ready, with an event if that is new, and whether it is up to date. It is not while it differs from the spec, or
// cannot be changed because of an error.
func (e *singleton[R, S, O]) show(r R, ready xpv2.Condition, err error) {
	before, status := r.GetCondition(xpv2.TypeReady), e.table.Status(r.Observation())
	*status.Ready = ready.Status == corev1.ConditionTrue
	upToDate := kind.UpToDateIf(ready, *status.Difference, err)
	r.SetConditions(ready.WithObservedGeneration(r.GetGeneration()), upToDate.WithObservedGeneration(r.GetGeneration()))
	kind.Announce(e.record, r, before, ready, e.table.Words.Well)
}
