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
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// reply is one answer of a fake PVE, including the phrase of its status line.
type reply struct {
	status string // such as: 500 VM 100 not running
	body   string
	header string // more header lines, each ended by CR LF
	cut    bool   // close the connection instead
	short  bool   // announce a longer body than the real one
}

func ok(data string) reply { return reply{status: "200 OK", body: `{"data":` + data + `}`} }

// asked is one request that a fake PVE received.
type asked struct {
	method, path, query, body string
	header                    http.Header
}

// fakePVE answers over TLS and records the requests.
type fakePVE struct {
	*httptest.Server

	mu       sync.Mutex
	requests []asked
}

func newFakePVE(t testing.TB, answer func(asked) reply) *fakePVE {
	t.Helper()
	f := &fakePVE{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("cannot read the request: %v", err)
		}
		a := asked{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, body: string(body), header: r.Header}
		f.mu.Lock()
		f.requests = append(f.requests, a)
		f.mu.Unlock()
		write(t, w, answer(a))
	}))
	f.Config.ErrorLog = quiet()
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// quiet keeps the messages of intended handshake failures out of the tests' output.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// write writes the answer manually, because net/http does not let a handler choose the phrase of the status line.
func write(tb testing.TB, w http.ResponseWriter, r reply) {
	tb.Helper()
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		tb.Errorf("cannot take over the connection: %v", err)
		return
	}
	defer conn.Close() //nolint:errcheck // The test is over if this matters.
	if r.cut {
		return
	}
	length := len(r.body)
	if r.short {
		length += 10
	}
	writeHead(buf.Writer, r, length)
	if err := buf.Flush(); err != nil {
		tb.Logf("cannot write the answer: %v", err)
	}
}

func writeHead(w *bufio.Writer, r reply, length int) {
	_, _ = fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s", r.status, length, r.header, r.body)
}

func (f *fakePVE) asked() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]asked(nil), f.requests...)
}

// count returns the number of requests of a method for a path.
func (f *fakePVE) count(method, path string) int {
	n := 0
	for _, a := range f.asked() {
		if a.method == method && a.path == path {
			n++
		}
	}
	return n
}

func (f *fakePVE) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

const (
	tokenSecret = "11111111-1111-4111-8111-111111111111"
	password    = "correct horse"
)

func tokenCredentials() Credentials {
	return Credentials{TokenID: "tester@pve!full", TokenSecret: tokenSecret}
}

func passwordCredentials() Credentials {
	return Credentials{Username: "tester@pve", Password: password}
}

// client returns a Client of the fake, with an API token unless changed.
func (f *fakePVE) client(t testing.TB, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{Endpoints: []string{f.URL}, Credentials: tokenCredentials(), TLS: TLS{CA: f.ca()}, Timeout: 10 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatalf("New(...): %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// fixed returns a fake PVE that always gives the same answer.
func fixed(t testing.TB, r reply) *fakePVE {
	t.Helper()
	return newFakePVE(t, func(asked) reply { return r })
}

// refusing returns an address at which nothing listens.
func refusing(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // Closing is the point.
	return "https://" + l.Addr().String()
}

// manualClock is a clock that only moves when it is told to.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func newManualClock() *manualClock {
	return &manualClock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func form(t testing.TB, s string) map[string]string {
	t.Helper()
	v, err := url.ParseQuery(s)
	if err != nil {
		t.Fatalf("form %q: %v", s, err)
	}
	m := make(map[string]string, len(v))
	for k := range v {
		m[k] = v.Get(k)
	}
	return m
}

// hides fails the test if s contains one of the secrets.
func hides(t testing.TB, s string) {
	t.Helper()
	for _, secret := range []string{tokenSecret, password} {
		if strings.Contains(s, secret) {
			t.Errorf("secret shows in %q", s)
		}
	}
}

var (
	vm100        = Ref{Node: "pve1", VMID: 100}                  //nolint:gochecknoglobals // A constant.
	container101 = Ref{Node: "pve1", VMID: 101, Container: true} //nolint:gochecknoglobals // A constant.
)

func background() context.Context { return context.Background() }
