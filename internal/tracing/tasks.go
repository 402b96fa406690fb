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
	"context"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// forgetAfter limits the wait for the end of a task.
const forgetAfter = 24 * time.Hour

// A Task is a task of Proxmox VE that has ended.
type Task struct {
	// UPID, Node, Type and ID of the task.
	UPID, Node, Type, ID string

	// Start and End of the task. If they are not known, they are the times at which its start and end were observed.
	Start, End time.Time

	// Failure is the reason why the task failed; empty if it did not.
	Failure string
}

// Tasks has the tasks that were started in recorded spans. The end of a task is observed long after the reconcile that started it, so its span is
// created then, as a child of the reconcile's span. The zero value is ready for use.
type Tasks struct {
	mu      sync.Mutex
	started map[string]startedTask
}

type startedTask struct {
	in trace.Span
	at time.Time
}

// Started records that a task was started in the span of the context, if that span is recorded.
func (t *Tasks) Started(ctx context.Context, upid string, now time.Time) {
	in := trace.SpanFromContext(ctx)
	if !in.SpanContext().IsSampled() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started == nil {
		t.started = map[string]startedTask{}
	}
	maps.DeleteFunc(t.started, func(_ string, s startedTask) bool { return now.Sub(s.at) > forgetAfter })
	t.started[upid] = startedTask{in: in, at: now}
}

// Ended creates the span of a task, if it was started in a recorded one.
func (t *Tasks) Ended(task Task) {
	t.mu.Lock()
	s, ok := t.started[task.UPID]
	delete(t.started, task.UPID)
	t.mu.Unlock()
	if !ok {
		return
	}
	if task.Start.IsZero() {
		task.Start = s.at
	}
	_, span := Child(trace.ContextWithSpan(context.Background(), s.in), "task "+task.Type, trace.WithTimestamp(task.Start), trace.WithAttributes(
		attribute.String("proxmox.upid", task.UPID),
		attribute.String("proxmox.node", task.Node),
		attribute.String("proxmox.task.type", task.Type),
		attribute.String("proxmox.task.id", task.ID),
	))
	if task.Failure != "" {
		span.SetStatus(codes.Error, task.Failure)
	}
	if task.End.IsZero() {
		span.End()
		return
	}
	span.End(trace.WithTimestamp(task.End))
}
