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

// Package taskwatch follows the tasks of Machines until they end, emits their events, and invalidates cached data that a call may have changed.
// Package tasktrack remembers the tasks.
package taskwatch

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A Client reads the logs of tasks.
type Client interface {
	TaskLog(ctx context.Context, u proxmox.UPID, lastLines int) ([]string, error)
}

// An Inventory sees tasks end, and invalidates the cached data of a VM.
type Inventory interface {
	Follow(u proxmox.UPID, done func(proxmox.Task))
	InvalidateGuest(vmid int)
}

// A Watch follows tasks to their ends.
type Watch struct {
	Client    Client
	Inventory Inventory
	Tasks     *tasktrack.Tracker
	Cache     *vmcache.Cache
	Record    event.Recorder
	Log       logging.Logger
	Wake      func(object.Machine)
}

// lastLines is how many last lines of a failed task's log are shown. warningLines is how many last lines of a successful task are searched for warnings.
const (
	lastLines    = 3
	warningLines = 50
)

// Follow wakes the Machine when its task has ended.
func (w Watch) Follow(m object.Machine, u proxmox.UPID, node string) {
	m, _ = m.DeepCopyObject().(object.Machine)
	w.Tasks.Started(m, u)
	w.Cache.RecordWrite(m)
	w.Inventory.Follow(u, func(t proxmox.Task) {
		go w.onTaskDone(m, t, node) // It reads the log of a failed task.
	})
}

// AfterCall returns a function that follows the task, if any, that a call has started on a node for the VM of a Machine.
func (w Watch) AfterCall(m object.Machine, node string) func(proxmox.UPID, error) error {
	return func(u proxmox.UPID, err error) error {
		if err == nil && u != "" {
			w.Follow(m, u, node)
		}
		return err
	}
}

// AfterReboot returns a function that follows the task of a reboot, and leaves the VM alone meanwhile unless no reboot has begun.
func (w Watch) AfterReboot(m object.Machine, node string) func(proxmox.UPID, error) error {
	return func(u proxmox.UPID, err error) error {
		if err == nil || proxmox.IsOutcomeUnknown(err) {
			w.Tasks.AwaitReboot(m, tasktrack.RebootTime)
		}
		return w.AfterCall(m, node)(u, err)
	}
}

func (w Watch) onTaskDone(m object.Machine, t proxmox.Task, node string) {
	defer w.Wake(m)
	vmid := meta.GetExternalName(m)
	w.invalidateInventory(m)
	if t.OK() {
		w.Cache.OnTaskDone(m, t) // This comes before the task is seen to end: otherwise a reconcile would act upon the state before the task.
		w.Tasks.Ended(m, t, nil)
		if tasktrack.CreatesVM(t.Type) {
			w.Log.Info("Successfully created VM", "vmid", vmid, "node", node)
		}
		if !events.ReportedAtCall(t.Type) {
			w.Record.Event(m, events.OfTask(t, vmid))
		}
		w.emitTaskWarnings(m, t)
		return
	}
	lines := w.taskLog(t, lastLines)
	failure := t.Err(lines...)
	w.Cache.OnTaskDone(m, t)
	w.Tasks.Ended(m, t, failure)
	w.Log.Info("Task failed", "vmid", vmid, "node", node, "type", t.Type, "error", failure)
	if !w.Tasks.WaitsForLock(m, failure) && !w.Tasks.RepeatsShutdown(m, t, failure) {
		w.Record.Event(m, event.Warning(events.ReasonTaskFailed, events.WithLog(failure, lines)))
	}
}

// taskLog returns the last lines of a task's log, if they can be read.
func (w Watch) taskLog(t proxmox.Task, most int) []string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lines, err := w.Client.TaskLog(ctx, t.UPID, most)
	if err != nil {
		w.Log.Debug("Cannot read task log", "vmid", t.ID, "error", err)
	}
	return lines
}

// emitTaskWarnings reports the warnings of a successful task, such as disks that it has left.
func (w Watch) emitTaskWarnings(m object.Machine, t proxmox.Task) {
	if t.Warnings() == 0 {
		return
	}
	if warned := events.Warnings(w.taskLog(t, warningLines)); len(warned) > 0 {
		w.Record.Event(m, event.Warning(events.ReasonTaskWarning, errors.Errorf("task %s: %s", t.Type, strings.Join(warned, " | "))))
	}
}

// invalidateInventory invalidates the shared data of the VM.
func (w Watch) invalidateInventory(m object.Machine) {
	if id, err := object.IdentityOf(m); err == nil {
		w.Inventory.InvalidateGuest(id.VMID)
	}
}

// AfterWrite invalidates the cached VM after a call: all of it if the call has failed, and the dirty parts otherwise. Nothing is dirty if the new
// state of the VM is known, or if a task is running whose end shows it.
func (w Watch) AfterWrite(m object.Machine, dirty vmcache.Dirty, err error) {
	w.Cache.RecordWrite(m)
	w.invalidateInventory(m)
	_, waits := proxmox.Waiting(err)
	if err != nil && !waits {
		dirty = vmcache.DirtyAll
	}
	if dirty != 0 {
		w.Cache.Invalidate(m, dirty)
	}
}

// RecordError records the error of a call: its outcome is unknown, or it waits for its turn. In the latter case, it removes the record of the call,
// and shows that it waits.
func (w Watch) RecordError(m object.Machine, err error) {
	if proxmox.IsOutcomeUnknown(err) {
		w.Tasks.RecordUnknownOutcome(m)
	}
	if _, ok := proxmox.Waiting(err); !ok {
		return
	}
	w.Tasks.WithdrawAsked(m)
	conditions.AppendReady(m, "the next task of the VM is yet to start: "+conditions.WaitReason(err))
}

// WaitForLock returns an error as a wait as long as PVE may be cleaning up.
func (w Watch) WaitForLock(m object.Machine, err error) error {
	if !w.Tasks.WaitsForLock(m, err) {
		return err
	}
	conditions.AppendReady(m, tasktrack.HoldsLock+": the change is tried again")
	return kind.Wait(err)
}
