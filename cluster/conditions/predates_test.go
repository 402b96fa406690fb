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
	"strings"
	"testing"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
)

// TestPredates checks that nothing is composed for resources that another operator has created, and everything for those that are requested here.
func TestPredates(t *testing.T) {
	const (
		definition = "{kind: CompositeResourceDefinition, metadata: {name: machines.vitistack.io, creationTimestamp: '2026-02-01T00:00:00Z'}}"
		old        = "kind: Machine, metadata: {name: web, creationTimestamp: '2026-01-31T23:59:59Z'}"
		refusal    = `Machine "web" was there before the CompositeResourceDefinition "machines.vitistack.io"`
	)
	cases := map[string]struct {
		reason, composite, definition, want string
		composed                            bool
	}{
		"Older": {reason: "An object that is a second older than the definition is another operator's.", composite: old, definition: definition, want: refusal},
		"SameSecond": {
			reason:    "An object may be made in the second in which its definition was.",
			composite: "kind: Machine, metadata: {name: web, creationTimestamp: '2026-02-01T00:00:00Z'}", definition: definition,
		},
		"Younger": {
			reason:    "An object that was made by its definition is served.",
			composite: "kind: Machine, metadata: {name: web, creationTimestamp: '2026-02-01T00:00:01Z'}", definition: definition,
		},
		"Composed": {reason: "An object of which something is composed stays served.", composite: old, definition: definition, composed: true},
		"Referring": {
			reason: "An object whose composed resource is gone for now stays served.", definition: definition,
			composite: old + ", spec: {crossplane: {resourceRefs: [{kind: Machine, name: web-1}]}}",
		},
		"NoReference": {
			reason: "An object with an empty list of references has composed nothing.", definition: definition,
			composite: old + ", spec: {crossplane: {resourceRefs: []}}", want: refusal,
		},
		"Unrequired": {reason: "A step that does not require the definition lets nothing pass.", composite: old, want: "requires 0 resources by that name"},
		"Undated":    {reason: "An object that is only rendered has no age.", composite: "kind: Machine, metadata: {name: web}"},
		"NoAge":      {reason: "A definition that is only rendered has no age.", composite: old, definition: "{kind: CompositeResourceDefinition}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := &fnv1.RunFunctionRequest{
				Input: message(t, both+"notOlderThan: definition"), RequiredResources: map[string]*fnv1.Resources{"other": {}},
				Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: message(t, "{"+tc.composite+"}")}, Resources: map[string]*fnv1.Resource{}},
			}
			if tc.definition != "" {
				req.RequiredResources["definition"] = &fnv1.Resources{Items: []*fnv1.Resource{{Resource: message(t, tc.definition)}}}
			}
			if tc.composed {
				req.Observed.Resources["machine"] = &fnv1.Resource{Resource: message(t, "kind: Machine")}
			}
			rsp, err := Function{}.RunFunction(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			var messages []string
			for _, r := range rsp.GetResults() {
				if messages = append(messages, r.GetMessage()); r.GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
					t.Errorf("%s\nthe severity is %s", tc.reason, r.GetSeverity())
				}
			}
			got := strings.Join(messages, "; ")
			if refused := got != ""; refused != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nwant the refusal %q, got %q", tc.reason, tc.want, got)
			}
			if refused := len(rsp.GetConditions()) == 0; refused != (tc.want != "") {
				t.Errorf("%s\nthe conditions are %v", tc.reason, rsp.GetConditions())
			}
		})
	}
}
