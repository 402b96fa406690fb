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
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// A changeLog replaces Crossplane's change log service and keeps what the provider sends to it.
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

// traces keeps the spans that the provider sends to a receiver of OpenTelemetry's collector.
type traces struct {
	receiver receiver.Traces
	sink     consumertest.TracesSink
}

// start starts the receiver of OTLP over HTTP, and returns its URL.
func (c *traces) start(ctx context.Context) (string, error) {
	address, err := process.FreeAddress()
	if err != nil {
		return "", err
	}
	factory := otlpreceiver.NewFactory()
	config, ok := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	if !ok {
		return "", fmt.Errorf("the receiver has another configuration: %T", factory.CreateDefaultConfig())
	}
	config.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = address
	c.receiver, err = factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, &c.sink)
	if err != nil {
		return "", err
	}
	return "http://" + address, c.receiver.Start(ctx, componenttest.NewNopHost())
}

// spans returns the spans so far. More may come meanwhile.
func (c *traces) spans() []ptrace.Span {
	var all []ptrace.Span
	for _, t := range c.sink.AllTraces() {
		for _, resource := range t.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					all = append(all, span)
				}
			}
		}
	}
	return all
}

// within reports whether there is a span of that name within a reconcile of a resource.
func (c *traces) within(resource, name string) bool {
	spans, reconciles := c.spans(), map[pcommon.SpanID]bool{}
	for _, s := range spans {
		if of, ok := s.Attributes().Get("k8s.object.name"); ok && of.Str() == resource {
			reconciles[s.SpanID()] = true
		}
	}
	return slices.ContainsFunc(spans, func(s ptrace.Span) bool { return s.Name() == name && reconciles[s.ParentSpanID()] })
}

// startRecorders starts the receivers of changes and traces, and configures the provider to send them there.
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
	url, err := s.traces.start(s.ctx)
	if err != nil {
		return err
	}
	s.OnClose("recorders", func() error {
		server.Stop()
		return errors.Join(s.traces.receiver.Shutdown(context.Background()), os.RemoveAll(dir))
	})
	s.spec.Args = append(s.spec.Args, "--enable-changelogs", "--changelogs-socket-path="+socket, "--enable-tracing")
	s.spec.Env = append(s.spec.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+url)
	return nil
}

// testRecords checks that changes and traces show a Machine's life cycle, and contain no secrets of the whole run.
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
	var writer ptrace.JSONMarshaler
	for _, sent := range s.traces.sink.AllTraces() {
		text, err := writer.MarshalTraces(sent)
		if err != nil {
			t.Fatal(err)
		}
		if s.tells(string(text)) {
			t.Errorf("the traces tell a secret:\n%s", text)
		}
	}
}
