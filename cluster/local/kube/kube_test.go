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

package kube

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadDir(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string
		fails  bool
	}{
		"Order": {
			reason: "files are read in the order of their names, documents in theirs",
			files:  map[string]string{"b.yaml": "kind: Third", "a.yaml": "kind: First\n---\nkind: Second\n", "notes.txt": "kind: None"},
			want:   []string{"First", "Second", "Third"},
		},
		"Empty":     {reason: "documents without content are no objects", files: map[string]string{"a.yaml": "# none\n---\n---\nkind: One\n"}, want: []string{"One"}},
		"Malformed": {reason: "a file that is no YAML is refused", files: map[string]string{"a.yaml": "kind: [\n"}, fails: true},
		"None":      {reason: "an empty folder holds nothing", files: nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			objs, err := ReadDir(dir)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: ReadDir fails with %v", tc.reason, err)
			}
			var got []string
			for _, obj := range objs {
				got = append(got, obj.GetKind())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
