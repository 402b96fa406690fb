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

// Package backup creates backups of the VMs of Machines, once each, and keeps them. The files are:
//
//   - record.go: the record of what was done, in an annotation.
//   - target.go: the VM of a backup; storage.go: where the backup is; tenant.go: whether both belong to its tenant.
//   - look.go: the current state, and decide.go: what follows from it, without any request.
//   - preflight.go: what prevents a backup.
//   - change.go: creating and changing; removal.go: removing, and users.go: the Machines that need the backup.
//   - show.go: status and conditions.
package backup

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

// A Backup of either scope.
type Backup interface {
	resource.Managed

	Parameters() *v1alpha1.BackupParameters
	Observation() *v1alpha1.BackupObservation
}

// A Client makes the requests to PVE that a Backup needs.
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

// An Inventory provides the data of a cluster that all Backups share.
type Inventory interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	ClusterName(ctx context.Context) (string, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Version(ctx context.Context) (proxmox.Version, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
	InvalidateGuest(vmid int)
}

// Kinds are the kinds that a controller of Backups needs.
type Kinds struct {
	// Identity of the Backups of one scope.
	kind.Identity

	// Lists of Backups, and of Machines, in all scopes.
	Lists, Machines []resource.ManagedList

	// Machine is an empty Machine of the scope.
	Machine client.Object

	// Quotas of tenants.
	Quotas *quotas.Keeper
}

// pollUnready is the poll interval of a backup that is not ready.
const pollUnready = 10 * time.Second

// Setup adds a controller of Backups of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	if err := k.Quotas.Add(mgr, o.Connections, k.Identity, amounts.There); err != nil {
		return err
	}
	return target.Setup(mgr, o, target.Config[Backup]{
		Identity: k.Identity, Lists: k.Lists, Machine: k.Machine, Noun: "backup", Made: "made", PollUnready: pollUnready,
		Means: func(m Backup, machine string) bool {
			p := m.Parameters()
			return kind.MeansMachine(machine, p.Machine, p.MachineRef, p.MachineSelector)
		},
		External: func(p target.Parts[Backup]) managed.TypedExternalConnector[Backup] {
			return &connector{
				Parts: p, machines: k.Machines, quota: target.Quota{Keeper: k.Quotas, Kind: k.GroupVersionKind.GroupKind().String(), Name: quota.Backups},
			}
		},
	})
}

// A connector creates the external client of each reconcile.
type connector struct {
	target.Parts[Backup]

	// machines are lists of Machines in all scopes.
	machines []resource.ManagedList

	quota target.Quota
}

// Connect connects to the cluster of a Backup. A Backup whose Machine has no VM yet, and a deleted one that leaves nothing to remove, need no
// connection.
func (c *connector) Connect(ctx context.Context, m Backup) (managed.TypedExternalClient[Backup], error) {
	if err := annotations().Restore(ctx, c.Kube, m, m.Observation().Annotations); err != nil {
		return nil, err
	}
	r, err := recordOf(m)
	if err != nil {
		return nil, err
	}
	e := &external{Parts: c.Parts, machines: c.machines, view: &view{record: r}}
	if meta.WasDeleted(m) && (!r.made() || retains(m) && r.Removal == "" && !r.Lifted) {
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
	if leaves, err := e.confine(ctx, m, to); leaves || err != nil {
		return e, err
	}
	e.to, e.client, e.inventory = to, to.Client, to.Inventory
	e.room = c.quota.Room(m, to)
	return e, nil
}

// An external manages one Backup during one reconcile.
type external struct {
	target.Parts[Backup]

	machines []resource.ManagedList

	to        *connect.Connection
	client    Client // Nil if nothing will be asked.
	inventory Inventory
	records   tenancy.Records

	// tenant that confines the Backup; nil if none does. The record is trusted if the provider has signed it.
	tenant  *tenancy.Tenant
	trusted bool

	// room returns an error if the quota of the tenant has no room. It is nil if there is no quota.
	room func(context.Context) error

	// waits is the problem that there is no VM yet, or nil.
	waits *kind.Problem

	// view is the result of Observe.
	view *view
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }
