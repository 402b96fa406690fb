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
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

func endpoints(urls ...string) func(*Config) {
	return func(c *Config) { c.Endpoints = urls }
}

func TestFailover(t *testing.T) {
	pve := fixed(t, ok(`"UPID:pve1:00000EF8:000629DA:6B00B985:qmstart:100:tester@pve!full:"`))
	clock := newManualClock()
	var calls []Call
	c := pve.client(t, endpoints(refusing(t), pve.URL+"/api2"), func(cfg *Config) {
		cfg.Clock = clock.Now
		cfg.Observe = func(call Call) { calls = append(calls, call) }
	})
	if _, err := c.Start(background(), vm100); err != nil {
		t.Fatalf("a write that the first endpoint never got: %v", err)
	}
	if n := pve.count(http.MethodPost, "/api2/json/nodes/pve1/qemu/100/status/start"); n != 1 {
		t.Errorf("writes at the second endpoint: got %d, want 1", n)
	}
	if len(calls) != 1 || calls[0].Status != http.StatusOK {
		t.Errorf("observed: got %+v, want one call with status 200", calls)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAllEndpointsDown(t *testing.T) {
	pve := fixed(t, ok("null"))
	c := pve.client(t, endpoints(refusing(t), refusing(t)))
	for range 2 {
		_, err := c.Start(background(), vm100)
		if !IsUnavailable(err) || IsOutcomeUnknown(err) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v, want unavailable and nothing sent", err)
		}
	}
}

// TestNothingIsSentTwice checks that a write that may have arrived is never sent again, to any endpoint.
func TestNothingIsSentTwice(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			cut, other := fixed(t, reply{cut: true}), fixed(t, ok("{}"))
			c := cut.client(t, endpoints(cut.URL, other.URL), func(cfg *Config) { cfg.TLS = TLS{InsecureSkipVerify: true} })
			err := c.do(background(), machine("touch", method, vm100, "/x"), nil)
			if !IsUnavailable(err) || IsOutcomeUnknown(err) != (method != http.MethodGet) {
				t.Errorf("got %v, want unavailable, and the outcome unknown unless it is a read", err)
			}
			if n, m := len(cut.asked()), len(other.asked()); n != 1 || m != 0 {
				t.Errorf("requests: got %d and %d, want 1 and 0", n, m)
			}
		})
	}
}

// TestWriteOnKeptConnectionIsSentOnce breaks a reused connection in the middle of a request, for which net/http has special rules.
func TestWriteOnKeptConnectionIsSentOnce(t *testing.T) {
	var writes, conns atomic.Int64
	srv := newKeepAlivePVE(t, &writes, &conns)
	c := (&fakePVE{Server: srv}).client(t)
	if _, err := c.Version(background()); err != nil {
		t.Fatal(err)
	}
	_, err := c.Start(background(), vm100)
	if !IsOutcomeUnknown(err) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if w, n := writes.Load(), conns.Load(); w != 1 || n != 1 {
		t.Errorf("got %d writes on %d connections, want 1 on 1", w, n)
	}
}

func TestDeadline(t *testing.T) {
	cases := map[string]struct {
		reason string
		ctx    func(entered <-chan struct{}) (context.Context, context.CancelFunc)
		change func(*Config)
		cause  error
	}{
		"Ours": {
			reason: "Every call has a deadline.",
			ctx:    func(<-chan struct{}) (context.Context, context.CancelFunc) { return context.WithCancel(background()) },
			change: func(c *Config) { c.Timeout = time.Second },
			cause:  context.DeadlineExceeded,
		},
		"Theirs": {
			reason: "The caller's is kept.",
			ctx: func(<-chan struct{}) (context.Context, context.CancelFunc) {
				return context.WithTimeout(background(), time.Second)
			},
			change: func(*Config) {},
			cause:  context.DeadlineExceeded,
		},
		"Cancel": {
			reason: "The caller may go.",
			ctx: func(entered <-chan struct{}) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(background())
				go func() { <-entered; cancel() }()
				return ctx, cancel
			},
			change: func(*Config) {},
			cause:  context.Canceled,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entered, release := make(chan struct{}, 1), make(chan struct{})
			pve := newFakePVE(t, func(asked) reply { entered <- struct{}{}; <-release; return reply{cut: true} })
			defer close(release)
			ctx, cancel := tc.ctx(entered)
			defer cancel()
			_, err := pve.client(t, tc.change).Start(ctx, vm100)
			if !errors.Is(err, tc.cause) || !IsOutcomeUnknown(err) || !IsUnavailable(err) {
				t.Errorf("%s\ngot %v, want %v and an unknown outcome", tc.reason, err, tc.cause)
			}
		})
	}
}

func TestTransportTexts(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close() //nolint:errcheck // The test is over.
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n")
			_ = conn.Close()
		}
	}()
	pve := fixed(t, ok("null"))
	cases := map[string]struct {
		reason string
		change func(*Config)
		want   string
	}{
		"Authority": {reason: "The CA is another one.", change: func(c *Config) { c.TLS = TLS{} }, want: "server certificate is signed by an unknown authority"},
		"Name": {
			reason: "The name is another one.", change: func(c *Config) { c.TLS.ServerName = "pve.invalid" },
			want: `server certificate is not valid for "pve.invalid"`,
		},
		"NotTLS": {
			reason: "Something else listens at the endpoint.", change: func(c *Config) { c.Endpoints = []string{"https://" + plain.Addr().String()} },
			want: "server does not speak TLS",
		},
		"NoHost": {reason: "There is no such name.", change: func(c *Config) { c.Endpoints = []string{"https://pve.invalid"} }, want: "host \"pve.invalid\""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := pve.client(t, tc.change).Start(background(), vm100)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !IsUnavailable(err) || IsOutcomeUnknown(err) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestClientCertificate(t *testing.T) {
	certificate, key := simulatortest.KeyPair(t)
	pve := newMutualTLS(t, certificate)
	cfg := func(c *Config) { c.TLS.Certificate, c.TLS.Key = certificate, key }
	if _, err := pve.client(t, cfg).Version(background()); err != nil {
		t.Errorf("with the client certificate: %v", err)
	}
	_, err := pve.client(t).Start(background(), vm100)
	if !IsUnavailable(err) || IsOutcomeUnknown(err) || !strings.Contains(err.Error(), "server refused the TLS connection: tls: certificate required") {
		t.Errorf("without it: got %v, want unavailable and not sent", err)
	}
}
