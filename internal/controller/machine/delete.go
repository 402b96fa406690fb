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
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/lookup"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/replication"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rules"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/taskwatch"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Delete takes the next step to remove the VM. The message of the condition Ready states what the deletion waits for.
func (e *external) Delete(ctx context.Context, m Machine) (managed.ExternalDelete, error) {
	conditions.Set(m, xpv2.Deleting())
	d := e.deletion(m)
	err := d.next(ctx, m)
	switch {
	case err != nil && m.GetCondition(xpv2.TypeReady).Message == "":
		conditions.AppendReady(m, err.Error())
	case err == nil:
		conditions.AppendReady(m, d.wait(m))
	}
	conditions.Set(m, conditions.NotUpToDate(xpv2.ReasonDeleting, m.GetCondition(xpv2.TypeReady).Message))
	return managed.ExternalDelete{}, err
}

// A deletion removes a VM.
type deletion struct {
	client      Client
	kube        client.Client
	tasks       *tasktrack.Tracker
	tasksBefore tasktrack.View
	lookup      lookup.Lookup
	checks      *preflight.Checks
	holds       kind.Holds
	volumes     volumes.Reader
	replicas    *replication.Remover
	rules       rules.Keeper
	ha          haFeature
	power       powerFeature
	noCloud     cloudinit.Keeper
	watch       taskwatch.Watch
	record      xpevent.Recorder

	// The results of Observe. If the VM no longer exists, vm is nil and planned removes its remains.
	vm              *vmstate.VM
	ownershipProven bool
	planned         plan
}

// deletion returns the deletion of the VM.
func (e *external) deletion(m Machine) deletion {
	return deletion{
		client: e.client, kube: e.kube, tasks: e.tasks, tasksBefore: e.tasksBefore, lookup: e.lookup(), checks: e.checks, holds: e.holds,
		replicas: &replication.Remover{
			Client: e.client, Inventory: e.inventory, Reader: e.reader, Tasks: e.tasks, Record: e.record, Log: e.log, VM: e.vm, ObstacleTime: obstacleTime,
		},
		volumes: e.volumes, rules: e.rules(m), ha: e.haFeature(m), power: e.powerFeature(), noCloud: e.noCloud(), watch: e.watch(), record: e.record,
		vm: e.vm, ownershipProven: e.ownershipProven, planned: e.planned,
	}
}

// wait returns what the deletion waits for.
func (d deletion) wait(m Machine) string {
	switch task := d.tasks.RunningType(m); {
	case d.vm == nil:
		return "what is left of the VM is being removed"
	case task == "qmdestroy":
		return "the VM is being destroyed"
	case d.vm.Suspended() && (task == "" || task == "qmstart"):
		return "the VM is being resumed: Proxmox VE cannot remove the protection of a suspended VM, or hand back the disk of a Volume"
	case task == "qmshutdown", task == "" && d.vm.Status.Running():
		return d.power.guest(m).Wait()
	case task != "":
		return "a task works on the VM: " + task
	}
	return "the VM is to be destroyed"
}

// next takes the next step to remove the VM.
func (d deletion) next(ctx context.Context, m Machine) error {
	if len(d.planned.orphanedRules) > 0 {
		return d.rules.ApplyStep(ctx, d.planned.orphanedRules[0])
	}
	if d.planned.waitReason != nil {
		return d.planned.waitReason
	}
	if d.vm == nil {
		u, err := d.noCloud.RemoveStale(ctx, m, d.planned.staleImages)
		return d.watch.AfterCall(m, u.Node())(u, err)
	}
	if busy, err := d.taskRunning(ctx, m); busy || err != nil {
		return err
	}
	if d.vm.BeingCreated() {
		return errors.New(restore.Stuck(m, d.vm))
	}
	if lock := d.vm.Lock(); lock != "" && !d.vm.Suspended() {
		return errors.New(vmstate.Locked(d.vm.VMID, lock))
	}
	if err := d.tasks.BackoffReason(m); err != nil || !d.ownershipProven {
		return d.watch.WaitForLock(m, err)
	}
	dirty, err := d.destroy(ctx, m)
	d.watch.RecordError(m, err)
	d.watch.AfterWrite(m, dirty, err)
	return d.watch.WaitForLock(m, err)
}

// taskRunning reports whether a task works on the VM, or creates it.
func (d deletion) taskRunning(ctx context.Context, m Machine) (bool, error) {
	if d.vm.BeingCreated() {
		return d.lookup.MayBeCreating(ctx, m, d.vm.VMID)
	}
	return d.tasksBefore.Busy(d.vm.VMID)
}

// destroy shuts the VM down, and removes it when it is off. The VM is protected if PVE or the spec says so: the spec counts even if PVE lost the
// flag, or a clone does not have it yet. It returns which parts of the VM must be read again after that.
func (d deletion) destroy(ctx context.Context, m Machine) (dirty vmcache.Dirty, err error) {
	declared, flagged := m.Parameters().Protection, d.vm.Config["protection"] == "1"
	if ptr.Deref(declared, false) || flagged && declared == nil {
		return 0, errors.Errorf("VM %d is protected: set protection to false to let it be removed", d.vm.VMID)
	}
	if err := d.holds.CheckRemovable(ctx, d.uuid(m), d.vm.VMID); err != nil {
		return 0, err
	}
	if err := d.checkPrivileges(ctx, m); err != nil {
		return 0, err
	}
	if resumed, err := d.resume(ctx, m, flagged); resumed || err != nil {
		return 0, err
	}
	if flagged {
		dirty = vmcache.DirtyConfig
		if err := d.unprotect(ctx); err != nil {
			return dirty, err
		}
	}
	if err := kind.Annotate(ctx, d.kube, m, d.noCloud.Annotation(m)); err != nil {
		return dirty, err
	}
	if err := d.rules.Leave(ctx, m); err != nil {
		return dirty, err
	}
	left, waits, err := d.replicas.Remove(ctx, m)
	switch running := d.vm.Status.Running(); {
	case err != nil:
		return dirty, err
	case running && d.vm.HAFailed():
		return vmcache.DirtyAll, d.ha.removeFromHA(ctx) // HA would not stop the VM.
	case running:
		return dirty, d.setPower(ctx, m, power.Off)
	case waits != nil:
		return dirty, waits
	}
	disks, waits := d.waitForDisks(ctx, m)
	if waits != nil {
		return dirty, waits
	}
	if err := d.checkUnused(ctx, m); err != nil {
		return dirty, err
	}
	if err := d.watch.AfterCall(m, d.vm.Node)(d.client.Delete(ctx, d.vm.Ref, proxmox.DeleteOptions{Purge: true})); err != nil {
		return dirty, err
	}
	d.replicas.EmitOrphaned(m, left)
	d.emitOrphanedDisks(m, disks)
	return dirty, nil
}

// setPower makes a change of power, and follows its task.
func (d deletion) setPower(ctx context.Context, m Machine, change power.Change) error {
	return d.watch.AfterCall(m, d.vm.Node)(d.power.set(ctx, m, change))
}

// uuid returns the UUID of the VM. The remains of a failed restore in place have none. They still belong to this Machine, with the disks of Volumes
// that the backup does not have.
func (d deletion) uuid(m Machine) string {
	return cmp.Or(d.vm.Config.UUID(), m.GetAnnotations()[object.AnnotationUUID])
}

// checkUnused returns an error if a Volume has its disk in the VM, or a Snapshot is to be retained. It asks the API server, concurrently for both,
// because either may have just changed.
func (d deletion) checkUnused(ctx context.Context, m Machine) error {
	var byVolumes, bySnapshots error
	uuid := d.uuid(m)
	var wait sync.WaitGroup
	wait.Go(func() {
		if byVolumes = d.volumes.CheckRemovable(ctx, uuid, d.vm.VMID); byVolumes == nil {
			byVolumes = d.volumes.CheckHanded(ctx, m, uuid, d.vm)
		}
	})
	wait.Go(func() { bySnapshots = d.holds.Uncached().CheckRemovable(ctx, uuid, d.vm.VMID) })
	wait.Wait()
	return cmp.Or(byVolumes, bySnapshots)
}

// resume resumes a suspended VM that is protected or has disks of Volumes. While the VM is locked, Proxmox VE cannot lift the protection, which keeps
// the saved memory, or hand over a disk, whose latest data may be in that memory.
func (d deletion) resume(ctx context.Context, m Machine, flagged bool) (bool, error) {
	if !d.vm.Suspended() {
		return false, nil
	}
	disks, err := d.volumes.In(ctx, d.uuid(m))
	if err != nil || !flagged && len(disks) == 0 {
		return false, err
	}
	return true, d.setPower(ctx, m, power.On)
}

// unprotect lifts the protection of a VM whose spec no longer has it: a resource that is being deleted is no longer updated.
func (d deletion) unprotect(ctx context.Context) error {
	change := proxmox.Change{Set: proxmox.Params{"protection": "0"}, Digest: d.vm.Digest}
	return errors.Wrap(d.client.Configure(ctx, d.vm.Ref, change), "cannot lift protection")
}

// checkPrivileges checks the privileges to remove a VM that is not off, or that has other parts to remove. Without them, the VM is not stopped,
// unprotected or taken out of rules in vain.
func (d deletion) checkPrivileges(ctx context.Context, m Machine) error {
	at := validate.Place{VMID: d.vm.VMID}
	needs := []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Allocate")}
	flagged := d.vm.Config["protection"] == "1"
	if d.vm.Status.Running() || flagged && d.vm.Suspended() {
		needs = append(needs, at.RequiredPrivileges("VM.PowerMgmt"))
	}
	if flagged {
		needs = append(needs, at.RequiredPrivileges("VM.Config.Options"))
	}
	if m.GetAnnotations()[object.AnnotationHARules] != "" || d.vm.HAFailed() {
		needs = append(needs, validate.On("/", "Sys.Console"))
	}
	for _, p := range cloudinit.Refs(m) {
		needs = append(needs, validate.On("/storage/"+p.Storage(), "Datastore.Allocate"))
	}
	if len(needs) == 1 {
		return nil // PVE checks this privilege before the only remaining call.
	}
	return d.checks.CheckPrivilegesKnown(ctx, fmt.Sprintf("delete VM %d", d.vm.VMID), needs)
}

// obstacleTime is how long a Machine that is being deleted waits until an obstacle, such as a node that is off, is removed.
const obstacleTime = 15 * time.Minute

// removingDisks names what a deletion waits for, to measure how long it has waited.
const removingDisks = "remove disks"

// waitForDisks returns why a VM cannot be destroyed yet, or else which of its volumes will be left.
func (d deletion) waitForDisks(ctx context.Context, m Machine) (left []string, waits error) {
	volumes, err := d.checks.UnavailableVolumes(ctx, d.vm)
	if err != nil || len(volumes) == 0 || d.tasks.Waited(m, removingDisks) >= obstacleTime {
		return volumes, err
	}
	return nil, errors.Errorf("VM %d waits, %s at most, for the storage of %s: it is not available on node %s, and Proxmox VE would leave the disks there",
		d.vm.VMID, obstacleTime, strings.Join(volumes, ", "), d.vm.Node)
}

// emitOrphanedDisks reports which volumes are left of a VM that was removed.
func (d deletion) emitOrphanedDisks(m Machine, left []string) {
	if len(left) == 0 {
		return
	}
	d.record.Event(m, xpevent.Warning(events.ReasonOrphanedDisks, errors.Errorf(
		"VM %d is removed although the storage of %s is not available on node %s: remove what is left of it there", d.vm.VMID, strings.Join(left, ", "), d.vm.Node)))
}
