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

package connect

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// A clientGuard is a server that answers clients whose certificate it trusts, and records the certificates.
type clientGuard struct {
	*httptest.Server

	mu   sync.Mutex
	seen [][]byte
}

func newClientGuard(t *testing.T, trusted ...[]byte) *clientGuard {
	t.Helper()
	g := &clientGuard{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, r.TLS.PeerCertificates[0].Raw)
		g.mu.Unlock()
		_, _ = io.WriteString(w, `{"data":{"version":"9.2.11"}}`)
	}))
	pool := x509.NewCertPool()
	for _, certificate := range trusted {
		pool.AppendCertsFromPEM(certificate)
	}
	g.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.StartTLS()
	t.Cleanup(g.Close)
	return g
}

// certificates returns the certificates that clients have presented so far, in PEM.
func (g *clientGuard) certificates() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for _, der := range g.seen {
		all = append(all, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	return slices.Compact(all)
}

// TestClientCertificate uses a server that requests the client's certificate, like a proxy before Proxmox VE. Connections of a configuration present
// the certificate of its Secret, and fail without one that the server trusts.
func TestClientCertificate(t *testing.T) {
	certificate, key := simulatortest.KeyPair(t)
	next, nextKey := simulatortest.KeyPair(t)
	other, otherKey := simulatortest.KeyPair(t)
	ref := &v1alpha1.SecretReference{Namespace: ptr.To("system"), Name: "client"}
	cases := map[string]struct {
		reason           string
		ref              *v1alpha1.SecretReference
		certificate, key []byte
		refused          bool
	}{
		"Trusted": {reason: "The server gets the certificate of the Secret.", ref: ref, certificate: certificate, key: key},
		"None":    {reason: "The server refuses clients without a certificate.", certificate: certificate, key: key, refused: true},
		"Other":   {reason: "The server refuses a certificate that it does not trust.", ref: ref, certificate: other, key: otherKey, refused: true},
		"Rotated": {reason: "A changed Secret has its certificate shown.", ref: ref, certificate: next, key: nextKey},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newClientGuard(t, certificate, next)
			secret := secretOf("system", "client", map[string]string{"tls.crt": string(certificate), "tls.key": string(key)})
			pc := clusterConfig("site")
			pc.Spec.Endpoints = []string{server.URL}
			pc.Spec.TLS = &v1alpha1.ProviderTLS{CACertificate: ptr.To(pemOf(server.Server)), ClientCertificateSecretRef: tc.ref}
			kube := kube(t, tokenSecretOf("system", "pve"), secret, pc)
			c := New(kube, WithMaxAge(0))
			ask := func() error {
				t.Helper()
				connection, err := c.Connect(t.Context(), clusterMachine("site"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = connection.Client.Version(t.Context())
				return err
			}
			if err := ask(); (err != nil) != (tc.ref == nil) {
				t.Errorf("%s\nwith the first certificate: %v", tc.reason, err)
			}
			secret.Data["tls.crt"], secret.Data["tls.key"] = tc.certificate, tc.key
			if err := kube.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			err := ask()
			if (err != nil) != tc.refused || err != nil && !proxmox.IsUnavailable(err) {
				t.Errorf("%s\nrefused: want %t, got %v", tc.reason, tc.refused, err)
			}
			var want []string
			if tc.ref != nil {
				want = append(want, string(certificate))
			}
			if !tc.refused && string(tc.certificate) != string(certificate) {
				want = append(want, string(tc.certificate))
			}
			if got := server.certificates(); !slices.Equal(got, want) {
				t.Errorf("%s\nthe server has seen %d certificates, want %d that are of the Secret", tc.reason, len(got), len(want))
			}
		})
	}
}
