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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const upid = "UPID:pve1:0000C0DE:000F4240:67A00000:qmstart:100:root@pam!provider:"

func TestTasks(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	cases := map[string]struct {
		reason  string
		sampler sdktrace.Sampler
		ended   Task
		want    []string
		failed  bool
		took    time.Duration
	}{
		"Succeeded": {
			reason:  "A task is a span within that of the reconcile that started it, as long as it ran.",
			sampler: sdktrace.AlwaysSample(), ended: Task{UPID: upid, Type: "qmstart", Start: start, End: start.Add(3 * time.Second)},
			want: []string{"task qmstart"}, took: 3 * time.Second,
		},
		"Failed": {
			reason:  "The span of a task that failed says why.",
			sampler: sdktrace.AlwaysSample(), ended: Task{UPID: upid, Type: "qmstart", Start: start, End: start.Add(time.Second), Failure: "boom"},
			want: []string{"task qmstart"}, failed: true, took: time.Second,
		},
		"Foreign": {
			reason:  "A task that somebody else has started is in no trace.",
			sampler: sdktrace.AlwaysSample(), ended: Task{UPID: "UPID:other", Type: "qmstart", Start: start, End: start},
		},
		"NotSampled": {
			reason:  "A task of a reconcile that is not recorded is not recorded.",
			sampler: sdktrace.NeverSample(), ended: Task{UPID: upid, Type: "qmstart", Start: start, End: start},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(tc.sampler))
			ctx, reconcile := p.Tracer(Scope).Start(t.Context(), "reconcile Machine")
			var tasks Tasks
			tasks.Started(ctx, upid, start)
			reconcile.End()
			exporter.Reset()
			tasks.Ended(tc.ended)
			tasks.Ended(tc.ended) // An end that is reported twice counts once.
			var got []string
			for _, s := range exporter.GetSpans() {
				got = append(got, s.Name)
				if s.Parent.SpanID() != reconcile.SpanContext().SpanID() || s.EndTime.Sub(s.StartTime) != tc.took {
					t.Errorf("%s got a span in %s that took %s", tc.reason, s.Parent.SpanID(), s.EndTime.Sub(s.StartTime))
				}
				if failed := s.Status.Code == codes.Error; failed != tc.failed {
					t.Errorf("%s failed: want %t, got %t", tc.reason, tc.failed, failed)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTasksForget(t *testing.T) {
	p := sdktrace.NewTracerProvider()
	ctx, span := p.Tracer(Scope).Start(t.Context(), "reconcile Machine")
	defer span.End()
	var tasks Tasks
	now := time.Now()
	tasks.Started(ctx, "lost", now)
	tasks.Started(ctx, upid, now.Add(forgetAfter+time.Second))
	if len(tasks.started) != 1 {
		t.Errorf("a task whose end is never seen must be forgotten, got %d", len(tasks.started))
	}
}
