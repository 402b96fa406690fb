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

package target

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// Reasons of the condition Ready of a resource that belongs to the VM of a Machine.
const (
	ReasonMachineNotFound xpv2.ConditionReason = "MachineNotFound"
	ReasonMachineNotReady xpv2.ConditionReason = "MachineNotReady"
	ReasonLocked          xpv2.ConditionReason = "Locked"
	ReasonVMNotFound      xpv2.ConditionReason = "VMNotFound"
	ReasonVMMismatch      xpv2.ConditionReason = "VMMismatch"
	ReasonNodeOffline     xpv2.ConditionReason = kind.ReasonNodeOffline
	ReasonNotSupported    xpv2.ConditionReason = "NotSupported"
	ReasonStorageFull     xpv2.ConditionReason = "StorageFull"
	ReasonStopped         xpv2.ConditionReason = "Stopped"
	ReasonCreating        xpv2.ConditionReason = "Creating"
	ReasonDeleting        xpv2.ConditionReason = "Deleting"
	ReasonNotFound        xpv2.ConditionReason = "NotFound"
	ReasonInUse           xpv2.ConditionReason = "InUse"
	ReasonGone            xpv2.ConditionReason = "Gone"
)

// Reasons of the events of such a resource.
const (
	EventAdopted       event.Reason = "Adopted"
	EventRetained      event.Reason = "Retained"
	EventLeftBehind                 = kind.EventLeftBehind
	EventRemovalFailed event.Reason = "RemovalFailed"
)

// ReasonOf returns the reason of a problem that PVE has reported, if it is one of the known reasons, and failed otherwise.
func ReasonOf(problem string, failed xpv2.ConditionReason, known ...xpv2.ConditionReason) xpv2.ConditionReason {
	if r := xpv2.ConditionReason(problem); slices.Contains(known, r) {
		return r
	}
	return failed
}

// Arrival is how many seconds after a lost answer the task that the call has started may still appear. PVE processes a request that it has received,
// however late. It is longer than the default timeout of a call, because a provider that was killed during the call knows only when the call began.
const Arrival = 60
