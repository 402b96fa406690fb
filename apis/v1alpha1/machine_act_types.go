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

// MachineActState is how far an act has come that is done at most once for each token:
// a rollback, or a restore in place.
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
