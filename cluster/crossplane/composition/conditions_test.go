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

package composition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// conditionOf returns a condition of a composite resource in short form: its status, reason and message.
func conditionOf(xr *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(xr.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			text := fmt.Sprintf("%s %s", c["status"], c["reason"])
			if message, ok := c["message"].(string); ok {
				text += " " + message
			}
			return text
		}
	}
	return ""
}

// A report has what a Machine reports, and the expected state of its composite resource.
type report struct {
	reason string
	// machine are the conditions of the Machine: TYPE STATUS REASON, and a message.
	machine []string
	want    map[string]string
}

// reports returns successive reports.
func reports() []report {
	const missing = `Unknown NotReported the resource "machine" does not report it`
	return []report{
		{
			reason: "A Machine that nobody has looked at reports nothing.",
			want:   map[string]string{"Ready": "False Creating", "VMCreated": missing, "ResourcesAllocated": missing, "NetworkConfigured": missing},
		},
		{
			reason: "The VM could not be made.", machine: []string{"Ready False Creating", "VMCreated False CreationFailed it is refused"},
			want: map[string]string{
				"Ready": "False Creating", "VMCreated": "False CreationFailed it is refused", "ResourcesAllocated": missing, "NetworkConfigured": missing,
			},
		},
		{
			reason:  "No node has room.",
			machine: []string{"VMCreated False CreationFailed no room", "ResourcesAllocated False InsufficientResources insufficient resources on node pve1: memory"},
			want: map[string]string{
				"Ready": "False Creating", "VMCreated": "False CreationFailed no room",
				"ResourcesAllocated": "False InsufficientResources insufficient resources on node pve1: memory", "NetworkConfigured": missing,
			},
		},
		{
			reason: "The bridge is missing.",
			machine: []string{
				"VMCreated True CreationSucceeded", "ResourcesAllocated True AllocationSucceeded", "NetworkConfigured False NetworkError bridge 'a' not found on node b",
			},
			want: map[string]string{
				"Ready": "False Creating", "VMCreated": "True CreationSucceeded", "ResourcesAllocated": "True AllocationSucceeded",
				"NetworkConfigured": "False NetworkError bridge 'a' not found on node b",
			},
		},
		{
			reason: "The VM runs and has all that it needs.",
			machine: []string{
				"Ready True Available", "VMCreated True CreationSucceeded", "ResourcesAllocated True AllocationSucceeded", "NetworkConfigured True NetworkReady",
			},
			want: map[string]string{
				"Ready": "True Available", "VMCreated": "True CreationSucceeded", "ResourcesAllocated": "True AllocationSucceeded",
				"NetworkConfigured": "True NetworkReady",
			},
		},
		{
			reason: "A Machine that was created again has not been looked at: nothing of the former one stays.",
			want:   map[string]string{"Ready": "False Creating", "VMCreated": missing, "ResourcesAllocated": missing, "NetworkConfigured": missing},
		},
	}
}

// TestConditions checks that each kind that stands for a Machine always has the Machine's current conditions.
func TestConditions(t *testing.T) {
	cases := map[string]struct {
		// before has files with objects that the composite resource waits for.
		before []string
		file   string
	}{
		"Machine":               {file: "migration/proxmox-operator/machine.yaml"},
		"ProxmoxVirtualMachine": {file: "migration/proxmox-operator/my-vm.yaml"},
		"ProxmoxVM":             {file: "migration/sankofa/web-server-01.yaml"},
		"VirtRigaud": {
			before: []string{"migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml"},
			file:   "migration/virtrigaud/web-server.yaml",
		},
		"VMClone":         {file: "others/virtrigaud/web-clone.yaml"},
		"VirtualMachine":  {file: "examples/virtualmachine.yaml"},
		"XVirtualMachine": {file: "testdata/xvirtualmachine.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, obj := range load(t, tc.before...) {
				if err := w.create(obj); err != nil {
					t.Fatal(err)
				}
				w.settle(obj)
			}
			xr := load(t, tc.file)[0]
			xr.SetName("conditions-" + strings.ToLower(xr.GetKind()))
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			for _, step := range reports() {
				w.observe = machineWith(step.machine)
				w.settle(xr)
				got := map[string]string{}
				for kind := range step.want {
					got[kind] = conditionOf(xr, kind)
				}
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("%s -want, +got:\n%s", step.reason, diff)
				}
			}
			w.checkClaims(xr)
		})
	}
}

// machineWith returns a function that sets conditions of Machines, each as TYPE STATUS REASON and a message.
func machineWith(conditions []string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if obj.GetKind() != "Machine" {
			running(obj)
			return
		}
		var all []any
		for _, text := range conditions {
			parts := strings.SplitN(text, " ", 4)
			c := map[string]any{"type": parts[0], "status": parts[1], "reason": parts[2], "lastTransitionTime": "2026-01-02T03:04:05Z"}
			if len(parts) > 3 {
				c["message"] = parts[3]
			}
			all = append(all, c)
		}
		if obj.Object["status"] = map[string]any{"conditions": all}; len(all) == 0 {
			delete(obj.Object, "status")
		}
	}
}

// checkClaims checks that the conditions are also for the claim, if there are claims.
func (w *world) checkClaims(xr *unstructured.Unstructured) {
	w.t.Helper()
	got, _, _ := unstructured.NestedStringSlice(xr.Object, "status", "claimConditionTypes")
	var want []string
	if xr.GetKind() == "XVirtualMachine" {
		want = []string{"NetworkConfigured", "ResourcesAllocated", "VMCreated"}
	}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		w.t.Errorf("the conditions of claims: -want, +got:\n%s", diff)
	}
}
