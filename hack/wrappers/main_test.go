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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shared = `package v1alpha1

// An Orchard is a group of trees.
// It has a fence.
//
// +proxmox:kind=Orchard,shortName=orc,forProvider=default,phase=Bare
// +kubebuilder:printcolumn:name="TREES",type="integer",JSONPath=".status.atProvider.trees"

// OrchardParameters describe an orchard.
type OrchardParameters struct{}

// A Tree stands alone.
//
// +proxmox:kind=Tree

// ResolveReferences finds the orchard.
func (p *TreeParameters) ResolveReferences() {}
`

func TestKindsIn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "orchard_types.go"), []byte(shared), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := kindsIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []kind{
		{
			Name: "Orchard", ShortName: "orc", ForProvider: "default", Phase: "Bare", Doc: []string{"An Orchard is a group of trees.", "It has a fence."},
			Markers: []string{`+kubebuilder:printcolumn:name="TREES",type="integer",JSONPath=".status.atProvider.trees"`},
		},
		{Name: "Tree", Doc: []string{"A Tree stands alone."}, Resolves: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kindsIn(): -want, +got:\n%s", diff)
	}
}

func TestRun(t *testing.T) {
	groups := t.TempDir()
	types := filepath.Join(groups, "v1alpha1")
	for _, dir := range []string{types, filepath.Join(groups, "cluster", "v1alpha1"), filepath.Join(groups, "namespaced", "v1alpha1")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stale := filepath.Join(groups, "cluster", "v1alpha1", "zz_generated.kind.bush.go")
	for file, text := range map[string]string{
		filepath.Join(types, "orchard_types.go"): shared, filepath.Join(groups, "header"): "// License.\n", stale: "package v1alpha1\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(filepath.Join(groups, "header"), types, groups); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the wrapper of a kind that is no more must go: %v", err)
	}
	cases := map[string]struct {
		reason, file string
		want         []string
	}{
		"Cluster": {
			reason: "A cluster-scoped kind embeds the spec of its scope and has a default.", file: "cluster/v1alpha1/zz_generated.kind.orchard.go",
			want: []string{
				"// License.", "scope=Cluster", "xpv2.ClusterManagedResourceSpec", "+kubebuilder:default={}", `name="TREES"`, "an Orchard.\n",
				`00:00Z"}],"atProvider":{"phase":"Bare"}}`,
			},
		},
		"Namespaced": {
			reason: "A namespaced kind with references resolves them among its group.", file: "namespaced/v1alpha1/zz_generated.kind.tree.go",
			want: []string{"scope=Namespaced", "xpv2.ManagedResourceSpec", `json:"forProvider"`, "ResolveReferences(ctx, c, mg, Kinds())", `00:00Z"}]}`},
		},
		"List": {
			reason: "All kinds are listed.", file: "namespaced/v1alpha1/zz_generated.kinds.go",
			want: []string{"OrchardKind: {Object: &Orchard{}, List: &OrchardList{}}", "TreeKind:"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(groups, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tc.want {
				if !strings.Contains(string(text), w) {
					t.Errorf("%s %s lacks %q", tc.reason, tc.file, w)
				}
			}
		})
	}
}
