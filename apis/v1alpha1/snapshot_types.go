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

// A Snapshot is the state of a virtual machine at one moment: of its configuration and
// disks, and of its memory if you request that.
//
// +proxmox:kind=Snapshot,shortName=psnap
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid"
// +kubebuilder:printcolumn:name="SNAPSHOT",type="string",JSONPath=".status.atProvider.name"
// +kubebuilder:printcolumn:name="TAKEN",type="date",JSONPath=".status.atProvider.time"
// +kubebuilder:printcolumn:name="CURRENT",type="boolean",JSONPath=".status.atProvider.current"
// +kubebuilder:printcolumn:name="PARENT",type="string",JSONPath=".status.atProvider.parent",priority=1
// +kubebuilder:printcolumn:name="CONSISTENCY",type="string",JSONPath=".status.atProvider.consistency",priority=1
// +kubebuilder:printcolumn:name="MEMORY",type="boolean",JSONPath=".status.atProvider.includesMemory",priority=1

// SnapshotParameters describe a snapshot. A snapshot is taken once. If somebody
// removes it in Proxmox VE, it is not taken again, because it would have the content
// of another moment.
//
// +kubebuilder:validation:XValidation:rule="has(self.vmid) != (has(self.machine) || has(self.machineRef) || has(self.machineSelector))",message="a snapshot is of one VM: set machineRef, machineSelector or machine, or else vmid"
// +kubebuilder:validation:XValidation:rule="has(self.vmid) == (has(self.allowUnmanaged) && self.allowUnmanaged)",message="vmid is for a VM that no Machine manages: set allowUnmanaged to true with it, and only with it"
// +kubebuilder:validation:XValidation:rule="has(self.vmid) == has(oldSelf.vmid)",message="vmid can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name)",message="name can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="(has(self.includeMemory) && self.includeMemory) == (has(oldSelf.includeMemory) && oldSelf.includeMemory)",message="includeMemory cannot change"
type SnapshotParameters struct {
	// Machine is the name of the Machine whose VM the snapshot is taken of, in the same
	// namespace if this resource has one; up to 253 characters. The snapshot is taken
	// once the Machine has its VM. Cannot change.
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

	// VMID of a VM that no Machine manages, 100 to 999999999. It needs
	// allowUnmanaged. Cannot change. PVE: vmid.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="vmid cannot change"
	VMID *int32 `json:"vmid,omitempty"`

	// AllowUnmanaged is your consent to take a snapshot of a VM that no Machine manages:
	// set it to true together with vmid. Default: false.
	// +optional
	AllowUnmanaged *bool `json:"allowUnmanaged,omitempty"`

	// Name of the snapshot in Proxmox VE: 2 to 40 letters, digits, hyphens and
	// underscores, the first a letter; not current or pending. Default: the name of this
	// resource if it is a valid snapshot name. Otherwise the provider derives it from
	// that name: it replaces dots by hyphens, adds the prefix s- if the first character
	// is not a letter, cuts the result to 31 characters, and appends a hyphen and the
	// first eight digits of the SHA-256 of the resource's name. The annotation
	// crossplane.io/external-name keeps the name. Cannot change. PVE: snapname.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]+$`
	// +kubebuilder:validation:XValidation:rule="self != 'current' && self.lowerAscii() != 'pending'",message="current and pending are names that Proxmox VE reserves"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name cannot change"
	Name *string `json:"name,omitempty"`

	// Description of the snapshot, up to 4000 characters. Empty removes it. If it is not
	// set, the description in Proxmox VE does not change. PVE: description.
	// +optional
	// +kubebuilder:validation:MaxLength=4000
	Description *string `json:"description,omitempty"`

	// IncludeMemory saves the memory of the VM, which must be running. It takes up to
	// twice the VM's memory and 500 MiB on the storage for states. Default: false. Cannot
	// change. PVE: vmstate.
	// +optional
	IncludeMemory *bool `json:"includeMemory,omitempty"`

	// RemovalPolicy determines what happens to the snapshot in Proxmox VE when this
	// resource is deleted: Delete removes it, Retain keeps it. While a resource with
	// Retain exists, the VM of its Machine is not removed, because the snapshot would be
	// removed with it. Default: Delete.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	RemovalPolicy *SnapshotRemovalPolicy `json:"removalPolicy,omitempty"`
}

// SnapshotRemovalPolicy determines what happens to a snapshot when its resource is
// deleted.
type SnapshotRemovalPolicy string

// The removal policies.
const (
	// SnapshotDelete removes the snapshot.
	SnapshotDelete SnapshotRemovalPolicy = "Delete"
	// SnapshotRetain keeps the snapshot.
	SnapshotRetain SnapshotRemovalPolicy = "Retain"
)

// Consistency is the consistency of the disks in a copy of a virtual machine.
type Consistency string

// The levels of consistency.
const (
	// ConsistencyMemory means that the memory was saved at the same moment.
	ConsistencyMemory Consistency = "Memory"
	// ConsistencyOffline means that the virtual machine was off, or was shut down for the
	// copy.
	ConsistencyOffline Consistency = "Offline"
	// ConsistencyFileSystem means that the guest agent froze the file systems.
	ConsistencyFileSystem Consistency = "FileSystem"
	// ConsistencyCrash means that the disks are as after a power failure.
	ConsistencyCrash Consistency = "Crash"
	// ConsistencyUnknown means that Proxmox VE does not report it.
	ConsistencyUnknown Consistency = "Unknown"
)

// SnapshotObservation is the observed state of a snapshot.
type SnapshotObservation struct {
	// Name of the snapshot in Proxmox VE.
	// +optional
	Name string `json:"name,omitempty"`

	// Cluster that has the VM, by its name in Proxmox VE.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// VMID of the VM.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Node that the VM is on.
	// +optional
	Node string `json:"node,omitempty"`

	// VMUUID is the UUID of the VM (SMBIOS), which proves that it is the VM that the
	// snapshot was taken of.
	// +optional
	VMUUID string `json:"vmUUID,omitempty"`

	// RecordSignature is set if the provider configuration has tenants. It proves to the
	// provider that it has recorded VMID and UUID itself, for this resource and this
	// provider configuration. So it can remove a snapshot of a VM that is no longer where
	// the tenant's VMs must be.
	// +optional
	RecordSignature string `json:"recordSignature,omitempty"`

	// Time at which the snapshot was taken, by the clock of the node.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// Parent is the snapshot that the VM was based on when this one was taken. If it is
	// not set, there was no snapshot before this one.
	// +optional
	Parent string `json:"parent,omitempty"`

	// Description of the snapshot.
	// +optional
	Description string `json:"description,omitempty"`

	// IncludesMemory is true if the memory of the VM was saved.
	// +optional
	IncludesMemory bool `json:"includesMemory,omitempty"`

	// Consistency of the disks: Memory if the memory was saved with them, Offline if the
	// VM was off, FileSystem if the guest agent froze the file systems, Crash if the
	// disks are as after a power failure, Unknown if Proxmox VE does not report it, for
	// example for an adopted snapshot.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`

	// Current is true if the current state of the VM is based on this snapshot.
	// +optional
	Current bool `json:"current,omitempty"`

	// ReadyToUse is true if the snapshot exists and is complete.
	// +optional
	ReadyToUse bool `json:"readyToUse,omitempty"`

	// Size in bytes of the volume that holds the memory. Proxmox VE does not report the
	// size of a snapshot of disks.
	// +optional
	Size *int64 `json:"size,omitempty"`

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
