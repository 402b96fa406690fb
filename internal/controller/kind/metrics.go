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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Types of errors in addition to the classes of package proxmox.
const (
	// typeKubernetes is an error of the Kubernetes API.
	typeKubernetes = "Kubernetes"

	// typeConfiguration is a provider configuration that cannot be used.
	typeConfiguration = "Configuration"
)

// timedReconciler measures how long reconciles take.
type timedReconciler struct {
	next       reconcile.Reconciler
	metrics    *metrics.Metrics
	controller string
}

// Reconcile reconciles the request and measures how long it takes.
func (t timedReconciler) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	defer t.metrics.Reconcile(t.controller)()
	return t.next.Reconcile(ctx, r)
}

// An outcome keeps the error of a reconcile, which the managed reconciler turns
// into conditions.
type outcome struct {
	err error

	// missing reports that the object of the resource does not exist yet.
	missing bool

	// created reports that the error is one of a creation. Conditions with more detail are then lost, and the next observation shows them.
	created bool

	// deleting reports that a step of a deletion was done without an error.
	deleting bool
}

type outcomeKey struct{}

func withOutcome(ctx context.Context, o *outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, o)
}

// A counter counts the errors of one controller, which the managed reconciler
// turns into conditions and does not return.
type counter struct {
	metrics    *metrics.Metrics
	controller string
}

// count counts err, if it is not nil, and returns it. It becomes the outcome of the reconcile.
func (c counter) count(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	c.metrics.Error(typeOf(err), c.controller)
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		o.err = err
	}
	return err
}

// waits reports whether the call has to wait for its turn, or for the reason that a wait error names. That is not a failure, but it is the outcome of
// the reconcile, which determines when the next attempt is made.
func (c counter) waits(ctx context.Context, err error) bool {
	_, waits := proxmox.Waiting(err)
	waits = waits || IsWait(err)
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok && waits {
		o.err = err
	}
	return waits
}

// A waitError is an error that ends by itself.
type waitError struct{ error }

func (e waitError) Unwrap() error { return e.error }

// Wait returns an error that is not reported as one because it ends by itself. The resource is reconciled again as after an error, and its conditions
// show what it waits for.
func Wait(err error) error { return waitError{err} }

// IsWait reports whether an error was returned by Wait.
func IsWait(err error) bool { return errors.As(err, &waitError{}) }

func typeOf(err error) string {
	class := proxmox.ClassOf(err)
	switch {
	case class != proxmox.ClassUnknown:
		return string(class)
	case kerrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return typeKubernetes
	case connect.IsConfiguration(err):
		return typeConfiguration
	case errors.Is(err, context.DeadlineExceeded):
		return string(proxmox.ClassUnavailable) // regardless of which server was asked last
	default:
		return string(proxmox.ClassUnknown)
	}
}

func counting(in []managed.Initializer, c counter) []managed.Initializer {
	out := make([]managed.Initializer, 0, len(in))
	for _, i := range in {
		out = append(out, managed.InitializerFn(func(ctx context.Context, mg resource.Managed) error {
			return c.count(ctx, i.Initialize(ctx, mg))
		}))
	}
	return out
}

// countingConnector counts the errors of a connector and its clients.
type countingConnector[T resource.Managed] struct {
	next    managed.TypedExternalConnector[T]
	counter counter
}

// Connect connects with the next connector.
func (c countingConnector[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	client, err := c.next.Connect(ctx, mg)
	if err != nil {
		return nil, c.counter.count(ctx, err)
	}
	return countingClient[T]{next: client, counter: c.counter}, nil
}

type countingClient[T resource.Managed] struct {
	next    managed.TypedExternalClient[T]
	counter counter
}

// Observe observes with the next client. A resource that waits for its turn to be created is treated as existing and up to date, because
// crossplane-runtime takes an attempted creation for one that may have happened.
func (c countingClient[T]) Observe(ctx context.Context, mg T) (managed.ExternalObservation, error) {
	o, err := c.next.Observe(ctx, mg)
	if c.counter.waits(ctx, err) {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	if of, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		of.missing = !o.ResourceExists && err == nil
	}
	return o, c.counter.count(ctx, err)
}

// Create creates with the next client.
func (c countingClient[T]) Create(ctx context.Context, mg T) (managed.ExternalCreation, error) {
	o, err := c.next.Create(ctx, mg)
	if of, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		of.created = err != nil
	}
	return o, c.counter.count(ctx, err)
}

// Update updates with the next client.
func (c countingClient[T]) Update(ctx context.Context, mg T) (managed.ExternalUpdate, error) {
	o, err := c.next.Update(ctx, mg)
	if c.counter.waits(ctx, err) {
		return o, nil
	}
	return o, c.counter.count(ctx, err)
}

// Delete deletes with the next client.
func (c countingClient[T]) Delete(ctx context.Context, mg T) (managed.ExternalDelete, error) {
	o, err := c.next.Delete(ctx, mg)
	if of, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		of.deleting = err == nil
	}
	if c.counter.waits(ctx, err) {
		return o, nil
	}
	return o, c.counter.count(ctx, err)
}

// Disconnect disconnects the next client.
func (c countingClient[T]) Disconnect(ctx context.Context) error {
	return c.counter.count(ctx, c.next.Disconnect(ctx))
}
