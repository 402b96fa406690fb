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

package snapshotpolicy

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/schedule"
)

// A reconciler reconciles policies.
type reconciler struct {
	kind.Parts

	kinds     Kinds
	now       func() time.Time
	labels    func(client.Object) map[string]string // that Snapshots need to belong to this provider
	finalizer resource.Finalizer
	issued    *issued

	// sameTenant returns a function that reports whether a policy may refer to a Machine. With nil, it may refer to all of them.
	sameTenant func(context.Context) connect.SameTenantFunc
}

// Reconcile reconciles a policy: it reads the state, decides, writes the status, and acts. Nothing is begun before the status shows it.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p, ok := r.kinds.Object.DeepCopyObject().(Policy)
	if !ok {
		return reconcile.Result{}, errors.Errorf("%T is no policy", r.kinds.Object)
	}
	if err := r.Client.Get(ctx, req.NamespacedName, p); err != nil {
		return reconcile.Result{}, errors.Wrap(client.IgnoreNotFound(err), "cannot get the policy")
	}
	if r.Paused(p) {
		conditions(p, xpv2.ReconcilePaused())
		return reconcile.Result{}, r.write(ctx, p)
	}
	result, err := r.cycle(ctx, p)
	if kerrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil // Something has changed, or the cache is outdated.
	}
	return result, r.report(ctx, p, err)
}

func (r *reconciler) cycle(ctx context.Context, p Policy) (reconcile.Result, error) {
	if meta.WasDeleted(p) {
		return r.finish(ctx, p)
	}
	if err := r.finalizer.AddFinalizer(ctx, p); err != nil {
		return reconcile.Result{}, errors.Wrap(err, "cannot add the finalizer")
	}
	v, err := r.view(ctx, p)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := v.decide()
	plan.show(p)
	if err := r.write(ctx, p); err != nil {
		return reconcile.Result{}, err
	}
	for _, e := range plan.events {
		r.Recorder.Event(p, e)
	}
	return reconcile.Result{RequeueAfter: r.after(p, plan.wake)}, r.act(ctx, p, plan)
}

// after returns the delay before the policy is reconciled again. It is at most the poll interval, so that a changed clock is noticed.
func (r *reconciler) after(p Policy, wake time.Time) time.Duration {
	d := r.Interval(p)
	if !wake.IsZero() {
		d = min(d, max(wake.Sub(r.now()), time.Second))
	}
	return d
}

// act carries out a plan. A failed step does not prevent the remaining ones.
func (r *reconciler) act(ctx context.Context, p Policy, plan *plan) error {
	var failed []error
	for _, s := range plan.remove {
		failed = append(failed, r.remove(ctx, p, s.name))
	}
	run := timeOf(plan.next.ActiveRun)
	for _, name := range plan.take {
		failed = append(failed, r.take(ctx, p, name, run))
	}
	return errors.Join(failed...)
}

// take creates a Snapshot of a Machine. One that exists was created before.
func (r *reconciler) take(ctx context.Context, p Policy, machine string, run time.Time) error {
	m, ok := r.kinds.Machine.Object.DeepCopyObject().(Machine)
	if !ok {
		return errors.Errorf("%T is no Machine", r.kinds.Machine.Object)
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.GetNamespace(), Name: machine}, m); err != nil {
		return errors.Wrapf(client.IgnoreNotFound(err), "cannot get Machine %q", machine)
	}
	s, err := r.snapshotOf(p, m, run)
	if err == nil {
		err = connect.CopyTenantLabels(ctx, r.Client, p, s)
	}
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, s)
	if kerrors.IsAlreadyExists(err) {
		return r.claim(ctx, p, s)
	}
	if err != nil {
		return errors.Wrapf(err, "cannot create Snapshot %q", s.GetName())
	}
	r.issued.created(p, s.GetName())
	r.Recorder.Event(p, event.Normal(eventTaking, "Snapshot "+s.GetName()+" is taken of Machine "+machine))
	return nil
}

// claim claims a Snapshot that exists already, and that the cache does not have.
func (r *reconciler) claim(ctx context.Context, p Policy, s Snapshot) error {
	if err := r.Direct.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
		return errors.Wrapf(client.IgnoreNotFound(err), "cannot get Snapshot %q", s.GetName())
	}
	if _, ours := runOf(p, s); !ours {
		return errors.Errorf("cannot create Snapshot %q: there is one that this policy has not made", s.GetName())
	}
	r.issued.created(p, s.GetName())
	return nil
}

// remove removes a Snapshot in the version that was seen. One that has changed since is read again.
func (r *reconciler) remove(ctx context.Context, p Policy, name string) error {
	s, ok := r.kinds.Snapshot.Object.DeepCopyObject().(Snapshot)
	if !ok {
		return errors.Errorf("%T is no Snapshot", r.kinds.Snapshot.Object)
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.GetNamespace(), Name: name}, s); err != nil {
		return errors.Wrapf(client.IgnoreNotFound(err), "cannot get Snapshot %q", name)
	}
	seen := client.Preconditions{UID: ptr.To(s.GetUID()), ResourceVersion: ptr.To(s.GetResourceVersion())}
	if _, ours := runOf(p, s); !ours || isRetained(s) {
		return nil // It has changed since.
	}
	err := r.Client.Delete(ctx, s, seen)
	switch {
	case kerrors.IsConflict(err):
		return nil
	case kerrors.IsForbidden(err):
		return errors.Wrapf(err, "cannot delete Snapshot %q: in Crossplane the provider needs examples/crossplane/policies.yaml for that", name)
	case client.IgnoreNotFound(err) != nil:
		return errors.Wrapf(err, "cannot delete Snapshot %q", name)
	}
	r.issued.deleted(p, name)
	r.Recorder.Event(p, event.Normal(eventRemoved, "Snapshot "+name+" is removed"))
	return nil
}

// write writes the status.
func (r *reconciler) write(ctx context.Context, p Policy) error {
	err := r.Client.Status().Update(ctx, p)
	if kerrors.IsConflict(err) {
		return err
	}
	return errors.Wrap(err, "cannot update the status")
}

// report reports an error in the status.
func (r *reconciler) report(ctx context.Context, p Policy, err error) error {
	r.Fault(p, err)
	if err == nil {
		return nil
	}
	r.Failed(err)
	conditions(p, xpv2.ReconcileError(err))
	if p.GetCondition(xpv2.TypeUpToDate).Status == corev1.ConditionTrue {
		conditions(p, kind.UpToDate(nil, kind.Problem{Reason: xpv2.ReasonUpdateFailed, Message: err.Error()}))
	}
	if invalid := (invalidError{}); errors.As(err, &invalid) {
		problem := kind.Problem{Reason: reasonInvalidSchedule, Message: err.Error()}
		conditions(p, kind.Ready(problem), kind.UpToDate(nil, problem))
	}
	if failed := r.write(ctx, p); failed != nil && !kerrors.IsConflict(failed) {
		return errors.Join(err, failed)
	}
	return err
}

// An invalidError is a spec from which no run can be computed.
type invalidError struct{ error }

func (e invalidError) Unwrap() error { return e.error }

func scheduleOf(p Policy) (schedule.Schedule, error) {
	s, err := schedule.Parse(p.Parameters().Schedule, ptr.Deref(p.Parameters().TimeZone, ""))
	if err != nil {
		return s, invalidError{err}
	}
	return s, nil
}
