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
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// A Client talks to one PVE cluster. It is safe for concurrent use and meant to
// live long: it keeps connections, its ticket and what it knows of endpoints.
type Client struct {
	session *telmate.Session  // the library's, which makes requests
	library telmate.ClientNew // its typed interfaces, of which few are used
	http    *http.Client

	transport *transport.Transport
	limiter   *taskLimiter
	ownCalls  *ownCalls
	identity  Identity
	timeout   time.Duration
	userAgent string
	secrets   []string
	superuser bool
}

// New makes a Client. It checks the configuration and does no I/O.
func New(cfg Config) (*Client, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	chain, err := transport.New(cfg.transport())
	if err != nil {
		return nil, err
	}
	c := &Client{transport: chain, timeout: cfg.Timeout, userAgent: cfg.UserAgent, secrets: cfg.Credentials.Secrets()}
	c.superuser = cfg.Credentials.Token() == superuser+"!"
	c.identity = Identity{ID: cfg.Credentials.Identity(), Token: cfg.Credentials.TokenID != ""}
	c.limiter = newTaskLimiter(cfg.Limits, c.identity.ID, cfg.Clock)
	c.ownCalls = newOwnCalls(c.identity.ID, cfg.Clock)
	c.http = &http.Client{
		Transport:     chain,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, errors.Wrap(c.useLibrary(), "cannot set up the library")
}

// useLibrary gives our http.Client to the library. Of its typed interfaces few are used: see the package's documentation.
func (c *Client) useLibrary() error {
	var err error
	if c.session, err = telmate.NewSession(transport.Root().String(), c.http, "", nil); err != nil {
		return err
	}
	typed, err := telmate.NewClient(transport.Root().String(), c.http, "", nil, "", 0, false)
	if err != nil {
		return err
	}
	typed.Username, _, _ = strings.Cut(c.identity.ID, "!") // It panics without one.
	c.library = typed.New()
	return nil
}

// Close ends idle connections. The Client must not be used afterwards.
func (c *Client) Close() { c.transport.Close() }

// WakeWaiting has all who wait for a turn ask again, since another Client has taken
// the place of this one.
func (c *Client) WakeWaiting() { c.limiter.wakeAll() }

// do makes a request and decodes the answer's data into data, if not nil.
func (c *Client) do(ctx context.Context, r request, data any) error {
	if data == nil {
		return c.envelope(ctx, r, &struct{}{})
	}
	return c.call(ctx, r, func(ctx context.Context) error {
		body, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		return decodeData(body, data, r.writes())
	})
}

// decodeData decodes an answer's data. Writes may have none; a read that brings
// nothing must not pass for one of an empty thing.
func decodeData(body []byte, data any, optional bool) error {
	var answer struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if len(answer.Data) > 0 && string(answer.Data) != "null" {
		return json.Unmarshal(answer.Data, data)
	}
	if optional {
		return nil
	}
	return errors.New("answer has no data")
}

// envelope makes a request and decodes the whole answer.
func (c *Client) envelope(ctx context.Context, r request, answer any) error {
	return c.call(ctx, r, func(ctx context.Context) error {
		body, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, answer)
	})
}

// send makes the request with the library's session. GET and DELETE have no
// body, which PVE refuses; the others have a form of known length.
func (c *Client) send(ctx context.Context, r request) ([]byte, error) {
	header := http.Header{"Accept": {"application/json"}}
	var body io.Reader
	switch {
	case r.body != nil:
		header.Set("Content-Type", r.body.contentType)
		body = bytes.NewReader(r.body.content)
	case r.method == http.MethodPost || r.method == http.MethodPut:
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		body = strings.NewReader(encode(r.form))
	}
	if c.userAgent != "" {
		header.Set("User-Agent", c.userAgent)
	}
	req, err := c.session.NewRequest(ctx, r.method, c.session.ApiUrl+r.url(), &header, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req) //nolint:bodyclose // transport.ReadAll closes it.
	if err != nil {
		return nil, err
	}
	return transport.ReadAll(resp.Body)
}

func encode(form map[string]string) string {
	v := make(url.Values, len(form))
	for k, s := range form {
		v.Set(k, s)
	}
	return v.Encode()
}

// call runs fn, which makes one call, with a deadline. What the chain noted
// of it counts, not what the library made of that; a panic of the library is an
// unexpected answer.
func (c *Client) call(ctx context.Context, r request, fn func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	x := newCall(r, c.secrets)
	c.ownCalls.enter(r)
	defer func() { c.ownCalls.leave(r, err == nil || IsOutcomeUnknown(err)) }()
	defer func() {
		if p := recover(); p != nil {
			err = x.unexpected()
		}
	}()
	err = fn(transport.With(ctx, x.sent))
	if f := x.failed(); f != nil {
		return f
	}
	if f := (*transport.Failure)(nil); errors.As(err, &f) {
		return x.fail(f)
	}
	if err != nil {
		return x.unexpected()
	}
	return nil
}

// unexpected is the error of an answer that could not be understood. A write has
// run, or may have.
func (x *call) unexpected() *Error {
	if f := x.failed(); f != nil {
		return f
	}
	return x.fail(&transport.Failure{Status: http.StatusOK, Message: "unexpected answer", Sent: true})
}

// superuser is the one that PVE asks for no privileges.
const superuser = "root@pam"

// Superuser reports whether calls are made as root@pam, with its password. Some
// options are for it alone; its tokens do not count.
func (c *Client) Superuser() bool { return c.superuser }
