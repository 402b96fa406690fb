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

	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
	"github.com/vitistack/provider-proxmox/internal/proxmox/owncalls"
	"github.com/vitistack/provider-proxmox/internal/proxmox/tasklimit"
	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
	"github.com/vitistack/provider-proxmox/internal/tracing"
)

// A Client talks to one PVE cluster. It is safe for concurrent use and should be long-lived, because it keeps connections, its ticket and the state of
// endpoints. Its methods are grouped like PVE's API.
type Client struct {
	*conn

	AccessAPI
	ClusterAPI
	GuestAPI
	HighAvailabilityAPI
	NetworkAPI
	NodeAPI
	ObjectAPI
	StorageAPI
	TaskAPI
}

// The areas of the API, which share one connection.
type (
	// AccessAPI reads the permissions of the user: /access.
	AccessAPI struct{ *conn }

	// ClusterAPI reads the cluster, its log and its lists, and reads and changes its options: /cluster.
	ClusterAPI struct{ *conn }

	// GuestAPI reads, changes and operates VMs: /nodes/{node}/qemu.
	GuestAPI struct{ *conn }

	// HighAvailabilityAPI reads and changes the resources of HA and its rules: /cluster/ha.
	HighAvailabilityAPI struct{ *conn }

	// NetworkAPI reads bridges and VNets: /nodes/{node}/network and /cluster/sdn.
	NetworkAPI struct{ *conn }

	// NodeAPI reads nodes, and reads and changes their settings: /nodes/{node}.
	NodeAPI struct{ *conn }

	// ObjectAPI reads and changes configuration objects and the members of pools: /storage, /pools, ….
	ObjectAPI struct{ *conn }

	// StorageAPI reads and changes the content of storages: /nodes/{node}/storage.
	StorageAPI struct{ *conn }

	// TaskAPI follows and stops tasks: /nodes/{node}/tasks and /cluster/tasks.
	TaskAPI struct{ *conn }
)

// newClient returns a Client that uses a connection.
func newClient(c *conn) *Client {
	return &Client{
		conn: c, AccessAPI: AccessAPI{c}, ClusterAPI: ClusterAPI{c}, GuestAPI: GuestAPI{c}, HighAvailabilityAPI: HighAvailabilityAPI{c},
		NetworkAPI: NetworkAPI{c}, NodeAPI: NodeAPI{c}, ObjectAPI: ObjectAPI{c}, StorageAPI: StorageAPI{c}, TaskAPI: TaskAPI{c},
	}
}

// A conn makes the calls of one Client. All of them go through do.
type conn struct {
	session *telmate.Session  // session of the library, which makes requests
	library telmate.ClientNew // typed interfaces of the library, of which few are used
	http    *http.Client

	transport *transport.Transport
	limiter   *tasklimit.Limiter[UPID]
	ownCalls  *owncalls.Calls[UPID]
	traced    *tracing.Tasks
	identity  Identity
	timeout   time.Duration
	userAgent string
	secrets   []string
	superuser bool
	clock     func() time.Time
	guard     func(guarded.Write) error
}

// New returns a Client. It checks the configuration and does no I/O.
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
	c := &conn{transport: chain, traced: &tracing.Tasks{}, clock: cfg.Clock, timeout: cfg.Timeout, userAgent: cfg.UserAgent, secrets: cfg.Credentials.Secrets()}
	c.superuser = cfg.Credentials.Token() == superuser+"!"
	c.identity = Identity{ID: cfg.Credentials.Identity(), Token: cfg.Credentials.TokenID != ""}
	c.limiter = tasklimit.New[UPID](taskLimits(cfg.Limits), c.identity.ID, cfg.Clock)
	c.ownCalls = owncalls.New[UPID](c.identity.ID, cfg.Clock)
	c.http = &http.Client{
		Transport:     chain,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return newClient(c), errors.Wrap(c.useLibrary(), "cannot set up the library")
}

// useLibrary gives our http.Client to the library. Few of the library's typed interfaces are used: see the package's documentation.
func (c *conn) useLibrary() error {
	var err error
	if c.session, err = telmate.NewSession(transport.Root().String(), c.http, "", nil); err != nil {
		return err
	}
	typed, err := telmate.NewClient(transport.Root().String(), c.http, "", nil, "", 0, false)
	if err != nil {
		return err
	}
	typed.Username, _, _ = strings.Cut(c.identity.ID, "!") // The library panics without one.
	c.library = typed.New()
	return nil
}

// Close closes idle connections. The Client must not be used afterwards.
func (c *Client) Close() { c.transport.Close() }

// WakeWaiting makes all who wait for a turn ask again, because another Client has replaced this one.
func (c *Client) WakeWaiting() { c.limiter.WakeAll() }

// do makes a request and decodes the answer's data into data, unless that is nil.
func (c *conn) do(ctx context.Context, r request, data any) error {
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

// decodeData decodes an answer's data. The answer to a write may have none. A read without data is an error, because it must not be taken for an empty
// object.
func decodeData(body []byte, data any, optional bool) error {
	answer := struct {
		Data payload `json:"data"`
	}{payload{into: data}}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if !answer.Data.there && !optional {
		return errors.New("answer has no data")
	}
	return nil
}

// A payload is decoded into another value, which stays unchanged if there is nothing to decode.
type payload struct {
	into  any
	there bool
}

// UnmarshalJSON is only called with valid JSON. Types with their own decoding need not check it again, which matters for the large answers of a large
// cluster.
func (p *payload) UnmarshalJSON(b []byte) error {
	if p.there = string(b) != "null"; !p.there {
		return nil
	}
	if into, decodes := p.into.(json.Unmarshaler); decodes {
		return into.UnmarshalJSON(b)
	}
	return json.Unmarshal(b, p.into)
}

// envelope makes a request and decodes the whole answer.
func (c *conn) envelope(ctx context.Context, r request, answer any) error {
	return c.call(ctx, r, func(ctx context.Context) error {
		body, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, answer)
	})
}

// send makes the request with the library's session. GET and DELETE have no body, because PVE rejects one. The other methods have a form of known length.
func (c *conn) send(ctx context.Context, r request) ([]byte, error) {
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

// Guarded returns a Client on the same connection that asks the guard before each write. If the guard returns an error, the write is not sent, and the
// call returns that error.
func (c *Client) Guarded(guard func(guarded.Write) error) *Client {
	with := *c.conn
	with.guard = guard
	return newClient(&with)
}

// checkGuard asks the guard, if there is one, whether a request may be sent.
func (c *conn) checkGuard(r request) error {
	if c.guard == nil || !r.writes() {
		return nil
	}
	form := guarded.Parameters(r.form, r.query)
	return c.guard(guarded.Write{Op: r.op, Method: r.method, Path: r.path, Args: r.args, Form: form, Resources: r.resources})
}

// call runs fn, which makes one call, with a deadline. The result is what the transport recorded, not what the library returns. A panic of the library or
// of a decoder at an unexpected answer becomes an error: in the goroutine of a caller it would end the provider, with its work for all clusters.
func (c *conn) call(ctx context.Context, r request, fn func(context.Context) error) (err error) {
	if err := c.checkGuard(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	x := newCall(r, c.secrets)
	c.ownCalls.Enter(r.own())
	defer func() { c.ownCalls.Leave(r.own(), err == nil || IsOutcomeUnknown(err)) }()
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

// unexpected returns the error for an answer that could not be understood. A write has run, or may have.
func (x *call) unexpected() *Error {
	if f := x.failed(); f != nil {
		return f
	}
	return x.fail(&transport.Failure{Status: http.StatusOK, Message: "unexpected answer", Sent: true})
}

// superuser is the user for whom PVE checks no privileges.
const superuser = "root@pam"

// Superuser reports whether calls are made as root@pam, with its password. Some options are reserved for that. The tokens of root@pam do not count.
func (c *Client) Superuser() bool { return c.superuser }

const (
	defaultTimeout = 30 * time.Second
	redacted       = "***"
)

// The configuration of the transport of a Client, and what it reports.
type (
	// Credentials of a PVE user or of one of its API tokens.
	Credentials = transport.Credentials

	// TLS settings of the connections to PVE.
	TLS = transport.TLS

	// Limits restrict how fast requests are made.
	Limits = transport.Limits

	// A Call describes one HTTP request that ended.
	Call = transport.Call

	// A Problem is a problem with the connection to PVE that has a specific remedy.
	Problem = transport.Problem
)

// Config describes how to reach one PVE cluster.
type Config struct {
	// Endpoints are the addresses of the cluster's API, tried in order:
	// https://host, https://host:8006, or the same with the path /api2 or
	// /api2/json. The port defaults to 8006. At least one is needed.
	Endpoints []string

	// Credentials to authenticate with.
	Credentials Credentials

	// TLS settings. The zero value verifies servers against the system's roots.
	TLS TLS

	// Timeout of one call, including its logins and attempts at other endpoints. A nearer deadline of the caller's context takes precedence. Defaults to 30
	// seconds.
	Timeout time.Duration

	// Limits of the request rate. The zero value sets no limit.
	Limits Limits

	// UserAgent to send. Defaults to Go's.
	UserAgent string

	// Observe, if set, is called after every HTTP request. It must be safe for concurrent use and must not block.
	Observe func(Call)

	// Clock returns the time. Defaults to time.Now.
	Clock func() time.Time
}

// transport returns the part of the configuration that the transport needs.
func (c Config) transport() transport.Config {
	return transport.Config{
		Endpoints: c.Endpoints, Credentials: c.Credentials, TLS: c.TLS, Timeout: c.Timeout, Limits: c.Limits,
		Observe: c.Observe, Clock: c.Clock, CutOff: noQuorum,
	}
}
