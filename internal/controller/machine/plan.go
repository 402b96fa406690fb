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
	"maps"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/migration"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/settled"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A plan lists the changes that a VM needs.
type plan struct {
	desired

	// annotations to write before anything is done.
	annotations map[string]string

	// staleImages are NoCloud images that are no longer used.
	staleImages []nocloud.Ref

	// waitReason is why the remains of a VM that no longer exists cannot be removed yet.
	waitReason error

	// orphanedRules are the steps that remove the remains of HA's rules of a VM that no longer exists.
	orphanedRules []harules.Step

	// rejections are why the spec cannot be carried out.
	rejections []string

	// change of options.
	change qemu.Difference

	// move is the migration that the spec asks for. It has no target if the spec asks for none.
	move migration.Migration

	// capacity of storages for disks that are created or grow.
	capacity capacity.Fit

	// deferred is the part of the change that waits for disks to move or to grow.
	deferred qemu.Difference
	steps    []step
	power    power.Change

	// heldPower is the change of power that waits for the act of the field heldFor.
	heldPower power.Change
	heldFor   string

	// crashes is how often in a row the VM has stopped soon after its start, if its next start waits for that, until nextStart.
	crashes   int
	nextStart time.Time
	restart   restart.Decision
	action    *v1alpha1.MachinePowerAction

	// laterAction is an action that waits for the guest to boot.
	laterAction *v1alpha1.MachinePowerAction

	// acts are the last requested acts of each kind.
	acts []actRecord
}

// A step is a call to PVE that changes something other than an option of the configuration.
type step struct {
	// difference is what the step changes.
	difference v1alpha1.MachinePendingChange

	// call may start a task, which the rest of the plan then waits for. It is nil if there is nothing to call: the call of another step makes the change
	// too, or the step waits.
	call func(context.Context) (proxmox.UPID, error)

	// atNextStart is true for a change that waits for the VM's next start.
	atNextStart bool

	// reportsResult is true if the call itself reports its result.
	reportsResult bool

	// needsDigest is true if the step sends the digest of the configuration that was read. The step waits for the next reconcile if the configuration
	// has changed since.
	needsDigest bool

	// specAlone is true if the difference depends on the spec alone: if the VM was up to date, others have changed it.
	specAlone bool

	// lockFree is true if the call needs no lock of the VM.
	lockFree bool
}

func (o step) due() bool { return !o.atNextStart }

// empty reports whether there is nothing to do now. Changes that wait for the VM's next start are only shown.
func (p plan) empty() bool {
	return len(p.annotations) == 0 && len(p.rejections) == 0 && p.change.Empty() && !slices.ContainsFunc(p.steps, step.due) && len(p.staleImages) == 0 &&
		p.power == power.Keep && !p.restart.Due && p.action == nil
}

// splitByLock splits the plan into the part for which PVE takes no lock of the VM, which continues while the VM reboots, and the other differences
// except the power state. A plan with rejections has no lock-free part.
func (p plan) splitByLock() (lockFree, locking plan) {
	if len(p.rejections) > 0 {
		return plan{}, p
	}
	locks := func(s step) bool { return !s.lockFree }
	lockFree, locking = plan{desired: p.desired, staleImages: p.staleImages}, p
	lockFree.image = nil
	lockFree.steps = slices.DeleteFunc(slices.Clone(p.steps), locks)
	if joins, ok := p.annotations[object.AnnotationHARules]; ok {
		lockFree.annotations = map[string]string{object.AnnotationHARules: joins}
	}
	locking.steps = slices.DeleteFunc(slices.Clone(p.steps), func(s step) bool { return s.lockFree })
	locking.staleImages, locking.annotations, locking.power = nil, nil, power.Keep
	return lockFree, locking
}

// due returns the part of the plan that may be carried out now.
func (p plan) due(tasks *tasktrack.Tracker, m Machine) plan {
	if !tasks.Rebooting(m) {
		return p
	}
	lockFree, _ := p.splitByLock()
	return lockFree
}

// call returns the call that changes the options.
func (p plan) call(v *vmstate.VM) proxmox.Change {
	return proxmox.Change{Set: p.change.Set, Delete: p.change.Delete, Digest: v.Digest}
}

// allowedDuringLock reports whether the lock of a VM allows the plan to be carried out. A suspended VM accepts only the call that resumes it.
func (p plan) allowedDuringLock(v *vmstate.VM) bool {
	return v.Lock() == "" || v.Suspended() && (p.power == power.On || p.action != nil)
}

// proceeds reports whether some of the plan can be carried out. In addition to what the VM's lock allows, images that a suspended VM does not have
// are removed, and decisions that need no change of the VM are recorded, such as another name of a disk.
func (p plan) proceeds(v *vmstate.VM) bool {
	return p.allowedDuringLock(v) || v.Suspended() && (len(p.staleImages) > 0 || p.onlyNotes())
}

// onlyStarts reports whether the VM needs no change except to be started.
func (p plan) onlyStarts() bool {
	started := p.power == power.On
	p.power = power.Keep
	return started && p.empty()
}

// onlyNotes reports whether the VM needs no change except in the annotations.
func (p plan) onlyNotes() bool {
	p.annotations = nil
	return p.empty()
}

// dependsOnStatus reports whether the plan is right only for a VM that runs, or only for one that does not.
func (p plan) dependsOnStatus() bool {
	return p.power != power.Keep || p.restart.Due || p.action != nil || slices.ContainsFunc(p.steps, func(s step) bool { return s.due() && !s.lockFree })
}

// planRead plans for a VM that was read. If its status is from the cluster's list, the status is read before any step that depends on it: the VM may
// have been started or stopped since its node last reported it.
func (e *external) planRead(ctx context.Context, m Machine, id qemu.Identity) error {
	err := e.planVM(ctx, m, id)
	if err != nil || !e.vm.StatusListed || !meta.WasDeleted(m) && !e.planned.dependsOnStatus() {
		return err
	}
	status, err := e.client.Status(ctx, e.vm.Ref)
	if err != nil {
		return err
	}
	e.vm.Status, e.vm.StatusListed = status, false
	e.cache.KeepStatus(m, status)
	return e.planVM(ctx, m, id)
}

// A planner finds the differences between the VM and the spec.
type planner struct {
	spec        specReader
	features    []feature
	power       powerFeature
	options     settledOptions
	volumes     volumes.Reader
	addresses   ipam.Reader
	tenant      tenant.Checks
	checks      *preflight.Checks
	tasksBefore tasktrack.View
	vm          *vmstate.VM

	sharesCluster func(context.Context) func(resource.Managed) bool
}

// planner returns the planner of the VM.
func (e *external) planner(m Machine) planner {
	return planner{
		spec: e.spec(), features: e.features(m), power: e.powerFeature(),
		options: settledOptions{store: e.settled, vm: e.vm, superuser: e.checks.Superuser, limited: e.tenant.Limited()},
		volumes: e.volumes, addresses: e.addresses, tenant: e.tenant, checks: e.checks, tasksBefore: e.tasksBefore, vm: e.vm,
		sharesCluster: e.sharesCluster,
	}
}

// plan plans the changes that bring the VM to the spec.
func (e planner) plan(ctx context.Context, m Machine, id qemu.Identity, p *plan) error {
	d := e.spec.desired(m, id)
	disks, err := e.volumes.Resolve(ctx, m, d.MachineParameters, volumes.VM{UUID: id.UUID, Node: e.vm.Node, State: e.vm.State}, e.sharesCluster(ctx))
	if err != nil {
		return err
	}
	d.MachineParameters, d.awaited, d.touching, d.Leaving = disks.Parameters, disks.Waits, disks.Touching, disks.Leaving
	if d.Counted, err = e.tenant.CountedVolumes(ctx, m, id.UUID, e.volumes); err != nil {
		return err
	}
	e.vm.InHA = e.vm.Status.HAManaged
	for _, f := range e.features {
		if meta.WasDeleted(m) {
			break
		}
		if err := f.observe(ctx, m, &d); err != nil {
			return err
		}
	}
	before, err := object.RecordedDevices(m, id)
	if err != nil {
		return err
	}
	e.vm.IdentityPending = !e.vm.HasUUID(id)
	*p = e.power.begin(m, d)
	if e.options.unchanged(m, d) {
		p.Devices = before
		return planFeatures(ctx, m, e.features, p)
	}
	if d.MachineParameters, d.exceeded, err = e.tenant.Grow(ctx, m, d.Desired, before, e.vm, d.Counted); err != nil {
		return err
	}
	if e.vm.Lock() == "" { // Then everything that remains was checked.
		if err := e.addresses.Claim(ctx, m, e.spec.pooled, d.Networks); err != nil {
			return err
		}
	}
	if d.Devices, err = before.On(e.vm.State, d.MachineParameters, d.Defaults, m.GetGeneration()); err != nil {
		p.Devices, p.rejections = before, []string{err.Error()}
		return nil //nolint:nilerr // The plan has it.
	}
	d.MachineParameters = qemu.Refilled(d.MachineParameters, d.Devices, images.PinnedVolume(m), e.vm.Config)
	if m.GetAnnotations()[object.AnnotationDevices] == "" || !before.Equal(d.Devices) {
		p.annotations[object.AnnotationDevices] = d.Devices.String()
	}
	if err := e.addChange(ctx, m, d, p); err != nil {
		return err
	}
	e.options.keep(m, *p)
	return planFeatures(ctx, m, e.features, p)
}

// addChange plans the change of options, and records the parts of the spec that are rejected.
func (e planner) addChange(ctx context.Context, m Machine, d desired, p *plan) error {
	d.CloudInitFrozen = d.CloudInit != nil && ptr.Deref(d.CloudInit.ChangePolicy, "") == cloudinit.ChangeIgnore && e.vm.HasUUID(d.Identity)
	var rejections []string
	for _, f := range e.features {
		no, err := f.complete(ctx, m, &d)
		if err != nil {
			return err
		}
		rejections = append(rejections, no...)
	}
	p.desired = d
	change := d.withPassword(d.Change(e.vm.State))
	if !e.vm.Status.Running() && e.vm.Lock() == "" && p.power != power.On {
		change = change.WithPending(e.vm.State, d.Desired)
	}
	unfilled, err := e.checks.MissingImage(ctx, change, e.vm.Node)
	if err != nil {
		return err
	}
	p.change = change
	if e.vm.Status.Running() {
		p.change, p.deferred = change.SplitAroundDiskOps(e.vm.State, d.PendingDiskOps(e.vm.Config))
	}
	p.move, _ = d.migration(e.vm, m.GetAnnotations()[object.AnnotationNode])
	config := d.Restored(e.vm.State)
	forbidden, err := e.checks.ForbiddenChanges(ctx, change, config)
	p.rejections = slices.Concat(d.Rejections(config), unfilled, rejections, forbidden, e.tenant.Change(e.vm, change))
	if err != nil || meta.WasDeleted(m) {
		return err
	}
	unknown, err := e.checks.UnknownBridges(ctx, change, e.vm.Config, e.vm.Node)
	if err != nil {
		return err
	}
	if busy, _ := e.tasksBefore.Busy(e.vm.VMID); !busy { // The space that a task takes is no longer free.
		p.capacity, err = e.checks.CheckCapacity(ctx, d.Growths(config), e.vm.Node)
	}
	waits := e.spec.bridges.Missing(e.vm.Node, preflight.NewBridges(change, e.vm.Config))
	p.rejections = slices.Concat(p.rejections, e.spec.bridges.Problems(), waits, unknown, p.capacity.Rejections)
	return err
}

// settledOptions records for which VMs the options were found to be as their specs have them.
type settledOptions struct {
	store     *settled.Store
	vm        *vmstate.VM
	superuser bool // The connection is that of root.
	limited   bool // The tenant has a quota.
}

// unchanged reports whether the options of the VM were found to be as the spec has them, and neither has changed since. The data of cloud-init, and
// the drives that a migration empties, depend on more than that.
func (o settledOptions) unchanged(m Machine, d desired) bool {
	if d.CloudInit != nil || meta.WasDeleted(m) {
		return false
	}
	if d.Node != nil || d.goesTo != "" {
		if _, goes := d.migration(o.vm, m.GetAnnotations()[object.AnnotationNode]); goes {
			return false
		}
	}
	sum, err := o.sum(m, d)
	return err == nil && o.store.Is(m, sum)
}

// keep remembers that the options are as the spec has them, if the plan has no change of them.
func (o settledOptions) keep(m Machine, p plan) {
	sum, err := o.sum(m, p.desired)
	waits := len(p.rejections) > 0 || p.exceeded != nil || len(p.Growths(p.Restored(o.vm.State))) > 0
	if err != nil || waits || !p.change.Empty() || !p.deferred.Empty() || len(p.annotations) > 0 {
		o.store.Reset(m)
		return
	}
	o.store.Keep(m, sum)
}

// sum returns a checksum of everything that the difference of options depends on.
func (o settledOptions) sum(m Machine, d desired) (uint64, error) {
	return o.store.Sum(
		d.MachineParameters, d.Identity, d.Tenant, d.CarriedTags, d.Defaults, d.Created, m.GetGeneration(), m.GetAnnotations()[object.AnnotationDevices],
		o.superuser, d.Leaving, o.vm.Values, o.vm.VMID, o.vm.Node, o.vm.Status.Running(), o.limited, d.Counted,
	)
}

// wanted returns a checksum of what a Machine asks for, including what other objects add to it, or 0 if there is none.
func (p plan) wanted(m Machine, store *settled.Store) uint64 {
	sum, err := store.Sum(p.MachineParameters, p.Tenant, p.CarriedTags, p.Defaults, m.GetGeneration())
	if err != nil {
		return 0
	}
	return sum
}

// currentDigest returns the digest of the VM's configuration, or an empty string if the configuration has changed since it was read.
func (p plan) currentDigest(v *vmstate.VM) string {
	if p.change.Empty() {
		return v.Digest
	}
	return ""
}

// recordPlan writes the planned changes into the observation.
func (p plan) recordPlan(o *v1alpha1.MachineObservation, config qemu.Config) {
	d := p.change.With(p.deferred)
	o.Difference = nil
	for _, option := range slices.Sorted(maps.Keys(d.Set)) {
		o.Difference = append(o.Difference, v1alpha1.MachinePendingChange{
			Option: option, Current: vmstate.Masked(option, config[option]), Desired: vmstate.Masked(option, d.Set[option]),
		})
	}
	for _, option := range d.Delete {
		o.Difference = append(o.Difference, v1alpha1.MachinePendingChange{Option: option, Current: vmstate.Masked(option, config[option])})
	}
	for _, s := range p.steps {
		o.Difference = append(o.Difference, s.difference)
	}
}
