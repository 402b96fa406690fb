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

// Package password provides the passwords of cloud-init's users, and remembers which one was last sent to Proxmox VE, which never shows them.
package password

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// A Password is to be sent to PVE, which never shows it. The record that it was sent is a version from which the password cannot be guessed: that of
// its Secret, or the hash of a generated one.
type Password struct{ Text, Version string }

// readSecret returns the password that a Secret has.
func readSecret(ctx context.Context, kube client.Reader, m object.Machine, ref v1alpha1.SecretKeyReference) (*Password, error) {
	from := secretref.OfSecret(m, ref)
	text, err := secretref.Read(ctx, kube, from)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, conditions.Reject(conditions.Creating, "%s has no password: its key %s is empty", from, from.Key)
	}
	return &Password{Text: text, Version: fmt.Sprintf("%s/%s", from.Object.GetUID(), from.Object.GetResourceVersion())}, nil
}

// IsRestored reports whether the version that was sent counts as this one. That is so if both the Secret and the Machine are others than when it was
// sent, as in a cluster into which a backup was restored: the VM was created before the Machine, and was not seen for it. A version never contains
// the password, which could be guessed from it.
func (p Password) IsRestored(m object.Machine, sent string) bool {
	was, _, _ := strings.Cut(sent, "/")
	is, _, _ := strings.Cut(p.Version, "/")
	if was == "" || was == is || was == generated || is == generated {
		return false
	}
	return m.Observation().UUID == "" && meta.GetExternalCreatePending(m).Before(m.GetCreationTimestamp().Time)
}

// generate returns the password in the connection Secret, or the given one, or a new one, which the reconciler stores there before anything is done
// with it.
func generate(ctx context.Context, kube client.Reader, m object.Machine, given string) (*Password, error) {
	at := object.ConnectionSecret(m)
	if at.Name == "" {
		return nil, conditions.Reject(conditions.Creating, "cloudInit.generatePassword needs writeConnectionSecretToRef: the password is kept in that Secret alone")
	}
	s := &corev1.Secret{}
	if err := kube.Get(ctx, at, s); err != nil && !kerrors.IsNotFound(err) {
		return nil, errors.Wrapf(err, "cannot read the connection Secret %s", at)
	}
	text := string(s.Data[xpv2.CredentialsSecretPasswordKey])
	if !nocloud.IsGenerated(text) || !isOwn(s, m, text) {
		text = cmp.Or(given, nocloud.GeneratePassword())
	}
	return &Password{Text: text, Version: generatedVersion(m, text)}, nil
}

// isOwn reports whether a connection Secret is the Machine's own. The Machine controls it, or it has lost its owner, as after a restore from a
// backup, and has the password that was sent. Only those who know the password can forge the annotation.
func isOwn(s *corev1.Secret, m object.Machine, text string) bool {
	return metav1.IsControlledBy(s, m) || metav1.GetControllerOf(s) == nil && m.GetAnnotations()[object.AnnotationPassword] == generatedVersion(m, text)
}

// generated is the prefix of the versions of generated passwords.
const generated = "generated"

// generatedVersion returns the version of a generated password, from which it cannot be guessed.
func generatedVersion(m object.Machine, text string) string {
	sum := sha256.Sum256([]byte(m.GetAnnotations()[object.AnnotationUUID] + text))
	return generated + "/" + hex.EncodeToString(sum[:16])
}

// Sent remembers the passwords that were sent for Machines, sealed with a key that only this process has, so that they cannot be guessed from it.
type Sent struct {
	key []byte
	all objectstate.Store[[sha256.Size]byte]
}

// NewSent returns a Sent that remembers nothing yet.
func NewSent() *Sent { return &Sent{key: []byte(rand.Text())} }

// seal seals a password.
func (s *Sent) seal(p Password) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(p.Text))
	copy(sum[:], h.Sum(nil))
	return sum
}

// Forget forgets the password that was sent for an earlier VM of a Machine.
func (s *Sent) Forget(m object.Machine) {
	s.all.Lock()
	defer s.all.Unlock()
	s.all.Delete(m)
}

// Record remembers the password that was sent for a Machine.
func (s *Sent) Record(m object.Machine, p Password) {
	s.all.Lock()
	defer s.all.Unlock()
	s.all.Set(m, new(s.seal(p)))
}

// Has reports whether this very password was the last one sent for a Machine, whatever its version.
func (s *Sent) Has(m object.Machine, p Password) bool {
	s.all.Lock()
	defer s.all.Unlock()
	sum := s.all.Get(m)
	return sum != nil && *sum == s.seal(p)
}
