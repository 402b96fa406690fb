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
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The names of a test's cases, level by level, are read from the calls of t.Run. The first argument is a string, or a value that a loop gets from the
// keys or elements of a literal, which may be a variable, a parameter or the result of a function. For other values, only the number of levels is
// known, and that the name is among the strings of the test.

// computed matches a computed name.
const computed = `[^/]+`

// plainName matches the strings of a test that may be names.
var plainName = regexp.MustCompile(`^[\w-]+$`)

// cases returns an expression for the names of a test's cases, without the name of the test.
func (p testPackage) cases(test string) *regexp.Regexp {
	r := caseReader{testPackage: p, known: alternatives(slices.DeleteFunc(slices.Collect(maps.Keys(p.texts(test))), func(s string) bool {
		return !plainName.MatchString(s)
	}))}
	var found []string
	for _, f := range p[test].functions {
		found = append(found, r.runs(f.Body, &caseScope{body: f.Body})...)
	}
	return regexp.MustCompile("^" + alternatives(found) + "$")
}

// alternatives returns an expression for one of several, or for nothing.
func alternatives(of []string) string {
	if len(of) == 0 {
		return `\b\B`
	}
	return "(?:" + strings.Join(slices.Compact(slices.Sorted(slices.Values(of))), "|") + ")"
}

// A caseReader reads the names of one test's cases.
type caseReader struct {
	testPackage

	// known is an expression for all strings of the test.
	known string

	// inside has the functions that are being read.
	inside []ast.Node
}

// A caseScope is a function that is called, with its arguments.
type caseScope struct {
	outer  *caseScope
	body   ast.Node
	params map[string]scoped
}

// A scoped expression has the function that contains it. If of is a loop, it stands for the keys or the elements of the expression.
type scoped struct {
	ast.Expr
	in *caseScope
	of loopPart
}

type loopPart int

const (
	itself loopPart = iota
	keys
	elements
)

// runs returns expressions for the names below a function's body, including their cases.
func (r *caseReader) runs(body ast.Node, in *caseScope) []string {
	var found []string
	if body == nil || slices.Contains(r.inside, body) {
		return nil
	}
	r.inside = append(r.inside, body)
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Run" && len(call.Args) == 2 && !isT(call.Args[0]) {
			name := r.name(scoped{call.Args[0], in, itself})
			if below := r.called(scoped{call.Args[1], in, itself}, nil); len(below) > 0 {
				name += "(?:/" + alternatives(below) + ")?"
			}
			found = append(found, name)
			return false
		}
		below := r.called(scoped{call.Fun, in, itself}, call.Args)
		found = append(found, below...)
		return len(below) == 0
	})
	r.inside = r.inside[:len(r.inside)-1]
	return found
}

func isT(e ast.Expr) bool {
	x, ok := e.(*ast.Ident)
	return ok && x.Name == "t"
}

// called returns the names below a function: one that is given to t.Run, without arguments, or one with an argument that is t or may have it.
func (r *caseReader) called(f scoped, args []ast.Expr) []string {
	var found []string
	name := ""
	switch x := f.Expr.(type) {
	case *ast.FuncLit:
		return r.runs(x.Body, f.in.calls(x.Type, x.Body, args, f.in))
	case *ast.Ident:
		for _, s := range r.bound(x.Name, f.in) {
			if literal, ok := s.Expr.(*ast.FuncLit); ok {
				found = append(found, r.runs(literal.Body, s.in.calls(literal.Type, literal.Body, args, f.in))...)
			} else if other, ok := s.Expr.(*ast.Ident); ok && other.Name != x.Name {
				found = append(found, r.called(scoped{other, s.in, itself}, args)...)
			}
		}
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	if d := r.testPackage[name]; d != nil && (args == nil || slices.ContainsFunc(args, isT)) {
		for _, function := range d.functions {
			found = append(found, r.runs(function.Body, (*caseScope)(nil).calls(function.Type, function.Body, args, f.in))...)
		}
	}
	return found
}

// calls returns the scope of a function in this one that another function calls with arguments.
func (s *caseScope) calls(t *ast.FuncType, body ast.Node, args []ast.Expr, from *caseScope) *caseScope {
	in, n := &caseScope{s, body, map[string]scoped{}}, 0
	for _, field := range t.Params.List {
		for _, name := range field.Names {
			if n < len(args) {
				in.params[name.Name] = scoped{args[n], from, itself}
			}
			n++
		}
	}
	return in
}

// name returns an expression for the possible values of a name.
func (r *caseReader) name(e scoped) string {
	switch x := e.Expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return regexp.QuoteMeta(strings.ReplaceAll(text, " ", "_"))
		}
	case *ast.ParenExpr:
		return r.name(scoped{x.X, e.in, itself})
	case *ast.BinaryExpr:
		return r.name(scoped{x.X, e.in, itself}) + r.name(scoped{x.Y, e.in, itself})
	case *ast.Ident:
		return r.oneOf(r.bound(x.Name, e.in))
	case *ast.IndexExpr:
		return r.oneOf([]scoped{{x.X, e.in, elements}})
	case *ast.SelectorExpr:
		return r.oneOf(r.fields(x, e.in))
	}
	return computed
}

// oneOf returns an expression for the possible names of several expressions, or for any string of the test if there are none.
func (r *caseReader) oneOf(of []scoped) string {
	var found []string
	for _, s := range of {
		for _, one := range r.parts(s) {
			found = append(found, r.name(one))
		}
	}
	if len(found) == 0 {
		return r.known
	}
	return alternatives(found)
}

// fields returns the values of a field in the literals of its structure.
func (r *caseReader) fields(x *ast.SelectorExpr, in *caseScope) []scoped {
	var found []scoped
	for _, literal := range r.literals(scoped{x.X, in, itself}) {
		if value, ok := field(literal, x.Sel.Name); ok {
			found = append(found, value)
		}
	}
	return found
}

// field returns the value of a literal with a key.
func field(literal scoped, name string) (scoped, bool) {
	for _, e := range literal.Expr.(*ast.CompositeLit).Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
				return scoped{pair.Value, literal.in, itself}, true
			}
		}
	}
	return scoped{}, false
}

// parts returns the values that an expression stands for: itself, or the keys or elements of its literals.
func (r *caseReader) parts(e scoped) []scoped {
	if e.of == itself {
		return []scoped{e}
	}
	var found []scoped
	for _, literal := range r.literals(scoped{e.Expr, e.in, itself}) {
		for _, element := range literal.Expr.(*ast.CompositeLit).Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			switch {
			case ok && e.of == keys:
				found = append(found, scoped{pair.Key, literal.in, itself})
			case ok:
				found = append(found, scoped{pair.Value, literal.in, itself})
			case e.of == elements:
				found = append(found, scoped{element, literal.in, itself})
			}
		}
	}
	return found
}

// literals returns the literals that an expression may be.
func (r *caseReader) literals(e scoped) []scoped {
	var found []scoped
	switch x := e.Expr.(type) {
	case *ast.CompositeLit:
		return []scoped{e}
	case *ast.Ident:
		for _, s := range r.bound(x.Name, e.in) {
			for _, one := range r.parts(s) {
				found = append(found, r.literals(one)...)
			}
		}
	case *ast.SelectorExpr:
		for _, value := range r.fields(x, e.in) {
			found = append(found, r.literals(value)...)
		}
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.Ident); ok && r.testPackage[f.Name] != nil {
			return r.returned(r.testPackage[f.Name].functions)
		}
	}
	return found
}

// returned returns the literals that functions return.
func (r *caseReader) returned(functions []*ast.FuncDecl) []scoped {
	var found []scoped
	for _, function := range functions {
		in := &caseScope{body: function.Body}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			if back, ok := n.(*ast.ReturnStmt); ok && len(back.Results) > 0 {
				found = append(found, r.literals(scoped{back.Results[0], in, itself})...)
			}
			_, nested := n.(*ast.FuncLit)
			return !nested
		})
	}
	return found
}

// bound returns the values of a name: an argument, what its function assigns to it, or a variable of the package.
func (r *caseReader) bound(name string, in *caseScope) []scoped {
	for ; in != nil; in = in.outer {
		if e, ok := in.params[name]; ok {
			return []scoped{e}
		}
		if found := assigned(name, in); len(found) > 0 {
			return found
		}
	}
	var found []scoped
	if d := r.testPackage[name]; d != nil {
		for _, e := range d.values {
			found = append(found, scoped{e, nil, itself})
		}
	}
	return found
}

// assigned returns the values that a function assigns to a name, including by loops.
func assigned(name string, in *caseScope) []scoped {
	var found []scoped
	named := func(e ast.Expr) bool {
		x, ok := e.(*ast.Ident)
		return ok && x.Name == name
	}
	ast.Inspect(in.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			key, value := scoped{n.X, in, keys}, scoped{n.X, in, elements}
			if call, ok := n.X.(*ast.CallExpr); ok && len(call.Args) == 2 { // Pairs of the keys of two maps.
				key, value = scoped{call.Args[0], in, keys}, scoped{call.Args[1], in, keys}
			}
			if named(n.Key) {
				found = append(found, key)
			} else if named(n.Value) {
				found = append(found, value)
			}
		case *ast.AssignStmt:
			for i := range n.Lhs {
				if named(n.Lhs[i]) && len(n.Lhs) == len(n.Rhs) && !named(n.Rhs[i]) {
					found = append(found, scoped{n.Rhs[i], in, itself})
				}
			}
		}
		return true
	})
	return found
}

// TestCases checks the names of a test's cases.
func TestCases(t *testing.T) {
	cases := map[string]struct {
		reason, source string
		want, not      []string
	}{
		"Keys": {
			"The keys of a map are names, and no other strings.",
			`func TestX(t *testing.T) { for name := range map[string]string{"A b": "C"} { t.Run(name, func(t *testing.T) {}) } }`,
			[]string{"A_b"},
			[]string{"C", "A_b/C"},
		},
		"Returned": {
			"The keys of what a function returns are names, below those of a loop around.",
			`func TestX(t *testing.T) { for g, all := range map[string]map[string]int{"G": ones()} { for n := range all { t.Run(g+"/"+n, nil) } } }
			func ones() map[string]int { return map[string]int{"N": 1} }`,
			[]string{"G/N"},
			[]string{"N", "G", "N/G"},
		},
		"Helper": {
			"A helper runs what it is given, below what it runs itself.",
			`func TestX(t *testing.T) { each(t, func(t *testing.T) { t.Run("C", nil) }) }
			func each(t *testing.T, run func(*testing.T)) { for _, v := range []string{"A", "B"} { t.Run(v, func(t *testing.T) { run(t) }) } }`,
			[]string{"A", "B/C"},
			[]string{"C", "C/A"},
		},
		"Pairs": {
			"Each key of two maps is named with each of the other.",
			`func TestX(t *testing.T) { all(t, map[string]int{"N": 1}) }
			func all(t *testing.T, of map[string]int) { for s, n := range pairs(scopes(), of) { of[n].runIn(t, s, n) } }
			func (x y) runIn(t *testing.T, s, n string) { t.Run(s+"/"+n, func(t *testing.T) {}) }
			func scopes() map[string]int { return map[string]int{"S": 1} }`,
			[]string{"S/N"},
			[]string{"N", "N/S"},
		},
		"Fields": {
			"A field of the elements has names.",
			`func TestX(t *testing.T) { for _, tc := range []c{{name: "A", other: "B"}} { t.Run(tc.name, tc.run) } }
			func (c) run(t *testing.T) { t.Run("D", nil) }`,
			[]string{"A", "A/D"},
			[]string{"B", "D"},
		},
		"Elsewhere": {
			"A name that comes from elsewhere is a string of the test, at its level.",
			`func TestX(t *testing.T) { for _, f := range list("A") { t.Run(f, nil) } }`,
			[]string{"A"},
			[]string{"B", "A/A"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := parsed(t, tc.source).cases("TestX")
			for _, path := range tc.want {
				if !got.MatchString(path) {
					t.Errorf("%s\nwant the case %q, got %s", tc.reason, path, got)
				}
			}
			for _, path := range tc.not {
				if got.MatchString(path) {
					t.Errorf("%s\nwant no case %q, got %s", tc.reason, path, got)
				}
			}
		})
	}
}

// parsed returns the declarations of a package.
func parsed(t *testing.T, source string) testPackage {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\nimport \"testing\"\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := testPackage{}
	p.add(file)
	return p
}
