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

package main

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/vitistack/provider-proxmox/internal/tracing"
	"github.com/vitistack/provider-proxmox/internal/version"
)

// flushTimeout limits how long sending the last spans may take.
const flushTimeout = 5 * time.Second

// newTracer returns a tracer for reconciles, or nil if tracing is off. Remaining spans are sent when the manager ends.
func newTracer(mgr ctrl.Manager, o options) (trace.Tracer, error) {
	if !o.EnableTracing {
		return nil, nil
	}
	p, err := tracing.New(context.Background(), version.String())
	if err != nil {
		return nil, err
	}
	flush := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := p.Shutdown(late); err != nil {
			mgr.GetLogger().Info("Cannot send the last spans", "error", err.Error())
		}
		return nil
	})
	if err := mgr.Add(flush); err != nil {
		return nil, errors.Wrap(err, "cannot add tracing")
	}
	return p.Tracer(tracing.Scope), nil
}
