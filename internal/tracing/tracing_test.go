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

package tracing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	var path, sent string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		path, sent = r.URL.Path, string(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab")
	p, err := New(t.Context(), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	ctx, outer := p.Tracer(Scope).Start(t.Context(), "outer")
	_, inner := Child(ctx, "inner")
	inner.End()
	outer.End()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if path != "/v1/traces" {
		t.Errorf("spans must go where the variables say, got %q", path)
	}
	for _, want := range []string{"outer", "inner", "provider-proxmox", "v1.2.3", "lab"} {
		if !strings.Contains(sent, want) {
			t.Errorf("what was sent lacks %q", want)
		}
	}
	if outer.SpanContext().TraceID() != inner.SpanContext().TraceID() {
		t.Error("a child must be in the trace of its parent")
	}
}

func TestChildOfNothing(t *testing.T) {
	if _, span := Child(t.Context(), "alone"); span.IsRecording() {
		t.Error("nothing must be recorded where the context has no span")
	}
}
