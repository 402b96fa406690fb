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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// Request is a request that the server has answered.
type Request struct {
	Time time.Time
	// Method is the HTTP method, Path the path below /api2/json.
	Method, Path string
	// Template is the path as the API description has it, such as "/nodes/{node}/qemu/{vmid}"; empty for unknown paths.
	Template string
	// Params are the parameters that were sent, secrets masked; lists are joined with commas.
	Params map[string]string
	// User made the request: "user@realm" or "user@realm!token"; empty without credentials.
	User string
	// Status and Message are the status line of the answer.
	Status  int
	Message string
	// Node took the request.
	Node string
}

// requestLog remembers the latest requests.
type requestLog struct {
	mu      sync.Mutex
	entries []Request
}

// maxRequests is how many requests are remembered; older ones are forgotten by halves.
const maxRequests = 100_000

// Requests returns the requests since the start or the last call of ClearRequests, in the order of their ends.
func (s *Server) Requests() []Request {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return slices.Clone(s.requests.entries)
}

// ClearRequests forgets the requests so far.
func (s *Server) ClearRequests() {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	s.requests.entries = nil
}

func (s *Server) record(r *wire.Request, template string, who identity, params schema.Values, status int, reason string) {
	path, _ := apiPath(r)
	e := Request{
		Time: s.clock.Now(), Method: r.Method, Path: path, Template: template, Params: masked(params),
		User: string(who), Status: status, Message: reason, Node: r.Endpoint,
	}
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	if len(s.requests.entries) >= maxRequests {
		s.requests.entries = slices.Clone(s.requests.entries[maxRequests/2:])
	}
	s.requests.entries = append(s.requests.entries, e)
	if s.options.OnRequest != nil {
		s.options.OnRequest(e)
	}
}

// masked returns the parameters as texts, without secrets.
func masked(params schema.Values) map[string]string {
	out := map[string]string{}
	for name, v := range params {
		out[name] = first(v)
		if strings.Contains(name, "password") || name == "ticket" {
			out[name] = "…"
		}
	}
	return out
}
