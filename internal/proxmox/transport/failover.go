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
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// retryDown is how long an endpoint that could not be reached is tried after all others.
const retryDown = 30 * time.Second

// failover sends requests to the first endpoint that can be reached, and requests for a node to the node's own endpoint if that is known. It never sends a
// request twice: it tries the next endpoint only if nothing was sent to the previous one.
//
// When no endpoint or a node can be reached, requests fail at once for a while: see circuit.
type failover struct {
	next    http.RoundTripper
	clock   func() time.Time
	cluster *circuit

	// cutOff reports whether a message comes from a node without quorum. It may be nil.
	cutOff func(string) bool

	mu        sync.Mutex
	endpoints []*Endpoint
	nodes     map[string]*circuit
	turn      int
}

// An Endpoint is an address of the cluster's API.
type Endpoint struct {
	url    *url.URL
	node   string    // its node, empty if that is not known
	down   time.Time // until when it is tried last
	silent int       // requests in a row without an answer
	cutOff bool      // has no quorum while another one has
}

func newFailover(urls []*url.URL, clock func() time.Time, next http.RoundTripper) *failover {
	f := &failover{next: next, clock: clock, cluster: &circuit{clock: clock}, nodes: map[string]*circuit{}}
	for _, u := range urls {
		f.endpoints = append(f.endpoints, &Endpoint{url: u})
	}
	return f
}

// pinKey is the context key for the endpoint of a request, whatever is known of the endpoint.
type pinKey struct{}

func (f *failover) RoundTrip(r *http.Request) (*http.Response, error) {
	if e, ok := r.Context().Value(pinKey{}).(*Endpoint); ok {
		resp, _, err := f.attempt(r, e)
		return resp, err
	}
	node := nodeOf(r)
	circuits := []*circuit{f.cluster}
	if node != "" {
		circuits = append(circuits, f.circuitOf(node))
	}
	for i, c := range circuits {
		if refused := c.enter(); refused != nil {
			leave(circuits[:i], noOutcome, nil)
			return nil, refused
		}
	}
	resp, v, err := f.route(r, node)
	if err != nil {
		leave(circuits, v, asFailure(err, true))
		return nil, err
	}
	f.cluster.leave(alive, nil)
	if node != "" {
		circuits[1].leave(outcomeFor(node, resp))
	}
	return resp, nil
}

func leave(circuits []*circuit, v outcome, f *Failure) {
	for _, c := range circuits {
		c.leave(v, f)
	}
}

// outcomeFor returns the outcome for a node from the answer of another node that could not reach it.
func outcomeFor(node string, resp *http.Response) (outcome, *Failure) {
	if resp.StatusCode != statusNoNode {
		return alive, nil
	}
	return dead, &Failure{Status: resp.StatusCode, Message: "node " + node + " cannot be reached: " + reason(resp)}
}

// statusNoNode is the answer of a node that cannot connect to the node of the request.
const statusNoNode = 595

// route tries one endpoint after another until one may have received the request.
func (f *failover) route(r *http.Request, node string) (*http.Response, outcome, error) {
	var first error
	for _, e := range f.order(node) {
		resp, v, err := f.attempt(r, e)
		if err == nil || v != dead {
			return resp, v, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, dead, first
}

// attempt sends the request to one endpoint and records the result.
func (f *failover) attempt(r *http.Request, e *Endpoint) (*http.Response, outcome, error) {
	resp, sent, err := f.try(r, e.url)
	switch {
	case err == nil:
		served(r, e)
		f.note(e, f.classify(r, resp))
		return resp, alive, nil
	case errors.Is(r.Context().Err(), context.Canceled):
		return nil, noOutcome, asFailure(err, sent)
	case sent:
		f.note(e, silent)
		return nil, silent, asFailure(err, sent)
	case r.Context().Err() != nil:
		f.note(e, dead)
		return nil, silent, at(e, asFailure(err, false))
	}
	f.note(e, dead)
	return nil, dead, at(e, asFailure(err, false))
}

// at adds the endpoint to the message of a failure.
func at(e *Endpoint, f *Failure) *Failure {
	f.Message = e.url.Host + ": " + f.Message
	return f
}

// classify derives the state of an endpoint from an answer. The endpoint counts as dead if it is a reverse proxy without its PVE, or a node that fails
// with a request which needs no other node, or that is cut off from the cluster.
func (f *failover) classify(r *http.Request, resp *http.Response) outcome {
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return dead
	case statusNoNode:
		if nodeOf(r) == "" {
			return dead
		}
	}
	if resp.StatusCode >= http.StatusInternalServerError && f.cutOff != nil && f.cutOff(reason(resp)) {
		return dead
	}
	return alive
}

// note records the current state of an endpoint.
func (f *failover) note(e *Endpoint, v outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch v {
	case alive:
		e.down, e.silent = time.Time{}, 0
	case dead:
		e.down = f.clock().Add(retryDown)
	case silent:
		if e.silent++; e.silent >= silences {
			e.down = f.clock().Add(retryDown)
		}
	case noOutcome:
	}
}

// order returns all endpoints in their configured order, but the node's own first, those that are down near the end, and those that are cut off last.
func (f *failover) order(node string) []*Endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock()
	var own, up, down, cutOff []*Endpoint
	for _, e := range f.endpoints {
		switch {
		case e.cutOff:
			cutOff = append(cutOff, e)
		case now.Before(e.down):
			down = append(down, e)
		case node != "" && e.node == node:
			own = append(own, e)
		default:
			up = append(up, e)
		}
	}
	return slices.Concat(own, up, down, cutOff)
}

// others returns the endpoints whose health is checked in addition to the one in use: all whose node is not known or that are down or cut off, and one of
// the others in turn.
func (f *failover) others(used *Endpoint) []*Endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	var doubtful, rest []*Endpoint
	for _, e := range f.endpoints {
		switch {
		case e == used:
		case e.node == "" || e.cutOff || !e.down.IsZero():
			doubtful = append(doubtful, e)
		default:
			rest = append(rest, e)
		}
	}
	f.turn++
	if len(rest) > 0 {
		doubtful = append(doubtful, rest[f.turn%len(rest)])
	}
	return doubtful
}

func (f *failover) circuitOf(node string) *circuit {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.nodes[node]
	if !ok {
		c = &circuit{clock: f.clock}
		f.nodes[node] = c
	}
	return c
}

// nodeOf returns the node of a request, or nothing if it is for no single node.
func nodeOf(r *http.Request) string {
	to := requestOf(r)
	if template(r) != to.Template || !strings.HasPrefix(to.Template, "/nodes/{node}/") || len(to.Args) == 0 {
		return ""
	}
	return to.Args[0]
}

// learn assigns nodes to endpoints by name or address, unless it was seen which node answers there.
func (f *failover) learn(nodes []Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.endpoints {
		for _, n := range nodes {
			host := e.url.Hostname()
			label, _, _ := strings.Cut(host, ".")
			if e.node == "" && (host == n.Address || strings.EqualFold(label, n.Name)) {
				e.node = n.Name
			}
		}
	}
}

// see records which node answers at an endpoint.
func (f *failover) see(e *Endpoint, nodes []Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		if n.Local {
			e.node = n.Name
		}
	}
}

// try sends the request to one endpoint and reports whether the endpoint may have received it.
func (f *failover) try(r *http.Request, to *url.URL) (*http.Response, bool, error) {
	// From here on it may be written, even after RoundTrip has returned.
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	out := r.Clone(ctx)
	out.Host = ""
	out.URL = below(to, r.URL)
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, false, err
		}
		out.Body = body
	}
	resp, err := f.next.RoundTrip(out)
	return resp, connected.Load() && !certificateRefused(err), err
}

// below returns u, which starts with root, for another endpoint.
func below(to, u *url.URL) *url.URL {
	out := *u
	out.Scheme, out.Host = to.Scheme, to.Host
	out.Path = to.Path + strings.TrimPrefix(u.Path, root.Path)
	out.RawPath = ""
	if u.RawPath != "" {
		out.RawPath = to.EscapedPath() + strings.TrimPrefix(u.RawPath, root.Path)
	}
	return &out
}

// root stands for the endpoint to which a request is finally sent.
//
//nolint:gochecknoglobals // A constant in all but name.
var root = &url.URL{Scheme: "https", Host: "pve", Path: apiPath}
