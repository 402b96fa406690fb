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

package demo

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"time"
)

// debian is the location of the example's image and of the list of its checksums.
const debian = "https://cloud.debian.org/images/cloud/trixie/latest"

const (
	imageFile = "debian-13-genericcloud-amd64.qcow2"
	sumsFile  = "SHA512SUMS"
)

// mirror serves an image and the list of its checksums on loopback, replacing Debian's server.
type mirror struct {
	url   string
	image []byte
}

// startMirror starts a mirror that ends with ctx.
func startMirror(ctx context.Context) (*mirror, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot serve an image: %w", err)
	}
	m := &mirror{url: "http://" + listener.Addr().String(), image: emptyDisk()}
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // Only this process listens there.
		}
	}()
	return m, nil
}

// The size of the disk in the image, and the size of the image.
const (
	diskSize  = 2 << 30
	imageSize = 1 << 20
)

// emptyDisk returns a qcow2 image of a disk without content.
func emptyDisk() []byte {
	b := make([]byte, imageSize)
	copy(b, "QFI\xfb")
	binary.BigEndian.PutUint32(b[4:], 3)
	binary.BigEndian.PutUint64(b[24:], diskSize)
	return b
}

// ServeHTTP serves the image and the list.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path.Base(r.URL.Path) {
	case imageFile:
		http.ServeContent(w, r, imageFile, time.Time{}, bytes.NewReader(m.image))
	case sumsFile:
		sum := sha512.Sum512(m.image)
		http.ServeContent(w, r, sumsFile, time.Time{}, strings.NewReader(hex.EncodeToString(sum[:])+"  "+imageFile+"\n"))
	default:
		http.NotFound(w, r)
	}
}

// replaceIn replaces Debian's server by the mirror in a manifest.
func (m *mirror) replaceIn(manifest []byte) []byte {
	return bytes.ReplaceAll(manifest, []byte(debian), []byte(m.url))
}
