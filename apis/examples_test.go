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
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manuals are the folders of examples that are applied with kubectl, and files of others, whose other files are of kinds that are not served here.
func manuals() []string {
	return []string{"provider", "cluster", "namespaced", "quickstart", "policies", "external-secrets/clusterproviderconfig.yaml"}
}

// TestExamplesAccepted asks the API server whether it would create what is in each file of the manual.
func TestExamplesAccepted(t *testing.T) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName("crossplane-system")
	if err := kube.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, dir := range manuals() {
		for _, file := range examples(t, dir) {
			t.Run(filepath.Join(dir, filepath.Base(file)), func(t *testing.T) {
				for _, o := range objects(t, file) {
					err := tryCreate(t.Context(), o)
					if o.GetKind() == "Namespace" && apierrors.IsAlreadyExists(err) {
						continue // The tests themselves need it.
					}
					wantAccepted(t, "Every example applies as it is.", err)
				}
			})
		}
	}
}

func TestExamplesSayWhatTheyShow(t *testing.T) {
	for _, dir := range manuals() {
		for _, file := range examples(t, dir) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(first, "# ") || !strings.HasSuffix(first, ".") {
				t.Errorf("the first line of %s is not a comment that says what it shows: %q", file, first)
			}
		}
	}
}

// TestExamplesOfBothScopes sees that both scopes have the same examples of Machines.
func TestExamplesOfBothScopes(t *testing.T) {
	parameters := func(dir string) map[string]any {
		out := map[string]any{}
		for _, file := range examples(t, dir) {
			for _, o := range objects(t, file) {
				spec, _, _ := unstructured.NestedMap(o.Object, "spec")
				out[filepath.Base(file)] = spec["forProvider"]
			}
		}
		return out
	}
	if diff := cmp.Diff(parameters("cluster"), parameters("namespaced")); diff != "" {
		t.Errorf("\n-cluster, +namespaced:\n%s", diff)
	}
}

// examples are the files in a folder of examples.
func examples(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	root := filepath.Join("..", "examples", dir)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("cannot find examples in %q: %v", root, err)
	}
	return out
}

// objects in a file of YAML documents.
func objects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("cannot parse %q: %v", file, err)
		}
		out = append(out, o)
	}
}
