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
	"crypto/sha512"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMirror checks that the mirror serves what the example downloads from Debian.
func TestMirror(t *testing.T) {
	m, err := startMirror(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "namespaced", "from-nothing.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(m.replaceIn(text))
	if strings.Contains(got, "https://") || !strings.Contains(got, m.url+"/"+imageFile) || !strings.Contains(got, m.url+"/"+sumsFile) {
		t.Fatalf("the example must ask the mirror alone, got:\n%s", got)
	}
	image, list := fetch(t, m.url+"/"+imageFile, http.StatusOK), fetch(t, m.url+"/"+sumsFile, http.StatusOK)
	sum := sha512.Sum512(image)
	if want := hex.EncodeToString(sum[:]) + "  " + imageFile + "\n"; string(list) != want {
		t.Errorf("want the list %q, got %q", want, list)
	}
	fetch(t, m.url+"/other", http.StatusNotFound)
}

func fetch(t *testing.T, address string, status int) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close() //nolint:errcheck // Nothing was written.
	body, err := io.ReadAll(rsp.Body)
	if err != nil || rsp.StatusCode != status {
		t.Fatalf("GET %s: %s, %v", address, rsp.Status, err)
	}
	return body
}
