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
// +kubebuilder:validation:XValidation:rule="[has(self.backupRef), has(self.volume), has(self.latestOf)].exists_one(one, one)",message="a backup is restored: set one of backupRef, volume and latestOf"
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

	// LatestOf names a VM whose newest backup on a storage is restored, whoever has made
	// it, such as a BackupJob. It is chosen when the VM is made, and is never changed
	// afterwards; the Machine waits until there is one.
	// +optional
	LatestOf *MachineRestoreLatest `json:"latestOf,omitempty"`

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

// MachineRestoreLatest names the VM whose newest backup is restored. A backup that a backup
// server knows to be damaged is left out.
//
// +kubebuilder:validation:XValidation:rule="has(self.machineRef) != has(self.vmid)",message="the backup of a VM is restored: set one of machineRef and vmid"
type MachineRestoreLatest struct {
	// Storage that has the backups, with content type backup, 2 to 100 characters.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage"`

	// MachineRef is the Machine (of the same namespace, where there is one) whose VM was
	// backed up. The UUID in the backup has to be that of its VM.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// VMID that the VM had when it was backed up, from 100 to 999999999, for one that no
	// Machine stands for any more. If the VMID was given to another VM since, the newest
	// backup is that of the other one. PVE: vmid.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	VMID *int32 `json:"vmid,omitempty"`
}
