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
	"io"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/image"
)

func TestConfiguration(t *testing.T) {
	build := build{Root: "../..", Arch: []string{"amd64", "arm64"}, Epoch: 1777863721}
	digests := map[string]bool{}
	for range 2 {
		images, err := build.configurations()
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.Index(images, build.Arch).Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[digest.String()] = true
		for arch, img := range images {
			if err := validate.Image(img); err != nil {
				t.Errorf("%s: %v", arch, err)
			}
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if config.Architecture != arch {
				t.Errorf("the configuration for %s says it is for %s", arch, config.Architecture)
			}
			contents, err := io.ReadAll(mutate.Extract(img))
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"Configuration", "CompositeResourceDefinition", "Composition", "VirtualMachineClaim"} {
				if !strings.Contains(string(contents), "\nkind: "+kind+"\n") {
					t.Errorf("the configuration for %s holds no %s", arch, kind)
				}
			}
		}
	}
	if len(digests) != 1 {
		t.Errorf("two builds have the digests %v", digests)
	}
}
