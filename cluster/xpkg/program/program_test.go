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

package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildReportsCompilerErrors(t *testing.T) {
	_, err := Source{Root: "..", Package: "./nothing"}.Build(t.Context(), "amd64")
	if err == nil || !strings.Contains(err.Error(), "cannot build ./nothing for amd64") || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
}

func TestBuildForArchitecture(t *testing.T) {
	// A program without imports, because packages for another architecture are not in the build cache.
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/tiny\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := Source{Root: root, Package: "."}.Build(t.Context(), "arm64")
	if err != nil {
		t.Fatal(err)
	}
	const machineAt, arm64 = 18, 183 // e_machine of ELF's header.
	if !bytes.HasPrefix(binary, []byte("\x7fELF")) || binary[machineAt] != arm64 {
		t.Errorf("got a program that starts with %x", binary[:20])
	}
}
