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

package machine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/nodechoice"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/settled"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A bench runs one Machine against a fake of PVE.
type bench struct {
	*pve

	clock    *clock
	kube     client.Client
	tasks    *tasktrack.Tracker
	sent     *password.Sent
	hostKeys *guestagent.HostKeys
	agents   *guestagent.Results

	// background runs queries to guests.
	background    func(func())
	cache         *vmcache.Cache
	settled       *settled.Store
	scheduler     *scheduler.Scheduler
	unschedulable *placement.Queue[Machine]
	// sharesCluster reports whether another resource belongs to the same cluster.
	sharesCluster func(resource.Managed) bool

	// specCounts reports whether the spec of another resource counts.
	specCounts func(resource.Managed) bool

	woken chan Machine
	m     *namespaced.Machine

	// defaultNode of the provider config.
	defaultNode string

	// tenant of the Machine, or nil for none.
	tenant *tenancy.Tenant
}

// newBench returns a bench with a Machine that has our identity and VMID 10000, unless change says otherwise.
func newBench(t *testing.T, change func(*namespaced.Machine)) *bench {
	t.Helper()
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "uid", Generation: 1, Annotations: map[string]string{
		object.AnnotationUUID: ourUUID, object.AnnotationAllocated: "10000", meta.AnnotationKeyExternalName: "10000",
		object.AnnotationDevices: "{}", object.AnnotationNode: "pve1",
		meta.AnnotationKeyExternalCreatePending: "2001-01-01T00:00:00Z",
	}}}
	if change != nil {
		change(m)
	}
	s := runtime.NewScheme()
	if err := errors.Join(namespaced.SchemeBuilder.AddToScheme(s), corev1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	c := newClock()
	b := &bench{
		pve: newPVE(), clock: c, tasks: tasktrack.New(c.now), sent: password.NewSent(), hostKeys: guestagent.NewHostKeys(c.now),
		cache: vmcache.New(c.now, vmcache.DefaultFullResyncInterval), settled: settled.New(), scheduler: scheduler.New(),
		woken: make(chan Machine, 10), m: m,
	}
	b.background = func(ask func()) { ask() }
	b.agents = guestagent.New(c.now, guestagent.WithBackground(func(ask func()) { b.background(ask) }),
		guestagent.WithTimer(func(time.Duration, func()) {}), guestagent.WithInitialBootTime(0))
	b.sharesCluster = func(resource.Managed) bool { return true }
	b.specCounts = func(resource.Managed) bool { return true }
	b.unschedulable = placement.NewQueue(func(m Machine) { b.woken <- m })
	deleted := m.DeletionTimestamp
	m.DeletionTimestamp = nil // The API server sets it, so that no object can be created with it.
	b.kube = fake.NewClientBuilder().WithScheme(s).WithObjects(m).WithStatusSubresource(m).Build()
	if err := b.kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	m.DeletionTimestamp = deleted
	return b
}

func (b *bench) imageReader() images.Reader {
	return images.Reader{Kube: b.kube, Object: &namespaced.Image{}, MachineKind: namespaced.MachineGroupVersionKind}
}

// isolationOf a bench counts everything except specs that the bench excludes.
type isolationOf struct{ *bench }

func (i isolationOf) SpecCounts(_, other resource.Managed) bool      { return i.specCounts(other) }
func (isolationOf) AnnotationsCount(resource.Managed) bool           { return true }
func (isolationOf) GuestCounts(resource.Managed, proxmox.Guest) bool { return true }

func (b *bench) external() *external {
	e := &external{
		shared: &shared{
			object: &namespaced.Machine{}, images: b.imageReader(), kube: b.kube, tasks: b.tasks, passwords: b.sent, hostKeys: b.hostKeys,
			agents: b.agents, cache: b.cache,
			networks: networks.Reader{Kube: b.kube, List: &namespaced.NodeNetworkList{}}, settled: b.settled, scheduler: b.scheduler, unschedulable: b.unschedulable,
			wake: func(m Machine) { b.woken <- m }, record: event.NewNopRecorder(), now: b.clock.now,
		},
		sharesCluster: func(context.Context) func(resource.Managed) bool { return b.sharesCluster },
		isolation:     func(context.Context) nodechoice.Isolation { return isolationOf{b} },
		log:           logging.NewNopLogger(),
		defaults:      defaults{Defaults: qemu.Defaults{Storage: "local-lvm", Bridge: "vmbr0"}, Node: b.defaultNode},
		vmids:         v1alpha1.VMIDRange{Min: 10000, Max: 10010},
	}
	e.tenant = tenant.Checks{Tenant: b.tenant, Inventory: pveInventory{b.pve}}
	e.connectTo(b.pve, pveInventory{b.pve})
	return e
}

// A reconcileResult is the result of one reconcile.
type reconcileResult struct {
	exists, upToDate bool
	err              error
}

func allowed(m Machine, a xpv2.ManagementAction) bool {
	p := m.GetManagementPolicies()
	return len(p) == 0 || slices.Contains(p, xpv2.ManagementActionAll) || slices.Contains(p, a)
}

// reconcile calls what the managed reconciler calls.
func (b *bench) reconcile(ctx context.Context) reconcileResult {
	return b.reconcileWith(ctx, b.external())
}

func (b *bench) reconcileWith(ctx context.Context, e *external) reconcileResult {
	o, err := e.Observe(ctx, b.m)
	s := reconcileResult{exists: o.ResourceExists, upToDate: o.ResourceUpToDate, err: err}
	switch {
	case err != nil:
	case meta.WasDeleted(b.m) && o.ResourceExists && allowed(b.m, xpv2.ManagementActionDelete):
		_, s.err = e.Delete(ctx, b.m)
	case meta.WasDeleted(b.m):
	case !o.ResourceExists && allowed(b.m, xpv2.ManagementActionCreate):
		meta.SetExternalCreatePending(b.m, b.clock.now())
		_, s.err = e.Create(ctx, b.m)
	case !o.ResourceUpToDate && allowed(b.m, xpv2.ManagementActionUpdate):
		_, s.err = e.Update(ctx, b.m)
	}
	return s
}

// touch changes the VMs as others do, which PVE signals, and waits until their Machines are woken.
func (b *bench) touch() {
	for _, w := range b.watchers {
		w.Changed(inventory.ChangeAll)
		<-b.woken
	}
}

// end ends a task as PVE does, and waits until the Machine is woken.
func (b *bench) end(t *testing.T, u proxmox.UPID, exit string) {
	t.Helper()
	done := b.ends[u]
	if done == nil {
		t.Fatalf("nobody follows %s", u)
	}
	done(proxmox.Task{UPID: u, Type: u.Type(), ID: u.ID(), ExitStatus: exit})
	<-b.woken
}

// A clock stands still until it is set.
type clock struct{ time time.Time }

func newClock() *clock                { return &clock{time: time.Unix(1_800_000_000, 0)} }
func (c *clock) now() time.Time       { return c.time }
func (c *clock) wait(d time.Duration) { c.time = c.time.Add(d) }

func resourceOf(uid types.UID, generation int64) Machine {
	return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}}
}
