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

// MachineRestore makes a new VM from a backup, with the configuration and the disks that
// the backup holds. The VM that was backed up is not touched. What the spec declares is
// changed afterwards, as on a clone. The VM gets a UUID of its own.
//
// +kubebuilder:validation:XValidation:rule="[has(self.backupRef), has(self.volume), has(self.latestOf)].exists_one(one, one)",message="a backup is restored: set one of backupRef, volume and latestOf"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storageRef)",message="all disks go to one storage: set only one of storage and storageRef"
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

	// StorageRef references the Storage (of the same namespace, where there is one) for
	// all disks of the VM, in place of storage. The Machine waits until it is there.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

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
// +kubebuilder:validation:XValidation:rule="has(self.storage) != has(self.storageRef)",message="a storage has the backups: set one of storage and storageRef"
type MachineRestoreLatest struct {
	// Storage that has the backups, with content type backup, 2 to 100 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage,omitempty"`

	// StorageRef references the Storage (of the same namespace, where there is one) that
	// has the backups, in place of storage. The Machine waits until it is there.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

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

// MachineRestoreInPlace puts the VM back to a backup of it, once. The VM loses what it has
// written since then, and its snapshots. Its disks that the backup has are removed first, so
// that a restore which fails midway leaves a VM without them.
//
// +kubebuilder:validation:XValidation:rule="has(self.backupRef) != has(self.volume)",message="a backup is restored: set one of backupRef and volume"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storageRef)",message="all disks go to one storage: set only one of storage and storageRef"
// +kubebuilder:validation:XValidation:rule="self.token != oldSelf.token || (has(self.backupRef) ? has(oldSelf.backupRef) && self.backupRef == oldSelf.backupRef : !has(oldSelf.backupRef)) && (has(self.volume) ? has(oldSelf.volume) && self.volume == oldSelf.volume : !has(oldSelf.volume)) && (has(self.storage) ? has(oldSelf.storage) && self.storage == oldSelf.storage : !has(oldSelf.storage)) && (has(self.storageRef) ? has(oldSelf.storageRef) && self.storageRef == oldSelf.storageRef : !has(oldSelf.storageRef))",message="another backup or storage needs another restoreInPlace.token"
type MachineRestoreInPlace struct {
	// Token makes the request unique: the restore is done at most once for each new
	// token, for example a time or a counter. It is never repeated, not even when it is
	// refused or fails: status.atProvider.restoreInPlace says how it went. The last 200
	// tokens are known: an earlier one is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`

	// BackupRef is a Backup (of the same namespace, where there is one) of this
	// Machine's VM, which is complete.
	// +optional
	BackupRef *Reference `json:"backupRef,omitempty"`

	// Volume ID of a backup of this Machine's VM, on a storage with content type backup,
	// such as nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst, or
	// pbs:backup/vm/100/2026-11-22T17:00:00Z on a backup server; up to 255 characters.
	// It has to be on the VM's node. PVE: archive.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:backup/[^\s,]+$`
	Volume *string `json:"volume,omitempty"`

	// Storage for all disks of the backup, 2 to 100 characters. Default: each disk goes to
	// the storage of the name that it was on when the backup was made. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage (of the same namespace, where there is one) for
	// all disks of the backup, in place of storage. The restore is refused if it is not
	// there.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// AllowRunning has a VM that runs shut down first. Default: false, with which the
	// restore is refused while the VM runs, or waits until the VM is off if the spec has
	// it stopped.
	// +optional
	AllowRunning *bool `json:"allowRunning,omitempty"`

	// DiscardSnapshots lets the VM lose its snapshots, which a restore removes. Default:
	// false, with which the restore of a VM that has snapshots is refused. Those of
	// Snapshots with removalPolicy Retain are never removed.
	// +optional
	DiscardSnapshots *bool `json:"discardSnapshots,omitempty"`

	// ReplaceDisks lets disks be removed that are not the volumes that the backup was made
	// of: others that took their places on the same devices, and those that were moved or
	// restored elsewhere since. So it does with disks that a safetyBackup would not have,
	// because they are left out of backups. Default: false, with which the restore is
	// refused then.
	// +optional
	ReplaceDisks *bool `json:"replaceDisks,omitempty"`

	// SafetyBackup makes a backup of the present state first, when the VM is off. Default:
	// none. A snapshot would not do, since a restore removes it.
	// +optional
	SafetyBackup *MachineSafetyBackup `json:"safetyBackup,omitempty"`
}

// MachineSafetyBackup is the backup that is made before a VM is restored in place: a Backup with
// the name of the Machine, -before-restore- and eight digits. It is protected, and stays.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) != has(self.storageRef)",message="a backup goes to one storage: set one of storage and storageRef"
type MachineSafetyBackup struct {
	// Storage that the backup goes to, by its name in Proxmox VE, 2 to 100 characters. It
	// has backup among its content types and is on the node of the VM. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage,omitempty"`

	// StorageRef references the Storage (of the same namespace, where there is one) that
	// the backup goes to, in place of storage. The restore waits until it is there.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`
}

// MachineRestoreInPlaceObservation is what became of a restore in place.
type MachineRestoreInPlaceObservation struct {
	// Token of the request.
	Token string `json:"token"`

	// Volume ID of the backup, or the name of the Backup if that was not found out.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Time at which the restore has come to its state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// State of the restore. Succeeded, Refused, Failed and Unknown are final: another token
	// asks again.
	State MachineActState `json:"state"`

	// Message is what the restore waits for, or why it was refused or has failed.
	// +optional
	Message string `json:"message,omitempty"`

	// SafetyBackup is the name of the Backup that was made before.
	// +optional
	SafetyBackup string `json:"safetyBackup,omitempty"`
}
