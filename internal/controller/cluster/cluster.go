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

// Package cluster looks after Proxmox VE clusters: their health, what is expected
// of them, and their options.
package cluster

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Cluster is a ProxmoxCluster of either scope.
type Cluster interface {
	resource.Managed

	Parameters() *v1alpha1.ProxmoxClusterParameters
	Observation() *v1alpha1.ProxmoxClusterObservation
}

// A Client reads and changes a PVE cluster.
type Client interface {
	ClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error)
	ClusterOptions(ctx context.Context) (proxmox.Settings, error)
	SetClusterOptions(ctx context.Context, change proxmox.Change) error
}

// An Inventory is the shared view of a PVE cluster.
type Inventory interface {
	Version(ctx context.Context) (proxmox.Version, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Bridges(ctx context.Context, node string, maxAge time.Duration) ([]proxmox.Bridge, error)
	VNets(ctx context.Context) ([]proxmox.VNet, error)
	HAStatus(ctx context.Context) (proxmox.HAStatus, error)
	Fingerprints(ctx context.Context) (map[string]string, error)
	ClusterOptions(ctx context.Context) (proxmox.Settings, error)
	InvalidateOptions()
}

// Setup adds a controller of ProxmoxClusters of one scope to the manager. The
// lists are those of ProxmoxClusters in all scopes.
func Setup(mgr ctrl.Manager, o kind.Options, id kind.Identity, lists []resource.ManagedList) error {
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	c := &connector{
		kube:    mgr.GetClient(),
		connect: o.Connections.Connect,
		peers:   kind.Conflicts{Reader: mgr.GetClient(), Lists: lists},
		metrics: o.Metrics,
		record:  event.NewAPIRecorder(mgr.GetEventRecorderFor(id.ControllerName())),
		now:     time.Now,
	}
	return kind.Setup(mgr, o, kind.Kind[Cluster]{Identity: id, External: c})
}

// A connector makes the external of each reconcile.
type connector struct {
	kube    client.Client
	connect func(context.Context, resource.Managed) (*connect.Connection, error)
	peers   kind.Conflicts
	metrics *metrics.Metrics
	record  event.Recorder
	now     func() time.Time
}

// Connect to the cluster. One whose deletion changes nothing needs no connection.
func (c *connector) Connect(ctx context.Context, m Cluster) (managed.TypedExternalClient[Cluster], error) {
	e := &external{kube: c.kube, peers: c.peers, metrics: c.metrics, record: c.record, now: c.now}
	if meta.WasDeleted(m) && !resets(m) {
		return e, nil
	}
	to, err := c.connect(ctx, m)
	if err != nil {
		e.unreachable(m, err)
		return nil, err
	}
	e.client, e.inventory = to.Client, to.Inventory
	return e, nil
}

// resets reports whether the options go with the resource.
func resets(m Cluster) bool {
	p := m.Parameters()
	return p.Options != nil && p.OnDelete != nil && *p.OnDelete == v1alpha1.OnDeleteReset
}

// nameOf a ProxmoxCluster in metrics.
func nameOf(m Cluster) string {
	if m.GetNamespace() == "" {
		return m.GetName()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// Reasons why a ProxmoxCluster is not ready.
const (
	ReasonNoQuorum xpv2.ConditionReason = "NoQuorum"
	ReasonMissing  xpv2.ConditionReason = "Missing"
	ReasonConflict xpv2.ConditionReason = "Conflict"
)
