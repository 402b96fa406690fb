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

// Package transport carries requests to the API of one PVE cluster. It is a chain of http.RoundTrippers, from the outside in:
//
//	normalise       the library sees well-formed JSON, and never a transport
//	                error or an unfinished body, after which it would sleep and
//	                send a write again. The [Request] records the real result
//	authenticate    API token, or a ticket that it obtains and renews
//	limit           requests per second and concurrent ones, if configured
//	instrument      one report for each request that was made
//	tracer          a span for each request, within that of its context
//	failover        the node's own endpoint, or the next one if nothing was sent
//	                to it. Requests to a dead target fail at once
//	http.Transport  TLS and connections
//
// Limits and reports are inside authentication, so that logins and repetitions count as separate requests.
package transport

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Transport is the chain. It keeps connections, the ticket and the state of endpoints.
type Transport struct {
	http.RoundTripper

	connections *http.Transport
	failover    *failover
}

// New returns a Transport. It checks the configuration and does no I/O.
func New(c Config) (*Transport, error) {
	urls, err := c.urls()
	if err != nil {
		return nil, errors.Wrap(err, "cannot use endpoints")
	}
	if err := c.Credentials.validate(); err != nil {
		return nil, errors.Wrap(err, "cannot use credentials")
	}
	tlsConfig, err := c.TLS.config()
	if err != nil {
		return nil, errors.Wrap(err, "cannot use TLS settings")
	}
	t := &Transport{connections: newConnections(c.Timeout, len(urls))}
	t.connections.TLSClientConfig = tlsConfig
	t.failover = newFailover(urls, c.Clock, t.connections)
	t.failover.cutOff = c.CutOff
	next := newInstrument(c.Observe, c.Clock, tracer{t.failover})
	next = newLimit(c.Limits, next)
	next = newAuthenticate(c.Credentials, c.Timeout, c.Clock, next)
	t.RoundTripper = Normalise(next)
	return t, nil
}

// newConnections divides the timeout between n endpoints for connecting.
func newConnections(timeout time.Duration, n int) *http.Transport {
	share := min(10*time.Second, timeout/time.Duration(n+1))
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: share, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: share,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     idleTimeout,

		MaxResponseHeaderBytes: maxHeader,
	}
}

// idleTimeout closes idle connections before pveproxy does, after 5 seconds. The fate of a write on a connection that is just being closed is unknown.
const idleTimeout = 4 * time.Second

// Close closes idle connections.
func (t *Transport) Close() { t.connections.CloseIdleConnections() }

// A Node of the cluster, as it reports itself.
type Node struct {
	Name, Address string

	// Local is true for the node that answers.
	Local bool
}

// Order returns all endpoints, with those that are down at the end.
func (t *Transport) Order() []*Endpoint { return t.failover.order("") }

// Answers records that an endpoint, and therefore the cluster, answers.
func (t *Transport) Answers() { t.failover.cluster.leave(alive, nil) }

// Learn assigns nodes to endpoints by name or address.
func (t *Transport) Learn(nodes []Node) { t.failover.learn(nodes) }

// See records which node answers at an endpoint.
func (t *Transport) See(e *Endpoint, nodes []Node) { t.failover.see(e, nodes) }

// Pin returns a context whose requests go to one endpoint, whatever is known of it.
func Pin(ctx context.Context, e *Endpoint) context.Context {
	return context.WithValue(ctx, pinKey{}, e)
}

// String returns the endpoint as users write it.
func (e *Endpoint) String() string { return e.url.Scheme + "://" + e.url.Host }

// Root returns the URL that stands for the endpoint to which a request is finally sent.
func Root() *url.URL { return root }
