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
