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
	"sync"
)

// A Request holds what the transport needs to know of one call. It records whether the call was sent and what the answer was, independently of what the
// library sees.
type Request struct {
	// Template is the path with names in braces, Args are the values of these in order.
	Template string
	Args     []string

	// Scrub prepares a text for a condition.
	Scrub func(string) string

	mu      sync.Mutex
	failure *Failure
}

type requestKey struct{}

// With returns a context whose requests belong to a call.
func With(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the Request of the context, or an empty one.
func requestOf(r *http.Request) *Request {
	if x, ok := r.Context().Value(requestKey{}).(*Request); ok {
		return x
	}
	return &Request{}
}

// set records the result of the latest request, which is nil for success.
func (r *Request) set(f *Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = f
}

// Failed returns why the latest request failed, or nil.
func (r *Request) Failed() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// Scrubbed returns a failure whose texts may be shown.
func (r *Request) Scrubbed(f *Failure) *Failure {
	out := *f
	if r.Scrub == nil {
		return &out
	}
	out.Message, out.Fields = r.Scrub(f.Message), nil
	for k, v := range f.Fields {
		if out.Fields == nil {
			out.Fields = make(map[string]string, len(f.Fields))
		}
		out.Fields[r.Scrub(k)] = r.Scrub(v)
	}
	return &out
}

// A Failure is a failure that a link of the chain reports to its caller.
type Failure struct { //nolint:errname // It is what an error is made of, and a value besides.
	// Status is the HTTP status, 0 without an answer.
	Status int

	// Message is the message of PVE, or a stable text.
	Message string

	// Fields contains PVE's messages about single parameters.
	Fields map[string]string

	// Problem is why there was no answer.
	Problem Problem

	// Sent is true if the request may have reached PVE.
	Sent bool

	// Unmade is true if no request was made, because the previous one failed.
	Unmade bool

	// Cause is the error of the context, if that was the cause.
	Cause error
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// anonymousKey is the context key of requests without credentials.
type anonymousKey struct{}

// Anonymous returns a context whose requests are made without credentials.
func Anonymous(ctx context.Context) context.Context {
	return context.WithValue(ctx, anonymousKey{}, true)
}

func anonymous(r *http.Request) bool { return r.Context().Value(anonymousKey{}) != nil }
