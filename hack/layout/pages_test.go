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
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesAreReached checks that each page of docs/ can be reached by links from the README.
func TestPagesAreReached(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+\.md)`)
	reached, next := map[string]bool{}, []string{"README.md"}
	for len(next) > 0 {
		page := next[0]
		next = next[1:]
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		reached[page] = true
		for _, m := range link.FindAllStringSubmatch(string(content), -1) {
			to := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(filepath.Join(root, to)); err == nil && filepath.Dir(to) == "docs" && !reached[to] {
				next = append(next, to)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs/ has no pages: %v", err)
	}
	for _, page := range pages {
		if name := filepath.Join("docs", filepath.Base(page)); !reached[name] {
			t.Errorf("no link leads from README.md to %s", name)
		}
	}
}

// TestUninstallingNamesEveryKind checks that the commands for uninstalling, and for removing finalizers after the package was uninstalled, include
// every kind. A missing kind would keep its configurations and its definition forever.
func TestUninstallingNamesEveryKind(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "uninstalling.md"))
	if err != nil {
		t.Fatal(err)
	}
	loops := regexp.MustCompile(`for kind in \{([a-z,]+)\}\.proxmox\{\.m,\}\.vitistack\.io \\\n\s+(\S+);`).FindAllStringSubmatch(string(page), -1)
	if len(loops) != 2 {
		t.Fatalf("docs/uninstalling.md has %d loops over the kinds, want one that deletes and one that lets go", len(loops))
	}
	definitions, err := filepath.Glob(filepath.Join(root, "package", "crds", "*.yaml"))
	if err != nil || len(definitions) == 0 {
		t.Fatalf("package/crds has no definitions: %v", err)
	}
	const usages = "providerconfigusages" // They have no finalizer.
	for _, loop := range loops {
		told := append(strings.Split(loop[1], ","), strings.TrimSuffix(loop[2], ".proxmox.m.vitistack.io"))
		for _, file := range definitions {
			_, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
			if plural != usages && !slices.Contains(told, plural) {
				t.Errorf("docs/uninstalling.md leaves out %s in %q", plural, loop[0])
			}
		}
	}
}
