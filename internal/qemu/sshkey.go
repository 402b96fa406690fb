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
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// keyRefusals are keys that PVE would refuse, which has ssh-keygen read each of them
// (PVE::Tools::validate_ssh_public_keys). The VM would be half made by then.
func (d Desired) keyRefusals(config Config) []string {
	if d.CloudInit == nil || sameKeys(config["sshkeys"], joinKeys(d.CloudInit.SSHKeys)) {
		return nil
	}
	var no []string
	for i, key := range d.CloudInit.SSHKeys {
		if !isPublicKey(key) {
			no = append(no, fmt.Sprintf("cloudInit.sshKeys[%d] is no public key: its type and what is encoded after it do not go together", i))
		}
	}
	return no
}

// isPublicKey says whether a line is a public key, with options before it or not.
func isPublicKey(line string) bool {
	words := strings.Fields(line)
	for i := range len(words) - 1 {
		blob, err := base64.StdEncoding.DecodeString(words[i+1])
		if err == nil && isBlob(blob, words[i]) {
			return true
		}
	}
	return false
}

// isBlob says whether a key's blob is one of a type: strings with their lengths before them,
// the first of which is the type. RFC 4253, section 6.6.
func isBlob(blob []byte, kind string) bool {
	var parts [][]byte
	for len(blob) > 0 {
		if len(blob) < 4 {
			return false
		}
		end := 4 + int64(binary.BigEndian.Uint32(blob))
		if int64(len(blob)) < end {
			return false
		}
		parts, blob = append(parts, blob[4:end]), blob[end:]
	}
	return len(parts) > 1 && bytes.Equal(parts[0], []byte(kind)) && (kind != "ssh-ed25519" || len(parts[1]) == 32)
}
