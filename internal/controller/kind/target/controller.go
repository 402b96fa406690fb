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

package target

import (
	"context"
	"strings"
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
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A Config describes the controller of such a kind.
type Config[T resource.Managed] struct {
	// Identity of the resources of one scope.
	Identity kind.Identity

	// Lists of the resources in all scopes.
	Lists []resource.ManagedList

	// Machine is an empty Machine of the scope.
	Machine client.Object

	// Noun names what a resource stands for, and Made the verb of its creation: a snapshot is taken.
	Noun, Made string

	// PollUnready is the poll interval of a resource that is not ready or not up to date yet.
	PollUnready time.Duration

	// Means reports whether a resource belongs to a Machine, or may turn out to.
	Means func(m T, machine string) bool

	// External returns the connector to what the resources stand for.
	External func(p Parts[T]) managed.TypedExternalConnector[T]
}

// Parts holds what all reconciles share.
type Parts[T resource.Managed] struct {
	Kube client.Client

	// Direct reads from the API server, not from the cache.
	Direct client.Reader

	Connection func(context.Context, resource.Managed) (*connect.Connection, error)
	Peers      kind.Conflicts
	Record     event.Recorder
	Wake       func(T)
	Now        func() time.Time

	// SameTenant returns a function that reports whether a resource may refer to a Machine. With nil, it may refer to all of them.
	SameTenant func(context.Context) connect.SameTenantFunc

	// VMRecordCounts returns a function that reports whether another resource's record about the VM with a UUID counts for a resource. With nil, all
	// records count.
	VMRecordCounts func(ctx context.Context, to *connect.Connection, by resource.Managed) func(other resource.Managed, uuid string) bool

	Machine    client.Object
	Noun, Made string
}

// wakes is how many resources may be queued to be woken before a caller has to wait.
const wakes = 64

// Setup adds a controller to the manager. A resource whose Machine has no VM yet is reconciled once the Machine has one.
func Setup[T resource.Managed](mgr ctrl.Manager, o kind.Options, c Config[T]) error {
	wake := make(chan ctrlevent.TypedGenericEvent[client.Object], wakes)
	p := Parts[T]{
		Kube: mgr.GetClient(), Direct: mgr.GetAPIReader(), Connection: o.Connections.Connect, Machine: c.Machine, Noun: c.Noun, Made: c.Made,
		Peers:  kind.Conflicts{Reader: mgr.GetClient(), Lists: c.Lists},
		Record: kind.NewRecorder(mgr, c.Identity.ControllerName()),
		Wake:   func(m T) { wake <- ctrlevent.TypedGenericEvent[client.Object]{Object: m} },
		Now:    o.Clock(),

		SameTenant: o.SameTenant(),
		VMRecordCounts: func(ctx context.Context, to *connect.Connection, by resource.Managed) func(resource.Managed, string) bool {
			isolation := o.Connections.Isolation(ctx, to)
			return func(other resource.Managed, uuid string) bool { return isolation.VMRecordCounts(by, other, uuid) }
		},
	}
	if err := c.watch(p).Start(mgr.GetCache()); err != nil {
		return errors.Wrapf(err, "cannot watch the Machines of %ss", c.Identity.GroupVersionKind.Kind)
	}
	return kind.Setup(mgr, o, kind.Kind[T]{Identity: c.Identity, External: c.External(p), PollInterval: pollEvery(c.PollUnready), Wake: wake})
}

// watch returns the watch of the Machines.
func (c Config[T]) watch(p Parts[T]) kind.MachineWatch {
	return kind.MachineWatch{
		Kube: p.Kube, Machine: c.Machine, List: c.Identity.List,
		Means: func(mg resource.Managed, machine string) bool {
			m, ok := mg.(T)
			return ok && c.Means(m, machine)
		},
		Wake: func(mg resource.Managed) {
			if m, ok := mg.(T); ok {
				p.Wake(m)
			}
		},
	}
}

// pollEvery returns a shorter poll interval for a resource that is not ready or not up to date yet.
func pollEvery(unready time.Duration) managed.PollIntervalHook {
	return func(mg resource.Managed, configured time.Duration) time.Duration {
		for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate} {
			if mg.GetCondition(t).Status != corev1.ConditionTrue {
				return min(configured, unready)
			}
		}
		return configured
	}
}

// Follow has the resource reconciled when a task has ended.
func (p Parts[T]) Follow(in Inventory, m T, u proxmox.UPID) {
	c, ok := m.DeepCopyObject().(T)
	if !ok || u == "" || p.Wake == nil {
		return
	}
	in.Follow(u, func(proxmox.Task) { go p.Wake(c) })
}

// ChangeWatcher is the part of an Inventory that reports VMs that others have changed.
type ChangeWatcher interface {
	Watch(ctx context.Context, key string, vmid int, w inventory.Watcher) bool
	Unwatch(key string)
}

// Watch has the resource reconciled when others have changed a VM, unless the resource is being deleted or there is no VMID. PVE is polled for
// changes while there are watchers.
func (p Parts[T]) Watch(ctx context.Context, in ChangeWatcher, m T, vmid int) {
	c, ok := m.DeepCopyObject().(T)
	if !ok || vmid == 0 || p.Wake == nil || meta.WasDeleted(m) {
		in.Unwatch(string(m.GetUID()))
		return
	}
	in.Watch(ctx, string(m.GetUID()), vmid, inventory.OnChange(func() { go p.Wake(c) }))
}

// Older returns the name of an older resource that stands for the same thing, as far as the resource's user may know it, and an empty name if there
// is none. claim returns the UUID of the VM that another resource has recorded. Where tenants share the cluster, forged records of other tenants do
// not count.
func (p Parts[T]) Older(
	ctx context.Context, m T, to *connect.Connection, claim func(other resource.Managed) (uuid string, claims bool),
) (string, error) {
	counts := func(resource.Managed, string) bool { return true }
	if p.VMRecordCounts != nil {
		counts = p.VMRecordCounts(ctx, to, m)
	}
	owner, err := p.Peers.Oldest(ctx, m, func(other resource.Managed) bool {
		uuid, claims := claim(other)
		return claims && counts(other, uuid)
	})
	if owner == nil || err != nil {
		return "", err
	}
	if of := tenancy.NamespaceOf(m); to.Tenant != nil && (of == "" || of != tenancy.NamespaceOf(owner)) {
		return "another " + strings.ToUpper(p.Noun[:1]) + p.Noun[1:], nil
	}
	return strings.TrimPrefix(client.ObjectKeyFromObject(owner).String(), "/"), nil
}

// Save writes a record, which consists of the given annotations, together with the external name, unless that is empty, and the cluster, if it is
// known.
func (p Parts[T]) Save(ctx context.Context, m T, a map[string]string, externalName, cluster string) error {
	if externalName != "" {
		a[meta.AnnotationKeyExternalName] = externalName
	}
	if cluster != "" {
		a[kind.AnnotationCluster] = cluster
	}
	return kind.Annotate(ctx, p.Kube, m, a)
}

// Event records an event of the resource.
func (p Parts[T]) Event(m T, v event.Event) {
	if p.Record != nil {
		p.Record.Event(m, v)
	}
}

// A problemError is a problem that blocks all further work.
type problemError struct{ kind.Problem }

func (e problemError) Error() string { return e.Message }

// Error returns a problem that blocks all further work as an error, whose reason ShowError shows.
func Error(p kind.Problem) error { return problemError{p} }

// Show sets the conditions of what was observed. starts is true if creation is the next step.
func (p Parts[T]) Show(m T, starts bool, difference []v1alpha1.OptionDifference, problems []kind.Problem) {
	before, ready := m.GetCondition(xpv2.TypeReady), kind.Ready(problems...)
	if starts && len(problems) == 0 {
		ready = xpv2.Creating()
	}
	m.SetConditions(ready.WithObservedGeneration(m.GetGeneration()), kind.UpToDate(difference, problems...).WithObservedGeneration(m.GetGeneration()))
	if p.Record != nil && !meta.WasDeleted(m) {
		kind.Announce(p.Record, m, before, ready, "the "+p.Noun+" is there")
	}
}

// ShowError sets the conditions of a resource that cannot be reconciled.
func ShowError(m resource.Managed, err error) {
	upToDate := kind.UpToDate(nil)
	upToDate.Status, upToDate.Reason, upToDate.Message = corev1.ConditionUnknown, xpv2.ReasonUnavailable, err.Error()
	ready := xpv2.Unavailable().WithMessage(err.Error())
	if p := (problemError{}); errors.As(err, &p) {
		ready, upToDate = kind.Ready(p.Problem), kind.UpToDate(nil, p.Problem)
	}
	m.SetConditions(ready.WithObservedGeneration(m.GetGeneration()), upToDate.WithObservedGeneration(m.GetGeneration()))
	tenancy.ShowRefusal(m, err)
}

// ShowDeleting shows that a resource is being deleted, and what that waits for: a problem, or a failed removal. The reconciler later sets Ready again
// with the message of UpToDate, whose reason shows whether a node is waited for.
func (p Parts[T]) ShowDeleting(m T, problem *kind.Problem, failure string) {
	deleting := p.deleting(problem, failure)
	m.SetConditions(deleting.WithObservedGeneration(m.GetGeneration()))
	waits := kind.Problem{Reason: xpv2.ReasonDeleting, Message: deleting.Message}
	if problem != nil && problem.Reason == ReasonNodeOffline {
		waits.Reason = ReasonNodeOffline
	}
	if waits.Message != "" || WaitsForNode(m) {
		m.SetConditions(kind.UpToDate(nil, waits).WithObservedGeneration(m.GetGeneration()))
	}
}

// WaitsForNode reports whether a resource waits for a node that cannot be asked, as its conditions show. A resource that is being deleted has the
// reason in UpToDate only.
func WaitsForNode(m resource.Conditioned) bool {
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate} {
		if m.GetCondition(t).Reason == ReasonNodeOffline {
			return true
		}
	}
	return false
}

// deleting returns the condition Ready of a resource that is being deleted.
func (p Parts[T]) deleting(problem *kind.Problem, failure string) xpv2.Condition {
	c := xpv2.Deleting()
	switch {
	case problem != nil:
		return c.WithMessage(problem.Message)
	case failure != "":
		return c.WithMessage("the " + p.Noun + " could not be removed, which is tried again: " + failure)
	}
	return c
}
