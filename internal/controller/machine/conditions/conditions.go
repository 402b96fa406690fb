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

// Package conditions defines the conditions of Machines and their reasons, and maps errors to conditions.
package conditions

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Conditions of a Machine in addition to Ready and Synced.
const (
	TypeVMCreated          xpv2.ConditionType = "VMCreated"
	TypeResourcesAllocated xpv2.ConditionType = "ResourcesAllocated"
	TypeNetworkConfigured  xpv2.ConditionType = "NetworkConfigured"
	TypeRestartRequired    xpv2.ConditionType = "RestartRequired"

	// TypeGuestProvisioned is true if cloud-init has finished in the guest without errors.
	TypeGuestProvisioned xpv2.ConditionType = "GuestProvisioned"

	// TypeBootable is false while a VM runs with nothing to boot from. A VM for which that was never so does not have this condition.
	TypeBootable xpv2.ConditionType = "Bootable"

	// TypeRemainsFound is true while there is a VM that a lost creation has left.
	TypeRemainsFound xpv2.ConditionType = "RemainsFound"
)

// Reasons of the conditions.
const (
	ReasonCreationSucceeded     xpv2.ConditionReason = "CreationSucceeded"
	ReasonCreationFailed        xpv2.ConditionReason = "CreationFailed"
	ReasonCreating              xpv2.ConditionReason = "Creating"
	ReasonWaitingForImage       xpv2.ConditionReason = "WaitingForImage"
	ReasonWaitingForBackup      xpv2.ConditionReason = "WaitingForBackup"
	ReasonRestoreFailed         xpv2.ConditionReason = "RestoreFailed"
	ReasonWaitingForStorage     xpv2.ConditionReason = "WaitingForStorage"
	ReasonWaitingForVolume      xpv2.ConditionReason = "WaitingForVolume"
	ReasonAllocationSucceeded   xpv2.ConditionReason = "AllocationSucceeded"
	ReasonInsufficientResources xpv2.ConditionReason = "InsufficientResources"
	ReasonAllocationFailed      xpv2.ConditionReason = "AllocationFailed"
	ReasonNetworkReady          xpv2.ConditionReason = "NetworkReady"
	ReasonNetworkError          xpv2.ConditionReason = "NetworkError"
	ReasonPendingChanges        xpv2.ConditionReason = "PendingChanges"
	ReasonUpToDate              xpv2.ConditionReason = "UpToDate"
	ReasonLocked                xpv2.ConditionReason = "Locked"
	ReasonOwnershipConflict     xpv2.ConditionReason = "OwnershipConflict"
	ReasonClusterMismatch       xpv2.ConditionReason = "ClusterMismatch"
	ReasonGuestHalted           xpv2.ConditionReason = "GuestHalted"
	ReasonPowerMismatch         xpv2.ConditionReason = "PowerMismatch"
)

// Reasons of the wait for two kinds of addresses.
const (
	// ReasonWaitingForIPAddress is why a VM is not created yet, or not ready: a pool has yet to allocate the address that the guest is given for its network.
	ReasonWaitingForIPAddress xpv2.ConditionReason = "WaitingForIPAddress"

	// ReasonWaitingForAddress is why NetworkConfigured is false: the guest agent has yet to report which address the guest has, whatever its origin.
	ReasonWaitingForAddress xpv2.ConditionReason = "WaitingForAddress"
)

// Reasons of the condition RestartRequired in addition to PendingChanges.
const (
	ReasonRestarting               xpv2.ConditionReason = "Restarting"
	ReasonWaitingForGuest          xpv2.ConditionReason = "WaitingForGuest"
	ReasonOutsideMaintenanceWindow xpv2.ConditionReason = "OutsideMaintenanceWindow"
	ReasonRestartFailed            xpv2.ConditionReason = "RestartFailed"
	ReasonRestartIneffective       xpv2.ConditionReason = "RestartIneffective"
	ReasonStartBlocked             xpv2.ConditionReason = "StartBlocked"
)

// Reasons of the condition GuestProvisioned.
const (
	ReasonCloudInitFinished xpv2.ConditionReason = "CloudInitFinished"
	ReasonCloudInitFailed   xpv2.ConditionReason = "CloudInitFailed"
	ReasonCloudInitRunning  xpv2.ConditionReason = "CloudInitRunning"
	ReasonWaitingForAgent   xpv2.ConditionReason = "WaitingForAgent"
	ReasonGuestNotReadable  xpv2.ConditionReason = "GuestNotReadable"
	ReasonNotReported       xpv2.ConditionReason = "NotReported"
)

// Reasons of the condition RemainsFound.
const (
	ReasonLostCreation xpv2.ConditionReason = "LostCreation"
	ReasonNoRemains    xpv2.ConditionReason = "NoRemains"
)

// Reasons of the condition Bootable.
const (
	ReasonNothingToBoot   xpv2.ConditionReason = "NothingToBoot"
	ReasonBootDeviceFound xpv2.ConditionReason = "BootDeviceFound"
	ReasonNotRunning      xpv2.ConditionReason = "NotRunning"
)

// ReasonNodeOffline is why a Machine whose node is offline is not ready.
const ReasonNodeOffline xpv2.ConditionReason = "NodeOffline"

// Reasons why a Machine is not ready because its VM lacks what the spec declares.
const (
	ReasonDeviceMissing   xpv2.ConditionReason = "DeviceMissing"
	ReasonBootDiskMissing xpv2.ConditionReason = "BootDiskMissing"
	ReasonBridgeMissing   xpv2.ConditionReason = "BridgeMissing"
)

// New returns a condition that has just changed.
func New(t xpv2.ConditionType, s corev1.ConditionStatus, r xpv2.ConditionReason, message string) xpv2.Condition {
	return xpv2.Condition{Type: t, Status: s, Reason: r, Message: message, LastTransitionTime: metav1.Now()}
}

// Set sets conditions as observed for the current generation of a Machine.
func Set(m object.Machine, conditions ...xpv2.Condition) {
	for _, c := range conditions {
		m.SetConditions(c.WithObservedGeneration(m.GetGeneration()))
	}
}

// NotReady returns the condition Ready for a VM that exists, with the reason why it is not ready.
func NotReady(r xpv2.ConditionReason, message string) xpv2.Condition {
	return New(xpv2.TypeReady, corev1.ConditionFalse, r, message)
}

// OfVM returns the conditions of a VM that is ours and not being created.
func OfVM(v *vmstate.VM, o *v1alpha1.MachineObservation) []xpv2.Condition {
	return []xpv2.Condition{
		New(TypeVMCreated, corev1.ConditionTrue, ReasonCreationSucceeded, ""),
		New(TypeResourcesAllocated, corev1.ConditionTrue, ReasonAllocationSucceeded, ""),
		networkCondition(v, o),
	}
}

func networkCondition(v *vmstate.VM, o *v1alpha1.MachineObservation) xpv2.Condition {
	waiting := v.On() && v.AgentOn() && len(v.Active.NICs()) > 0 && len(o.IPAddresses) == 0
	switch {
	case waiting && v.Paused():
		return New(TypeNetworkConfigured, corev1.ConditionFalse, ReasonWaitingForAddress, "the VM is paused, and its guest agent cannot report an address")
	case waiting && v.AgentUnavailable != "":
		return New(TypeNetworkConfigured, corev1.ConditionFalse, ReasonWaitingForAddress, "the guest agent cannot be asked for addresses: "+v.AgentUnavailable)
	case waiting:
		return New(TypeNetworkConfigured, corev1.ConditionFalse, ReasonWaitingForAddress, "the guest agent has not reported an address yet")
	}
	return New(TypeNetworkConfigured, corev1.ConditionTrue, ReasonNetworkReady, "")
}

// Unreadable returns the error for a VM whose node is offline, and shows it: only HA may bring the VM back on another node. For a VM that was not
// seen after its creation, the error states what happens next. completeOn is the node of such a VM if it is nevertheless complete, and empty
// otherwise.
func Unreadable(m object.Machine, err error, completeOn string) error {
	if !meta.GetExternalCreatePending(m).IsZero() && m.Observation().UUID == "" && !meta.WasDeleted(m) {
		err = errors.Errorf("%w: %s", err, afterCreation(m, completeOn))
	}
	Set(m, NotReady(ReasonNodeOffline, err.Error()))
	return err
}

// afterCreation returns what happens to a VM whose node has gone offline while, or soon after, the VM was created there.
func afterCreation(m object.Machine, completeOn string) string {
	const another = "remove it from the cluster, delete this Machine and create another"
	if completeOn != "" {
		return fmt.Sprintf("the VM is complete, and is set up when the node is back; if the node never comes back, make sure that it stays off, and move the VM's "+
			"configuration in /etc/pve/nodes/%s/qemu-server to a node that reaches its disks; if they are gone with the node, %s", completeOn, another)
	}
	advice := another
	if object.MayReplaceVMID(m) {
		advice = "name it in recreation.lostNode with a recreation.token, to have the VM made under another VMID"
	}
	return "the VM was being created there, and what is left of it is shown when the node is back; if the node never comes back, " + advice
}

// A sourceWaitError is why a Machine must wait for a Backup, a Storage, a Volume or an address.
type sourceWaitError struct {
	reason  xpv2.ConditionReason
	message string
}

// Error returns the message.
func (e *sourceWaitError) Error() string { return e.message }

// WaitForBackup returns why a Machine must wait for a Backup.
func WaitForBackup(format string, args ...any) error {
	return &sourceWaitError{reason: ReasonWaitingForBackup, message: fmt.Sprintf(format, args...)}
}

// WaitForStorage returns why a Machine must wait for a Storage.
func WaitForStorage(format string, args ...any) error {
	return &sourceWaitError{reason: ReasonWaitingForStorage, message: fmt.Sprintf(format, args...)}
}

// WaitForVolume returns why a Machine must wait for a Volume.
func WaitForVolume(format string, args ...any) error {
	return &sourceWaitError{reason: ReasonWaitingForVolume, message: fmt.Sprintf(format, args...)}
}

// WaitForIPAddress returns why a Machine must wait for an address of a pool.
func WaitForIPAddress(format string, args ...any) error {
	return &sourceWaitError{reason: ReasonWaitingForIPAddress, message: fmt.Sprintf(format, args...)}
}

// WaitsForSource reports whether a Machine must wait for an Image, a Backup, a Storage, a Volume, an address or room in a quota, and the reason.
func WaitsForSource(err error) (xpv2.ConditionReason, bool) {
	var image *imageref.NotReadyError
	var other *sourceWaitError
	switch {
	case errors.As(err, &image):
		return ReasonWaitingForImage, true
	case errors.As(err, &other):
		return other.reason, true
	case quota.IsExceeded(err):
		return v1alpha1.ReasonQuotaExceeded, true
	}
	return "", false
}

// SetSourceWait shows that a Machine waits for an Image or a Backup, if the error says so.
func SetSourceWait(m object.Machine, err error) bool {
	reason, waits := WaitsForSource(err)
	if !waits {
		return false
	}
	message := "waiting: " + err.Error()
	m.Observation().Phase = v1alpha1.MachinePending
	ready := xpv2.Creating().WithMessage(message)
	if reason == v1alpha1.ReasonQuotaExceeded {
		ready.Reason = reason
	}
	Set(m, ready, New(TypeVMCreated, corev1.ConditionFalse, reason, message))
	return true
}

// SetMissing shows that there is no VM, and that none is created.
func SetMissing(m object.Machine, id qemu.Identity) {
	message := fmt.Sprintf("VM %d does not exist, and managementPolicies leave out Create", id.VMID)
	if id.VMID == 0 {
		message = fmt.Sprintf("no VM is named by the annotation %s, and managementPolicies leave out Create", meta.AnnotationKeyExternalName)
	}
	m.Observation().Phase = v1alpha1.MachinePending
	Set(m, xpv2.Unavailable().WithMessage(message), New(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, message))
}

// NotUpToDate returns the condition UpToDate of a Machine whose VM differs from the spec.
func NotUpToDate(r xpv2.ConditionReason, message string) xpv2.Condition {
	return New(kind.TypeUpToDate, corev1.ConditionFalse, r, message)
}

// AppendReady adds a text to the message of the condition Ready.
func AppendReady(m object.Machine, text string) {
	ready := m.GetCondition(xpv2.TypeReady)
	Set(m, ready.WithMessage(strings.TrimPrefix(ready.Message+"; "+text, "; ")))
}

// WaitReason returns what a call waits for whose turn has not come, without the effect of the call.
func WaitReason(err error) string {
	if e := (*proxmox.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
