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
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/taskwatch"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Update takes the next step that brings the VM closer to the spec. It starts changes that take a task, and the rest waits for the task's end.
func (e *external) Update(ctx context.Context, m Machine) (managed.ExternalUpdate, error) {
	e.planned = e.planned.due(e.tasks, m)
	// Decisions are recorded unless they are not carried out. The Machine may have changed since it was read.
	if e.vm != nil && len(e.planned.rejections) == 0 {
		if err := kind.Annotate(ctx, e.kube, m, e.planned.annotations); err != nil {
			return managed.ExternalUpdate{}, err // Nothing was done to the VM, so that what is known of it is current.
		}
	}
	err := e.update(ctx, m)
	if e.vm != nil {
		at := validate.Place{VMID: e.vm.VMID}
		err = validate.NameFields(err, validate.Change{Difference: e.planned.change, Config: e.vm.Config, Devices: e.planned.Devices, At: at})
	}
	e.watch().RecordError(m, err)
	e.watch().AfterWrite(m, e.dirty, err)
	err = e.watch().WaitForLock(m, err)
	if err != nil {
		conditions.Set(m, conditions.NotUpToDate(xpv2.ReasonUpdateFailed, err.Error()))
	}
	return managed.ExternalUpdate{}, err
}

func (e *external) update(ctx context.Context, m Machine) error {
	p := e.planned
	if e.vm == nil {
		return errors.New("cannot update a VM that was not observed")
	}
	if len(p.rejections) > 0 {
		return errors.New(strings.Join(p.rejections, "; "))
	}
	switch {
	case e.vm.Suspended() && p.allowedDuringLock(e.vm):
		return e.afterChanges(ctx, m)
	case e.vm.Suspended():
		return e.followTask(m)(e.noCloud().RemoveStale(ctx, m, p.staleImages))
	case e.tasks.Rebooting(m):
		return e.runSteps(ctx, m)
	}
	if err := e.checkVolumes(ctx, m); err != nil {
		return err
	}
	if u, err := e.noCloud().EnsureUploaded(ctx, m, p.image, p.change); u != "" || err != nil {
		return e.followTask(m)(u, err)
	}
	if p.change.Allocates && e.vm.Status.Running() && p.change.NeedsCloudInitRegen(e.vm.State) {
		e.planned.change = p.change.OnDrive() // The rest takes a task, and nothing would renew the drive at its end.
		return e.configure(ctx, m)
	}
	if p.change.Allocates {
		e.warn(m, p.capacity)
		u, err := e.client.ConfigureAsync(ctx, e.vm.Ref, e.planned.call(e.vm))
		if err == nil {
			e.emitChange(m, p.change)
		}
		return e.followTask(m)(u, err)
	}
	if err := e.configure(ctx, m); err != nil {
		return err
	}
	if m.Parameters().BootOrder != nil && p.change.AddsBootDevice(e.vm.State) {
		return nil // The VM is not started before its boot order is seen to be right.
	}
	return e.runSteps(ctx, m)
}

// checkVolumes returns an error if an existing volume that is to be attached is missing, or is another VM's.
func (e *external) checkVolumes(ctx context.Context, m Machine) error {
	volumes, handedOver := e.planned.Attached(e.planned.change, e.vm.Config)
	refused, err := e.checks.MissingVolume(ctx, append(handedOver, volumes...), e.vm.Node)
	if refused == nil && err == nil {
		refused = e.checks.CheckVolumesUnused(ctx, e.vm.Ref, volumes)
	}
	if refused != nil {
		e.tasks.Refused(m, refused)
	}
	return cmp.Or(err, refused)
}

// runSteps makes the calls that follow the change of options, up to the first that starts a task.
func (e *external) runSteps(ctx context.Context, m Machine) error {
	p := e.planned
	for _, s := range p.steps {
		if s.needsDigest && !p.change.Empty() {
			return nil
		}
		if s.call == nil {
			continue
		}
		u, err := s.call(ctx)
		if u == "" {
			e.dirty = vmcache.DirtyAll
		}
		if err == nil {
			e.emitStep(m, s, u)
		}
		if err != nil || u != "" {
			return e.followTask(m)(u, err)
		}
	}
	if !p.image.Pending() && (p.power != power.Keep || p.restart.Due || p.action != nil) {
		return e.afterChanges(ctx, m) // An image that PVE does not allow to be removed holds up nothing else.
	}
	return e.followTask(m)(e.noCloud().RemoveStale(ctx, m, p.staleImages))
}

// afterChanges does what follows when the VM is configured: a change of power, a restart, an action.
func (e *external) afterChanges(ctx context.Context, m Machine) error {
	p, rebooting := e.planned, e.watch().AfterReboot(m, e.vm.Node)
	switch {
	case p.power != power.Keep:
		return e.followTask(m)(e.powerFeature().set(ctx, m, p.power))
	case p.restart.Due && p.restart.Hard:
		return e.followTask(m)(e.restartFeature().reboot(ctx, m, p.restart))
	case p.restart.Due:
		return rebooting(e.restartFeature().reboot(ctx, m, p.restart))
	case p.action != nil && p.action.Action == poweraction.Reboot:
		return rebooting(e.powerActionFeature().startAction(ctx, m, p.action))
	case p.action != nil:
		return e.followTask(m)(e.powerActionFeature().startAction(ctx, m, p.action))
	}
	return nil
}

// followTask follows the task that a call to PVE has started.
func (e *external) followTask(m Machine) func(proxmox.UPID, error) error {
	return e.watch().AfterCall(m, e.vm.Node)
}

// watch returns the watch that follows the tasks of calls.
func (e *external) watch() taskwatch.Watch {
	return taskwatch.Watch{Client: e.client, Inventory: e.inventory, Tasks: e.tasks, Cache: e.cache, Record: e.record, Log: e.log, Wake: e.wake}
}

// configure changes options, and soon reads the VM again: some may have become pending, including those that the running VM has refused. A failed
// change is retried only after the back-off.
func (e *external) configure(ctx context.Context, m Machine) error {
	if e.planned.change.Empty() {
		return nil
	}
	if e.tasks.Sent(m, e.planned.change) {
		return errors.Errorf("the change of %s was made, but Proxmox VE does not keep it as the spec has it", strings.Join(e.planned.change.Options(), ", "))
	}
	if e.vm.Status.Running() && e.planned.change.NeedsCloudInitRegen(e.vm.State) {
		e.tasks.MarkDriveStale(m)
	}
	err := e.client.Configure(ctx, e.vm.Ref, e.planned.call(e.vm))
	if err != nil && !proxmox.IsHotplugRefused(err) {
		return err
	}
	e.emitChange(m, e.planned.change)
	if err != nil {
		e.log.Debug("VM takes a change at its next start only", "vmid", e.vm.VMID, "error", err)
	}
	if err := e.passwordFeature().keepPassword(ctx, m, e.planned); err != nil {
		return err
	}
	if e.tasks.Send(m, e.planned.change) > 1 {
		e.dirty |= vmcache.DirtyConfig // The change did not hold, or not for long.
	} else {
		e.dirty |= e.lookup().Predict(m, e.vm, e.planned.change)
	}
	e.waker(m)()
	return e.noCloud().RegenerateDrive(ctx, m)
}

// setByOthers is added to a change that reverts a change by others.
const setByOthers = ": set by others, put back"

// emitChange reports each option that was changed in an event. For a VM that is being created, the task reports instead.
func (e *external) emitChange(m Machine, change qemu.Difference) {
	if e.vm.IdentityPending {
		return
	}
	drift := e.settled.WasUpToDate(m, e.planned.wanted(m, e.settled))
	for _, option := range change.Options() {
		current, desired := e.vm.Config[option], change.Set[option]
		why := ""
		if drift && !secretref.MayChange(option, desired, e.planned.CloudInit) && (option != "tags" || e.planned.Tenant == "") {
			why = setByOthers
		}
		for _, line := range kind.Changes(option, vmstate.Masked(option, current), vmstate.Masked(option, desired)) {
			e.record.Event(m, xpevent.Normal(events.ReasonChanged, line+why))
		}
	}
}

// emitStep reports a change apart from options that was made, unless the end of its task reports it.
func (e *external) emitStep(m Machine, s step, u proxmox.UPID) {
	if s.reportsResult || u != "" && !events.ReportedAtCall(u.Type()) {
		return
	}
	why := ""
	if s.specAlone && e.settled.WasUpToDate(m, e.planned.wanted(m, e.settled)) {
		why = setByOthers
	}
	for _, line := range kind.Changes(s.difference.Option, s.difference.Current, s.difference.Desired) {
		e.record.Event(m, xpevent.Normal(events.ReasonChanged, line+why))
	}
}

// warn warns that disks may fill their storages: the given disks, or all.
func (s *shared) warn(m Machine, c capacity.Fit, disks ...string) {
	for _, name := range slices.Sorted(maps.Keys(c.Warnings)) {
		if (len(disks) == 0 || slices.Contains(disks, name)) && s.told.Overcommitted(m, m.GetGeneration(), name) {
			s.record.Event(m, xpevent.Warning(events.ReasonStorageOvercommitted, errors.New(c.Warnings[name])))
		}
	}
}
