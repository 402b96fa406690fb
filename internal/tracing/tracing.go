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

// Package tracing creates spans of reconciles, of their calls to Proxmox VE, and of the tasks that these start. It keeps no state: a span is recorded
// if the span of the context is.
package tracing

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the name of the instrumentation.
const Scope = "github.com/vitistack/provider-proxmox"

// service is the service of the spans, unless OTEL_SERVICE_NAME is set.
const service = "provider-proxmox"

// New returns a provider of tracers that sends spans by OTLP over HTTP. The variables OTEL_* of OpenTelemetry set the target, the headers and the
// sampling. Spans that cannot be sent are dropped. The caller must shut it down at the end.
func New(ctx context.Context, version string) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make an exporter of traces")
	}
	r, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, errors.Wrap(err, "cannot describe the source of traces")
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(r)), nil
}

// Child begins a span within that of the context. Nothing is recorded if the parent is not.
func Child(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(Scope).Start(ctx, name, options...) //nolint:spancheck // The caller ends it.
}
