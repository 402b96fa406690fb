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

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// reasonUpdated is what the managed reconciler calls its events of updates.
const reasonUpdated event.Reason = "UpdatedExternalResource"

// textOfConflict is what the API server says of an object that has changed since it was read.
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

// needless reports whether an event of the managed reconciler tells nothing: that an update was
// requested, where the kind has an event of each change itself, that the object has changed
// since it was read, after which the reconciler reads it again, or a fault that was told before.
func needless(tellsChanges bool) event.FilterFn {
	return func(obj runtime.Object, e event.Event) bool {
		return tellsChanges && e.Reason == reasonUpdated || strings.Contains(e.Message, textOfConflict) || toldBefore(obj, e)
	}
}

// toldBefore reports whether a warning is of the fault that the last reconcile has ended with. The
// reconciler shows that in Synced after its event.
func toldBefore(obj runtime.Object, e event.Event) bool {
	mg, ok := obj.(resource.Managed)
	if !ok || e.Type != event.TypeWarning {
		return false
	}
	last := mg.GetCondition(xpv2.TypeSynced)
	return last.Status == corev1.ConditionFalse && e.Message != "" && strings.HasSuffix(last.Message, e.Message)
}
