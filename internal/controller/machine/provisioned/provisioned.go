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

// Package provisioned shows in the condition GuestProvisioned whether cloud-init has finished in the guest of a Machine whose spec asks for that.
package provisioned

import (
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Wanted reports whether the guest is to be asked.
func Wanted(m object.Machine) bool { return ptr.Deref(m.Parameters().ReportProvisioning, false) }

// Show shows what is known of a guest that was started at boot. While nothing is known yet, the report of the previous start stays: a reboot does not
// undo the provisioning.
func Show(m object.Machine, v *vmstate.VM, all *guestagent.Provisionings, boot time.Time) {
	before := m.GetCondition(conditions.TypeGuestProvisioned)
	if !Wanted(m) {
		if before.Status != corev1.ConditionUnknown {
			show(m, corev1.ConditionUnknown, conditions.ReasonNotReported, "reportProvisioning is not set")
		}
		return
	}
	known := reported(before)
	if at := m.Observation().StartedAt; at != nil && boot.Sub(at.Time).Abs() <= time.Minute && known.Ended() {
		all.RecordEarlier(m, boot, known) // The provider was started after the guest had reported it.
	}
	now := all.Of(m, boot)
	switch {
	case v.BeingCreated():
		show(m, corev1.ConditionFalse, conditions.ReasonCreating, "the VM is being created")
	case v.On() && now.Ended():
		showEnd(m, now)
	case known.Ended():
		showEnd(m, known)
	case !v.On():
		show(m, corev1.ConditionFalse, conditions.ReasonWaitingForAgent, "the VM is not running")
	case !v.AgentOn():
		show(m, corev1.ConditionFalse, conditions.ReasonWaitingForAgent, "the VM has no guest agent: set agent to true")
	case now.State == guestagent.ProvisioningUnasked:
		show(m, corev1.ConditionFalse, conditions.ReasonWaitingForAgent, "the guest agent has not answered yet")
	case now.State == guestagent.ProvisioningRuns:
		show(m, corev1.ConditionFalse, conditions.ReasonCloudInitRunning, "cloud-init has not finished yet")
	default:
		show(m, corev1.ConditionUnknown, conditions.ReasonGuestNotReadable,
			"cannot read "+guestagent.CloudInitResult+" in the guest: "+now.Message)
	}
}

// reported returns what a condition shows of a guest.
func reported(c xpv2.Condition) guestagent.Provisioning {
	if c.Reason == conditions.ReasonCloudInitFinished {
		return guestagent.Provisioning{State: guestagent.ProvisioningDone}
	}
	if c.Reason == conditions.ReasonCloudInitFailed {
		return guestagent.Provisioning{State: guestagent.ProvisioningFailed, Message: c.Message}
	}
	return guestagent.Provisioning{}
}

func showEnd(m object.Machine, p guestagent.Provisioning) {
	if p.State == guestagent.ProvisioningDone {
		show(m, corev1.ConditionTrue, conditions.ReasonCloudInitFinished, "")
		return
	}
	show(m, corev1.ConditionFalse, conditions.ReasonCloudInitFailed, p.Message)
}

func show(m object.Machine, s corev1.ConditionStatus, r xpv2.ConditionReason, message string) {
	conditions.Set(m, conditions.New(conditions.TypeGuestProvisioned, s, r, message))
}
