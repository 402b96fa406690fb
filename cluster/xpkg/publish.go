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

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/sbom"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/signature"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

type publishCommand struct {
	folder

	Registry string   `help:"The registry and organisation to push to." placeholder:"HOST/ORG" required:""`
	Tag      string   `help:"The tag for the image and the package."    placeholder:"vX.Y.Z"   required:""`
	Arch     []string `default:"amd64,arm64"                            help:"The architectures that were built."`
	Key      string   `help:"A key of cosign to sign with; its password is in COSIGN_PASSWORD. Without one nothing is signed." placeholder:"FILE"`
}

// Run pushes the package, which the Crossplane that installs it also runs, and the image without the package, for the
// chart without Crossplane.
func (c publishCommand) Run(ctx context.Context, out output) error {
	signer, err := c.signer()
	if err != nil {
		return err
	}
	attachments, err := c.attachments()
	if err != nil {
		return err
	}
	for repository, dir := range map[string]string{packageName: c.bundle(), packageName + "-controller": c.image()} {
		if err := c.push(ctx, out, signer, repository, dir, attachments); err != nil {
			return err
		}
	}
	if err := c.push(ctx, out, signer, configurationName, c.configuration(), nil); err != nil {
		return err
	}
	for repository, dir := range map[string]string{functionName: c.function(), simulatorName: c.simulator()} {
		if _, err := os.Stat(dir); err != nil {
			continue // It is built apart, for those who want it.
		}
		if err := c.push(ctx, out, signer, repository, dir, nil); err != nil {
			return err
		}
	}
	return nil
}

// signer returns what signs, which is nil if there is no key. A key that cannot be used is an error before anything is pushed.
func (c publishCommand) signer() (*signature.Signer, error) {
	if c.Key == "" {
		return nil, nil
	}
	signer, err := signature.Load(c.Key, []byte(os.Getenv("COSIGN_PASSWORD")))
	return &signer, err
}

func (c publishCommand) push(
	ctx context.Context, out output, signer *signature.Signer, repository, dir string, attachments []store.Attachment,
) error {
	index, err := store.Open(dir)
	if err != nil {
		return fmt.Errorf("cannot publish what is not built: %w", err)
	}
	pushed, err := store.Push(ctx, strings.TrimSuffix(c.Registry, "/")+"/"+repository+":"+c.Tag, index, attachments)
	if err != nil {
		return err
	}
	if signer != nil {
		if err := c.sign(ctx, *signer, pushed, index, attachments); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, pushed)
	return nil
}

// sign signs what was pushed, and attests the SPDX documents of its images.
func (c publishCommand) sign(
	ctx context.Context, signer signature.Signer, pushed string, index v1.ImageIndex, attachments []store.Attachment,
) error {
	if err := signer.Sign(ctx, pushed); err != nil {
		return err
	}
	repository, _, _ := strings.Cut(pushed, "@")
	for _, a := range attachments {
		if a.MediaType != sbom.SPDXMediaType {
			continue
		}
		digest, err := store.Digest(index, a.Arch)
		if err != nil {
			return fmt.Errorf("cannot attest to %q: %w", pushed, err)
		}
		if err := signer.AttestSPDX(ctx, repository+"@"+digest, a.Content); err != nil {
			return err
		}
	}
	return nil
}

func (c publishCommand) attachments() ([]store.Attachment, error) {
	var out []store.Attachment
	for _, arch := range c.Arch {
		for file, mediaType := range map[string]string{c.sbom(arch): sbom.MediaType, c.spdx(arch): sbom.SPDXMediaType} {
			bom, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("cannot publish what is not built: %w", err)
			}
			out = append(out, store.Attachment{Arch: arch, MediaType: mediaType, Content: bom})
		}
	}
	return out, nil
}
