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

// Package backup makes backups of the VMs of Machines, once each, and keeps them. To learn
// how, read:
//
//   - record.go: what is kept of what was done, in an annotation.
//   - target.go: which VM a backup is of; storage.go: where the backup is.
//   - look.go: what is there, and decide.go: what follows from that, without asking anybody.
//   - preflight.go: what keeps a backup from being made.
//   - change.go: making and changing; removal.go: removing.
//   - show.go: status and conditions.
package backup

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

// A Backup of either scope.
type Backup interface {
	resource.Managed

	Parameters() *v1alpha1.BackupParameters
	Observation() *v1alpha1.BackupObservation
}

// A Machine of either scope, as far as a Backup looks at it.
type Machine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// A Client does to PVE what a Backup needs done.
type Client interface {
	kind.PermissionReader

	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	BackUp(ctx context.Context, ref proxmox.Ref, o proxmox.BackupOptions) (proxmox.UPID, error)
	VolumeNotes(ctx context.Context, node, volume string) (string, error)
	ChangeVolume(ctx context.Context, node, volume string, notes *string, protected *bool) error
	DeleteVolume(ctx context.Context, node, volume string) (proxmox.UPID, error)
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	TaskHead(ctx context.Context, u proxmox.UPID, firstLines int) ([]string, error)
	TaskLog(ctx context.Context, u proxmox.UPID, lastLines int) ([]string, error)
	Identity() proxmox.Identity
}

// An Inventory answers what all Backups of a cluster ask.
type Inventory interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	ClusterName(ctx context.Context) (string, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
	InvalidateGuest(vmid int)
}

// Kinds are what a controller of Backups has to know.
type Kinds struct {
	// Identity of the Backups of one scope.
	kind.Identity

	// Lists of Backups in all scopes.
	Lists []resource.ManagedList

	// Machine is an empty Machine of the scope.
	Machine client.Object
}

// wakes is how many Backups may be woken before anybody has to wait.
const wakes = 64

// Setup adds a controller of Backups of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	wake := make(chan ctrlevent.TypedGenericEvent[client.Object], wakes)
	c := &connector{
		kinds: k, kube: mgr.GetClient(), connect: o.Connections.Connect,
		peers:  kind.Conflicts{Reader: mgr.GetClient(), Lists: k.Lists},
		record: event.NewAPIRecorder(mgr.GetEventRecorderFor(k.ControllerName())),
		wake:   func(m Backup) { wake <- ctrlevent.TypedGenericEvent[client.Object]{Object: m} },
		now:    o.Clock(),
	}
	watch := kind.MachineWatch{Kube: c.kube, Machine: k.Machine, List: k.List, Means: mayMean, Wake: func(mg resource.Managed) {
		if m, ok := mg.(Backup); ok {
			c.wake(m)
		}
	}}
	if err := watch.Start(mgr.GetCache()); err != nil {
		return errors.Wrap(err, "cannot watch the Machines of Backups")
	}
	return kind.Setup(mgr, o, kind.Kind[Backup]{Identity: k.Identity, External: c, PollInterval: pollInterval, Wake: wake})
}

// pollUnready is how often a backup is looked at that is on its way.
const pollUnready = 10 * time.Second

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
	wake    func(Backup)
	now     func() time.Time
}

// Connect to the cluster of a Backup. One whose Machine has no VM yet, and one that is
// deleted and leaves nothing to remove, need no connection.
func (c *connector) Connect(ctx context.Context, m Backup) (managed.TypedExternalClient[Backup], error) {
	if err := annotations().Restore(ctx, c.kube, m, m.Observation().Annotations); err != nil {
		return nil, err
	}
	r, err := recordOf(m)
	if err != nil {
		return nil, err
	}
	e := &external{kube: c.kube, kinds: c.kinds, peers: c.peers, record: c.record, wake: c.wake, now: c.now, view: &view{record: r}}
	if meta.WasDeleted(m) && (!r.made() || retains(m) && r.Removal == "") {
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

// An external looks after one Backup during one reconcile.
type external struct {
	client    Client // Nil if nothing will be asked.
	inventory Inventory
	kube      client.Client
	kinds     Kinds
	peers     kind.Conflicts
	record    event.Recorder
	wake      func(Backup)
	now       func() time.Time

	// waits is the problem that there is no VM yet, or nil.
	waits *kind.Problem

	// view is what Observe finds.
	view *view
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }

// follow has the Backup looked at when a task has ended.
func (e *external) follow(m Backup, u proxmox.UPID) {
	c, ok := m.DeepCopyObject().(Backup)
	if !ok || u == "" || e.wake == nil {
		return
	}
	e.inventory.Follow(u, func(proxmox.Task) { go e.wake(c) })
}

func (e *external) event(m Backup, v event.Event) {
	if e.record != nil {
		e.record.Event(m, v)
	}
}

// mayMean reports whether a Backup is of a Machine, or may turn out to be.
func mayMean(mg resource.Managed, machine string) bool {
	m, ok := mg.(Backup)
	return ok && kind.MeansMachine(machine, m.Parameters().Machine, m.Parameters().MachineRef, m.Parameters().MachineSelector)
}
