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

	"github.com/google/go-cmp/cmp"
)

// listedFrom is the minimum number of files of a package whose files docs/files.md lists. For fewer files, their names and the package's documentation
// are sufficient.
const listedFrom = 4

// A heading of docs/files.md names a package, and the first column of its table a file.
var (
	listedPackage = regexp.MustCompile("(?m)^## `([^`]+)`$")
	listedFile    = regexp.MustCompile("(?m)^\\| `([^`]+\\.go)` \\| .+ \\|$")
)

// TestFileLists checks that docs/files.md lists exactly the files of each package with several files.
func TestFileLists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "files.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{}
	headings := listedPackage.FindAllSubmatchIndex(text, -1)
	for i, h := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		dir := string(text[h[2]:h[3]])
		for _, row := range listedFile.FindAllSubmatch(text[h[1]:end], -1) {
			listed[dir] = append(listed[dir], string(row[1]))
		}
	}
	if diff := cmp.Diff(sourceFiles(t), listed); diff != "" {
		t.Errorf("docs/files.md does not have the files that there are, -there, +listed:\n%s", diff)
	}
}

// sourceFiles returns the files of the packages with several files, by their folders.
func sourceFiles(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := walk(func(path string) error {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_") || name == "doc.go" {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		all[dir] = append(all[dir], name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, names := range all {
		slices.Sort(names)
		if len(names) < listedFrom {
			delete(all, dir)
		}
	}
	return all
}
