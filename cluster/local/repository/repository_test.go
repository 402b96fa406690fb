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

package repository

import (
	"os"
	"path/filepath"
	"testing"
)

func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{"cluster/local", "bin"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"cluster/go.mod", "bin/provider"} {
		if err := os.WriteFile(filepath.Join(root, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind(t *testing.T) {
	root := checkout(t)
	cases := map[string]struct {
		reason string
		dir    string
		want   string
	}{
		"Top":      {reason: "the top of the checkout is found from itself", dir: root, want: root},
		"Below":    {reason: "it is found from a folder inside", dir: filepath.Join(root, "cluster", "local"), want: root},
		"Relative": {reason: "steps upwards are resolved", dir: filepath.Join(root, "cluster", ".."), want: root},
		"Outside":  {reason: "a folder outside has no checkout", dir: t.TempDir()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			repo, err := Find(tc.dir)
			if (err != nil) != (tc.want == "") {
				t.Fatalf("%s: Find(%q) fails with %v", tc.reason, tc.dir, err)
			}
			if repo.Root() != tc.want {
				t.Errorf("%s: Find(%q) = %q, want %q", tc.reason, tc.dir, repo.Root(), tc.want)
			}
		})
	}
}

func TestBinary(t *testing.T) {
	root := checkout(t)
	repo, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	if path, err := repo.Binary("provider"); err != nil || path != filepath.Join(root, "bin", "provider") {
		t.Errorf("Binary finds %q, %v for a program that is there", path, err)
	}
	if path, err := repo.Binary("pve-simulator"); err == nil {
		t.Errorf("Binary finds %q for a program that is not there", path)
	}
}

func TestResolve(t *testing.T) {
	repo := Repository{root: "/checkout"}
	for path, want := range map[string]string{"ca.crt": "/checkout/ca.crt", "/etc/ca.crt": "/etc/ca.crt"} {
		if got := repo.Resolve(path); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", path, got, want)
		}
	}
}
