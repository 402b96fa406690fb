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

package proxmox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	all := func(v string, features ...Feature) Health {
		h := Health{Version: Version{Version: v}, Privileges: map[string]Privileges{}}
		for path, names := range Needed(h.Version, features...) {
			h.Privileges[path] = Privileges{}
			for _, n := range names {
				h.Privileges[path][n] = true
			}
		}
		return h
	}
	for _, v := range []string{"8.4.21", "9.2.11"} {
		for _, f := range Features() {
			h := all(v, f)
			if got := h.Missing(f); got != nil {
				t.Errorf("%s at %s: nothing is missing of what it needs, got %v", f, v, got)
			}
			for path, names := range Needed(h.Version, f) {
				for _, n := range names {
					delete(h.Privileges[path], n)
					got := h.Missing(f)
					if len(got) == 0 || got[0].Path != path || got[0].Privileges[0] != n {
						t.Errorf("%s at %s without %s on %s: got %v", f, v, n, path, got)
					}
					h.Privileges[path][n] = true
				}
			}
		}
	}
}

func TestGranted(t *testing.T) {
	cases := map[string]struct {
		reason   string
		at       string
		inherits bool
		path     string
		want     bool
	}{
		"Itself":     {reason: "The path itself counts.", at: "/vms", path: "/vms", want: true},
		"Below":      {reason: "A part may be all that is needed.", at: "/vms/100", path: "/vms", want: true},
		"Above":      {reason: "Root passes it on.", at: "/", inherits: true, path: "/vms", want: true},
		"AboveAlone": {reason: "Root keeps it to itself.", at: "/", path: "/vms"},
		"Pool":       {reason: "A pool has VMs.", at: "/pool/team", path: "/vms", want: true},
		"Pools":      {reason: "All pools have VMs.", at: "/pool", inherits: true, path: "/storage", want: true},
		"PoolOfSDN":  {reason: "A pool has no networks.", at: "/pool/team", path: "/sdn"},
		"Root":       {reason: "What is needed on root is needed there.", at: "/nodes/pve1", path: "/"},
		"Similar":    {reason: "Names may begin alike.", at: "/vmsx", path: "/vms"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := Health{Privileges: map[string]Privileges{tc.at: {"P": tc.inherits}}}
			if got := h.granted(tc.path, "P"); got != tc.want {
				t.Errorf("%s\ngranted(%s) with %s: got %t", tc.reason, tc.path, tc.at, got)
			}
		})
	}
}

// TestDocumented checks that the documented privileges are those that the code checks.
func TestDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "least-privilege.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for _, n := range needs() {
		want = append(want, fmt.Sprintf("| `%s` | `%s` | `%s` | %s |", n.feature, n.path, strings.Join(n.privileges, "` `"), n.role))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows of the table: -want, +got:\n%s", diff)
	}
	for _, v := range []string{"8.4", "9.2"} {
		for _, path := range []string{"/vms", "/storage", "/sdn"} {
			role := `--privs "` + strings.Join(Needed(Version{Version: v}, FeatureMachines)[path], " ") + `"`
			if !strings.Contains(string(b), role) {
				t.Errorf("for PVE %s there is no role with %s", v, role)
			}
		}
	}
}

// TestPrivilegesOn checks that a path inherits what propagates from the nearest listed path above it.
func TestPrivilegesOn(t *testing.T) {
	all := map[string]Privileges{
		"/":        {"Sys.Audit": true},
		"/vms":     {"VM.Audit": true, "VM.Allocate": false},
		"/vms/100": {"VM.PowerMgmt": false},
	}
	cases := map[string]struct {
		reason, path string
		want         Privileges
	}{
		"Listed":    {reason: "A path that is listed has what is said of it alone.", path: "/vms/100", want: all["/vms/100"]},
		"Inherited": {reason: "A path inherits from the nearest one what propagates.", path: "/vms/101", want: Privileges{"VM.Audit": true}},
		"Root":      {reason: "The root is above all paths.", path: "/storage/local", want: Privileges{"Sys.Audit": true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, PrivilegesOn(all, tc.path)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	if got := PrivilegesOn(nil, "/vms/1"); len(got) > 0 {
		t.Errorf("nobody has any where none are listed, got %v", got)
	}
}
