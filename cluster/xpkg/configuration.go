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
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

const (
	configurationName = "configuration-proxmox"
	// compositions is the folder of the Configuration: its metadata, the objects that it installs and its examples.
	compositions = "examples/composition"
)

type configurationCommand struct{ build }

// Run builds the Configuration. It consists only of objects, so it is the same for each architecture.
func (c configurationCommand) Run(_ context.Context, out output) error {
	if err := c.prepare(); err != nil {
		return err
	}
	images, err := c.configurations()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Output, fmt.Sprintf("%s-%s.xpkg", configurationName, c.Version))
	if err := store.Tarball(path, images[c.Arch[0]]); err != nil {
		return err
	}
	fmt.Fprintf(out, "%-8s %s\n", "any", path)
	return c.keep(out, "package", c.configuration(), images)
}

// configurations returns the Configuration once for each architecture that Crossplane may run on.
func (b build) configurations() (map[string]v1.Image, error) {
	contents, err := bundle.Read(os.DirFS(b.Root), compositions+"/crossplane.yaml", []string{compositions + "/apis"},
		[]string{compositions + "/examples", compositions + "/migration"})
	if err != nil {
		return nil, err
	}
	images := map[string]v1.Image{}
	for _, arch := range b.Arch {
		base, err := bundle.Empty(arch, b.built())
		if err != nil {
			return nil, fmt.Errorf("cannot make the image for %s: %w", arch, err)
		}
		if images[arch], err = bundle.Onto(base, contents, b.built()); err != nil {
			return nil, fmt.Errorf("cannot make the configuration for %s: %w", arch, err)
		}
	}
	return images, nil
}
