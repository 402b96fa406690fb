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

package conditions

import (
	"fmt"
	"time"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// predates returns why nothing is composed of a composite resource that is older than its definition. Crossplane takes over a definition with that name
// that has no controller, with all its objects. Those belong to another operator, which has created a VM for each of them, and a second VM would be
// created here. A composite resource with composed resources has passed this check before.
func (in input) predates(req *fnv1.RunFunctionRequest) string {
	composite := req.GetObserved().GetComposite().GetResource()
	made, ok := creationOf(composite)
	if in.NotOlderThan == "" || !ok || len(req.GetObserved().GetResources()) > 0 || isComposed(composite) {
		return ""
	}
	required := req.GetRequiredResources()[in.NotOlderThan].GetItems()
	if len(required) != 1 {
		return fmt.Sprintf("notOlderThan is %q: this step requires %d resources by that name, want the definition of the composite resource",
			in.NotOlderThan, len(required))
	}
	definition := required[0].GetResource()
	defined, ok := creationOf(definition)
	if !ok || !made.Before(defined) {
		return ""
	}
	return fmt.Sprintf("%s %q was there before the %s %q: another operator may have made its VM. Import that VM and delete this resource; "+
		"to have a new VM made, delete it and create it again",
		text(composite, "kind"), text(composite, "metadata", "name"), text(definition, "kind"), text(definition, "metadata", "name"))
}

// isComposed reports whether a composite resource refers to composed ones, whether or not they exist.
func isComposed(composite *structpb.Struct) bool {
	return len(within(composite, "spec", "crossplane", "resourceRefs").GetListValue().GetValues()) > 0
}

// creationOf returns the creation time of an object. It returns false without one: the object is not from an API server then.
func creationOf(object *structpb.Struct) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, text(object, "metadata", "creationTimestamp"))
	return at, err == nil
}

// text returns a string field of an object, or an empty string if there is none.
func text(object *structpb.Struct, path ...string) string {
	return within(object, path...).GetStringValue()
}

// within returns a value of an object, or nil if there is none.
func within(object *structpb.Struct, path ...string) *structpb.Value {
	value := structpb.NewStructValue(object)
	for _, field := range path {
		value = value.GetStructValue().GetFields()[field]
	}
	return value
}
