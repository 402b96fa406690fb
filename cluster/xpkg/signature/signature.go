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

// Package signature signs what was pushed to a registry, and attests statements about it, in the format of cosign.
package signature

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/cosign/attestation"
	"github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/cosign/v3/pkg/types"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// A Signer signs with its own key, and uses no transparency log.
type Signer struct {
	key sigstore.Signer
}

// Load reads a private key that "cosign generate-key-pair" has written, and that is protected by a password.
func Load(file string, password []byte) (Signer, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Signer{}, fmt.Errorf("cannot read the key to sign with: %w", err)
	}
	key, err := cosign.LoadPrivateKey(content, password, nil)
	if err != nil {
		return Signer{}, fmt.Errorf("cannot use the key in %q to sign with: %w", file, err)
	}
	return Signer{key: key}, nil
}

// Sign signs the object of a reference by digest, and pushes the signature next to it, with the registry credentials of docker or podman. Existing
// signatures stay.
func (s Signer) Sign(ctx context.Context, reference string) error {
	if err := s.sign(ctx, reference); err != nil {
		return fmt.Errorf("cannot sign %q: %w", reference, err)
	}
	return nil
}

func (s Signer) sign(ctx context.Context, reference string) error {
	digest, err := name.NewDigest(reference)
	if err != nil {
		return err
	}
	claim, err := payload.Cosign{Image: digest}.MarshalJSON()
	if err != nil {
		return err
	}
	signed, err := s.key.SignMessage(bytes.NewReader(claim))
	if err != nil {
		return err
	}
	signature, err := static.NewSignature(claim, base64.StdEncoding.EncodeToString(signed))
	if err != nil {
		return err
	}
	options := ociremote.WithRemoteOptions(remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	entity, err := ociremote.SignedEntity(digest, options)
	if err != nil {
		return err
	}
	if entity, err = mutate.AttachSignatureToEntity(entity, signature); err != nil {
		return err
	}
	return ociremote.WriteSignatures(digest.Context(), entity, options)
}

// AttestSPDX pushes a signed statement with the SPDX document of a reference by digest next to it. Existing statements stay.
func (s Signer) AttestSPDX(ctx context.Context, reference string, document []byte) error {
	if err := s.attest(ctx, reference, document); err != nil {
		return fmt.Errorf("cannot attest to %q: %w", reference, err)
	}
	return nil
}

func (s Signer) attest(ctx context.Context, reference string, document []byte) error {
	digest, err := name.NewDigest(reference)
	if err != nil {
		return err
	}
	_, sum, _ := strings.Cut(digest.DigestStr(), ":")
	statement, err := attestation.GenerateStatement(attestation.GenerateOpts{
		Predicate: bytes.NewReader(document), Type: "spdxjson", Digest: sum, Repo: digest.Context().String(),
	})
	if err != nil {
		return err
	}
	payload, err := statement.MarshalJSON()
	if err != nil {
		return err
	}
	envelope, err := dsse.WrapSigner(s.key, types.IntotoPayloadType).SignMessage(bytes.NewReader(payload))
	if err != nil {
		return err
	}
	signed, err := static.NewAttestation(envelope, static.WithLayerMediaType(types.DssePayloadType),
		static.WithAnnotations(map[string]string{"predicateType": statement.GetPredicateType()}))
	if err != nil {
		return err
	}
	options := ociremote.WithRemoteOptions(remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	entity, err := ociremote.SignedEntity(digest, options)
	if err != nil {
		return err
	}
	if entity, err = mutate.AttachAttestationToEntity(entity, signed); err != nil {
		return err
	}
	return ociremote.WriteAttestations(digest.Context(), entity, options)
}
