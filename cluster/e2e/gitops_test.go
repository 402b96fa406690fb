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

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/gitops"
)

// healthCheck is the health check that users configure in Argo CD.
const healthCheck = "gitops/argocd/resource_customizations/proxmox._vitistack.io/_/health.lua"

// testGitOps follows the life cycles of a Machine, and of a Volume, which has the conditions of kinds that are not VMs.
func (s *suite) testGitOps(t *testing.T) {
	cases := map[string]struct{ spec, change map[string]any }{
		"Machine": {map[string]any{"template": "ubuntu-24.04", "description": "first"}, map[string]any{"description": "second"}},
		"Volume":  {map[string]any{"storage": "ceph", "size": "1Gi"}, map[string]any{"size": "2Gi"}},
	}
	for kind, tc := range cases {
		t.Run(kind, func(t *testing.T) {
			s.followLife(t, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": kind,
				"metadata": map[string]any{"namespace": "default", "name": "gitops"},
				"spec":     map[string]any{"forProvider": tc.spec},
			}}, tc.change)
		})
	}
}

// followLife takes a resource through creation, a change, a failure and deletion, and checks that tools that wait for resources never take the status
// of another spec for the status of this one.
func (s *suite) followLife(t *testing.T, m *unstructured.Unstructured, change map[string]any) {
	t.Helper()
	if err := s.Kube.Create(s.ctx, m); err != nil {
		t.Fatal(err)
	}
	s.sees(t, m, status.InProgressStatus, "Progressing")
	s.untilSees(t, m, status.CurrentStatus, "Healthy")

	s.edit(t, m, map[string]any{"spec": map[string]any{"forProvider": change}})
	s.sees(t, m, status.InProgressStatus, "Progressing")
	s.untilSees(t, m, status.CurrentStatus, "Healthy")

	s.edit(t, m, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"crossplane.io/reconcile-requested-at": "once"}}})
	s.until(t, func() string {
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err.Error()
		}
		if handled, _, _ := unstructured.NestedString(m.Object, "status", "lastHandledReconcileAt"); handled != "once" {
			return "the request of a reconcile was not handled"
		}
		return ""
	})

	connection, _, _ := unstructured.NestedMap(m.Object, "spec", "providerConfigRef")
	s.edit(t, m, map[string]any{"spec": map[string]any{"providerConfigRef": map[string]any{"kind": "ClusterProviderConfig", "name": "none"}}})
	s.sees(t, m, status.InProgressStatus, "Progressing")
	s.untilSees(t, m, status.InProgressStatus, "Degraded")

	s.edit(t, m, map[string]any{"spec": map[string]any{"providerConfigRef": connection}})
	s.untilSees(t, m, status.CurrentStatus, "Healthy")

	if err := s.Kube.Delete(s.ctx, m); err != nil {
		t.Fatal(err)
	}
	s.until(t, func() string {
		err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(m), m)
		if apierrors.IsNotFound(err) {
			return ""
		}
		if err == nil {
			s.sees(t, m, status.TerminatingStatus, "Progressing")
		}
		return m.GetKind() + " " + m.GetName() + " still exists"
	})
}

// edit changes some fields of a resource, and updates it with the API server's response.
func (s *suite) edit(t *testing.T, resource *unstructured.Unstructured, change map[string]any) {
	t.Helper()
	patch, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kube.Patch(s.ctx, resource, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatalf("cannot change %s %q: %v", resource.GetKind(), resource.GetName(), err)
	}
}

// sees compares what kstatus and Argo CD conclude from the resource as it was last read or written.
func (s *suite) sees(t *testing.T, resource *unstructured.Unstructured, want status.Status, health string) {
	t.Helper()
	if is, shown := s.judge(t, resource); is != want || shown != health {
		t.Fatalf("want %s and %s, got %s and %s of %v", want, health, is, shown, resource.Object["status"])
	}
}

// untilSees reads the resource until kstatus and Argo CD conclude that from it.
func (s *suite) untilSees(t *testing.T, resource *unstructured.Unstructured, want status.Status, health string) {
	t.Helper()
	s.until(t, func() string {
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(resource), resource); err != nil {
			return err.Error()
		}
		if is, shown := s.judge(t, resource); is != want || shown != health {
			return resource.GetKind() + " " + resource.GetName() + " is " + string(is) + " and " + shown
		}
		return ""
	})
}

func (s *suite) judge(t *testing.T, resource *unstructured.Unstructured) (is status.Status, health string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Clean(examples(healthCheck)))
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(resource)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := gitops.HealthOf(string(script), resource)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status, string(shown.Status)
}
