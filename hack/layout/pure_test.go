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
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pure returns the packages whose tests need nothing that is built or started before.
func pure() []string {
	return []string{
		"checksum", "guestagent", "harules", "imageref", "importer", "inventory", "maintenance", "metrics", "nocloud", "objectstate", "placement", "proxmox",
		"proxmox/lenient", "proxmox/owncalls", "proxmox/propertystring", "proxmox/transport", "qemu", "qemu/export", "qemu/validate", "retention", "schedule",
		"settings", "tasktrack", "tenancy", "version",
		"vmcache", "vmstate",
	}
}

// Plain go test runs them: they import nothing that starts an API server, and ask for no
// binaries of one.
func TestPurePackages(t *testing.T) {
	for _, dir := range pure() {
		files, err := filepath.Glob(filepath.Join(root, "internal", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("internal/%s has no files: %v", dir, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(source), "KUBEBUILDER_ASSETS") {
				t.Errorf("%s asks for binaries of the control plane", file)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range parsed.Imports {
				if strings.Contains(i.Path.Value, "/envtest") || strings.Contains(i.Path.Value, "provider-proxmox/cluster/") {
					t.Errorf("%s imports %s, which needs a control plane", file, i.Path.Value)
				}
			}
		}
	}
}
