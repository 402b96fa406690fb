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
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// coverageTable is the document whose tables say which test shows what.
const coverageTable = "docs/coverage.md"

// coverageRows is the expected number of rows, so that none is lost.
const coverageRows = 341

var (
	// testNames matches tests in the form of the tables: `internal/connect TestTLSMistakes/CA`.
	testNames = regexp.MustCompile("`([a-z0-9/-]+) ((?:Test|Fuzz)[A-Za-z0-9_]*)(?:/([^`]+))?`")
	// unserved matches the reason why nothing is tested.
	unserved = regexp.MustCompile(`^not served: .{10,}$`)
)

// TestCoverage checks that each row of the tables names existing tests that .ci/run runs, or gives a reason why there are none.
func TestCoverage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, coverageTable))
	if err != nil {
		t.Fatal(err)
	}
	tests := coveringTests{runs: readRuns(t), packages: map[string]testPackage{}}
	rows := rowsOf(string(text))
	for _, r := range rows {
		if len(r.cells) != 2 {
			t.Errorf("%s:%d: want a sentence and what shows it, got %d cells", coverageTable, r.line, len(r.cells))
			continue
		}
		if problem := tests.check(t, r.cells[1]); problem != "" {
			t.Errorf("%s:%d: %s: %s", coverageTable, r.line, r.cells[0], problem)
		}
	}
	if len(rows) != coverageRows {
		t.Errorf("%s has %d rows, want %d: none is lost, and one more is counted in coverageRows", coverageTable, len(rows), coverageRows)
	}
}

// A coverageRow is a row of a table, with its operator.
type coverageRow struct {
	line     int
	operator string
	cells    []string
}

// rowsOf returns the rows of all tables. A heading begins with the operator: Viti has two documents about one.
func rowsOf(text string) []coverageRow {
	var rows []coverageRow
	operator := ""
	for n, line := range strings.Split(text, "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			operator, _, _ = strings.Cut(strings.TrimPrefix(heading, "Viti "), ":")
		}
		if !strings.HasPrefix(line, "|") || line == "|---|---|" || line == "| sentence | shown by |" {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		rows = append(rows, coverageRow{line: n + 1, operator: operator, cells: cells})
	}
	return rows
}

// coveringTests has the tests that the tables may name, by their package's folder.
type coveringTests struct {
	runs     testRuns
	packages map[string]testPackage
}

// check returns the errors in a cell of the table.
func (c coveringTests) check(t *testing.T, cell string) string {
	t.Helper()
	names := testNames.FindAllStringSubmatch(cell, -1)
	if len(names) == 0 && !unserved.MatchString(cell) {
		return "it neither names a test nor begins with \"not served: \" and a reason"
	}
	if len(names) != strings.Count(cell, "` ")+1 && len(names) > 0 {
		return "it has more than names of tests"
	}
	for _, name := range names {
		if problem := c.checkTest(t, name[1], name[2], name[3]); problem != "" {
			return problem
		}
	}
	return ""
}

// checkTest returns the error about a test, or about its case if one is named.
func (c coveringTests) checkTest(t *testing.T, folder, test, of string) string {
	t.Helper()
	tests := c.in(t, folder)
	switch d := tests[test]; {
	case d == nil || !d.isTest:
		return folder + " has no " + test
	case tests.skips(test) != "":
		return test + " may be skipped by " + tests.skips(test)
	case of != "" && !tests.cases(test).MatchString(of):
		return test + " has no case " + strconv.Quote(of)
	}
	if folder == scenarioFolder {
		if problem := tests.missesTurn(test, of); problem != "" {
			return problem
		}
	}
	return c.runs.check(folder, test)
}

// in returns the declarations of a package's tests.
func (c coveringTests) in(t *testing.T, folder string) testPackage {
	t.Helper()
	if known, ok := c.packages[folder]; ok {
		return known
	}
	found := testPackage{}
	c.packages[folder] = found
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !conditional(file) {
			found.add(file)
		}
	}
	return found
}

// A testPackage has the functions, methods, variables and constants of a package's tests by their names. Those with the same name are combined.
type testPackage map[string]*declaration

// A declaration has its strings, in the form that go test uses in names, and the names that it uses.
type declaration struct {
	isTest, skips bool
	texts, uses   map[string]bool
	functions     []*ast.FuncDecl
	values        []ast.Expr
}

func (p testPackage) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			p.declare(decl.Name.Name, decl)
			d := p[decl.Name.Name]
			d.isTest, d.functions = d.isTest || decl.Recv == nil, append(d.functions, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for i, name := range v.Names {
						p.declare(name.Name, v)
						if i < len(v.Values) {
							p[name.Name].values = append(p[name.Name].values, v.Values[i])
						}
					}
				}
			}
		}
	}
}

func (p testPackage) declare(name string, node ast.Node) {
	if p[name] == nil {
		p[name] = &declaration{texts: map[string]bool{}, uses: map[string]bool{}}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			p[name].uses[n.Name] = true
		case *ast.SelectorExpr: // Of the variable that is t in every test.
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "t" && strings.HasPrefix(n.Sel.Name, "Skip") {
				p[name].skips = true
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				p[name].texts[strings.ReplaceAll(text, " ", "_")] = true
			}
		}
		return true
	})
}

// texts returns the strings of a test and of what it uses. The names of its cases are among them.
func (p testPackage) texts(test string) map[string]bool {
	found := map[string]bool{}
	for name := range p.with(test) {
		maps.Copy(found, p[name].texts)
	}
	return found
}

// skips returns the test, or what it uses, if that may skip it, or an empty string.
func (p testPackage) skips(test string) string {
	for name := range p.with(test) {
		if p[name].skips {
			return name
		}
	}
	return ""
}

// with returns the names of a test and of all that it uses.
func (p testPackage) with(test string) map[string]bool {
	seen, next := map[string]bool{test: true}, []string{test}
	for len(next) > 0 {
		d := p[next[0]]
		next = next[1:]
		for name := range d.uses {
			if p[name] != nil && !seen[name] {
				seen[name] = true
				next = append(next, name)
			}
		}
	}
	return seen
}

// conditional reports whether a file is excluded from some builds.
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

// TestSkips checks that a test that a helper may skip counts as one that may be skipped.
func TestSkips(t *testing.T) {
	cases := map[string]struct{ reason, source, want string }{
		"Itself": {"A test may skip itself.", `func TestX(t *testing.T) { t.Skip("no") }`, "TestX"},
		"Helper": {"A helper skips the test that calls it.", `func TestX(t *testing.T) { start(t) }; func start(t *testing.T) { t.Skipf("no") }`, "start"},
		"Below": {
			"A helper skips the test whose helper calls it.",
			`func TestX(t *testing.T) { a(t) }; func a(t *testing.T) { b(t) }; func b(t *testing.T) { t.SkipNow() }`, "b",
		},
		"Other": {"What another test calls skips that one.", `func TestX(t *testing.T) {}; func TestY(t *testing.T) { t.Skip("no") }`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := parsed(t, tc.source).skips("TestX"); got != tc.want {
				t.Errorf("%s\nwant %q to skip it, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
