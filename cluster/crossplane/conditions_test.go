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

package crossplane

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/gitops"
)

const (
	// conditionsObject is the name that Crossplane gives the function of conditions when a Configuration depends on it.
	conditionsObject = "vitistack-" + conditionsName
	conditionsName   = "function-proxmox-conditions"
	// bridgeMissing is the message of a Machine about a bridge that does not exist.
	bridgeMissing = "bridge 'vmbr999' not found"
)

// pushConditions pushes the function of conditions with the version in the example.
func (s *suite) pushConditions(t *testing.T) {
	t.Helper()
	if err := s.PushLayout(s.ctx, "vitistack/"+conditionsName, "v0.1.0", built(older, "conditions")); err != nil {
		t.Fatal(err)
	}
}

// testFailed checks that the reason of a ProxmoxVM's condition shows why it has no VM.
func (s *suite) testFailed(t *testing.T) {
	vm := read(t, compositions+"/migration/sankofa/web-server-01.yaml")[0]
	vm.SetName("no-bridge")
	s.create(t, vm, "vmbr999", "spec", "forProvider", "network")
	s.untilCondition(t, vm, "Failed", "True ValidationFailed", "network bridge 'vmbr999' does not exist on node 'pve1'")
	s.untilCondition(t, vm, "NetworkConfigured", "False NetworkError", bridgeMissing)
	s.kubectl(t, "delete", patience, argument(vm))
}

// testFailedClaim checks that the reason of a claim's condition shows why it has no VM.
func (s *suite) testFailedClaim(t *testing.T) {
	claim := read(t, compositions+"/examples/virtualmachineclaim.yaml")[0]
	claim.SetName("no-bridge")
	s.create(t, claim, "vmbr999", "spec", "network", "bridge")
	s.untilCondition(t, claim, "NetworkConfigured", "False NetworkError", bridgeMissing)
	s.kubectl(t, "delete", patience, argument(claim), "--namespace=default")
}

// create applies an object with another value in a field.
func (s *suite) create(t *testing.T, obj *unstructured.Unstructured, value string, field ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(obj.Object, value, field...); err != nil {
		t.Fatal(err)
	}
	if err := s.Kube.Apply(s.ctx, obj); err != nil {
		t.Fatal(err)
	}
}

// untilCondition waits until an object has a condition with a status and reason, and with a text in its message.
func (s *suite) untilCondition(t *testing.T, obj *unstructured.Unstructured, kind, want, message string) {
	t.Helper()
	s.until(t, func() string {
		now := obj.DeepCopy()
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), now); err != nil {
			return err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
		for _, c := range conditions {
			c, ok := c.(map[string]any)
			if ok && c["type"] == kind && fmt.Sprint(c["status"], " ", c["reason"]) == want && strings.Contains(fmt.Sprint(c["message"]), message) {
				return ""
			}
		}
		return fmt.Sprintf("%s %q has no %s that is %s and says %q: %v", obj.GetKind(), obj.GetName(), kind, want, message, conditions)
	})
}

// untilArgoCD waits until Argo CD shows a health of an object, with the health check of the examples.
func (s *suite) untilArgoCD(t *testing.T, obj *unstructured.Unstructured, want string) {
	t.Helper()
	script := example(t, "gitops/argocd/resource_customizations/proxmox._vitistack.io/_/health.lua")
	s.untilShown(t, obj, want, func(now *unstructured.Unstructured) (string, error) {
		shown, err := gitops.HealthOf(string(script), now)
		return string(shown.Status), err
	})
}

// untilFlux waits until Flux computes a status of an object, with the expressions of the example.
func (s *suite) untilFlux(t *testing.T, obj *unstructured.Unstructured, want string) {
	t.Helper()
	checks, err := gitops.HealthChecks(example(t, "gitops/flux/kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.untilShown(t, obj, want, func(now *unstructured.Unstructured) (string, error) {
		shown, err := gitops.StatusOf(s.ctx, checks, now)
		if err != nil {
			return "", err
		}
		return string(shown.Status), nil
	})
}

// untilShown waits until an object is shown as expected.
func (s *suite) untilShown(t *testing.T, obj *unstructured.Unstructured, want string, shown func(*unstructured.Unstructured) (string, error)) {
	t.Helper()
	s.until(t, func() string {
		now := obj.DeepCopy()
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), now); err != nil {
			return err.Error()
		}
		got, err := shown(now)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			return fmt.Sprintf("%s %q is shown as %q, not %q: %v", obj.GetKind(), obj.GetName(), got, want, now.Object["status"])
		}
		return ""
	})
}

// example reads a file of the examples.
func example(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(checkout.Resolve("examples/" + path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// conditioned returns the composite resources that each stand for a Machine, and so have its conditions.
func conditioned(composites []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range composites {
		switch obj.GetKind() {
		case "Machine", "ProxmoxVirtualMachine", "ProxmoxVM", "VirtualMachine", "VirtualMachineClaim", "VMClone":
			out = append(out, obj)
		}
	}
	return out
}
