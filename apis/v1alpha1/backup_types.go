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

// A Backup is a copy of the configuration and disks of a virtual machine at one
// moment, on a storage for backups. It outlives the virtual machine.
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

// BackupParameters describe a backup. A backup is made once. If somebody removes it in
// Proxmox VE, it is not made again, because it would have the content of another
// moment.
//
// +kubebuilder:validation:XValidation:rule="has(self.machine) || has(self.machineRef) || has(self.machineSelector)",message="a backup is of one Machine: set machineRef, machineSelector or machine"
// +kubebuilder:validation:XValidation:rule="has(self.storage) || has(self.storageRef) || has(self.storageSelector)",message="a backup goes to a storage: set storage, storageRef or storageSelector"
// +kubebuilder:validation:XValidation:rule="(has(self.mode) ? self.mode : 'snapshot') == (has(oldSelf.mode) ? oldSelf.mode : 'snapshot')",message="mode cannot change"
// +kubebuilder:validation:XValidation:rule="(has(self.compression) ? self.compression : 'zstd') == (has(oldSelf.compression) ? oldSelf.compression : 'zstd')",message="compression cannot change"
// +kubebuilder:validation:XValidation:rule="!(has(self.protected) && self.protected && has(self.removalPolicy) && self.removalPolicy == 'Delete')",message="a protected backup is not removed: set protected to false, or removalPolicy to Retain"
type BackupParameters struct {
	// Machine is the name of the Machine whose VM is backed up, in the same namespace if
	// this resource has one; up to 253 characters. The backup is made once the Machine
	// has its VM. Cannot change.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="machine cannot change"
	Machine *string `json:"machine,omitempty"`

	// MachineRef references the Machine; the provider sets machine to its name.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// MachineSelector selects the Machine by its labels. The provider sets machine to its
	// name, which then stays.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`

	// Storage that the backup goes to, by its name in Proxmox VE, 2 to 100 characters.
	// Its content types must include backup, and it must be available on the node of the
	// VM. If the storage is local to a node, you lose the backup together with that node.
	// Cannot change. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storage cannot change"
	Storage string `json:"storage,omitempty"`

	// StorageRef references the Storage that the backup goes to. The provider sets
	// storage to the name in Proxmox VE, which then stays.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// StorageSelector selects the Storage by its labels; otherwise it works like
	// storageRef.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`

	// Mode of the backup of a running VM: snapshot copies while the guest works. suspend
	// suspends the guest first. stop shuts the guest down and starts it again while the
	// copy continues, which is the most consistent mode. A VM that HA keeps running
	// cannot be backed up with stop. Default: snapshot. Cannot change. PVE: mode.
	// +optional
	// +kubebuilder:validation:Enum=snapshot;suspend;stop
	Mode *string `json:"mode,omitempty"`

	// Compression of the file: zstd, gzip, lzo or none. A Proxmox Backup Server always
	// does its own compression. Default: zstd. Cannot change. PVE: compress.
	// +optional
	// +kubebuilder:validation:Enum=zstd;gzip;lzo;none
	Compression *string `json:"compression,omitempty"`

	// Notes of the backup, up to 900 characters. Template variables such as {{guestname}}
	// are refused. The provider adds a line with the UID of this resource, which
	// identifies its backup. Default: empty. PVE: notes.
	// +optional
	// +kubebuilder:validation:MaxLength=900
	// +kubebuilder:validation:XValidation:rule="!self.contains('{{')",message="notes have no variables of templates: write the words themselves"
	Notes *string `json:"notes,omitempty"`

	// Protected prevents the removal of the backup, by retention or by hand, until you
	// set it to false. If it is not set, the backup is protected when it is made, because
	// the retention of a job or a storage also removes backups that others have made.
	// After that, the protection stays as people set it in Proxmox VE; with removalPolicy
	// Delete, the backup is removed together with its resource nevertheless. If it is
	// false, retention can remove the backup. PVE: protected.
	// +optional
	Protected *bool `json:"protected,omitempty"`

	// BandwidthLimit in KiB/s, 0 for none, up to 1073741824. It needs the privilege
	// Sys.Modify on /. Default: the limit of the node. A change has no effect on a backup
	// that exists. PVE: bwlimit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	BandwidthLimit *int64 `json:"bandwidthLimit,omitempty"`

	// RemovalPolicy determines what happens to the backup in Proxmox VE when this
	// resource is deleted: Retain keeps it, Delete removes it if the management policies
	// also allow that. Default: Retain.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	RemovalPolicy *BackupRemovalPolicy `json:"removalPolicy,omitempty"`
}

// BackupRemovalPolicy determines what happens to a backup when its resource is
// deleted.
type BackupRemovalPolicy string

// The removal policies.
const (
	// BackupRetain keeps the backup.
	BackupRetain BackupRemovalPolicy = "Retain"
	// BackupDelete removes the backup.
	BackupDelete BackupRemovalPolicy = "Delete"
)

// BackupState is the state of a backup.
type BackupState string

// The states of backups.
const (
	// BackupPending means that the backup has not begun yet.
	BackupPending BackupState = "Pending"
	// BackupRunning means that a task is making the backup.
	BackupRunning BackupState = "Running"
	// BackupComplete means that the backup exists.
	BackupComplete BackupState = "Complete"
	// BackupFailed means that the latest attempt failed.
	BackupFailed BackupState = "Failed"
	// BackupGone means that the backup existed and no longer does.
	BackupGone BackupState = "Gone"
)

// BackupObservation is the observed state of a backup.
type BackupObservation struct {
	// Volume of the backup, such as nas:backup/vzdump-qemu-100-….vma.zst. It is also the
	// external name.
	// +optional
	Volume string `json:"volume,omitempty"`

	// State of the backup: Pending, Running, Complete, Failed or Gone.
	// +optional
	State BackupState `json:"state,omitempty"`

	// Cluster that has the backup, by its name in Proxmox VE.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// VMID that the VM had.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// VMUUID is the UUID (SMBIOS) of the VM that was backed up.
	// +optional
	VMUUID string `json:"vmUUID,omitempty"`

	// Node that has access to the backup: the node that made it, or another node if the
	// storage is shared.
	// +optional
	Node string `json:"node,omitempty"`

	// Time at which the backup began, by the clock of the node: the moment of its
	// content.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// Size of the backup in bytes.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Format of the backup, such as vma.zst, or pbs-vm on a Proxmox Backup Server.
	// +optional
	Format string `json:"format,omitempty"`

	// Notes of the backup as Proxmox VE lists them: only the first line for a file.
	// +optional
	Notes string `json:"notes,omitempty"`

	// Protected is true if Proxmox VE refuses to remove the backup.
	// +optional
	Protected bool `json:"protected,omitempty"`

	// Verified is true if the latest verification by the Proxmox Backup Server succeeded,
	// and not set if there was none.
	// +optional
	Verified *bool `json:"verified,omitempty"`

	// Consistency of the disks: Offline if the VM was off or was shut down for the
	// backup, FileSystem if the guest agent froze the file systems, Crash if the disks
	// are as after a power failure, Unknown if Proxmox VE does not report it, for example
	// for an adopted backup.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`

	// Log has the last lines of the log of the latest failed attempt.
	// +optional
	// +listType=atomic
	Log []string `json:"log,omitempty"`

	// Annotations of this resource that the provider relies on, as it last found them. If
	// somebody removes one, the provider restores it from here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Difference between the spec and Proxmox VE: what the next update changes, or would
	// change with managementPolicies ["Observe"].
	// +optional
	// +listType=atomic
	Difference []OptionDifference `json:"difference,omitempty"`
}
