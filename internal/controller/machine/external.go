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

// Package machine drives virtual machines of Proxmox VE.
package machine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Machine of either scope.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// Events of a Machine beside those of the managed reconciler.
const (
	reasonTaskEnded  xpevent.Reason = "TaskEnded"
	reasonTaskFailed xpevent.Reason = "TaskFailed"
)

// A Client does to PVE what a Machine needs done.
type Client interface {
	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
	Interfaces(ctx context.Context, ref proxmox.Ref) ([]proxmox.Interface, error)
	Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error)
	TaskLog(ctx context.Context, u proxmox.UPID, lastLines int) ([]string, error)

	Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error)
	Clone(ctx context.Context, source proxmox.Ref, o proxmox.CloneOptions) (proxmox.UPID, error)
	Configure(ctx context.Context, ref proxmox.Ref, change proxmox.Change) error
	ConfigureAsync(ctx context.Context, ref proxmox.Ref, change proxmox.Change) (proxmox.UPID, error)
	Resize(ctx context.Context, ref proxmox.Ref, disk, size, digest string) (proxmox.UPID, error)
	Start(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Shutdown(ctx context.Context, ref proxmox.Ref, o proxmox.ShutdownOptions) (proxmox.UPID, error)
	Delete(ctx context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error)
}

// An Inventory answers what all Machines of a cluster ask.
type Inventory interface {
	Guests(ctx context.Context) ([]proxmox.Guest, error)
	FreshGuests(ctx context.Context) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	RecentTasks(ctx context.Context) ([]proxmox.Task, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
	ReserveVMID(ctx context.Context, owner string, lowest, highest int) (int, error)
	BurnVMID(id int)
}

// An external drives one VM during one reconcile.
type external struct {
	client    Client
	inventory Inventory
	kube      client.Client
	tasks     *tasks
	wake      func(Machine)
	record    xpevent.Recorder
	log       logging.Logger
	now       func() time.Time
	defaults  defaults
	vmids     v1alpha1.VMIDRange

	// What Observe found, for the call that follows it.
	vm       *vm
	plan     plan
	creation *creation
}

// A plan is what has to be done to a VM.
type plan struct {
	desired

	// unkept is true when the devices are not written down as they are.
	unkept bool

	refusals []string
	change   difference
	resizes  []resize
	power    powerChange
}

type powerChange int

const (
	keepPower powerChange = iota
	powerOn
	powerOff
)

func (p plan) empty() bool {
	return !p.unkept && len(p.refusals) == 0 && p.change.empty() && len(p.resizes) == 0 && p.power == keepPower
}

// Observe looks at the VM and at what separates it from the spec.
func (e *external) Observe(ctx context.Context, m Machine) (managed.ExternalObservation, error) {
	if meta.GetExternalName(m) == "" {
		return e.absent(ctx, m, identity{})
	}
	id, err := identityOf(m)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if e.vm, err = e.find(ctx, id.VMID, m.GetAnnotations()[AnnotationNode]); err != nil {
		return managed.ExternalObservation{}, err
	}
	if e.vm == nil {
		return e.absent(ctx, m, id)
	}
	switch id.prove(e.vm.Config) {
	case foreign:
		return e.foreign(ctx, m, id)
	case unproven:
		return e.waiting(m), nil
	case ours:
	}
	return e.observe(ctx, m, id)
}

// observe a VM that is ours.
func (e *external) observe(ctx context.Context, m Machine, id identity) (managed.ExternalObservation, error) {
	if err := e.enrich(ctx, e.vm); err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.makePlan(m, id); err != nil {
		return managed.ExternalObservation{}, err
	}
	o := m.Observation()
	e.vm.observe(o, e.plan.devices, e.now())
	e.plan.change.report(o, e.vm.Config)
	if t, ok := e.tasks.last(m); ok {
		o.LastTask = &v1alpha1.MachineTask{UPID: string(t.UPID), Type: t.Type, Result: t.ExitStatus}
	}
	if lock := e.vm.lock(); lock == "create" || lock == "clone" {
		return e.waiting(m), nil
	}
	show(m, append(e.vm.conditions(o), e.ready())...)
	seen := managed.ExternalObservation{
		ResourceExists:    true,
		ResourceUpToDate:  e.plan.empty(),
		ConnectionDetails: e.vm.connectionDetails(o),
	}
	if seen.ResourceUpToDate || meta.WasDeleted(m) {
		return seen, nil
	}
	return e.mayAct(ctx, m, seen)
}

// mayAct holds back a change that is due while the VM is busy, or while the last
// attempt has failed not long ago.
func (e *external) mayAct(ctx context.Context, m Machine, seen managed.ExternalObservation) (managed.ExternalObservation, error) {
	busy, err := e.busy(ctx, m, e.vm.VMID)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if busy || e.vm.lock() != "" {
		seen.ResourceUpToDate = true
		return seen, nil
	}
	if err := e.tasks.held(m); err != nil {
		m.Observation().Phase = v1alpha1.MachineError
		return managed.ExternalObservation{}, err
	}
	return seen, nil
}

// ready says whether the VM is in the power state that the spec wants, with
// its identity in place.
func (e *external) ready() xpv2.Condition {
	switch lock := e.vm.lock(); {
	case e.vm.unfinished:
		return xpv2.Creating()
	case e.plan.power == powerOn && lock != "":
		return notReady(ReasonLocked, fmt.Sprintf("the VM is not running, and is locked (%s)", lock))
	case e.plan.power == powerOn:
		return notReady(ReasonStopped, "the VM is not running yet")
	case e.plan.power == powerOff:
		return notReady(ReasonStopped, "the VM is still running")
	}
	return xpv2.Available()
}

// makePlan finds what separates the VM from the spec.
func (e *external) makePlan(m Machine, id identity) error {
	d := e.desired(m, id)
	before, err := parseDevices(m.GetAnnotations()[AnnotationDevices])
	if err != nil {
		return err
	}
	if d.devices, err = before.assign(m.Parameters(), e.vm.Config); err != nil {
		e.plan = plan{desired: d, refusals: []string{err.Error()}}
		return nil //nolint:nilerr // The plan has it.
	}
	d.devices = d.devices.without(d.devices.settled(m.Parameters(), e.vm.Config))
	e.plan = plan{
		desired:  d,
		unkept:   !before.assigned || !before.equal(d.devices),
		refusals: append(d.refusals(e.vm.Config), e.nodeRefusal(m)...),
		change:   d.difference(e.vm.Config),
		resizes:  d.resizes(e.vm.Config),
		power:    d.powerChange(e.vm),
	}
	_, e.vm.unfinished = e.plan.change.Set["smbios1"]
	return nil
}

// nodeRefusal is a node that was changed in the spec. A VM that was moved in PVE
// is followed.
func (e *external) nodeRefusal(m Machine) []string {
	wanted, created := value(m.Parameters().Node), m.GetAnnotations()[AnnotationNode]
	if wanted == "" || wanted == e.vm.Node || wanted == created || created == "" {
		return nil
	}
	return []string{fmt.Sprintf("the VM is on node %s and cannot move to %s: migration is not served yet", e.vm.Node, wanted)}
}

// powerChange that brings the VM to the power state of the spec.
func (d desired) powerChange(v *vm) powerChange {
	wanted := v1alpha1.PowerStateRunning
	if d.PowerState != nil {
		wanted = *d.PowerState
	}
	switch {
	case v.template():
		return keepPower
	case wanted == v1alpha1.PowerStateRunning && !v.Status.Running():
		return powerOn
	case wanted == v1alpha1.PowerStateStopped && v.Status.Running():
		return powerOff
	}
	return keepPower
}

// desired is the spec with what else decides how it is carried out.
func (e *external) desired(m Machine, id identity) desired {
	return desired{
		MachineParameters: m.Parameters(),
		name:              m.GetName(),
		identity:          id,
		tenant:            tenantOf(m.GetLabels()),
		defaults:          e.defaults,
	}
}

// waiting is the observation of a VM that is being created.
func (e *external) waiting(m Machine) managed.ExternalObservation {
	seen := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
	if meta.WasDeleted(m) {
		return seen
	}
	o := m.Observation()
	o.Phase = v1alpha1.MachineCreating
	message := "the VM is being created"
	if e.vm != nil {
		o.VMID, o.Node, o.Lock = int32Pointer(e.vm.VMID), e.vm.Node, e.vm.lock()
		message = fmt.Sprintf("VM %d is being created on node %s", e.vm.VMID, e.vm.Node)
	}
	show(m,
		xpv2.Creating().WithMessage(message),
		condition(TypeVMCreated, corev1.ConditionFalse, ReasonCreating, message),
	)
	return seen
}

// absent is the observation where there is no VM. If it may be created, all is
// decided and checked here, where conditions can be shown.
func (e *external) absent(ctx context.Context, m Machine, id identity) (managed.ExternalObservation, error) {
	e.vm = nil
	if id.VMID != 0 {
		busy, err := e.creating(ctx, m, id)
		if err != nil {
			return managed.ExternalObservation{}, err
		}
		if busy {
			return e.waiting(m), nil
		}
	}
	if meta.WasDeleted(m) {
		e.tasks.forget(m)
		return managed.ExternalObservation{}, nil
	}
	if id.VMID == 0 || !mayCreate(m) {
		m.Observation().Phase = v1alpha1.MachinePending
		return managed.ExternalObservation{}, nil
	}
	return managed.ExternalObservation{}, e.mayBeCreated(ctx, m, id)
}

// mayBeCreated decides how the VM is created and shows why it cannot be.
func (e *external) mayBeCreated(ctx context.Context, m Machine, id identity) error {
	err := e.tasks.held(m)
	if err == nil {
		e.creation, err = e.prepare(ctx, m, id)
	}
	if err == nil {
		m.Observation().Phase = v1alpha1.MachinePending
		return nil
	}
	m.Observation().Phase = v1alpha1.MachineError
	show(m, xpv2.Unavailable().WithMessage(err.Error()), refusalCondition(err))
	return err
}

// refusalCondition is the condition that shows why a VM cannot be created.
func refusalCondition(err error) xpv2.Condition {
	var r refusal
	if !errors.As(err, &r) {
		return condition(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, err.Error())
	}
	switch r.condition {
	case allocating:
		return condition(TypeResourcesAllocated, corev1.ConditionFalse, ReasonAllocationFailed, err.Error())
	case overcommitting:
		return condition(TypeResourcesAllocated, corev1.ConditionFalse, ReasonInsufficientResources, err.Error())
	case networking:
		return condition(TypeNetworkConfigured, corev1.ConditionFalse, ReasonNetworkError, err.Error())
	case creating:
	}
	return condition(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, err.Error())
}

// foreign is the observation of a VM that is somebody else's. It is as if there
// were none: a VMID that we chose is exchanged, one that the user named is a
// conflict.
func (e *external) foreign(ctx context.Context, m Machine, id identity) (managed.ExternalObservation, error) {
	node := e.vm.Node
	e.vm = nil
	if meta.WasDeleted(m) {
		e.tasks.forget(m)
		return managed.ExternalObservation{}, nil
	}
	if mayExchange(m) && mayCreate(m) {
		err := e.mayBeCreated(ctx, m, id)
		if e.creation != nil {
			e.creation.taken = true
		}
		return managed.ExternalObservation{}, err
	}
	err := errors.Errorf("VM %d already exists on node %s and is not this resource's: it is left alone. "+
		"Choose another vmid, or create a resource with the annotation %s: \"%d\" to adopt it", id.VMID, node, meta.AnnotationKeyExternalName, id.VMID)
	m.Observation().Phase = v1alpha1.MachineError
	show(m, notReady(ReasonNotOurs, err.Error()), condition(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, err.Error()))
	return managed.ExternalObservation{}, err
}

// busy says whether a task works on the VM, of ours or anybody's.
func (e *external) busy(ctx context.Context, m Machine, id int) (bool, error) {
	tasks, err := e.inventory.RecentTasks(ctx)
	if err != nil || e.tasks.running(m, tasks) {
		return err == nil, err
	}
	return slices.ContainsFunc(tasks, func(t proxmox.Task) bool {
		return t.Running && t.ID == strconv.Itoa(id) && strings.HasPrefix(t.Type, "qm")
	}), nil
}

// cloneGrace is how long after our last attempt a running clone of the same
// template may be the one that we started.
const cloneGrace = 10 * time.Minute

// creating says whether a task may be creating the VM although it cannot be seen
// yet. The task of a clone names its source only.
func (e *external) creating(ctx context.Context, m Machine, id identity) (bool, error) {
	if busy, err := e.busy(ctx, m, id.VMID); busy || err != nil {
		return busy, err
	}
	source, begun := m.GetAnnotations()[AnnotationSource], meta.GetExternalCreatePending(m)
	if source == "" || begun.IsZero() || e.now().Sub(begun) > cloneGrace {
		return false, nil
	}
	tasks, err := e.inventory.RecentTasks(ctx)
	return slices.ContainsFunc(tasks, func(t proxmox.Task) bool {
		return t.Running && t.ID == source && t.Type == "qmclone"
	}), err
}

// Create starts to create the VM. The task goes on after it returns.
func (e *external) Create(ctx context.Context, m Machine) (managed.ExternalCreation, error) {
	c := e.creation
	if c == nil {
		return managed.ExternalCreation{}, errors.New("cannot create a VM that was not looked for")
	}
	if c.taken {
		e.inventory.BurnVMID(c.identity.VMID)
		if err := e.exchange(ctx, m, c); err != nil {
			return managed.ExternalCreation{}, err
		}
	}
	if err := kind.Annotate(ctx, e.kube, m, c.annotations()); err != nil {
		return managed.ExternalCreation{}, err
	}
	u, err := e.create(ctx, c)
	if proxmox.IsAlreadyExists(err) {
		return managed.ExternalCreation{}, e.lost(ctx, m, c, err)
	}
	if err != nil {
		e.refused(m, err)
		return managed.ExternalCreation{}, err
	}
	e.log.Debug("Creating VM", "vmid", c.identity.VMID, "node", c.node)
	e.follow(m, u, c.node)
	return managed.ExternalCreation{}, nil
}

// refused has a refusal of PVE shown by the next look: conditions that are set
// here are lost when the reconciler writes annotations.
func (e *external) refused(m Machine, err error) {
	lasting := []proxmox.Class{proxmox.ClassValidation, proxmox.ClassAuthorization, proxmox.ClassUnknown}
	if slices.Contains(lasting, proxmox.ClassOf(err)) {
		e.tasks.refused(m, err)
	}
}

// annotations that have to be kept before the VM is created.
func (c *creation) annotations() map[string]string {
	a := map[string]string{AnnotationNode: c.node, AnnotationDevices: c.devices.String()}
	if c.source != nil {
		a[AnnotationSource] = strconv.Itoa(c.source.VMID)
	}
	return a
}

func (e *external) create(ctx context.Context, c *creation) (proxmox.UPID, error) {
	if c.source == nil {
		return e.client.Create(ctx, proxmox.Ref{Node: c.node, VMID: c.identity.VMID}, c.params())
	}
	return e.client.Clone(ctx, c.source.Ref(), c.cloneOptions())
}

// lost deals with a VMID that somebody else was faster to take, or has where we
// cannot see it. It looks first whether that is us.
func (e *external) lost(ctx context.Context, m Machine, c *creation, taken error) error {
	v, err := e.look(ctx, proxmox.Ref{Node: c.node, VMID: c.identity.VMID})
	if proxmox.IsAuthorization(err) {
		v, err = nil, nil // Ours we could see: it was looked for before the call.
	}
	if err != nil || v != nil && c.identity.prove(v.Config) != foreign || !mayExchange(m) {
		return errors.Wrapf(taken, "VM %d already exists", c.identity.VMID)
	}
	e.inventory.BurnVMID(c.identity.VMID)
	return errors.Wrapf(errors.Join(taken, e.exchange(ctx, m, c)), "VM %d already exists: another VMID is taken", c.identity.VMID)
}

// Update does the next thing that brings the VM nearer to the spec. What takes a
// task is started, and the rest waits for its end.
func (e *external) Update(ctx context.Context, m Machine) (managed.ExternalUpdate, error) {
	p := e.plan
	if e.vm == nil {
		return managed.ExternalUpdate{}, errors.New("cannot update a VM that was not looked at")
	}
	if len(p.refusals) > 0 {
		return managed.ExternalUpdate{}, errors.New(strings.Join(p.refusals, "; "))
	}
	if err := e.keepDevices(ctx, m); err != nil {
		return managed.ExternalUpdate{}, err
	}
	if p.change.Allocates {
		return managed.ExternalUpdate{}, e.start(m)(e.client.ConfigureAsync(ctx, e.vm.Ref, e.change()))
	}
	if err := e.configure(ctx, m); err != nil {
		return managed.ExternalUpdate{}, err
	}
	if len(p.resizes) > 0 {
		r := p.resizes[0]
		return managed.ExternalUpdate{}, e.start(m)(e.client.Resize(ctx, e.vm.Ref, r.Device, r.Size.String(), ""))
	}
	return managed.ExternalUpdate{}, e.setPower(ctx, m)
}

// keepDevices writes down which device each entry of the spec is, before a
// change makes them so.
func (e *external) keepDevices(ctx context.Context, m Machine) error {
	if !e.plan.unkept {
		return nil
	}
	return kind.Annotate(ctx, e.kube, m, map[string]string{AnnotationDevices: e.plan.devices.String()})
}

func (e *external) change() proxmox.Change {
	return proxmox.Change{Set: e.plan.change.Set, Delete: e.plan.change.Delete, Digest: e.vm.Digest}
}

// configure changes options, and has the VM looked at again soon: some may have
// become pending, also of those that the running VM has refused. A change that
// fails is tried again no sooner than the back-off says.
func (e *external) configure(ctx context.Context, m Machine) error {
	if e.plan.change.empty() {
		return nil
	}
	err := e.client.Configure(ctx, e.vm.Ref, e.change())
	if err != nil && !proxmox.IsHotplugRefused(err) {
		return err
	}
	if err != nil {
		e.log.Debug("VM takes a change at its next start only", "vmid", e.vm.VMID, "error", err)
	}
	later, _ := m.DeepCopyObject().(Machine) // The reconciler goes on with this one.
	go e.wake(later)
	return nil
}

func (e *external) setPower(ctx context.Context, m Machine) error {
	switch e.plan.power {
	case powerOn:
		return e.start(m)(e.client.Start(ctx, e.vm.Ref))
	case powerOff:
		return e.start(m)(e.client.Shutdown(ctx, e.vm.Ref, shutdown(m)))
	case keepPower:
	}
	return nil
}

// shutdown gracefully, and hard after the time that the guest has for it.
func shutdown(m Machine) proxmox.ShutdownOptions {
	seconds := value(m.Parameters().ShutdownTimeoutSeconds)
	return proxmox.ShutdownOptions{Timeout: time.Duration(seconds) * time.Second, ForceStop: true}
}

// Delete does the next thing that leads to the end of the VM.
func (e *external) Delete(ctx context.Context, m Machine) (managed.ExternalDelete, error) {
	show(m, xpv2.Deleting())
	if e.vm == nil {
		return managed.ExternalDelete{}, nil
	}
	lock := e.vm.lock()
	if lock == "create" || lock == "clone" {
		return managed.ExternalDelete{}, nil
	}
	if busy, err := e.busy(ctx, m, e.vm.VMID); busy || err != nil {
		return managed.ExternalDelete{}, err
	}
	if lock != "" {
		return managed.ExternalDelete{}, errors.Errorf("VM %d is locked (%s)", e.vm.VMID, lock)
	}
	if err := e.tasks.held(m); err != nil {
		return managed.ExternalDelete{}, err
	}
	return managed.ExternalDelete{}, e.destroy(ctx, m)
}

func (e *external) destroy(ctx context.Context, m Machine) error {
	if e.vm.Config["protection"] == "1" {
		if p := m.Parameters().Protection; p == nil || *p {
			err := errors.Errorf("VM %d is protected: set protection to false to let it be removed", e.vm.VMID)
			show(m, notReady(ReasonProtected, err.Error()))
			return err
		}
		if err := e.unprotect(ctx); err != nil {
			return err
		}
	}
	if e.vm.Status.Running() {
		return e.start(m)(e.client.Shutdown(ctx, e.vm.Ref, shutdown(m)))
	}
	return e.start(m)(e.client.Delete(ctx, e.vm.Ref, proxmox.DeleteOptions{Purge: true}))
}

// unprotect lifts the protection of a VM whose spec no longer has it: a resource
// that is being deleted is not updated any more.
func (e *external) unprotect(ctx context.Context) error {
	change := proxmox.Change{Set: proxmox.Params{"protection": "0"}, Digest: e.vm.Digest}
	return errors.Wrap(e.client.Configure(ctx, e.vm.Ref, change), "cannot lift protection")
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }

// start follows the task that a call to PVE has started.
func (e *external) start(m Machine) func(proxmox.UPID, error) error {
	return func(u proxmox.UPID, err error) error {
		if err == nil && u != "" {
			e.follow(m, u, e.vm.Node)
		}
		return err
	}
}

// lastLines of a failed task's log that are shown.
const lastLines = 3

// follow wakes the Machine when its task has ended.
func (e *external) follow(m Machine, u proxmox.UPID, node string) {
	m, _ = m.DeepCopyObject().(Machine)
	e.tasks.started(m, u)
	e.inventory.Follow(u, func(t proxmox.Task) {
		go e.settle(m, t, node) // It reads the log of a task that failed.
	})
}

func (e *external) settle(m Machine, t proxmox.Task, node string) {
	defer e.wake(m)
	vmid := meta.GetExternalName(m)
	if t.OK() {
		e.tasks.ended(m, t, nil)
		if t.Type == "qmcreate" || t.Type == "qmclone" {
			e.log.Info("Successfully created VM", "vmid", vmid, "node", node)
		}
		e.record.Event(m, xpevent.Normal(reasonTaskEnded, fmt.Sprintf("%s of VM %s has ended: %s", t.Type, vmid, t.ExitStatus)))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lines, err := e.client.TaskLog(ctx, t.UPID, lastLines)
	if err != nil {
		e.log.Debug("Cannot read task log", "vmid", vmid, "error", err)
	}
	failure := t.Err(lines...)
	e.tasks.ended(m, t, failure)
	e.log.Info("Task failed", "vmid", vmid, "node", node, "type", t.Type, "error", failure)
	e.record.Event(m, xpevent.Warning(reasonTaskFailed, failure))
}
