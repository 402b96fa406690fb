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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestTraced(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		err     error
		outcome error
		want    string
	}{
		"Done":    {reason: "What went well has no error."},
		"Failed":  {reason: "An error of the reconcile is the span's.", err: boom, want: "boom"},
		"Outcome": {reason: "An error that became a condition is the span's.", outcome: boom, want: "boom"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
			next := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, tc.err })
			request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team-a", Name: "web"}}
			ctx := withOutcome(t.Context(), &outcome{err: tc.outcome})
			if _, err := traced(tracer, "Machine", next).Reconcile(ctx, request); !errors.Is(err, tc.err) {
				t.Errorf("the error must be passed on, got %v", err)
			}
			spans := exporter.GetSpans()
			if len(spans) != 1 || spans[0].Name != "reconcile Machine" || spans[0].Status.Description != tc.want {
				t.Fatalf("%s got %+v", tc.reason, spans)
			}
			got := map[string]string{}
			for _, a := range spans[0].Attributes {
				got[string(a.Key)] = a.Value.String()
			}
			if diff := cmp.Diff(map[string]string{"k8s.namespace.name": "team-a", "k8s.object.kind": "Machine", "k8s.object.name": "web"}, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
