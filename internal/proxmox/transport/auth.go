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
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
)

const (
	// ticketLife is how long PVE accepts a ticket.
	ticketLife = 2 * time.Hour

	// TicketRenew is the age at which a ticket is replaced.
	TicketRenew = ticketLife / 2

	// RefusalHold is how long rejected credentials are not used again, however many resources need them. PVE delays the answer to a wrong password, and tools
	// that watch its log may lock us out.
	RefusalHold = 30 * time.Second

	loginPath = "/access/ticket"
)

// newAuthenticate authenticates requests with a token, or with tickets if there is none.
func newAuthenticate(c Credentials, timeout time.Duration, clock func() time.Time, next http.RoundTripper) http.RoundTripper {
	if c.TokenID != "" {
		return &tokenAuth{header: "PVEAPIToken=" + c.Token() + "=" + c.TokenSecret, clock: clock, next: next}
	}
	return &ticketAuth{credentials: c, timeout: timeout, clock: clock, next: next}
}

// tokenAuth adds an API token, which needs neither a login nor CSRF prevention.
type tokenAuth struct {
	header string
	clock  func() time.Time
	next   http.RoundTripper

	mu      sync.Mutex
	refused *Failure
	until   time.Time // when refused may be forgotten
}

func (a *tokenAuth) RoundTrip(r *http.Request) (*http.Response, error) {
	if anonymous(r) {
		return a.next.RoundTrip(r)
	}
	out := r.Clone(r.Context())
	out.Header.Set("Authorization", a.header)
	if f := a.held(); f != nil {
		return nil, f
	}
	resp, err := a.next.RoundTrip(out)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || ofOneNode(r) {
		return resp, err
	}
	return nil, a.hold(resp)
}

// ofOneNode reports whether a request is for one node. Such a node may be the only one that rejects a token, if it has lost the users of the cluster.
func ofOneNode(r *http.Request) bool {
	return r.Context().Value(pinKey{}) != nil || nodeOf(r) != ""
}

// held returns the rejection that still holds, if any.
func (a *tokenAuth) held() *Failure {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clock().Before(a.until) {
		return a.refused
	}
	return nil
}

// hold stores a rejection. The request was rejected before anything was executed.
func (a *tokenAuth) hold(resp *http.Response) error {
	body, err := ReadAll(resp.Body)
	if err != nil {
		return err
	}
	f := failureOf(resp, body)
	f.Sent = false
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused, a.until = f, a.clock().Add(RefusalHold)
	return f
}

// ticketAuth adds a ticket. Concurrent requests share one login.
type ticketAuth struct {
	credentials Credentials
	timeout     time.Duration
	clock       func() time.Time
	next        http.RoundTripper
	logins      singleflight.Group

	mu      sync.Mutex
	ticket  *ticket
	refused *Failure
	until   time.Time // when refused may be forgotten
}

type ticket struct {
	cookie, csrf string
	since        time.Time
}

func (a *ticketAuth) RoundTrip(r *http.Request) (*http.Response, error) {
	if anonymous(r) {
		return a.next.RoundTrip(r)
	}
	t, err := a.valid(r.Context())
	if err != nil {
		return nil, err
	}
	resp, err := a.send(r, t)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	// A 401 is returned before anything is executed, so even a write may be sent again, once.
	if _, err := ReadAll(resp.Body); err != nil {
		return nil, err
	}
	a.drop(t)
	if t, err = a.valid(r.Context()); err != nil {
		return nil, err
	}
	return a.send(r, t)
}

func (a *ticketAuth) send(r *http.Request, t *ticket) (*http.Response, error) {
	out := r.Clone(r.Context())
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	out.Header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(t.cookie))
	if r.Method != http.MethodGet {
		out.Header.Set("CSRFPreventionToken", t.csrf)
	}
	return a.next.RoundTrip(out)
}

// valid returns a ticket that PVE should accept, and logs in if necessary.
func (a *ticketAuth) valid(ctx context.Context) (*ticket, error) {
	t, err := a.known()
	if a.age(t) < TicketRenew {
		return t, nil
	}
	if err == nil {
		var fresh *ticket
		if fresh, err = a.login(ctx); err == nil {
			return fresh, nil
		}
	}
	if a.age(t) < ticketLife {
		return t, nil // An old ticket is valid until it expires.
	}
	return nil, err
}

// known returns the latest ticket, if any, and the rejection that still holds, if any.
func (a *ticketAuth) known() (*ticket, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused != nil && a.clock().Before(a.until) {
		return a.ticket, a.refused
	}
	return a.ticket, nil
}

// age returns the age of a ticket. A missing ticket counts as expired.
func (a *ticketAuth) age(t *ticket) time.Duration {
	if t == nil {
		return ticketLife
	}
	return a.clock().Sub(t.since)
}

// drop deletes a ticket that was not accepted, unless there is a newer one.
func (a *ticketAuth) drop(t *ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ticket == t {
		a.ticket = nil
	}
}

// login obtains a ticket. Concurrent callers wait for the same login, which does not end with the context of the first caller.
func (a *ticketAuth) login(ctx context.Context) (*ticket, error) {
	done := a.logins.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.timeout)
		defer cancel()
		return a.renew(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, &Failure{Message: "no login in time", Cause: ctx.Err()}
	case r := <-done:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*ticket), nil //nolint:forcetypeassert // What renew returns.
	}
}

// renew logs in, unless another login has ended since the caller checked.
func (a *ticketAuth) renew(ctx context.Context) (*ticket, error) {
	if t, err := a.known(); err != nil || a.age(t) < TicketRenew {
		return t, err
	}
	t, f := a.ask(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if f == nil {
		a.ticket, a.refused = t, nil
		return t, nil
	}
	if f.Status == http.StatusUnauthorized {
		a.refused, a.until = f, a.clock().Add(RefusalHold)
	}
	return nil, f
}

// ask makes one request for a ticket. A failure here means that the actual call was not sent.
func (a *ticketAuth) ask(ctx context.Context) (*ticket, *Failure) {
	form := url.Values{"username": {a.credentials.Username}, "password": {a.credentials.Password}}
	ctx = context.WithValue(ctx, templateKey{}, loginPath)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, root.String()+loginPath, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &Failure{Message: "login cannot be made into a request"}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	since := a.clock()
	resp, err := a.next.RoundTrip(r) //nolint:bodyclose // ReadAll closes it.
	if err != nil {
		return nil, loginFailure(asFailure(err, false))
	}
	body, err := ReadAll(resp.Body)
	if err != nil {
		return nil, loginFailure(asFailure(err, false))
	}
	if f := failureOf(resp, body); f != nil {
		return nil, loginFailure(f)
	}
	return readTicket(body, since)
}

func loginFailure(f *Failure) *Failure {
	out := *f
	out.Message, out.Sent = "login failed: "+f.Message, false
	return &out
}

func readTicket(body []byte, since time.Time) (*ticket, *Failure) {
	var answer struct {
		Data struct {
			Ticket  string       `json:"ticket"`
			CSRF    string       `json:"CSRFPreventionToken"`
			NeedTFA lenient.Flag `json:"NeedTFA"`
		} `json:"data"`
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case err == nil && bool(answer.Data.NeedTFA):
		return nil, &Failure{Status: http.StatusUnauthorized, Problem: ProblemSecondFactor, Message: "login failed: user needs a second factor; use an API token"}
	case err != nil || answer.Data.Ticket == "":
		return nil, &Failure{Status: http.StatusUnauthorized, Message: "login failed: answer has no ticket"}
	}
	return &ticket{cookie: answer.Data.Ticket, csrf: answer.Data.CSRF, since: since}, nil
}
