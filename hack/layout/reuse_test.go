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
	"testing"
	"time"
)

// TestReuse checks the modification times of files after hack/reuse, and that two clones have one folder of programs.
func TestReuse(t *testing.T) {
	home, now := t.TempDir(), time.Now()
	first, second := clone(t, home), clone(t, home)
	write(t, filepath.Join(second, "later"), "changed")
	for _, folder := range []string{first, second} {
		run(t, folder, home, "hack/reuse")
	}
	cases := map[string]struct {
		reason, file string
		same         bool
	}{
		"Committed": {"A file has the same time in every clone.", "a file", true},
		"Folder":    {"A folder has the same time in every clone.", "hack", true},
		"Changed":   {"A file that is not as committed keeps its own time.", "later", false},
		"Programs":  {"What is built once is in the user's cache.", ".cache/controlplane", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := modified(t, filepath.Join(first, tc.file)), modified(t, filepath.Join(second, tc.file))
			if a.Equal(b) != tc.same {
				t.Errorf("%s\nthe times are the same: want %t, got %s and %s", tc.reason, tc.same, a, b)
			}
		})
	}
	if a, b := modified(t, filepath.Join(first, "a file")), modified(t, filepath.Join(first, "later")); a.Equal(b) || a.After(now) {
		t.Errorf("files of different content must have different times in the past, got %s and %s", a, b)
	}
}

// clone returns a new clone with two files and hack/reuse.
func clone(t *testing.T, home string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "hack"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "hack", "reuse"), readText(t, "hack/reuse"))
	write(t, filepath.Join(folder, "a file"), "content")
	write(t, filepath.Join(folder, "later"), "other content")
	run(t, folder, home, "git", "init", "--quiet")
	run(t, folder, home, "git", "add", "a file", "hack/reuse", "later")
	return folder
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, folder, home string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
}

// modified returns the modification time of the target of a path.
func modified(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}
