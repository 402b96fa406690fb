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
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

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

// TestPublishSigned has cosign find the signature of what was pushed, and the statement of the image that has an SPDX document, with that key.
func TestPublishSigned(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	index := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	dir := filepath.Join(t.TempDir(), "image")
	if err := store.Layout(dir, index); err != nil {
		t.Fatal(err)
	}
	key, verifier := signaturetest.KeyPair(t)
	t.Setenv("COSIGN_PASSWORD", signaturetest.Password)
	c := publishCommand{Registry: strings.TrimPrefix(server.URL, "http://") + "/org", Tag: "v1", Key: key}
	signer, err := c.signer()
	if err != nil {
		t.Fatal(err)
	}
	attachments := []store.Attachment{
		{Arch: "arm64", MediaType: sbom.SPDXMediaType, Content: []byte(`{"spdxVersion": "SPDX-2.3"}`)},
		{Arch: "amd64", MediaType: "application/x-test", Content: []byte("{}")},
	}
	var out strings.Builder
	if err := c.push(t.Context(), &out, signer, packageName, dir, attachments); err != nil {
		t.Fatal(err)
	}
	pushed, err := name.NewDigest(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if n := signaturetest.Verified(t, pushed, verifier); n != 1 {
		t.Errorf("cosign finds %d signatures of the index good, want 1", n)
	}
	for arch, want := range map[string]int{"arm64": 1, "amd64": 0} {
		digest, err := store.Digest(index, arch)
		if err != nil {
			t.Fatal(err)
		}
		if n := signaturetest.Attested(t, pushed.Context().Digest(digest), verifier); n != want {
			t.Errorf("cosign finds %d statements of %s good, want %d", n, arch, want)
		}
	}
}
