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

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const said = `=== RUN   TestA
--- PASS: TestA (0.10s)
    --- PASS: TestA/one (0.01s)
--- FAIL: TestB (0.10s)
    --- PASS: TestB/one (0.01s)
    --- FAIL: TestB/two (0.01s)
--- FAIL: TestC (0.10s)
    --- PASS: TestC/one (0.01s)
--- SKIP: TestD (0.00s)
`

// TestReport checks that tests with subtests count by their subtests, unless they fail themselves.
func TestReport(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		known        []*known
		want         []string
		line         string
	}{
		"Unknown": {
			reason: "What fails and is not listed is wrong.", text: said, line: "9.2 g                          3 of   5 pass, 1 ask for what is not there",
			want: []string{"9.2: g TestB/two fails, and is not listed", "9.2: g TestC fails, and is not listed"},
		},
		"Known": {
			reason: "What is listed is known, with its parts.", text: said, line: "9.2 g                          3 of   5 pass, 1 ask for what is not there",
			known: []*known{{Reason: "x", Tests: []string{"g TestB/two", "g TestC"}, Versions: []string{"9.2"}}},
			want:  []string{"9.2: g TestC/one passes, and is listed: x"},
		},
		"OtherVersion": {
			reason: "A release is no other one.", text: "--- FAIL: TestB (0.10s)\n", line: "9.2 g                          0 of   1 pass",
			known: []*known{{Reason: "x", Tests: []string{"g TestB"}, Versions: []string{"8.4"}}}, want: []string{"9.2: g TestB fails, and is not listed"},
		},
		"OtherGroup": {
			reason: "A group is no other one.", text: "--- FAIL: TestB (0.10s)\n", line: "9.2 g                          0 of   1 pass",
			known: []*known{{Reason: "x", Tests: []string{"h TestB"}}}, want: []string{"9.2: g TestB fails, and is not listed"},
		},
		"Ended": {
			reason: "A group that did not end is told.", text: "--- PASS: TestA (0.10s)\n\npanic: boom\n", line: "9.2 g                          1 of   2 pass",
			want: []string{"9.2: g (the group) fails, and is not listed"},
		},
		"Absent": {
			reason: "What is listed and not there is told.", text: "--- PASS: TestA (0.10s)\n", line: "9.2 g                          1 of   1 pass",
			known: []*known{{Reason: "x", Tests: []string{"g TestZ"}}}, want: []string{"9.2: g TestZ is listed, and there is no such test"},
		},
		"NotRun": {
			reason: "What would end the group counts as failed.", text: "--- PASS: TestA (0.10s)\n", line: "9.2 g                          1 of   2 pass",
			known: []*known{{Reason: "x", Ends: true, Tests: []string{"g TestB/one"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &report{version: "9.2", known: tc.known}
			if line := r.add("g", tc.text); line != tc.line {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.line, line)
			}
			if !slices.Equal(r.wrong, tc.want) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, r.wrong)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	if _, err := readKnown(); err != nil {
		t.Error(err)
	}
	s := &session{known: []*known{{Ends: true, Tests: []string{"nodes TestA/one", "test TestB"}}, {Tests: []string{"nodes TestC"}}}}
	if got := s.skip("nodes"); got != "^TestA$/^one$" {
		t.Errorf("want one test left out, got %q", got)
	}
}

// TestSkip checks a machine without Terraform, OpenTofu and a Go module proxy that serves it.
func TestSkip(t *testing.T) {
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.Symlink(program, filepath.Join(path, "go")); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"PATH": path, "TERRAFORM": "", "GOPROXY": "off", "GOMODCACHE": t.TempDir()} {
		t.Setenv(name, value)
	}
	_, err = (&builder{folder: filepath.Join(t.TempDir(), "peers")}).prepare(t.Context())
	if !errors.As(err, &missingError{}) || !strings.Contains(err.Error(), "install Terraform 1.11 or OpenTofu 1.10") {
		t.Errorf("want what to install, got %v", err)
	}
	t.Setenv("TERRAFORM", "no-such-program")
	if _, err = (&builder{folder: t.TempDir()}).prepare(t.Context()); err == nil || errors.As(err, &missingError{}) {
		t.Errorf("a program that is named and is not there is an error, got %v", err)
	}
}
