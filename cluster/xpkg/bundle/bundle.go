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

// Package bundle builds Crossplane packages (xpkg) according to Crossplane's specification: an OCI image with a layer that contains package.yaml.
//
// It replaces pkg/xpkg of crossplane-runtime, whose Builder encodes each object again from the Go types that it knows, while this package keeps the
// content of the files. That Builder also appends layers without a time and a history, and leaves the annotations that Crossplane looks for to a second
// pass over the image (AnnotateLayers). TestOntoKeepsFilesAndTimes and TestOntoMarksItsLayersTwice fail with its packages.
package bundle

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/image"
)

const (
	annotation = "io.crossplane.xpkg"
	// baseLayer marks the layer that Crossplane reads, and examplesLayer the one that registries show.
	baseLayer     = "base"
	examplesLayer = "upbound"

	packageFile  = "package.yaml"
	examplesFile = ".up/examples.yaml"
)

// Contents are the objects of a package, as streams of YAML documents.
type Contents struct {
	Package  []byte
	Examples []byte
}

// Read returns the contents of a package: its metadata, the objects below the other folders, and its examples. Each file must contain only valid YAML
// objects with a kind.
func Read(root fs.FS, metadata string, objects, examples []string) (Contents, error) {
	meta, err := documents(root, metadata)
	if err != nil {
		return Contents{}, err
	}
	rest, err := below(root, objects)
	if err != nil {
		return Contents{}, err
	}
	shown, err := below(root, examples)
	if err != nil {
		return Contents{}, err
	}
	return Contents{Package: stream(append(meta, rest...)), Examples: stream(shown)}, nil
}

func below(root fs.FS, dirs []string) ([][]byte, error) {
	var out [][]byte
	for _, dir := range dirs {
		err := fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".yaml" {
				return err
			}
			found, err := documents(root, name)
			out = append(out, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func documents(root fs.FS, name string) ([][]byte, error) {
	raw, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read a part of the package: %w", err)
	}
	var out [][]byte
	for doc := range bytes.SplitSeq(append([]byte("\n"), raw...), []byte("\n---")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		var object struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(doc, &object); err != nil || object.Kind == "" {
			return nil, fmt.Errorf("cannot find an object in %q: %w", name, err)
		}
		out = append(out, bytes.TrimSpace(doc))
	}
	return out, nil
}

func stream(docs [][]byte) []byte {
	if len(docs) == 0 {
		return nil
	}
	return append(bytes.Join(docs, []byte("\n---\n")), '\n')
}

// Onto returns the runtime image with the package's layers on top. For a package without a runtime, the image is Empty. The layers are marked twice: in
// the manifest, where Crossplane looks, and by labels, which are kept in the tarball that `crossplane xpkg push` reads.
func Onto(runtime v1.Image, c Contents, built time.Time) (v1.Image, error) {
	layers := []struct{ mark, file string }{{baseLayer, packageFile}, {examplesLayer, examplesFile}}
	contents := map[string][]byte{baseLayer: c.Package, examplesLayer: c.Examples}
	labels := map[string]string{}
	img := runtime
	for _, l := range layers {
		if contents[l.mark] == nil {
			continue
		}
		layer, err := image.Layer([]image.File{{Path: l.file, Content: contents[l.mark]}}, built)
		if err != nil {
			return nil, err
		}
		digest, err := layer.Digest()
		if err != nil {
			return nil, fmt.Errorf("cannot take a layer's digest: %w", err)
		}
		labels[annotation+":"+digest.String()] = l.mark
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:       layer,
			Annotations: map[string]string{annotation: l.mark},
			History:     v1.History{Created: v1.Time{Time: built}, CreatedBy: l.file},
		})
		if err != nil {
			return nil, fmt.Errorf("cannot append the package's layer: %w", err)
		}
	}
	return label(img, labels)
}

func label(img v1.Image, labels map[string]string) (v1.Image, error) {
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("cannot read the image's description: %w", err)
	}
	file = file.DeepCopy()
	if file.Config.Labels == nil {
		file.Config.Labels = map[string]string{}
	}
	maps.Copy(file.Config.Labels, labels)
	return mutate.ConfigFile(img, file)
}

// Empty returns the base image of a package that runs nothing, such as a Configuration.
func Empty(arch string, built time.Time) (v1.Image, error) {
	img := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	return mutate.ConfigFile(img, &v1.ConfigFile{OS: "linux", Architecture: arch, Created: v1.Time{Time: built}, RootFS: v1.RootFS{Type: "layers"}})
}

// Sorted returns the architectures in the order in which an index lists them.
func Sorted(images map[string]v1.Image) []string { return slices.Sorted(maps.Keys(images)) }
