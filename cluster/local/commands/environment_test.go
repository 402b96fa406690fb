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

package commands

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

func newEnvironment(t *testing.T) *Environment {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	s, _ := New(t.Context(), repository.Repository{}, t.TempDir(), out)
	return s
}

func TestCloseStopsInReverseOrder(t *testing.T) {
	s := newEnvironment(t)
	failure := errors.New("it does not end")
	var got []string
	record := func(name string, err error) {
		s.OnClose(name, func() error {
			got = append(got, name)
			return err
		})
	}
	record("first", nil)
	record("middle", failure)
	record("last", nil)
	if err := s.Close(); !errors.Is(err, failure) {
		t.Errorf("Close returns %v, want %v", err, failure)
	}
	if diff := cmp.Diff([]string{"last", "middle", "first"}, got); diff != "" {
		t.Errorf("Close stops: -want, +got:\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close returns %v", err)
	}
}

const twoContexts = `
apiVersion: v1
kind: Config
current-context: mine
clusters:
- {name: one, cluster: {server: "https://127.0.0.1:1", certificate-authority: CAFILE}}
- {name: two, cluster: {server: "https://127.0.0.1:2"}}
users:
- {name: me, user: {token: abc}}
- {name: you, user: {token: other-secret}}
contexts:
- {name: mine, context: {cluster: one, user: me}}
- {name: yours, context: {cluster: two, user: you}}
`

func TestWriteCurrent(t *testing.T) {
	dir := t.TempDir()
	source, ca, copied := filepath.Join(dir, "config"), filepath.Join(dir, "ca.crt"), filepath.Join(dir, "copy")
	for path, text := range map[string]string{source: twoContexts, ca: "PEM"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := clientcmd.LoadFromFile(source)
	if err != nil {
		t.Fatal(err)
	}
	raw.Clusters["one"].CertificateAuthority = ca
	if err := writeCurrent(*raw, copied); err != nil {
		t.Fatal(err)
	}

	got, err := clientcmd.LoadFromFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Contexts) != 1 || len(got.AuthInfos) != 1 || got.AuthInfos["me"] == nil {
		t.Errorf("the copy holds more than the current context: %v, %v", got.Contexts, got.AuthInfos)
	}
	if string(got.Clusters["one"].CertificateAuthorityData) != "PEM" {
		t.Error("the copy depends on the file of the certificates")
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is open to others: %v, %v", info, err)
	}
}
