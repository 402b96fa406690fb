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
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulncheck sees that vulnerabilities are an error, and a database that cannot be reached is none.
func TestVulncheck(t *testing.T) {
	cases := map[string]struct {
		reason, says, code string
		fails              bool
		want               string
	}{
		"Fine":       {"There are none.", "No vulnerabilities found.", "0", false, "program: No vulnerabilities found."},
		"Vulnerable": {"There is one.", "Vulnerability #1: GO-2026-0001", "3", true, "Vulnerability #1: GO-2026-0001"},
		"Unreachable": {
			"Nobody answers.", "govulncheck: fetching vulnerabilities: no such host", "1", false,
			"SKIP: vulnerabilities of program are not known here: no such host",
		},
		"Broken": {"Another failure hides nothing.", "govulncheck: no such file", "1", true, "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fake := filepath.Join(t.TempDir(), "govulncheck")
			if err := os.WriteFile(fake, []byte("#!/bin/sh\necho '"+tc.says+"'\nexit "+tc.code+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "vulncheck", "run"), "program")
			cmd.Env = append(os.Environ(), "GOVULNCHECK="+fake)
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || !strings.Contains(string(out), tc.want) {
				t.Errorf("%s: fails is %t, want %t; it says:\n%s", tc.reason, err != nil, tc.fails, out)
			}
		})
	}
}

// TestVulnerabilitiesKnown sees that nothing is built or waited for where nobody can be asked for vulnerabilities.
func TestVulnerabilitiesKnown(t *testing.T) {
	cases := map[string]struct {
		reason string
		serve  http.HandlerFunc // None: nobody listens.
		fails  bool
	}{
		"Answers": {"There is a database.", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/index/db.json" {
				http.NotFound(w, r)
			}
		}, false},
		"Refused":     {"A proxy lets nobody through.", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, true},
		"Unreachable": {"Nobody listens.", nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.serve)
			defer server.Close()
			if tc.serve == nil {
				server.Close()
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "vulncheck", "reachable"))
			cmd.Env = append(os.Environ(), "no_proxy=*", "GOVULNDB="+server.URL)
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || strings.HasPrefix(string(out), "SKIP: ") != tc.fails {
				t.Errorf("%s: fails is %t, want %t; it says:\n%s", tc.reason, err != nil, tc.fails, out)
			}
		})
	}
}
