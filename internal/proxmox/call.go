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
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// A request to PVE, described.
type request struct {
	op     string            // what it does, for errors
	method string            // HTTP method
	path   string            // template
	args   []string          // values of the template's braces, in order
	query  url.Values        // for GET and DELETE
	form   map[string]string // for POST and PUT
	body   *body             // for POST, in place of a form
}

// url is the request's path and query below the API's root.
func (r request) url() string {
	parts := strings.Split(r.path, "/")
	args := r.args
	for i, p := range parts {
		if strings.HasPrefix(p, "{") && len(args) > 0 {
			parts[i], args = url.PathEscape(args[0]), args[1:]
		}
	}
	if len(r.query) == 0 {
		return strings.Join(parts, "/")
	}
	return strings.Join(parts, "/") + "?" + r.query.Encode()
}

func (r request) writes() bool { return r.method != http.MethodGet }

// secrets are the values of the form that must not be repeated in errors.
func (r request) secrets() []string {
	var s []string
	for k, v := range r.form {
		if secretParam(k) {
			s = append(s, v)
		}
	}
	return s
}

func secretParam(k string) bool {
	switch k {
	case "cipassword", "encryption-key", "http_proxy", "keyring", "password", "otp", "sshkeys", "vncpassword":
		return true
	}
	return false
}

// An call is one call of the Client and keeps the truth about it beside what
// the library gets to see.
type call struct {
	request request
	secrets []string

	mu      sync.Mutex
	failure *Error
}

type callKey struct{}

func withCall(ctx context.Context, x *call) context.Context {
	return context.WithValue(ctx, callKey{}, x)
}

// callFrom is the context's exchange. Requests that the library makes
// outside of one, of which there are none today, get an exchange of their own.
func callFrom(r *http.Request) *call {
	if x, ok := r.Context().Value(callKey{}).(*call); ok {
		return x
	}
	return &call{request: request{op: "talk to the PVE API", method: r.Method}}
}

// set notes how the exchange's latest request went. nil is success.
func (x *call) set(e *Error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failure = e
}

func (x *call) failed() *Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failure
}

// fail makes an error of this exchange from a failure below it.
func (x *call) fail(f *failure) *Error {
	e := &Error{
		Op: x.request.op, Method: x.request.method, Path: x.request.path,
		Status: f.status, Message: scrub(f.message, x.secrets), Problem: f.problem, sent: f.sent, cause: f.cause,
	}
	for k, v := range f.fields {
		if e.Fields == nil {
			e.Fields = make(map[string]string, len(f.fields))
		}
		e.Fields[scrub(k, x.secrets)] = scrub(v, x.secrets)
	}
	return e
}

// A failure is what a link of the chain reports upwards.
type failure struct {
	status  int               // 0: no answer
	message string            // stable
	fields  map[string]string // of a 400
	problem Problem           // why there was no answer
	sent    bool              // the request may have reached PVE
	unmade  bool              // there was no request, since the last one failed
	cause   error             // the context's error, if that was it
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.cause }
