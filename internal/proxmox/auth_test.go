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
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

const ticketPath = "/api2/json/access/ticket"

// ticketPVE issues numbered tickets and accepts only the latest one.
type ticketPVE struct {
	*fakePVE

	tickets atomic.Int64
	login   atomic.Pointer[reply] // instead of a ticket
}

func newTicketPVE(t testing.TB) *ticketPVE {
	t.Helper()
	p := &ticketPVE{}
	p.fakePVE = newFakePVE(t, func(a asked) reply {
		if a.path == ticketPath {
			return p.ticket()
		}
		if !p.accepts(a) {
			return reply{status: "401 Permission denied - invalid csrf token"}
		}
		if a.method == http.MethodGet {
			return ok(`{"version":"9.2.11","release":"9.2"}`)
		}
		return ok("null")
	})
	return p
}

func (p *ticketPVE) ticket() reply {
	if r := p.login.Load(); r != nil {
		return *r
	}
	n := p.tickets.Add(1)
	return ok(fmt.Sprintf(`{"username":"tester@pve","ticket":"PVE:tester@pve:%d::a+/=","CSRFPreventionToken":"csrf%d"}`, n, n))
}

func (p *ticketPVE) accepts(a asked) bool {
	n := p.tickets.Load()
	cookie := "PVEAuthCookie=" + url.QueryEscape(fmt.Sprintf("PVE:tester@pve:%d::a+/=", n))
	csrf := a.method == http.MethodGet || a.header.Get("CSRFPreventionToken") == fmt.Sprintf("csrf%d", n)
	return n > 0 && a.header.Get("Cookie") == cookie && csrf
}

// revoke invalidates the tickets that were issued.
func (p *ticketPVE) revoke() { p.tickets.Add(1) }

func (p *ticketPVE) logins() int { return p.count(http.MethodPost, ticketPath) }

func withPassword(clock *manualClock) func(*Config) {
	return func(c *Config) { c.Credentials, c.Clock = passwordCredentials(), clock.Now }
}

func TestToken(t *testing.T) {
	pve := fixed(t, ok("null"))
	if err := pve.client(t).Configure(background(), vm100, Change{Set: Params{"cores": "2"}}); err != nil {
		t.Fatal(err)
	}
	h := pve.asked()[0].header
	if diff := cmp.Diff("PVEAPIToken=tester@pve!full="+tokenSecret, h.Get("Authorization")); diff != "" {
		t.Errorf("Authorization: -want, +got:\n%s", diff)
	}
	if h.Get("Cookie") != "" || h.Get("CSRFPreventionToken") != "" {
		t.Errorf("a token needs no ticket: got %v", h)
	}
}

func TestTokenIsNotRetried(t *testing.T) {
	pve := fixed(t, reply{status: "401 Authentication failed!"})
	if _, err := pve.client(t).Version(background()); !IsAuthentication(err) {
		t.Errorf("got %v, want an authentication error", err)
	}
	if n := len(pve.asked()); n != 1 {
		t.Errorf("requests: got %d, want 1", n)
	}
}

func TestTicket(t *testing.T) {
	pve := newTicketPVE(t)
	clock := newManualClock()
	c := pve.client(t, withPassword(clock))
	steps := []struct {
		reason string
		before func()
		call   func(context.Context) error
		logins int
	}{
		{reason: "The first call logs in.", before: func() {}, logins: 1},
		{reason: "The next has a ticket.", before: func() {}, logins: 1},
		{reason: "A ticket is good for an hour.", before: func() { clock.Add(59 * time.Minute) }, logins: 1},
		{reason: "A ticket is renewed long before it ends.", before: func() { clock.Add(2 * time.Minute) }, logins: 2},
		{reason: "A ticket that is not accepted is replaced once.", before: pve.revoke, logins: 3},
		{reason: "The new ticket is kept.", before: func() {}, logins: 3},
	}
	for _, s := range steps {
		s.before()
		if _, err := c.Version(background()); err != nil {
			t.Fatalf("%s\nVersion(...): %v", s.reason, err)
		}
		if err := c.Configure(background(), vm100, Change{Set: Params{"cores": "2"}}); err != nil {
			t.Fatalf("%s\nConfigure(...): %v", s.reason, err)
		}
		if got := pve.logins(); got != s.logins {
			t.Fatalf("%s\nlogins: got %d, want %d", s.reason, got, s.logins)
		}
	}
	login := pve.asked()[0]
	want := map[string]string{"username": "tester@pve", "password": password}
	if diff := cmp.Diff(want, form(t, login.body)); diff != "" {
		t.Errorf("login: -want, +got:\n%s", diff)
	}
}

func TestTicketReplaysWholeWrite(t *testing.T) {
	pve := newTicketPVE(t)
	c := pve.client(t, withPassword(newManualClock()))
	if _, err := c.Version(background()); err != nil {
		t.Fatal(err)
	}
	pve.revoke()
	if err := c.Configure(background(), vm100, Change{Set: Params{"cores": "2"}}); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, a := range pve.asked() {
		if a.method == http.MethodPut {
			bodies = append(bodies, a.body)
		}
	}
	if diff := cmp.Diff([]string{"cores=2", "cores=2"}, bodies); diff != "" {
		t.Errorf("bodies of the refused and the repeated request: -want, +got:\n%s", diff)
	}
}

func TestTicketNeverAccepted(t *testing.T) {
	pve := newFakePVE(t, func(a asked) reply {
		if a.path == ticketPath {
			return ok(`{"ticket":"a","CSRFPreventionToken":"b"}`)
		}
		return reply{status: "401 No ticket"}
	})
	_, err := pve.client(t, withPassword(newManualClock())).Version(background())
	if !IsAuthentication(err) {
		t.Errorf("got %v, want an authentication error", err)
	}
	if n := len(pve.asked()); n != 4 {
		t.Errorf("requests: got %d, want 4: login, call, login, call", n)
	}
}

func TestLoginFailures(t *testing.T) {
	cases := map[string]struct {
		reason string
		login  reply
		class  Class
		text   string
	}{
		"Password": {
			reason: "PVE does not say what is wrong.", login: reply{status: "401 authentication failure", body: message("authentication failure")},
			class: ClassAuthentication, text: "login failed: authentication failure",
		},
		"TFA":      {reason: "A second factor cannot be given.", login: ok(`{"NeedTFA":1,"ticket":"PVE:!tfa!"}`), class: ClassAuthentication, text: "second factor"},
		"NoTicket": {reason: "Success without a ticket is none.", login: ok(`{}`), class: ClassAuthentication, text: "no ticket"},
		"Down": {
			reason: "A cluster that is down knows no passwords.", login: reply{status: "503 Service Unavailable"}, class: ClassUnavailable,
			text: "login failed",
		},
		"Cut": {reason: "A lost login is no lost call.", login: reply{cut: true}, class: ClassUnavailable, text: "login failed"},
		"Echo": {
			reason: "The password does not show, whatever PVE says.", login: reply{status: "400 bad '" + password + "'"}, class: ClassValidation,
			text: "bad '***'",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := newTicketPVE(t)
			pve.login.Store(&tc.login)
			_, err := pve.client(t, withPassword(newManualClock())).Start(background(), vm100)
			if ClassOf(err) != tc.class || !strings.Contains(fmt.Sprint(err), tc.text) {
				t.Errorf("%s\ngot %s: %v, want %s: …%s…", tc.reason, ClassOf(err), err, tc.class, tc.text)
			}
			hides(t, fmt.Sprint(err))
			if IsOutcomeUnknown(err) {
				t.Errorf("%s\nIsOutcomeUnknown(%v): got true, but the call itself was not sent", tc.reason, err)
			}
		})
	}
}

func TestRefusedLoginIsNotHammered(t *testing.T) {
	pve := newTicketPVE(t)
	clock := newManualClock()
	c := pve.client(t, withPassword(clock))
	pve.login.Store(&reply{status: "401 authentication failure"})
	for range 5 {
		if _, err := c.Version(background()); !IsAuthentication(err) {
			t.Fatalf("got %v, want an authentication error", err)
		}
	}
	if got := pve.logins(); got != 1 {
		t.Errorf("logins while the refusal holds: got %d, want 1", got)
	}
	clock.Add(transport.RefusalHold)
	pve.login.Store(nil)
	if _, err := c.Version(background()); err != nil {
		t.Errorf("after the refusal: %v", err)
	}
}

func TestRefusedTokenIsNotHammered(t *testing.T) {
	clock, calls, refuse := newManualClock(), 0, true
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; refuse {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `{"data":{"version":"9.0.3"}}`)
	}))
	defer s.Close()
	c, err := New(Config{
		Endpoints: []string{s.URL}, TLS: TLS{InsecureSkipVerify: true}, Clock: clock.Now,
		Credentials: Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(background(), Ref{Node: "pve2", VMID: 100}); !IsAuthentication(err) {
		t.Fatalf("got %v, want an authentication error", err)
	}
	for range 5 {
		if _, err := c.Version(background()); !IsAuthentication(err) {
			t.Fatalf("got %v, want an authentication error", err)
		}
	}
	if calls != 2 {
		t.Errorf("calls while the refusal holds: got %d, want 2: that of one node does not hold for others", calls)
	}
	clock.Add(transport.RefusalHold)
	refuse = false
	if _, err := c.Version(background()); err != nil {
		t.Errorf("after the refusal: %v", err)
	}
}

func TestOldTicketSurvivesFailedRenewal(t *testing.T) {
	for name, login := range map[string]reply{
		"Unavailable": {cut: true},
		"Refused":     {status: "401 authentication failure"},
	} {
		t.Run(name, func(t *testing.T) {
			pve := newTicketPVE(t)
			clock := newManualClock()
			c := pve.client(t, withPassword(clock))
			if _, err := c.Version(background()); err != nil {
				t.Fatal(err)
			}
			pve.login.Store(&login)
			clock.Add(90 * time.Minute)
			for range 2 {
				if _, err := c.Version(background()); err != nil {
					t.Errorf("with a ticket that PVE still accepts: %v", err)
				}
			}
			clock.Add(31 * time.Minute)
			if _, err := c.Version(background()); err == nil {
				t.Error("after the ticket's end: got success, want the login's error")
			}
		})
	}
}

func TestConcurrentCallsShareOneLogin(t *testing.T) {
	pve := newTicketPVE(t)
	clock := newManualClock()
	c := pve.client(t, withPassword(clock))
	for round, before := range []func(){func() {}, func() { clock.Add(transport.TicketRenew) }, pve.revoke} {
		before()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := c.Version(background()); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		if got := pve.logins(); got != round+1 {
			t.Errorf("round %d: got %d logins in all, want %d", round, got, round+1)
		}
	}
}

func TestCancelledCallDoesNotCancelLogin(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	pve := newFakePVE(t, func(a asked) reply {
		if a.path == ticketPath {
			close(entered)
			<-release
			return ok(`{"ticket":"a","CSRFPreventionToken":"b"}`)
		}
		return ok(`{"version":"9.2.11"}`)
	})
	c := pve.client(t, withPassword(newManualClock()))
	ctx, cancel := context.WithCancel(background())
	first := make(chan error)
	go func() { _, err := c.Version(ctx); first <- err }()
	<-entered
	cancel()
	if err := <-first; !IsUnavailable(err) {
		t.Errorf("cancelled call: got %v, want unavailable", err)
	}
	second := make(chan error)
	go func() { _, err := c.Version(background()); second <- err }()
	close(release)
	if err := <-second; err != nil {
		t.Errorf("call that waited for the other's login: %v", err)
	}
	if got := pve.count(http.MethodPost, ticketPath); got != 1 {
		t.Errorf("logins: got %d, want 1", got)
	}
}
