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

// Package image builds OCI images from files. The same files always result in the same bytes.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A File is a regular file of a layer. Its owner is root, while programs run as another user.
type File struct {
	// Path is its path, without a leading slash.
	Path string
	// Executable makes the mode 0755 instead of 0644.
	Executable bool
	Content    []byte
}

// Layer returns a compressed layer of the files and the folders above them, all last changed at the given time.
func Layer(files []File, changed time.Time) (v1.Layer, error) {
	raw, err := archive(files, changed)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("cannot make a layer: %w", err)
	}
	return layer, nil
}

func archive(files []File, changed time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers(files, changed) {
		if err := w.WriteHeader(h.Header); err != nil {
			return nil, fmt.Errorf("cannot add %q to a layer: %w", h.Name, err)
		}
		if _, err := w.Write(h.content); err != nil {
			return nil, fmt.Errorf("cannot add %q to a layer: %w", h.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot end a layer: %w", err)
	}
	return out.Bytes(), nil
}

type entry struct {
	*tar.Header

	content []byte
}

// headers returns the headers sorted by name, so that folders come before their content.
func headers(files []File, changed time.Time) []entry {
	byName := map[string]entry{}
	for _, f := range files {
		byName[f.Path] = entry{file(f, changed), f.Content}
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			byName[dir] = entry{Header: folder(dir, changed)}
		}
	}
	out := make([]entry, 0, len(byName))
	for _, e := range byName {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func file(f File, changed time.Time) *tar.Header {
	mode := int64(0o644)
	if f.Executable {
		mode = 0o755
	}
	return &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: mode, Size: int64(len(f.Content)), ModTime: changed}
}

func folder(name string, changed time.Time) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: changed}
}
