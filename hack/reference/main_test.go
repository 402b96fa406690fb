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

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane/apis/v2/apiextensions/v1alpha1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func raw(s string) *extv1.JSON { return &extv1.JSON{Raw: []byte(s)} }

func TestSummary(t *testing.T) {
	cases := map[string]struct {
		reason, description, want string
	}{
		"Is":       {reason: "The kind is named before.", description: "A Pool is a group of VMs. It has members.", want: "is a group of VMs"},
		"Does":     {reason: "Any verb may follow.", description: "A Pool groups\nVMs.", want: "groups VMs"},
		"NoPrefix": {reason: "A text that does not begin with the kind stays as it is.", description: "Pools group VMs.", want: "Pools group VMs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (doc{Kind: "Pool", Description: tc.description}).Summary(); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		reason string
		schema extv1.JSONSchemaProps
		kind   string
		want   string
	}{
		"Plain": {
			reason: "A text stands in one line.", schema: extv1.JSONSchemaProps{Type: "boolean", Description: "KVM can be\nturned off."},
			kind: "boolean", want: "KVM can be turned off.",
		},
		"Escaped": {
			reason: "A table takes no bars and no tags.", schema: extv1.JSONSchemaProps{Type: "string", Description: "a|b <name>"}, kind: "string",
			want: `a\|b &lt;name>`,
		},
		"Enum": {
			reason: "What is allowed is listed.", schema: extv1.JSONSchemaProps{Type: "string", Enum: []extv1.JSON{*raw(`"a"`), *raw(`""`)}},
			kind: "string", want: "One of `a`, empty.",
		},
		"Default":  {reason: "The default is listed.", schema: extv1.JSONSchemaProps{Type: "integer", Default: raw("180")}, kind: "integer", want: "Default: `180`."},
		"NoObject": {reason: "An empty object is no default to speak of.", schema: extv1.JSONSchemaProps{Type: "object", Default: raw("{}")}, kind: "object"},
		"Quantity": {reason: "Quantities are known by their pattern.", schema: extv1.JSONSchemaProps{XIntOrString: true, Pattern: "^([KMGTPE]i)$"}, kind: "quantity"},
		"Either":   {reason: "Not every number or text is a quantity.", schema: extv1.JSONSchemaProps{XIntOrString: true}, kind: "integer or string"},
		"List": {
			reason: "A list's values may be limited.",
			schema: extv1.JSONSchemaProps{
				Type:  "array",
				Items: &extv1.JSONSchemaPropsOrArray{Schema: &extv1.JSONSchemaProps{Type: "string", Enum: []extv1.JSON{*raw(`"disk"`)}}},
			},
			kind: "list of strings", want: "One of `disk`.",
		},
		"Map": {
			reason: "A map has values.", kind: "map of strings",
			schema: extv1.JSONSchemaProps{Type: "object", AdditionalProperties: &extv1.JSONSchemaPropsOrBool{Schema: &extv1.JSONSchemaProps{Type: "string"}}},
		},
		"Rule": {
			reason: "A rule of a plain value stands beside it.", kind: "string", want: "*Rule:* must be even.",
			schema: extv1.JSONSchemaProps{Type: "string", XValidations: extv1.ValidationRules{{Message: "must be even"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tc.kind, tc.want}, []string{typeOf(tc.schema), describe(tc.schema)}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// served returns the definition of a kind in a group, with fields of the spec.
func served(group string, fields ...string) definition {
	spec := extv1.JSONSchemaProps{Type: "object", Properties: map[string]extv1.JSONSchemaProps{}}
	for _, f := range fields {
		spec.Properties[f] = extv1.JSONSchemaProps{Type: "string"}
	}
	d := definition{}
	d.Spec.Group = group
	d.Spec.Versions = []extv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: &extv1.CustomResourceValidation{
		OpenAPIV3Schema: &extv1.JSONSchemaProps{Properties: map[string]extv1.JSONSchemaProps{"spec": spec}},
	}}}
	return d
}

func TestDocument(t *testing.T) {
	got := document("Thing", []definition{served("b", "both", "late"), served("a", "both", "early")})
	want := []section{{Path: "spec", Fields: []field{
		{Name: "both", Type: "string", Groups: []string{"a", "b"}},
		{Name: "early", Type: "string", Description: "(`a` only) ", Groups: []string{"a"}},
		{Name: "late", Type: "string", Description: "(`b` only) ", Groups: []string{"b"}},
	}}}
	if diff := cmp.Diff(want, got.Sections, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Fields that one group alone has are named so.\n-want, +got:\n%s", diff)
	}
}

func TestPages(t *testing.T) {
	to := t.TempDir()
	if err := write("../../package/crds", to); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(to, "machine.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- `proxmox.m.vitistack.io/v1alpha1`, namespaced\n", "- `proxmox.vitistack.io/v1alpha1`, cluster-scoped\n",
		"\n## spec.forProvider.disks[].limits\n", "\n| `phase` | string |", "| PHASE | `.status.atProvider.phase` |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page of Machine lacks %q", want)
		}
	}
}

func TestActivate(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("# Kinds.\nspec:\n  activate:\n    - old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := activate("../../package/crds", policy); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	for want, there := range map[string]bool{
		"# Kinds.\nspec:\n  activate:\n": true, "\n    - \"pools.*\"\n": true, "\n    - machines.proxmox.m.vitistack.io\n": true,
		"machines.proxmox.vitistack.io": false, "- old": false, "providerconfig": false,
	} {
		if strings.Contains(string(text), want) != there {
			t.Errorf("the policy has %q: want %t, got:\n%s", want, there, text)
		}
	}
}

// TestActivationPolicy checks that Crossplane's own type accepts the example, and that the example activates all managed kinds except cluster-scoped
// Machines.
func TestActivationPolicy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "crossplane", "activation.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	policy := &v1alpha1.ManagedResourceActivationPolicy{}
	if err := yaml.UnmarshalStrict(text, policy); err != nil {
		t.Fatal(err)
	}
	if kind := policy.GroupVersionKind(); kind != v1alpha1.ManagedResourceActivationPolicyGroupVersionKind {
		t.Errorf("the example is %s", kind)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "package", "crds", "*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d definitions: %v", len(files), err)
	}
	for _, file := range files {
		d, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		name := d.Spec.Names.Plural + "." + d.Spec.Group
		want := slices.Contains(d.Spec.Names.Categories, "managed") && name != "machines.proxmox.vitistack.io"
		if got := policy.Activates(name); got != want {
			t.Errorf("%s: activated is %t, want %t", name, got, want)
		}
	}
}
