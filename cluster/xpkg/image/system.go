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

package image

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const certificatesPath = "etc/ssl/certs/ca-certificates.crt"

// system returns the files that a static program needs: names for its user, and certificate authorities.
func system() []File {
	return []File{
		{Path: "etc/passwd", Content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{Path: "etc/group", Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{Path: certificatesPath, Content: certificates()},
	}
}

// certificates returns Mozilla's authorities, pinned as a Go module. It leaves out those that are trusted with a constraint, because a file of
// certificates cannot express the constraint.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // Writing to a buffer does not fail.
		}
	}
	return out.Bytes()
}
