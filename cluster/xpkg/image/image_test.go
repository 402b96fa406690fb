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
	"archive/tar"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func built() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC) }

func TestLayerHoldsSortedFilesOfOneTime(t *testing.T) {
	layer, err := Layer([]File{{Path: "usr/bin/b", Executable: true, Content: []byte("b")}, {Path: "etc/a", Content: []byte("a")}}, built())
	if err != nil {
		t.Fatal(err)
	}
	r, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Name string
		Mode int64
	}
	var got []seen
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(built()) || h.Uid != 0 {
			t.Errorf("%s was changed at %s by %d", h.Name, h.ModTime, h.Uid)
		}
		got = append(got, seen{h.Name, h.Mode})
	}
	want := []seen{{"etc/", 0o755}, {"etc/a", 0o644}, {"usr/", 0o755}, {"usr/bin/", 0o755}, {"usr/bin/b", 0o755}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layer: -want, +got:\n%s", diff)
	}
}

func TestLayerIsTheSameForFilesInAnyOrder(t *testing.T) {
	files := []File{{Path: "a", Content: []byte("1")}, {Path: "b/c", Content: []byte("2")}, {Path: "b/a", Content: []byte("3")}}
	first := digest(t, files)
	slices.Reverse(files)
	if second := digest(t, files); first != second {
		t.Errorf("got %s, then %s", first, second)
	}
	files[0].Content = []byte("4")
	if other := digest(t, files); first == other {
		t.Error("other contents have the same digest")
	}
}

func digest(t *testing.T, files []File) v1.Hash {
	t.Helper()
	layer, err := Layer(files, built())
	if err != nil {
		t.Fatal(err)
	}
	d, err := layer.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestImageRunsTheProgramAsNobodyInParticular(t *testing.T) {
	img, err := Of(Program{Name: "provider", Arch: "arm64", Binary: []byte("elf"), Version: "v1.2.3", Built: built()})
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(written(t, Index(map[string]v1.Image{"arm64": img}, []string{"arm64"}))); err != nil {
		t.Error(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "arm64" || config.Config.User != User || !slices.Equal(config.Config.Entrypoint, []string{"/provider"}) {
		t.Errorf("got architecture %q, user %q, entrypoint %q", config.Architecture, config.Config.User, config.Config.Entrypoint)
	}
	if got := config.Config.Labels["org.opencontainers.image.version"]; got != "v1.2.3" {
		t.Errorf("got version %q", got)
	}
	files := extract(t, img)
	if string(files["provider"]) != "elf" {
		t.Errorf("the program is %q", files["provider"])
	}
	if n := authorities(t, files[certificatesPath]); n < 100 {
		t.Errorf("got %d authorities", n)
	}
}

func written(t *testing.T, index v1.ImageIndex) v1.ImageIndex {
	t.Helper()
	path, err := layout.Write(t.TempDir(), index)
	if err != nil {
		t.Fatal(err)
	}
	read, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func extract(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(mutate.Extract(img)); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func authorities(t *testing.T, file []byte) int {
	t.Helper()
	n := 0
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		n++
	}
	return n
}
