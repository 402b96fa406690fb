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

// Package signaturetest creates keys for tests of signatures, and verifies with cosign what was signed with them.
package signaturetest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
)

// Password of the keys.
const Password = "of the test"

// KeyPair writes a private key into a file, like cosign, and returns the file and a verifier of its signatures.
func KeyPair(t *testing.T) (string, sigstore.Verifier) {
	t.Helper()
	keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte(Password), nil })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cosign.key")
	if err := os.WriteFile(file, keys.PrivateBytes, 0o600); err != nil {
		t.Fatal(err)
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(keys.PublicBytes)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := sigstore.LoadDefaultVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return file, verifier
}

// Verified returns the number of signatures that cosign accepts.
func Verified(t *testing.T, ref name.Digest, verifier sigstore.Verifier) int {
	t.Helper()
	good, _, err := cosign.VerifyImageSignatures(t.Context(), ref, &cosign.CheckOpts{
		SigVerifier: verifier, ClaimVerifier: cosign.SimpleClaimVerifier, IgnoreTlog: true,
	})
	if err != nil {
		t.Log(err)
	}
	return len(good)
}

// Attested returns the names of the SPDX documents in the statements that cosign accepts, which all have the type of SPDX.
func Attested(t *testing.T, ref name.Digest, verifier sigstore.Verifier) []string {
	t.Helper()
	good, _, err := cosign.VerifyImageAttestations(t.Context(), ref, &cosign.CheckOpts{
		SigVerifier: verifier, ClaimVerifier: cosign.IntotoSubjectClaimVerifier, IgnoreTlog: true,
	})
	if err != nil {
		t.Log(err)
	}
	var names []string
	for _, one := range good {
		var envelope struct {
			Payload []byte `json:"payload"`
		}
		var statement struct {
			Type      string `json:"predicateType"`
			Predicate struct {
				Version string `json:"spdxVersion"`
				Name    string `json:"name"`
			} `json:"predicate"`
		}
		text, err := one.Payload()
		if err := errors.Join(err, json.Unmarshal(text, &envelope), json.Unmarshal(envelope.Payload, &statement)); err != nil {
			t.Fatal(err)
		}
		if statement.Type != "https://spdx.dev/Document" || statement.Predicate.Version != "SPDX-2.3" {
			t.Errorf("the statement has no SPDX document: %+v", statement)
		}
		names = append(names, statement.Predicate.Name)
	}
	slices.Sort(names)
	return names
}
