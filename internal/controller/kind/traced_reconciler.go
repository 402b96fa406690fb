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

package kind

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// tracedReconciler creates a span for each reconcile.
type tracedReconciler struct {
	next   reconcile.Reconciler
	tracer trace.Tracer
	kind   string
}

// traced returns a reconciler with spans, or next if there is no tracer.
func traced(t trace.Tracer, kind string, next reconcile.Reconciler) reconcile.Reconciler {
	if t == nil {
		return next
	}
	return tracedReconciler{next: next, tracer: t, kind: kind}
}

// Reconcile reconciles in a separate span, which records the error that the managed reconciler turns into conditions.
func (t tracedReconciler) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	ctx, span := t.tracer.Start(ctx, "reconcile "+t.kind, trace.WithAttributes(
		attribute.String("k8s.namespace.name", r.Namespace),
		attribute.String("k8s.object.kind", t.kind),
		attribute.String("k8s.object.name", r.Name),
	))
	defer span.End()
	result, err := t.next.Reconcile(ctx, r)
	failure := err
	if of, ok := ctx.Value(outcomeKey{}).(*outcome); ok && failure == nil {
		failure = of.err
	}
	if failure != nil {
		span.SetStatus(codes.Error, failure.Error())
	}
	return result, err
}
