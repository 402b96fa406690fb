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
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/image"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/program"
)

const (
	simulatorName = "pve-simulator"
	loadTestName  = "load-test"
)

type simulatorCommand struct{ build }

// Run builds the simulator's image.
func (c simulatorCommand) Run(ctx context.Context, out output) error {
	if err := c.prepare(); err != nil {
		return err
	}
	images := map[string]v1.Image{}
	for _, arch := range c.Arch {
		var err error
		if images[arch], err = c.simulatorImage(ctx, arch); err != nil {
			return err
		}
	}
	return c.keep(out, "image", c.simulator(), images)
}

// simulatorImage returns an image that runs the simulator, and also contains the program of the load test.
func (b build) simulatorImage(ctx context.Context, arch string) (v1.Image, error) {
	img, err := b.imageOf(ctx, arch, simulatorName, program.Source{Root: b.Root, Package: "./cmd/" + simulatorName, LinkerFlags: b.LinkerFlags})
	if err != nil {
		return nil, err
	}
	from := program.Source{Root: filepath.Join(b.Root, "cluster"), Package: "./loadtest", LinkerFlags: "-s -w"}
	binary, err := b.program(ctx, arch, loadTestName, from)
	if err != nil {
		return nil, err
	}
	layer, err := image.Layer([]image.File{{Path: loadTestName, Executable: true, Content: binary}}, b.built())
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: v1.Time{Time: b.built()}, CreatedBy: loadTestName}
	return mutate.Append(img, mutate.Addendum{Layer: layer, History: history})
}

// imageOf builds a program with its bills of materials, and returns an image that runs it.
func (b build) imageOf(ctx context.Context, arch, name string, from program.Source) (v1.Image, error) {
	binary, err := b.program(ctx, arch, name, from)
	if err != nil {
		return nil, err
	}
	return b.wrap(arch, name, binary)
}

// wrap returns an image that runs a program.
func (b build) wrap(arch, name string, binary []byte) (v1.Image, error) {
	img, err := image.Of(image.Program{Name: name, Arch: arch, Binary: binary, Version: b.Version, Source: source, Built: b.built()})
	if err != nil {
		return nil, fmt.Errorf("cannot make the image of %s for %s: %w", name, arch, err)
	}
	return img, nil
}
