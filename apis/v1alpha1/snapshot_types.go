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
// disks, and of its memory if that is asked for.
//
// +proxmox:kind=Snapshot,shortName=psnap
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid"
// +kubebuilder:printcolumn:name="SNAPSHOT",type="string",JSONPath=".status.atProvider.name"
// +kubebuilder:printcolumn:name="TAKEN",type="date",JSONPath=".status.atProvider.time"
// +kubebuilder:printcolumn:name="CURRENT",type="boolean",JSONPath=".status.atProvider.current"
// +kubebuilder:printcolumn:name="PARENT",type="string",JSONPath=".status.atProvider.parent",priority=1
// +kubebuilder:printcolumn:name="CONSISTENCY",type="string",JSONPath=".status.atProvider.consistency",priority=1
// +kubebuilder:printcolumn:name="MEMORY",type="boolean",JSONPath=".status.atProvider.includesMemory",priority=1

// SnapshotParameters describe a snapshot, which is taken once: one that was removed in
// Proxmox VE is not taken again, for that would be another moment.
//
// +kubebuilder:validation:XValidation:rule="has(self.vmid) != (has(self.machine) || has(self.machineRef) || has(self.machineSelector))",message="a snapshot is of one VM: set machineRef, machineSelector or machine, or else vmid"
// +kubebuilder:validation:XValidation:rule="has(self.vmid) == (has(self.allowUnmanaged) && self.allowUnmanaged)",message="vmid is for a VM that no Machine manages: set allowUnmanaged to true with it, and only with it"
// +kubebuilder:validation:XValidation:rule="has(self.vmid) == has(oldSelf.vmid)",message="vmid can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name)",message="name can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="(has(self.includeMemory) && self.includeMemory) == (has(oldSelf.includeMemory) && oldSelf.includeMemory)",message="includeMemory cannot change"
type SnapshotParameters struct {
	// Machine is the name of the Machine (of the same namespace, where there is
	// one) whose VM the snapshot is of; up to 253 characters. The snapshot is taken
	// once the Machine has its VM. Cannot change.
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

	// VMID of a VM that no Machine manages, 100 to 999999999. It needs
	// allowUnmanaged. Cannot change. PVE: vmid.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="vmid cannot change"
	VMID *int32 `json:"vmid,omitempty"`

	// AllowUnmanaged is the consent to take a snapshot of a VM that no Machine
	// manages: true together with vmid. Default: false.
	// +optional
	AllowUnmanaged *bool `json:"allowUnmanaged,omitempty"`

	// Name of the snapshot in Proxmox VE: 2 to 40 letters, digits, hyphens and
	// underscores, the first a letter; not current or pending. Default: the name of
	// this resource if it is such a name. Otherwise it is that name with hyphens in
	// place of dots, with s- before it if it does not begin with a letter, cut to 31
	// characters, and with a hyphen and the first eight digits of the SHA-256 of the
	// resource's name at its end. The name is kept as the annotation
	// crossplane.io/external-name. Cannot change. PVE: snapname.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]+$`
	// +kubebuilder:validation:XValidation:rule="self != 'current' && self.lowerAscii() != 'pending'",message="current and pending are names that Proxmox VE reserves"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name cannot change"
	Name *string `json:"name,omitempty"`

	// Description of the snapshot, up to 4000 characters. Empty removes it; one that
	// is left out stays as it is in Proxmox VE. PVE: description.
	// +optional
	// +kubebuilder:validation:MaxLength=4000
	Description *string `json:"description,omitempty"`

	// IncludeMemory saves the memory of the VM, which has to run then. It takes up to
	// twice the VM's memory and 500 MiB on the storage for states. Default: false.
	// Cannot change. PVE: vmstate.
	// +optional
	IncludeMemory *bool `json:"includeMemory,omitempty"`

	// RemovalPolicy says what becomes of the snapshot in Proxmox VE when this
	// resource is deleted: Delete removes it, Retain keeps it. While a resource with
	// Retain exists, the VM of its Machine is not removed, because the snapshot
	// would go with it. Default: Delete.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	RemovalPolicy *SnapshotRemovalPolicy `json:"removalPolicy,omitempty"`
}

// SnapshotRemovalPolicy says what becomes of a snapshot without its resource.
type SnapshotRemovalPolicy string

// The removal policies.
const (
	// SnapshotDelete removes the snapshot.
	SnapshotDelete SnapshotRemovalPolicy = "Delete"
	// SnapshotRetain keeps the snapshot.
	SnapshotRetain SnapshotRemovalPolicy = "Retain"
)

// Consistency is how whole the content of the disks is that a copy of a virtual machine has.
type Consistency string

// The levels of consistency.
const (
	// ConsistencyMemory means that the memory was saved at the same moment.
	ConsistencyMemory Consistency = "Memory"
	// ConsistencyOffline means that the virtual machine was off, or was shut down for it.
	ConsistencyOffline Consistency = "Offline"
	// ConsistencyFileSystem means that the guest agent had frozen the file systems.
	ConsistencyFileSystem Consistency = "FileSystem"
	// ConsistencyCrash means that the disks are as after a power failure.
	ConsistencyCrash Consistency = "Crash"
	// ConsistencyUnknown means that Proxmox VE does not tell.
	ConsistencyUnknown Consistency = "Unknown"
)

// SnapshotObservation is what is seen of a snapshot.
type SnapshotObservation struct {
	// Name of the snapshot in Proxmox VE.
	// +optional
	Name string `json:"name,omitempty"`

	// Cluster in which the VM is, by its name in Proxmox VE.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// VMID of the VM.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Node that the VM is on.
	// +optional
	Node string `json:"node,omitempty"`

	// VMUUID is the UUID of the VM (SMBIOS), which proves that it is the one that the
	// snapshot was taken of.
	// +optional
	VMUUID string `json:"vmUUID,omitempty"`

	// RecordSignature is set where the provider configuration has tenants: by it the provider
	// knows that it has recorded VMID and UUID itself, for this resource and this provider
	// configuration, so that a snapshot may be removed of a VM which is not where the tenant's VMs
	// are by now.
	// +optional
	RecordSignature string `json:"recordSignature,omitempty"`

	// Time at which the snapshot was taken, by the clock of the node.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// Parent is the snapshot that the VM was based on when this one was taken. None
	// means that there was no snapshot before it.
	// +optional
	Parent string `json:"parent,omitempty"`

	// Description of the snapshot.
	// +optional
	Description string `json:"description,omitempty"`

	// IncludesMemory is true if the memory of the VM was saved.
	// +optional
	IncludesMemory bool `json:"includesMemory,omitempty"`

	// Consistency of the content of the disks: Memory if the memory was saved with
	// them, Offline if the VM was off, FileSystem if its guest agent had frozen its
	// file systems, Crash if they are as after a power failure, Unknown if Proxmox VE
	// does not tell, as of a snapshot that was adopted.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`

	// Current is true if the present state of the VM is based on this snapshot.
	// +optional
	Current bool `json:"current,omitempty"`

	// ReadyToUse is true if the snapshot is there, whole.
	// +optional
	ReadyToUse bool `json:"readyToUse,omitempty"`

	// Size in bytes of the volume that has the memory. Proxmox VE does not report
	// how much a snapshot of disks takes.
	// +optional
	Size *int64 `json:"size,omitempty"`

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
