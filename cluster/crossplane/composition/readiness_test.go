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
	"os"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// snippet matches the readiness checks in the document for a Composition that waits for cloud-init.
var snippet = regexp.MustCompile("(?s)```yaml\n(readinessChecks:\n.*?)```")

// TestGuestProvisioned checks that a Composition with the readiness checks of the document waits until cloud-init has finished.
func TestGuestProvisioned(t *testing.T) {
	text, err := os.ReadFile(checkout.Resolve("docs/virtual-machine.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := snippet.FindSubmatch(text)
	if found == nil {
		t.Fatal("the document has no readiness checks")
	}
	var checks map[string]any
	if err := yaml.Unmarshal(found[1], &checks); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	xr := load(t, "migration/sankofa/web-server-01.yaml")[0]
	xr.SetName("provisioned")
	composition := w.compositionOf(xr)
	checkMachine(t, composition, checks["readinessChecks"])
	conditions := []any{}
	w.observe = func(obj *unstructured.Unstructured) {
		running(obj)
		status := obj.Object["status"].(map[string]any)
		status["conditions"] = append(status["conditions"].([]any), conditions...)
	}
	if err := w.create(xr); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		reason, status, because string
		want                    bool
	}{
		{reason: "Nobody has asked the guest."},
		{reason: "Cloud-init has not finished yet.", status: "False", because: "CloudInitRunning"},
		{reason: "Cloud-init has ended with errors.", status: "False", because: "CloudInitFailed"},
		{reason: "Cloud-init has finished without errors.", status: "True", because: "CloudInitFinished", want: true},
	} {
		if conditions = nil; step.status != "" {
			conditions = []any{map[string]any{
				"type": "GuestProvisioned", "status": step.status, "reason": step.because, "lastTransitionTime": "2026-01-02T03:04:05Z",
			}}
		}
		if got := w.settle(xr); got != step.want {
			t.Errorf("%s\nwant ready: %t, got %t", step.reason, step.want, got)
		}
	}
}

// checkMachine sets readiness checks for the Machine of a Composition.
func checkMachine(t *testing.T, composition *unstructured.Unstructured, checks any) {
	t.Helper()
	steps, _, _ := unstructured.NestedSlice(composition.Object, "spec", "pipeline")
	for _, step := range steps {
		resources, found, _ := unstructured.NestedSlice(step.(map[string]any), "input", "resources")
		if !found {
			continue
		}
		for _, r := range resources {
			if resource := r.(map[string]any); resource["name"] == "machine" {
				resource["readinessChecks"] = checks
			}
		}
		if err := unstructured.SetNestedSlice(step.(map[string]any), resources, "input", "resources"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(composition.Object, steps, "spec", "pipeline"); err != nil {
		t.Fatal(err)
	}
}
