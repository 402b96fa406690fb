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

package nocloud

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/go-crypt/crypt/algorithm/shacrypt"
)

// hashed matches a password that crypt(3) has hashed. Proxmox VE also accepts such a password unchanged.
var hashed = regexp.MustCompile(`^\$(?:[156]|2[ay])(\$.+){2}`)

// PasswordHash returns the hash of a password in the form that guests store: SHA-512 of crypt(3) with the usual 5000 rounds. It does not change a
// password that is already hashed. The salt is derived from the seed, which is specific to the guest, so that the same password has the same hash in
// one guest and different hashes in two guests. The error contains no password.
func PasswordHash(password, seed string) (string, error) {
	if hashed.MatchString(password) {
		return password, nil
	}
	h, err := shacrypt.New(shacrypt.WithSHA512(), shacrypt.WithIterations(shacrypt.IterationsDefaultOmitted))
	if err != nil {
		return "", errors.New("cannot hash the password")
	}
	sum := sha256.Sum256([]byte(seed))
	digest, err := h.HashWithSalt(password, []byte(hex.EncodeToString(sum[:])[:shacrypt.SaltLengthMax]))
	if err != nil {
		return "", errors.New("cannot hash the password")
	}
	return digest.Encode(), nil
}

// generated matches generated passwords. They have 130 random bits, letters of both cases and a hyphen, for guests with rules about passwords.
var generated = regexp.MustCompile(`^[A-Z2-7]{13}-[a-z2-7]{13}$`)

// IsGenerated reports whether a text has the form of passwords that generatePassword returns.
func IsGenerated(text string) bool { return generated.MatchString(text) }

// GeneratePassword returns a new password.
func GeneratePassword() string {
	return rand.Text()[:13] + "-" + strings.ToLower(rand.Text()[:13])
}
