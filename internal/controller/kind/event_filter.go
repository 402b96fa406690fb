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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/apimachinery/pkg/runtime"
)

// reasonUpdated is what the managed reconciler calls its events of updates.
const reasonUpdated event.Reason = "UpdatedExternalResource"

// textOfConflict is what the API server says of an object that has changed since it was read.
const textOfConflict = "the object has been modified"

// needless reports whether an event of the managed reconciler tells nothing: that an update was
// requested, where the kind has an event of each change itself, or that the object has changed
// since it was read, after which the reconciler reads it again.
func needless(tellsChanges bool) event.FilterFn {
	return func(_ runtime.Object, e event.Event) bool {
		return tellsChanges && e.Reason == reasonUpdated || strings.Contains(e.Message, textOfConflict)
	}
}
