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
	"cmp"
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/agentpoll"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/claims"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/health"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/lookup"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An external manages one VM during one reconcile.
type external struct {
	*shared

	client        Client
	inventory     Inventory
	reader        *vmcache.Reader
	checks        *preflight.Checks
	sources       source.Finder
	sharesCluster func(context.Context) func(resource.Managed) bool
	isolation     isolationFunc
	log           logging.Logger
	defaults      defaults
	endpoints     []string
	vmids         v1alpha1.VMIDRange

	// tasksBefore are the tasks as they were before the VM was read.
	tasksBefore tasktrack.View

	// bridges that networks of the spec name by NodeNetworks.
	bridges *networks.Bridges

	// pooled are the addresses that networks of the spec take from pools.
	pooled *ipam.Addresses

	// tenant of the Machine, and what it may not have.
	tenant tenant.Checks

	// reads of the Secrets and ConfigMaps that the spec refers to, and the password of cloud-init's user.
	reads    *secretref.Reads
	password *password.Source

	// dirty is what must be read of the VM after it was changed.
	dirty vmcache.Dirty

	// ownershipProven is true if this reconcile has proven that the VM is ours. Nothing is done to a VM that is only cached.
	ownershipProven bool

	// sum is a checksum of the inputs of this reconcile. evaluated is true if the last evaluation with the same sum was sufficient.
	sum       uint64
	evaluated bool

	// The results of Observe, for the call that follows it.
	vm       *vmstate.VM
	planned  plan
	creation *creation
}

// Observe reads the VM and compares it with the spec.
func (e *external) Observe(ctx context.Context, m Machine) (managed.ExternalObservation, error) {
	before := events.Conditions(m)
	e.sum, _ = e.sumOf(m) // An error recurs when the evaluation is kept.
	seen, err := e.look(ctx, m)
	if e.evaluated { // The status is as the evaluation has left it.
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, ConnectionDetails: e.details(m, m.Observation())}, nil
	}
	found := e.report()
	upToDate := found.upToDate(m, seen, err)
	conditions.Set(m, upToDate)
	if upToDate.Status == corev1.ConditionTrue {
		e.settled.MarkUpToDate(m, e.planned.wanted(m, e.settled))
	}
	for _, fault := range e.told.Faults(m, before, e.vm != nil, found.powerFault(m)) {
		e.record.Event(m, fault)
	}
	e.settled.KeepEvaluation(m, e.evaluation(ctx, m, seen, err))
	return seen, err
}

// look reads the VM, or takes it from the cache, and plans. It sets evaluated, and observes no more, if the last evaluation still holds.
func (e *external) look(ctx context.Context, m Machine) (managed.ExternalObservation, error) {
	if err := cmp.Or(e.unschedulable.Reason(m), e.quotas.Reason(m)); err != nil {
		return managed.ExternalObservation{}, err
	}
	if meta.GetExternalName(m) == "" {
		if wait := e.waitForSource(ctx, m); wait != nil {
			return observeSourceWait(m, e.tenant.Brief(wait))
		}
	}
	var err error
	if e.bridges, err = e.networks.Resolve(ctx, m, e.sharesCluster, e.tenant); err != nil {
		return managed.ExternalObservation{}, err
	}
	e.tasksBefore = e.lookup().Running(ctx, m)
	if meta.GetExternalName(m) == "" {
		return e.observeMissing(ctx, m, qemu.Identity{})
	}
	id, err := object.IdentityOf(m)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.claims().CheckUUID(ctx, m, id); err != nil {
		return e.observeConflict(m, err)
	}
	if e.pooled, err = e.addresses.Resolve(ctx, m, id.UUID); err == nil && !e.tenant.Limited() {
		err = e.addresses.Claim(ctx, m, e.pooled, m.Parameters().Networks)
	}
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if kind.ReconcileRequested(m) {
		return e.readVM(ctx, m, id)
	}
	if e.evaluated = e.stillHolds(ctx, m, id); e.evaluated {
		return managed.ExternalObservation{}, nil
	}
	if e.vm = e.lookup().Cached(ctx, m, id); e.vm != nil {
		if err := e.planVM(ctx, m, id); err != nil {
			return managed.ExternalObservation{}, err
		}
		if !e.mustRead(ctx, m) && e.tenant.HasVM(ctx, id.VMID) {
			return e.observeOwned(ctx, m, id)
		}
	}
	return e.readVM(ctx, m, id)
}

// readVM reads the current VM, and plans.
func (e *external) readVM(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	e.vm, e.planned = nil, plan{}
	find := e.lookup()
	if find.Creating(m) {
		return e.observeCreating(ctx, m, id)
	}
	read := find.Begin(ctx, m, id)
	var err error
	if e.vm, err = find.Find(ctx, m, id); err != nil {
		if hidden := e.tenant.Hidden(ctx, m, id.VMID); hidden != nil {
			return managed.ExternalObservation{}, hidden
		}
		return e.recreator(m).Observe(ctx, m, id, err)
	}
	_, destroyed := e.tasks.Destroyed(m)
	if err := claims.CheckIdentity(ctx, e.inventory, m, id, e.vm, destroyed); err != nil {
		return managed.ExternalObservation{}, err
	}
	if e.vm == nil {
		return e.observeMissing(ctx, m, id)
	}
	proof, err := e.tracker().Prove(ctx, m, id, e.vm)
	e.vm = proof.VM
	if err == nil {
		err = e.tenant.Ownership(ctx, m, e.vm, proof.Proof)
	}
	switch {
	case err != nil && tenancy.IsRefusal(err) && meta.WasDeleted(m):
		return e.observeRefused(ctx, m, id, err)
	case err != nil:
		return managed.ExternalObservation{}, err
	case e.vm.Config.Remains() && !object.MayReplaceVMID(m) && e.tenant.MayName(ctx, m, id.VMID):
		return observePartialDestroy(m, e.vm, e.tasksBefore)
	case proof.Unfinished && proof.InPlace:
		return e.observeLost(ctx, m, id)
	case proof.Unfinished:
		return e.observeUnfinished(ctx, m, id)
	case proof.Proof == qemu.Foreign:
		e.cache.Invalidate(m, vmcache.DirtyAll) // The cache has another VM: a deletion must not act on that.
		return e.observeForeign(ctx, m, id)
	case proof.Proof == qemu.Unproven:
		return e.observeCreating(ctx, m, id)
	}
	e.ownershipProven = true
	if e.vm.Status, err = find.Status(ctx, m, e.vm, read); err != nil {
		return managed.ExternalObservation{}, err
	}
	e.cache.Keep(m, e.vm, read)
	e.evaluated = !kind.ReconcileRequested(m) && e.stillHolds(ctx, m, id)
	if e.evaluated {
		return managed.ExternalObservation{}, nil
	}
	if err := e.planRead(ctx, m, id); err != nil {
		return managed.ExternalObservation{}, err
	}
	return e.observeOwned(ctx, m, id)
}

// lookup returns the lookup of the VM.
func (e *external) lookup() lookup.Lookup {
	return lookup.Lookup{
		Client: e.client, Inventory: e.inventory, Reader: e.reader, Cache: e.cache, Tasks: e.tasks, Before: e.tasksBefore, Waker: e.waker,
		Now: e.now(), Clones: e.tenant.MayClone,
	}
}

// mustRead reports whether the VM must be read before a plan from the cached VM is carried out. The VM must be proven ours before any change.
func (e *external) mustRead(ctx context.Context, m Machine) bool {
	if busy, err := e.tasksBefore.Busy(e.vm.VMID); busy || err != nil {
		return false
	}
	find := e.lookup()
	switch {
	case meta.WasDeleted(m):
		if e.tasks.BackoffError(m) {
			return false
		}
		e.ownershipProven = find.SameProcess(ctx, m, e.vm)
		return !e.ownershipProven
	case e.planned.due(e.tasks, m).empty(), !kind.Manages(m), e.tasks.BackoffError(m), !e.planned.proceeds(e.vm):
		return false
	}
	e.ownershipProven = find.JustCreated(m) && e.cache.Fresh(m) || e.planned.onlyStarts() && !e.vm.StatusListed && find.OwnershipCurrent(ctx, m)
	return !e.ownershipProven
}

// planVM plans the changes of a VM that is ours.
func (e *external) planVM(ctx context.Context, m Machine, id qemu.Identity) error {
	agentOf(e).Run(m)
	if e.vm.Status.Running() {
		e.tasks.EndReboot(m, e.now().Add(-e.vm.Status.Uptime))
	}
	return e.planner(m).plan(ctx, m, id, &e.planned)
}

// observeOwned returns the observation of a VM that is ours, and of its plan.
func (e *external) observeOwned(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	o := m.Observation()
	o.Annotations, o.Placement = object.PersistedAnnotations(m), nil
	if m.GetAnnotations()[object.AnnotationPlacement] != "" {
		o.Placement = scheduler.DecisionOf(m)
	}
	o.Image = images.Pinned(m)
	recordCluster(ctx, e.inventory, o)
	before := new(*o)
	e.vm.Usage, e.vm.ShowConfig = e.cache.Usage(m), ptr.Deref(m.Parameters().ShowConfig, false)
	e.vm.Observe(o, e.planned.Devices, e.now())
	e.tenant.Records.Sign(m)
	e.tenant.ShowAllowed(ctx, m, e.vm)
	happened := events.OfChange(before, o, e.tasks.Active(m))
	happened = append(happened, e.told.Retained(m, before, o)...)
	for _, event := range happened {
		e.record.Event(m, event)
	}
	if o.PowerAction != nil || m.Parameters().PowerAction != nil {
		e.powerActionFeature().observeAction(ctx, m, &e.planned)
	}
	e.planned.showActs(m)
	if o.Difference = nil; !e.planned.empty() || len(e.planned.steps) > 0 {
		e.planned.recordPlan(o, e.vm.Config)
	}
	if e.planned.change.Empty() {
		e.tasks.Kept(m, !e.cache.Predicted(m))
	}
	recordTask(m, e.tasks)
	if e.vm.BeingCreated() {
		return e.observeCreating(ctx, m, id)
	}
	if o.PendingDisks = nil; e.planned.Created && kind.Manages(m) {
		o.PendingDisks = health.PendingDisks(m.Parameters(), before, e.planned.Devices)
	}
	checks, ready := e.health(m), e.powerFeature().ready(m, e.planned)
	if !meta.WasDeleted(m) {
		ready = checks.Ready(ctx, m.Parameters(), ready)
		checks.ShowBootable(m, ready)
	}
	conditions.Set(m, append(checks.Conditions(ctx, conditions.OfVM(e.vm, o)...), e.planned.restart.Condition(e.vm), ready)...)
	seen := managed.ExternalObservation{
		ResourceExists:    true,
		ResourceUpToDate:  e.planned.empty(),
		ConnectionDetails: e.details(m, o),
	}
	if seen.ResourceUpToDate || meta.WasDeleted(m) {
		return seen, nil
	}
	return e.checkBackoff(m, seen)
}

// details returns what a client needs to reach the VM, if there is a Secret for it.
func (e *external) details(m Machine, o *v1alpha1.MachineObservation) managed.ConnectionDetails {
	if object.ConnectionSecret(m).Name == "" {
		return nil
	}
	return agentOf(e).WithHostKeys(m, e.password.Publish(e.vm.ConnectionDetails(o, e.endpoints)))
}

// health returns the health checker of the VM.
func (e *external) health(m Machine) health.Checker {
	found := e.report()
	adds := func(device string) bool { return found.adds(m, device) }
	return health.Checker{Inventory: e.inventory, Checks: e.checks, VM: e.vm, Devices: e.planned.Devices, Adds: adds}
}

// agentOf returns the poll of the VM's guest agent.
func agentOf(e *external) agentpoll.Poll {
	return agentpoll.Poll{
		Client: e.client, VM: e.vm, Agents: e.agents, HostKeys: e.hostKeys, Cluster: e.inventory, Now: e.now, Log: e.log, Waker: e.waker,
	}
}

// recordCluster records the cluster that has the VM, if that is known.
func recordCluster(ctx context.Context, in Inventory, o *v1alpha1.MachineObservation) {
	name, err := in.ClusterName(ctx)
	if err == nil && name != "" {
		o.Cluster = name
	}
}

// recordTask records the task that was last seen to end.
func recordTask(m Machine, tasks *tasktrack.Tracker) {
	if t, ok := tasks.Last(m); ok {
		m.Observation().LastTask = &v1alpha1.MachineTask{UPID: string(t.UPID), Type: t.Type, Result: t.ExitStatus}
	}
}

// checkBackoff holds back a due change while the VM is busy, or while the last attempt has failed recently.
func (e *external) checkBackoff(m Machine, seen managed.ExternalObservation) (managed.ExternalObservation, error) {
	busy, err := e.tasksBefore.Busy(e.vm.VMID)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if !kind.Manages(m) && object.MayCreate(m) {
		conditions.AppendReady(m, "the VM differs from the spec, and managementPolicies do not include Update: see status.atProvider.difference")
	}
	if !e.tasksBefore.Ours && !e.planned.allowedDuringLock(e.vm) && e.planned.power == power.Keep {
		conditions.AppendReady(m, e.vm.WaitsFor())
	}
	if busy || e.planned.due(e.tasks, m).empty() || !e.planned.proceeds(e.vm) {
		seen.ResourceUpToDate = true
		return seen, nil
	}
	if err := e.tasks.BackoffReason(m); e.tasks.WaitsForLock(m, err) {
		return managed.ExternalObservation{}, e.watch().WaitForLock(m, err)
	} else if err != nil {
		m.Observation().Phase = v1alpha1.MachineError
		return managed.ExternalObservation{}, err
	}
	seen.ResourceUpToDate = !e.ownershipProven
	return seen, nil
}

// observeCreating returns the observation of a VM that is being created, or seems to be: the lock of a task that ended with its node remains.
func (e *external) observeCreating(ctx context.Context, m Machine, id qemu.Identity) (managed.ExternalObservation, error) {
	m.Observation().Annotations = object.PersistedAnnotations(m)
	busy, err := e.lookup().MayBeCreating(ctx, m, id.VMID)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if e.vm != nil && !e.ownershipProven && !e.tenant.MayName(ctx, m, id.VMID) {
		e.vm = nil // A task that annotations name does not prove that the VM is the Machine's.
	}
	if !meta.WasDeleted(m) {
		setCreating(m, e.vm, busy)
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// setCreating shows that the VM is being created. v is nil before it is seen.
func setCreating(m Machine, v *vmstate.VM, busy bool) {
	o := m.Observation()
	o.Phase = v1alpha1.MachineCreating
	message := "the VM is being created"
	if v != nil {
		o.VMID, o.Node, o.Lock = vmstate.Int32Pointer(v.VMID), v.Node, v.Lock()
		message = fmt.Sprintf("VM %d is being created on node %s", v.VMID, v.Node)
		if !busy {
			message = restore.Stuck(m, v)
		}
	}
	conditions.Set(m,
		xpv2.Creating().WithMessage(message),
		conditions.New(conditions.TypeVMCreated, corev1.ConditionFalse, conditions.ReasonCreating, message),
	)
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }
