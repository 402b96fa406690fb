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

// A Volume is a disk that outlives the virtual machine to which it is attached. A
// Machine has it while it lists the Volume in disks[].volumeRef. Otherwise the disk is
// in its stub VM, a separate VM that is never started.
//
// +proxmox:kind=Volume,shortName=pvevol,forProvider=optional
// +kubebuilder:printcolumn:name="BOUND",type="string",JSONPath=".status.conditions[?(@.type=='Bound')].status"
// +kubebuilder:printcolumn:name="MACHINE",type="string",JSONPath=".status.atProvider.machine"
// +kubebuilder:printcolumn:name="SIZE",type="string",JSONPath=".status.atProvider.size"
// +kubebuilder:printcolumn:name="VOLUME",type="string",JSONPath=".status.atProvider.volume"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".status.atProvider.node",priority=1
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid",priority=1

// VolumeParameters describe a disk. A disk is created once. If it disappears from
// Proxmox VE, it is not created again, because its data would be lost without notice.
//
// +kubebuilder:validation:XValidation:rule="[has(self.format), has(oldSelf.format)].filter(h, h).size() != 2 || self.format == oldSelf.format",message="format cannot change"
// +kubebuilder:validation:XValidation:rule="[has(self.node), has(oldSelf.node)].filter(h, h).size() != 2 || self.node == oldSelf.node",message="node cannot change: it says where the volume is made"
// +kubebuilder:validation:XValidation:rule="[has(self.storage), has(oldSelf.storage), has(self.storageRef), has(oldSelf.storageRef)].exists(h, !h) || self.storage != oldSelf.storage || self.storageRef.name == oldSelf.storageRef.name",message="storageRef was resolved into storage, which stays: change storage, by which the disk is moved"
type VolumeParameters struct {
	// Size of the disk: a number with K, M, G or T (or Ki, Mi, Gi, Ti). Units are binary,
	// as in PVE: 20G and 20Gi are both 20 GiB. 1M to 100T. When you increase size, the
	// disk grows. It never shrinks: a smaller size is refused. Required for a new disk;
	// without it, an adopted disk keeps its size.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(K|M|G|T)i?$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]*(K|M|G|T)i?$') && quantity(self.endsWith('i') ? self : self + 'i').compareTo(quantity('1Mi')) >= 0 && quantity(self.endsWith('i') ? self : self + 'i').compareTo(quantity('100Ti')) <= 0",messageExpression="'size ' + self + ' is out of range: a number with K, M, G or T, 1M to 100T'"
	Size *string `json:"size,omitempty"`

	// Storage that holds the disk, with content type images. Default: the provider
	// config's default storage; for an existing disk, its current storage. A change moves
	// the disk: Proxmox VE copies it, even while its VM runs, and removes the source.
	// PVE: storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage that holds the disk. The provider sets storage to
	// the name in Proxmox VE, which then stays. The disk is created once the Storage
	// exists.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// StorageSelector selects the Storage by its labels; otherwise it works like
	// storageRef.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`

	// Node on which the disk is created. On local storage, the disk stays there, and so
	// does the Machine that lists it. Default: the provider config's default node if it
	// has the storage, otherwise the first node, by name, that is online and has it.
	// Cannot change.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Node *string `json:"node,omitempty"`

	// Format of the disk on file storage: raw, qcow2 or vmdk. Default: the default format
	// of the storage. Cannot change. PVE: format=.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// ReclaimPolicy determines what happens to the disk when this resource is deleted,
	// which waits until no Machine lists it: Delete destroys the disk with its data,
	// Retain keeps it in its stub VM. Default: Delete, and Retain for an adopted disk.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	ReclaimPolicy *VolumeReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// RecoverLost is your consent to use the disk in status.atProvider.found as the disk
	// of this Volume, after the disk was lost, or when its name does not prove which disk
	// it is (reason Unproven). Set it to the checksum in status.atProvider.found. The
	// checksum is valid only for that disk, in that VM, after that loss.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^(sha256:[0-9a-f]{64})?$`
	RecoverLost *string `json:"recoverLost,omitempty"`
}

// VolumeReclaimPolicy determines what happens to a disk when its resource is deleted.
type VolumeReclaimPolicy string

// The reclaim policies.
const (
	// VolumeDelete destroys the disk.
	VolumeDelete VolumeReclaimPolicy = "Delete"
	// VolumeRetain keeps the disk.
	VolumeRetain VolumeReclaimPolicy = "Retain"
)

// VolumeObservation is the observed state of a disk.
type VolumeObservation struct {
	// Volume ID of the disk in Proxmox VE, such as local-lvm:vm-10001-disk-0. It changes
	// each time that another VM gets the disk, because Proxmox VE names a disk after its
	// VM.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Cluster that has the disk, by its name in Proxmox VE.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// Size of the disk, as Proxmox VE writes it. It is not known while the disk is an
	// unused disk.
	// +optional
	Size string `json:"size,omitempty"`

	// Node of the VM that has the disk.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the VM that has the disk: the VM of a Machine, or the stub VM.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Device of the disk in that VM, such as scsi1, or unused0 if it is not attached.
	// +optional
	Device string `json:"device,omitempty"`

	// Machine for which the disk is reserved: one that lists it. Another Machine gets the
	// disk when this Machine no longer lists it.
	// +optional
	Machine string `json:"machine,omitempty"`

	// Waiting are other Machines that list the disk.
	// +optional
	// +listType=set
	Waiting []string `json:"waiting,omitempty"`

	// StubVMID is the VMID of the stub VM, which has the disk while no Machine has it.
	// +optional
	StubVMID *int32 `json:"stubVMID,omitempty"`

	// Found is an existing disk that has the name of the lost disk, or whose identity is
	// not certain.
	// +optional
	Found *VolumeFound `json:"found,omitempty"`

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

// VolumeFound is a disk that has the name of a disk that was lost or is not proven.
// Proxmox VE gives a free name to the next disk of the VM, so the name alone does not
// prove that it is the same disk.
type VolumeFound struct {
	// Checksum of this disk in this VM after this loss, for recoverLost.
	Checksum string `json:"checksum"`

	// VMID of the VM that has the disk.
	VMID int32 `json:"vmid"`

	// Device of the disk in that VM, such as scsi1, or unused0 if it is not attached.
	Device string `json:"device"`

	// SameVM is true if the VM is the one that had the disk when the disk was last seen,
	// by its UUID and the time of its creation.
	SameVM bool `json:"sameVM"`

	// Size of the disk in bytes, as its storage lists it.
	Size int64 `json:"size"`
}
