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
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A rollbackFeature goes back to a snapshot, at most once for each token.
type rollbackFeature struct {
	*external
	passive
}

// The reasons of events, and of the condition UpToDate, of a rollback.
const (
	reasonRollbackRefused xpv2.ConditionReason = "RollbackRefused"
	reasonRollbackFailed  xpv2.ConditionReason = "RollbackFailed"
)

// optionRollback names a rollback in status.atProvider.difference.
const optionRollback = "rollback"

// plan finds out what became of a rollback that was begun. While one is to be done, nothing
// else is done to the VM, which would be lost by it: only a VM that is to be off is stopped.
func (e rollbackFeature) plan(ctx context.Context, m Machine) (proposal, error) {
	r, err := recordedRollback(m)
	if err != nil || meta.WasDeleted(m) {
		return proposal{}, err
	}
	act, open := e.act(m, r), r.Open()
	if busy, err := e.tasksBefore.Busy(e.vm.VMID); !busy && err == nil && kind.Manages(m) {
		if err := act.Settle(ctx); err != nil {
			return proposal{}, err
		}
	}
	e.planned.rollback = r
	if open && !r.Open() {
		return e.lookAgain(m), nil
	}
	s := m.Parameters().Rollback
	if !r.Open() && (s == nil || s.Token == r.Token && r.Final()) {
		return proposal{}, nil
	}
	if !r.Open() && s.Token != r.Token {
		act.Record = rollback.New(s.Token, e.now())
		e.planned.rollback = act.Record
	}
	e.rollbackAlone()
	return proposal{steps: []step{e.step(m, act)}}, nil
}

// lookAgain plans nothing but to read the VM anew: it may have been read before the task has
// ended that was just seen to have.
func (e rollbackFeature) lookAgain(m Machine) proposal {
	e.cache.Invalidate(m, vmcache.DirtyAll)
	e.rollbackAlone()
	e.planned.power = power.Keep
	return proposal{steps: []step{{
		difference: v1alpha1.MachinePendingChange{Option: optionRollback, Desired: e.planned.rollback.Snapshot}, tells: true,
		call: func(context.Context) (proxmox.UPID, error) {
			e.waker(m)()
			return "", nil
		},
	}}}
}

// rollbackAlone takes all out of the plan that a rollback would undo.
func (e rollbackFeature) rollbackAlone() {
	p := &e.planned
	p.change, p.deferred, p.steps, p.staleImages = qemu.Difference{}, qemu.Difference{}, nil, nil
	p.restart, p.action, p.laterAction = restart.Decision{Reason: p.restart.Reason}, nil, nil
	if p.power != power.Off {
		p.power = power.Keep
	}
}

// step goes on with a rollback.
func (e rollbackFeature) step(m Machine, act *rollback.Act) step {
	s := ptr.Deref(m.Parameters().Rollback, v1alpha1.MachineRollback{Snapshot: act.Record.Snapshot})
	next := step{difference: v1alpha1.MachinePendingChange{Option: optionRollback, Desired: s.Snapshot}, tells: true}
	if e.stopping() && !ptr.Deref(s.AllowRunning, false) && !act.Record.Open() {
		return next // It waits until the VM is off.
	}
	e.planned.power = power.Keep
	next.call = func(ctx context.Context) (proxmox.UPID, error) {
		q, err := e.request(ctx, m, s)
		if err != nil {
			return "", err
		}
		return act.Next(ctx, q)
	}
	return next
}

// stopping reports whether the VM is about to be stopped. One that is paused is resumed for that first.
func (e rollbackFeature) stopping() bool {
	return e.planned.power == power.Off || e.planned.power == power.Resume && e.planned.DesiredPower(e.vm) == v1alpha1.PowerStateStopped
}

// request is what the spec asks for. A VM that ran is started by PVE if its run strategy
// would leave it off.
func (e rollbackFeature) request(ctx context.Context, m Machine, s v1alpha1.MachineRollback) (rollback.Request, error) {
	q := rollback.Request{Token: s.Token, AllowRunning: ptr.Deref(s.AllowRunning, false), Safety: ptr.Deref(s.SafetySnapshot, false)}
	switch e.planned.DesiredPower(e.vm) {
	case v1alpha1.PowerStateStopped, v1alpha1.PowerStatePaused, v1alpha1.PowerStateSuspended:
	case v1alpha1.PowerStateRunning:
		q.Start = ptr.Deref(e.planned.RunStrategy, "") == power.RerunOnFailure
	default:
		q.Start = true
	}
	return q, e.resolve(ctx, m, s.Snapshot, &q)
}

// A snapshotResource is a Snapshot of either scope.
type snapshotResource interface {
	client.Object

	Observation() *v1alpha1.SnapshotObservation
}

// resolve finds the name in PVE of a Snapshot of the Machine's scope and namespace. What is
// none is the name itself.
func (e rollbackFeature) resolve(ctx context.Context, m Machine, name string, q *rollback.Request) error {
	q.Snapshot = name
	empty, err := e.kube.Scheme().New(e.images.MachineKind.GroupVersion().WithKind("Snapshot"))
	if err != nil {
		return errors.Wrap(err, "cannot make a Snapshot")
	}
	s, ok := empty.(snapshotResource)
	if !ok {
		return errors.Errorf("%T is no Snapshot", empty)
	}
	err = e.kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name}, s)
	switch {
	case kerrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil
	case err != nil:
		return errors.Wrapf(err, "cannot read Snapshot %q", name)
	}
	o := s.Observation()
	switch {
	case !strings.EqualFold(o.VMUUID, m.GetAnnotations()[object.AnnotationUUID]):
		q.Problem = fmt.Sprintf("Snapshot %q is not of the VM of this Machine", name)
	case !o.ReadyToUse || o.Name == "" || o.Time == nil:
		q.Problem = fmt.Sprintf("Snapshot %q is not ready to use", name)
	default:
		q.Snapshot, q.Taken = o.Name, o.Time.Time
	}
	return nil
}

// act on the VM with a record.
func (e rollbackFeature) act(m Machine, r *rollback.Record) *rollback.Act {
	return &rollback.Act{
		Client: e.client, Storages: e.inventory.Storages, Ref: e.vm.Ref, UUID: m.GetAnnotations()[object.AnnotationUUID],
		Record: r, Now: e.now(),
		Save: func(ctx context.Context, r *rollback.Record) error { return e.save(ctx, m, r) },
	}
}

// refuseEarlyRollback refuses for good the rollback that the manifest of a Machine without a VM asks for. It is an old one: the
// manifest was applied anew, to take over a VM that has gone on since.
func refuseEarlyRollback(ctx context.Context, kube client.Client, m Machine) error {
	s := m.Parameters().Rollback
	if s == nil || m.GetAnnotations()[object.AnnotationRollback] != "" {
		return nil
	}
	r := rollback.Refuse(s.Token, s.Snapshot, "it was asked for before the Machine had a VM", time.Now())
	return kind.Annotate(ctx, kube, m, map[string]string{object.AnnotationRollback: r.String()})
}

// save the record where it outlives the provider, with the copy of it in the status.
func (e rollbackFeature) save(ctx context.Context, m Machine, r *rollback.Record) error {
	if m.GetAnnotations()[object.AnnotationRollback] == r.String() {
		return nil
	}
	if err := kind.Annotate(ctx, e.kube, m, map[string]string{object.AnnotationRollback: r.String()}); err != nil {
		return err
	}
	m.Observation().Rollback, m.Observation().Annotations = r.Observation(), object.PersistedAnnotations(m)
	if r.Final() && r.State != v1alpha1.RollbackSucceeded {
		e.record.Event(m, xpevent.Warning(xpevent.Reason(rollbackReason(r)), errors.New(rollbackMessage(r))))
	}
	if r.Final() {
		e.waker(m)()
	}
	return nil
}

// recordedRollback reads the record of the last rollback. If the annotation was lost, the
// status tells that it was begun.
func recordedRollback(m Machine) (*rollback.Record, error) {
	r, err := rollback.Parse(m.GetAnnotations()[object.AnnotationRollback])
	if err != nil {
		return nil, errors.Wrapf(err, "annotation %s", object.AnnotationRollback)
	}
	o := m.Observation().Rollback
	if o != nil && o.State != v1alpha1.RollbackPending && m.GetAnnotations()[object.AnnotationRollback] == "" {
		message := "annotation " + object.AnnotationRollback + " was removed"
		r = &rollback.Record{Token: o.Token, Snapshot: o.Snapshot, State: v1alpha1.RollbackUnknown, Message: message}
	}
	return r, nil
}

// show the rollback in the status.
func (e rollbackFeature) show(m Machine) {
	if r := e.planned.rollback; r != nil {
		m.Observation().Rollback = r.Observation()
	}
}

// rollbackFailure is why the rollback that the spec asks for was not done; empty if it was,
// or is still to be done.
func (p plan) rollbackFailure(s *v1alpha1.MachineRollback) (xpv2.ConditionReason, string) {
	r := p.rollback
	if r == nil || s == nil || r.Token != s.Token || !r.Final() || r.State == v1alpha1.RollbackSucceeded {
		return "", ""
	}
	return rollbackReason(r), rollbackMessage(r)
}

func rollbackReason(r *rollback.Record) xpv2.ConditionReason {
	if r.State == v1alpha1.RollbackRefused {
		return reasonRollbackRefused
	}
	return reasonRollbackFailed
}

func rollbackMessage(r *rollback.Record) string {
	did := map[v1alpha1.MachineRollbackState]string{
		v1alpha1.RollbackRefused: "was refused", v1alpha1.RollbackFailed: "has failed", v1alpha1.RollbackUnknown: "has an unknown result",
	}
	const advice = "it is not repeated: to ask again, set another rollback.token"
	return fmt.Sprintf("the rollback to %s %s: %s; %s", cmp.Or(r.Snapshot, "a snapshot"), did[r.State], r.Message, advice)
}
