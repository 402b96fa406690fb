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

// Package volume creates disks that outlive VMs, and hands them to the Machines that list them. The files are:
//
//   - decide.go: what to do next, given what was read, without any request.
//   - look.go: what exists, as read.go reads it from Proxmox VE.
//   - claims.go: which Machines list the Volume, and peers.go: what other Volumes have.
//   - adopt.go: disks that others have created, and use.go: VMs that use a disk which they do not have.
//   - capacity.go: whether the storage has room, tenant.go: whether the tenant may have the disk, and quota.go: whether its quota has room.
//   - recover.go: disks that were lost and exist again.
//   - change.go: the calls that create, hand over, grow and destroy.
//   - show.go: status and conditions.
//
// In PVE, only the VMID in its name shows which VM owns a disk. PVE renames the disk when another VM gets it, and destroys it with its VM. A disk
// that no Machine has is therefore in a separate VM, the stub VM. What was done for a Volume is recorded before each call. The record is in package
// volumeref.
package volume

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A Volume of either scope.
type Volume = volumeref.Volume

// A Machine of either scope, reduced to what a Volume needs.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// A Client makes the requests to PVE that a Volume needs.
type Client interface {
	kind.PermissionReader

	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error)
	Configure(ctx context.Context, ref proxmox.Ref, change proxmox.Change) error
	Resize(ctx context.Context, ref proxmox.Ref, disk, size, digest string) (proxmox.UPID, error)
	ReassignDisk(ctx context.Context, ref proxmox.Ref, o proxmox.ReassignOptions) (proxmox.UPID, error)
	MoveDisk(ctx context.Context, ref proxmox.Ref, o proxmox.MoveOptions) (proxmox.UPID, error)
	Migrate(ctx context.Context, ref proxmox.Ref, o proxmox.MigrateOptions) (proxmox.UPID, error)
	Delete(ctx context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error)
}

// An Inventory provides the data of a cluster that all Volumes share.
type Inventory interface {
	target.Inventory
	target.ChangeWatcher

	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Objects(ctx context.Context, of proxmox.Collection, maxAge time.Duration) ([]proxmox.Object, error)
	ReserveVMID(ctx context.Context, owner string, lowest, highest int) (int, error)
	BlockVMID(id int)
	InvalidateGuest(vmid int)
	GuestChanged(vmid int)
	Options(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) ([]proxmox.PendingValue, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
}

// Kinds are the kinds that a controller of Volumes needs.
type Kinds struct {
	// Identity of the Volumes of one scope.
	kind.Identity

	// Lists of Volumes in all scopes.
	Lists []resource.ManagedList

	// Machine of the scope.
	Machine kind.Identity

	// Quotas of tenants.
	Quotas *quotas.Keeper
}

// pollUnready is the poll interval of a Volume that is not settled.
const pollUnready = 5 * time.Second

// wakes is how many Volumes may be queued to be woken before a caller has to wait.
const wakes = 64

// Setup adds a controller of Volumes of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	if err := k.Quotas.Add(mgr, o.Connections, k.Identity, amounts.There); err != nil {
		return err
	}
	wake := make(chan ctrlevent.TypedGenericEvent[client.Object], wakes)
	c := &connector{
		Parts: target.Parts[Volume]{
			Kube: mgr.GetClient(), Connection: o.Connections.Connect, Machine: k.Machine.Object, Noun: "volume", Made: "made",
			Peers:  kind.Conflicts{Reader: mgr.GetClient(), Lists: k.Lists},
			Record: kind.NewRecorder(mgr, k.ControllerName()),
			Wake:   func(m Volume) { wake <- ctrlevent.TypedGenericEvent[client.Object]{Object: m} },
			Now:    o.Clock(),
		},
		direct: mgr.GetAPIReader(), machines: k.Machine, sharing: o.Connections.Sharing, isolation: o.Connections.Isolation,
		isOf:  o.Connections.IsOf,
		quota: target.Quota{Keeper: k.Quotas, Kind: k.GroupVersionKind.GroupKind().String()},
	}
	if err := c.watch(k.Object).Start(mgr.GetCache()); err != nil {
		return errors.Wrap(err, "cannot watch the Machines of Volumes")
	}
	return kind.Setup(mgr, o, kind.Kind[Volume]{Identity: k.Identity, External: c, PollInterval: pollInterval, Wake: wake})
}

// pollInterval returns a shorter interval while a Volume is not settled.
func pollInterval(mg resource.Managed, configured time.Duration) time.Duration {
	if settled(mg) {
		return configured
	}
	return min(configured, pollUnready)
}

// settled reports whether a Volume was where it is to be when it was last reconciled: it is not being handed over, and the Machine that has it has
// attached it.
func settled(mg resource.Managed) bool {
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate} {
		if mg.GetCondition(t).Status != corev1.ConditionTrue {
			return false
		}
	}
	bound := mg.GetCondition(TypeBound)
	return bound.Status != corev1.ConditionFalse || bound.Reason == reasonUnbound
}

// A connector creates the external client of each reconcile.
type connector struct {
	target.Parts[Volume]

	// direct reads from the API server, not from the cache.
	direct   client.Reader
	machines kind.Identity

	// refusals of disks that were not adopted.
	refusals refusals

	// sharing returns a function that reports whether another resource is in the cluster with these endpoints.
	sharing func(ctx context.Context, endpoints []string) func(resource.Managed) bool

	// isolation returns, for one reconcile, the rules that isolate the tenants that share the cluster of a connection.
	isolation func(ctx context.Context, to *connect.Connection) *connect.Isolation

	// isOf reports whether a resource belongs to a tenant of a provider config.
	isOf func(ctx context.Context, mg resource.Managed, config string, tenants []v1alpha1.ProviderTenant, tenant string) (bool, error)

	quota target.Quota
}

// persisted returns the annotations that prove what belongs to a Volume, of which the status keeps a copy.
func persisted() kind.Persisted {
	return kind.Persisted{Record: volumeref.AnnotationRecord, Others: []string{kind.AnnotationCluster, tenancy.AnnotationVolumeSignature}}
}

// Connect connects to the cluster of a Volume. A deleted Volume that was never begun needs no connection.
func (c *connector) Connect(ctx context.Context, m Volume) (managed.TypedExternalClient[Volume], error) {
	if err := persisted().Restore(ctx, c.Kube, m, m.Observation().Annotations); err != nil {
		return nil, err
	}
	r, err := volumeref.RecordOf(m)
	if err != nil {
		return nil, err
	}
	e := &external{connector: c, view: &view{state: &state{Record: r}}}
	if meta.WasDeleted(m) && !r.Made() && r.Begun == 0 {
		return e, nil
	}
	to, err := c.Connection(ctx, m)
	if err != nil {
		return nil, err
	}
	c.quota.ShowAllowed(ctx, m, to)
	e.sharesTenant = func(ctx context.Context, other resource.Managed) (bool, error) {
		return c.isOf(ctx, other, to.Name, to.Config.Tenants, to.Tenant.Name)
	}
	e.confinement, e.room = newConfinement(m, to), c.roomFor(m, to, e.sharesTenant)
	if leaves, err := e.confine(ctx, m); leaves || err != nil {
		return e, err
	}
	e.client, e.inventory, e.reader = to.Client, to.Inventory, newReader(to.Client, to.Inventory)
	e.storage, e.node = ptr.Deref(to.Config.DefaultStorage, ""), ptr.Deref(to.Config.DefaultNode, "")
	isolation := c.isolation(ctx, to)
	e.shares, e.recordCounts = c.sharing(ctx, to.Config.Endpoints), func(other resource.Managed) bool { return isolation.VolumeRecordCounts(m, other) }
	e.vmids = to.Config.VMIDs()
	return e, nil
}

// An external manages one Volume during one reconcile.
type external struct {
	*connector

	client    Client // Nil if nothing will be asked.
	inventory Inventory
	reader    *reader

	// shares reports whether the provider config of a resource leads to the same cluster, and recordCounts whether the record of another Volume counts.
	shares, recordCounts func(resource.Managed) bool

	// sharesTenant reports whether another resource belongs to the tenant.
	sharesTenant func(context.Context, resource.Managed) (bool, error)

	// Defaults of the provider config.
	storage, node string
	vmids         v1alpha1.VMIDRange

	confinement confinement
	room        room

	// view is the result of Observe.
	view *view
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }
