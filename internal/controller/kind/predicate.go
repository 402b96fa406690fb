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
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// AnnotationStaged records what a resource has staged on a node, and what was there before, until it is in force.
const AnnotationStaged = "proxmox.vitistack.io/staged-interface"

// desiredStateChanged passes updates of what a user declares. It ignores annotations that the provider writes around each attempt. They would
// immediately queue a resource whose change Proxmox VE refuses, whatever its backoff is.
func desiredStateChanged() predicate.Predicate {
	return attemptsIgnored{Predicate: resource.DesiredStateChanged()}
}

type attemptsIgnored struct{ predicate.Predicate }

// Update reports whether an update changes more than the annotations of attempts.
func (a attemptsIgnored) Update(e event.UpdateEvent) bool {
	if e.ObjectOld == nil || e.ObjectNew == nil {
		return false
	}
	return a.Predicate.Update(event.UpdateEvent{ObjectOld: withoutAttempts(e.ObjectOld), ObjectNew: withoutAttempts(e.ObjectNew)})
}

// withoutAttempts returns the parts of an object that a predicate reads, without the annotations of attempts.
func withoutAttempts(o client.Object) client.Object {
	annotations := maps.Clone(o.GetAnnotations())
	for _, name := range []string{AnnotationIntent, AnnotationStaged} {
		delete(annotations, name)
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Generation: o.GetGeneration(), Labels: o.GetLabels(), Annotations: annotations,
	}}
}
