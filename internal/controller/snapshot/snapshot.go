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

// Package snapshot takes snapshots of VMs, once each, and removes those that it has taken or adopted. The files are:
//
//   - name.go: the name of a snapshot in Proxmox VE.
//   - record.go: the record of what was done, in an annotation.
//   - target.go: the VM of a snapshot.
//   - look.go: the current state, and decide.go: what follows from it, without any request.
//   - preflight.go: what prevents a snapshot, and room.go: whether its memory fits.
//   - change.go: taking, describing and removing; removal.go: what a deletion waits for, and users.go: the Machines that need the snapshot.
//   - show.go: status and conditions.
package snapshot

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// A Snapshot of either scope.
type Snapshot interface {
	resource.Managed

	Parameters() *v1alpha1.SnapshotParameters
	Observation() *v1alpha1.SnapshotObservation
}

// A Client makes the requests to PVE that a Snapshot needs.
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
	TaskLog(ctx context.Context, u proxmox.UPID, lastLines int) ([]string, error)
	Identity() proxmox.Identity
}

// An Inventory provides the data of a cluster that all Snapshots share.
type Inventory interface {
	target.ChangeWatcher

	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Snapshots(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) (proxmox.SnapshotTree, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	ClusterName(ctx context.Context) (string, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Version(ctx context.Context) (proxmox.Version, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
	InvalidateGuest(vmid int)
}

// Kinds are the kinds that a controller of Snapshots needs.
type Kinds struct {
	// Identity of the Snapshots of one scope.
	kind.Identity

	// Lists of Snapshots, and of Machines, in all scopes.
	Lists, Machines []resource.ManagedList

	// Machine is an empty Machine of the scope.
	Machine client.Object

	// Quotas of tenants.
	Quotas *quotas.Keeper
}

// pollUnready is the poll interval of a snapshot that is not ready.
const pollUnready = 5 * time.Second

// Setup adds a controller of Snapshots of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	if err := k.Quotas.Add(mgr, o.Connections, k.Identity, amounts.There); err != nil {
		return err
	}
	return target.Setup(mgr, o, target.Config[Snapshot]{
		Identity: k.Identity, Lists: k.Lists, Machine: k.Machine, Noun: "snapshot", Made: "taken", PollUnready: pollUnready,
		Means: func(m Snapshot, machine string) bool {
			p := m.Parameters()
			return kind.MeansMachine(machine, p.Machine, p.MachineRef, p.MachineSelector)
		},
		External: func(p target.Parts[Snapshot]) managed.TypedExternalConnector[Snapshot] {
			return &connector{
				Parts: p, machines: k.Machines,
				quota: target.Quota{Keeper: k.Quotas, Kind: k.GroupVersionKind.GroupKind().String(), Name: quota.Snapshots},
			}
		},
	})
}

// A connector creates the external client of each reconcile.
type connector struct {
	target.Parts[Snapshot]

	// machines are lists of Machines in all scopes.
	machines []resource.ManagedList

	quota target.Quota
}

// Connect connects to the cluster of a Snapshot. A Snapshot whose Machine has no VM yet, and a deleted one that was never begun, need no connection.
func (c *connector) Connect(ctx context.Context, m Snapshot) (managed.TypedExternalClient[Snapshot], error) {
	if err := kind.SnapshotAnnotations().Restore(ctx, c.Kube, m, m.Observation().Annotations); err != nil {
		return nil, err
	}
	r, err := recordOf(m)
	if err != nil {
		return nil, err
	}
	e := &external{Parts: c.Parts, machines: c.machines, view: &view{record: r}}
	if meta.WasDeleted(m) && !r.made() {
		return e, nil
	}
	if e.waits, err = e.findTarget(ctx, m); e.waits != nil || err != nil {
		return e, err
	}
	to, err := c.Connection(ctx, m)
	if err != nil {
		return nil, err
	}
	c.quota.ShowAllowed(ctx, m, to)
	if leaves, err := target.CheckTenant(ctx, to, m, e.view.target); leaves || err != nil {
		return e, err
	}
	e.to, e.client, e.inventory, e.records, e.tenant = to, to.Client, to.Inventory, to.Records, to.Tenant
	e.room = c.roomFor(m, to)
	return e, nil
}

// An external manages one Snapshot during one reconcile.
type external struct {
	target.Parts[Snapshot]

	machines []resource.ManagedList

	to        *connect.Connection
	client    Client // Nil if nothing will be asked.
	inventory Inventory
	records   tenancy.Records
	tenant    *tenancy.Tenant // Nil if nothing is refused.

	// room in the quota of the tenant.
	room room

	// waits is the problem that there is no VM yet, or nil.
	waits *kind.Problem

	// view is the result of Observe.
	view *view
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }
