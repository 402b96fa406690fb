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
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// coverageTable is the document whose tables say which test shows what.
const coverageTable = "docs/coverage.md"

var (
	// testNames are tests as the tables name them: `internal/connect TestTLSMistakes/CA`.
	testNames = regexp.MustCompile("`([a-z0-9/-]+) ((?:Test|Fuzz)[A-Za-z0-9_]*)(?:/([^`]+))?`")
	// unserved begins the reason why nothing is tested.
	unserved = regexp.MustCompile(`^not served: .{10,}$`)
)

// TestCoverage sees that each row of the tables names tests that there are, or says why there are none.
func TestCoverage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, coverageTable))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests{}
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || strings.TrimSpace(cells[1]) == "shown by" {
			continue
		}
		rows++
		if problem := tests.check(t, strings.TrimSpace(cells[1])); problem != "" {
			t.Errorf("%s:%d: %s: %s", coverageTable, n+1, cells[0], problem)
		}
	}
	if rows < 150 {
		t.Errorf("%s has %d rows, which cannot be all", coverageTable, rows)
	}
}

// declaredTests are the names that a test may have, by its package's folder and its function.
type declaredTests map[string]map[string]map[string]bool

// check says what is wrong with a cell of the table.
func (d declaredTests) check(t *testing.T, cell string) string {
	t.Helper()
	names := testNames.FindAllStringSubmatch(cell, -1)
	if len(names) == 0 && !unserved.MatchString(cell) {
		return "it neither names a test nor begins with \"not served: \" and a reason"
	}
	if len(names) != strings.Count(cell, "` ")+1 && len(names) > 0 {
		return "it has more than names of tests"
	}
	for _, name := range names {
		subtests, ok := d.in(t, name[1])[name[2]]
		if !ok {
			return name[1] + " has no " + name[2]
		}
		if name[3] != "" && !subtests[name[3]] {
			return name[2] + " has no case " + strconv.Quote(name[3])
		}
	}
	return ""
}

// in returns the tests of a package. The cases of a test are the strings of its file, as go test writes them.
func (d declaredTests) in(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	if known, ok := d[folder]; ok {
		return known
	}
	d[folder] = map[string]map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if conditional(file) {
			continue
		}
		cases := caseNames(file)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				d[folder][f.Name.Name] = cases
			}
		}
	}
	return d[folder]
}

// conditional reports whether a file is left out of some builds.
func conditional(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) && c.Pos() < file.Package {
				return true
			}
		}
	}
	return false
}

// caseNames are the strings of a file, with blanks as go test has them in names.
func caseNames(file *ast.File) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found[strings.ReplaceAll(text, " ", "_")] = true
			}
		}
		return true
	})
	return found
}
