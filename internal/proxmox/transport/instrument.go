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
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Call describes an HTTP request that has ended, for metrics.
type Call struct {
	// Method is the HTTP method.
	Method string

	// Path is the path's template, such as /nodes/{node}/qemu/{vmid}/config.
	Path string

	// Status is the HTTP status of the answer, or 0 if there was none.
	Status int

	// Duration from the start of the request to the head of its answer.
	Duration time.Duration
}

// instrument reports every request that passes it.
type instrument struct {
	next   http.RoundTripper
	report func(Call)
	clock  func() time.Time
}

func newInstrument(report func(Call), clock func() time.Time, next http.RoundTripper) http.RoundTripper {
	if report == nil {
		return next
	}
	return &instrument{next: next, report: report, clock: clock}
}

func (o *instrument) RoundTrip(r *http.Request) (*http.Response, error) {
	start := o.clock()
	resp, err := o.next.RoundTrip(r)
	call := Call{Method: r.Method, Path: template(r), Duration: o.clock().Sub(start)}
	var f *Failure
	switch {
	case err == nil:
		call.Status = resp.StatusCode
	case errors.As(err, &f) && f.Unmade:
		return nil, err
	}
	o.report(call)
	return resp, err
}

// template returns the path of the request without its values.
func template(r *http.Request) string {
	if t, ok := r.Context().Value(templateKey{}).(string); ok {
		return t
	}
	return requestOf(r).Template
}

// templateKey is the context key that overrides the template of a request, for logins.
type templateKey struct{}
