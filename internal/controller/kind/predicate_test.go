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
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// TestDesiredStateChanged checks which updates queue a resource immediately, and which leave it to its backoff.
func TestDesiredStateChanged(t *testing.T) {
	annotated := func(name, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{name: value}}
	}
	cases := map[string]struct {
		reason   string
		old, new metav1.ObjectMeta
		want     bool
	}{
		"Spec":        {reason: "A change of the spec counts.", old: metav1.ObjectMeta{Generation: 1}, new: metav1.ObjectMeta{Generation: 2}, want: true},
		"Label":       {reason: "A label may select it.", new: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, want: true},
		"Adopted":     {reason: "A user writes the external name.", new: annotated("crossplane.io/external-name", "a"), want: true},
		"Asked":       {reason: "A user may ask for a reconcile.", new: annotated("crossplane.io/reconcile-requested-at", "a"), want: true},
		"Taken":       {reason: "A record that is taken away is restored.", old: annotated("proxmox.vitistack.io/uuid", "a"), want: true},
		"Intent":      {reason: "An attempt of the provider begins.", new: annotated(AnnotationIntent, "a")},
		"Refused":     {reason: "An attempt was refused.", old: annotated(AnnotationIntent, "a")},
		"Staged":      {reason: "A change is noted again.", old: annotated(AnnotationStaged, "a"), new: annotated(AnnotationStaged, "b")},
		"Status":      {reason: "The status is no declaration.", old: metav1.ObjectMeta{ResourceVersion: "1"}, new: metav1.ObjectMeta{ResourceVersion: "2"}},
		"CreateFails": {reason: "The runtime notes that a creation has failed.", new: annotated("crossplane.io/external-create-failed", "a")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := event.UpdateEvent{ObjectOld: &namespaced.Pool{ObjectMeta: tc.old}, ObjectNew: &namespaced.Pool{ObjectMeta: tc.new}}
			if got := desiredStateChanged().Update(e); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
