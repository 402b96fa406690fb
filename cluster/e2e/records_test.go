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

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A changeLog keeps what the provider sends to Crossplane's change log service, which it stands in for.
type changeLog struct {
	changelogs.UnimplementedChangeLogServiceServer

	mu      sync.Mutex
	entries []*changelogs.ChangeLogEntry
}

// SendChangeLog keeps the entry.
func (c *changeLog) SendChangeLog(_ context.Context, r *changelogs.SendChangeLogRequest) (*changelogs.SendChangeLogResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, r.GetEntry())
	return &changelogs.SendChangeLogResponse{}, nil
}

// all returns the entries so far. More may come meanwhile.
func (c *changeLog) all() []*changelogs.ChangeLogEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries)
}

// of returns the entries of one resource.
func (c *changeLog) of(name string) []*changelogs.ChangeLogEntry {
	return slices.DeleteFunc(c.all(), func(e *changelogs.ChangeLogEntry) bool { return e.GetName() != name })
}

// traces keeps the spans that the provider sends, as a collector of OpenTelemetry.
type traces struct {
	mu    sync.Mutex
	spans []*tracev1.Span
}

// ServeHTTP takes spans by OTLP over HTTP.
func (c *traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range sent.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// within reports whether there is a span of that name within a reconcile of a resource.
func (c *traces) within(resource, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	reconciles := map[string]bool{}
	for _, s := range c.spans {
		for _, a := range s.GetAttributes() {
			if a.GetKey() == "k8s.object.name" && a.GetValue().GetStringValue() == resource {
				reconciles[string(s.GetSpanId())] = true
			}
		}
	}
	return slices.ContainsFunc(c.spans, func(s *tracev1.Span) bool { return s.GetName() == name && reconciles[string(s.GetParentSpanId())] })
}

// startRecorders starts what receives changes and traces, and has the provider send them there.
func (s *suite) startRecorders() error {
	dir, err := os.MkdirTemp("", "changelogs") // The path of a socket is at most 108 bytes.
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, "changelogs.sock")
	l, err := (&net.ListenConfig{}).Listen(s.ctx, "unix", socket)
	if err != nil {
		return err
	}
	s.changes, s.traces = &changeLog{}, &traces{}
	server := grpc.NewServer()
	changelogs.RegisterChangeLogServiceServer(server, s.changes)
	go server.Serve(l) //nolint:errcheck // It ends with the tests.
	web := httptest.NewServer(s.traces)
	s.OnClose("recorders", func() error {
		server.Stop()
		web.Close()
		return os.RemoveAll(dir)
	})
	s.spec.Args = append(s.spec.Args, "--enable-changelogs", "--changelogs-socket-path="+socket, "--enable-tracing")
	s.spec.Env = append(s.spec.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+web.URL)
	return nil
}

// testRecords sees that changes and traces tell of a Machine's life, and that nothing of the whole run tells a secret there.
func (s *suite) testRecords(t *testing.T) {
	const name = "recorded"
	keys := s.apply(t, []*unstructured.Unstructured{newMachine(name, map[string]any{"template": "debian-13", "memory": "1Gi"})})
	s.untilComplete(t, keys)
	changed := newMachine(name, map[string]any{"template": "debian-13", "memory": "2Gi"})
	s.apply(t, []*unstructured.Unstructured{changed})
	s.until(t, func() string {
		if slices.ContainsFunc(s.changes.of(name), func(e *changelogs.ChangeLogEntry) bool {
			return e.GetOperation() == changelogs.OperationType_OPERATION_TYPE_UPDATE && strings.Contains(e.GetAdditionalDetails()["difference"], "memory 1024 → 2048")
		}) {
			return ""
		}
		return "the change log lacks the changed memory"
	})
	s.remove(t, changed)
	s.untilGone(t, keys)
	s.until(t, func() string {
		for _, span := range []string{"POST /nodes/{node}/qemu/{vmid}/clone", "task qmclone", "DELETE /nodes/{node}/qemu/{vmid}", "task qmdestroy"} {
			if !s.traces.within(name, span) {
				return "the traces of the Machine lack " + span
			}
		}
		return ""
	})
	operations := map[changelogs.OperationType]bool{}
	for _, e := range s.changes.of(name) {
		operations[e.GetOperation()] = true
	}
	if len(operations) != 3 {
		t.Errorf("the change log must have a creation, changes and a deletion, got %v", operations)
	}
	s.testRecordsAreSafe(t)
}

func (s *suite) testRecordsAreSafe(t *testing.T) {
	t.Helper()
	for _, e := range s.changes.all() {
		if s.tells(protojson.Format(e)) {
			t.Errorf("the change log of %s tells a secret", e.GetName())
		}
	}
	s.traces.mu.Lock()
	defer s.traces.mu.Unlock()
	for _, span := range s.traces.spans {
		if s.tells(protojson.Format(span)) {
			t.Errorf("the span %s tells a secret", span.GetName())
		}
	}
}
