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

package simulator

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// Request is a request that the server has answered.
type Request struct {
	Time time.Time
	// Method is the HTTP method, Path the path below /api2/json.
	Method, Path string
	// Template is the path in the API description, such as "/nodes/{node}/qemu/{vmid}". It is empty for unknown paths.
	Template string
	// Params are the sent parameters, with secrets masked and lists joined with commas.
	Params map[string]string
	// User made the request: "user@realm" or "user@realm!token". It is empty without credentials.
	User string
	// Status and Message are the status line of the answer.
	Status  int
	Message string
	// Cut is true when a fault closed the connection instead of sending the answer.
	Cut bool
	// Bytes is the size of the answer's body before compression, Duration how long the answer took.
	Bytes    int
	Duration time.Duration
	// Node received the request.
	Node string
}

// requestLog stores the latest requests.
type requestLog struct {
	mu      sync.Mutex
	entries []Request
	// forgotten is the number of requests before the entries.
	forgotten int
	// counts holds the number of requests of each kind since the start or since they were cleared.
	counts map[requestSort]*requestCount
}

// requestSort identifies requests that are counted together.
type requestSort struct{ user, method, template string }

// requestCount holds the number of requests of a kind, and the bytes of their answers.
type requestCount struct{ requests, bytes int }

// maxRequests is the maximum number of stored requests. When it is exceeded, the older half is deleted.
const maxRequests = 100_000

// Requests returns the requests since the start or the last call of ClearRequests, in the order in which they ended.
func (s *Server) Requests() []Request {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return slices.Clone(s.requests.entries)
}

// ClearRequests deletes the stored requests.
func (s *Server) ClearRequests() {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	s.requests.forgotten += len(s.requests.entries)
	s.requests.entries, s.requests.counts = nil, nil
}

// record adds a request to the log. The entry contains the result, and the rest is taken from the request.
func (s *Server) record(r *wire.Request, e Request) {
	e.Time, e.Method, e.Node = s.Clock.Now(), r.Method, r.Endpoint
	e.Path, _ = apiPath(r)
	if r.Method != http.MethodGet {
		s.ChangeCount.Add(1)
	}
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	s.requests.add(e)
	if s.options.OnRequest != nil {
		s.options.OnRequest(e)
	}
}

func (l *requestLog) add(e Request) {
	if len(l.entries) >= maxRequests {
		l.entries = slices.Clone(l.entries[maxRequests/2:])
		l.forgotten += maxRequests / 2
	}
	l.entries = append(l.entries, e)
	l.count(e)
}

func (l *requestLog) count(e Request) {
	sort := requestSort{user: e.User, method: e.Method, template: e.Template}
	if l.counts == nil {
		l.counts = map[requestSort]*requestCount{}
	}
	if l.counts[sort] == nil {
		l.counts[sort] = &requestCount{}
	}
	l.counts[sort].requests++
	l.counts[sort].bytes += e.Bytes
}

// masked returns the parameters as texts, without secrets.
func masked(params schema.Values) map[string]string {
	out := map[string]string{}
	for name, v := range params {
		out[name] = engine.First(v)
		if strings.Contains(name, "password") || slices.Contains([]string{"ticket", "keyring", "encryption-key"}, name) {
			out[name] = "…"
		}
	}
	return out
}
