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
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	localkube "github.com/vitistack/provider-proxmox/cluster/local/kube"
)

// machines returns all Machines that a composite resource is composed of, directly or indirectly.
func (w *world) machines(xr *unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, obj := range w.made[string(xr.GetUID())] {
		if obj.GetKind() == "Machine" {
			all = append(all, obj)
		}
		all = append(all, w.machines(obj)...)
	}
	return all
}

// TestPools checks that each VM is in the requested pool.
func TestPools(t *testing.T) {
	for kind, count := range map[string]int{"VirtualMachine": 1, "XVirtualMachine": 1, "KubernetesNodes": 3} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			xr := parse(t, fmt.Sprintf("{apiVersion: platform.vitistack.io/v1alpha1, kind: %s, metadata: {name: pooled}, spec: {pool: shop}}", kind))
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			w.settle(xr)
			all := w.machines(xr)
			if len(all) != count {
				t.Fatalf("want %d Machines, got %d", count, len(all))
			}
			for _, m := range all {
				if got, _, _ := unstructured.NestedString(m.Object, "spec", "forProvider", "pool"); got != "shop" {
					t.Errorf("Machine %q: the pool is %q", m.GetName(), got)
				}
			}
		})
	}
}

// TestPoliciesOfTeams creates the Machine of a VirtualMachine in the namespace of a team, for which there are examples/policies.
func TestPoliciesOfTeams(t *testing.T) {
	namespace := labelled(t, map[string]string{"team": "shop"})
	files, err := filepath.Glob(checkout.Resolve("examples/policies/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no policies: %v", err)
	}
	for _, file := range files {
		objs, err := localkube.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			if err := kube.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = kube.Delete(context.Background(), obj) })
		}
	}
	for _, tc := range []struct{ name, reason, spec, refused string }{ // The first two check that the policies are in force.
		{"NoPool", "A VM belongs to the team's pool.", "{}", "must be shop"},
		{"OtherImage", "A VM is made of an approved image.", "{pool: shop, image: mine}", "must name debian-13 or ubuntu-24.04"},
		{"Default", "With the pool, what a VirtualMachine asks for by default is allowed.", "{pool: shop}", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			xr := parse(t, "{apiVersion: platform.vitistack.io/v1alpha1, kind: VirtualMachine, metadata: {name: portal}, spec: "+tc.spec+"}")
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			w.settle(xr)
			made := w.machines(xr)[0]
			m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": made.GetAPIVersion(), "kind": made.GetKind(), "spec": made.Object["spec"]}}
			m.SetNamespace(namespace)
			m.SetName("portal")
			err := refusal(t, m, tc.refused != "")
			if (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s Want a refusal with %q, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}

// labelled creates a namespace with labels.
func labelled(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetGenerateName("team-")
	ns.SetLabels(labels)
	if err := kube.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.GetName()
}

// refusal returns the error with which an object would be refused. If an error is expected, it waits until policies are in force.
func refusal(t *testing.T, obj *unstructured.Unstructured, expected bool) (err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err = kube.Create(ctx, obj.DeepCopy(), client.DryRunAll)
		return err != nil || !expected, nil //nolint:nilerr // The error is what is looked for.
	})
	return err
}
