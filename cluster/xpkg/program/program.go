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

// Package program builds the project's programs for other machines.
package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A Source is the source of a static program.
type Source struct {
	// Root is the folder of the Go module.
	Root string
	// Package is the program's package, relative to the module: ./cmd/provider.
	Package string
	// LinkerFlags are given to the Go linker.
	LinkerFlags string
}

// Build returns the program for Linux on the architecture. It does not depend on the folder in which it is built.
func (s Source) Build(ctx context.Context, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "build-")
	if err != nil {
		return nil, fmt.Errorf("cannot build %s: %w", s.Package, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // The system empties its temporary folder.

	out := filepath.Join(dir, "program")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", s.LinkerFlags, "-o", out, s.Package)
	cmd.Dir = s.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=off", "GOFLAGS=-mod=readonly")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("cannot build %s for %s: %w\n%s", s.Package, arch, err, output.String())
	}
	return os.ReadFile(out)
}
