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
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// retryDown is how long an endpoint that could not be reached is tried last.
const retryDown = 30 * time.Second

// failover sends requests to the first endpoint that can be reached. It never
// sends a request twice: the next endpoint is tried only when nothing went to
// the one before.
type failover struct {
	next  http.RoundTripper
	clock func() time.Time

	mu        sync.Mutex
	endpoints []*endpoint
}

type endpoint struct {
	url  *url.URL
	down time.Time // until when it is tried last
}

func newFailover(urls []*url.URL, clock func() time.Time, next http.RoundTripper) *failover {
	f := &failover{next: next, clock: clock}
	for _, u := range urls {
		f.endpoints = append(f.endpoints, &endpoint{url: u})
	}
	return f
}

func (f *failover) RoundTrip(r *http.Request) (*http.Response, error) {
	var first error
	for _, e := range f.order() {
		resp, sent, err := f.try(r, e.url)
		if err == nil || sent {
			f.mark(e, time.Time{})
		}
		switch {
		case err == nil:
			return resp, nil
		case sent || r.Context().Err() != nil:
			return nil, asFailure(err, sent)
		}
		f.mark(e, f.clock().Add(retryDown))
		if first == nil {
			first = &failure{message: e.url.Host + ": " + explain(err), cause: contextCause(err)}
		}
	}
	return nil, first
}

// order is all endpoints as configured, those that are down at the end.
func (f *failover) order() []*endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock()
	up, down := make([]*endpoint, 0, len(f.endpoints)), []*endpoint(nil)
	for _, e := range f.endpoints {
		if now.Before(e.down) {
			down = append(down, e)
			continue
		}
		up = append(up, e)
	}
	return append(up, down...)
}

func (f *failover) mark(e *endpoint, down time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.down = down
}

// try sends the request to one endpoint and says whether that may have got it.
func (f *failover) try(r *http.Request, to *url.URL) (*http.Response, bool, error) {
	// From here on it may be written, even after RoundTrip gave up.
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

// below is u, which starts with root, at another endpoint.
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

// root stands for whichever endpoint a request goes to in the end.
//
//nolint:gochecknoglobals // A constant in all but name.
var root = &url.URL{Scheme: "https", Host: "pve", Path: apiPath}
