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

package signature

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/signature/signaturetest"
)

// pushed returns the digest of an index in a registry that ends with the test.
func pushed(t *testing.T) name.Digest {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	index, err := random.Index(64, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewDigest(strings.TrimPrefix(server.URL, "http://") + "/org/provider@" + hash.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestSign(t *testing.T) {
	ref := pushed(t)
	file, verifier := signaturetest.KeyPair(t)
	other, otherVerifier := signaturetest.KeyPair(t)
	if n := signaturetest.Verified(t, ref, verifier); n != 0 {
		t.Fatalf("what is not signed has %d signatures", n)
	}
	signer, err := Load(file, []byte(signaturetest.Password))
	if err != nil {
		t.Fatal(err)
	}
	if err := signer.Sign(t.Context(), ref.String()); err != nil {
		t.Fatal(err)
	}
	if n := signaturetest.Verified(t, ref, verifier); n != 1 {
		t.Errorf("cosign finds %d signatures good, want 1", n)
	}
	if n := signaturetest.Verified(t, ref, otherVerifier); n != 0 {
		t.Errorf("cosign finds %d signatures good with another key", n)
	}
	if signer, err = Load(other, []byte(signaturetest.Password)); err != nil {
		t.Fatal(err)
	}
	if err := signer.Sign(t.Context(), ref.String()); err != nil {
		t.Fatal(err)
	}
	if first, second := signaturetest.Verified(t, ref, verifier), signaturetest.Verified(t, ref, otherVerifier); first != 1 || second != 1 {
		t.Errorf("with a second signature, cosign finds %d and %d good, want 1 of each key", first, second)
	}
}

func TestAttestSPDX(t *testing.T) {
	ref := pushed(t)
	file, verifier := signaturetest.KeyPair(t)
	_, otherVerifier := signaturetest.KeyPair(t)
	signer, err := Load(file, []byte(signaturetest.Password))
	if err != nil {
		t.Fatal(err)
	}
	if err := signer.AttestSPDX(t.Context(), ref.String(), []byte(`{"spdxVersion": "SPDX-2.3", "name": "provider"}`)); err != nil {
		t.Fatal(err)
	}
	if got := signaturetest.Attested(t, ref, verifier); !slices.Equal(got, []string{"provider"}) {
		t.Errorf("cosign finds the statements %q good, want that of the provider", got)
	}
	if got := signaturetest.Attested(t, ref, otherVerifier); len(got) != 0 {
		t.Errorf("cosign finds the statements %q good with another key", got)
	}
	if n := signaturetest.Verified(t, ref, verifier); n != 0 {
		t.Errorf("a statement is no signature, got %d", n)
	}
	if err := signer.AttestSPDX(t.Context(), "localhost:1/org/provider:v1", []byte("{}")); err == nil {
		t.Error("a tag may mean something else tomorrow, and nothing is stated of it")
	}
}

func TestSignRefusesTags(t *testing.T) {
	file, _ := signaturetest.KeyPair(t)
	signer, err := Load(file, []byte(signaturetest.Password))
	if err != nil {
		t.Fatal(err)
	}
	if err := signer.Sign(t.Context(), "localhost:1/org/provider:v1"); err == nil {
		t.Error("a tag may mean something else tomorrow, and is not signed")
	}
}

func TestLoadRefuses(t *testing.T) {
	file, _ := signaturetest.KeyPair(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ reason, file, password string }{
		"Password": {reason: "the password is another one", file: file, password: "another"},
		"NoKey":    {reason: "the file has no key", file: plain, password: signaturetest.Password},
		"NoFile":   {reason: "there is no such file", file: file + ".pub", password: signaturetest.Password},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load(tc.file, []byte(tc.password)); err == nil || strings.Contains(err.Error(), tc.password) {
				t.Errorf("%s: want an error without the password, got %v", tc.reason, err)
			}
		})
	}
}
