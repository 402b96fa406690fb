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

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// output collects what the program writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) url() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := regexp.MustCompile(`listens on (https://\S+)`).FindStringSubmatch(o.b.String())
	if m == nil {
		return ""
	}
	return m[1]
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("# secrets\ncrossplane@pve!demo=other\nroot@pam!mine=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, ended := &output{}, make(chan error, 1)
	o := &options{Address: "127.0.0.1:0", TLSDir: filepath.Join(dir, "tls"), TokenFile: tokens, LogRequests: true, Version: "8.4"}
	go func() { ended <- o.run(ctx, out) }()
	for out.url() == "" {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	for name, tc := range map[string]struct {
		reason string
		path   string
		token  string
		want   int
	}{
		"Health":    {reason: "Health needs no credentials.", path: "/healthz", want: 200},
		"NoTicket":  {reason: "Everything else does.", path: "/api2/json/version", want: 401},
		"Overrides": {reason: "The token file replaces the scenario's secret.", path: "/api2/json/version", token: "crossplane@pve!demo=other", want: 200},
		"Adds":      {reason: "The token file adds tokens.", path: "/api2/json/version", token: "root@pam!mine=secret", want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got := get(t, o.TLSDir, out.url()+tc.path, tc.token); got != tc.want {
				t.Errorf("%s: got status %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

func get(t *testing.T, tlsDir, url, token string) int {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(tlsDir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "PVEAPIToken="+token)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // A test's body.
	return resp.StatusCode
}

func TestCertificatesStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	first, err := certificates(dir, "127.0.0.1:8006")
	if err != nil {
		t.Fatal(err)
	}
	second, err := certificates(dir, "127.0.0.1:8006")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.CA, second.CA) {
		t.Error("the CA of the folder is not used again")
	}
}
