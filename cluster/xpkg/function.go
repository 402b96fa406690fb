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
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/bundle"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/program"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

const (
	functionName = "function-proxmox-operations"
	// operations is the folder of the function: its program and its metadata.
	operations = "cluster/operations"
)

type functionCommand struct{ build }

// Run builds the package of the function of Operations, which embeds its image.
func (c functionCommand) Run(ctx context.Context, out output) error {
	if err := c.prepare(); err != nil {
		return err
	}
	contents, err := c.functionContents()
	if err != nil {
		return err
	}
	from := program.Source{Root: filepath.Join(c.Root, "cluster"), Package: "./operations", LinkerFlags: "-s -w"}
	packages := map[string]v1.Image{}
	for _, arch := range c.Arch {
		img, err := c.imageOf(ctx, arch, functionName, from)
		if err != nil {
			return err
		}
		if packages[arch], err = bundle.Onto(img, contents, c.built()); err != nil {
			return fmt.Errorf("cannot make the function for %s: %w", arch, err)
		}
		path := filepath.Join(c.Output, fmt.Sprintf("%s-%s-%s.xpkg", functionName, c.Version, arch))
		if err := store.Tarball(path, packages[arch]); err != nil {
			return err
		}
		fmt.Fprintf(out, "%-8s %s\n", arch, path)
	}
	return c.keep(out, "package", c.function(), packages)
}

func (b build) functionContents() (bundle.Contents, error) {
	return bundle.Read(os.DirFS(b.Root), operations+"/package/crossplane.yaml", nil, []string{"examples/operations"})
}
