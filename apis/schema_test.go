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
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// schema is a node of the schema of a kind.
type schema = extv1.JSONSchemaProps

// definitions are the CRDs of package/crds.
func definitions(t *testing.T) []extv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "package", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find the CRDs of package/crds: %v", err)
	}
	out := make([]extv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &out[i]); err != nil {
			t.Fatalf("cannot parse %q: %v", file, err)
		}
	}
	return out
}

func root(crd extv1.CustomResourceDefinition) schema {
	return *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// forProvider is the schema of the parameters of the scope's Machine.
func forProvider(t *testing.T, s scope) schema {
	t.Helper()
	for _, crd := range definitions(t) {
		if crd.Spec.Group == s.group && crd.Spec.Names.Kind == "Machine" {
			return root(crd).Properties["spec"].Properties["forProvider"]
		}
	}
	t.Fatalf("cannot find the Machine of %q", s.group)
	return schema{}
}

func TestEveryFieldHasADescription(t *testing.T) {
	for _, crd := range definitions(t) {
		t.Run(crd.Name, func(t *testing.T) {
			if root(crd).Description == "" {
				t.Errorf("%s has no description", crd.Spec.Names.Kind)
			}
			described(t, "", root(crd))
		})
	}
}

func described(t *testing.T, path string, n schema) {
	t.Helper()
	for name, p := range n.Properties {
		at := path + "." + name
		if at == ".metadata" {
			continue // Kubernetes describes it.
		}
		if p.Description == "" {
			t.Errorf("%s has no description", at)
		}
		described(t, at, p)
	}
	if n.Items != nil {
		described(t, path+"[]", *n.Items.Schema)
	}
	if n.AdditionalProperties != nil && n.AdditionalProperties.Schema != nil {
		described(t, path+"{}", *n.AdditionalProperties.Schema)
	}
}

// unserved is a field that is part of the API and not served yet, with an object that sets it.
type unserved struct {
	path   string
	object map[string]any
	values []any // That the field may have, if only some of them are not served.
	set    func(any) map[string]any
}

// TestUnservedRefused finds every field that is marked as not served and sees that setting it is refused.
func TestUnservedRefused(t *testing.T) {
	for _, crd := range definitions(t) {
		t.Run(crd.Name, func(t *testing.T) {
			for _, u := range unservedFields(crd) {
				t.Run(u.path, func(t *testing.T) { testUnserved(t, crd, u) })
			}
		})
	}
}

func testUnserved(t *testing.T, crd extv1.CustomResourceDefinition, u unserved) {
	t.Helper()
	if u.values == nil {
		err := tryCreate(t.Context(), instance(crd, u.object))
		wantRefused(t, "A field that is not served yet is not accepted silently.", err, u.path, "not served yet")
		return
	}
	refused := 0
	for _, v := range u.values {
		err := tryCreate(t.Context(), instance(crd, u.set(v)))
		if err == nil {
			continue
		}
		refused++
		wantRefused(t, "A value that is not served yet is not accepted silently.", err, u.path, "served yet")
	}
	if refused == 0 || refused == len(u.values) {
		t.Errorf("%d of the values %v of %s are refused, want some and not all", refused, u.values, u.path)
	}
}

// TestUnservedFound fails when the search for unserved fields does not find one.
func TestUnservedFound(t *testing.T) {
	const path = "spec.forProvider.disks[0].size"
	for _, crd := range definitions(t) {
		if crd.Spec.Names.Kind != "Machine" {
			continue
		}
		top := root(*crd.DeepCopy())
		disks := top.Properties["spec"].Properties["forProvider"].Properties["disks"]
		size := disks.Items.Schema.Properties["size"]
		size.XValidations = append(size.XValidations, extv1.ValidationRule{Rule: "false", Message: "not served yet"})
		disks.Items.Schema.Properties["size"] = size
		var got []unserved
		findUnserved(&got, "spec", top.Properties["spec"], func(v any) map[string]any { return map[string]any{"spec": v} })
		if !slices.ContainsFunc(got, func(u unserved) bool { return u.path == path }) {
			t.Errorf("%s of %s is not among the unserved fields that were found: %v", path, crd.Name, got)
		}
	}
}

// instance of a kind with the given content.
func instance(crd extv1.CustomResourceDefinition, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(crd.Spec.Group + "/" + crd.Spec.Versions[0].Name)
	u.SetKind(crd.Spec.Names.Kind)
	u.SetName("admission")
	if crd.Spec.Scope == extv1.NamespaceScoped {
		u.SetNamespace("default")
	}
	return u
}

// unservedFields of a kind: those with a rule that no value passes, or a rule that says so of some values.
func unservedFields(crd extv1.CustomResourceDefinition) []unserved {
	var out []unserved
	top := root(crd)
	if isUnserved(top) {
		return []unserved{{path: crd.Spec.Names.Kind, object: minimal(top)}}
	}
	whole := func(spec any) map[string]any { return map[string]any{"spec": spec} }
	findUnserved(&out, "spec", top.Properties["spec"], whole)
	return out
}

// findUnserved in a node. The whole object with a value for the node is what whole returns.
func findUnserved(out *[]unserved, path string, n schema, whole func(any) map[string]any) {
	if isUnserved(n) {
		*out = append(*out, unserved{path: path, object: whole(sample(n))})
		return
	}
	if isPartlyUnserved(n) {
		*out = append(*out, unserved{path: path, values: choices(n), set: whole})
	}
	for name, p := range n.Properties {
		findUnserved(out, path+"."+name, p, func(v any) map[string]any {
			o := minimal(n)
			o[name] = v
			return whole(o)
		})
	}
	if n.Items != nil {
		findUnserved(out, path+"[0]", *n.Items.Schema, func(v any) map[string]any { return whole([]any{v}) })
	}
}

func isUnserved(n schema) bool {
	return slices.ContainsFunc(n.XValidations, func(r extv1.ValidationRule) bool { return r.Rule == "false" })
}

func isPartlyUnserved(n schema) bool {
	return slices.ContainsFunc(n.XValidations, func(r extv1.ValidationRule) bool { return strings.Contains(r.Message, "served yet") })
}

// servedFields are the paths of all fields that may be set, those of lists without their index.
func servedFields(n schema) []string {
	var out []string
	for name, p := range n.Properties {
		if isUnserved(p) {
			continue
		}
		out = append(out, "."+name)
		for _, path := range servedFields(p) {
			out = append(out, "."+name+path)
		}
		if p.Items == nil {
			continue
		}
		for _, path := range servedFields(*p.Items.Schema) {
			out = append(out, "."+name+path)
		}
	}
	return out
}

// collect the paths of the fields that a value sets, those of lists without their index.
func collect(set map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			set[path+"."+name] = true
			collect(set, path+"."+name, value)
		}
	case []any:
		for _, value := range v {
			collect(set, path, value)
		}
	}
}

// minimal object of a schema: what is required.
func minimal(n schema) map[string]any {
	o := map[string]any{}
	for _, name := range n.Required {
		o[name] = sample(n.Properties[name])
	}
	return o
}

// sample value that a schema allows, its rules apart.
func sample(n schema) any {
	switch {
	case len(n.Enum) > 0:
		return enum(n)[0]
	case n.XIntOrString:
		return "1Gi"
	case n.Type == "array":
		return []any{sample(*n.Items.Schema)}
	case n.Type == "object":
		return sampleObject(n)
	case n.Type == "boolean":
		return true
	case n.Type == "integer":
		return sampleInteger(n)
	default:
		return sampleString(n)
	}
}

func sampleObject(n schema) map[string]any {
	if n.AdditionalProperties != nil {
		return map[string]any{"key": sample(*n.AdditionalProperties.Schema)}
	}
	o := minimal(n)
	for name, p := range n.Properties {
		if n.MinProperties != nil && len(o) < int(*n.MinProperties) {
			o[name] = sample(p)
		}
	}
	return o
}

func sampleInteger(n schema) int64 {
	if n.Minimum != nil {
		return int64(*n.Minimum)
	}
	return 1
}

// sampleString returns the first string that matches the schema's pattern; the API server refuses none at all in a
// way that the tests notice.
func sampleString(n schema) string {
	if all := sampleStrings(n); len(all) > 0 {
		return all[0]
	}
	return ""
}

func sampleStrings(n schema) []string {
	all := []string{"sample", "0-3", "0x5000c500a1b2c3d4", "https://pve1.example.com:8006", "socket", "/dev/ttyS0"}
	return slices.DeleteFunc(all, func(s string) bool {
		return n.Pattern != "" && !regexp.MustCompile(n.Pattern).MatchString(s)
	})
}

// choices are values of which a schema may serve some: those of an enum, and lists of one string each.
func choices(n schema) []any {
	if n.Items == nil {
		return enum(n)
	}
	var out []any
	for _, s := range sampleStrings(*n.Items.Schema) {
		out = append(out, []any{s})
	}
	return out
}

func enum(n schema) []any {
	out := make([]any, len(n.Enum))
	for i, v := range n.Enum {
		_ = json.Unmarshal(v.Raw, &out[i])
	}
	return out
}

// normal form of a value, with the numbers that JSON has.
func normal(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
