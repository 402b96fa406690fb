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

package storage

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // PVE takes such checksums.
	"crypto/sha1" //nolint:gosec // PVE uses SHA-1.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	gohash "hash"
	"path"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
)

// checkFile compares an uploaded file with its checksum, and images for import with the format in their names.
func checkFile(content, name string, file []byte, algorithm, checksum string) error {
	if algorithm != "" {
		if sum := checksumOf(algorithm, file); sum != strings.ToLower(checksum) {
			return apierr.Errorf("checksum mismatch: got '%s' != expect '%s'", sum, checksum)
		}
	}
	if content == "import" && path.Ext(name) == ".qcow2" && !isQCOW2(file) {
		return apierr.Errorf("qemu-img: Could not open '/var/tmp/pveupload-%x': Image is not in qcow2 format", random.Bytes(16))
	}
	return nil
}

func checksumOf(algorithm string, file []byte) string {
	sums := map[string]func() gohash.Hash{
		"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
	}
	h := sums[algorithm]()
	_, _ = h.Write(file)
	return hex.EncodeToString(h.Sum(nil))
}

const (
	// qcow2Header is the length of the part of a QCOW2 header up to the disk's size, which begins at qcow2Size.
	qcow2Header, qcow2Size = 32, 24
)

func isQCOW2(file []byte) bool {
	return len(file) >= qcow2Header && bytes.HasPrefix(file, []byte("QFI\xfb"))
}

// diskSize returns the size of the disk in an image.
func diskSize(name string, file []byte) int64 {
	if path.Ext(name) == ".qcow2" && isQCOW2(file) {
		return int64(binary.BigEndian.Uint64(file[qcow2Size:qcow2Header])) //nolint:gosec // No disk is that large.
	}
	return int64(len(file))
}
