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

// A Backup is a copy of a virtual machine on a storage for backups: of its configuration
// and disks, at one moment. It outlives the virtual machine.
//
// +proxmox:kind=Backup,shortName=pbackup
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid"
// +kubebuilder:printcolumn:name="STATE",type="string",JSONPath=".status.atProvider.state"
// +kubebuilder:printcolumn:name="STORAGE",type="string",JSONPath=".spec.forProvider.storage"
// +kubebuilder:printcolumn:name="TAKEN",type="date",JSONPath=".status.atProvider.time"
// +kubebuilder:printcolumn:name="SIZE",type="integer",JSONPath=".status.atProvider.size"
// +kubebuilder:printcolumn:name="CONSISTENCY",type="string",JSONPath=".status.atProvider.consistency",priority=1
// +kubebuilder:printcolumn:name="VERIFIED",type="boolean",JSONPath=".status.atProvider.verified",priority=1
// +kubebuilder:printcolumn:name="VOLUME",type="string",JSONPath=".status.atProvider.volume",priority=1

// BackupParameters describe a backup, which is made once: one that was removed in Proxmox
// VE is not made again, for that would be another moment.
//
// +kubebuilder:validation:XValidation:rule="has(self.machine) || has(self.machineRef) || has(self.machineSelector)",message="a backup is of one Machine: set machineRef, machineSelector or machine"
// +kubebuilder:validation:XValidation:rule="has(self.storage) || has(self.storageRef) || has(self.storageSelector)",message="a backup goes to a storage: set storage, storageRef or storageSelector"
// +kubebuilder:validation:XValidation:rule="(has(self.mode) ? self.mode : 'snapshot') == (has(oldSelf.mode) ? oldSelf.mode : 'snapshot')",message="mode cannot change"
// +kubebuilder:validation:XValidation:rule="(has(self.compression) ? self.compression : 'zstd') == (has(oldSelf.compression) ? oldSelf.compression : 'zstd')",message="compression cannot change"
// +kubebuilder:validation:XValidation:rule="!(has(self.protected) && self.protected && has(self.removalPolicy) && self.removalPolicy == 'Delete')",message="a protected backup is not removed: set protected to false, or removalPolicy to Retain"
type BackupParameters struct {
	// Machine is the name of the Machine (of the same namespace, where there is
	// one) whose VM is backed up; up to 253 characters. The backup is made once the
	// Machine has its VM. Cannot change.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="machine cannot change"
	Machine *string `json:"machine,omitempty"`

	// MachineRef references the Machine; its name is put into machine.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// MachineSelector selects the Machine by its labels; its name is put into
	// machine and stays there.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`

	// Storage that the backup goes to, by its name in Proxmox VE, 2 to 100
	// characters. It has backup among its content types and is on the node of the
	// VM. A storage of one node is lost with that node. Cannot change. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storage cannot change"
	Storage string `json:"storage,omitempty"`

	// StorageRef references the Storage that the backup goes to; the name of what it
	// stands for is put into storage, and stays there.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// StorageSelector selects the Storage by its labels, as storageRef references it.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`

	// Mode of the backup of a VM that runs: snapshot copies while the guest works,
	// suspend suspends it first, stop shuts it down and starts it again while the
	// copy goes on, which is the most consistent. A VM that HA keeps running cannot
	// be backed up with stop. Default: snapshot. Cannot change. PVE: mode.
	// +optional
	// +kubebuilder:validation:Enum=snapshot;suspend;stop
	Mode *string `json:"mode,omitempty"`

	// Compression of the file: zstd, gzip, lzo or none. A backup server compresses by
	// itself. Default: zstd. Cannot change. PVE: compress.
	// +optional
	// +kubebuilder:validation:Enum=zstd;gzip;lzo;none
	Compression *string `json:"compression,omitempty"`

	// Notes of the backup, up to 900 characters; variables of templates such as
	// {{guestname}} are not for them. A line is added that names this resource's UID,
	// by which its backup is told from others. Default: empty. PVE: notes.
	// +optional
	// +kubebuilder:validation:MaxLength=900
	// +kubebuilder:validation:XValidation:rule="!self.contains('{{')",message="notes have no variables of templates: write the words themselves"
	Notes *string `json:"notes,omitempty"`

	// Protected keeps the backup from being removed, by retention or by hand, until it
	// is set to false. Left out, the backup is protected when it is made, since the
	// retention of a job or a storage removes what others have made too; it stays as
	// people set it in Proxmox VE, and is removed with its resource all the same if
	// removalPolicy is Delete. With false, retention may remove the backup. PVE:
	// protected.
	// +optional
	Protected *bool `json:"protected,omitempty"`

	// BandwidthLimit in KiB/s, 0 for none, up to 1073741824. It needs the privilege
	// Sys.Modify on /. Default: that of the node. A change has no effect on a backup
	// that is made. PVE: bwlimit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	BandwidthLimit *int64 `json:"bandwidthLimit,omitempty"`

	// RemovalPolicy says what becomes of the backup in Proxmox VE when this resource
	// is deleted: Retain keeps it, Delete removes it, if the management policies
	// allow that too. Default: Retain.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	RemovalPolicy *BackupRemovalPolicy `json:"removalPolicy,omitempty"`
}

// BackupRemovalPolicy says what becomes of a backup without its resource.
type BackupRemovalPolicy string

// The removal policies.
const (
	// BackupRetain keeps the backup.
	BackupRetain BackupRemovalPolicy = "Retain"
	// BackupDelete removes the backup.
	BackupDelete BackupRemovalPolicy = "Delete"
)

// BackupState is how far a backup is.
type BackupState string

// The states of backups.
const (
	// BackupPending means that the backup is not begun yet.
	BackupPending BackupState = "Pending"
	// BackupRunning means that a task makes the backup.
	BackupRunning BackupState = "Running"
	// BackupComplete means that the backup is there.
	BackupComplete BackupState = "Complete"
	// BackupFailed means that the latest attempt has failed.
	BackupFailed BackupState = "Failed"
	// BackupGone means that the backup was there and is not any more.
	BackupGone BackupState = "Gone"
)

// BackupObservation is what is seen of a backup.
type BackupObservation struct {
	// Volume of the backup, such as nas:backup/vzdump-qemu-100-….vma.zst. It is the
	// external name too.
	// +optional
	Volume string `json:"volume,omitempty"`

	// State of the backup: Pending, Running, Complete, Failed or Gone.
	// +optional
	State BackupState `json:"state,omitempty"`

	// Cluster in which the backup is, by its name in Proxmox VE.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// VMID that the VM had.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// VMUUID is the UUID of the VM (SMBIOS) that was backed up.
	// +optional
	VMUUID string `json:"vmUUID,omitempty"`

	// Node that sees the backup: the one that has made it, or another one with a
	// shared storage.
	// +optional
	Node string `json:"node,omitempty"`

	// Time at which the backup was begun, by the clock of the node: the moment of
	// its content.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// Size of the backup in bytes.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Format of the backup, such as vma.zst, or pbs-vm on a backup server.
	// +optional
	Format string `json:"format,omitempty"`

	// Notes of the backup as Proxmox VE lists them: of a file only the first line.
	// +optional
	Notes string `json:"notes,omitempty"`

	// Protected is true if Proxmox VE does not let the backup be removed.
	// +optional
	Protected bool `json:"protected,omitempty"`

	// Verified is whether the latest verification by the backup server has
	// succeeded. It is left out if there was none.
	// +optional
	Verified *bool `json:"verified,omitempty"`

	// Consistency of the content of the disks: Offline if the VM was off or shut down
	// for it, FileSystem if its guest agent had frozen its file systems, Crash if they
	// are as after a power failure, Unknown if Proxmox VE does not tell, as of a
	// backup that was adopted.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`

	// Log has the last lines of the log of the latest attempt that has failed.
	// +optional
	// +listType=atomic
	Log []string `json:"log,omitempty"`

	// Annotations of this resource that the provider relies on, as it found them
	// last. Those that somebody takes away are put back from here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Difference between the spec and what is in Proxmox VE: what the next update
	// does, or with managementPolicies ["Observe"] what it would do.
	// +optional
	// +listType=atomic
	Difference []OptionDifference `json:"difference,omitempty"`
}
