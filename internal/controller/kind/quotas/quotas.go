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

// Package quotas keeps the quotas of tenants. It reads what their resources have, asks package quota whether there is room, and keeps the grants in
// one ConfigMap per tenant name, which all replicas and shards of the provider share. The ConfigMap is written with the resource version that was
// read, so that one of two concurrent decisions is made again.
package quotas

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// There returns what the status of a resource shows, and the VMID of the VM that it names, or 0. begun is true if the VM is yet to be seen, so that
// only the spec or the record shows what exists.
type There func(resource.Managed) (there quota.Amounts, vmid int, begun bool)

// A counted kind of resources.
type counted struct {
	kind.Identity

	// reader of the resources, which should be a cache, and direct, which must not be one.
	reader, direct client.Reader

	there There
}

// A Keeper keeps the quotas of all tenants. It is safe for concurrent use.
type Keeper struct {
	kube        client.Client
	connections *connect.Connector
	now         func() time.Time
	waiters     waiters

	mu      sync.Mutex
	kinds   []counted
	ledgers map[key]*ledger
}

// A key identifies the ledger of an account, or a ledger used for warnings only.
type key struct {
	config, tenant string
	warned         bool
}

func keyOf(a connect.Account) key { return key{config: a.Config, tenant: a.Tenant} }

// A ledger of a tenant.
type ledger struct {
	mu sync.Mutex // Decisions of one process wait for each other instead of failing.

	// seen has the entries that this process has read or written last. It is never changed, only replaced.
	seen atomic.Pointer[quota.Ledger]
}

// entry returns the entry of a resource as it was seen last.
func (l *ledger) entry(uid string) (quota.Entry, bool) {
	last := l.seen.Load()
	if last == nil {
		return quota.Entry{}, false
	}
	e, ok := (*last)[uid]
	return e, ok
}

// New returns a Keeper without kinds.
func New() *Keeper {
	return &Keeper{ledgers: map[key]*ledger{}, now: time.Now}
}

// Use sets the client and the connections that all kinds share. The client must not cache ConfigMaps.
func (k *Keeper) Use(kube client.Client, connections *connect.Connector) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kube == nil {
		k.kube, k.connections = kube, connections
	}
}

// Add adds a kind of resources that quotas count. A deleted resource may free room for others. A nil Keeper counts nothing.
func (k *Keeper) Add(mgr manager.Manager, connections *connect.Connector, id kind.Identity, there There) error {
	if k == nil {
		return nil
	}
	k.Use(mgr.GetClient(), connections)
	k.mu.Lock()
	k.kinds = append(k.kinds, counted{Identity: id, reader: mgr.GetClient(), direct: mgr.GetAPIReader(), there: there})
	k.mu.Unlock()
	return kind.OnDeleted(mgr.GetCache(), id.Object, func(gone client.Object) {
		k.waiters.remove(gone)
		k.gone(string(gone.GetUID()))
	})
}

// gone wakes the resources that wait for room where a deleted resource has an entry. Where this process has not seen the entry, they ask again by
// themselves. Where the entry was removed already, they were woken then.
func (k *Keeper) gone(uid string) {
	k.mu.Lock()
	var left []key
	for of, l := range k.ledgers {
		if _, had := l.entry(uid); had {
			left = append(left, of)
		}
	}
	k.mu.Unlock()
	for _, of := range left {
		k.waiters.wake(of, nil, true)
	}
}

// An Application holds what a resource requests, and the data for the decision.
type Application struct {
	Resource resource.Managed
	Kind     string // With its group.

	// Config, Tenants and Tenant are those of its connection. Inventory lists the VMs.
	Config    string
	Tenants   []v1alpha1.ProviderTenant
	Tenant    *tenancy.Tenant
	Inventory Lister

	// There has the present amounts of the resource, and Wants all that it is to have.
	There, Wants quota.Amounts

	// VMID of the VM that the resource is in, or will be, and 0 for none. Volume is the disk that it stands for, and Volumes are those of a VM that was
	// seen.
	VMID    int
	Volume  string
	Volumes []string

	// Taken is the snapshot that a Snapshot is to take.
	Taken quota.Taken

	// Whole is true for a resource that is yet to be created, and Beside if the VM that it names does not belong to it.
	Whole, Beside bool

	// Rejected is the VMID that was granted, if Proxmox VE has refused to create the VM because the VMID was taken meanwhile; 0 for none.
	Rejected int

	// Wake wakes the resource when there may be room. It is nil for a resource that polls often enough.
	Wake func()

	account connect.Account
}

func (a Application) key() key { return keyOf(a.account) }

func (a Application) uid() string { return string(a.Resource.GetUID()) }

func (a Application) request() quota.Request {
	r := a.Resource
	e := quota.Entry{
		Kind: a.Kind, Namespace: r.GetNamespace(), Name: r.GetName(), Created: r.GetCreationTimestamp().Unix(), Wants: a.Wants, Whole: a.Whole,
		Claim: claimOf(r), Config: a.Config, VMID: a.VMID, Volume: a.Volume, Taken: a.Taken,
	}
	return quota.Request{
		UID: a.uid(), Entry: e, There: a.There, Beside: a.Beside, Volumes: a.Volumes, Owner: tenancy.OwnerOf(a.Volume), Rejected: a.Rejected,
	}
}

// claimOf returns the namespace of the claim of a cluster-scoped resource.
func claimOf(mg resource.Managed) string {
	if mg.GetNamespace() != "" {
		return ""
	}
	return tenancy.NamespaceOf(mg)
}

// Admit decides about an application and returns what is granted. An error that quota.IsExceeded recognizes names what the resource waits for. What
// is granted may be used nevertheless. Without a quota, everything is granted.
func (k *Keeper) Admit(ctx context.Context, a Application) (quota.Amounts, error) {
	if a.Tenant.Limits() == nil {
		return a.Wants, nil
	}
	var err error
	if a.account, err = k.connections.AccountOf(ctx, a.Config, a.Tenants, a.Tenant.Name); err != nil {
		return nil, err
	}
	l := k.ledger(a.key())
	l.mu.Lock()
	defer l.mu.Unlock()
	before, entered := l.entry(a.uid())
	if entered && a.isEntered(before) && !l.seen.Load().TakesOver(a.request()) {
		k.waiters.remove(a.Resource)
		return a.Wants, nil
	}
	d, freed, err := k.decide(ctx, l, a.account.Limits(), a)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot tell whether there is room in the quota of tenant %q", a.Tenant.Name)
	}
	k.waiters.wake(a.key(), d.Offered, freed || len(before.Has.Beyond(d.Granted)) > 0)
	k.waiters.remove(a.Resource)
	if len(d.Short) > 0 {
		err = &quota.ExceededError{Tenant: a.Tenant.Name, Short: d.Short}
		k.waiters.add(a, err, k.now())
	}
	return d.Granted, err
}

// isEntered reports whether there is nothing to decide: the resource has all that it wants, and so has its entry.
func (a Application) isEntered(e quota.Entry) bool {
	same := e.VMID == a.VMID && e.Volume == a.Volume && len(e.Has.Beyond(a.There)) == 0 && len(a.There.Beyond(e.Has)) == 0
	return same && len(e.Wants) == 0 && len(e.Pending) == 0 && len(a.Wants.Beyond(a.There)) == 0
}

// attempts is how often a decision is tried while others decide too.
const attempts = 20

// decide decides by the current state, and again while others write at the same time. It reports whether entries of deleted resources were removed.
func (k *Keeper) decide(ctx context.Context, l *ledger, limits quota.Amounts, a Application) (d quota.Decision, freed bool, err error) {
	for range attempts {
		d, freed, err = k.try(ctx, l, limits, a, false)
		if !kerrors.IsConflict(err) && !kerrors.IsAlreadyExists(err) {
			return d, freed, err
		}
	}
	return d, false, errors.Errorf("the account of the quota was changed by others %d times in a row", attempts)
}

// try tries to decide and to enter the decision. It reports whether entries of deleted resources were removed.
func (k *Keeper) try(ctx context.Context, l *ledger, limits quota.Amounts, a Application, fresh bool) (d quota.Decision, freed bool, err error) {
	b, p, err := k.open(ctx, a, fresh)
	if err != nil {
		return d, false, err
	}
	freed = p.prune(ctx)
	replaced := p.replace(ctx, a.request())
	seen := p.seen.With(p.entries)
	d = p.entries.Decide(limits, seen, a.request(), k.now())
	stale := func(s quota.Shortage) bool { return seen.MayBeStale(a.request(), s.Name) || p.entries.HasLeft(s.Name) }
	if !fresh && (p.needsFresh || slices.ContainsFunc(d.Short, stale)) {
		return k.try(ctx, l, limits, a, true)
	}
	if d.Changed || freed || replaced {
		if err := k.write(ctx, b, p.entries); err != nil {
			return d, false, err
		}
	}
	entries := p.entries // Only the entries are kept of all that was read.
	l.seen.Store(&entries)
	return d, freed, nil
}

// open reads the entries of an account, what its resources have, and the VMs in the cluster.
func (k *Keeper) open(ctx context.Context, a Application, fresh bool) (storedLedger, *pruning, error) {
	b, entries, err := k.read(ctx, a.account)
	if err != nil {
		return b, nil, err
	}
	age := inventory.Current
	if fresh {
		age = inventory.Fresh
	}
	guests, err := a.Inventory.Guests(ctx, age)
	if err != nil {
		return b, nil, err
	}
	p := &pruning{Keeper: k, config: a.Config, entries: entries, fresh: fresh, in: a.Inventory, ofTenant: map[string]bool{}, begun: map[string]quota.Resource{}}
	resources, err := p.resources(ctx, a.account)
	if err != nil {
		return b, nil, err
	}
	p.seen = seenIn(a.account, entries, resources, guests)
	return b, p, nil
}

// resources lists the resources of an account. Resources that belong to another tenant or account now are included if they have entries.
func (p *pruning) resources(ctx context.Context, of connect.Account) ([]quota.Resource, error) {
	var all []quota.Resource
	for _, c := range p.all() {
		listed, err := kind.ListCached(ctx, c.reader, c.List)
		if err != nil {
			return nil, err
		}
		for _, mg := range listed {
			is, err := p.connections.IsIn(ctx, mg, of)
			if err != nil {
				return nil, err
			}
			uid := string(mg.GetUID())
			_, had := p.entries[uid]
			if p.ofTenant[uid] = is; is || had {
				there, vmid, begun := c.there(mg)
				if begun {
					p.begun[uid] = quota.Resource{VMID: vmid, There: there}
				}
				if begun && had {
					there = nil // The entry has what was granted.
				}
				all = append(all, quota.Resource{UID: uid, VMID: vmid, There: there, Deleting: !is || meta.WasDeleted(mg)})
			}
		}
	}
	return all, nil
}

// seenIn returns what resources have, and which VMs belong to the tenant: those of its pools and range, and those that it has adopted.
func seenIn(account connect.Account, entries quota.Ledger, resources []quota.Resource, guests []proxmox.Guest) quota.Seen {
	adopted, outside := entries.Adopted(), map[int]bool{}
	seen := quota.See(resources, guests, func(g proxmox.Guest) bool {
		owns := account.Owns(g)
		outside[g.VMID] = adopted[g.VMID] && !owns && account.Holds(g)
		return outside[g.VMID] || owns
	})
	seen.Outside, seen.Creating = outside, creating(guests, seen)
	return seen
}

// creating returns a map of the VMIDs of all guests. The value is true for VMs that may belong to the tenant and are being created.
func creating(guests []proxmox.Guest, seen quota.Seen) map[int]bool {
	all := map[int]bool{}
	for _, g := range guests {
		owned, locked := seen.Listed[g.VMID] != nil, g.Lock == "create" || g.Lock == "clone"
		all[g.VMID] = g.Type == "qemu" && (owned && locked || !owned && g.Pool == "")
	}
	return all
}

func (k *Keeper) all() []counted {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kinds
}

func (k *Keeper) ledger(of key) *ledger {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ledgers[of] == nil {
		k.ledgers[of] = &ledger{}
	}
	return k.ledgers[of]
}

// isGone reports whether a resource is known to no longer exist.
func (k *Keeper) isGone(ctx context.Context, uid string, e quota.Entry) bool {
	for _, of := range k.all() {
		if of.GroupVersionKind.GroupKind().String() != e.Kind {
			continue
		}
		o, ok := of.Object.DeepCopyObject().(client.Object)
		if !ok {
			return false
		}
		err := of.direct.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Name}, o)
		return kerrors.IsNotFound(err) || err == nil && o.GetUID() != types.UID(uid)
	}
	return false
}

// Entered returns the entry of a resource in the quota of a tenant, by its UID, or an empty entry. It reads the stored entries if this process has
// not seen the entry, because another process may have entered it.
func (k *Keeper) Entered(ctx context.Context, config, tenant, uid string) (quota.Entry, error) {
	return k.enteredAs(ctx, config, tenant, uid, func(quota.Entry) bool { return true })
}

// Counts reports whether a Volume counts in the quota of a tenant as a disk. Its record alone does not prove that, because a user may have restored
// an earlier record.
func (k *Keeper) Counts(ctx context.Context, config, tenant, uid, volume string) (bool, error) {
	counts := func(e quota.Entry) bool { return len(e.Has) > 0 && e.Volume == volume }
	e, err := k.enteredAs(ctx, config, tenant, uid, counts)
	return counts(e), err
}

// enteredAs returns the entry of a resource as this process has seen it last, if do accepts it, and as it is stored now otherwise.
func (k *Keeper) enteredAs(ctx context.Context, config, tenant, uid string, do func(quota.Entry) bool) (quota.Entry, error) {
	if k == nil {
		return quota.Entry{}, nil
	}
	account, err := k.connections.AccountOf(ctx, config, nil, tenant)
	if err != nil {
		return quota.Entry{}, err
	}
	of := keyOf(account)
	l := k.ledger(of)
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, entered := l.entry(uid); entered && do(e) {
		return e, nil
	}
	_, entries, err := k.read(ctx, account)
	if err != nil {
		return quota.Entry{}, errors.Wrapf(err, "cannot read the quota of tenant %q", tenant)
	}
	l.seen.Store(&entries)
	return entries[uid], nil
}

// Reason returns why a resource waits, as long as it need not be decided again because it has not changed and was not woken. It returns nil if it is
// to be decided.
func (k *Keeper) Reason(mg resource.Managed) error {
	if k == nil {
		return nil
	}
	return k.waiters.reason(mg, k.now())
}

// Usage returns the usage of the tenants of a configuration that have a quota.
func (k *Keeper) Usage(ctx context.Context, config string, tenants []v1alpha1.ProviderTenant, in Lister) ([]v1alpha1.TenantObservation, error) {
	var all []v1alpha1.TenantObservation
	for _, t := range tenants {
		if t.Quota == nil {
			continue
		}
		account, err := k.connections.AccountOf(ctx, config, tenants, t.Name)
		if err != nil {
			return nil, err
		}
		a := Application{Config: config, Tenants: tenants, Tenant: tenancy.TenantNamed(tenants, t.Name), Inventory: in, account: account}
		usage, err := k.usage(ctx, a, false)
		if err != nil {
			return nil, err
		}
		all = append(all, v1alpha1.TenantObservation{Name: t.Name, Usage: usage})
	}
	return all, nil
}

// usage returns the usage of a tenant. It removes entries of deleted resources, including those deleted while no provider ran. It wakes resources of
// this process that wait and now have room, whatever has freed it: another process, a user of Proxmox VE, or time.
func (k *Keeper) usage(ctx context.Context, a Application, fresh bool) ([]v1alpha1.TenantUsage, error) {
	b, p, err := k.open(ctx, a, fresh)
	if err != nil {
		return nil, err
	}
	pruned := p.prune(ctx)
	if p.needsFresh {
		return k.usage(ctx, a, true)
	}
	if pruned {
		if err := k.write(ctx, b, p.entries); err != nil && !kerrors.IsConflict(err) { // Others have removed them, or will.
			return nil, err
		}
	}
	limits, seen := a.account.Limits(), p.seen.With(p.entries)
	k.waiters.wake(a.key(), p.entries.Fitting(limits, seen, k.now()), pruned)
	return p.entries.Usage(limits, seen), nil
}
