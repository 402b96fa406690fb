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
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The objects of another operator: a definition with the scope of ours and an object of it, and a definition with another scope.
const (
	oldMachines, oldClasses = "machines.vitistack.io", "vmclasses.infra.virtrigaud.io"
	oldMachine              = "kept-from-before"
	xrdKind                 = "compositeresourcedefinitions.apiextensions.crossplane.io"
)

// testPredecessors creates definitions of other operators, and an object of one, before the Configuration is installed.
func (s *suite) testPredecessors(t *testing.T) {
	for _, d := range []struct{ group, version, kind, plural string }{
		{"vitistack.io", "v1alpha1", "Machine", "machines"}, {"infra.virtrigaud.io", "v1beta1", "VMClass", "vmclasses"},
	} {
		crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", d.plural+"."+d.group)
		crd.Object["spec"] = map[string]any{
			"group": d.group, "scope": "Namespaced",
			"names": map[string]any{"kind": d.kind, "listKind": d.kind + "List", "plural": d.plural, "singular": strings.ToLower(d.kind)},
			"versions": []any{map[string]any{
				"name": d.version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		}
		if err := s.Kube.Apply(s.ctx, crd); err != nil {
			t.Fatal(err)
		}
	}
	s.untilServed(t, []string{oldMachines, oldClasses})
	if err := s.Kube.Apply(s.ctx, s.predecessor()); err != nil {
		t.Fatal(err)
	}
}

// predecessor returns the object of the other operator, with that operator's finalizer.
func (s *suite) predecessor() *unstructured.Unstructured {
	obj := object("vitistack.io/v1alpha1", "Machine", oldMachine)
	obj.SetNamespace("default")
	obj.SetFinalizers([]string{"vitistack.io/machine"})
	obj.Object["spec"] = map[string]any{"name": oldMachine, "memory": int64(2147483648)}
	return obj
}

// checkPredecessors checks that the Configuration takes over the definition with its scope and creates nothing for the object, and that it does not
// take over the other one. Then it follows the document: it removes the finalizers, then the object, and a definition that conflicts, whose scope
// Crossplane may remember until it restarts.
func (s *suite) checkPredecessors(t *testing.T) {
	t.Helper()
	s.untilTrue(t, []*unstructured.Unstructured{object("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", oldMachines)}, "Established")
	s.reconcileNow(t, oldMachines, oldMachine)
	s.untilCondition(t, s.predecessor(), "Synced", "False ReconcileError", `Machine "`+oldMachine+`" was there before the CompositeResourceDefinition`)
	s.untilArgoCD(t, s.predecessor(), "Degraded")
	s.untilFlux(t, s.predecessor(), "Failed")
	if refs := s.kubectl(t, "get", oldMachines, oldMachine, "--namespace=default", "--output=jsonpath={.spec.crossplane.resourceRefs}"); refs != "" {
		t.Errorf("the object of the other operator is composed of %s", refs)
	}
	s.kubectl(t, "patch", oldMachines, oldMachine, "--namespace=default", "--type=merge", "--patch", `{"metadata": {"finalizers": null}}`)
	s.kubectl(t, "delete", oldMachines, oldMachine, "--namespace=default", patience)

	s.until(t, func() string {
		events := s.kubectl(t, "get", "events", "--all-namespaces", "--field-selector=involvedObject.name="+oldClasses, "--output=jsonpath={.items[*].message}")
		if !strings.Contains(events, "spec.scope") || !strings.Contains(events, "field is immutable") {
			return "no event says that the definition of another scope is not taken over: " + events
		}
		return ""
	})
	s.kubectl(t, "delete", "customresourcedefinitions.apiextensions.k8s.io", oldClasses, patience)
	s.kubectl(t, "rollout", "restart", "deployment/crossplane", "--namespace=crossplane-system")
	s.kubectl(t, "rollout", "status", "deployment/crossplane", "--namespace=crossplane-system", patience)
	s.reconcileNow(t, xrdKind, oldClasses)
}

// reconcileNow makes Crossplane reconcile an object, which it otherwise does at increasing intervals after errors.
func (s *suite) reconcileNow(t *testing.T, definition, name string) {
	t.Helper()
	s.kubectl(t, "annotate", "--overwrite", definition, name, "crossplane.io/reconcile-requested-at=now", "--namespace=default")
}
