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
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	sigstore "github.com/sigstore/sigstore/pkg/signature"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/program"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/sbom"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/signature/signaturetest"
	"github.com/vitistack/provider-proxmox/cluster/xpkg/store"
)

func TestPublishReadsTheKeyFirst(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL.Path) }))
	defer server.Close()
	missing := filepath.Join(t.TempDir(), "cosign.key")
	c := publishCommand{Registry: strings.TrimPrefix(server.URL, "http://") + "/org", Tag: "v1", Key: missing}
	if err := c.Run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("want an error about %q, got %v", missing, err)
	}
}

// built returns an index of two images, and fills a folder with it like a build, with the bills of materials of programs.
func built(t *testing.T, c publishCommand, dir string, programs ...string) v1.ImageIndex {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for _, arch := range c.Arch {
		img, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
		for _, program := range programs {
			for file, text := range map[string]string{
				c.sbom(program, arch): `{"bomFormat": "CycloneDX", "serialNumber": "` + program + `"}`,
				c.spdx(program, arch): `{"spdxVersion": "SPDX-2.3", "name": "` + program + `-` + arch + `"}`,
			} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := store.Layout(dir, index); err != nil {
		t.Fatal(err)
	}
	return index
}

// TestPublish checks that cosign verifies the signature of everything that is pushed, and with the same key a statement with the SPDX document of each
// program of each image. Registries list the bills of materials next to the image.
func TestPublish(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	key, verifier := signaturetest.KeyPair(t)
	t.Setenv("COSIGN_PASSWORD", signaturetest.Password)
	c := publishCommand{
		folder: folder{Output: t.TempDir()}, Registry: strings.TrimPrefix(server.URL, "http://") + "/org", Tag: "v1", Arch: []string{"amd64", "arm64"}, Key: key,
	}
	want := map[string][]string{
		"provider-proxmox": {"provider-proxmox"}, "provider-proxmox-controller": {"provider-proxmox"}, "configuration-proxmox": nil,
		"function-proxmox-conditions": {"function-proxmox-conditions"}, "function-proxmox-operations": {"function-proxmox-operations"},
		"pve-simulator": {"load-test", "pve-simulator"},
	}
	indices := map[string]v1.ImageIndex{}
	for _, p := range c.all() {
		indices[p.repository] = built(t, c, p.dir, want[p.repository]...)
	}
	var out strings.Builder
	if err := c.Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		pushed, err := name.NewDigest(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		repository := strings.TrimPrefix(pushed.RepositoryStr(), "org/")
		index := indices[repository]
		delete(indices, repository)
		if n := signaturetest.Verified(t, pushed, verifier); n != 1 {
			t.Errorf("cosign finds %d signatures of %s good, want 1", n, repository)
		}
		for _, arch := range c.Arch {
			checkBills(t, pushed.Context(), index, arch, want[repository], verifier)
		}
	}
	if len(indices) != 0 {
		t.Errorf("not pushed: %v", slices.Sorted(maps.Keys(indices)))
	}
}

// checkBills checks that an image has the bills of materials of programs, in both forms, and statements about them.
func checkBills(t *testing.T, in name.Repository, index v1.ImageIndex, arch string, programs []string, verifier sigstore.Verifier) {
	t.Helper()
	digest, err := store.Digest(index, arch)
	if err != nil {
		t.Fatal(err)
	}
	var attested []string
	bills := map[string]int{}
	for _, program := range programs {
		attested = append(attested, program+"-"+arch)
		bills[sbom.MediaType]++
		bills[sbom.SPDXMediaType]++
	}
	if diff := cmp.Diff(attested, signaturetest.Attested(t, in.Digest(digest), verifier)); diff != "" {
		t.Errorf("%s for %s has other statements (-want +got):\n%s", in, arch, diff)
	}
	found, err := remote.Referrers(in.Digest(digest))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := found.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, m := range manifest.Manifests {
		got[m.ArtifactType]++
	}
	if diff := cmp.Diff(bills, got); diff != "" {
		t.Errorf("%s for %s has other bills of materials (-want +got):\n%s", in, arch, diff)
	}
}

// TestPublishLooksFirst checks that a missing artifact stops the command before anything is pushed, unless the artifact is built separately.
func TestPublishLooksFirst(t *testing.T) {
	cases := map[string]struct {
		reason string
		// remove is a path to remove below the folder of the build.
		remove []string
		want   string
	}{
		"Function":      {reason: "The function is built apart.", remove: []string{"function"}},
		"Simulator":     {reason: "A build of the provider alone needs no simulator.", remove: []string{"pve-simulator", "sbom-load-test-amd64.spdx.json"}},
		"Configuration": {reason: "The Configuration is always published.", remove: []string{"configuration"}, want: "configuration"},
		"Conditions":    {reason: "The Configuration depends on its function.", remove: []string{"conditions"}, want: "conditions"},
		"Bill": {
			reason: "A program without a bill of materials is none of ours.",
			remove: []string{"sbom-load-test-amd64.spdx.json"}, want: "sbom-load-test-amd64.spdx.json",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := publishCommand{folder: folder{Output: t.TempDir()}, Registry: "127.0.0.1:1/org", Tag: "v1", Arch: []string{"amd64"}}
			for _, p := range c.all() {
				built(t, c, p.dir, p.programs...)
			}
			for _, file := range tc.remove {
				if err := os.RemoveAll(filepath.Join(c.Output, file)); err != nil {
					t.Fatal(err)
				}
			}
			artifacts, err := c.artifacts()
			if tc.want == "" {
				if err != nil || len(artifacts) != 5 {
					t.Errorf("%s want five artifacts, got %d: %v", tc.reason, len(artifacts), err)
				}
				return
			}
			if err = c.Run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "cannot push") {
				t.Errorf("%s want an error about %q before anything is pushed, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestBillsOfMaterials checks that each built image leaves the bills of materials of its program in the folder that they are published from.
func TestBillsOfMaterials(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module example.com/tiny\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := build{folder: folder{Output: t.TempDir()}, Version: "v1"}
	if _, err := b.imageOf(t.Context(), "amd64", "tiny", program.Source{Root: root, Package: "."}); err != nil {
		t.Fatal(err)
	}
	c := publishCommand{folder: b.folder, Arch: []string{"amd64"}}
	attachments, err := c.attachments([]string{"tiny"})
	if err != nil || len(attachments) != 2 {
		t.Fatalf("want two bills of materials, got %d: %v", len(attachments), err)
	}
	for _, a := range attachments {
		if a.Arch != "amd64" || !strings.Contains(string(a.Content), "pkg:golang/example.com/tiny@v1") {
			t.Errorf("this bill of materials, a %s for %s, is not that of the program:\n%s", a.MediaType, a.Arch, a.Content)
		}
	}
}
