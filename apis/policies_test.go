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

package apis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// TestPolicies applies examples/policies and asks for Machines of a team.
func TestPolicies(t *testing.T) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName("policies")
	namespace.SetLabels(map[string]string{"team": "shop"})
	if err := kube.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for _, file := range examples(t, "policies") {
		for _, o := range objects(t, file) {
			create(t, o)
		}
	}
	const least = "pool: shop\ntemplate: debian-13\n"
	cases := map[string]struct {
		reason      string
		spec        string
		annotations map[string]string
		refused     string
	}{
		"Least": {reason: "What is approved is accepted.", spec: least},
		"All": {
			reason: "What is at the bounds is accepted.",
			spec: "pool: shop\nimage: {ref: {name: ubuntu-24.04}}\nvmid: 19999\nmemory: 64Gi\ncpu: {cores: 8, sockets: 2}\n" +
				"disks: [{name: root, size: 500G, storage: ceph, removalPolicy: Detach}]",
		},
		"NoPool":    {reason: "The pool is the team's.", spec: "template: debian-13", refused: "must be shop"},
		"OtherPool": {reason: "No other team's.", spec: "pool: bank\ntemplate: debian-13", refused: "must be shop"},
		"VMID":      {reason: "Its range of VMIDs.", spec: least + "vmid: 100", refused: "from 10000 to 19999"},
		"Adopted": {
			reason: "No VM that is there.", spec: least, annotations: map[string]string{"crossplane.io/external-name": "100"},
			refused: "cannot adopt",
		},
		"Destroy":  {reason: "No disk is destroyed.", spec: least + "disks: [{name: a, size: 1G, storage: ceph, removalPolicy: Destroy}]", refused: "removalPolicy"},
		"Cores":    {reason: "At most 16 cores.", spec: least + "cpu: {cores: 9, sockets: 2}", refused: "at most 16 cores"},
		"Memory":   {reason: "At most 64 GiB.", spec: least + "memory: 65Gi", refused: "at most 64Gi"},
		"Disk":     {reason: "At most 500 GB.", spec: least + "disks: [{name: a, size: 1T, storage: ceph}]", refused: "at most 500G"},
		"Template": {reason: "No other template.", spec: "pool: shop\ntemplate: mine", refused: "must name debian-13"},
		"URL": {
			reason: "No image from anywhere.",
			spec:   "pool: shop\nimage: {url: 'https://example.com/a.qcow2'}\ndisks: [{name: root, storage: ceph}]", refused: "must name debian-13",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := machineOf(t, tc.spec)
			m.SetAnnotations(tc.annotations)
			if tc.refused == "" {
				wantAccepted(t, tc.reason, tryCreate(t.Context(), m))
			} else if err := policyRefusal(t, m); err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s\nwant a refusal with %q, got %v", tc.reason, tc.refused, err)
			}
		})
	}
	t.Run("Identity", testIdentity)
}

// policyRefusal returns why the API server does not create a Machine. It takes a moment to learn of a policy.
func policyRefusal(t *testing.T, m *unstructured.Unstructured) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var refused error
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		refused = tryCreate(ctx, m)
		return refused != nil, nil
	})
	return refused
}

// testIdentity changes an annotation that says which VM a Machine is.
func testIdentity(t *testing.T) {
	m := machineOf(t, "pool: shop\ntemplate: debian-13\n")
	create(t, m)
	m.SetLabels(map[string]string{"tier": "web"})
	if err := kube.Update(t.Context(), m); err != nil {
		t.Errorf("Everything else may change: %v", err)
	}
	m.SetAnnotations(map[string]string{"crossplane.io/external-name": "100"})
	if err := kube.Update(t.Context(), m); err == nil || !strings.Contains(err.Error(), "are the provider's") {
		t.Errorf("want a refusal of another VM, got %v", err)
	}
}

// machineOf returns a Machine in the team's namespace.
func machineOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	parameters := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &parameters); err != nil {
		t.Fatal(err)
	}
	m := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"forProvider": parameters}}}
	m.SetAPIVersion("proxmox.m.vitistack.io/v1alpha1")
	m.SetKind("Machine")
	m.SetNamespace("policies")
	m.SetName("web")
	return m
}
