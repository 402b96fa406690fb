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

// Package layout checks limits that keep the repository readable. It only has tests.
package layout

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// The limits for hand-written code without tests.
const (
	maxFiles         = 30
	maxPackageLines  = 6000
	maxMethods       = 60
	maxObjectMethods = 137
	maxFunctionLines = 60
	shortFunction    = 10
)

// maxTestColumns limits the lines of tests. The linter has a lower limit for all other files.
const maxTestColumns = 160

// A pkg has the counts that are limited.
type pkg struct {
	files, lines int
	methods      map[string]int
	functions    map[string]int

	// embedded has the types of the package that each type embeds by a pointer.
	embedded map[string][]string
}

func TestPackages(t *testing.T) {
	over := map[string]int{}
	for dir, p := range packages(t) {
		if p.files > maxFiles {
			over[dir+": files"] = p.files
		}
		if p.lines > maxPackageLines {
			over[dir+": lines"] = p.lines
		}
		for name, n := range p.methods {
			if n > maxMethods {
				over[dir+": methods of "+name] = n
			}
			if n := p.objectMethods(name, map[string]bool{}); n > maxObjectMethods {
				over[dir+": methods that have one "+name] = n
			}
		}
	}
	for what, n := range over {
		t.Errorf("%s: %d. A package has at most %d files and %d lines, a type at most %d methods, and %d with those of the types that embed it: "+
			"split it by what it knows", what, n, maxFiles, maxPackageLines, maxMethods, maxObjectMethods)
	}
}

// objectMethods counts the methods of one object of a type: its own, and those of the types that embed a pointer to it, which are separate types only
// in name.
func (p *pkg) objectMethods(name string, counted map[string]bool) int {
	if counted[name] {
		return 0
	}
	counted[name] = true
	n := p.methods[name]
	for part, whole := range p.embedded {
		if slices.Contains(whole, name) {
			n += p.objectMethods(part, counted)
		}
	}
	return n
}

func TestObjectMethods(t *testing.T) {
	p := &pkg{
		methods:  map[string]int{"whole": 5, "part": 3, "partOfPart": 2, "both": 1, "other": 9},
		embedded: map[string][]string{"part": {"whole"}, "partOfPart": {"part"}, "both": {"part", "whole"}},
	}
	for name, want := range map[string]int{"whole": 11, "part": 6, "both": 1, "other": 9} {
		if got := p.objectMethods(name, map[string]bool{}); got != want {
			t.Errorf("want %d methods that have one %s, got %d", want, name, got)
		}
	}
}

func TestFunctions(t *testing.T) {
	long, short, all := map[string]int{}, 0, 0
	for dir, p := range packages(t) {
		for name, lines := range p.functions {
			all++
			if lines < shortFunction {
				short++
			}
			if lines > maxFunctionLines {
				long[dir+": "+name] = lines
			}
		}
	}
	if diff := cmp.Diff(map[string]int{}, long); diff != "" {
		t.Errorf("a function has at most %d lines:\n%s", maxFunctionLines, diff)
	}
	if 2*short < all {
		t.Errorf("%d of %d functions have fewer than %d lines, want half of them", short, all, shortFunction)
	}
}

func TestColumns(t *testing.T) {
	err := walk(func(path string) error {
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		n := 0
		for line := range bytes.Lines(source) {
			n++
			if columns := utf8.RuneCount(bytes.TrimRight(line, "\n")); columns > maxTestColumns {
				t.Errorf("%s:%d has %d columns, want at most %d", path, n, columns, maxTestColumns)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// maxFileSize limits the files of the repository, in bytes: a built program does not belong there.
const maxFileSize = 1 << 20

func TestFileSizes(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("this is no clone: %v", err)
	}
	for path := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, path))
		if err == nil && info.Size() > maxFileSize {
			t.Errorf("%s has %d bytes, want at most %d", path, info.Size(), maxFileSize)
		}
	}
}

// walk calls a function for each Go file.
func walk(each func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() != ".." && strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		return each(path)
	})
}

// packages returns the hand-written Go packages of the repository, without tests.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	all := map[string]*pkg{}
	err := walk(func(path string) error {
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if all[dir] == nil {
			all[dir] = &pkg{methods: map[string]int{}, functions: map[string]int{}, embedded: map[string][]string{}}
		}
		return all[dir].add(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// add counts a file, unless it is generated.
func (p *pkg) add(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return err
	}
	p.files++
	p.lines += bytes.Count(source, []byte("\n"))
	if isAPI(path) {
		p.lines -= commentLines(files, parsed)
	}
	ast.Inspect(parsed, p.addEmbedded)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		name := f.Name.Name
		if receiver := receiverOf(f); receiver != "" {
			p.methods[receiver]++
			name = receiver + "." + name
		}
		p.functions[filepath.Base(path)+" "+name] = files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
	}
	return nil
}

// addEmbedded records the types that a type embeds by a pointer.
func (p *pkg) addEmbedded(n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	if s, ok := spec.Type.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			if name := pointedTo(f.Type); len(f.Names) == 0 && name != "" {
				p.embedded[spec.Name.Name] = append(p.embedded[spec.Name.Name], name)
			}
		}
	}
	return false
}

// pointedTo returns the name of the type of this package that a pointer points to, or an empty string.
func pointedTo(expr ast.Expr) string {
	if star, ok := expr.(*ast.StarExpr); ok {
		return typeName(star)
	}
	return ""
}

// isAPI reports whether a file has types of the API. They do not count, since each version of an API is one package, and its comments are the texts of
// the definitions and of the reference.
func isAPI(path string) bool { return strings.Contains(filepath.ToSlash(path), "apis/v1alpha1/") }

// commentLines counts the lines with only comments.
func commentLines(files *token.FileSet, f *ast.File) int {
	n := 0
	for _, c := range f.Comments {
		n += files.Position(c.End()).Line - files.Position(c.Pos()).Line + 1
	}
	return n
}

// receiverOf returns the name of a method's type, or an empty string for a function.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	return typeName(f.Recv.List[0].Type)
}

// typeName returns the name of a type of this package, or of the one that a pointer points to. It is empty for other types.
func typeName(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
