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

package simulator

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretReachesTheProgramByAFileAlone(t *testing.T) {
	dir := t.TempDir()
	s, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(s.Spec("/bin/pve-simulator", "scenario.yaml").Args, " "); strings.Contains(args, s.secret) {
		t.Errorf("the arguments %q show the secret", args)
	}
	info, err := os.Stat(s.tokens)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file is open to others: %v, %v", info, err)
	}
	text, err := os.ReadFile(s.tokens)
	if err != nil || string(text) != "crossplane@pve!demo="+s.secret+"\n" {
		t.Errorf("the token's file holds %q, %v", text, err)
	}
	other, err := New(t.TempDir())
	if err != nil || other.secret == s.secret {
		t.Errorf("two launches share a secret (%v)", err)
	}
}

func TestVMs(t *testing.T) {
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := s.secret
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "PVEAPIToken=crossplane@pve!demo="+secret || r.URL.Query().Get("type") != "vm" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"vmid":9000,"name":"template","node":"pve1","template":1},{"vmid":10000,"name":"web","node":"pve2"}]}`))
	}))
	defer server.Close()
	s.address = server.Listener.Addr().String()
	if err := os.MkdirAll(s.tlsDir, 0o750); err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(s.tlsDir, "ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := s.VMs(t.Context())
	want := map[int64]VM{9000: {ID: 9000, Name: "template", Node: "pve1"}, 10000: {ID: 10000, Name: "web", Node: "pve2"}}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("VMs = %v, %v, want %v", got, err, want)
	}
	s.secret = "another"
	if _, err := s.VMs(t.Context()); err == nil {
		t.Error("VMs hides that the simulator refuses the token")
	}
}
