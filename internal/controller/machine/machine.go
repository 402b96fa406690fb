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

// Package machine manages virtual machines of Proxmox VE. To learn how, read:
//
//   - external.go: Observe, which finds the VM, proves that it belongs to the Machine, and plans. initialize.go runs before it, and package claims
//     decides which Machine owns the VM.
//   - plan.go: the changes that a VM needs, and update.go, which carries out the first of them. Package qemu knows the options. Each kind of step apart
//     from these has a file, feature_*.go.
//   - observe_missing.go, create_choose.go and create_check.go: the decisions while there is no VM, with image_ref.go and package nodechoice. create.go
//     carries them out.
//   - delete.go: the deletion, and what it waits for.
//   - up_to_date.go: how users see what the VM lacks and waits for.
//
// The parts that do not depend on one reconcile are in packages below this one, which do not import it: object and conditions have the vocabulary,
// scheduler, source, images, secretref and password query Kubernetes and the cluster, preflight, power and restart decide, rules and replication act,
// and events has the events.
//
// No call waits for a task of PVE: package taskwatch wakes the Machine when its task has ended, and package tasktrack remembers the outcome. Not every
// reconcile reads the VM either: package lookup decides from the contents of package vmcache. Package agentpoll queries the guests, and package guestagent
// keeps their answers and the time of the next query. All of these are only caches. State that must survive a restart of the provider is in annotations,
// written before the call that they describe. Package object restores annotations that were removed.
package machine

import (
	"cmp"
	"context"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/lookup"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/nodechoice"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poll"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/replication"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/settled"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/taskwatch"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A Machine of either scope.
type Machine = object.Machine

// A Client makes the calls to PVE that a Machine needs.
type Client interface {
	storageClient
	taskClient
	powerClient
	migrator
	poolClient
	haClient
	vmCreator
	agentClient
	replication.Client
	rollback.Client // It also reads the configuration and the status.
	restore.Client
	configClient

	Delete(ctx context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error)
}

// A configClient changes the configuration of VMs, and reads its pending changes.
type configClient interface {
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	Configure(ctx context.Context, ref proxmox.Ref, change proxmox.Change) error
	ConfigureAsync(ctx context.Context, ref proxmox.Ref, change proxmox.Change) (proxmox.UPID, error)
	RenewCloudInit(ctx context.Context, ref proxmox.Ref) error
	Resize(ctx context.Context, ref proxmox.Ref, disk, size, digest string) (proxmox.UPID, error)
}

// A storageClient reads snapshots and volumes that VMs are created from, and manages the volumes that they attach.
type storageClient interface {
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, snapshot string) (proxmox.VMConfig, error)
	Snapshots(ctx context.Context, ref proxmox.Ref) ([]string, error)
	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	UploadISO(ctx context.Context, node, storage, name string, image []byte) (proxmox.UPID, error)
	DeleteVolume(ctx context.Context, node, volume string) (proxmox.UPID, error)
}

// A taskClient is the part of a Client that reads tasks.
type taskClient interface {
	taskwatch.Client

	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
}

// An agentClient is the part of a Client that queries guests, and reads which queries it may send.
type agentClient interface {
	Permissions(ctx context.Context, path string) (map[string]proxmox.Privileges, error)
	Interfaces(ctx context.Context, ref proxmox.Ref) ([]proxmox.Interface, error)
	ReadFile(ctx context.Context, ref proxmox.Ref, path string) (string, error)
}

// A vmCreator is the part of a Client that creates VMs, and reserves places for the tasks that do so in the limit of a node.
type vmCreator interface {
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error)
	Clone(ctx context.Context, source proxmox.Ref, o proxmox.CloneOptions) (proxmox.UPID, error)
	ReserveCreate(ref proxmox.Ref) error
	ReserveClone(source proxmox.Ref, newID int) error
}

// An Inventory answers queries that all Machines of a cluster share.
type Inventory interface {
	lookup.Inventory
	taskwatch.Inventory
	clusterInfo
	infraReader

	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	ReserveVMID(ctx context.Context, owner string, lowest, highest int) (int, error)
	RenewVMID(id int, owner string)
	BlockVMID(id int)
}

// clusterInfo is the part of an Inventory that knows its cluster, and what the user may do there.
type clusterInfo interface {
	Privileges(ctx context.Context, path string) (proxmox.Privileges, error)
	PrivilegesOn(ctx context.Context, path string) (proxmox.Privileges, error)
	Version(ctx context.Context) (proxmox.Version, error)
	ClusterName(ctx context.Context) (string, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
}

// An infraReader is the part of an Inventory that reads the resources that VMs are created from and attached to, and the rules that govern VMs.
type infraReader interface {
	Bridges(ctx context.Context, node string, maxAge time.Duration) ([]proxmox.Bridge, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	Objects(ctx context.Context, of proxmox.Collection, maxAge time.Duration) ([]proxmox.Object, error)
	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	PCIMappings(ctx context.Context, maxAge time.Duration) ([]proxmox.PCIMapping, error)
	PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error)
	InvalidatePoolMembers(pool string)
	HARules(ctx context.Context, maxAge time.Duration) (proxmox.HARules, error)
	HAResources(ctx context.Context, maxAge time.Duration) (map[int]proxmox.HASettings, error)
	InvalidateHA()
	Replications(ctx context.Context, maxAge time.Duration) ([]proxmox.Replication, error)
}

// mostWoken is how many Machines may be woken before callers must wait.
const mostWoken = 64

// Setup adds a controller of Machines of one scope to the manager. The Scheduler is shared with the controller of the other scope.
func Setup(mgr ctrl.Manager, o kind.Options, id kind.Identity, sched *scheduler.Scheduler, from Dependencies) error {
	wake := make(chan ctrlevent.TypedGenericEvent[client.Object], mostWoken)
	c := &connector{
		shared: &shared{
			object:    id.Object,
			networks:  networks.Reader{Kube: mgr.GetClient(), List: from.Networks},
			images:    imagesOf(mgr, o, id, from),
			volumes:   from.Volumes,
			addresses: ipam.Reader{Kube: mgr.GetClient()},
			kube:      mgr.GetClient(),
			tasks:     tasktrack.New(o.Clock()),
			passwords: password.NewSent(),
			hostKeys:  guestagent.NewHostKeys(o.Clock()),
			agents:    guestagent.New(o.Clock()),
			cache:     vmcache.New(o.Clock(), cmp.Or(o.FullResyncInterval, vmcache.DefaultFullResyncInterval)),
			settled:   settled.New(),
			quotas:    from.Quotas,
			kind:      id.GroupVersionKind.GroupKind().String(),
			holds:     o.Holds,
			labels:    o.Shard.Labels,
			scheduler: sched,
			wake:      func(m Machine) { wake <- ctrlevent.TypedGenericEvent[client.Object]{Object: m} },
			record:    kind.NewRecorder(mgr, id.ControllerName()),
			now:       o.Clock(),
		},
		connect: o.Connections.Connect,
		sharing: o.Connections.Sharing, isolation: o.Connections.Isolation, sameTenant: o.SameTenant(),
		tenantFor: o.Connections.TenantFor, signedUUID: o.Connections.SignedUUID,
		options: o.Options,
	}
	c.addresses.Watch = ipam.NewWatch(mgr.GetCache(), c.now, c.wakeKey)
	c.follow, c.leave = c.followWith(o.Connections, id.GroupVersionKind.GroupKind())
	c.unschedulable = placement.NewQueue(c.wake)
	if err := mgr.Add(manager.RunnableFunc(c.unschedulable.Start)); err != nil {
		return errors.Wrap(err, "cannot look for places of Machines")
	}
	if err := kind.Index(mgr.GetCache(), id.Object, object.ClaimIndex, object.Claims); err != nil {
		return errors.Wrap(err, "cannot index the claims of Machines")
	}
	if err := errors.Join(c.forgetGone(mgr.GetCache(), id.Object), c.quotas.Add(mgr, o.Connections, id, amounts.There)); err != nil {
		return errors.Wrap(err, "cannot learn which Machines are gone")
	}
	if err := from.Volumes.Watch(mgr.GetCache(), id.List, c.wake); err != nil {
		return errors.Wrap(err, "cannot watch the Volumes of Machines")
	}
	sched.AddMachines(c.kube, id.List)
	if o.Metrics != nil {
		o.Metrics.Usages(c.cache.Usages)
	}
	from.Images.Subscribe(id.GroupVersionKind.Group, wakes[imageref.Image](c, id.List, images.WaitingFor))
	from.Backups.Subscribe(id.GroupVersionKind.Group, wakes[restore.Backup](c, id.List, restore.WaitingFor))
	return kind.Setup(mgr, o, kind.Kind[Machine]{
		Identity:       id,
		External:       c,
		Initializers:   []managed.Initializer{managed.InitializerFn(c.Initialize)},
		PollInterval:   poll.Intervals(o.Clock()),
		ReportsChanges: true,
		Wake:           wake,
	})
}

// imagesOf returns the reader of the Images of Machines, limited to Images that these may know of.
func imagesOf(mgr ctrl.Manager, o kind.Options, id kind.Identity, from Dependencies) images.Reader {
	return images.Reader{
		Kube: mgr.GetClient(), Object: from.Image, MachineKind: id.GroupVersionKind, Tenant: o.Connections.NamedTenant, SameTenant: o.SameTenant(),
	}
}

// forgetGone forgets deleted Machines that were not reconciled again, such as those whose VM stays.
func (c *connector) forgetGone(all cache.Informers, of client.Object) error {
	return kind.OnDeleted(all, of, func(gone client.Object) {
		if m, ok := gone.(Machine); ok {
			c.leave(m)
			c.forget(m)
		}
	})
}

// shared is the state that the reconciles of all Machines of one scope share.
type shared struct {
	object        client.Object // An empty Machine of the same scope.
	images        images.Reader
	networks      networks.Reader
	volumes       volumes.Reader
	addresses     ipam.Reader
	kube          client.Client
	tasks         *tasktrack.Tracker
	passwords     *password.Sent
	hostKeys      *guestagent.HostKeys
	agents        *guestagent.Results
	cache         *vmcache.Cache
	settled       *settled.Store
	quotas        *quotas.Keeper
	kind          string // With its group.
	holds         kind.Holds
	labels        func(client.Object) map[string]string
	scheduler     *scheduler.Scheduler
	unschedulable *placement.Queue[Machine]
	wake          func(Machine)
	record        event.Recorder
	told          events.Announced
	now           func() time.Time
}

// forget drops what is remembered of a deleted Machine.
func (s *shared) forget(m Machine) {
	s.tasks.Forget(m)
	s.passwords.Forget(m)
	s.hostKeys.Forget(m)
	s.agents.Forget(m)
	s.cache.Forget(m)
	s.settled.Forget(m)
	s.told.Forget(m)
}

// waker returns a function that wakes a Machine. It is kept as long as its Machine, and therefore holds only the Machine's name.
func (s *shared) waker(m Machine) func() {
	wake, object, uid, name := s.wake, s.object, m.GetUID(), client.ObjectKeyFromObject(m)
	return func() {
		named, _ := object.DeepCopyObject().(Machine)
		named.SetUID(uid)
		named.SetNamespace(name.Namespace)
		named.SetName(name.Name)
		go wake(named)
	}
}

// A connector creates the external of each reconcile.
type connector struct {
	*shared

	connect func(context.Context, resource.Managed) (*connect.Connection, error)
	sharing func(context.Context, []string) func(resource.Managed) bool

	// isolation creates the check that separates the tenants which share the cluster of a connection, for one pass.
	isolation func(ctx context.Context, to *connect.Connection) *connect.Isolation

	// sameTenant creates the function that reports whether Machines belong to one tenant.
	sameTenant func(ctx context.Context) connect.SameTenantFunc

	// tenantFor returns the tenant of another Machine and whether it is enforced. signedUUID returns the UUID that is signed as that of its VM.
	tenantFor  func(ctx context.Context, other resource.Managed, to *connect.Connection) (t *tenancy.Tenant, enforced bool, err error)
	signedUUID func(ctx context.Context, other resource.Managed, to *connect.Connection) string

	follow  func(Machine)
	leave   func(Machine)
	options xpcontroller.Options
}

// Connect connects to the cluster of a Machine.
func (c *connector) Connect(ctx context.Context, m Machine) (managed.TypedExternalClient[Machine], error) {
	c.follow(m)
	e, err := c.external(ctx, m)
	if err == nil {
		e.tenant.ShowRoom(ctx, m)
	}
	return e, err
}

func (c *connector) external(ctx context.Context, m Machine) (*external, error) {
	to, err := c.connect(ctx, m)
	if err != nil {
		return nil, err
	}
	e := &external{
		shared:        c.shared,
		sharesCluster: c.sharesWith(to),
		isolation:     func(ctx context.Context) nodechoice.Isolation { return c.isolation(ctx, to) },
		log:           c.options.Logger.WithValues("name", m.GetName(), "namespace", m.GetNamespace()),
		endpoints:     to.Config.Endpoints,
		vmids:         to.Config.VMIDs(),
		tenant: tenant.Checks{
			Tenant: to.Tenant, Warned: to.Warned, Inventory: to.Inventory, Records: to.Records, Quota: c.quotaOf(to),
			TenantFor: c.tenantsBy(to), SignedUUID: c.signedUUIDsBy(to),
		},
		defaults: defaults{
			Defaults:  qemu.DefaultsOf(to.Config),
			Node:      ptr.Deref(to.Config.DefaultNode, ""),
			Nodes:     to.Config.DefaultNodes,
			Preferred: to.Config.PreferredNodes,
		},
	}
	e.connectTo(to.Client, to.Inventory)
	e.sources.SameTenant = c.sameTenant
	e.checks.Superuser = to.Client.Superuser()
	return e, nil
}

// connectTo creates the clients and checks that query a cluster.
func (e *external) connectTo(client Client, inventory Inventory) {
	e.client, e.inventory = client, inventory
	e.reads = secretref.NewReads(e.kube)
	e.password = &password.Source{Kube: e.reads}
	e.reader = vmcache.NewReader(client, inventory)
	e.checks = &preflight.Checks{Client: client, Inventory: inventory, Reader: e.reader, Tenant: e.tenant.Tenant}
	e.sources = source.Finder{
		Client: client, Inventory: inventory, Reader: e.reader, Checks: e.checks, Kube: e.kube, Object: e.object, Tenant: e.tenant.Tenant,
		Records: e.tenant.Records,
	}
}

// quotaOf returns the quota of the tenant of a Machine.
func (c *connector) quotaOf(to *connect.Connection) tenant.Quota {
	return tenant.Quota{
		Keeper: c.quotas, Config: to.Name, Tenants: to.Config.Tenants, Defaults: qemu.DefaultsOf(to.Config), Kind: c.kind, Wake: c.wakeKey,
	}
}

// sharesWith returns the function that finds which other resources use the cluster.
func (c *connector) sharesWith(to *connect.Connection) func(context.Context) func(resource.Managed) bool {
	return func(ctx context.Context) func(resource.Managed) bool { return c.sharing(ctx, to.Config.Endpoints) }
}

// An isolationFunc creates the check that separates the tenants of a cluster, for one pass over many resources.
type isolationFunc func(context.Context) nodechoice.Isolation

// specCounts returns the function that reports whether the spec of another resource counts for a Machine.
func (f isolationFunc) specCounts(ctx context.Context, m Machine) func(resource.Managed) bool {
	i := f(ctx)
	return func(other resource.Managed) bool { return i.SpecCounts(m, other) }
}

// guestCounts returns the function that reports whether a guest counts as the VM of a Machine.
func (f isolationFunc) guestCounts(ctx context.Context) func(resource.Managed, proxmox.Guest) bool {
	return f(ctx).GuestCounts
}

// tenantsBy returns the function that finds the tenant of another Machine, or nil where nothing is refused.
func (c *connector) tenantsBy(to *connect.Connection) func(context.Context, Machine) (*tenancy.Tenant, bool, error) {
	if !connect.Enforces(to.Config) {
		return nil
	}
	return func(ctx context.Context, other Machine) (*tenancy.Tenant, bool, error) {
		return c.tenantFor(ctx, other, to)
	}
}

// signedUUIDsBy returns the function that finds the UUID which is signed as that of another Machine's VM.
func (c *connector) signedUUIDsBy(to *connect.Connection) func(context.Context, Machine) string {
	return func(ctx context.Context, other Machine) string { return c.signedUUID(ctx, other, to) }
}

// Dependencies are what a controller of Machines knows of the Images, NodeNetworks, Volumes and Backups of its scope.
type Dependencies struct {
	// Image is an empty Image.
	Image client.Object

	// Networks is an empty list of NodeNetworks.
	Networks resource.ManagedList

	// Volumes reads the Volumes that Machines list. The zero value reads none.
	Volumes volumes.Reader

	// Images reports changed Images, and Backups changed Backups.
	Images  *images.Notifier
	Backups *restore.Notifier

	// Quotas of tenants.
	Quotas *quotas.Keeper
}

// findWaiting finds the Machines that wait for another resource.
type findWaiting func(ctx context.Context, kube client.Reader, list resource.ManagedList, resource client.ObjectKey) ([]Machine, error)

// wakes returns the function that wakes the Machines which wait for a resource.
func wakes[T resource.Managed](c *connector, list resource.ManagedList, find findWaiting) func(T) {
	return func(mg T) {
		key := client.ObjectKeyFromObject(mg)
		go c.wakeWaitingFor(list, key, find)
	}
}

func (c *connector) wakeWaitingFor(list resource.ManagedList, key client.ObjectKey, find findWaiting) {
	waiting, err := find(context.Background(), c.kube, list, key)
	if err != nil {
		c.options.Logger.Info("Cannot find the Machines that wait for another resource", "name", key.Name, "error", err)
	}
	for _, m := range waiting {
		c.wake(m)
	}
}

// followWith returns the functions that begin and end waking a Machine whenever a resource that it refers to changes. leave is called once the
// Machine is deleted.
func (c *connector) followWith(to *connect.Connector, kind schema.GroupKind) (follow, leave func(Machine)) {
	to.OnChange(kind, c.wakeKey)
	key := func(m Machine) connect.Key { return connect.Key{ObjectKey: client.ObjectKeyFromObject(m), Kind: kind} }
	follow = func(m Machine) {
		secrets, configMaps := secretref.ReferredTo(m)
		to.Follow(key(m), secrets, configMaps)
	}
	return follow, func(m Machine) { to.Follow(key(m), nil, nil) }
}

// wakeKey wakes a Machine by its key.
func (c *connector) wakeKey(key client.ObjectKey) {
	if m, ok := c.object.DeepCopyObject().(Machine); ok {
		m.SetNamespace(key.Namespace)
		m.SetName(key.Name)
		go c.wake(m)
	}
}
