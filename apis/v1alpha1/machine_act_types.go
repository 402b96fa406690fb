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

// MachineActState is the state of an act that is done at most once for each token: a
// rollback, a restore in place, or a recreation.
// +kubebuilder:validation:Enum=Pending;TakingSafetySnapshot;RollingBack;MakingSafetyBackup;Restoring;Succeeded;Refused;Failed;Unknown
type MachineActState string

// The states of an act.
const (
	// ActPending means that the act has not begun: it waits for the VM to be off, for a
	// lock or for a task.
	ActPending MachineActState = "Pending"
	// ActTakingSafetySnapshot means that the safety snapshot is being taken.
	ActTakingSafetySnapshot MachineActState = "TakingSafetySnapshot"
	// ActRollingBack means that Proxmox VE was asked to roll back.
	ActRollingBack MachineActState = "RollingBack"
	// ActMakingSafetyBackup means that the safety backup is being made.
	ActMakingSafetyBackup MachineActState = "MakingSafetyBackup"
	// ActRestoring means that Proxmox VE was asked to restore.
	ActRestoring MachineActState = "Restoring"
	// ActSucceeded means that the act has succeeded.
	ActSucceeded MachineActState = "Succeeded"
	// ActRefused means that the act did not begin, and will not.
	ActRefused MachineActState = "Refused"
	// ActFailed means that the act began, and failed.
	ActFailed MachineActState = "Failed"
	// ActUnknown means that Proxmox VE was asked, and that no task of the act is known.
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

// MachineRecreation creates a VM again under another VMID, once, if its creation was lost with its
// node.
//
// +kubebuilder:validation:XValidation:rule="self.token != oldSelf.token || self.lostNode == oldSelf.lostNode",message="another recreation.lostNode needs another recreation.token"
type MachineRecreation struct {
	// LostNode is the name of the node on which the VM was being created, and which is
	// now off or no longer part of the cluster. The recreation is refused if the VM is on
	// another node, or does not have the lock of its creation. The source of the VM and
	// the storages that it uses must be on other nodes: until they are, the recreation
	// waits.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	LostNode string `json:"lostNode"`

	// Token makes the request unique: the VM is created again at most once for each new
	// token, for example a time or a counter. The act is never repeated:
	// status.atProvider.recreation reports its result. The last 200 tokens are known: an
	// earlier one is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`

	// RemoveRemains destroys the VM that the lost creation left, with its disks, once its
	// node is back. The VM is destroyed only if it has the UUID that this Machine gave
	// it, is off and is not protected. While it has the lock of the creation, Proxmox VE
	// does not remove the VM: run "qm unlock" on the node. Default: false, which does not
	// change the VM; the condition RemainsFound reports it in either case. PVE: DELETE of
	// the VM.
	// +optional
	RemoveRemains *bool `json:"removeRemains,omitempty"`
}

// MachineRecreationObservation is the state of a recreation.
type MachineRecreationObservation struct {
	// Token of the request.
	Token string `json:"token"`

	// LostNode on which the VM was being created.
	// +optional
	LostNode string `json:"lostNode,omitempty"`

	// Time at which the recreation reached its state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// State of the recreation. Succeeded, Refused and Unknown are final: use another
	// token to request it again. Succeeded means that this Machine has another VMID,
	// under which the VM is created.
	State MachineActState `json:"state"`

	// Message is the reason why the recreation was refused, or what it waits for.
	// +optional
	Message string `json:"message,omitempty"`

	// Remains are the VMs whose creation was lost. They may come back with their nodes.
	// +optional
	// +listType=map
	// +listMapKey=vmid
	Remains []MachineRemains `json:"remains,omitempty"`
}

// MachineRemains are the remains of a creation that was lost with its node.
type MachineRemains struct {
	// VMID with which the VM was created.
	VMID int32 `json:"vmid"`

	// Node on which the VM was created.
	Node string `json:"node"`

	// UUID that this Machine gave the VM.
	UUID string `json:"uuid"`
}

// MachineRollback returns the VM to a snapshot, once. The VM loses all changes since
// the snapshot.
//
// +kubebuilder:validation:XValidation:rule="self.token != oldSelf.token || self.snapshot == oldSelf.snapshot",message="another rollback.snapshot needs another rollback.token"
type MachineRollback struct {
	// Snapshot to return to, 1 to 253 characters: the name of a Snapshot of this
	// Machine's VM, in the same namespace if this resource has one. If there is no
	// Snapshot of that name, it is the name of a snapshot of the VM in Proxmox VE. PVE:
	// snapname.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != 'current'",message="current is what the VM is now, not a snapshot"
	Snapshot string `json:"snapshot"`

	// Token makes the request unique: the rollback is done at most once for each new
	// token, for example a time or a counter. It is never repeated, even if it is refused
	// or fails: status.atProvider.rollback reports its result. The last 200 tokens are
	// known: an earlier one is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`

	// AllowRunning allows the rollback of a running VM. Proxmox VE stops the VM hard for
	// that. Default: false: the rollback is refused while the VM runs, or waits until the
	// VM is off if the spec stops it.
	// +optional
	AllowRunning *bool `json:"allowRunning,omitempty"`

	// SafetySnapshot takes a snapshot of the current state first, without memory. The
	// snapshot is named before-rollback- and the first eight digits of the SHA-256 of the
	// token, and it is kept. Storages that can roll back only to their newest snapshot,
	// such as ZFS, do not allow it. Default: false.
	// +optional
	SafetySnapshot *bool `json:"safetySnapshot,omitempty"`
}

// MachineRollbackObservation is the state of a rollback.
type MachineRollbackObservation struct {
	// Token of the request.
	Token string `json:"token"`

	// Snapshot to which the VM returns, by its name in Proxmox VE.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// Time at which the rollback reached its state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// State of the rollback. Succeeded, Refused, Failed and Unknown are final: use
	// another token to request it again.
	State MachineActState `json:"state"`

	// Message is the reason why the rollback was refused or has failed.
	// +optional
	Message string `json:"message,omitempty"`

	// SafetySnapshot is the name in Proxmox VE of the snapshot that was taken before the
	// rollback.
	// +optional
	SafetySnapshot string `json:"safetySnapshot,omitempty"`
}
