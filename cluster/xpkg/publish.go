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
	"strings"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/sbom"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

type publishCommand struct {
	folder

	Registry string   `help:"The registry and organisation to push to." placeholder:"HOST/ORG" required:""`
	Tag      string   `help:"The tag for the image and the package."    placeholder:"vX.Y.Z"   required:""`
	Arch     []string `default:"amd64,arm64"                            help:"The architectures that were built."`
}

// Run pushes the package, which the Crossplane that installs it also runs, and the image without the package, for the
// chart without Crossplane.
func (c publishCommand) Run(ctx context.Context, out output) error {
	attachments, err := c.attachments()
	if err != nil {
		return err
	}
	for repository, dir := range map[string]string{packageName: c.bundle(), packageName + "-controller": c.image()} {
		if err := c.push(ctx, out, repository, dir, attachments); err != nil {
			return err
		}
	}
	return c.push(ctx, out, configurationName, c.configuration(), nil)
}

func (c publishCommand) push(ctx context.Context, out output, repository, dir string, attachments []store.Attachment) error {
	index, err := store.Open(dir)
	if err != nil {
		return fmt.Errorf("cannot publish what is not built: %w", err)
	}
	pushed, err := store.Push(ctx, strings.TrimSuffix(c.Registry, "/")+"/"+repository+":"+c.Tag, index, attachments)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, pushed)
	return nil
}

func (c publishCommand) attachments() ([]store.Attachment, error) {
	var out []store.Attachment
	for _, arch := range c.Arch {
		bom, err := os.ReadFile(c.sbom(arch))
		if err != nil {
			return nil, fmt.Errorf("cannot publish what is not built: %w", err)
		}
		out = append(out, store.Attachment{Arch: arch, MediaType: sbom.MediaType, Content: bom})
	}
	return out, nil
}
