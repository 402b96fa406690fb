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

package proxmox

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// newKeepAlivePVE answers reads and keeps the connection. A write ends it without an answer, as when the node loses power.
func newKeepAlivePVE(t *testing.T, writes, conns *atomic.Int64) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"data":{"version":"9.2.11"}}`)
			return
		}
		writes.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("cannot take over the connection: %v", err)
			return
		}
		_ = conn.Close()
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// newMutualTLS only accepts clients with the given certificate.
func newMutualTLS(t *testing.T, certificate []byte) *fakePVE {
	t.Helper()
	f := &fakePVE{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":{"version":"9.2.11"}}`)
	}))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	f.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	f.Config.ErrorLog = quiet()
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// rawRequest returns the text of a request as it was sent, including what net/http hides.
func rawRequest(t *testing.T, call func(*Client)) string {
	t.Helper()
	f := fixed(t, ok("null"))
	got := make(chan string, 1)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: f.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // The test is over.
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- ""
			return
		}
		defer conn.Close() //nolint:errcheck // The test is over.
		got <- readRaw(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"data\":null}")
	}()
	call(f.client(t, endpoints("https://"+l.Addr().String())))
	return <-got
}

// readRaw reads a request's head, and as much of a body as it announces.
func readRaw(conn io.Reader) string {
	in := bufio.NewReader(conn)
	head, length := "", 0
	for {
		line, err := in.ReadString('\n')
		head += line
		if err != nil || line == "\r\n" {
			break
		}
		length = max(length, contentLength(line))
	}
	body := make([]byte, length)
	n, err := io.ReadFull(in, body)
	if err != nil && length > 0 {
		return head
	}
	return head + string(body[:n])
}
