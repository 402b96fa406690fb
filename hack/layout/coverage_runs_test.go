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
	"strings"
	"testing"
)

// A testRun is a target of the Makefile that runs the tests of a package.
type testRun struct {
	// folder of the package, or the common prefix of several folders, with ... at its end. If this is about one test, its name follows.
	folder string

	// target is the target whose recipe contains this text. If it is empty, no target runs the tests.
	target, recipe string
}

// testRuns has all test runs. The first one with a matching folder counts.
type testRuns []testRun

// scaleTarget runs the tests of ./internal/controller/ that test excludes by their names, in any folder.
const scaleTarget = "test-scale"

// readRuns returns what the steps of .ci/run run.
func readRuns(t *testing.T) testRuns {
	t.Helper()
	makefile, ci := readText(t, "Makefile"), readText(t, ".ci/run")
	runs := testRuns{
		{"internal/faults", "test-faults", " ./internal/faults/ "},
		{"cluster/charts", "test-chart", " ./charts/..."},
		{"cluster/e2e", "e2e", " ./e2e/..."},
		{"cluster/ui", "test-ui", " ./ui/..."},
		{"cluster/crossplane", "e2e-crossplane", " . ./composition "},
		{"cluster/crossplane/composition", "e2e-crossplane", " . ./composition "},
		{"cluster/...", "test", " $(LOCAL_PACKAGES))"},
		{"hack/...", "test", " ./hack/... "},
	}
	for _, name := range scaleNames(t, makefile) {
		runs = append(runs, testRun{"internal/controller " + name, scaleTarget, " ./internal/controller/"}, testRun{"... " + name, "", ""})
	}
	runs = append(runs, testRun{"internal/controller", "test", " $(SERIAL_PACKAGES) "}, testRun{"...", "test", " $(PACKAGES_WITH_RACE) "})
	for _, r := range runs {
		if r.target == "" {
			continue
		}
		if !regexp.MustCompile(`(?m)^(step|beside|background [0-9]+) \S+ make ` + r.target + `( [A-Z]+=\S+)?$`).MatchString(ci) {
			t.Errorf("no step of .ci/run is make %s", r.target)
		}
		if recipe := regexp.MustCompile(`(?m)^` + r.target + `:.*\n((?:\t.*\n|(?:ifneq|endif).*\n)+)`).FindStringSubmatch(makefile); recipe == nil ||
			!strings.Contains(strings.ReplaceAll(recipe[1], "\n", " "), r.recipe) {
			t.Errorf("the recipe of %s does not run%q", r.target, r.recipe)
		}
	}
	return runs
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// scaleNames returns the tests that only test-scale runs.
func scaleNames(t *testing.T, makefile string) []string {
	t.Helper()
	list := regexp.MustCompile(`(?m)^SCALE = \^\((.*)\)\$\$$`).FindStringSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no list SCALE")
	}
	return strings.Split(list[1], "|")
}

// check returns why .ci/run does not run a test.
func (r testRuns) check(folder, test string) string {
	for _, run := range r {
		of, name, named := strings.Cut(run.folder, " ")
		if named && name != test || !within(folder, of) {
			continue
		}
		if run.target == "" {
			return test + " of " + folder + " is left out by its name, and " + scaleTarget + " does not run it"
		}
		return ""
	}
	return "nothing runs " + test + " of " + folder
}

// within reports whether a folder matches a pattern: it is the folder, or begins with its prefix.
func within(folder, pattern string) bool {
	beginning, several := strings.CutSuffix(pattern, "...")
	return folder == pattern || several && strings.HasPrefix(folder, beginning)
}

// TestRuns checks which tests count as those that .ci/run runs.
func TestRuns(t *testing.T) {
	runs := readRuns(t)
	cases := map[string]struct {
		reason, folder, test string
		want                 bool
	}{
		"Unit":      {"make test runs it.", "internal/qemu", "TestOptions", true},
		"Lifecycle": {"make test runs it by itself.", "internal/controller", "TestLifecycle", true},
		"Scale":     {"make test-scale runs it.", "internal/controller", "TestImportEstate", true},
		"Elsewhere": {"Nothing runs a test of that name in another package.", "internal/importer", "TestImportEstate", false},
		"Cluster":   {"The names are those of one module.", "cluster/gitops", "TestChaos", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if problem := runs.check(tc.folder, tc.test); (problem == "") != tc.want {
				t.Errorf("%s\nwant it to run: %t, got %q", tc.reason, tc.want, problem)
			}
		})
	}
}
