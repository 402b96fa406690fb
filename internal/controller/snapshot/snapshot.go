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

// Package snapshot takes snapshots of VMs, once each, and removes those that it has taken or
// adopted. To learn how, read:
//
//   - name.go: what a snapshot is called in Proxmox VE.
//   - record.go: what is kept of what was done, in an annotation.
//   - target.go: which VM a snapshot is of.
//   - look.go: what is there, and decide.go: what follows from that, without asking anybody.
//   - preflight.go: what keeps a snapshot from being taken.
//   - change.go: taking, describing and removing; removal.go: what a deletion waits for.
//   - show.go: status and conditions.
package snapshot

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Snapshot of either scope.
type Snapshot interface {
	resource.Managed

	Parameters() *v1alpha1.SnapshotParameters
	Observation() *v1alpha1.SnapshotObservation
}

// A Machine of either scope, as far as a Snapshot looks at it.
type Machine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// A Client does to PVE what a Snapshot needs done.
type Client interface {
	kind.PermissionReader

	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	CanSnapshot(ctx context.Context, ref proxmox.Ref) (bool, error)
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, name string) (proxmox.VMConfig, error)
	TakeSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.SnapshotOptions) (proxmox.UPID, error)
	DescribeSnapshot(ctx context.Context, ref proxmox.Ref, name, description string) error
	RemoveSnapshot(ctx context.Context, ref proxmox.Ref, name string) (proxmox.UPID, error)
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	Identity() proxmox.Identity
}

// An Inventory answers what all Snapshots of a cluster ask.
type Inventory interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Snapshots(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) (proxmox.SnapshotTree, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	ClusterName(ctx context.Context) (string, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
	InvalidateGuest(vmid int)
}

// Kinds are what a controller of Snapshots has to know.
type Kinds struct {
	// Identity of the Snapshots of one scope.
	kind.Identity

	// Lists of Snapshots, and of Machines, in all scopes.
	Lists, Machines []resource.ManagedList

	// Machine is an empty Machine of the scope.
	Machine client.Object
}

// wakes is how many Snapshots may be woken before anybody has to wait.
const wakes = 64

// Setup adds a controller of Snapshots of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	wake := make(chan ctrlevent.TypedGenericEvent[client.Object], wakes)
	c := &connector{
		kinds: k, kube: mgr.GetClient(), connect: o.Connections.Connect,
		peers:  kind.Conflicts{Reader: mgr.GetClient(), Lists: k.Lists},
		record: event.NewAPIRecorder(mgr.GetEventRecorderFor(k.ControllerName())),
		wake:   func(m Snapshot) { wake <- ctrlevent.TypedGenericEvent[client.Object]{Object: m} },
		now:    o.Clock(),
	}
	watch := kind.MachineWatch{Kube: c.kube, Machine: k.Machine, List: k.List, Means: mayMean, Wake: func(mg resource.Managed) {
		if m, ok := mg.(Snapshot); ok {
			c.wake(m)
		}
	}}
	if err := watch.Start(mgr.GetCache()); err != nil {
		return errors.Wrap(err, "cannot watch the Machines of Snapshots")
	}
	return kind.Setup(mgr, o, kind.Kind[Snapshot]{Identity: k.Identity, External: c, PollInterval: pollInterval, Wake: wake})
}

// pollUnready is how often a snapshot is looked at that is on its way.
const pollUnready = 5 * time.Second

func pollInterval(mg resource.Managed, configured time.Duration) time.Duration {
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate} {
		if mg.GetCondition(t).Status != corev1.ConditionTrue {
			return min(configured, pollUnready)
		}
	}
	return configured
}

// A connector makes the external of each reconcile.
type connector struct {
	kinds   Kinds
	kube    client.Client
	connect func(context.Context, resource.Managed) (*connect.Connection, error)
	peers   kind.Conflicts
	record  event.Recorder
	wake    func(Snapshot)
	now     func() time.Time
}

// Connect to the cluster of a Snapshot. One whose Machine has no VM yet, and one that is
// deleted and was never begun, need no connection.
func (c *connector) Connect(ctx context.Context, m Snapshot) (managed.TypedExternalClient[Snapshot], error) {
	if err := kind.SnapshotAnnotations().Restore(ctx, c.kube, m, m.Observation().Annotations); err != nil {
		return nil, err
	}
	r, err := recordOf(m)
	if err != nil {
		return nil, err
	}
	e := &external{kube: c.kube, kinds: c.kinds, peers: c.peers, record: c.record, wake: c.wake, now: c.now, view: &view{record: r}}
	if meta.WasDeleted(m) && !r.made() {
		return e, nil
	}
	if e.waits, err = e.findTarget(ctx, m); e.waits != nil || err != nil {
		return e, err
	}
	to, err := c.connect(ctx, m)
	if err != nil {
		return nil, err
	}
	e.client, e.inventory = to.Client, to.Inventory
	return e, nil
}

// An external looks after one Snapshot during one reconcile.
type external struct {
	client    Client // Nil if nothing will be asked.
	inventory Inventory
	kube      client.Client
	kinds     Kinds
	peers     kind.Conflicts
	record    event.Recorder
	wake      func(Snapshot)
	now       func() time.Time

	// waits is the problem that there is no VM yet, or nil.
	waits *kind.Problem

	// view is what Observe finds.
	view *view
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }

// follow has the Snapshot looked at when a task has ended.
func (e *external) follow(m Snapshot, u proxmox.UPID) {
	c, ok := m.DeepCopyObject().(Snapshot)
	if !ok || u == "" || e.wake == nil {
		return
	}
	e.inventory.Follow(u, func(proxmox.Task) { go e.wake(c) })
}

// mayMean reports whether a Snapshot is of a Machine, or may turn out to be.
func mayMean(mg resource.Managed, machine string) bool {
	m, ok := mg.(Snapshot)
	return ok && kind.MeansMachine(machine, m.Parameters().Machine, m.Parameters().MachineRef, m.Parameters().MachineSelector)
}
