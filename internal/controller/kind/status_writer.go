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

// A statusManager is a manager for reconcilers that write the status at the end of each reconcile, even if it has not changed, and that write whole
// objects, of which the cache holds only a part. Its client skips updates that would change nothing, and writes only what differs from the cache.
type statusManager struct {
	ctrl.Manager

	// faults that the reconciler has reported. May be nil.
	faults *reportedErrors
}

// GetClient returns the manager's client, which skips needless updates.
func (q statusManager) GetClient() client.Client {
	return statusClient{Client: q.Manager.GetClient(), faults: q.faults}
}

type statusClient struct {
	client.Client

	faults *reportedErrors
}

// Status returns a writer that skips a status that has not changed.
func (c statusClient) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), cache: c.Client, faults: c.faults}
}

// Update writes the difference between an object and its version in the cache, whichever version that is, provided that the object is still the
// version that was read. A plain update would delete what the cache does not hold: see package transform. Changes between the two versions are part
// of the object, and are written as they are. The status in memory is kept. The answer would otherwise overwrite what was observed before a finalizer
// was added, and the resource would become Ready only at its next reconcile.
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
	held.SetResourceVersion(o.GetResourceVersion()) // The patch applies to this version only.
	for _, all := range []map[string]string{held.GetAnnotations(), o.GetAnnotations()} {
		delete(all, corev1.LastAppliedConfigAnnotation) // The provider never writes it, and the value may be old.
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

// Update updates the status of an object, unless it equals the one that the cache holds at the same version. A change by anyone else results in
// another version.
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
	// The object is only read, so it need not be a copy.
	if err := s.cache.Get(ctx, client.ObjectKeyFromObject(o), held, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	is, was := statusOf(o), statusOf(held)
	settle(is, was)
	return held.GetResourceVersion() == o.GetResourceVersion() && is.IsValid() && equality.Semantic.DeepEqual(is.Interface(), was.Interface())
}

// explainDeletion copies to the condition Ready of a resource that is being deleted what the deletion waits for, as the condition UpToDate reports
// it. The reconciler sets Ready without a message.
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

// observeGeneration sets the generation in the status to the one that was reconciled, even if the reconcile failed. Otherwise, tools that wait for a
// change (kstatus, Flux, Argo CD) would take the status of the previous spec for the status of this one. If a failed reconcile did not evaluate Ready
// and UpToDate, and they were true before, they become unknown.
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

// observeFailed is the prefix that the reconciler adds to every error of an Observe, including the error for a spec that cannot be carried out.
const observeFailed = "observe failed: "

// explainBlanks makes the condition Synced of a failed reconcile start with the cause. It fills the conditions that were not evaluated yet because a
// reconcile failed or the resource is paused.
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

// fillBlanks sets conditions that were never evaluated to unknown with the given reason, and gives a Machine without a phase the given one.
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

// ReasonPaused is the reason of the conditions Ready and UpToDate if the resource is paused and was never reconciled before. Synced has it while the
// resource is paused.
const ReasonPaused = xpv2.ReasonReconcilePaused

// ReasonNotObserved is the reason of the conditions Ready and UpToDate if they were not evaluated for this spec and the last reconcile failed.
const ReasonNotObserved xpv2.ConditionReason = "NotObserved"

func statusOf(o client.Object) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName("Status")
}

// settle keeps the last transition time of conditions that are unchanged. Within a reconcile, a condition may be set before all of its content is
// known.
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
