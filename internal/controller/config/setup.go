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

package config

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Setup returns a function that adds a controller of the kind in one scope to the manager.
func Setup[P any, O Observation](t Table[P, O]) func(ctrl.Manager, kind.Options, kind.Scope) error {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		id := s.Identity(t.Kind)
		c := &connector[P, O]{table: t, env: newEnv(mgr, o, s, id)}
		return kind.Setup(mgr, o, kind.Kind[Resource[P, O]]{Identity: id, PollInterval: pollInterval, External: c})
	}
}

// soon is the poll interval of a resource that is not ready.
const soon = 10 * time.Second

// pollInterval shortens the poll interval of a resource that is not ready.
func pollInterval(mg resource.Managed, d time.Duration) time.Duration {
	if mg.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
		return d
	}
	return min(d, soon)
}

// An env holds what all reconciles of a kind share.
type env struct {
	kube        client.Client
	scope       kind.Scope
	connections *connect.Connector
	metrics     *metrics.Metrics
	conflicts   kind.Conflicts
	record      event.Recorder
	now         func() time.Time
}

// access returns the access over a connection, if there is one.
func (e env) access(to *connect.Connection, fresh bool) Access {
	a := Access{Fresh: fresh, Kube: e.kube, Scope: e.scope, Metrics: e.metrics, Now: e.now}
	if to != nil {
		a.Client, a.Inventory = to.Client, to.Inventory
	}
	return a
}

func newEnv(mgr ctrl.Manager, o kind.Options, s kind.Scope, id kind.Identity) env {
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	return env{
		kube: mgr.GetClient(), scope: s, connections: o.Connections, metrics: o.Metrics,
		conflicts: kind.Conflicts{Reader: mgr.GetClient(), Lists: s.Lists(id.GroupVersionKind.Kind)},
		record:    event.NewAPIRecorder(mgr.GetEventRecorderFor(id.ControllerName())),
		now:       o.Clock(),
	}
}

// A connector creates the external client of each reconcile.
type connector[P any, O Observation] struct {
	env

	table Table[P, O]
}

// Connect connects to the cluster of the resource. A resource that is being deleted and has never created anything needs no connection.
func (c *connector[P, O]) Connect(ctx context.Context, mg Resource[P, O]) (managed.TypedExternalClient[Resource[P, O]], error) {
	e := &external[P, O]{env: c.env, table: c.table}
	if _, intends := kind.IntentOf(mg); meta.WasDeleted(mg) && !intends && meta.GetExternalName(mg) == "" {
		return e, nil
	}
	to, err := c.connections.Connect(ctx, mg)
	if err != nil {
		e.show(mg, xpv2.Unavailable().WithMessage(err.Error()), unknown(err))
		return nil, err
	}
	e.to = to
	return e, nil
}

// An external manages one object during one reconcile.
type external[P any, O Observation] struct {
	env

	table Table[P, O]
	to    *connect.Connection // Nil if nothing will be asked.

	// The results of Observe: the name of the object, and the changes to make.
	name string
	seen *proxmox.Object // Nil if there is none.

	// nodeGone is true if the object belongs to a node that is not a member of the cluster.
	nodeGone bool

	plan plan
}

// view returns the view of the object, for the functions of the table.
func (e *external[P, O]) view(mg Resource[P, O], fresh bool) View[P, O] {
	v := View[P, O]{
		Access: e.access(e.to, fresh), Resource: mg, Name: e.name, Exists: e.seen != nil, Endpoints: e.to.Config.Endpoints,
		SpecCounts: func(ctx context.Context) func(resource.Managed) bool {
			isolation := e.connections.Isolation(ctx, e.to)
			return func(other resource.Managed) bool { return isolation.SpecCounts(mg, other) }
		},
	}
	if e.seen != nil {
		v.Seen = e.seen.Settings
	}
	return v
}

// in returns the collection of the object.
func (e *external[P, O]) in(mg Resource[P, O]) proxmox.Collection {
	if e.table.In == nil {
		return e.table.Collection
	}
	return e.table.In(mg.Parameters())
}

// Disconnect does nothing: connections are shared.
func (e *external[P, O]) Disconnect(context.Context) error { return nil }

// sameCluster returns a function that reports whether another resource is in the same cluster: by the names of the clusters, or by the endpoints of
// its configuration if these are unknown.
func (e *external[P, O]) sameCluster(ctx context.Context, mg resource.Managed) func(resource.Managed) bool {
	shares := e.connections.Sharing(ctx, e.to.Config.Endpoints)
	own := mg.GetAnnotations()[kind.AnnotationCluster]
	return func(other resource.Managed) bool {
		if theirs := other.GetAnnotations()[kind.AnnotationCluster]; own != "" && theirs != "" {
			return own == theirs
		}
		return shares(other)
	}
}
