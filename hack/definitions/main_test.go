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
	"path/filepath"
	"strings"
	"testing"
)

const generated = `            properties:
              providerConfigRef:
                default:
                  kind: ClusterProviderConfig
                  name: default
                description: |-
                  ProviderConfigReference specifies how the provider that will be used to
                  configured.
                properties:
                  kind:
                    default: kept
`

func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		plural string
		want   string // An error.
	}{
		"Default":   {reason: "The default goes, and nothing else.", text: generated, plural: "snapshots"},
		"NoDefault": {reason: "A form that is not known is an error.", text: "spec: {}\n", plural: "snapshots", want: "has no default"},
		"NoKind":    {reason: "A kind that is not there is an error.", text: generated, plural: "orchards", want: "no definitions of orchards"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, "group_snapshots.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := run(folder, []string{tc.plural})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("\n%s\nrun(): want error %q, got %v", tc.reason, tc.want, err)
			}
			got, readErr := os.ReadFile(filepath.Clean(file))
			if readErr != nil {
				t.Fatal(readErr)
			}
			if text := string(got); tc.want == "" && (strings.Contains(text, "ClusterProviderConfig") || !strings.Contains(text, "default: kept")) {
				t.Errorf("\n%s\nrun(): got\n%s", tc.reason, text)
			}
		})
	}
}
