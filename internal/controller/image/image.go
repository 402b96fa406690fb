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

// Package image creates images for Machines: files that Proxmox VE downloads onto storages, and template VMs with them. The files are:
//
//   - record.go: the record of what was created, in an annotation.
//   - look.go: what exists, as read.go reads it from Proxmox VE, and what is to exist, and decide.go: what follows from
//     that for one file or template, without any request.
//   - removal.go: what is to be removed, unless users.go finds users of it.
//   - update.go: the execution of that, with file.go, template.go and removal.go.
//   - show.go: status and conditions, and tenant.go: what an Image of a tenant may have.
package image

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// An Image is an Image of either scope.
type Image interface {
	resource.Managed

	Parameters() *v1alpha1.ImageParameters
	Observation() *v1alpha1.ImageObservation
}

// A Machine is a Machine of either scope, reduced to what an Image needs.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// A vmReader reads VMs.
type vmReader interface {
	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	Snapshots(ctx context.Context, ref proxmox.Ref) ([]string, error)
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, snapshot string) (proxmox.VMConfig, error)
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
}

// A Client makes the requests to PVE that an Image needs.
type Client interface {
	kind.PermissionReader
	vmReader

	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	DownloadURL(ctx context.Context, node, storage string, d proxmox.Download) (proxmox.UPID, error)
	PullOCI(ctx context.Context, node, storage, reference, fileName string) (proxmox.UPID, error)
	DeleteVolume(ctx context.Context, node, volume string) (proxmox.UPID, error)
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	TaskLog(ctx context.Context, u proxmox.UPID, lastLines int) ([]string, error)
	StopTask(ctx context.Context, u proxmox.UPID) error
	Identity() proxmox.Identity

	Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error)
	Clone(ctx context.Context, source proxmox.Ref, o proxmox.CloneOptions) (proxmox.UPID, error)
	ConvertToTemplate(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Delete(ctx context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error)
}

// An Inventory provides the data of a cluster that all Images share.
type Inventory interface {
	Version(ctx context.Context) (proxmox.Version, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Options(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) ([]proxmox.PendingValue, error)
	Snapshots(ctx context.Context, ref proxmox.Ref, maxAge time.Duration) (proxmox.SnapshotTree, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
	ReserveVMID(ctx context.Context, owner string, lowest, highest int) (int, error)
	BlockVMID(id int)
}

// Kinds are the kinds that a controller of Images needs.
type Kinds struct {
	// Identity of the Images of one scope.
	kind.Identity

	// Lists of Images, and of Machines, in all scopes.
	Lists, Machines []resource.ManagedList

	// Machine is an empty Machine of the scope.
	Machine client.Object
}

// wakes is how many Images may be queued to be woken before a caller has to wait.
const wakes = 64

// Setup adds a controller of Images of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	wake := make(chan ctrlevent.TypedGenericEvent[client.Object], wakes)
	c := &connector{
		kinds: k, fetcher: o.Checksums, kube: mgr.GetClient(), connect: o.Connections.Connect, sharing: o.Connections.Sharing,
		isolation: o.Connections.Isolation,
		peers:     kind.Conflicts{Reader: mgr.GetClient(), Lists: k.Lists},
		record:    kind.NewRecorder(mgr, k.ControllerName()),
		wake:      func(m Image) { wake <- ctrlevent.TypedGenericEvent[client.Object]{Object: m} },
		now:       o.Clock(),
	}
	return kind.Setup(mgr, o, kind.Kind[Image]{Identity: k.Identity, External: c, PollInterval: pollInterval, Wake: wake})
}

// pollUnready is the poll interval of an image that is not ready.
const pollUnready = 5 * time.Second

func pollInterval(mg resource.Managed, configured time.Duration) time.Duration {
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate} {
		if mg.GetCondition(t).Status != corev1.ConditionTrue {
			return min(configured, pollUnready)
		}
	}
	return configured
}

// A connector creates the external client of each reconcile.
type connector struct {
	kinds   Kinds
	fetcher checksum.Fetcher
	kube    client.Client
	connect func(context.Context, resource.Managed) (*connect.Connection, error)
	sharing func(context.Context, []string) func(resource.Managed) bool

	// isolation returns, for one reconcile, the rules that isolate the tenants that share the cluster of a connection.
	isolation func(ctx context.Context, to *connect.Connection) *connect.Isolation
	peers     kind.Conflicts
	record    event.Recorder
	wake      func(Image)
	now       func() time.Time
}

// Connect connects to the cluster of an Image.
func (c *connector) Connect(ctx context.Context, m Image) (managed.TypedExternalClient[Image], error) {
	to, err := c.connect(ctx, m)
	if err != nil {
		return nil, err
	}
	fetcher := c.fetcher
	if to.Tenant != nil {
		fetcher.Permit = func(url string) error { return tenancy.ImagesOf(to.Tenant).CheckURL("source.checksumURL", url) }
	}
	e := &external{
		client: to.Client, inventory: to.Inventory, kube: c.kube, kinds: c.kinds, peers: c.peers, fetcher: fetcher,
		record: c.record, wake: c.wake, now: c.now,
		shares:    func(ctx context.Context) func(resource.Managed) bool { return c.sharing(ctx, to.Config.Endpoints) },
		isolation: func(ctx context.Context) isolation { return c.isolation(ctx, to) },
		storage:   ptr.Deref(to.Config.DefaultStorage, ""), bridge: ptr.Deref(to.Config.DefaultBridge, ""),
		vmids: to.Config.TemplateVMIDs(), confinement: confinement{tenant: to.Tenant, warned: to.Warned, records: to.Records},
	}
	return e, nil
}

// An isolation isolates tenants.
type isolation interface {
	// SpecCounts reports whether the spec of another resource counts for an Image.
	SpecCounts(by, other resource.Managed) bool

	// ImagePrefix returns the default prefix of the names of another Image's files.
	ImagePrefix(image resource.Managed) string

	// SameTenant reports whether an Image may know of a Machine: one of its tenant, or of operators.
	SameTenant(image, machine resource.Managed) (same, operators bool)

	// OtherTenant reports whether a Machine is known to belong to another tenant than an Image.
	OtherTenant(image, machine resource.Managed) bool
}

// An external manages one Image during one reconcile.
type external struct {
	client    Client
	inventory Inventory
	kube      client.Client
	kinds     Kinds
	peers     kind.Conflicts
	fetcher   listFetcher
	record    event.Recorder
	wake      func(Image)
	now       func() time.Time
	shares    func(context.Context) func(resource.Managed) bool

	// isolation returns, for one reconcile, the rules that isolate the tenants of the cluster.
	isolation func(context.Context) isolation

	confinement

	// Defaults of the provider config.
	storage, bridge string
	vmids           v1alpha1.VMIDRange

	// view is the result of Observe.
	view *view
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }
