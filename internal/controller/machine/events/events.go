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

// Package events defines the events of Machines in addition to those of the managed reconciler: their reasons, and the events for the end of a task
// and for changes of a VM.
package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Events of a Machine in addition to those of the managed reconciler.
const (
	reasonTaskEnded  xpevent.Reason = "TaskEnded"
	ReasonTaskFailed xpevent.Reason = "TaskFailed"
	reasonMoved      xpevent.Reason = "Moved"
	reasonStopped    xpevent.Reason = "Stopped"
	reasonPaused     xpevent.Reason = "Paused"
	ReasonChanged    xpevent.Reason = "Changed"

	ReasonUnreplicating    xpevent.Reason = "RemovingReplicas"
	ReasonOrphanedReplicas xpevent.Reason = "OrphanedReplicas"
	ReasonOrphanedImages   xpevent.Reason = "OrphanedImages"
	ReasonOrphanedDisks    xpevent.Reason = "OrphanedDisks"
	ReasonTaskWarning      xpevent.Reason = "TaskWarning"

	// ReasonLeftBehind is for a VM that stays when its Machine is deleted, because it does not belong to the Machine's tenant.
	ReasonLeftBehind = kind.EventLeftBehind

	// ReasonRecreating is for a VM that is created again because its creation was lost. The others are for the remains of that creation.
	ReasonRecreating      xpevent.Reason = "Recreating"
	ReasonRemainsFound    xpevent.Reason = "RemainsFound"
	ReasonOrphanedRemains xpevent.Reason = "OrphanedRemains"

	// ReasonPlaced is for why a node was chosen.
	ReasonPlaced xpevent.Reason = "Placed"

	// ReasonStorageOvercommitted is for a disk that may become larger than the free space of its storage.
	ReasonStorageOvercommitted xpevent.Reason = "StorageOvercommitted"

	// reasonDeviceRetained is for a device that stays although its entry was removed from its list.
	reasonDeviceRetained xpevent.Reason = "DeviceRetained"
)

// taskEvents are the events for the success of tasks of PVE, by type.
//
//nolint:gochecknoglobals // A constant.
var taskEvents = map[string]struct {
	reason xpevent.Reason
	text   string
}{
	"qmcreate":   {"Created", "Successfully created VM %s"},
	"qmclone":    {"Created", "Successfully created VM %s"},
	"qmrestore":  {"Created", "Restored VM %s from a backup"},
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
	"qmpause":    {reasonPaused, "Paused VM %s"},
	"qmresume":   {"Resumed", "Resumed VM %s"},
	"imgcopy":    {"ImageUploaded", "Uploaded a cloud-init image for VM %s"},
	"imgdel":     {"ImageRemoved", "Removed a cloud-init image of VM %s"},
	"qmdestroy":  {"Destroyed", "Destroyed VM %s"},
	"qmsnapshot": {"SnapshotTaken", "Took a snapshot of VM %s"},
	"qmrollback": {"RolledBack", "VM %s went back to a snapshot"},
}

// OfTask returns the event of a task that has succeeded.
func OfTask(t proxmox.Task, vmid string) xpevent.Event {
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

// ReportedAtCall reports whether a task makes a change that was reported when its call was made.
func ReportedAtCall(taskType string) bool {
	return slices.Contains([]string{"qmconfig", "resize", "qmmove"}, taskType)
}

// Warnings returns the lines of a task's log that are warnings.
func Warnings(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "WARN: ") })
}

// OfChange returns the events of changes to a VM that no task of ours has made.
func OfChange(before, after *v1alpha1.MachineObservation, ours bool) []xpevent.Event {
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
	if before.PowerState == vmstate.QMPRunning && after.PowerState == vmstate.QMPPaused && after.Lock == "" {
		all = append(all, xpevent.Normal(reasonPaused, fmt.Sprintf("VM %d was paused in Proxmox VE", *after.VMID)))
	}
	return all
}

// ofRetained returns the event of a device that is retained.
func ofRetained(r v1alpha1.MachineRetainedDevice) xpevent.Event {
	return xpevent.Normal(reasonDeviceRetained, fmt.Sprintf("%s %q is off the list and stays on the VM as %s, no longer managed: %s",
		r.List, r.Name, r.Device, r.Reason))
}

// WithLog adds the last lines of a task's log to its error. They may contain times and names that differ each time, so that they are only for events,
// not for conditions.
func WithLog(failure error, lines []string) error {
	if len(lines) == 0 {
		return failure
	}
	return errors.Errorf("%w; its log ends: %s", failure, strings.Join(lines, " | "))
}
