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

package image

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User is the user of the program. It is a number, since Kubernetes cannot determine whether a name is root.
const User = "65532:65532"

// A Program is the program of an image, for one architecture.
type Program struct {
	// Name is the name of the program and of its file in the root folder.
	Name string
	// Arch is an architecture as Go names it, like amd64.
	Arch    string
	Binary  []byte
	Version string
	// Source is the address of the source code's repository.
	Source string
	// Built is the time of the files and the image: that of the source, so that builds are reproducible.
	Built time.Time
}

// Of returns an image that contains only the program and certificate authorities.
func Of(p Program) (v1.Image, error) {
	base, err := mutate.ConfigFile(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), p.config())
	if err != nil {
		return nil, fmt.Errorf("cannot describe the image: %w", err)
	}
	for _, files := range [][]File{system(), {{Path: p.Name, Executable: true, Content: p.Binary}}} {
		layer, err := Layer(files, p.Built)
		if err != nil {
			return nil, err
		}
		if base, err = mutate.Append(base, mutate.Addendum{Layer: layer, History: p.history()}); err != nil {
			return nil, fmt.Errorf("cannot append a layer: %w", err)
		}
	}
	return base, nil
}

func (p Program) config() *v1.ConfigFile {
	return &v1.ConfigFile{
		Architecture: p.Arch,
		OS:           "linux",
		Created:      v1.Time{Time: p.Built},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + p.Name},
			User:       User,
			WorkingDir: "/",
			Env:        []string{"SSL_CERT_FILE=/" + certificatesPath},
			Labels: map[string]string{
				"org.opencontainers.image.title":    p.Name,
				"org.opencontainers.image.version":  p.Version,
				"org.opencontainers.image.source":   p.Source,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	}
}

func (p Program) history() v1.History {
	return v1.History{Created: v1.Time{Time: p.Built}, CreatedBy: p.Name}
}

// Index returns one image for all architectures.
func Index(images map[string]v1.Image, archs []string) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range archs {
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: images[arch], Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index
}
