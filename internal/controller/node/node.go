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

// Package node looks after the nodes of Proxmox VE clusters: what they have, what
// is placed on them, and their own settings.
package node

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Node is a ProxmoxNode of either scope.
type Node interface {
	resource.Managed

	Parameters() *v1alpha1.ProxmoxNodeParameters
	Observation() *v1alpha1.ProxmoxNodeObservation
}

// A Client reads and changes a node.
type Client interface {
	Settings

	SetNodeConfig(ctx context.Context, node string, change proxmox.Change) error
	SetNodeDNS(ctx context.Context, node string, dns proxmox.DNS) error
	SetNodeTimeZone(ctx context.Context, node, zone string) error
}

// Settings are those of nodes: as they are if a Client reads them, and as they were
// not long ago if an Inventory does.
type Settings interface {
	NodeConfig(ctx context.Context, node string) (proxmox.Settings, error)
	NodeDNS(ctx context.Context, node string) (proxmox.DNS, error)
	NodeTimeZone(ctx context.Context, node string) (string, error)
}

// An Inventory is the shared view of the node's cluster.
type Inventory interface {
	Settings

	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Bridges(ctx context.Context, node string, maxAge time.Duration) ([]proxmox.Bridge, error)
	PCIMappings(ctx context.Context, maxAge time.Duration) ([]proxmox.PCIMapping, error)
	Fingerprints(ctx context.Context) (map[string]string, error)
	NodeStatus(ctx context.Context, node string) (proxmox.NodeStatus, error)
	InvalidateNode(node string)
}

// Kinds are what a controller of ProxmoxNodes has to know.
type Kinds struct {
	// Identity of the ProxmoxNodes of one scope.
	kind.Identity

	// Cluster is the identity of the ProxmoxClusters of that scope.
	Cluster kind.Identity

	// Lists of ProxmoxNodes in all scopes.
	Lists []resource.ManagedList
}

// Setup adds a controller of ProxmoxNodes of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	c := &connector{
		kube:    mgr.GetClient(),
		connect: o.Connections.Connect,
		cluster: k.Cluster,
		peers:   kind.Conflicts{Reader: mgr.GetClient(), Lists: k.Lists},
		record:  event.NewAPIRecorder(mgr.GetEventRecorderFor(k.ControllerName())),
		now:     time.Now,
	}
	return kind.Setup(mgr, o, kind.Kind[Node]{
		Identity:     k.Identity,
		External:     c,
		Initializers: []managed.Initializer{managed.InitializerFn(c.Initialize)},
	})
}

// A connector makes the external of each reconcile.
type connector struct {
	kube    client.Client
	connect func(context.Context, resource.Managed) (*connect.Connection, error)
	cluster kind.Identity
	peers   kind.Conflicts
	record  event.Recorder
	now     func() time.Time
}

// Connect to the cluster of the node. No deletion needs a connection, since it
// changes nothing in PVE.
func (c *connector) Connect(ctx context.Context, n Node) (managed.TypedExternalClient[Node], error) {
	e := &external{peers: c.peers, record: c.record, now: c.now}
	if meta.WasDeleted(n) {
		return e, nil
	}
	to, err := c.reach(ctx, n)
	if err != nil {
		e.setReady(n, xpv2.Unavailable().WithMessage(err.Error()), nil)
		return nil, err
	}
	e.client, e.inventory = to.Client, to.Inventory
	return e, nil
}

// reach the cluster: with the provider configuration of the ProxmoxCluster, if
// there is one.
func (c *connector) reach(ctx context.Context, n Node) (*connect.Connection, error) {
	name := n.Parameters().Cluster
	if name == nil {
		return c.connect(ctx, n)
	}
	cluster, ok := c.cluster.Object.DeepCopyObject().(resource.Managed)
	if !ok {
		return nil, errors.Errorf("cannot copy a %T", c.cluster.Object)
	}
	err := c.kube.Get(ctx, client.ObjectKey{Namespace: n.GetNamespace(), Name: *name}, cluster)
	if kerrors.IsNotFound(err) {
		return nil, errors.Errorf("ProxmoxCluster %q does not exist", *name)
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot get ProxmoxCluster %q", *name)
	}
	return c.connect(ctx, cluster)
}

// Reasons why a ProxmoxNode is not ready.
const (
	ReasonNotFound xpv2.ConditionReason = "NotFound"
	ReasonOffline  xpv2.ConditionReason = "Offline"
	ReasonConflict xpv2.ConditionReason = "Conflict"
)
