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
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scenarioFolder has tests whose scenarios .ci/run does not run in each scope: inMatrix selects them.
const scenarioFolder = "internal/controller"

// turnFile has inMatrix.
const turnFile = scenarioFolder + "/scenarios_test.go"

// turnRules returns the lines of inMatrix that ran copies.
func turnRules() []string {
	return []string{"first := name%2 == way\n", "case \"first\":\n\t\treturn first\n", "case \"sample\":\n\t\treturn !first && name%3 == 0\n"}
}

// A scenarioScope is the first level of a scenario's name, with the end of the name if each scenario is for one version of Proxmox VE.
type scenarioScope struct{ name, ending string }

// scenarioScopes returns the scopes that scenarios run in by turns.
func scenarioScopes() []scenarioScope {
	return []scenarioScope{{"Cluster", "-8"}, {"Namespaced", "-9"}}
}

// ran reports whether make test or make test-scopes SCOPES=sample runs the scenario with an index among those of its test in a scope.
func ran(place, scope int) bool {
	return place%2 == scope || place%3 == 0
}

// missesTurn returns why no step runs a case of a test of scenarioFolder. It is empty if the case is not a scenario.
func (p testPackage) missesTurn(test, of string) string {
	scopes := scenarioScopes()
	scopeName, name, _ := strings.Cut(of, "/")
	scope := slices.IndexFunc(scopes, func(s scenarioScope) bool { return s.name == scopeName })
	if scope < 0 {
		return ""
	}
	name, _, _ = strings.Cut(name, "/")
	names := p.scenarios(test)
	place, ending := slices.Index(names, name), ""
	if place < 0 {
		ending = scopes[scope].ending
		place = slices.Index(names, strings.TrimSuffix(name, ending))
	}
	switch {
	case place < 0:
		return "it cannot be read at which place of " + test + " the scenario " + strconv.Quote(of) + " is: name one that can, or the test"
	case ran(place, scope):
		return ""
	}
	other := scopes[1-scope]
	if ending != "" {
		ending = other.ending
	}
	return "no step of .ci/run runs " + test + "/" + of + ": name " + other.name + "/" + names[place] + ending
}

// scenarios returns the sorted names of a test's scenarios, if one literal has them.
func (p testPackage) scenarios(test string) []string {
	r := caseReader{testPackage: p}
	var found []string
	for _, f := range p[test].functions {
		in := &caseScope{body: f.Body}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			if of, ok := call.Fun.(*ast.Ident); ok && slices.Contains([]string{"runAll", "runVersions", "pairs"}, of.Name) {
				for _, key := range r.parts(scoped{call.Args[1], in, keys}) {
					if text, ok := key.Expr.(*ast.BasicLit); ok {
						name, _ := strconv.Unquote(text.Value)
						found = append(found, name)
					}
				}
			}
			return true
		})
	}
	slices.Sort(found)
	return found
}

// TestTurns checks that a scenario that no step runs in the named scope is found, according to the rules of inMatrix.
func TestTurns(t *testing.T) {
	text := readText(t, turnFile)
	for _, rule := range turnRules() {
		if !strings.Contains(text, rule) {
			t.Errorf("%s has no longer %q: change what repeats it here", turnFile, rule)
		}
	}
	const source = `func TestX(t *testing.T) { runAll(t, all()) }
func all() map[string]scenario { return map[string]scenario{"d": {}, "a": {}, "c": {}, "b": {}} }
func TestY(t *testing.T) { runVersions(t, map[string]scenario{"a": {}, "b": {}, "c-8": {}}) }
func TestZ(t *testing.T) { all := map[string]scenario{}; all["a"] = scenario{}; runAll(t, all) }`
	p := parsed(t, source)
	cases := map[string]struct{ reason, test, of, want string }{
		"First":      {"The first of four runs in the first scope with make test.", "TestX", "Cluster/a", ""},
		"Sampled":    {"The first and the fourth are in the sample, which takes the scope that is left.", "TestX", "Namespaced/a", ""},
		"Fourth":     {"The sample takes every third.", "TestX", "Cluster/d", ""},
		"Second":     {"The second runs in the second scope.", "TestX", "Namespaced/b", ""},
		"Missing":    {"The second is not in the sample.", "TestX", "Cluster/b", "name Namespaced/b"},
		"Below":      {"What is below a scenario runs with it.", "TestX", "Cluster/b/deep", "name Namespaced/b"},
		"Version":    {"A version is of a scope.", "TestY", "Cluster/b-8", "name Namespaced/b-9"},
		"Runs":       {"A version is no part of the name.", "TestY", "Namespaced/b-9", ""},
		"Ending":     {"A name may end as a version does.", "TestY", "Namespaced/c-8", "name Cluster/c-8"},
		"Unreadable": {"Names that are computed have no place that can be read.", "TestZ", "Cluster/a", "cannot be read"},
		"Other":      {"What begins with no scope is no scenario.", "TestX", "Plain", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := p.missesTurn(tc.test, tc.of)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
