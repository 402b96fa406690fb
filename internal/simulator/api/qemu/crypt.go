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

package qemu

import (
	"encoding/hex"
	"regexp"

	"github.com/go-crypt/crypt/algorithm/shacrypt"

	"github.com/vitistack/provider-proxmox/internal/simulator/random"
)

// cryptSalt is the number of characters of PVE's salt.
const cryptSalt = 8

// HashedPassword returns a password as PVE stores it for cloud-init: hashed with the method "$5$" of crypt(3), unless it already is.
func HashedPassword(password string) (string, error) {
	if regexp.MustCompile(`^\$(?:[156]|2[ay])(\$.+){2}`).MatchString(password) {
		return password, nil
	}
	hasher, err := shacrypt.New(shacrypt.WithSHA256(), shacrypt.WithIterations(shacrypt.IterationsDefaultOmitted))
	if err != nil {
		return "", err
	}
	digest, err := hasher.HashWithSalt(password, []byte(hex.EncodeToString(random.Bytes(cryptSalt/2))))
	if err != nil {
		return "", err
	}
	return digest.Encode(), nil
}
