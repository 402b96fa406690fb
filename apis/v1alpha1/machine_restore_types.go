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

// MachineRestore makes a new VM from a backup, with the configuration and the disks that
// the backup holds. The VM that was backed up is not touched. What the spec declares is
// changed afterwards, as on a clone. The VM gets a UUID of its own.
//
// +kubebuilder:validation:XValidation:rule="has(self.backupRef) != has(self.volume)",message="a backup is restored: set one of backupRef and volume"
type MachineRestore struct {
	// BackupRef is a Backup (of the same namespace, where there is one) in the cluster
	// of this Machine. The Machine waits until it is complete. A backup of another
	// cluster is named by volume.
	// +optional
	BackupRef *Reference `json:"backupRef,omitempty"`

	// Volume ID of a backup of a VM, on a storage with content type backup, such as
	// nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst, or
	// pbs:backup/vm/100/2026-11-22T17:00:00Z on a backup server; up to 255 characters.
	// On local storage it has to be on the VM's node; without node, one that has it is
	// chosen. PVE: archive.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:backup/[^\s,]+$`
	Volume *string `json:"volume,omitempty"`

	// Storage for all disks of the VM, 2 to 100 characters. Default: each disk goes to
	// the storage of the name that it was on when the backup was made. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// Unique gives the networks new MAC addresses, which a copy needs that is in one
	// network with the VM that was backed up. With false they have those of the backup,
	// for a VM that takes the place of the other one. The UUID and the VM generation ID
	// are new in either case. Default: true. PVE: unique.
	// +optional
	Unique *bool `json:"unique,omitempty"`
}
