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

package machine

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
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A password is to be sent to PVE, which shows it to nobody. That it was sent is
// kept as a version, from which it cannot be guessed: that of its Secret, or the
// hash of one that was generated.
type password struct{ text, version string }

// passwordOf the user of cloud-init, or nil if none is declared.
func (e passwordFeature) passwordOf(ctx context.Context, m Machine, c *v1alpha1.MachineCloudInit) (*password, error) {
	switch {
	case c == nil:
		return nil, nil
	case ptr.Deref(c.GeneratePassword, false):
		return e.generatedPassword(ctx, m)
	case c.PasswordSecretRef == nil:
		return nil, nil
	}
	from := secretEntry(m, *c.PasswordSecretRef)
	text, err := e.read(ctx, from)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, conditions.Reject(conditions.Creating, "%s has no password: its key %s is empty", from, from.key)
	}
	return &password{text: text, version: fmt.Sprintf("%s/%s", from.object.GetUID(), from.object.GetResourceVersion())}, nil
}

// generatedPassword is the one in the connection Secret, or a new one that the
// reconciler puts there, before anything is done with it.
func (e passwordFeature) generatedPassword(ctx context.Context, m Machine) (*password, error) {
	at := object.ConnectionSecret(m)
	if at.Name == "" {
		return nil, conditions.Reject(conditions.Creating, "cloudInit.generatePassword needs writeConnectionSecretToRef: the password is kept in that Secret alone")
	}
	s := &corev1.Secret{}
	if err := e.kube.Get(ctx, at, s); err != nil && !kerrors.IsNotFound(err) {
		return nil, errors.Wrapf(err, "cannot read the connection Secret %s", at)
	}
	text := string(s.Data[xpv2.CredentialsSecretPasswordKey])
	if !nocloud.IsGenerated(text) || !metav1.IsControlledBy(s, m) {
		text = cmp.Or(e.generated, nocloud.GeneratePassword())
	}
	e.generated = text
	sum := sha256.Sum256([]byte(m.GetAnnotations()[object.AnnotationUUID] + text))
	return &password{text: text, version: "generated/" + hex.EncodeToString(sum[:16])}, nil
}

// withGenerated adds the password to connection details.
func (e passwordFeature) withGenerated(d managed.ConnectionDetails) managed.ConnectionDetails {
	if e.generated == "" {
		return d
	}
	if d == nil {
		d = managed.ConnectionDetails{}
	}
	d[xpv2.CredentialsSecretPasswordKey] = []byte(e.generated)
	return d
}

// A passwordFeature sends the password of cloud-init's user.
type passwordFeature struct {
	*external
	passive
}

func (e passwordFeature) complete(ctx context.Context, m Machine, d *desired) ([]string, error) {
	return e.addPassword(ctx, m, d)
}

// plan notes another version of the password that was sent already.
func (e passwordFeature) plan(context.Context, Machine) (proposal, error) {
	if e.planned.unchangedPassword == "" {
		return proposal{}, nil
	}
	return proposal{annotations: map[string]string{object.AnnotationPassword: e.planned.unchangedPassword}}, nil
}

// addPassword adds the password of the user to what is desired unless it was sent
// already, or says why it cannot be read.
func (e passwordFeature) addPassword(ctx context.Context, m Machine, d *desired) ([]string, error) {
	c := d.CloudInit
	if c == nil || meta.WasDeleted(m) || e.vm.BeingCreated() || d.CloudInitFrozen && !ptr.Deref(c.GeneratePassword, false) {
		return nil, nil
	}
	p, err := passwordFeature{external: e.external}.passwordOf(ctx, m, c)
	if r := (conditions.ValidationError{}); errors.As(err, &r) {
		return []string{r.Error()}, nil
	}
	if p == nil || err != nil || d.CloudInitFrozen || d.CustomData() {
		return nil, err // Custom data have the hash of it, and PVE's drive is not there.
	}
	sent := m.GetAnnotations()[object.AnnotationPassword]
	switch {
	case sent == p.version:
		e.passwords.record(m, *p)
	case e.passwords.sent(m, *p): // As another version, or its note is not seen yet.
		d.unchangedPassword = p.version
	default:
		d.password = p
	}
	return nil, nil
}

// withPassword adds the password to a change. One that takes a task goes first:
// how it ends is seen by nobody who could tell whether the password was set.
func (d desired) withPassword(change qemu.Difference) qemu.Difference {
	if d.password != nil && !change.Allocates {
		change.Set["cipassword"] = d.password.text
	}
	return change
}

// keepPassword notes that the password was sent.
func (e passwordFeature) keepPassword(ctx context.Context, m Machine) error {
	if e.planned.password == nil || e.planned.change.Set["cipassword"] == "" {
		return nil
	}
	e.passwords.record(m, *e.planned.password)
	return kind.Annotate(ctx, e.kube, m, map[string]string{object.AnnotationPassword: e.planned.password.version})
}

// preparePassword looks for the password before anything is created. A VM that is
// made from nothing has it from the start.
func (e passwordFeature) preparePassword(ctx context.Context, m Machine, c *creation) error {
	p, err := e.passwordOf(ctx, m, c.CloudInit)
	if err == nil && c.source == nil && !c.CustomData() {
		c.password = p
	}
	return err
}

// passwordHash is what custom data tell of the password, empty if there is none.
func (e passwordFeature) passwordHash(ctx context.Context, m Machine, c *v1alpha1.MachineCloudInit, id qemu.Identity) (string, error) {
	p, err := e.passwordOf(ctx, m, c)
	if p == nil || err != nil {
		return "", err
	}
	return nocloud.PasswordHash(p.text, strings.ToLower(id.UUID))
}

// sentPasswords remembers the passwords that were sent for Machines, sealed with a key of this process alone, so that nobody can guess
// from the outcome.
type sentPasswords struct {
	key []byte
	all objectstate.Store[[sha256.Size]byte]
}

func newSentPasswords() *sentPasswords { return &sentPasswords{key: []byte(rand.Text())} }

// seal a password.
func (s *sentPasswords) seal(p password) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(p.text))
	copy(sum[:], h.Sum(nil))
	return sum
}

// forget the password that was sent for a VM that a Machine had before.
func (s *sentPasswords) forget(m Machine) {
	s.all.Lock()
	defer s.all.Unlock()
	s.all.Delete(m)
}

// record the password that was sent for a Machine.
func (s *sentPasswords) record(m Machine, p password) {
	s.all.Lock()
	defer s.all.Unlock()
	s.all.Set(m, new(s.seal(p)))
}

// sent reports whether this very password was the last that was sent for a Machine, whatever its version.
func (s *sentPasswords) sent(m Machine, p password) bool {
	s.all.Lock()
	defer s.all.Unlock()
	sum := s.all.Get(m)
	return sum != nil && *sum == s.seal(p)
}
