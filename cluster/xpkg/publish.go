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
	"slices"
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

// published describes what is pushed to a repository.
type published struct {
	repository, dir string
	// programs are the programs in its images, each with bills of materials.
	programs []string
	// optional is true for what is built separately on request.
	optional bool
}

// all returns what is published: the package, which the Crossplane that installs it also runs; the image without the package, for the chart without
// Crossplane; the Configuration, which runs nothing, and the function that it depends on; and the optional ones.
func (c publishCommand) all() []published {
	return []published{
		{repository: packageName, dir: c.bundle(), programs: []string{packageName}},
		{repository: packageName + "-controller", dir: c.image(), programs: []string{packageName}},
		{repository: configurationName, dir: c.configuration()},
		{repository: conditionsName, dir: c.conditions(), programs: []string{conditionsName}},
		{repository: operationsName, dir: c.operations(), programs: []string{operationsName}, optional: true},
		{repository: simulatorName, dir: c.simulator(), programs: []string{simulatorName, loadTestName}, optional: true},
	}
}

// An artifact is a built index to push.
type artifact struct {
	repository  string
	index       v1.ImageIndex
	attachments []store.Attachment
}

// Run pushes the artifacts with their bills of materials. If something is missing, it returns an error before it pushes anything.
func (c publishCommand) Run(ctx context.Context, out output) error {
	signer, err := c.signer()
	if err != nil {
		return err
	}
	artifacts, err := c.artifacts()
	if err != nil {
		return err
	}
	for _, built := range artifacts {
		if err := c.push(ctx, out, signer, built); err != nil {
			return err
		}
	}
	return nil
}

func (c publishCommand) artifacts() ([]artifact, error) {
	var out []artifact
	for _, p := range slices.DeleteFunc(c.all(), published.isAbsent) {
		index, err := store.Open(p.dir)
		if err != nil {
			return nil, fmt.Errorf("cannot publish what is not built: %w", err)
		}
		attachments, err := c.attachments(p.programs)
		if err != nil {
			return nil, err
		}
		out = append(out, artifact{repository: p.repository, index: index, attachments: attachments})
	}
	return out, nil
}

func (p published) isAbsent() bool {
	_, err := os.Stat(p.dir)
	return p.optional && err != nil
}

// signer returns the signer, or nil if there is no key. If a key cannot be used, it returns an error before anything is pushed.
func (c publishCommand) signer() (*signature.Signer, error) {
	if c.Key == "" {
		return nil, nil
	}
	signer, err := signature.Load(c.Key, []byte(os.Getenv("COSIGN_PASSWORD")))
	return &signer, err
}

func (c publishCommand) push(ctx context.Context, out output, signer *signature.Signer, built artifact) error {
	pushed, err := store.Push(ctx, strings.TrimSuffix(c.Registry, "/")+"/"+built.repository+":"+c.Tag, built.index, built.attachments)
	if err != nil {
		return err
	}
	if signer != nil {
		if err := sign(ctx, *signer, pushed, built); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(out, pushed)
	return err
}

// sign signs what was pushed, and attests the SPDX documents of its images.
func sign(ctx context.Context, signer signature.Signer, pushed string, built artifact) error {
	if err := signer.Sign(ctx, pushed); err != nil {
		return err
	}
	repository, _, _ := strings.Cut(pushed, "@")
	for _, a := range built.attachments {
		if a.MediaType != sbom.SPDXMediaType {
			continue
		}
		digest, err := store.Digest(built.index, a.Arch)
		if err != nil {
			return fmt.Errorf("cannot attest to %q: %w", pushed, err)
		}
		if err := signer.AttestSPDX(ctx, repository+"@"+digest, a.Content); err != nil {
			return err
		}
	}
	return nil
}

// attachments returns the bills of materials of programs, for each architecture.
func (c publishCommand) attachments(programs []string) ([]store.Attachment, error) {
	var out []store.Attachment
	for _, arch := range c.Arch {
		for _, name := range programs {
			files := map[string]string{sbom.MediaType: c.sbom(name, arch), sbom.SPDXMediaType: c.spdx(name, arch)}
			for mediaType, file := range files {
				bom, err := os.ReadFile(file)
				if err != nil {
					return nil, fmt.Errorf("cannot publish what is not built: %w", err)
				}
				out = append(out, store.Attachment{Arch: arch, MediaType: mediaType, Content: bom})
			}
		}
	}
	return out, nil
}
