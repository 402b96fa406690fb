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
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
)

// testNeighbours checks that the API server accepts the examples for other projects with the definitions of these projects. Their programs do not run.
func (s *suite) testNeighbours(t *testing.T) {
	cases := map[string]struct {
		reason, module, definition, example string
	}{
		"ExternalSecrets": {
			"An ExternalSecret makes the Secret of a provider configuration.",
			"github.com/external-secrets/external-secrets", "config/crds/bases/external-secrets.io_externalsecrets.yaml", "external-secrets/externalsecret.yaml",
		},
	}
	neighbours := assets.Provider{Module: checkout.NeighboursModule()}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source, err := neighbours.Source(s.ctx, tc.module)
			if err != nil {
				t.Fatal(err)
			}
			definition := filepath.Join(source, tc.definition)
			s.kubectl(t, "apply", "--server-side", "-f", definition)
			t.Cleanup(func() { s.kubectl(t, "delete", "-f", definition) })
			s.kubectl(t, "wait", "--for=condition=Established", "--timeout="+maxWait.String(), "-f", definition)
			objs, err := kube.ReadFile(examples(tc.example))
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range objs {
				s.takes(t, obj, tc.reason)
			}
		})
	}
}

// takes checks that the API server accepts an object unchanged. It would drop a field that the definition lacks.
func (s *suite) takes(t *testing.T, obj *unstructured.Unstructured, reason string) {
	t.Helper()
	strict := client.WithFieldValidation(s.Kube.Client, client.FieldValidation("Strict"))
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(obj.GetNamespace())
	if err := s.Kube.Apply(s.ctx, namespace); err != nil {
		t.Fatal(err)
	}
	misspelt := obj.DeepCopy()
	if err := unstructured.SetNestedField(misspelt.Object, "x", "spec", "misspelt"); err != nil {
		t.Fatal(err)
	}
	if err := strict.Create(s.ctx, misspelt); err == nil {
		t.Errorf("%s %q is taken with a field that there is not", obj.GetKind(), obj.GetName())
	}
	if err := strict.Create(s.ctx, obj.DeepCopy()); err != nil {
		t.Errorf("%s\n%s %q is refused: %v", reason, obj.GetKind(), obj.GetName(), err)
	}
}
