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
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"
)

const (
	header = "apiVersion: " + inputVersion + "\nkind: " + inputKind + "\n"
	both   = header + "copy: {resource: machine, types: [VMCreated, ResourcesAllocated, NetworkConfigured]}\n" +
		"failed: {category: errorCategory, message: message}\n"
)

// message returns an object from YAML.
func message(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(object)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the function with an input, the conditions of the Machine, and the status from earlier steps.
func run(t *testing.T, input, conditions, status string) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp, err := Function{}.RunFunction(t.Context(), &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "tag"}, Input: message(t, input),
		Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{
			"machine": {Resource: message(t, "status: {conditions: ["+conditions+"]}")},
			"other":   {Resource: message(t, "status: {conditions: [{type: VMCreated, status: 'True', reason: OfAnother}]}")},
		}},
		Desired: &fnv1.State{Composite: &fnv1.Resource{Resource: message(t, "status: "+status)}},
		Context: message(t, "kept: true"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}

// lines returns conditions in short form. It fails the test if one is not for the claim as well.
func lines(t *testing.T, all []*fnv1.Condition) []string {
	t.Helper()
	var out []string
	for _, c := range all {
		if c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			t.Errorf("the target of %s is %s", c.GetType(), c.GetTarget())
		}
		status := strings.TrimPrefix(c.GetStatus().String(), "STATUS_CONDITION_")
		out = append(out, strings.TrimSpace(strings.Join([]string{c.GetType(), status, c.GetReason(), c.GetMessage()}, " ")))
	}
	return out
}

func TestCopy(t *testing.T) {
	const missing = ` UNKNOWN NotReported the resource "machine" does not report it`
	cases := map[string]struct {
		reason, conditions string
		want               []string
	}{
		"Nothing": {reason: "what a Machine does not report is not known", want: []string{
			"VMCreated" + missing, "ResourcesAllocated" + missing, "NetworkConfigured" + missing,
		}},
		"Fine": {
			reason: "the conditions of a VM that runs are those of its Machine, in the order of the input",
			conditions: "{type: Ready, status: 'True', reason: Available}, {type: NetworkConfigured, status: 'True', reason: NetworkReady}, " +
				"{type: ResourcesAllocated, status: 'True', reason: AllocationSucceeded}, {type: VMCreated, status: 'True', reason: CreationSucceeded}",
			want: []string{"VMCreated TRUE CreationSucceeded", "ResourcesAllocated TRUE AllocationSucceeded", "NetworkConfigured TRUE NetworkReady"},
		},
		"CreationFailed": {
			reason: "a failed creation is shown with what was refused", conditions: "{type: VMCreated, status: 'False', reason: CreationFailed, message: refused}",
			want: []string{"VMCreated FALSE CreationFailed refused", "ResourcesAllocated" + missing, "NetworkConfigured" + missing},
		},
		"InsufficientResources": {
			reason:     "resources that no node has are shown",
			conditions: "{type: ResourcesAllocated, status: 'False', reason: InsufficientResources, message: memory}",
			want:       []string{"VMCreated" + missing, "ResourcesAllocated FALSE InsufficientResources memory", "NetworkConfigured" + missing},
		},
		"NetworkError": {
			reason: "a network that is not there is shown", conditions: "{type: NetworkConfigured, status: 'False', reason: NetworkError, message: vmbr9}",
			want: []string{"VMCreated" + missing, "ResourcesAllocated" + missing, "NetworkConfigured FALSE NetworkError vmbr9"},
		},
		"Unknown": {
			reason: "what the Machine does not know the composite resource does not know", conditions: "{type: VMCreated, status: Unknown, reason: Unreachable}",
			want: []string{"VMCreated UNKNOWN Unreachable", "ResourcesAllocated" + missing, "NetworkConfigured" + missing},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, header+"copy: {resource: machine, types: [VMCreated, ResourcesAllocated, NetworkConfigured]}", tc.conditions, "{}")
			if diff := cmp.Diff(tc.want, lines(t, rsp.GetConditions())); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFailed(t *testing.T) {
	cases := map[string]struct{ reason, status, want string }{
		"Nothing": {"without a category nothing is known", "{}", "Failed UNKNOWN NotReported there is no status.errorCategory yet"},
		"None":    {"nothing is wrong, whatever the message tells", "{errorCategory: None, message: it waits}", "Failed FALSE None"},
		"ValidationFailed": {
			"what is refused is a reason", "{errorCategory: ValidationFailed, message: no such bridge}", "Failed TRUE ValidationFailed no such bridge",
		},
		"ConfigurationError":  {"a message may be missing", "{errorCategory: ConfigurationError}", "Failed TRUE ConfigurationError"},
		"NetworkError":        {"an error of the network is a reason", "{errorCategory: NetworkError, message: a}", "Failed TRUE NetworkError a"},
		"AuthenticationError": {"a token that is refused is a reason", "{errorCategory: AuthenticationError, message: a}", "Failed TRUE AuthenticationError a"},
		"QuotaExceeded":       {"a quota that is used up is a reason", "{errorCategory: QuotaExceeded, message: a}", "Failed TRUE QuotaExceeded a"},
		"NodeUnhealthy":       {"a node that is off is a reason", "{errorCategory: NodeUnhealthy, message: a}", "Failed TRUE NodeUnhealthy a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, header+"failed: {category: errorCategory, message: message}", "", tc.status)
			if diff := cmp.Diff([]string{tc.want}, lines(t, rsp.GetConditions())); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKept checks that the function keeps the results of earlier steps.
func TestKept(t *testing.T) {
	rsp := run(t, both, "", "{errorCategory: None}")
	if got := len(rsp.GetConditions()); got != 4 {
		t.Errorf("there are %d conditions, want 4", got)
	}
	want := map[string]any{"status": map[string]any{"errorCategory": "None"}}
	if diff := cmp.Diff(want, rsp.GetDesired().GetComposite().GetResource().AsMap()); diff != "" {
		t.Errorf("the composite resource: -want, +got:\n%s", diff)
	}
	if rsp.GetMeta().GetTag() != "tag" || !rsp.GetContext().GetFields()["kept"].GetBoolValue() {
		t.Errorf("the tag is %q, the context %v", rsp.GetMeta().GetTag(), rsp.GetContext())
	}
}

func TestInput(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Kind":    {"an input of another function is refused", "apiVersion: v1\nkind: Other\n", "it is Other of v1, want Conditions of " + inputVersion},
		"Nothing": {"an input that asks for nothing is a mistake", header, "set copy, failed or notOlderThan"},
		"Field":   {"a field that is not known would do nothing", header + "from: machine", `unknown field "from"`},
		"Types":   {"types are needed", header + "copy: {resource: machine}", "copy needs resource and types"},
		"Source":  {"a resource is needed", header + "copy: {types: [VMCreated]}", "copy needs resource and types"},
		"Ready": {
			"Crossplane would refuse Ready in every run", header + "copy: {resource: machine, types: [Ready]}", "has Ready, which Crossplane sets by itself",
		},
		"Own":     {"two conditions of one type are one too many", header + "copy: {resource: machine, types: [Failed]}", "copy.types has Failed, which failed sets"},
		"Text":    {"a type is one word", header + "copy: {resource: machine, types: [vm created]}", `copy.types has "vm created", which is no type of a condition`},
		"NoField": {"a field is needed", header + "failed: {message: message}", "failed.category is empty"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, tc.input, "", "{}")
			if len(rsp.GetConditions()) > 0 || len(rsp.GetResults()) != 1 || rsp.GetResults()[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
				t.Fatalf("%s: the conditions are %v, the results %v", tc.reason, rsp.GetConditions(), rsp.GetResults())
			}
			if got := rsp.GetResults()[0].GetMessage(); !strings.HasPrefix(got, "cannot use the input: ") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
