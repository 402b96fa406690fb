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
	"fmt"
	"slices"
	"strings"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Events of a Machine beside those of the managed reconciler.
const (
	reasonTaskEnded  xpevent.Reason = "TaskEnded"
	reasonTaskFailed xpevent.Reason = "TaskFailed"
	reasonMoved      xpevent.Reason = "Moved"
	reasonStopped    xpevent.Reason = "Stopped"
	reasonChanged    xpevent.Reason = "Changed"

	reasonUnreplicating    xpevent.Reason = "RemovingReplicas"
	reasonOrphanedReplicas xpevent.Reason = "OrphanedReplicas"
	reasonOrphanedImages   xpevent.Reason = "OrphanedImages"
	reasonOrphanedDisks    xpevent.Reason = "OrphanedDisks"
	reasonTaskWarning      xpevent.Reason = "TaskWarning"
)

// taskEvents say what it means that a task of PVE has ended well, by its type.
//
//nolint:gochecknoglobals // A constant.
var taskEvents = map[string]struct {
	reason xpevent.Reason
	text   string
}{
	"qmcreate":   {"Created", "Successfully created VM %s"},
	"qmclone":    {"Created", "Successfully created VM %s"},
	"qmmove":     {"DiskMoved", "Moved a disk of VM %s"},
	"qmigrate":   {"Migrated", "Migrated VM %s"},
	"hamigrate":  {"MigrationRequested", "Asked high availability to migrate VM %s"},
	"qmstart":    {"Started", "Started VM %s"},
	"hastart":    {"StartRequested", "Asked high availability to start VM %s"},
	"qmshutdown": {"ShutDown", "Shut down VM %s"},
	"hastop":     {"StopRequested", "Asked high availability to stop VM %s"},
	"qmstop":     {"Stopped", "Stopped VM %s"},
	"qmreboot":   {"Rebooted", "Rebooted VM %s"},
	"qmreset":    {"Reset", "Reset VM %s"},
	"qmsuspend":  {"Suspended", "Suspended VM %s to disk"},
	"qmresume":   {"Resumed", "Resumed VM %s"},
	"imgcopy":    {"ImageUploaded", "Uploaded a cloud-init image for VM %s"},
	"imgdel":     {"ImageRemoved", "Removed a cloud-init image of VM %s"},
	"qmdestroy":  {"Destroyed", "Destroyed VM %s"},
}

// taskEvent is the event of a task that has ended well.
func taskEvent(t proxmox.Task, vmid string) xpevent.Event {
	e, known := taskEvents[t.Type]
	if !known {
		e.reason, e.text = reasonTaskEnded, t.Type+" of VM %s has ended"
	}
	text := fmt.Sprintf(e.text, vmid)
	if n := t.Warnings(); n > 0 {
		text += fmt.Sprintf(", with %d warnings in the log of its task", n)
	}
	return xpevent.Normal(e.reason, text)
}

// toldTasks are the tasks of changes that were told when they were made.
//
//nolint:gochecknoglobals // A constant.
var toldTasks = []string{"qmconfig", "resize"}

// setByOthers is added to a change that takes back what others have set.
const setByOthers = ": set by others, put back"

// emitChange tells of a change of options that was made, in an event for each. Of a VM that is
// being created the task tells.
func (e *external) emitChange(m Machine, change qemu.Difference) {
	if e.vm.IdentityPending {
		return
	}
	drift := e.settled.wasUpToDate(m)
	for _, option := range change.Options() {
		current, desired := e.vm.Config[option], change.Set[option]
		why := ""
		if drift && !e.changesWithoutSpec(option, desired) {
			why = setByOthers
		}
		for _, line := range kind.Changes(option, vmstate.Masked(option, current), vmstate.Masked(option, desired)) {
			e.record.Event(m, xpevent.Normal(reasonChanged, line+why))
		}
	}
}

// changesWithoutSpec reports whether the desired value of an option may change although the spec
// has not: by a Secret, a ConfigMap or a label.
func (e *external) changesWithoutSpec(option, desired string) bool {
	return option == "cipassword" || option == "tags" && e.planned.Tenant != "" || strings.Contains(desired, "media=cdrom")
}

// emitStep tells of a change beside options that was made, unless the end of its task tells.
func (e *external) emitStep(m Machine, s step, u proxmox.UPID) {
	if u != "" && !slices.Contains(toldTasks, u.Type()) {
		return
	}
	for _, line := range kind.Changes(s.difference.Option, s.difference.Current, s.difference.Desired) {
		e.record.Event(m, xpevent.Normal(reasonChanged, line))
	}
}

// warningsOf a task are the lines of its log that warn.
func warningsOf(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "WARN: ") })
}

// changeEvents are the events of what has happened to a VM that no task of ours did.
func changeEvents(before, after *v1alpha1.MachineObservation, ours bool) []xpevent.Event {
	var all []xpevent.Event
	if before.VMID == nil || ours {
		return nil
	}
	if before.Node != "" && before.Node != after.Node {
		all = append(all, xpevent.Normal(reasonMoved, fmt.Sprintf("VM %d was moved from node %s to node %s in Proxmox VE", *after.VMID, before.Node, after.Node)))
	}
	if before.Phase == v1alpha1.MachineRunning && after.Phase == v1alpha1.MachineStopped {
		all = append(all, xpevent.Normal(reasonStopped, fmt.Sprintf("VM %d was stopped in Proxmox VE, or has stopped by itself", *after.VMID)))
	}
	return all
}

// reasonDeviceRetained is the reason of the event that a device stays although its entry
// has left its list.
const reasonDeviceRetained xpevent.Reason = "DeviceRetained"

// retainedEvents tell of devices that are retained and were not before.
func retainedEvents(before, after *v1alpha1.MachineObservation) []xpevent.Event {
	var all []xpevent.Event
	for _, r := range after.RetainedDevices {
		if slices.Contains(before.RetainedDevices, r) {
			continue
		}
		all = append(all, xpevent.Normal(reasonDeviceRetained, fmt.Sprintf("%s %q is off the list and stays on the VM as %s, no longer managed: %s",
			r.List, r.Name, r.Device, r.Reason)))
	}
	return all
}
