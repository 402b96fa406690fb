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
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStepsOfCI runs the functions of .ci/run with its own steps, and checks how they are counted.
func TestStepsOfCI(t *testing.T) {
	functions, _, found := strings.Cut(readText(t, ".ci/run"), "\nstep ")
	if !found {
		t.Fatal(".ci/run has no step, before which its functions are")
	}
	cases := map[string]struct {
		reason, steps, want string
		fails               bool
	}{
		"Passed":      {"A step whose command succeeds has passed.", "step a true", "PASS a, 1 passed, 0 failed, 0 skipped", false},
		"Failed":      {"The steps after one that fails are run.", "step a false; step b true", "FAIL a, PASS b, 1 passed, 1 failed, 0 skipped", true},
		"Skipped":     {"A step that says SKIP has not passed.", "step backstage echo 'SKIP: no npm'", "SKIP backstage, 0 passed, 0 failed, 1 skipped", false},
		"Installed":   {"A step without SKIP in its output has passed.", "step backstage echo /folder", "PASS backstage, 1 passed, 0 failed, 0 skipped", false},
		"Other":       {"Another step that has SKIP in its output has passed.", "step a echo 'SKIP: some'", "PASS a, 1 passed, 0 failed, 0 skipped", false},
		"Background":  {"What is skipped beside others is counted too.", "beside vulncheck echo SKIP: x", "SKIP vulncheck, 0 passed, 0 failed, 1 skipped", false},
		"Vulnerable":  {"A step that fails has failed.", "step vulncheck sh -c 'echo SKIP: x; false'", "FAIL vulncheck, 0 passed, 1 failed, 0 skipped", true},
		"FailsBeside": {"What fails in the background is counted too.", "beside a false; beside b true", "FAIL a, PASS b, 1 passed, 1 failed, 0 skipped", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), ".ci")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			_, end, _ := strings.Cut(readText(t, ".ci/run"), "\nfinish\n")
			script := functions + "\n" + tc.steps + "\nfinish\n" + end
			if err := os.WriteFile(filepath.Join(folder, "run"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := exec.CommandContext(t.Context(), "bash", filepath.Join(folder, "run")).CombinedOutput()
			var results []string
			for line := range strings.Lines(string(output)) {
				switch word, _, _ := strings.Cut(line, " "); {
				case word == "PASS" || word == "FAIL" || word == "SKIP":
					results = append(results, strings.Join(strings.Fields(line)[:2], " "))
				case strings.Contains(line, " skipped"):
					results = append(results, strings.TrimSpace(line))
				}
			}
			if got := strings.Join(results, ", "); got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s\nwant %q and to fail: %t, got %q, %v\n%s", tc.reason, tc.want, tc.fails, got, err, output)
			}
		})
	}
}
