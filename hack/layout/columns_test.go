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

	"sigs.k8s.io/yaml"
)

// A definition has the columns of a kind in kubectl get.
type definition struct {
	Spec struct {
		Versions []struct {
			Columns []struct {
				Name     string `json:"name"`
				Priority int    `json:"priority"`
			} `json:"additionalPrinterColumns"`
		} `json:"versions"`
	} `json:"spec"`
}

// headings returns the first line of kubectl get for each kind, with single blanks between its words.
func headings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "package", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package/crds has no definitions: %v", err)
	}
	var all []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d definition
		if err := yaml.Unmarshal(content, &d); err != nil {
			t.Fatal(err)
		}
		heading := []string{"NAME"}
		for _, c := range d.Spec.Versions[0].Columns {
			if c.Priority == 0 {
				heading = append(heading, c.Name)
			}
		}
		all = append(all, strings.Join(heading, " "))
	}
	return all
}

// TestPrintedColumns checks that the output of kubectl get in the documents has the columns of some kind, in order. All kinds begin with READY, unlike
// Compositions.
func TestPrintedColumns(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, heading, found := headings(t), regexp.MustCompile(`(?m)^ *NAME +READY .*$`), 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range heading.FindAllString(string(content), -1) {
			found++
			if !slices.Contains(kinds, strings.Join(strings.Fields(line), " ")) {
				t.Errorf("%s shows columns that kubectl get prints of no kind: %s", filepath.Base(page), line)
			}
		}
	}
	if found == 0 {
		t.Error("no document shows what kubectl get prints")
	}
}
