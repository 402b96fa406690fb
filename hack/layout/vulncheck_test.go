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
	"archive/zip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVulncheck checks that vulnerabilities are an error, and that an unreachable database is not.
func TestVulncheck(t *testing.T) {
	one := "Your code is affected by 1 vulnerability from 1 module."
	cases := map[string]struct {
		reason, says, code string
		known              string
		fails              bool
		want               string
	}{
		"Fine":       {reason: "There are none.", says: "No vulnerabilities found.", code: "0", want: "program: No vulnerabilities found."},
		"Vulnerable": {reason: "There is one.", says: "Vulnerability #1: GO-2026-0001\n" + one, code: "3", fails: true, want: "#1: GO-2026-0001"},
		"Unreachable": {
			reason: "Nobody answers.", says: "govulncheck: fetching vulnerabilities: no such host", code: "1", known: "GO-2026-0002 is fine.",
			want: "SKIP: vulnerabilities of program are not known here: no such host",
		},
		"Broken": {reason: "Another failure hides nothing.", says: "govulncheck: no such file", code: "1", fails: true, want: "no such file"},
		"Known": {
			reason: "There is one that is listed.", says: "Vulnerability #1: GO-2026-0002\n" + one, code: "3", known: "# Why.\nGO-2026-0002 is fine.",
			want: "program: no vulnerabilities but those in hack/vulncheck/known: GO-2026-0002",
		},
		"Other": {
			reason: "There is one that is not listed.", says: "Vulnerability #1: GO-2026-00021\n" + one, code: "3", known: "GO-2026-0002 is fine.",
			fails: true, want: "#1: GO-2026-00021",
		},
		"KnownAndNew": {
			reason: "There is another one beside it.", code: "3", known: "GO-2026-0002 is fine.", fails: true, want: "#2: GO-2026-0003",
			says: "Vulnerability #1: GO-2026-0002\nVulnerability #2: GO-2026-0003\nYour code is affected by 2 vulnerabilities from 1 module.",
		},
		"StandardLibrary": {
			reason: "There is one of the version of Go beside it.", code: "3", known: "GO-2026-0002 is fine.",
			want: "go1.26.10 repairs its standard library: GO-2026-0003",
			says: "Vulnerability #1: GO-2026-0002\n  Module: m\nVulnerability #2: GO-2026-0003\n  Standard library\n    Found in: net/http@go1.26.8\n" +
				"    Fixed in: net/http@go1.26.10\nYour code is affected by 2 vulnerabilities from the Go standard library and 1 module.",
		},
		"StandardLibraryAndNew": {
			reason: "There is another one beside one of the version of Go.", code: "3", fails: true, want: "#1: GO-2026-0003",
			says: "Vulnerability #1: GO-2026-0003\n  Module: m\nVulnerability #2: GO-2026-0004\n  Standard library\n" +
				"Your code is affected by 2 vulnerabilities from the Go standard library and 1 module.",
		},
		"Miscounted": {
			reason: "What cannot be read hides nothing.", code: "3", known: "GO-2026-0002 is fine.", fails: true, want: "affected by 2",
			says: "Vulnerability #1: GO-2026-0002\nYour code is affected by 2 vulnerabilities from 1 module.",
		},
		"Stale": {
			reason: "There are none of those that are listed.", says: "No vulnerabilities found.", code: "0", known: "GO-2026-0002 is fine.", fails: true,
			want: "take them out: GO-2026-0002",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fake, known := filepath.Join(t.TempDir(), "govulncheck"), filepath.Join(t.TempDir(), "known")
			script := "#!/bin/sh\n[ \"$1 $2\" = '-db file:///database' ] && echo '" + tc.says + "'\nexit " + tc.code + "\n"
			for file, text := range map[string]string{fake: script, known: tc.known + "\n"} {
				if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "vulncheck", "run"), "program")
			cmd.Env = append(os.Environ(), "GOVULNCHECK="+fake, "GOVULNDB=file:///database", "VULNKNOWN="+known)
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || !strings.Contains(string(out), tc.want) {
				t.Errorf("%s: fails is %t, want %t; it says:\n%s", tc.reason, err != nil, tc.fails, out)
			}
		})
	}
}

// TestVulnerabilitiesKnown checks which database of vulnerabilities is used, and that nothing is built or waited for if there is none.
func TestVulnerabilitiesKnown(t *testing.T) {
	t.Parallel()
	const version = "v0.0.0-20261105234957-e22db6528018"
	refused := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	entry := map[string]string{"data/osv/GO-2026-0001.json": `{"id": "GO-2026-0001"}`}
	cases := map[string]struct {
		reason          string
		database, proxy http.HandlerFunc // Nil: no server listens.
		says            string
		prints          string // The URL of the database, or its end. Empty: there is no database.
	}{
		"Answers": {
			reason: "There is a database.", prints: "http://",
			database: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/index/db.json" {
					http.NotFound(w, r)
				}
			},
		},
		"Refused":     {reason: "A proxy lets nobody through.", database: refused, proxy: refused, says: "SKIP: "},
		"Unreachable": {reason: "Nobody listens.", says: "SKIP: "},
		"Module": {
			reason: "The module proxy has a database.", proxy: moduleProxy(version, entry),
			says: "vulnerabilities as known on 2026-11-05", prints: version + "/data/osv",
		},
		"Empty": {reason: "The module has none.", proxy: moduleProxy(version, map[string]string{"README.md": ""}), says: "SKIP: "},
		"Silent": {
			reason: "The module proxy does not answer.", says: "SKIP: ",
			proxy: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "vulncheck", "database"))
			cmd.Env = append(os.Environ(), "no_proxy=*", "GOVULNDB="+serverOf(t, tc.database), "VULNPROXY="+serverOf(t, tc.proxy),
				"GOPROXY=off", "GOSUMDB=off", "GOMODCACHE="+t.TempDir(), "GOFLAGS=-mod=readonly -modcacherw")
			var says strings.Builder
			cmd.Stderr = &says
			begun := time.Now()
			prints, err := cmd.Output()
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("%s It took %s", tc.reason, took)
			}
			if (err != nil) != (tc.prints == "") || !strings.Contains(string(prints), tc.prints) || !strings.Contains(says.String(), tc.says) {
				t.Errorf("%s want %q and %q, got %q and %q", tc.reason, tc.prints, tc.says, prints, &says)
			}
			if folder, isFolder := strings.CutPrefix(strings.TrimSpace(string(prints)), "file://"); isFolder {
				if _, err := os.Stat(filepath.Join(folder, "GO-2026-0001.json")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// serverOf starts a server with a handler until the test ends, and returns its URL.
func serverOf(t *testing.T, serve http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	if serve == nil {
		server.Close()
	}
	return server.URL
}

// moduleProxy serves golang.org/x/vulndb like a Go module proxy, in one version.
func moduleProxy(version string, files map[string]string) http.HandlerFunc {
	const module = "golang.org/x/vulndb"
	return func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/"+module) {
		case "/@v/list": // No version is tagged.
		case "/@latest", "/@v/" + version + ".info":
			_, _ = io.WriteString(w, `{"Version": "`+version+`", "Time": "2026-11-05T23:49:57Z"}`)
		case "/@v/" + version + ".mod":
			_, _ = io.WriteString(w, "module "+module+"\n")
		case "/@v/" + version + ".zip":
			archive := zip.NewWriter(w)
			for name, text := range files {
				file, err := archive.Create(module + "@" + version + "/" + name)
				if err == nil {
					_, _ = io.WriteString(file, text)
				}
			}
			_ = archive.Close()
		default:
			http.NotFound(w, r)
		}
	}
}
