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
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleRow matches a row of examples/README.md: a file, or a folder with all that has no separate row, and the tests that use it.
var exampleRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| ([^|]+) \\|")

// TestExampleFiles checks that examples/README.md has each file of examples with existing tests that name it and that .ci/run runs.
func TestExampleFiles(t *testing.T) {
	folder := filepath.Join(root, "examples")
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := coveringTests{runs: readRuns(t), packages: map[string]testPackage{}}
	rows := map[string]bool{} // Whether a file has the row.
	for _, row := range exampleRow.FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = false
		if problem := tests.checkExample(t, row[1], row[2]); problem != "" {
			t.Errorf("examples/README.md: %s: %s", row[1], problem)
		}
	}
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "README.md" || strings.HasSuffix(path, ".go") {
			return err
		}
		path, err = filepath.Rel(folder, path)
		if row := rowOf(rows, path); row != "" {
			rows[row] = true
		} else {
			t.Errorf("examples/README.md has no row for %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for row, used := range rows {
		if !used {
			t.Errorf("examples/README.md: %s: there is no such example", row)
		}
	}
}

// rowOf returns the row of a file: its own, or that of the innermost folder with one.
func rowOf(rows map[string]bool, path string) string {
	for name := path; name != "./"; name = filepath.Dir(strings.TrimSuffix(name, "/")) + "/" {
		if _, ok := rows[name]; ok {
			return name
		}
	}
	return ""
}

// checkExample returns the errors about the tests of a row. A test that uses a file or a folder contains its name.
func (c coveringTests) checkExample(t *testing.T, path, cell string) string {
	t.Helper()
	if !strings.HasPrefix(cell, "`") {
		return "it names no test"
	}
	if problem := c.check(t, cell); problem != "" {
		return problem
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, test := range testNames.FindAllStringSubmatch(cell, -1) {
		if !c.names(t, test[1], test[2], name) {
			return test[2] + " of " + test[1] + " does not name " + name
		}
	}
	return ""
}

// names reports whether a test, or what it uses, has a string that contains a name.
func (c coveringTests) names(t *testing.T, folder, test, name string) bool {
	t.Helper()
	for text := range c.in(t, folder).texts(test) {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}
