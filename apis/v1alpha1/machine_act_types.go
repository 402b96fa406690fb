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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineActState is how far an act has come that is done at most once for each token:
// a rollback, a restore in place, or a recreation.
// +kubebuilder:validation:Enum=Pending;TakingSafetySnapshot;RollingBack;MakingSafetyBackup;Restoring;Succeeded;Refused;Failed;Unknown
type MachineActState string

// The states of an act.
const (
	// ActPending has not begun: it waits for the VM to be off, for a lock or for a task.
	ActPending MachineActState = "Pending"
	// ActTakingSafetySnapshot takes the safety snapshot.
	ActTakingSafetySnapshot MachineActState = "TakingSafetySnapshot"
	// ActRollingBack was asked of Proxmox VE.
	ActRollingBack MachineActState = "RollingBack"
	// ActMakingSafetyBackup makes the safety backup.
	ActMakingSafetyBackup MachineActState = "MakingSafetyBackup"
	// ActRestoring was asked of Proxmox VE.
	ActRestoring MachineActState = "Restoring"
	// ActSucceeded has ended well.
	ActSucceeded MachineActState = "Succeeded"
	// ActRefused was not begun, and will not be.
	ActRefused MachineActState = "Refused"
	// ActFailed was begun, and failed.
	ActFailed MachineActState = "Failed"
	// ActUnknown was asked of Proxmox VE, and no task of it is known.
	ActUnknown MachineActState = "Unknown"
)

// Final reports whether nothing more is done for the token.
func (s MachineActState) Final() bool {
	switch s {
	case ActSucceeded, ActRefused, ActFailed, ActUnknown:
		return true
	case ActPending, ActTakingSafetySnapshot, ActRollingBack, ActMakingSafetyBackup, ActRestoring:
	}
	return false
}

// MachineRecreation has a VM made anew under another VMID, once, whose creation was lost with its
// node.
//
// +kubebuilder:validation:XValidation:rule="self.token != oldSelf.token || self.lostNode == oldSelf.lostNode",message="another recreation.lostNode needs another recreation.token"
type MachineRecreation struct {
	// LostNode is the name of the node that the VM was being created on and that is
	// off, or no longer part of the cluster. It is refused if the VM is on another
	// node, or is not locked for its creation. What the VM is made from and the
	// storages that it uses must be on other nodes: until they are, it waits.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	LostNode string `json:"lostNode"`

	// Token makes the request unique: the VM is made anew at most once for each new
	// token, for example a time or a counter. It is never repeated:
	// status.atProvider.recreation says how it went. The last 200 tokens are known:
	// an earlier one is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`

	// RemoveRemains has what the lost creation has left destroyed with its disks, once
	// its node is back. It is done only if that VM has the UUID that this Machine gave
	// it, is off and not protected. While it is locked for its creation, Proxmox VE
	// removes it for nobody: "qm unlock" on the node lifts that. Default: false, with
	// which it is left alone; the condition RemainsFound tells of it either way. PVE:
	// DELETE of the VM.
	// +optional
	RemoveRemains *bool `json:"removeRemains,omitempty"`
}

// MachineRecreationObservation is what became of a recreation.
type MachineRecreationObservation struct {
	// Token of the request.
	Token string `json:"token"`

	// LostNode that the VM was being created on.
	// +optional
	LostNode string `json:"lostNode,omitempty"`

	// Time at which the recreation has come to its state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// State of the recreation. Succeeded, Refused and Unknown are final: another token
	// asks again. Succeeded means that this Machine has another VMID, under which the
	// VM is created.
	State MachineActState `json:"state"`

	// Message is why the recreation was refused, or what it waits for.
	// +optional
	Message string `json:"message,omitempty"`

	// Remains are the VMs whose creation was lost, and which may come back with their
	// nodes.
	// +optional
	// +listType=map
	// +listMapKey=vmid
	Remains []MachineRemains `json:"remains,omitempty"`
}

// MachineRemains are what a creation has left that was lost with its node.
type MachineRemains struct {
	// VMID that the VM was created with.
	VMID int32 `json:"vmid"`

	// Node that it was created on.
	Node string `json:"node"`

	// UUID that this Machine gave it.
	UUID string `json:"uuid"`
}

// MachineRollback goes back to a snapshot, once. The VM loses everything since then.
//
// +kubebuilder:validation:XValidation:rule="self.token != oldSelf.token || self.snapshot == oldSelf.snapshot",message="another rollback.snapshot needs another rollback.token"
type MachineRollback struct {
	// Snapshot to go back to, 1 to 253 characters: the name of a Snapshot (of the
	// same namespace, where there is one) of this Machine's VM, or if there is no
	// Snapshot of that name, the name of a snapshot of the VM in Proxmox VE. PVE:
	// snapname.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != 'current'",message="current is what the VM is now, not a snapshot"
	Snapshot string `json:"snapshot"`

	// Token makes the request unique: the rollback is done at most once for each
	// new token, for example a time or a counter. It is never repeated, not even
	// when it is refused or fails: status.atProvider.rollback says how it went. The
	// last 200 tokens are known: an earlier one is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`

	// AllowRunning lets a VM go back that runs. Proxmox VE stops it hard for that.
	// Default: false, with which the rollback is refused while the VM runs, or waits
	// until the VM is off if the spec has it stopped.
	// +optional
	AllowRunning *bool `json:"allowRunning,omitempty"`

	// SafetySnapshot takes a snapshot of the present state first, without memory. It
	// is named before-rollback- and the first eight digits of the SHA-256 of the
	// token, and stays. Storages that only go back to their newest snapshot, such
	// as ZFS, do not allow it. Default: false.
	// +optional
	SafetySnapshot *bool `json:"safetySnapshot,omitempty"`
}

// MachineRollbackObservation is what became of a rollback.
type MachineRollbackObservation struct {
	// Token of the request.
	Token string `json:"token"`

	// Snapshot that the VM goes back to, by its name in Proxmox VE.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// Time at which the rollback has come to its state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// State of the rollback. Succeeded, Refused, Failed and Unknown are final: another
	// token asks again.
	State MachineActState `json:"state"`

	// Message is why the rollback was refused or has failed.
	// +optional
	Message string `json:"message,omitempty"`

	// SafetySnapshot is the name in Proxmox VE of the snapshot that was taken before.
	// +optional
	SafetySnapshot string `json:"safetySnapshot,omitempty"`
}
