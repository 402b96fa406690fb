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

// Package kind contains what all controllers of managed resources share: Setup builds the
// managed reconciler, SetupStandalone has another one in its place, and each wrapper around them or
// around their clients has a file. shard.go
// decides which resources belong to this provider, backoff.go and poll_scaler.go when they
// are reconciled again, workers.go which of them there is a worker for, metrics.go counts, status_writer.go skips needless status updates,
// and crd_guard.go keeps what is deleted only because its CRD is.
package kind

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/metrics"
)

const (
	// minPollInterval is the shortest that a resource may ask for by annotation.
	minPollInterval = 10 * time.Second

	// timeout of a reconcile. Nothing in one waits for a task of PVE, so it is
	// only reached when PVE answers slowly.
	timeout = 2 * time.Minute

	// creationGracePeriod is how long a resource that was just created may be invisible. PVE's shared state is about ten seconds behind.
	creationGracePeriod = 10 * time.Second
)

// Options of all controllers.
type Options struct {
	controller.Options

	// Connections to PVE clusters.
	Connections *connect.Connector

	// Metrics of the provider. Defaults to metrics that are not served.
	Metrics *metrics.Metrics

	// Shard of the resources that this provider manages. Defaults to all.
	Shard Shard

	// PollScaler counts the resources of all kinds that share the global rate limiter. Defaults to a PollScaler of one kind.
	PollScaler *PollScaler

	// Definitions reads CustomResourceDefinitions from the API server, so that nothing in PVE is destroyed only because a definition is being deleted.
	// May be nil.
	Definitions client.Reader

	// Discovery replaces Definitions if the provider must not read them, as with Crossplane 1. May be nil.
	Discovery discovery.ServerResourcesInterface

	// FullResyncInterval is how often a VM is read without a sign of a change. Up to a fifth is added at random. Defaults to 30 minutes.
	FullResyncInterval time.Duration

	// Checksums reads the lists of checksums that Images name. By default it refuses addresses of this machine and link-local addresses.
	Checksums checksum.Fetcher

	// Holds finds the resources that block the removal of the VM of a Machine. Defaults to none.
	Holds Holds

	// Tracer creates the spans of reconciles. Nil disables tracing.
	Tracer trace.Tracer

	// Now returns the time. Defaults to the system's clock.
	Now func() time.Time
}

// Clock returns the function that returns the time.
func (o Options) Clock() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

// An Identity identifies a kind of managed resources.
type Identity struct {
	// GroupVersionKind of the resources.
	GroupVersionKind schema.GroupVersionKind

	// Object of the kind, and List of such objects, both empty.
	Object client.Object
	List   resource.ManagedList
}

// ControllerName returns the name of the kind's controller in logs, events and metrics.
func (id Identity) ControllerName() string {
	return managed.ControllerName(id.GroupVersionKind.GroupKind().String())
}

// A Kind defines the controller of a kind of managed resources.
type Kind[T resource.Managed] struct {
	Identity

	// External connects to the external resources.
	External managed.TypedExternalConnector[T]

	// Initializers run in this order before External connects. There are no other initializers: without any, a resource gets no external name by default.
	Initializers []managed.Initializer

	// PollInterval returns the interval after which a resource is reconciled again. Its argument is the configured interval, or a longer one if reconciles
	// of all resources at that interval would be more than half of the limit. Zero means the argument. A tenth is added or subtracted at random. May be nil.
	PollInterval managed.PollIntervalHook

	// ReportsChanges is true if External records an event for each change that it makes. Then there is no event that an update was requested.
	ReportsChanges bool

	// Wake receives objects to reconcile at once. The back-off of their failures is reset. Only the name and the namespace of an object matter, and they are
	// read later, so senders must not change the object. Sending blocks while the buffer of about a thousand is full, and before the controller is
	// started. May be nil.
	Wake <-chan ctrlevent.TypedGenericEvent[client.Object]
}

// Setup adds a controller of the kind to the manager.
func Setup[T resource.Managed](mgr ctrl.Manager, o Options, k Kind[T]) error {
	o, err := o.prepared(mgr, k.Identity)
	if err != nil {
		return err
	}
	k.PollInterval = jittered(o.PollScaler.interval(k.PollInterval, o.Clock()), random)
	r := newReconciler(mgr, o, k)
	b := newBuilder(mgr, o, k.Identity)
	if k.Wake != nil {
		b = b.WatchesRawSource(source.Channel(k.Wake, wake()))
	}
	w := &waker{}
	if o.Connections != nil && k.List != nil {
		o.Connections.OnRecovered(w.recovered(mgr.GetClient(), k.List, o.Logger))
	}
	return complete(mgr, o, k.Identity, b, w, r)
}

// prepared returns the options with their defaults, and starts to record the state of the kind.
func (o Options) prepared(mgr ctrl.Manager, id Identity) (Options, error) {
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	if err := recordState(mgr, o, id); err != nil {
		return o, err
	}
	if o.PollScaler == nil {
		o.PollScaler = NewPollScaler(o.GlobalRateLimiter)
	}
	return o, o.PollScaler.watch(mgr.GetCache(), o.Shard, id.Object)
}

// newBuilder returns the builder of a controller for the resources of this provider's shard.
func newBuilder(mgr ctrl.Manager, o Options, id Identity) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		Named(id.ControllerName()).
		For(id.Object, builder.WithPredicates(desiredStateChanged(), o.Shard.Predicate()))
}

// complete completes the controller with the wrappers of every reconciler.
func complete(mgr ctrl.Manager, o Options, id Identity, b *builder.Builder, w *waker, r reconcile.Reconciler) error {
	name := id.ControllerName()
	b = b.WatchesRawSource(source.Func(w.Start))
	timed := timedReconciler{next: traced(o.Tracer, id.GroupVersionKind.Kind, r), metrics: o.Metrics, controller: name}
	limiter := newBackoff(random)
	b = b.WithOptions(controllerOptions(o, limiter))
	p := newBackoffReconciler(timed, w.wake, limiter.noteStep, random, o.PollScaler.fullRound)
	limited := ratelimiter.NewReconciler(name, o.Shard.Reconciler(mgr.GetClient(), id.Object, laterLast(p)), o.GlobalRateLimiter)
	shared := newWorkers(o.MaxConcurrentReconciles, o.Clock()).reconciler(clusterOf(mgr.GetClient(), o.Connections, id.Object), limiter.postpone, limited)
	return errors.Wrapf(b.Complete(shared), "cannot add controller %q", name)
}

func newReconciler[T resource.Managed](mgr ctrl.Manager, o Options, k Kind[T]) reconcile.Reconciler {
	faults := newReportedErrors(o.Clock())
	kube := statusManager{Manager: mgr, faults: faults}
	opts := append(reconcilerOptions(mgr, o, k), managed.WithRecorder(filteringRecorder{
		next:    event.NewAPIRecorder(mgr.GetEventRecorderFor(k.ControllerName())),
		filters: append(slices.Clone(o.EventFilterFunctions), faults.needless(k.ReportsChanges), reportOnce(reasonDeleted)),
	}))
	opts = append(opts, creationOptions(kube.GetClient(), o)...)
	return managed.NewReconciler(kube, resource.ManagedKind(k.GroupVersionKind), opts...)
}

func reconcilerOptions[T resource.Managed](mgr ctrl.Manager, o Options, k Kind[T]) []managed.ReconcilerOption {
	name := k.ControllerName()
	c := counter{metrics: o.Metrics, controller: name}
	keeping := guardedConnector[T]{next: upToDateConnector[T]{next: k.External}, crd: newCRDGuard(mgr, o, k.Identity)}
	rename := managed.InitializerFn(func(ctx context.Context, mg resource.Managed) error {
		return RenameAnnotations(ctx, mgr.GetClient(), mg, FormerAnnotations())
	})
	opts := []managed.ReconcilerOption{
		managed.WithTypedExternalConnector(countingConnector[T]{next: keeping, counter: c}),
		managed.WithReferenceResolver(resolver{kube: mgr.GetClient(), sameTenant: o.SameTenant()}),
		managed.WithInitializers(counting(append([]managed.Initializer{rename}, k.Initializers...), c)...),
		managed.WithDeterministicExternalName(true),
		managed.WithPollInterval(o.PollInterval),
		managed.WithPollIntervalHook(k.PollInterval),
		managed.WithMinPollInterval(minPollInterval),
		managed.WithTimeout(timeout),
		managed.WithCreationGracePeriod(creationGracePeriod),
		managed.WithLogger(o.Logger.WithValues("controller", name)),
	}
	if o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		opts = append(opts, managed.WithManagementPolicies())
	}
	if o.MetricOptions != nil && o.MetricOptions.MRMetrics != nil {
		opts = append(opts, managed.WithMetricRecorder(o.MetricOptions.MRMetrics))
	}
	if o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(changeLogger{next: o.ChangeLogOptions.ChangeLogger}))
	}
	return opts
}

func newCRDGuard(mgr ctrl.Manager, o Options, id Identity) crdGuard {
	return crdGuard{
		reader: o.Definitions, mapper: mgr.GetRESTMapper(), discovery: o.Discovery, writer: mgr.GetClient(), kind: id.GroupVersionKind,
		requested: lru.New(mostRequested), listed: CachedLister(mgr.GetClient(), id.List),
	}
}

// recordState counts the resources by their state, for our metrics and crossplane-runtime's, whose own recorder would hold a copy of each
// resource.
func recordState(mgr ctrl.Manager, o Options, id Identity) error {
	m := o.MetricOptions
	if m == nil || m.MRStateMetrics == nil {
		return nil
	}
	r := conditionRecorder{
		reader: o.Shard.Client(mgr.GetClient()), list: id.List, gvk: id.GroupVersionKind.String(),
		interval: m.PollStateMetricInterval, metrics: o.Metrics, states: m.MRStateMetrics, log: o.Logger,
	}
	return errors.Wrapf(mgr.Add(r), "cannot count the conditions of %s", id.GroupVersionKind.Kind)
}
