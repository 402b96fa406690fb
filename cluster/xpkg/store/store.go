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

// Package store keeps images in folders and files, and pushes them to a registry.
package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Layout replaces the folder by one with the images of an index, as an OCI image layout.
func Layout(dir string, index v1.ImageIndex) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot replace %q: %w", dir, err)
	}
	top := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index})
	if _, err := layout.Write(dir, top); err != nil {
		return fmt.Errorf("cannot write %q: %w", dir, err)
	}
	return nil
}

// Open returns the index that Layout has written to the folder.
func Open(dir string) (v1.ImageIndex, error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", dir, err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", dir, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("cannot tell which of %d images in %q is meant", len(manifest.Manifests), dir)
	}
	return top.ImageIndex(manifest.Manifests[0].Digest)
}

// Tarball writes one image into a file that docker load, and for a package crossplane xpkg push, can read.
func Tarball(path string, img v1.Image) error {
	if err := tarball.WriteToFile(path, nil, img); err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	return nil
}

// An Attachment is a document about one image of an index. A registry lists it as a referrer of the image.
type Attachment struct {
	// Arch is the architecture of that image.
	Arch      string
	MediaType string
	Content   []byte
}

// Push pushes an index to a registry, with the registry credentials of docker or podman, and then the attachments. It returns the reference by digest.
func Push(ctx context.Context, reference string, index v1.ImageIndex, attachments []Attachment) (string, error) {
	ref, err := name.ParseReference(reference, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("cannot understand the reference %q: %w", reference, err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(ref, index, options...); err != nil {
		return "", fmt.Errorf("cannot push %q: %w", reference, err)
	}
	for _, a := range attachments {
		if err := attach(ref, index, a, options); err != nil {
			return "", fmt.Errorf("cannot attach to %q: %w", reference, err)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("cannot take the digest of %q: %w", reference, err)
	}
	return ref.Context().Digest(digest.String()).String(), nil
}

func attach(ref name.Reference, index v1.ImageIndex, a Attachment, options []remote.Option) error {
	subject, err := descriptor(index, a.Arch)
	if err != nil {
		return err
	}
	document := mutate.Addendum{Layer: static.NewLayer(a.Content, types.MediaType(a.MediaType))}
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), document)
	if err != nil {
		return err
	}
	img = mutate.ConfigMediaType(img, types.MediaType(a.MediaType))
	referrer, ok := mutate.Subject(img, subject).(v1.Image)
	if !ok {
		return errors.New("the library returns something that is no image")
	}
	digest, err := referrer.Digest()
	if err != nil {
		return err
	}
	return remote.Write(ref.Context().Digest(digest.String()), referrer, options...)
}

// Digest returns the digest of the image of an index for an architecture.
func Digest(index v1.ImageIndex, arch string) (string, error) {
	d, err := descriptor(index, arch)
	return d.Digest.String(), err
}

func descriptor(index v1.ImageIndex, arch string) (v1.Descriptor, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	for _, d := range manifest.Manifests {
		if d.Platform != nil && d.Platform.Architecture == arch {
			return v1.Descriptor{MediaType: d.MediaType, Size: d.Size, Digest: d.Digest}, nil
		}
	}
	return v1.Descriptor{}, fmt.Errorf("there is no image for %s", arch)
}
