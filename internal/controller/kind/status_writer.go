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

package kind

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A statusManager manager is one for reconcilers that write the status at the end of each
// look, changed or not, and whole objects, of which the cache holds a part. Its client leaves
// out what would change nothing, and writes only what differs from the cache.
type statusManager struct {
	ctrl.Manager

	// faults that the reconciler has told. May be nil.
	faults *reportedErrors
}

// GetClient returns the manager's client, without needless updates.
func (q statusManager) GetClient() client.Client {
	return statusClient{Client: q.Manager.GetClient(), faults: q.faults}
}

type statusClient struct {
	client.Client

	faults *reportedErrors
}

// Status writes those that differ.
func (c statusClient) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), cache: c.Client, faults: c.faults}
}

// Update writes what differs between an object and the one that the cache holds, whichever version that is, provided that the
// object is still the version that was read. An update would take away what the cache holds nothing of: see package transform. Whatever has changed
// between the two versions is part of the object, and written as it is. The status stays as it is in memory, where the answer would undo what was
// observed before a finalizer was added, and the resource would be Ready only at its next reconcile.
func (c statusClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	held, ok := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if _, managed := o.(resource.Managed); !managed || !ok || len(opts) > 0 || o.GetResourceVersion() == "" {
		return c.Client.Update(ctx, o, opts...)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), held); err != nil {
		return err
	}
	if held.GetUID() != o.GetUID() {
		return kerrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("the object was deleted and another one of this name was created"))
	}
	held.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	held.SetResourceVersion(o.GetResourceVersion()) // The patch is for this version alone.
	for _, all := range []map[string]string{held.GetAnnotations(), o.GetAnnotations()} {
		delete(all, corev1.LastAppliedConfigAnnotation) // It is never ours to write, and may be an old one.
	}
	after, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	if err := c.Patch(ctx, after, client.MergeFromWithOptions(held, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	o.SetResourceVersion(after.GetResourceVersion())
	o.SetGeneration(after.GetGeneration())
	return nil
}

type statusWriter struct {
	client.SubResourceWriter

	cache  client.Reader
	faults *reportedErrors
}

// Update updates the status of an object, unless it is the one that the cache holds at the
// same version. What anybody else has changed since is another version.
func (s statusWriter) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	explainDeletion(o)
	observeGeneration(o)
	explainBlanks(o)
	s.faults.concluded(o)
	if len(opts) == 0 && s.holds(ctx, o) {
		return nil
	}
	return s.SubResourceWriter.Update(ctx, o, opts...)
}

// holds reports whether the cache holds the object with this very status.
func (s statusWriter) holds(ctx context.Context, o client.Object) bool {
	held, ok := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if !ok || o.GetResourceVersion() == "" {
		return false
	}
	// It is only looked at, and need not be a copy.
	if err := s.cache.Get(ctx, client.ObjectKeyFromObject(o), held, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	is, was := statusOf(o), statusOf(held)
	settle(is, was)
	return held.GetResourceVersion() == o.GetResourceVersion() && is.IsValid() && equality.Semantic.DeepEqual(is.Interface(), was.Interface())
}

// explainDeletion has the condition Ready of a resource that is being deleted say what that
// waits for, as the condition UpToDate does. The reconciler sets Ready without a message.
func explainDeletion(o client.Object) {
	c, ok := o.(resource.Conditioned)
	if !ok {
		return
	}
	ready, upToDate := c.GetCondition(xpv2.TypeReady), c.GetCondition(TypeUpToDate)
	waits := upToDate.Reason == xpv2.ReasonDeleting || upToDate.Reason == ReasonNodeOffline
	if ready.Reason == xpv2.ReasonDeleting && ready.Message == "" && waits {
		c.SetConditions(ready.WithMessage(upToDate.Message))
	}
}

// observeGeneration has the status name the generation that was reconciled, also when that failed, so that tools which wait for
// a change (kstatus, Flux, Argo CD) do not take the status of the spec before for that of this one. Ready and UpToDate that were true
// before, and that a failed reconcile did not come to evaluate, are unknown now.
func observeGeneration(o client.Object) {
	c, ok := o.(interface {
		resource.Conditioned
		resource.ReconciliationObserver
	})
	if !ok {
		return
	}
	c.SetObservedGeneration(o.GetGeneration())
	if c.GetCondition(xpv2.TypeSynced).Status != corev1.ConditionFalse {
		return
	}
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, TypeUpToDate} {
		if was := c.GetCondition(t); was.Status == corev1.ConditionTrue && was.ObservedGeneration != o.GetGeneration() {
			c.SetConditions(xpv2.Condition{
				Type: t, Status: corev1.ConditionUnknown, Reason: ReasonNotObserved, LastTransitionTime: metav1.Now(),
				Message: "The spec has changed, and the reconcile failed before this could be evaluated: see the condition Synced",
			}.WithObservedGeneration(o.GetGeneration()))
		}
	}
}

// observeFailed is what the reconciler puts before every error of an Observe, also before those of a spec that cannot be carried out.
const observeFailed = "observe failed: "

// explainBlanks has the condition Synced of a failed reconcile begin with what is wrong, and leaves nothing blank that was not evaluated
// yet, because a reconcile failed or the resource is paused.
func explainBlanks(o client.Object) {
	c, ok := o.(resource.Conditioned)
	if !ok {
		return
	}
	synced := c.GetCondition(xpv2.TypeSynced)
	if synced.Reason == xpv2.ReasonReconcilePaused {
		fillBlanks(o, c, v1alpha1.MachinePending, xpv2.Condition{
			Reason: ReasonPaused, Message: "The resource is paused and was not looked at before: see the condition Synced",
		})
	}
	if synced.Reason != xpv2.ReasonReconcileError {
		return
	}
	if cause, found := strings.CutPrefix(synced.Message, observeFailed); found {
		c.SetConditions(synced.WithMessage(cause))
	}
	fillBlanks(o, c, v1alpha1.MachineError, xpv2.Condition{
		Reason: ReasonNotObserved, Message: "The reconcile failed before this could be evaluated: see the condition Synced",
	})
}

// fillBlanks has the conditions that were never evaluated be unknown for the reason, and a Machine without a phase be in this one.
func fillBlanks(o client.Object, c resource.Conditioned, phase v1alpha1.MachinePhase, unknown xpv2.Condition) {
	blank := func(t xpv2.ConditionType) bool {
		return slices.Contains([]xpv2.ConditionReason{"", v1alpha1.ReasonNotReconciled, ReasonPaused}, c.GetCondition(t).Reason)
	}
	m, ok := o.(interface {
		Observation() *v1alpha1.MachineObservation
	})
	if ok && (m.Observation().Phase == "" || blank(xpv2.TypeReady)) {
		m.Observation().Phase = phase
	}
	unknown.Status, unknown.LastTransitionTime = corev1.ConditionUnknown, metav1.Now()
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, TypeUpToDate} {
		if blank(t) {
			unknown.Type = t
			c.SetConditions(unknown.WithObservedGeneration(o.GetGeneration()))
		}
	}
}

// ReasonPaused of the conditions Ready and UpToDate: the resource is paused, and nobody has looked at it before. Synced has it while it is.
const ReasonPaused = xpv2.ReasonReconcilePaused

// ReasonNotObserved of the conditions Ready and UpToDate: they were not evaluated for this spec, and the last reconcile failed.
const ReasonNotObserved xpv2.ConditionReason = "NotObserved"

func statusOf(o client.Object) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName("Status")
}

// settle has conditions that are what they were keep the time since when they are so. In a
// look a condition may be shown before all is known that it has to say.
func settle(is, was reflect.Value) {
	now, before := conditionsOf(is), conditionsOf(was)
	for i, c := range now {
		same := func(b xpv2.Condition) bool { return b.Type == c.Type && b.Equal(c) }
		if k := slices.IndexFunc(before, same); k >= 0 {
			now[i].LastTransitionTime = before[k].LastTransitionTime
		}
	}
}

func conditionsOf(status reflect.Value) []xpv2.Condition {
	if !status.IsValid() || !status.FieldByName("Conditions").IsValid() {
		return nil
	}
	conditions, _ := status.FieldByName("Conditions").Interface().([]xpv2.Condition)
	return conditions
}
