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

package layout

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// needControlPlane returns the packages whose tests need the binaries of a control plane.
func needControlPlane() []string { return []string{"apis", "cmd/provider", "internal/controller"} }

// TestPurePackages checks that plain go test runs all other packages of the provider: they import nothing that starts an API server, and need no
// binaries of one.
func TestPurePackages(t *testing.T) {
	packages, need := map[string]bool{}, map[string]bool{}
	for _, tree := range []string{"apis", "cmd", "internal"} {
		for path, source := range sources(t, tree) {
			dir := filepath.ToSlash(filepath.Dir(path))
			packages[dir] = true
			if !asksForControlPlane(t, path, source) {
				continue
			}
			need[dir] = true
			if !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s starts a control plane, so that the tests of each package that imports it need one: do it in a test", path)
			}
		}
	}
	if len(packages) < 50 {
		t.Fatalf("there are %d packages, want all of the provider", len(packages))
	}
	if diff := cmp.Diff(needControlPlane(), slices.Sorted(maps.Keys(need))); diff != "" {
		t.Errorf("packages that need a control plane: -want, +got:\n%s", diff)
	}
}

// sources returns the Go files of a folder by their paths from the root of the repository.
func sources(t *testing.T, tree string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := walk(func(path string) error {
		from, err := filepath.Rel(root, path)
		if err != nil || !strings.HasPrefix(filepath.ToSlash(from), tree+"/") {
			return err
		}
		source, err := os.ReadFile(path)
		all[from] = string(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// asksForControlPlane reports whether a file starts a control plane or needs its binaries.
func asksForControlPlane(t *testing.T, path, source string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range parsed.Imports {
		if strings.HasSuffix(i.Path.Value, `/envtest"`) || strings.Contains(i.Path.Value, "provider-proxmox/cluster/") {
			return true
		}
	}
	return strings.Contains(source, "KUBEBUILDER_ASSETS")
}
