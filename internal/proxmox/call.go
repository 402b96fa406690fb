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
	"net/url"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// A request describes a request to PVE.
type request struct {
	op     string            // what it does, for errors
	method string            // HTTP method
	path   string            // template
	args   []string          // values of the template's braces, in order
	query  url.Values        // for GET and DELETE
	form   map[string]string // for POST and PUT
	body   *body             // for POST, in place of a form

	resources []string // of HA, for the guard
}

// url returns the request's path and query below the API's root.
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

// secrets returns the values of the form that must not be repeated in errors.
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

// A call is one call of the Client. Its transport request records whether it was sent and what the answer was, independently of the library's result.
type call struct {
	request request
	secrets []string
	sent    *transport.Request
}

func newCall(r request, secrets []string) *call {
	c := &call{request: r, secrets: append(r.secrets(), secrets...)}
	c.sent = &transport.Request{Template: r.path, Args: r.args, Scrub: func(s string) string { return scrub(s, c.secrets) }}
	return c
}

// failed returns why the call's latest request failed, or nil.
func (x *call) failed() *Error {
	if f := x.sent.Failed(); f != nil {
		return x.fail(f)
	}
	return nil
}

// fail returns an error of this call for a failure in the transport.
func (x *call) fail(f *transport.Failure) *Error {
	f = x.sent.Scrubbed(f)
	return &Error{
		Op: x.request.op, Method: x.request.method, Path: x.request.path,
		Status: f.Status, Message: f.Message, Fields: f.Fields, Problem: f.Problem, sent: f.Sent, cause: f.Cause,
	}
}

// The types of answers, which accept all forms of PVE.
type (
	text    = lenient.Text
	integer = lenient.Integer
	float   = lenient.Float
	flag    = lenient.Flag
)

type list[T any] = lenient.List[T]

func isObject(b []byte) bool { return lenient.IsObject(b) }
