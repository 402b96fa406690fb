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

// A Volume is a disk that outlives the virtual machine which has it: a Machine has it while it
// lists the Volume in disks[].volumeRef, and otherwise it is in a VM of its own that is never
// started, its stub VM.
//
// +proxmox:kind=Volume,shortName=pvevol,forProvider=optional
// +kubebuilder:printcolumn:name="BOUND",type="string",JSONPath=".status.conditions[?(@.type=='Bound')].status"
// +kubebuilder:printcolumn:name="MACHINE",type="string",JSONPath=".status.atProvider.machine"
// +kubebuilder:printcolumn:name="SIZE",type="string",JSONPath=".status.atProvider.size"
// +kubebuilder:printcolumn:name="VOLUME",type="string",JSONPath=".status.atProvider.volume"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".status.atProvider.node",priority=1
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid",priority=1

// VolumeParameters describe a disk. It is made once: one that is gone from Proxmox VE is not made
// again, because its data would be lost without a word.
//
// +kubebuilder:validation:XValidation:rule="[has(self.format), has(oldSelf.format)].filter(h, h).size() != 2 || self.format == oldSelf.format",message="format cannot change"
// +kubebuilder:validation:XValidation:rule="[has(self.node), has(oldSelf.node)].filter(h, h).size() != 2 || self.node == oldSelf.node",message="node cannot change: it says where the volume is made"
// +kubebuilder:validation:XValidation:rule="[has(self.storage), has(oldSelf.storage), has(self.storageRef), has(oldSelf.storageRef)].exists(h, !h) || self.storage != oldSelf.storage || self.storageRef.name == oldSelf.storageRef.name",message="storageRef was resolved into storage, which stays: change storage, by which the disk is moved"
type VolumeParameters struct {
	// Size of the disk: a number with K, M, G or T (or Ki, Mi, Gi, Ti). Units are binary, as in
	// PVE: 20G and 20Gi are both 20 GiB. 1M to 100T. The disk grows when size does and never
	// shrinks: a smaller size is refused. Required for a disk that is made; one that is adopted
	// keeps its size without it.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(K|M|G|T)i?$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]*(K|M|G|T)i?$') && quantity(self.endsWith('i') ? self : self + 'i').compareTo(quantity('1Mi')) >= 0 && quantity(self.endsWith('i') ? self : self + 'i').compareTo(quantity('100Ti')) <= 0",messageExpression="'size ' + self + ' is out of range: a number with K, M, G or T, 1M to 100T'"
	Size *string `json:"size,omitempty"`

	// Storage that holds the disk, with content type images. Default: the provider config's
	// default storage; of a disk that is there, where it is. The disk is moved when it changes,
	// which copies it, in a VM that runs too, and removes the source. PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage that holds the disk; the name of what it
	// stands for is put into storage, and stays there. The disk is made once the
	// Storage is there.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// StorageSelector selects the Storage by its labels, as storageRef references it.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`

	// Node that the disk is made on, which on local storage is where it stays, and with it the
	// Machine that lists it. Default: the provider config's default node if that has the
	// storage, otherwise the first node, by name, that is online and has it. Cannot change.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Node *string `json:"node,omitempty"`

	// Format of the disk on file storage: raw, qcow2 or vmdk. Default: that of the storage.
	// Cannot change. PVE: format=.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// ReclaimPolicy says what becomes of the disk when this resource is deleted, which waits until
	// no Machine lists it: Delete destroys it with its data, Retain keeps it in its stub VM. Default:
	// Delete, and Retain for a disk that was adopted.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	ReclaimPolicy *VolumeReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// RecoverLost consents to take a disk for this Volume's again that was lost and is there under its
	// name, or of which it is not certain that it is the one by its name (reason Unproven): the checksum
	// in status.atProvider.found. It is of just that disk in just that VM, after just that loss: another
	// disk, and another loss, have another checksum.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^(sha256:[0-9a-f]{64})?$`
	RecoverLost *string `json:"recoverLost,omitempty"`
}

// VolumeReclaimPolicy says what becomes of a disk without its resource.
type VolumeReclaimPolicy string

// The reclaim policies.
const (
	// VolumeDelete destroys the disk.
	VolumeDelete VolumeReclaimPolicy = "Delete"
	// VolumeRetain keeps the disk.
	VolumeRetain VolumeReclaimPolicy = "Retain"
)

// VolumeObservation is what is seen of a disk.
type VolumeObservation struct {
	// Volume ID of the disk in Proxmox VE, such as local-lvm:vm-10001-disk-0. It changes each time
	// that another VM gets the disk, because Proxmox VE names a disk after the VM which has it.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Cluster in which the disk is, by its name in Proxmox VE.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// Size of the disk, as Proxmox VE writes it. It is not known while the disk is an unused one.
	// +optional
	Size string `json:"size,omitempty"`

	// Node that the VM is on which has the disk.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the VM that has the disk: that of a Machine, or the stub VM.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Device that the disk is of this VM, such as scsi1, or unused0 if it is not attached.
	// +optional
	Device string `json:"device,omitempty"`

	// Machine that the disk is kept for: one that lists it. Another one gets it when this one
	// does not list it any more.
	// +optional
	Machine string `json:"machine,omitempty"`

	// Waiting are other Machines that list the disk.
	// +optional
	// +listType=set
	Waiting []string `json:"waiting,omitempty"`

	// StubVMID is the VMID of the stub VM, which has the disk while no Machine has it.
	// +optional
	StubVMID *int32 `json:"stubVMID,omitempty"`

	// Found is a disk that is there under the name of the one that was lost, or of which it is not certain
	// which one it is.
	// +optional
	Found *VolumeFound `json:"found,omitempty"`

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

// VolumeFound is a disk that has the name of one that was lost or is not proven. Proxmox VE gives a name that is free
// to the next disk of the VM, so that the name alone does not prove that it is the same.
type VolumeFound struct {
	// Checksum of this disk in this VM after this loss, to consent to by recoverLost.
	Checksum string `json:"checksum"`

	// VMID of the VM that has the disk.
	VMID int32 `json:"vmid"`

	// Device that the disk is of this VM, such as scsi1, or unused0 if it is not attached.
	Device string `json:"device"`

	// SameVM is true if the VM is the one that had the disk when it was seen last, by its UUID and the
	// time of its creation.
	SameVM bool `json:"sameVM"`

	// Size of the disk in bytes, as its storage lists it.
	Size int64 `json:"size"`
}
