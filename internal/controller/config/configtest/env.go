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

package configtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An env is a Runner with the description of the kind.
type env struct {
	*Runner

	kind Kind
}

func newEnv(t *testing.T, k Kind, w Way) *env {
	t.Helper()
	e := &env{Runner: newRunner(t, k.Setup, w), kind: k}
	for name, data := range k.Secrets {
		e.Create(secret(name, data))
	}
	if k.Prepare != nil {
		k.Prepare(e.Simulator)
	}
	return e
}

// resource creates a resource of the kind, older than those of higher numbers.
func (e *env) resource(number int, forProvider string, annotations map[string]string) resource.Managed {
	e.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(e.kind.Kind), number)
	return e.Object(e.kind.Kind, name, number, forProvider, annotations)
}

// edit edits the spec as a user does.
func (e *env) edit(mg resource.Managed, forProvider string) {
	e.Helper()
	e.Read(mg)
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		e.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(forProvider), &spec); err != nil {
		e.Fatal(err)
	}
	if err := unstructured.SetNestedMap(u, spec, "spec", "forProvider"); err != nil {
		e.Fatal(err)
	}
	generation := mg.GetGeneration() + 1
	empty, _ := e.Scope.Identity(e.kind.Kind).Object.DeepCopyObject().(resource.Managed)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, empty); err != nil {
		e.Fatal(err)
	}
	empty.SetGeneration(generation)
	if err := e.Kube.Update(e.Context(), empty); err != nil {
		e.Fatal(err)
	}
	e.Read(mg)
}

// object returns the object in Proxmox VE, or nil.
func (e *env) object() *proxmox.Object {
	e.Helper()
	all, err := e.Client.Objects(e.Context(), e.kind.Collection)
	if err != nil {
		e.Fatal(err)
	}
	for _, o := range all {
		if o.Name == e.kind.Name {
			return &o
		}
	}
	return nil
}

// has checks the options of the object.
func (e *env) has(want map[string]string) {
	e.Helper()
	o := e.object()
	if o == nil {
		e.Fatalf("%s %q does not exist", e.kind.Collection.Noun, e.kind.Name)
	}
	for option, value := range want {
		if got := o.Values[option]; !same(got, value) {
			e.Errorf("%s %q: %s is %q, want %q", e.kind.Collection.Noun, e.kind.Name, option, got, value)
		}
	}
}
