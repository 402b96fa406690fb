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

package e2e

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// A mirror serves on loopback what the examples download from the internet: files with any name, lists of their checksums, and OCI images.
type mirror struct {
	*httptest.Server

	// names of the files in the lists.
	names []string
}

// The addresses in examples, up to the part that the mirror replaces.
var (
	reAddress  = regexp.MustCompile(`(url|checksumURL): https://[^/\s]+/`)
	reRegistry = regexp.MustCompile(`oci: [^/\s]+/`)
	reFile     = regexp.MustCompile(`\burl: \S*/(\S+)`)
)

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// manifest returns an example in a separate file, with the mirror replacing the servers on the internet.
func (m *mirror) manifest(t *testing.T, example string) string {
	t.Helper()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range reFile.FindAllSubmatch(text, -1) {
		if name := string(found[1]); !slices.Contains(m.names, name) {
			m.names = append(m.names, name)
		}
	}
	text = reAddress.ReplaceAll(text, []byte("$1: "+m.URL+"/"))
	text = reRegistry.ReplaceAll(text, []byte("oci: "+strings.TrimPrefix(m.URL, "http://")+"/"))
	file := filepath.Join(t.TempDir(), filepath.Base(example))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// disk returns a qcow2 image of a disk of 2 GiB without content.
func disk() []byte {
	b := make([]byte, 4096)
	copy(b, "QFI\xfb")
	binary.BigEndian.PutUint32(b[4:], 3)
	binary.BigEndian.PutUint64(b[24:], 2<<30)
	return b
}

// The parts of the OCI image.
const (
	layer  = "a layer"
	config = `{"architecture":"amd64","os":"linux"}`
)

// ServeHTTP serves a file, a list, or a part of an OCI image.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	short, long := sha256.Sum256(disk()), sha512.Sum512(disk())
	switch {
	case strings.Contains(r.URL.Path, "/manifests/"):
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"config":{"digest":%q},"layers":[{"digest":%q}]}`, digest(config), digest(layer))
	case name == digest(config):
		_, _ = w.Write([]byte(config))
	case name == digest(layer):
		_, _ = w.Write([]byte(layer))
	case slices.Contains(m.names, name):
		_, _ = w.Write(disk())
	case name == "SHA512SUMS":
		m.list(w, hex.EncodeToString(long[:]))
	case name == "SHA256SUMS", strings.HasSuffix(name, ".sha256"):
		m.list(w, hex.EncodeToString(short[:]))
	default:
		http.NotFound(w, r)
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (m *mirror) list(w http.ResponseWriter, sum string) {
	for _, name := range m.names {
		_, _ = fmt.Fprintf(w, "%s  %s\n", sum, name)
	}
}

// testDownloadExamples applies all examples of Images from the internet together with their Machines, with a mirror replacing the servers that they
// name. It waits until all of them are ready, and deletes them.
func (s *suite) testDownloadExamples(t *testing.T, folder string) {
	t.Helper()
	objs, paths := some(t, folder, isOfDownload)
	if len(objs) == 0 {
		return
	}
	m := newMirror(t)
	var files []string
	for _, argument := range paths {
		if argument != "-f" {
			files = append(files, "-f", m.manifest(t, argument))
		}
	}
	s.kubectl(t, append([]string{"apply"}, files...)...)
	s.untilReady(t, objs)
	s.kubectl(t, append([]string{"delete", "--wait=false"}, files...)...)
	var keys []machine.Key
	for _, obj := range objs {
		if isMachine(obj) {
			keys = append(keys, machine.KeyOf(obj))
		}
	}
	s.untilGone(t, keys)
	s.until(t, func() string { // Images of image.url are deleted with their Machines.
		return s.kubectl(t, "get", "images.proxmox.vitistack.io,images.proxmox.m.vitistack.io", "--all-namespaces", "--output=name")
	})
}
