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
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/bundle"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/image"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/program"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/sbom"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

const (
	programName = "provider"
	packageName = "provider-proxmox"
	source      = "https://github.com/vitistack/provider-proxmox"
)

type output interface{ io.Writer }

// folder is the folder with all that is built.
type folder struct {
	Output string `default:"_output" help:"The folder for what is built." type:"path"`
}

// prepare creates the folder.
func (f folder) prepare() error {
	if err := os.MkdirAll(f.Output, 0o750); err != nil {
		return fmt.Errorf("cannot make the folder for what is built: %w", err)
	}
	return nil
}

func (f folder) image() string         { return filepath.Join(f.Output, "image") }
func (f folder) bundle() string        { return filepath.Join(f.Output, "package") }
func (f folder) configuration() string { return filepath.Join(f.Output, "configuration") }
func (f folder) simulator() string     { return filepath.Join(f.Output, simulatorName) }
func (f folder) operations() string    { return filepath.Join(f.Output, "function") }
func (f folder) conditions() string    { return filepath.Join(f.Output, "conditions") }

// sbom and spdx return the bills of materials of a program for an architecture.
func (f folder) sbom(program, arch string) string {
	return filepath.Join(f.Output, "sbom-"+program+"-"+arch+".cdx.json")
}

func (f folder) spdx(program, arch string) string {
	return filepath.Join(f.Output, "sbom-"+program+"-"+arch+".spdx.json")
}

// build has the common inputs of the image and the package.
type build struct {
	folder

	Root        string   `default:"." help:"The folder of the checkout." type:"path"`
	Version     string   `default:"v0.0.0-dev" help:"The version that the program and the image say they are."`
	LinkerFlags string   `help:"Flags for the Go linker." name:"ldflags"`
	Arch        []string `default:"amd64,arm64" help:"The architectures."`
	Epoch       int64    `env:"SOURCE_DATE_EPOCH" help:"The time of the source, in seconds since 1970, which everything says it is from."`
}

type (
	imageCommand   struct{ build }
	packageCommand struct{ build }
)

func (c imageCommand) Run(ctx context.Context, out output) error {
	images, err := c.images(ctx)
	if err != nil {
		return err
	}
	return c.keep(out, "image", c.image(), images)
}

func (c packageCommand) Run(ctx context.Context, out output) error {
	images, err := c.images(ctx)
	if err != nil {
		return err
	}
	if err := c.keep(out, "image", c.image(), images); err != nil {
		return err
	}
	packages, err := c.packages(images)
	if err != nil {
		return err
	}
	for _, arch := range c.Arch {
		path := filepath.Join(c.Output, fmt.Sprintf("%s-%s-%s.xpkg", packageName, c.Version, arch))
		if err := store.Tarball(path, packages[arch]); err != nil {
			return err
		}
		fmt.Fprintf(out, "%-8s %s\n", arch, path)
	}
	return c.keep(out, "package", c.bundle(), packages)
}

func (b build) built() time.Time { return time.Unix(b.Epoch, 0).UTC() }

// images builds the provider, its image and its bills of materials for each architecture.
func (b build) images(ctx context.Context) (map[string]v1.Image, error) {
	if err := b.prepare(); err != nil {
		return nil, err
	}
	from := program.Source{Root: b.Root, Package: "./cmd/" + programName, LinkerFlags: b.LinkerFlags}
	images := map[string]v1.Image{}
	for _, arch := range b.Arch {
		binary, err := b.program(ctx, arch, packageName, from)
		if err != nil {
			return nil, err
		}
		if images[arch], err = b.wrap(arch, programName, binary); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// program builds a program, and writes its bills of materials.
func (b build) program(ctx context.Context, arch, name string, from program.Source) ([]byte, error) {
	binary, err := from.Build(ctx, arch)
	if err != nil {
		return nil, err
	}
	return binary, b.account(arch, name, binary)
}

func (b build) account(arch, name string, binary []byte) error {
	bom, err := sbom.Of(binary, name, b.Version, b.built())
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.sbom(name, arch), bom, 0o600); err != nil {
		return err
	}
	if bom, err = sbom.SPDX(binary, name, b.Version, b.built()); err != nil {
		return err
	}
	return os.WriteFile(b.spdx(name, arch), bom, 0o600)
}

func (b build) packages(images map[string]v1.Image) (map[string]v1.Image, error) {
	contents, err := bundle.Read(os.DirFS(b.Root), "package/crossplane.yaml", []string{"package/crds"},
		[]string{"examples/provider", "examples/cluster", "examples/namespaced"})
	if err != nil {
		return nil, err
	}
	packages := map[string]v1.Image{}
	for arch, img := range images {
		if packages[arch], err = bundle.Onto(img, contents, b.built()); err != nil {
			return nil, fmt.Errorf("cannot make the package for %s: %w", arch, err)
		}
	}
	return packages, nil
}

func (b build) keep(out output, what, dir string, images map[string]v1.Image) error {
	index := image.Index(images, b.Arch)
	if err := store.Layout(dir, index); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("cannot take the digest of the %s: %w", what, err)
	}
	_, err = fmt.Fprintf(out, "%-8s %s %s\n", what, dir, digest)
	return err
}
