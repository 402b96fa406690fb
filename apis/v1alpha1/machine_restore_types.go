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

// MachineRestore creates a new VM from a backup, with the configuration and the disks
// in the backup. The VM that was backed up does not change. Afterwards, the provider
// applies the spec, as for a clone. The VM gets its own UUID.
//
// +kubebuilder:validation:XValidation:rule="[has(self.backupRef), has(self.volume), has(self.latestOf)].exists_one(one, one)",message="a backup is restored: set one of backupRef, volume and latestOf"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storageRef)",message="all disks go to one storage: set only one of storage and storageRef"
type MachineRestore struct {
	// BackupRef is a Backup in the cluster of this Machine, in the same namespace if this
	// resource has one. The Machine waits until the Backup is complete. Use volume for a
	// backup of another cluster.
	// +optional
	BackupRef *Reference `json:"backupRef,omitempty"`

	// Volume ID of a backup of a VM, on a storage with content type backup, such as
	// nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst, or
	// pbs:backup/vm/100/2026-11-22T17:00:00Z on a Proxmox Backup Server; up to 255
	// characters. On local storage, the backup must be on the VM's node; if node is not
	// set, a node that has it is chosen. PVE: archive.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:backup/[^\s,]+$`
	Volume *string `json:"volume,omitempty"`

	// LatestOf names a VM whose newest backup on a storage is restored, no matter who
	// made it, such as a BackupJob. The backup is chosen when the VM is created, and
	// never changes afterwards. The Machine waits until there is one.
	// +optional
	LatestOf *MachineRestoreLatest `json:"latestOf,omitempty"`

	// Storage for all disks of the VM, 2 to 100 characters. Default: each disk goes to
	// the storage with the name of its storage at the time of the backup. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage for all disks of the VM, in the same namespace if
	// this resource has one, instead of storage. The Machine waits until the Storage
	// exists.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// Unique gives the networks new MAC addresses. A copy in the same network as the VM
	// that was backed up needs this. With false, the networks keep the MAC addresses of
	// the backup, for a VM that replaces the other one. The UUID and the VM generation ID
	// are new in either case. Default: true. PVE: unique.
	// +optional
	Unique *bool `json:"unique,omitempty"`
}

// MachineRestoreLatest names the VM whose newest backup is restored. Backups that a
// Proxmox Backup Server knows to be damaged are not used.
//
// +kubebuilder:validation:XValidation:rule="has(self.machineRef) != has(self.vmid)",message="the backup of a VM is restored: set one of machineRef and vmid"
// +kubebuilder:validation:XValidation:rule="has(self.storage) != has(self.storageRef)",message="a storage has the backups: set one of storage and storageRef"
type MachineRestoreLatest struct {
	// Storage that has the backups, with content type backup, 2 to 100 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage,omitempty"`

	// StorageRef references the Storage that has the backups, in the same namespace if
	// this resource has one, instead of storage. The Machine waits until the Storage
	// exists.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// MachineRef is the Machine whose VM was backed up, in the same namespace if this
	// resource has one. The UUID in the backup must be the UUID of its VM.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// VMID that the VM had when it was backed up, from 100 to 999999999, for a VM that no
	// longer has a Machine. If another VM has got the VMID since then, the newest backup
	// is a backup of that VM. PVE: vmid.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	VMID *int32 `json:"vmid,omitempty"`
}

// MachineRestoreInPlace restores the VM from a backup of it, once. The VM loses
// everything that it has written since then, and its snapshots. Its disks that are in
// the backup are removed first, so if a restore fails midway, the VM is left without
// them.
//
// +kubebuilder:validation:XValidation:rule="has(self.backupRef) != has(self.volume)",message="a backup is restored: set one of backupRef and volume"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storageRef)",message="all disks go to one storage: set only one of storage and storageRef"
// +kubebuilder:validation:XValidation:rule="self.token != oldSelf.token || (has(self.backupRef) ? has(oldSelf.backupRef) && self.backupRef == oldSelf.backupRef : !has(oldSelf.backupRef)) && (has(self.volume) ? has(oldSelf.volume) && self.volume == oldSelf.volume : !has(oldSelf.volume)) && (has(self.storage) ? has(oldSelf.storage) && self.storage == oldSelf.storage : !has(oldSelf.storage)) && (has(self.storageRef) ? has(oldSelf.storageRef) && self.storageRef == oldSelf.storageRef : !has(oldSelf.storageRef))",message="another backup or storage needs another restoreInPlace.token"
type MachineRestoreInPlace struct {
	// Token makes the request unique: the restore is done at most once for each new
	// token, for example a time or a counter. It is never repeated, even if it is refused
	// or fails: status.atProvider.restoreInPlace reports its result. The last 200 tokens
	// are known: an earlier one is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`

	// BackupRef is a complete Backup of this Machine's VM, in the same namespace if this
	// resource has one.
	// +optional
	BackupRef *Reference `json:"backupRef,omitempty"`

	// Volume ID of a backup of this Machine's VM, on a storage with content type backup,
	// such as nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst, or
	// pbs:backup/vm/100/2026-11-22T17:00:00Z on a Proxmox Backup Server; up to 255
	// characters. The backup must be available on the VM's node. PVE: archive.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:backup/[^\s,]+$`
	Volume *string `json:"volume,omitempty"`

	// Storage for all disks of the backup, 2 to 100 characters. Default: each disk goes
	// to the storage with the name of its storage at the time of the backup. PVE:
	// storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage for all disks of the backup, in the same
	// namespace if this resource has one, instead of storage. The restore is refused if
	// the Storage does not exist.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// AllowRunning allows the restore of a running VM, which is shut down first. Default:
	// false: the restore is refused while the VM runs, or waits until the VM is off if
	// the spec stops it.
	// +optional
	AllowRunning *bool `json:"allowRunning,omitempty"`

	// DiscardSnapshots allows the restore to remove the snapshots of the VM. Default:
	// false: the restore of a VM that has snapshots is refused. Snapshots with
	// removalPolicy Retain are never removed.
	// +optional
	DiscardSnapshots *bool `json:"discardSnapshots,omitempty"`

	// ReplaceDisks allows the restore to remove disks other than the volumes that were
	// backed up: disks that have replaced them on the same devices, and disks that were
	// moved or restored elsewhere since then. It also allows the removal of disks that
	// safetyBackup does not include, because they are excluded from backups. Default:
	// false: such a restore is refused.
	// +optional
	ReplaceDisks *bool `json:"replaceDisks,omitempty"`

	// SafetyBackup makes a backup of the current state first, when the VM is off.
	// Default: none. A snapshot is not enough, because a restore removes it.
	// +optional
	SafetyBackup *MachineSafetyBackup `json:"safetyBackup,omitempty"`
}

// MachineSafetyBackup is the backup that is made before a VM is restored in place: a
// Backup whose name is the name of the Machine, -before-restore- and eight digits. It
// is protected, and it is kept.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) != has(self.storageRef)",message="a backup goes to one storage: set one of storage and storageRef"
type MachineSafetyBackup struct {
	// Storage that the backup goes to, by its name in Proxmox VE, 2 to 100 characters.
	// Its content types must include backup, and it must be available on the node of the
	// VM. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage,omitempty"`

	// StorageRef references the Storage that the backup goes to, in the same namespace if
	// this resource has one, instead of storage. The restore waits until the Storage
	// exists.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`
}

// MachineRestoreInPlaceObservation is the state of a restore in place.
type MachineRestoreInPlaceObservation struct {
	// Token of the request.
	Token string `json:"token"`

	// Volume ID of the backup, or the name of the Backup if the volume ID is not known.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Time at which the restore reached its state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// State of the restore. Succeeded, Refused, Failed and Unknown are final: use another
	// token to request it again.
	State MachineActState `json:"state"`

	// Message is the reason why the restore waits, was refused or has failed.
	// +optional
	Message string `json:"message,omitempty"`

	// SafetyBackup is the name of the Backup that was made before the restore.
	// +optional
	SafetyBackup string `json:"safetyBackup,omitempty"`
}
