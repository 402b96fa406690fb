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

package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDenials(t *testing.T) {
	line := func(user, verb, uri, code string) string {
		return `{"kind":"Event","verb":"` + verb + `","requestURI":"` + uri + `","user":{"username":"system:serviceaccount:` + user +
			`"},"responseStatus":{"code":` + code + "}}\n"
	}
	log := line("system:provider", "get", "/api/v1/secrets", "200") +
		line("system:provider", "list", "/api/v1/pods", "403") +
		line("system:provider", "delete", "/api/v1/nodes", "403") +
		line("system:provider", "list", "/api/v1/pods", "403") +
		line("system:other", "get", "/api/v1/nodes", "403") +
		line("other:provider", "get", "/api/v1/nodes", "403")
	cases := map[string]struct {
		reason string
		log    string
		want   []string
		fails  bool
	}{
		"Denied": {
			reason: "what the account was denied is told once, what others were not at all",
			log:    log, want: []string{"delete /api/v1/nodes", "list /api/v1/pods"},
		},
		"Half":    {reason: "a line that is being written is left for later", log: log + `{"kind":`, want: []string{"delete /api/v1/nodes", "list /api/v1/pods"}},
		"Nothing": {reason: "who asked for nothing was denied nothing"},
		"Broken":  {reason: "a log that cannot be read proves nothing", log: "}\n", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, auditLog), []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Denials(dir, "system", "provider")
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("%s: error %v, -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
	if _, err := Denials(t.TempDir(), "system", "provider"); err == nil {
		t.Error("without a log it is said that nothing was denied")
	}
}
