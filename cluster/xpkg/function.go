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
	operationsName = "function-proxmox-operations"
	conditionsName = "function-proxmox-conditions"
)

// A function describes the content of a function's package.
type function struct {
	name string
	// folder has its metadata, and main is the package of its program; both are below the folder cluster.
	folder, main string
	// examples are the folders of the package's examples.
	examples []string
}

func operationsFunction() function {
	return function{name: operationsName, folder: "operations", main: "operations", examples: []string{"examples/operations"}}
}

func conditionsFunction() function {
	return function{name: conditionsName, folder: "conditions", main: "conditions/program"}
}

type (
	functionCommand   struct{ build }
	conditionsCommand struct{ build }
)

func (c functionCommand) Run(ctx context.Context, out output) error {
	return c.function(ctx, out, operationsFunction(), c.operations())
}

func (c conditionsCommand) Run(ctx context.Context, out output) error {
	return c.function(ctx, out, conditionsFunction(), c.conditions())
}

// function builds the package of a function, which embeds its image, and keeps it in dir.
func (b build) function(ctx context.Context, out output, f function, dir string) error {
	if err := b.prepare(); err != nil {
		return err
	}
	contents, err := b.contents(f)
	if err != nil {
		return err
	}
	from := program.Source{Root: filepath.Join(b.Root, "cluster"), Package: "./" + f.main, LinkerFlags: "-s -w"}
	packages := map[string]v1.Image{}
	for _, arch := range b.Arch {
		img, err := b.imageOf(ctx, arch, f.name, from)
		if err != nil {
			return err
		}
		if packages[arch], err = bundle.Onto(img, contents, b.built()); err != nil {
			return fmt.Errorf("cannot make the function for %s: %w", arch, err)
		}
		path := filepath.Join(b.Output, fmt.Sprintf("%s-%s-%s.xpkg", f.name, b.Version, arch))
		if err := store.Tarball(path, packages[arch]); err != nil {
			return err
		}
		fmt.Fprintf(out, "%-8s %s\n", arch, path)
	}
	return b.keep(out, "package", dir, packages)
}

func (b build) contents(f function) (bundle.Contents, error) {
	return bundle.Read(os.DirFS(b.Root), "cluster/"+f.folder+"/package/crossplane.yaml", nil, f.examples)
}
