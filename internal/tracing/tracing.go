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

// Package tracing makes spans of reconciles, of the calls of Proxmox VE in them, and of the
// tasks that these start. It keeps no state of its own: a span is recorded if the context
// has one that is.
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

// service is what the spans are of, unless OTEL_SERVICE_NAME says otherwise.
const service = "provider-proxmox"

// New returns a provider of tracers that sends spans by OTLP over HTTP. Where to, with which
// headers and how many of them is said by the variables OTEL_* of OpenTelemetry. What cannot be sent is
// dropped. Shut it down at the end.
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

// Child begins a span within that of the context. Nothing is recorded if that is not.
func Child(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(Scope).Start(ctx, name, options...) //nolint:spancheck // The caller ends it.
}
