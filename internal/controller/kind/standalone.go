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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Standalone is a kind with a separate reconciler, because its resources stand for nothing in Proxmox VE.
type Standalone struct {
	Identity

	// Owned is an empty object of the kind that the resources own. When one changes, its owner is reconciled.
	Owned client.Object

	// Reconciler returns the reconciler of the kind.
	Reconciler func(Parts) reconcile.Reconciler
}

// Parts holds what such a reconciler shares with the managed one.
type Parts struct {
	// Client skips writing a status that has not changed.
	Client client.Client

	// Direct reads from the API server, not from the cache.
	Direct client.Reader

	// Recorder of the events.
	Recorder event.Recorder

	// Paused reports whether a resource is not to be reconciled.
	Paused func(resource.Managed) bool

	// Interval returns the poll interval of a resource.
	Interval func(resource.Managed) time.Duration

	// Failed counts an error.
	Failed func(error)

	// Fault reports in an event how a reconcile has ended. An error is reported once until a reconcile has ended without one, which nil reports.
	Fault func(resource.Managed, error)

	// DeletedWithCRD returns an error if a resource is deleted only because its definition is, or if that is unknown.
	DeletedWithCRD func(context.Context, resource.Managed) error
}

// SetupStandalone adds a controller of the kind to the manager.
func SetupStandalone(mgr ctrl.Manager, o Options, k Standalone) error {
	o, err := o.prepared(mgr, k.Identity)
	if err != nil {
		return err
	}
	name := k.ControllerName()
	record := event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)
	interval := jittered(o.PollScaler.interval(nil, o.Clock()), random)
	r := k.Reconciler(Parts{
		Client:         statusManager{Manager: mgr}.GetClient(),
		Direct:         mgr.GetAPIReader(),
		Recorder:       record,
		Paused:         o.paused,
		Interval:       func(mg resource.Managed) time.Duration { return interval(mg, o.PollInterval) },
		Failed:         func(err error) { o.Metrics.Error(typeOf(err), name) },
		Fault:          newReportedErrors(o.Clock()).reporter(record),
		DeletedWithCRD: newCRDGuard(mgr, o, k.Identity).deletedWithCRD,
	})
	return complete(mgr, o, k.Identity, newBuilder(mgr, o, k.Identity).Owns(k.Owned), &waker{}, r)
}

// paused reports whether the managed reconciler would consider a resource paused: by the annotation, or by management policies that allow nothing.
func (o Options) paused(mg resource.Managed) bool {
	policies := managed.NewManagementPoliciesResolver(o.Features.Enabled(feature.EnableBetaManagementPolicies), mg.GetManagementPolicies())
	return meta.IsPaused(mg) || policies.IsPaused()
}
