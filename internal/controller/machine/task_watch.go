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
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A taskWatch follows tasks to their ends.
type taskWatch struct{ *external }

// Tasks is the part of a Client that tells of tasks.
type Tasks interface {
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	TaskLog(ctx context.Context, u proxmox.UPID, lastLines int) ([]string, error)
}

// start follows the task that a call to PVE has started.
func (e *external) start(m Machine) func(proxmox.UPID, error) error {
	return func(u proxmox.UPID, err error) error {
		if err == nil && u != "" {
			taskWatch{external: e}.follow(m, u, e.vm.Node)
		}
		return err
	}
}

// lastLines of a failed task's log are shown, and in the warningLines last ones of a task
// that has ended well it is looked for warnings.
const (
	lastLines    = 3
	warningLines = 50
)

// follow wakes the Machine when its task has ended.
func (e taskWatch) follow(m Machine, u proxmox.UPID, node string) {
	m, _ = m.DeepCopyObject().(Machine)
	e.tasks.Started(m, u)
	e.cache.RecordWrite(m)
	e.inventory.Follow(u, func(t proxmox.Task) {
		go e.onTaskDone(m, t, node) // It reads the log of a task that failed.
	})
}

func (e taskWatch) onTaskDone(m Machine, t proxmox.Task, node string) {
	defer e.wake(m)
	vmid := meta.GetExternalName(m)
	e.invalidateInventory(m)
	if t.OK() {
		e.cache.OnTaskDone(m, t) // Before nothing runs any more: what was before the task would be acted upon.
		e.tasks.Ended(m, t, nil)
		if tasktrack.CreatesVM(t.Type) {
			e.log.Info("Successfully created VM", "vmid", vmid, "node", node)
		}
		if !events.Told(t.Type) {
			e.record.Event(m, events.OfTask(t, vmid))
		}
		e.emitTaskWarnings(m, t)
		return
	}
	lines := e.taskLog(t, lastLines)
	failure := t.Err(lines...)
	e.cache.OnTaskDone(m, t)
	e.tasks.Ended(m, t, failure)
	e.log.Info("Task failed", "vmid", vmid, "node", node, "type", t.Type, "error", failure)
	if !e.tasks.WaitsForLock(m, failure) && !e.tasks.RepeatsShutdown(m, t, failure) {
		e.record.Event(m, xpevent.Warning(events.ReasonTaskFailed, events.WithLog(failure, lines)))
	}
}

// taskLog returns the last lines of its log, if that can be read.
func (e taskWatch) taskLog(t proxmox.Task, most int) []string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lines, err := e.client.TaskLog(ctx, t.UPID, most)
	if err != nil {
		e.log.Debug("Cannot read task log", "vmid", t.ID, "error", err)
	}
	return lines
}

// emitTaskWarnings tells of what a task that has ended well warns, such as disks that it has
// left.
func (e taskWatch) emitTaskWarnings(m Machine, t proxmox.Task) {
	if t.Warnings() == 0 {
		return
	}
	if warned := events.Warnings(e.taskLog(t, warningLines)); len(warned) > 0 {
		e.record.Event(m, xpevent.Warning(events.ReasonTaskWarning, errors.Errorf("task %s: %s", t.Type, strings.Join(warned, " | "))))
	}
}

// waitForLock returns an error as a wait as long as PVE may be cleaning up.
func (e *external) waitForLock(m Machine, err error) error {
	if !e.tasks.WaitsForLock(m, err) {
		return err
	}
	conditions.AppendReady(m, tasktrack.HoldsLock+": the change is tried again")
	return kind.Wait(err)
}
