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
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// reasonUpdated is the reason of the managed reconciler's events for updates.
const reasonUpdated event.Reason = "UpdatedExternalResource"

// reasonDeleted is the reason of its events for each step of a deletion, which are recorded once.
const reasonDeleted event.Reason = "DeletedExternalResource"

// textOfConflict is the API server's message for an object that has changed since it was read.
const textOfConflict = "the object has been modified"

// A filteringRecorder records the events that none of its filters drops. The recorder of
// crossplane-runtime loses its filters where annotations are added to events, which the managed
// reconciler does for each object.
type filteringRecorder struct {
	next    event.Recorder
	filters []event.FilterFn
}

func (r filteringRecorder) Event(obj runtime.Object, e event.Event) {
	drops := func(filter event.FilterFn) bool { return filter(obj, e) }
	if !slices.ContainsFunc(r.filters, drops) {
		r.next.Event(obj, e)
	}
}

func (r filteringRecorder) WithAnnotations(keysAndValues ...string) event.Recorder {
	return filteringRecorder{next: r.next.WithAnnotations(keysAndValues...), filters: r.filters}
}

// EventLeftBehind reports what stays in Proxmox VE when its resource is deleted.
const EventLeftBehind event.Reason = "LeftBehind"

// NewRecorder returns the recorder for the events that a kind records itself. A resource that is being deleted may be reconciled several times. What
// it leaves behind is reported once.
func NewRecorder(mgr ctrl.Manager, controller string) event.Recorder {
	return filteringRecorder{next: event.NewAPIRecorder(mgr.GetEventRecorderFor(controller)), filters: []event.FilterFn{reportOnce(EventLeftBehind)}}
}

// reportOnce returns a filter that drops events with a reason if the resource has had one with the same message.
func reportOnce(reason event.Reason) event.FilterFn {
	type telling struct {
		uid     types.UID
		message string
	}
	told := lru.New(mostRequested)
	return func(obj runtime.Object, e event.Event) bool {
		mg, ok := obj.(client.Object)
		if !ok || e.Reason != reason {
			return false
		}
		now := telling{uid: mg.GetUID(), message: e.Message}
		_, before := told.Get(now)
		told.Add(now, nil)
		return before
	}
}

// rememberFault is how long the last fault of a resource is remembered if it does not recur. Synced shows it for longer. The memory is only needed
// for status updates that were lost, and for caches that lag behind.
const rememberFault = time.Hour

// reportedErrors holds the error that the managed reconciler has reported last for each resource. The reconciler shows an error in Synced after its
// event, and that update can be lost, for example because of a conflict. The next reconcile then reads the previous value of Synced.
type reportedErrors struct {
	now func() time.Time

	last objectstate.Store[toldFault]
}

type toldFault struct {
	message string
	at      time.Time
}

func newReportedErrors(now func() time.Time) *reportedErrors {
	return &reportedErrors{now: now}
}

// needless reports whether an event of the managed reconciler adds nothing: that an update was requested, if the kind records an event for each
// change itself; that the object has changed since it was read, after which the reconciler reads it again; or a fault that was already reported.
func (f *reportedErrors) needless(tellsChanges bool) event.FilterFn {
	return func(obj runtime.Object, e event.Event) bool {
		return tellsChanges && e.Reason == reasonUpdated || strings.Contains(e.Message, textOfConflict) || f.alreadyReported(obj, e)
	}
}

// alreadyReported reports whether a warning is about the fault that the last reconcile has ended with, and remembers it.
func (f *reportedErrors) alreadyReported(obj runtime.Object, e event.Event) bool {
	mg, ok := obj.(resource.Managed)
	if !ok || e.Type != event.TypeWarning || e.Message == "" {
		return false
	}
	f.last.Lock()
	defer f.last.Unlock()
	now := f.now()
	f.last.DeleteFunc(func(t *toldFault) bool { return now.Sub(t.at) > rememberFault })
	before := f.last.Get(mg)
	f.last.Set(mg, &toldFault{message: e.Message, at: now})
	if before != nil {
		return before.message == e.Message
	}
	shown := mg.GetCondition(xpv2.TypeSynced)
	return shown.Status == corev1.ConditionFalse && strings.HasSuffix(shown.Message, e.Message)
}

// concluded forgets the fault of a resource whose reconcile has ended without one, so that it is reported again if it recurs.
func (f *reportedErrors) concluded(obj client.Object) {
	mg, ok := obj.(resource.Managed)
	if f == nil || !ok || mg.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse {
		return
	}
	f.forget(mg)
}

func (f *reportedErrors) forget(mg resource.Managed) {
	f.last.Lock()
	defer f.last.Unlock()
	f.last.Delete(mg)
}

// reasonCannotReconcile is the reason of events for faults of kinds without the managed reconciler.
const reasonCannotReconcile event.Reason = "CannotReconcile"

// reporter returns a function that reports how a reconcile of a kind without the managed reconciler has ended, each fault once.
func (f *reportedErrors) reporter(record event.Recorder) func(resource.Managed, error) {
	told := f.needless(true)
	return func(mg resource.Managed, err error) {
		if err == nil {
			f.forget(mg)
			return
		}
		if e := event.Warning(reasonCannotReconcile, err); !told(mg, e) {
			record.Event(mg, e)
		}
	}
}
