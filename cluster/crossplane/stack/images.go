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

package stack

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/bundle"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/image"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

// Names of images in the registry, without its address.
const (
	coreImage = "crossplane/crossplane"
	coreTag   = "test"
	// FunctionName is the name of the function's package.
	FunctionName = "crossplane-contrib/" + assets.Function
	// FunctionTag is the tag of the function's package in the registry.
	FunctionTag = "v0.10.7"
)

// pushCore pushes an image with Crossplane's program and the files that it reads.
func (s *Stack) pushCore(ctx context.Context) error {
	img, err := programImage(ctx, s.core.assets, s.core.programs, assets.Crossplane)
	if err != nil {
		return err
	}
	source, err := s.core.assets.Source(ctx, s.core.module)
	if err != nil {
		return err
	}
	var files []image.File
	for _, dir := range []string{"crds", "webhookconfigurations"} {
		found, err := filesOf(filepath.Join(source, "cluster"), dir)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	layer, err := image.Layer(files, time.Time{})
	if err != nil {
		return err
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		return fmt.Errorf("cannot make Crossplane's image: %w", err)
	}
	return s.Push(ctx, coreImage, coreTag, img)
}

// pushFunction pushes the package of the function of Compositions.
func (s *Stack) pushFunction(ctx context.Context) error {
	img, err := programImage(ctx, commands.FunctionAssets(s.Repo), assets.PatchAndTransform(), assets.Function)
	if err != nil {
		return err
	}
	source, err := commands.FunctionAssets(s.Repo).Source(ctx, assets.FunctionModule)
	if err != nil {
		return err
	}
	contents, err := bundle.Read(os.DirFS(source), "package/crossplane.yaml", []string{"package/input"}, nil)
	if err != nil {
		return err
	}
	if img, err = bundle.Onto(img, contents, time.Time{}); err != nil {
		return err
	}
	return s.Push(ctx, FunctionName, FunctionTag, img)
}

func programImage(ctx context.Context, from assets.Provider, set assets.Set, program string) (v1.Image, error) {
	dir, err := from.Build(ctx, set)
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(filepath.Join(dir, program))
	if err != nil {
		return nil, err
	}
	return image.Of(image.Program{Name: program, Arch: runtime.GOARCH, Binary: binary})
}

func filesOf(root, dir string) ([]image.File, error) {
	var files []image.File
	err := fs.WalkDir(os.DirFS(root), dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		files = append(files, image.File{Path: path, Content: content})
		return err
	})
	return files, err
}

// Push pushes an image for this machine's architecture to the registry.
func (s *Stack) Push(ctx context.Context, name, tag string, img v1.Image) error {
	index := image.Index(map[string]v1.Image{runtime.GOARCH: img}, []string{runtime.GOARCH})
	return s.PushIndex(ctx, name, tag, index)
}

// PushIndex pushes the images of an index to the registry.
func (s *Stack) PushIndex(ctx context.Context, name, tag string, index v1.ImageIndex) error {
	_, err := store.Push(ctx, s.Registry+"/"+name+":"+tag, index, nil)
	return err
}

// PushLayout pushes to the registry what the packer has left in a folder.
func (s *Stack) PushLayout(ctx context.Context, name, tag, dir string) error {
	index, err := store.Open(dir)
	if err != nil {
		return err
	}
	return s.PushIndex(ctx, name, tag, index)
}
