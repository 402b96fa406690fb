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
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Conditions of a Machine beside Ready and Synced.
const (
	TypeVMCreated          xpv2.ConditionType = "VMCreated"
	TypeResourcesAllocated xpv2.ConditionType = "ResourcesAllocated"
	TypeNetworkConfigured  xpv2.ConditionType = "NetworkConfigured"
	TypeRestartRequired    xpv2.ConditionType = "RestartRequired"
)

// Reasons of the conditions.
const (
	ReasonCreationSucceeded     xpv2.ConditionReason = "CreationSucceeded"
	ReasonCreationFailed        xpv2.ConditionReason = "CreationFailed"
	ReasonCreating              xpv2.ConditionReason = "Creating"
	ReasonWaitingForImage       xpv2.ConditionReason = "WaitingForImage"
	ReasonAllocationSucceeded   xpv2.ConditionReason = "AllocationSucceeded"
	ReasonInsufficientResources xpv2.ConditionReason = "InsufficientResources"
	ReasonAllocationFailed      xpv2.ConditionReason = "AllocationFailed"
	ReasonNetworkReady          xpv2.ConditionReason = "NetworkReady"
	ReasonNetworkError          xpv2.ConditionReason = "NetworkError"
	ReasonWaitingForAddress     xpv2.ConditionReason = "WaitingForAddress"
	ReasonPendingChanges        xpv2.ConditionReason = "PendingChanges"
	ReasonUpToDate              xpv2.ConditionReason = "UpToDate"
	ReasonLocked                xpv2.ConditionReason = "Locked"
	ReasonOwnershipConflict     xpv2.ConditionReason = "OwnershipConflict"
	ReasonClusterMismatch       xpv2.ConditionReason = "ClusterMismatch"
	ReasonGuestHalted           xpv2.ConditionReason = "GuestHalted"
	ReasonPowerMismatch         xpv2.ConditionReason = "PowerMismatch"
)

func condition(t xpv2.ConditionType, s corev1.ConditionStatus, r xpv2.ConditionReason, message string) xpv2.Condition {
	return xpv2.Condition{Type: t, Status: s, Reason: r, Message: message, LastTransitionTime: metav1.Now()}
}

// setConditions conditions as what is seen of the present generation of a Machine.
func setConditions(m Machine, conditions ...xpv2.Condition) {
	for _, c := range conditions {
		m.SetConditions(c.WithObservedGeneration(m.GetGeneration()))
	}
}

// notReady is the condition Ready for a VM that exists, with the reason why it
// is not ready.
func notReady(r xpv2.ConditionReason, message string) xpv2.Condition {
	return condition(xpv2.TypeReady, corev1.ConditionFalse, r, message)
}

// conditionsOf a VM that is ours and not being created.
func conditionsOf(v *vmstate.VM, o *v1alpha1.MachineObservation) []xpv2.Condition {
	return []xpv2.Condition{
		condition(TypeVMCreated, corev1.ConditionTrue, ReasonCreationSucceeded, ""),
		condition(TypeResourcesAllocated, corev1.ConditionTrue, ReasonAllocationSucceeded, ""),
		networkCondition(v, o),
	}
}

func networkCondition(v *vmstate.VM, o *v1alpha1.MachineObservation) xpv2.Condition {
	waiting := v.On() && v.AgentOn() && len(v.Active.NICs()) > 0 && len(o.IPAddresses) == 0
	switch {
	case waiting && v.AgentUnavailable != "":
		return condition(TypeNetworkConfigured, corev1.ConditionFalse, ReasonWaitingForAddress, "the guest agent cannot be asked for addresses: "+v.AgentUnavailable)
	case waiting:
		return condition(TypeNetworkConfigured, corev1.ConditionFalse, ReasonWaitingForAddress, "the guest agent has not reported an address yet")
	}
	return condition(TypeNetworkConfigured, corev1.ConditionTrue, ReasonNetworkReady, "")
}
