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

package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// examples is the folder of the health checks that users copy.
const examples = "../../examples/gitops"

// checks is the folder of Argo CD's health check, in the layout of Argo CD's repository.
const checks = examples + "/argocd/resource_customizations/proxmox._vitistack.io/_"

// checksKey is the key of the health check in Argo CD's settings.
const checksKey = "proxmox.*vitistack.io/*"

// compositeKeys returns the keys of the same check for the composite resources of examples/composition.
func compositeKeys() []string {
	return []string{"vitistack.io/*", "platform.vitistack.io/*", "infra.virtrigaud.io/*", "proxmox.sankofa.nexus/*"}
}

// manifest returns a resource, with integers like those of an API server.
func manifest(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	resource := &unstructured.Unstructured{}
	if data, err = yaml.YAMLToJSON(data); err == nil {
		err = resource.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return resource
}

// read reads a YAML file.
func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func script(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(checks, "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestArgoCD runs health_test.yaml like Argo CD's own tests.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	var table struct {
		Tests []struct {
			HealthStatus health.HealthStatus `json:"healthStatus"`
			InputPath    string              `json:"inputPath"`
		} `json:"tests"`
	}
	read(t, filepath.Join(checks, "health_test.yaml"), &table)
	files, err := filepath.Glob(filepath.Join(checks, "testdata", "*.yaml"))
	if err != nil || len(files) != len(table.Tests) {
		t.Errorf("want a test for each of %d files, got %d: %v", len(files), len(table.Tests), err)
	}
	for _, tc := range table.Tests {
		t.Run(filepath.Base(tc.InputPath), func(t *testing.T) {
			t.Parallel()
			got, err := HealthOf(script(t), manifest(t, filepath.Join(checks, tc.InputPath)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.HealthStatus, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestNew checks that the tests about new resources use the status that the API server sets initially.
func TestNew(t *testing.T) {
	t.Parallel()
	for file, kind := range map[string]string{"new": "machines", "connection-new": "providerconfigs"} {
		var crd extv1.CustomResourceDefinition
		read(t, "../../package/crds/proxmox.m.vitistack.io_"+kind+".yaml", &crd)
		want := map[string]any{}
		if err := utiljson.Unmarshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Default.Raw, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, manifest(t, filepath.Join(checks, "testdata", file+".yaml")).Object["status"]); diff != "" {
			t.Errorf("%s.yaml: -want, +got:\n%s", file, diff)
		}
	}
}

// TestArgoCDDecides checks when Argo CD's library uses the health check, and the results of health checks that fail.
func TestArgoCDDecides(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		deleted bool
		script  string
		want    health.HealthStatus
		fails   bool
	}{
		"Ready": {"The health check is asked.", false, script(t), health.HealthStatus{Status: health.HealthStatusHealthy}, false},
		"Deleted": {
			"The health check is not asked about what goes away.", true, script(t),
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "Pending deletion"},
			false,
		},
		"Broken":   {"A script that fails is an error.", false, "return obj.status.none.none", health.HealthStatus{}, true},
		"No table": {"A script that returns no table is an error.", false, "return 'Healthy'", health.HealthStatus{}, true},
		"Strings":  {"A script in the settings has no library of strings.", false, "return { status = string.upper('Healthy') }", health.HealthStatus{}, true},
		"Files":    {"A script reaches no files.", false, "return { status = io.open('/etc/hostname'):read() }", health.HealthStatus{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource := manifest(t, filepath.Join(checks, "testdata", "ready.yaml"))
			if tc.deleted {
				now := metav1.NewTime(time.Now())
				resource.SetDeletionTimestamp(&now)
			}
			got, err := HealthOf(tc.script, resource)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("%s\nwant an error: %t, got %v; -want, +got:\n%s", tc.reason, tc.fails, err, diff)
			}
		})
	}
}

// TestArgoCDConfigMap checks that the settings that are applied have the same health check.
func TestArgoCDConfigMap(t *testing.T) {
	t.Parallel()
	settings := struct {
		Data map[string]string `json:"data"`
	}{}
	data, err := os.ReadFile(filepath.Join(examples, "argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &settings); err != nil {
		t.Fatal(err)
	}
	customizations := map[string]map[string]string{}
	if err := yaml.UnmarshalStrict([]byte(settings.Data["resource.customizations"]), &customizations); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{checksKey: {"health.lua": script(t)}}
	for _, key := range compositeKeys() {
		want[key] = want[checksKey]
	}
	if diff := cmp.Diff(want, customizations); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestArgoCDCovers checks that the key of the health check matches every kind of the package, and no others.
func TestArgoCDCovers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "package", "crds", "*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("want the definitions of the package, got %d: %v", len(files), err)
	}
	kinds := map[schema.GroupKind]bool{
		{Group: "apps", Kind: "Deployment"}: false, {Group: "pkg.crossplane.io", Kind: "Provider"}: false, {Group: "vitistack.io", Kind: "Machine"}: false,
	}
	for _, file := range files {
		definition := manifest(t, file)
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		kinds[schema.GroupKind{Group: group, Kind: kind}] = true
	}
	for kind, want := range kinds {
		if got, err := Covers(checksKey, kind); err != nil || got != want {
			t.Errorf("the health check covers %s: want %t, got %t, %v", kind, want, got, err)
		}
	}
}

// TestArgoCDCoversComposites checks that one of the keys matches each kind of examples/composition.
func TestArgoCDCoversComposites(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "composition", "apis", "*", "*definition.yaml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("want the definitions of the Configuration, got %d: %v", len(files), err)
	}
	for _, file := range files {
		definition := manifest(t, file)
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		if !slices.ContainsFunc(append(compositeKeys(), checksKey), func(key string) bool {
			covers, err := Covers(key, schema.GroupKind{Group: group, Kind: kind})
			return err == nil && covers
		}) {
			t.Errorf("no key covers %s of %s", kind, group)
		}
	}
}

// A compositeCase is a composite resource of generation 2 with conditions of Crossplane, and the expected conclusions.
type compositeCase struct {
	reason     string
	conditions []any
	health     health.HealthStatus
	flux, own  status.Status
}

// resource returns the composite resource.
func (c compositeCase) resource() *unstructured.Unstructured {
	composite := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "vitistack.io/v1alpha1", "kind": "Machine", "metadata": map[string]any{"name": "my-vm", "generation": int64(2)},
	}}
	if c.conditions != nil {
		status := map[string]any{"vmid": int64(100)} // Written by functions.
		if len(c.conditions) > 0 {
			status["conditions"] = c.conditions
		}
		composite.Object["status"] = status
	}
	return composite
}

// condition returns a condition in the form of Crossplane 2, or of Crossplane 1, whose conditions have no generation.
func condition(kind, status, reason, message string, generation int64) any {
	out := map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	if generation > 0 {
		out["observedGeneration"] = generation
	}
	return out
}

func compositeCases() map[string]compositeCase {
	synced := condition("Synced", "True", "ReconcileSuccess", "", 2)
	return map[string]compositeCase{
		"New": {
			"Crossplane has not reconciled a new one.", nil,
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "The provider has not reported whether this is ready"},
			status.UnknownStatus, status.CurrentStatus,
		},
		"NoConditions": {
			"Functions have written a status before Crossplane has set a condition.",
			[]any{},
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "The provider has not reported whether this is ready"},
			status.InProgressStatus, status.CurrentStatus,
		},
		"Creating": {
			"What a resource is composed of is not ready.",
			[]any{synced, condition("Ready", "False", "Creating", "Unready resources: machine", 2)},
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "Unready resources: machine"},
			status.InProgressStatus, status.InProgressStatus,
		},
		"Ready": {
			"What a resource is composed of is ready.",
			[]any{synced, condition("Ready", "True", "Available", "", 2)},
			health.HealthStatus{Status: health.HealthStatusHealthy},
			status.CurrentStatus, status.CurrentStatus,
		},
		"ReadyInCrossplane1": {
			"Conditions without a generation are taken as they are.",
			[]any{condition("Synced", "True", "ReconcileSuccess", "", 0), condition("Ready", "True", "Available", "", 0)},
			health.HealthStatus{Status: health.HealthStatusHealthy},
			status.CurrentStatus, status.CurrentStatus,
		},
		"Refused": {
			"The Composition of a resource cannot be carried out.",
			[]any{condition("Synced", "False", "ReconcileError", "cannot compose", 2), condition("Ready", "True", "Available", "", 1)},
			health.HealthStatus{Status: health.HealthStatusDegraded, Message: "cannot compose"},
			status.FailedStatus, status.CurrentStatus,
		},
		"RefusedInCrossplane1": {
			"A failed reconcile counts in Crossplane 1 also.",
			[]any{condition("Synced", "False", "ReconcileError", "cannot compose", 0), condition("Ready", "True", "Available", "", 0)},
			health.HealthStatus{Status: health.HealthStatusDegraded, Message: "cannot compose"},
			status.FailedStatus, status.CurrentStatus,
		},
		"RefusedBefore": {
			"The spec that was refused is not the present one.",
			[]any{condition("Synced", "False", "ReconcileError", "cannot compose", 1), condition("Ready", "True", "Available", "", 1)},
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "The provider has not reconciled the spec yet"},
			status.InProgressStatus, status.CurrentStatus,
		},
		"Edited": {
			"The conditions are about the spec before.",
			[]any{condition("Synced", "True", "ReconcileSuccess", "", 1), condition("Ready", "True", "Available", "", 1)},
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "The provider has not reconciled the spec yet"},
			status.InProgressStatus, status.CurrentStatus,
		},
		"ReadyBefore": {
			"Only the spec before is known to be ready.",
			[]any{synced, condition("Ready", "True", "Available", "", 1)},
			health.HealthStatus{Status: health.HealthStatusProgressing, Message: "The provider has not compared this with the spec yet"},
			status.InProgressStatus, status.CurrentStatus,
		},
		"Paused": {
			"Somebody has paused a composite resource.",
			[]any{condition("Synced", "False", "ReconcilePaused", "", 2)},
			health.HealthStatus{Status: health.HealthStatusSuspended, Message: "Reconciliation is paused"},
			status.InProgressStatus, status.CurrentStatus,
		},
	}
}

// TestArgoCDComposites evaluates the health check for composite resources with the conditions of Crossplane.
func TestArgoCDComposites(t *testing.T) {
	t.Parallel()
	for name, tc := range compositeCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := HealthOf(script(t), tc.resource())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.health, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFluxComposites evaluates the expressions of the Kustomization for the same composite resources, and kstatus without them.
func TestFluxComposites(t *testing.T) {
	t.Parallel()
	for name, tc := range compositeCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, tc.resource(), tc.reason, tc.flux, tc.own)
		})
	}
}

// TestFluxCovers checks that there are expressions for every kind of examples/composition that users write, and that they are the same for all of them.
func TestFluxCovers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "composition", "apis", "*", "*definition.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"proxmox.m.vitistack.io/v1alpha1 Machine"}
	for _, file := range files {
		if kind := written(t, manifest(t, file)); kind != "" {
			want = append(want, kind)
		}
	}
	var got []string
	checks := healthChecks(t)
	for _, check := range checks {
		got = append(got, check.APIVersion+" "+check.Kind)
	}
	for _, check := range checks[1:] {
		if check.HealthCheckExpressions != checks[1].HealthCheckExpressions {
			t.Errorf("the expressions of %s are not those of %s", check.Kind, checks[1].Kind)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// written returns the kind of a definition that users write, which is that of the claim if there is one. Users do not write the resources that other
// composite resources create.
func written(t *testing.T, definition *unstructured.Unstructured) string {
	t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if claim, found, _ := unstructured.NestedString(definition.Object, "spec", "claimNames", "kind"); found {
		kind = claim
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	version, ok := versions[0].(map[string]any)
	if !ok || len(versions) != 1 {
		t.Fatalf("want one version of %s, got %v", kind, versions)
	}
	if strings.HasSuffix(kind, "Use") {
		return ""
	}
	return fmt.Sprintf("%s/%s %s", group, version["name"], kind)
}

// healthChecks returns the expressions of the Kustomization.
func healthChecks(t *testing.T) []kustomize.CustomHealthCheck {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(examples, "flux", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checks, err := HealthChecks(data)
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

// judge compares the conclusions about a resource, by the expressions of the Kustomization and by kstatus without them.
func judge(t *testing.T, resource *unstructured.Unstructured, reason string, wantFlux, wantOwn status.Status) {
	t.Helper()
	flux, err := StatusOf(t.Context(), healthChecks(t), resource)
	if err != nil {
		t.Fatal(err)
	}
	own, err := status.Compute(resource)
	if err != nil {
		t.Fatal(err)
	}
	if flux.Status != wantFlux || own.Status != wantOwn {
		t.Errorf("%s\nwant %s by the expressions and %s by kstatus, got %s (%v) and %s", reason, wantFlux, wantOwn, flux.Status, flux.Error, own.Status)
	}
}

// TestFlux evaluates the expressions of the Kustomization, and kstatus without them.
func TestFlux(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		flux, own status.Status
	}{
		"new":                   {"Nobody has reconciled a new Machine.", status.InProgressStatus, status.InProgressStatus},
		"edited":                {"The status is that of the spec before.", status.InProgressStatus, status.InProgressStatus},
		"creating":              {"A VM is created.", status.InProgressStatus, status.InProgressStatus},
		"ready":                 {"All is as declared.", status.CurrentStatus, status.CurrentStatus},
		"differs":               {"kstatus does not know the condition UpToDate.", status.InProgressStatus, status.CurrentStatus},
		"refused":               {"kstatus does not know the condition Synced.", status.FailedStatus, status.CurrentStatus},
		"paused":                {"A paused Machine is not compared with its spec.", status.InProgressStatus, status.CurrentStatus},
		"paused-from-the-start": {"A Machine that is paused from the start was never looked at.", status.InProgressStatus, status.InProgressStatus},
		"restart":               {"A change waits for a restart.", status.InProgressStatus, status.CurrentStatus},
		"device-missing":        {"A disk is missing.", status.InProgressStatus, status.InProgressStatus},
		"nothing-to-boot":       {"kstatus does not know the condition Bootable.", status.FailedStatus, status.CurrentStatus},
		"boots-again":           {"A VM has got something to boot from.", status.CurrentStatus, status.CurrentStatus},
		"not-running":           {"A VM that is off boots nothing.", status.CurrentStatus, status.CurrentStatus},
		"unknown":               {"The reconcile of a new spec failed before Ready was evaluated.", status.InProgressStatus, status.InProgressStatus},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, manifest(t, filepath.Join(checks, "testdata", name+".yaml")), tc.reason, tc.flux, tc.own)
		})
	}
}
