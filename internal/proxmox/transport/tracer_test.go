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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestTracer(t *testing.T) {
	answer := func(status int) roundTripper {
		return func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: status}, nil }
	}
	type span struct {
		Name   string
		Failed bool
		Values map[string]string
	}
	const name = "PUT /nodes/{node}/qemu/{vmid}/config"
	values := func(more map[string]string) map[string]string {
		more["http.request.method"], more["url.template"] = http.MethodPut, "/nodes/{node}/qemu/{vmid}/config"
		return more
	}
	cases := map[string]struct {
		reason string
		next   roundTripper
		want   span
	}{
		"Answer": {
			reason: "A span has the status.", next: answer(200),
			want: span{Name: name, Values: values(map[string]string{"http.response.status_code": "200"})},
		},
		"Refusal": {
			reason: "A refusal is an error.", next: answer(403),
			want: span{Name: name, Failed: true, Values: values(map[string]string{"http.response.status_code": "403"})},
		},
		"Failure": {
			reason: "No answer is an error.", next: func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") },
			want: span{Name: name, Failed: true, Values: values(map[string]string{})},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
			ctx, reconcile := p.Tracer("test").Start(t.Context(), "reconcile")
			ctx = With(ctx, &Request{Template: "/nodes/{node}/qemu/{vmid}/config"})
			r, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://pve/api2/json/nodes/n1/qemu/100/config?cipassword="+password, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := (tracer{tc.next}).RoundTrip(r); err == nil && resp == nil {
				t.Fatal("want an answer or an error")
			}
			reconcile.End()
			var got span
			for _, s := range exporter.GetSpans() {
				if s.Name == "reconcile" {
					continue
				}
				got = span{Name: s.Name, Failed: s.Status.Code == codes.Error, Values: map[string]string{}}
				for _, a := range s.Attributes {
					got.Values[string(a.Key)] = a.Value.String()
					hides(t, a.Value.String())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
