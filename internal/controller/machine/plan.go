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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A plan is what has to be done to a VM.
type plan struct {
	desired

	// annotations are the annotations to write before anything is done.
	annotations map[string]string

	// staleImages are NoCloud images that are no longer of use.
	staleImages []imageRef

	// waitReason is why what is left of a VM that is gone cannot be removed yet.
	waitReason error

	// orphanedRules are what is left of HA's rules of a VM that is gone.
	orphanedRules []harules.Step

	rejections []string
	change     qemu.Difference

	// capacity of storages for disks that are made or grow.
	capacity capacity

	// deferred is the part of the change that waits for disks to move or to grow.
	deferred qemu.Difference
	steps    []step
	power    powerChange

	// crashes are how often in a row the VM has stopped soon after its start, if its next one
	// waits for that.
	crashes int
	restart restart
	action  *v1alpha1.MachinePowerAction
}

// An step is a call to PVE that changes what is no option of the configuration.
type step struct {
	// difference is what the errand changes.
	difference v1alpha1.MachinePendingChange

	// call may start a task, which the rest of the plan then waits for. Nil if there is
	// nothing to call: the call of another errand makes the change too, or it waits.
	call func(context.Context) (proxmox.UPID, error)

	// atNextStart is true for what waits for the VM's next start.
	atNextStart bool

	// needsDigest errands carry the digest of the configuration that was looked at. They
	// wait for the next look if it has been changed since.
	needsDigest bool
}

func (o step) due() bool { return !o.atNextStart }

// empty says whether there is nothing to do now. What waits for the VM's next start is
// shown only.
func (p plan) empty() bool {
	return len(p.annotations) == 0 && len(p.rejections) == 0 && p.change.Empty() && !slices.ContainsFunc(p.steps, step.due) && len(p.staleImages) == 0 &&
		p.power == keepPower && !p.restart.due && p.action == nil
}

// allowedDuringLock says whether the lock of a VM lets the plan be carried out. One that is
// suspended takes nothing but the call that resumes it.
func (p plan) allowedDuringLock(v *vm) bool {
	return v.lock() == "" || v.suspended() && (p.power == powerOn || p.action != nil)
}

// makePlan finds what separates the VM from the spec.
func (e *external) makePlan(ctx context.Context, m Machine, id qemu.Identity) error {
	d, err := e.desiredForVM(ctx, m, id)
	if err != nil {
		return err
	}
	before, err := qemu.ParseDevices(m.GetAnnotations()[AnnotationDevices])
	if err != nil {
		return errors.Wrapf(err, "cannot read annotation %q", AnnotationDevices)
	}
	if m.GetAnnotations()[AnnotationDevices] == "" {
		before = recoveredDevices(m.Observation(), id)
	}
	e.vm.identityPending = !e.vm.hasUUID(id)
	e.plan = plan{desired: d, power: d.powerChange(e.vm), restart: restart{reason: ReasonPendingChanges}}
	e.delayStart(m)
	if d.Devices, err = before.On(e.vm.State, d.MachineParameters, m.GetGeneration()); err != nil {
		e.plan.Devices, e.plan.rejections = before, []string{err.Error()}
		return nil //nolint:nilerr // The plan has it.
	}
	if err := e.addChange(ctx, m, d); err != nil {
		return err
	}
	if err := e.addSteps(ctx, m); err != nil {
		return err
	}
	e.plan.restart = e.restart(m)
	e.plan.action = actionDue(m)
	e.plan.annotations = e.annotations(m, before)
	e.plan.staleImages, err = e.staleImages(ctx, m)
	return err
}

// addChange plans the change of options, and says what of the spec cannot be.
func (e *external) addChange(ctx context.Context, m Machine, d desired) error {
	d.CloudInitFrozen = d.CloudInit != nil && ptr.Deref(d.CloudInit.ChangePolicy, "") == changeIgnore && e.vm.hasUUID(d.Identity)
	held, err := e.ejectStorages(ctx, m, d)
	if err != nil {
		return err
	}
	d.EjectStorages = held
	whyNoSeed, err := e.addImage(ctx, m, &d)
	if err != nil {
		return err
	}
	whyNoPassword, err := e.addPassword(ctx, m, &d)
	if err != nil {
		return err
	}
	e.plan.desired = d
	change := d.withPassword(d.Change(e.vm.State))
	unfilled, err := e.missingImage(ctx, change)
	if err != nil {
		return err
	}
	e.plan.change = change
	if e.vm.Status.Running() {
		e.plan.change, e.plan.deferred = change.SplitAroundDiskOps(e.vm.State, d.PendingDiskOps(e.vm.Config))
	}
	config := d.Restored(e.vm.State)
	prohibited, err := e.forbiddenChanges(ctx, change, config, d.haVersionRequirements(e.vm)...)
	e.plan.rejections = slices.Concat(d.Rejections(config), unfilled, whyNoSeed, whyNoPassword, prohibited,
		d.poolRejections(e.vm), e.vm.haRejections(), d.haRules.rejections, d.powerRejections(e.vm), windowRefusals(d.MaintenanceWindow))
	if err != nil || meta.WasDeleted(m) {
		return err
	}
	unknown, err := e.unknownBridges(ctx, change)
	if err != nil {
		return err
	}
	e.plan.capacity, err = e.checkCapacity(ctx, d.Growths(config), e.vm.Node)
	e.plan.rejections = slices.Concat(e.plan.rejections, unknown, e.plan.capacity.rejections)
	return err
}

// addSteps plans the calls that bring the VM nearer to the spec, in their order,
// and what cannot be.
func (e *external) addSteps(ctx context.Context, m Machine) error {
	if meta.WasDeleted(m) {
		return nil
	}
	j, goes := e.plan.migration(e.vm, m.GetAnnotations()[AnnotationNode])
	moves, no, err := e.moveSteps(ctx, &j)
	if err != nil {
		return err
	}
	groups, rules := e.ruleSteps()
	e.plan.steps = slices.Concat(e.driveSteps(m), e.poolSteps(), groups, e.haSteps(), rules, e.destroySteps(), moves, e.resizeSteps(m))
	e.plan.rejections = append(e.plan.rejections, no...)
	if !goes {
		return nil
	}
	migration, no, err := e.migrateSteps(ctx, m, &j)
	e.plan.steps = append(e.plan.steps, migration...)
	e.plan.rejections = append(e.plan.rejections, no...)
	return err
}

// resizeSteps make disks larger.
func (e *external) resizeSteps(m Machine) []step {
	var errands []step
	for _, r := range e.plan.Resizes(e.vm.Config) {
		errands = append(errands, e.onceInForce(r.Device, step{
			difference: v1alpha1.MachinePendingChange{Option: r.Device + " size", Current: r.From.String(), Desired: r.To.String()},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				e.cache.predictResize(m, r.Device, r.To.String())
				e.warn(m, e.plan.capacity, r.Name)
				return e.client.Resize(ctx, e.vm.Ref, r.Device, r.To.String(), e.currentDigest())
			},
		}))
	}
	return errands
}

// onceInForce is an errand for a disk, which PVE does only with one that the VM has
// already: another one that is pending waits for the restart.
func (e *external) onceInForce(disk string, o step) step {
	if !e.vm.InForce(disk) {
		o.call, o.atNextStart = nil, true
	}
	return o
}

// destroySteps delete disks that the list has asked to be destroyed.
func (e *external) destroySteps() []step {
	var errands []step
	for _, device := range e.plan.Devices.Destroyed(e.plan.MachineParameters, e.vm.Config) {
		change := proxmox.Change{Delete: []string{device}, Destroy: true, Digest: e.vm.Digest}
		errands = append(errands, step{
			needsDigest: true,
			difference:  v1alpha1.MachinePendingChange{Option: device, Current: e.vm.Config[device]},
			call: func(ctx context.Context) (proxmox.UPID, error) {
				return e.client.ConfigureAsync(ctx, e.vm.Ref, change)
			},
		})
	}
	return errands
}

// currentDigest is the digest of the VM's configuration, or empty if that was changed since
// it was looked at.
func (e *external) currentDigest() string {
	if e.plan.change.Empty() {
		return e.vm.Digest
	}
	return ""
}

// annotations are the annotations that are not as they should be.
func (e *external) annotations(m Machine, before qemu.Devices) map[string]string {
	notes := map[string]string{}
	if m.GetAnnotations()[AnnotationDevices] == "" || !before.Equal(e.plan.Devices) {
		notes[AnnotationDevices] = e.plan.Devices.String()
	}
	if e.plan.unchangedPassword != "" {
		notes[AnnotationPassword] = e.plan.unchangedPassword
	}
	maps.Copy(notes, e.plan.runningAnnotation(e.vm, e.now()))
	maps.Copy(notes, e.plan.nodeAnnotation(e.vm, m.GetAnnotations()[AnnotationNode]))
	maps.Copy(notes, e.restartAnnotation(m))
	maps.Copy(notes, e.ruleAnnotation(m))
	maps.Copy(notes, e.imageAnnotation(m))
	return notes
}

// desiredForVM is the spec with what counts for a VM that exists.
func (e *external) desiredForVM(ctx context.Context, m Machine, id qemu.Identity) (desired, error) {
	d := e.desired(m, id)
	if meta.WasDeleted(m) {
		return d, nil
	}
	if err := e.readRules(ctx, m, &d); err != nil {
		return d, err
	}
	if err := e.readHA(ctx, m, d); err != nil {
		return d, err
	}
	if err := e.readPool(ctx, d); err != nil {
		return d, err
	}
	if ptr.Deref(d.RunStrategy, "") != runRerunOnFailure {
		return d, nil
	}
	d.runningSince, _ = time.Parse(time.RFC3339, m.GetAnnotations()[AnnotationRunningSince]) // Zero if never.
	nodes, err := e.inventory.Nodes(ctx)
	for _, n := range nodes {
		if n.Name == e.vm.Node && n.Uptime > 0 {
			d.nodeBooted = e.now().Add(-n.Uptime)
		}
	}
	return d, err
}

// desired is the spec with what else decides how it is carried out.
func (e *external) desired(m Machine, id qemu.Identity) desired {
	return desired{
		Desired: qemu.Desired{
			MachineParameters: withImage(m.Parameters()),
			Identity:          id,
			Tenant:            tenantOf(m.GetLabels()),
			Defaults:          e.defaults.Defaults,
			Created:           !meta.GetExternalCreatePending(m).IsZero(),
		},
		name:       m.GetName(),
		placedNode: m.GetAnnotations()[AnnotationTarget],
	}
}
