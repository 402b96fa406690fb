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
	"fmt"

	"golang.org/x/crypto/ssh"
)

// sshKeyRejections are keys that PVE would refuse, which has ssh-keygen read each of them
// (PVE::Tools::validate_ssh_public_keys). The VM would be half made by then.
func (d Desired) sshKeyRejections(config Config) []string {
	if d.CloudInit == nil || sameKeys(config["sshkeys"], joinKeys(d.CloudInit.SSHKeys)) {
		return nil
	}
	var no []string
	for i, key := range d.CloudInit.SSHKeys {
		if !isPublicKey(key) {
			no = append(no, fmt.Sprintf("cloudInit.sshKeys[%d] is no public key as in an authorized_keys file", i))
		}
	}
	return no
}

// isPublicKey reports whether a line is a public key, with options before it or not.
func isPublicKey(line string) bool {
	_, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(line)) //nolint:dogsled // Whether it is one is all that counts.
	return err == nil && len(rest) == 0
}
