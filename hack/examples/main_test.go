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
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamespaced(t *testing.T) {
	cases := map[string]struct{ reason, example, want string }{
		"Ours": {
			reason:  "A manifest of the provider gets the other group and a namespace.",
			example: "# A pool.\napiVersion: proxmox.vitistack.io/v1alpha1\nmetadata:\n  name: a\n",
			want:    "# A pool.\napiVersion: proxmox.m.vitistack.io/v1alpha1\nmetadata:\n  namespace: default\n  name: a\n",
		},
		"Connection": {
			reason:  "The connection Secret is in the namespace of its resource.",
			example: "apiVersion: proxmox.vitistack.io/v1alpha1\nspec:\n  writeConnectionSecretToRef:\n    name: a\n    namespace: b\n",
			want:    "apiVersion: proxmox.m.vitistack.io/v1alpha1\nspec:\n  writeConnectionSecretToRef:\n    name: a\n",
		},
		"Others": {
			reason:  "A manifest of another group stays as it is beside one of the provider.",
			example: "apiVersion: v1\nmetadata:\n  name: a\n---\napiVersion: proxmox.vitistack.io/v1alpha1\nmetadata:\n  name: b\n",
			want:    "apiVersion: v1\nmetadata:\n  name: a\n---\napiVersion: proxmox.m.vitistack.io/v1alpha1\nmetadata:\n  namespace: default\n  name: b\n",
		},
		"Configuration": {
			reason:  "The configuration that is used by default is that of the whole cluster.",
			example: "# The cluster of the ProviderConfig named default.\napiVersion: proxmox.vitistack.io/v1alpha1\n",
			want:    "# The cluster of the ClusterProviderConfig named default.\napiVersion: proxmox.m.vitistack.io/v1alpha1\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, namespaced(tc.example)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRun replaces examples, removes one that no longer exists, and leaves the one that is written by hand.
func TestRun(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		filepath.Join(from, "a.yaml"): "a: 1\n", filepath.Join(to, "a.yaml"): "a: 0\n", filepath.Join(to, "b.yaml"): "b: 0\n",
		filepath.Join(from, byHand): "c: 1\n", filepath.Join(to, byHand): "c: 0\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(from, to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": "a: 1\n", byHand: "c: 0\n"}, files(t, to)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestExamples checks that the examples of the repository are as they are generated.
func TestExamples(t *testing.T) {
	from, to, now := filepath.Join("..", "..", "examples", "cluster"), filepath.Join("..", "..", "examples", "namespaced"), t.TempDir()
	if err := run(from, now); err != nil {
		t.Fatal(err)
	}
	got := files(t, to)
	delete(got, byHand)
	if diff := cmp.Diff(files(t, now), got); diff != "" {
		t.Errorf("examples/namespaced is not what make generate makes of examples/cluster\n-want, +got:\n%s", diff)
	}
}

// files returns the files of a folder with their contents.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range all {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(text)
	}
	return out
}
