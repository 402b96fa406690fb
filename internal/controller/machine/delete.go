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

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/replication"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A deletion does what leads to the end of a VM.
type deletion struct{ *external }

// Delete does the next thing that leads to the end of the VM. The message of the condition
// Ready says what that waits for.
func (e *external) Delete(ctx context.Context, m Machine) (managed.ExternalDelete, error) {
	conditions.Set(m, xpv2.Deleting())
	err := deletion{external: e}.deleteNext(ctx, m)
	switch {
	case err != nil && m.GetCondition(xpv2.TypeReady).Message == "":
		conditions.AppendReady(m, err.Error())
	case err == nil:
		conditions.AppendReady(m, deletion{external: e}.deletionWait(m))
	}
	conditions.Set(m, conditions.NotUpToDate(xpv2.ReasonDeleting, m.GetCondition(xpv2.TypeReady).Message))
	return managed.ExternalDelete{}, err
}

// deletionWait says what the deletion waits for.
func (e deletion) deletionWait(m Machine) string {
	switch task := e.tasks.RunningType(m); {
	case e.vm == nil:
		return "what is left of the VM is being removed"
	case task == "qmdestroy":
		return "the VM is being destroyed"
	case e.vm.Suspended() && (task == "" || task == "qmstart"):
		return "the VM is resumed, since no protection of a suspended one can be lifted, and no disk of a Volume handed back"
	case task == "qmshutdown", task == "" && e.vm.Status.Running():
		return e.powerFeature().guest(m).Wait()
	case task != "":
		return "a task works on the VM: " + task
	}
	return "the VM is to be destroyed"
}

// deleteNext does the next thing that leads to the end of the VM.
func (e deletion) deleteNext(ctx context.Context, m Machine) error {
	if len(e.planned.orphanedRules) > 0 {
		return e.rules(m).ApplyStep(ctx, e.planned.orphanedRules[0])
	}
	if e.planned.waitReason != nil {
		return e.planned.waitReason
	}
	if e.vm == nil {
		u, err := e.noCloud().RemoveStale(ctx, m, e.planned.staleImages)
		if err == nil && u != "" {
			e.watch().Follow(m, u, u.Node())
		}
		return err
	}
	if busy, err := e.taskRunning(ctx, m); busy || err != nil {
		return err
	}
	if e.vm.BeingCreated() {
		return errors.New(restore.Stuck(m, e.vm))
	}
	if lock := e.vm.Lock(); lock != "" && !e.vm.Suspended() {
		return errors.New(vmstate.Locked(e.vm.VMID, lock))
	}
	if err := e.tasks.BackoffReason(m); err != nil || !e.ownershipProven {
		return e.watch().WaitForLock(m, err)
	}
	err := e.destroy(ctx, m)
	e.watch().RecordError(m, err)
	e.watch().AfterWrite(m, e.dirty, err)
	return e.watch().WaitForLock(m, err)
}

// taskRunning reports whether a task works on the VM, or creates it.
func (e deletion) taskRunning(ctx context.Context, m Machine) (bool, error) {
	if e.vm.BeingCreated() {
		return e.lookup().MayBeCreating(ctx, m, e.vm.VMID)
	}
	return e.tasksBefore.Busy(e.vm.VMID)
}

// destroy shuts the VM down, and removes it when it is off. It is protected if PVE
// or the spec says so: a flag that was lost, or that a clone has not got yet, does
// not count against the spec.
func (e deletion) destroy(ctx context.Context, m Machine) error {
	declared, flagged := m.Parameters().Protection, e.vm.Config["protection"] == "1"
	if ptr.Deref(declared, false) || flagged && declared == nil {
		return errors.Errorf("VM %d is protected: set protection to false to let it be removed", e.vm.VMID)
	}
	if err := e.holds.CheckRemovable(ctx, e.uuid(m), e.vm.VMID); err != nil {
		return err
	}
	if err := e.checkDeletePrivileges(ctx, m); err != nil {
		return err
	}
	if resumed, err := e.resume(ctx, m, flagged); resumed || err != nil {
		return err
	}
	if flagged {
		e.dirty |= vmcache.DirtyConfig
		if err := e.unprotect(ctx); err != nil {
			return err
		}
	}
	if err := kind.Annotate(ctx, e.kube, m, e.noCloud().Annotation(m)); err != nil {
		return err
	}
	if err := e.rules(m).Leave(ctx, m); err != nil {
		return err
	}
	replicas := e.replicas()
	left, waits, err := replicas.Remove(ctx, m)
	switch running := e.vm.Status.Running(); {
	case err != nil:
		return err
	case running && e.vm.HAFailed():
		e.dirty |= vmcache.DirtyAll
		return e.haFeature(m).removeFromHA(ctx) // It would not stop the VM.
	case running:
		return e.setPower(ctx, m, power.Off)
	case waits != nil:
		return waits
	}
	disks, waits := e.waitForDisks(ctx, m)
	if waits != nil {
		return waits
	}
	if err := e.checkUnused(ctx, m); err != nil {
		return err
	}
	if err := e.followTask(m)(e.client.Delete(ctx, e.vm.Ref, proxmox.DeleteOptions{Purge: true})); err != nil {
		return err
	}
	replicas.EmitOrphaned(m, left)
	e.emitOrphanedDisks(m, disks)
	return nil
}

// uuid of the VM. What a restore in place has left that failed has none, and is this Machine's still, with the disks of Volumes that the backup does not
// have.
func (e deletion) uuid(m Machine) string {
	return cmp.Or(e.vm.Config.UUID(), m.GetAnnotations()[object.AnnotationUUID])
}

// checkUnused returns an error if a Volume has its disk in the VM, or a Snapshot is to be retained. It asks the API server, both at the same
// time, since either may have been changed a moment ago.
func (e deletion) checkUnused(ctx context.Context, m Machine) error {
	var byVolumes, bySnapshots error
	uuid := e.uuid(m)
	var wait sync.WaitGroup
	wait.Go(func() { byVolumes = e.volumes.CheckRemovable(ctx, uuid, e.vm.VMID) })
	wait.Go(func() { bySnapshots = e.holds.Uncached().CheckRemovable(ctx, uuid, e.vm.VMID) })
	wait.Wait()
	return cmp.Or(byVolumes, volumes.CheckHanded(m, e.vm), bySnapshots)
}

// resume resumes a suspended VM that is protected or has disks of Volumes. Its lock lets Proxmox VE lift no protection, which in turn keeps
// the memory that was saved, and hand over no disk, whose latest data may be in that memory.
func (e deletion) resume(ctx context.Context, m Machine, flagged bool) (bool, error) {
	if !e.vm.Suspended() {
		return false, nil
	}
	disks, err := e.volumes.In(ctx, e.uuid(m))
	if err != nil || !flagged && len(disks) == 0 {
		return false, err
	}
	return true, e.setPower(ctx, m, power.On)
}

// unprotect lifts the protection of a VM whose spec no longer has it: a resource
// that is being deleted is not updated any more.
func (e deletion) unprotect(ctx context.Context) error {
	change := proxmox.Change{Set: proxmox.Params{"protection": "0"}, Digest: e.vm.Digest}
	return errors.Wrap(e.client.Configure(ctx, e.vm.Ref, change), "cannot lift protection")
}

// checkDeletePrivileges checks the privileges for the removal of a VM that is not off, or of which more is to be removed than itself:
// nothing is stopped, unprotected or taken out of rules for nothing.
func (e deletion) checkDeletePrivileges(ctx context.Context, m Machine) error {
	at := validate.Place{VMID: e.vm.VMID}
	needs := []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Allocate")}
	flagged := e.vm.Config["protection"] == "1"
	if e.vm.Status.Running() || flagged && e.vm.Suspended() {
		needs = append(needs, at.RequiredPrivileges("VM.PowerMgmt"))
	}
	if flagged {
		needs = append(needs, at.RequiredPrivileges("VM.Config.Options"))
	}
	if m.GetAnnotations()[object.AnnotationHARules] != "" || e.vm.HAFailed() {
		needs = append(needs, validate.On("/", "Sys.Console"))
	}
	for _, p := range cloudinit.Refs(m) {
		needs = append(needs, validate.On("/storage/"+p.Storage(), "Datastore.Allocate"))
	}
	if len(needs) == 1 {
		return nil // PVE asks for it before it does the one thing that is left to do.
	}
	return e.checks.CheckPrivilegesKnown(ctx, fmt.Sprintf("delete VM %d", e.vm.VMID), needs)
}

// obstacleTime is how long a Machine that is being deleted waits for an obstacle to be
// removed, such as a node that is off.
const obstacleTime = 15 * time.Minute

// replicas returns what removes the copies of the VM on other nodes.
func (e deletion) replicas() *replication.Remover {
	return &replication.Remover{
		Client: e.client, Inventory: e.inventory, Reader: e.reader, Tasks: e.tasks, Record: e.record, Log: e.log, VM: e.vm, ObstacleTime: obstacleTime,
	}
}

// removingDisks names what a deletion waits for, to tell how long it has waited.
const removingDisks = "remove disks"

// waitForDisks says why a VM cannot be destroyed yet, or else which of its volumes will be
// left.
func (e deletion) waitForDisks(ctx context.Context, m Machine) (left []string, waits error) {
	volumes, err := e.checks.UnavailableVolumes(ctx, e.vm)
	if err != nil || len(volumes) == 0 || e.tasks.Waited(m, removingDisks) >= obstacleTime {
		return volumes, err
	}
	return nil, errors.Errorf("VM %d waits, %s at most, for the storage of %s: it is not available on node %s, and Proxmox VE would leave the disks there",
		e.vm.VMID, obstacleTime, strings.Join(volumes, ", "), e.vm.Node)
}

// emitOrphanedDisks tells which volumes are left of a VM that is gone.
func (e deletion) emitOrphanedDisks(m Machine, left []string) {
	if len(left) == 0 {
		return
	}
	e.record.Event(m, xpevent.Warning(events.ReasonOrphanedDisks, errors.Errorf(
		"VM %d is removed although the storage of %s is not available on node %s: remove what is left of it there", e.vm.VMID, strings.Join(left, ", "), e.vm.Node)))
}
