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

package assets

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
)

// archiveOf returns a release's archive with the given programs.
func archiveOf(t *testing.T, programs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	files := tar.NewWriter(zipped)
	for _, name := range programs {
		header := &tar.Header{Name: "controller-tools/envtest/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(name))}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func digestOf(archive []byte) string {
	sum := sha512.Sum512(archive)
	return hex.EncodeToString(sum[:])
}

// serve returns the address of an index that offers an archive as the release of a version for this platform. The handler of
// the archive is answer.
func serve(t *testing.T, version string, answer http.HandlerFunc) string {
	t.Helper()
	name := fmt.Sprintf("envtest-v%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/archive", answer)
	mux.HandleFunc("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "releases:\n  v%s:\n    %s:\n      hash: \"0\"\n      selfLink: %s/archive\n", version, name, server.URL)
	})
	return server.URL + "/index.yaml"
}

func TestDownload(t *testing.T) {
	good := archiveOf(t, Etcd, APIServer, Kubectl)
	send := func(archive []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }
	}
	// The handler ends with the request, which the client cancels.
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(good[:10])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	cases := map[string]struct {
		reason  string
		version string
		digest  string
		answer  http.HandlerFunc
		timeout time.Duration // A minute if not set.
		fails   string
	}{
		"Good": {reason: "a release with the pinned digest is used", version: "1.36.2", digest: digestOf(good), answer: send(good)},
		"Tampered": {
			reason:  "an archive with another digest is not used",
			version: "1.36.2", digest: digestOf([]byte("other")), answer: send(good), fails: "checksum mismatch",
		},
		"Missing":  {reason: "an index without the version is of no use", version: "1.35.0", digest: digestOf(good), answer: send(good), fails: "1.36.2"},
		"NotFound": {reason: "an archive that the server lacks is not used", version: "1.36.2", digest: digestOf(good), answer: http.NotFound, fails: "404"},
		"Stalled": {
			reason:  "a server that sends nothing costs no more than the timeout",
			version: "1.36.2", digest: digestOf(good), answer: hang, timeout: 300 * time.Millisecond, fails: "sends nothing",
		},
		"Lacking": {
			reason: "an archive must hold all programs", version: "1.36.2", digest: digestOf(archiveOf(t, Etcd, Kubectl)),
			answer: send(archiveOf(t, Etcd, Kubectl)), fails: "lacks kube-apiserver",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := Provider{Module: module(t, goMod), Cache: filepath.Join(t.TempDir(), "cache"), Report: Reporter{Out: &out}}
			p.Release = ControlPlaneRelease()
			p.Release.IndexURL, p.Release.Timeout = serve(t, tc.version, tc.answer), cmp.Or(tc.timeout, time.Minute)
			p.Release.Digests = map[string]string{runtime.GOOS + "/" + runtime.GOARCH: tc.digest}

			dir, err := p.Dir(t.Context())
			if tc.fails != "" {
				// The module of the test has nothing to build, so the attempt to build fails.
				if err == nil || !strings.Contains(err.Error(), "cannot build") || !strings.Contains(out.String(), tc.fails) {
					t.Errorf("%s: Dir fails with %v and reports:\n%s", tc.reason, err, out.String())
				}
				return
			}
			if err != nil || len(missing(dir, ControlPlane().programs)) > 0 {
				t.Fatalf("%s: Dir = %q, %v", tc.reason, dir, err)
			}
			if !strings.Contains(out.String(), "downloading etcd") || !strings.Contains(out.String(), "digest is the pinned one") {
				t.Errorf("%s: it reports %q", tc.reason, out.String())
			}
			checkNoDownload(t, p, dir)
			if err := os.RemoveAll(p.Cache); err != nil {
				t.Errorf("%s: the cache cannot be removed: %v", tc.reason, err)
			}
		})
	}
}

// checkNoDownload fails unless a second call of Dir uses the folder of the first and reports nothing.
func checkNoDownload(t *testing.T, p Provider, want string) {
	t.Helper()
	var out bytes.Buffer
	p.Report.Out, p.Release.IndexURL = &out, "http://127.0.0.1:1/"
	if dir, err := p.Dir(t.Context()); err != nil || dir != want || out.Len() > 0 {
		t.Errorf("the second Dir = %q, %v and reports %q", dir, err, out.String())
	}
}

func TestDownloadWithoutNetwork(t *testing.T) {
	var out bytes.Buffer
	p := Provider{Module: module(t, goMod), Cache: t.TempDir(), Report: Reporter{Out: &out}, Release: ControlPlaneRelease()}
	p.Release.IndexURL = "http://127.0.0.1:1/"
	p.Release.Digests = map[string]string{runtime.GOOS + "/" + runtime.GOARCH: "0"}
	begin := time.Now()
	if p.tryDownload(t.Context()) {
		t.Fatal("the download succeeds without a server")
	}
	if took := time.Since(begin); took > p.Release.Timeout {
		t.Errorf("the attempt takes %s", took)
	}
	if !strings.Contains(out.String(), "built from source") {
		t.Errorf("it reports %q", out.String())
	}
}

// TestControlPlaneRelease compares the release with the version of Kubernetes that is otherwise built.
func TestControlPlaneRelease(t *testing.T) {
	path := filepath.Join("..", "..", "go.mod")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(path, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Require {
		if want := "v" + ControlPlaneRelease().Version.String(); r.Mod.Path == ControlPlane().pin && r.Mod.Version != want {
			t.Errorf("the release is %s, but go.mod pins %s: take the new digests from %s", want, r.Mod.Version, ControlPlaneRelease().IndexURL)
		}
	}
	for platform, digest := range ControlPlaneRelease().Digests {
		if sum, err := hex.DecodeString(digest); err != nil || len(sum) != sha512.Size {
			t.Errorf("the digest for %s is not a SHA-512 sum", platform)
		}
	}
}
