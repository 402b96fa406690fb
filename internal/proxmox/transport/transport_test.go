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

package transport

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
)

func TestParseEndpoint(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string // empty if rejected
	}{
		"Host":        {reason: "The port has a default.", in: "https://pve", want: "https://pve:8006/api2/json"},
		"Slash":       {reason: "A slash is no path.", in: "https://pve/", want: "https://pve:8006/api2/json"},
		"Port":        {reason: "A port that is given stays.", in: "https://pve:443", want: "https://pve:443/api2/json"},
		"API2":        {reason: "A part of the path is completed.", in: "https://pve:8006/api2", want: "https://pve:8006/api2/json"},
		"JSON":        {reason: "The whole path is kept.", in: "https://pve:8006/api2/json", want: "https://pve:8006/api2/json"},
		"JSONSlash":   {reason: "A last slash does not matter.", in: "https://pve:8006/api2/json/", want: "https://pve:8006/api2/json"},
		"Prefix":      {reason: "A reverse proxy's prefix stays.", in: "https://proxy:443/pve/api2/json", want: "https://proxy:443/pve/api2/json"},
		"IPv6":        {reason: "IPv6 addresses are fine.", in: "https://[2001:db8::1]", want: "https://[2001:db8::1]:8006/api2/json"},
		"HTTP":        {reason: "Secrets do not travel in clear.", in: "http://pve:8006"},
		"NoScheme":    {reason: "A bare host is not a URL.", in: "pve:8006"},
		"NoHost":      {reason: "There must be a host.", in: "https:///api2/json"},
		"Empty":       {reason: "There must be something.", in: ""},
		"Query":       {reason: "A query makes no sense.", in: "https://pve:8006/?a=b"},
		"Credentials": {reason: "Secrets do not belong into URLs.", in: "https://root:" + tokenSecret + "@pve:8006"},
		"NotAURL":     {reason: "Secrets do not show if the URL is broken.", in: "https://root:" + tokenSecret + "@pve:80 06\x7f"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseEndpoint(tc.in)
			if tc.want == "" {
				if err == nil {
					t.Fatalf("%s\nparseEndpoint(%q): got %q, want an error", tc.reason, tc.in, got)
				}
				hides(t, err.Error())
				return
			}
			if err != nil {
				t.Fatalf("%s\nparseEndpoint(%q): %v", tc.reason, tc.in, err)
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("%s\nparseEndpoint(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}

func TestBodyIsBounded(t *testing.T) {
	body := strings.Repeat("x", 1024)
	if got, err := readBounded(strings.NewReader(body), 1024); err != nil || string(got) != body {
		t.Errorf("at the limit: got %d bytes and error %v", len(got), err)
	}
	if got, err := readBounded(strings.NewReader(body+"x"), 1024); err == nil || got != nil || err.Error() != "answer is larger than 1024 bytes" {
		t.Errorf("beyond the limit: got %d bytes and error %v", len(got), err)
	}
}

func TestNormaliseAlwaysAnswers(t *testing.T) {
	cases := map[string]struct {
		reason string
		resp   func(*http.Request) (*http.Response, error)
		status int
	}{
		"Error": {reason: "No answer becomes one.", resp: func(*http.Request) (*http.Response, error) { return nil, context.Canceled }, status: 599},
		"Redirect": {
			reason: "A redirect stays what it is, without its target.",
			resp:   func(r *http.Request) (*http.Response, error) { return answer(r, 301, nil), nil }, status: 301,
		},
		"NotJSON": {reason: "Nonsense is no success.", resp: func(r *http.Request) (*http.Response, error) { return answer(r, 200, []byte("x")), nil }, status: 599},
		"Success": {reason: "A success is passed on.", resp: func(r *http.Request) (*http.Response, error) { return answer(r, 200, []byte("{}")), nil }, status: 200},
		"Refusal": {reason: "A refusal is passed on.", resp: func(r *http.Request) (*http.Response, error) { return answer(r, 403, nil), nil }, status: 403},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(background(), http.MethodPost, root.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := Normalise(roundTripper(tc.resp)).RoundTrip(r)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			body, err := ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tc.status || !lenient.IsObject(body) {
				t.Errorf("%s\ngot status %d, body %q, error %v; want %d and an object", tc.reason, resp.StatusCode, body, err, tc.status)
			}
		})
	}
}

func TestConnections(t *testing.T) {
	tr := newConnections(30*time.Second, 5)
	if tr.IdleConnTimeout <= 0 || tr.IdleConnTimeout >= 5*time.Second {
		t.Errorf("idle connections live %s, but pveproxy ends them after 5s", tr.IdleConnTimeout)
	}
	if tr.TLSHandshakeTimeout*6 > 30*time.Second {
		t.Errorf("a handshake may take %s, which does not leave the last of 5 endpoints its turn", tr.TLSHandshakeTimeout)
	}
}

func TestFailoverRemembers(t *testing.T) {
	clock := newManualClock()
	urls, err := Config{Endpoints: []string{"https://a", "https://b"}}.urls()
	if err != nil {
		t.Fatal(err)
	}
	down := atomic.Bool{}
	down.Store(true)
	var tried []string
	f := newFailover(urls, clock.Now, roundTripper(func(r *http.Request) (*http.Response, error) {
		tried = append(tried, r.URL.Host)
		if down.Load() && r.URL.Host == urls[0].Host {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}
		return answer(r, http.StatusOK, []byte("{}")), nil
	}))
	first, second := urls[0].Host, urls[1].Host
	steps := []struct {
		reason string
		before func()
		want   []string
	}{
		{reason: "The first is down.", before: func() {}, want: []string{first, second}},
		{reason: "An endpoint that is down is remembered.", before: func() { clock.Add(retryDown - time.Second) }, want: []string{second}},
		{reason: "The next endpoint answers for a while.", before: func() { clock.Add(time.Second) }, want: []string{first, second}},
		{reason: "When it is back, it is the first again.", before: func() { down.Store(false); clock.Add(retryDown) }, want: []string{first}},
	}
	for _, s := range steps {
		s.before()
		tried = nil
		r, err := http.NewRequestWithContext(background(), http.MethodGet, root.String()+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := f.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s\n%v", s.reason, err)
		}
		_ = resp.Body.Close()
		if strings.Join(tried, " ") != strings.Join(s.want, " ") {
			t.Errorf("%s\ntried %v, want %v", s.reason, tried, s.want)
		}
	}
}

// TestLateLoginTakesTheTicketThatIsThere checks that a caller without a ticket that logs in after another one uses the other's ticket.
func TestLateLoginTakesTheTicketThatIsThere(t *testing.T) {
	logins := 0
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		logins++
		return answer(r, http.StatusOK, []byte(`{"data":{"ticket":"t","CSRFPreventionToken":"c"}}`)), nil
	})
	c := Credentials{Username: "tester@pve", Password: password}
	a, ok := newAuthenticate(c, time.Second, newManualClock().Now, next).(*ticketAuth)
	if !ok {
		t.Fatal("a password needs ticket authentication")
	}
	first, err := a.renew(background())
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.renew(background())
	if err != nil || first != second || logins != 1 {
		t.Errorf("got another ticket after %d logins, error %v", logins, err)
	}
}
