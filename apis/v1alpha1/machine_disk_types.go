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

import "k8s.io/apimachinery/pkg/api/resource"

// MachineDisk is a disk of a VM. Options that are not set are not managed. If you
// remove an option, it gets the value that it has on a new VM without it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(self.device) || self.device.matches('^' + self.type + '[0-9]+$')",messageExpression="'type %s and device %s disagree'.format([self.type, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.readOnly) || (has(self.type) ? self.type in ['scsi', 'virtio'] : !has(self.device) || self.device.matches('^(scsi|virtio)'))",messageExpression="'readOnly needs type scsi or virtio, not ' + (has(self.type) ? self.type : self.device)"
// +kubebuilder:validation:XValidation:rule="!has(self.ioThread) || (has(self.type) ? self.type in ['scsi', 'virtio'] : !has(self.device) || self.device.matches('^(scsi|virtio)'))",messageExpression="'ioThread needs type scsi or virtio, not ' + (has(self.type) ? self.type : self.device)"
// +kubebuilder:validation:XValidation:rule="!has(self.ssd) || (has(self.type) ? self.type != 'virtio' : !has(self.device) || !self.device.startsWith('virtio'))",message="ssd needs type ide, sata or scsi, not virtio"
// +kubebuilder:validation:XValidation:rule="!(has(self.scsiBlock) || has(self.vendor) || has(self.product) || has(self.queues)) || (has(self.type) ? self.type == 'scsi' : !has(self.device) || self.device.startsWith('scsi'))",messageExpression="'scsiBlock, vendor, product and queues need type scsi, not ' + (has(self.type) ? self.type : self.device)"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || (has(self.type) ? self.type == 'ide' : !has(self.device) || self.device.startsWith('ide'))",messageExpression="'model needs type ide, not ' + (has(self.type) ? self.type : self.device)"
// +kubebuilder:validation:XValidation:rule="!has(self.wwn) || (has(self.type) ? self.type != 'virtio' : !has(self.device) || !self.device.startsWith('virtio'))",message="wwn needs type ide, sata or scsi, not virtio"
// +kubebuilder:validation:XValidation:rule="!has(self.device) || !has(oldSelf.device) || self.device == oldSelf.device",messageExpression="'the device of disk %s cannot change: it is %s, not %s'.format([self.name, oldSelf.device, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(oldSelf.type) || self.type == oldSelf.type",messageExpression="'the type of disk %s cannot change: it is %s, not %s'.format([self.name, oldSelf.type, self.type])"
// +kubebuilder:validation:XValidation:rule="!(has(self.volume) && size(self.volume) > 0 && has(self.importFrom))",messageExpression="'disk %s is either an existing volume or filled from an image: set volume or importFrom'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeRef) || !(has(self.size) || has(self.storage) || has(self.format) || has(self.importFrom) || has(self.volume) || has(self.removalPolicy))",messageExpression="'disk %s is a Volume, which has its own size, storage and format, and is handed back when it is taken off the list: leave out size, storage, format, importFrom, volume and removalPolicy'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="has(self.volumeRef) == has(oldSelf.volumeRef) && (!has(self.volumeRef) || self.volumeRef.name == oldSelf.volumeRef.name)",messageExpression="'volumeRef of disk %s cannot change: take the disk off the list, and add another one by another name'.format([self.name])"
type MachineDisk struct {
	// Name of the disk in this list, up to 63 characters. It identifies one disk of the
	// VM as long as it is listed, regardless of its position.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// Size of the disk: a number with K, M, G or T (or Ki, Mi, Gi, Ti). Units are binary,
	// as in PVE: 20G and 20Gi are both 20 GiB. 1M to 100T. When you increase size, the
	// disk grows. It never shrinks: a smaller size is refused. Required for a new disk;
	// for a disk of the source, the default is its current size.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(K|M|G|T)i?$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]*(K|M|G|T)i?$') && quantity(self.endsWith('i') ? self : self + 'i').compareTo(quantity('1Mi')) >= 0 && quantity(self.endsWith('i') ? self : self + 'i').compareTo(quantity('100Ti')) <= 0",messageExpression="'disk size ' + self + ' is out of range: a number with K, M, G or T, 1M to 100T'"
	Size *string `json:"size,omitempty"`

	// Storage that holds the disk. Default: the provider config's default storage; for a
	// disk of the source, its current storage. A change moves the disk, while the VM runs
	// if it is on. The source volume is deleted after the copy is complete; a volume of
	// another VM is therefore not moved. PVE: move_disk.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// Type is the bus of the disk: ide, sata, scsi or virtio. Default: scsi; for a disk
	// of the source, its current bus. Cannot change.
	// +optional
	// +kubebuilder:validation:Enum=ide;sata;scsi;virtio
	Type *string `json:"type,omitempty"`

	// Device in PVE of the disk, such as scsi0. To rename an entry, give the new entry
	// the device of the entry that you remove: it is the same disk, with its data.
	// Default: for the first disks of the list, the disks that the VM has from its source
	// or from its adoption, boot disk first; otherwise the lowest free device of its
	// type. Cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5]))$`
	Device *string `json:"device,omitempty"`

	// Format of the disk on file storage: raw, qcow2 or vmdk. Default: the default format
	// of the storage. A change converts the disk in the same way as a change of storage
	// moves it. Most storages that are not file storages support only raw: a disk that is
	// moved there becomes raw regardless of this field, and the creation of a new disk in
	// another format fails.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// Cache mode: none, writethrough, writeback, unsafe or directsync. PVE:
	// cache=, default none.
	// +optional
	// +kubebuilder:validation:Enum=none;writethrough;writeback;unsafe;directsync
	Cache *string `json:"cache,omitempty"`

	// AIO is the asynchronous I/O mode: native, threads or io_uring; empty for
	// PVE's choice. PVE: aio=.
	// +optional
	// +kubebuilder:validation:Enum=native;threads;io_uring;""
	AIO *string `json:"aio,omitempty"`

	// Discard passes the guest's trim requests to the storage. PVE: discard=on.
	// +optional
	Discard *bool `json:"discard,omitempty"`

	// SSD presents the disk as a solid-state drive; not for virtio. PVE: ssd=.
	// +optional
	SSD *bool `json:"ssd,omitempty"`

	// IOThread gives the disk its own I/O thread; only for scsi (with scsiController
	// virtio-scsi-single) and virtio. PVE: iothread=.
	// +optional
	IOThread *bool `json:"ioThread,omitempty"`

	// Backup includes the disk in backups. PVE: backup=, default on.
	// +optional
	Backup *bool `json:"backup,omitempty"`

	// Replicate includes the disk in storage replication. PVE: replicate=,
	// default on.
	// +optional
	Replicate *bool `json:"replicate,omitempty"`

	// ReadOnly makes the disk read-only; only for scsi and virtio. PVE: ro=.
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`

	// Serial number that the guest sees, up to 20 printable ASCII characters except
	// commas, with no space at either end; empty for QEMU's default. PVE: serial=.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([!-+\--~]([ -+\--~]*[!-+\--~])?)?$`
	Serial *string `json:"serial,omitempty"`

	// WWN of the disk, 0x and 16 hexadecimal digits; empty for none. Not for
	// virtio. PVE: wwn=.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:Pattern=`^(0x[0-9a-fA-F]{16})?$`
	WWN *string `json:"wwn,omitempty"`

	// Model of the disk that the guest sees, up to 40 printable ASCII characters except
	// commas, with no space at either end; only for ide. Empty for QEMU's default. PVE:
	// model=.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^([!-+\--~]([ -+\--~]*[!-+\--~])?)?$`
	Model *string `json:"model,omitempty"`

	// Vendor of the disk that the guest sees, up to 8 characters; only for scsi. Empty
	// for QEMU's default. PVE: vendor=.
	// +optional
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_-]([A-Za-z0-9_ -]*[A-Za-z0-9_-])?)?$`
	Vendor *string `json:"vendor,omitempty"`

	// Product name of the disk that the guest sees, up to 16 characters; only for scsi.
	// Empty for QEMU's default. PVE: product=.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_-]([A-Za-z0-9_ -]*[A-Za-z0-9_-])?)?$`
	Product *string `json:"product,omitempty"`

	// Queues of the disk's controller, 2 or more; only for scsi with scsiController
	// virtio-scsi-single. 0 for one queue. PVE: queues=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	// +kubebuilder:validation:XValidation:rule="self != 1",message="disks[].queues is 0 or 2 and more"
	Queues *int32 `json:"queues,omitempty"`

	// SCSIBlock passes SCSI commands to a disk of the node; only for scsi. PVE:
	// scsiblock=, default off.
	// +optional
	SCSIBlock *bool `json:"scsiBlock,omitempty"`

	// DetectZeroes writes zeroes as holes. PVE: detect_zeroes=, default on.
	// +optional
	DetectZeroes *bool `json:"detectZeroes,omitempty"`

	// ReadError is the action on a read error: ignore, report (to the guest) or stop (the
	// VM); empty for QEMU's default, report. PVE: rerror=.
	// +optional
	// +kubebuilder:validation:Enum=ignore;report;stop;""
	ReadError *string `json:"readError,omitempty"`

	// WriteError is the action on a write error: enospc (stop the VM if the storage is
	// full, otherwise report), ignore, report or stop; empty for QEMU's default, enospc.
	// PVE: werror=.
	// +optional
	// +kubebuilder:validation:Enum=enospc;ignore;report;stop;""
	WriteError *string `json:"writeError,omitempty"`

	// Shared declares that all nodes can access the disk although its storage is not
	// marked as shared. PVE: shared=, default off.
	// +optional
	Shared *bool `json:"shared,omitempty"`

	// Snapshot discards everything that the guest has written when the VM stops. PVE 9
	// supports it only if machineType is a version before 10.0. PVE: snapshot=, default
	// off.
	// +optional
	Snapshot *bool `json:"snapshot,omitempty"`

	// Geometry of the disk for guests that need it. Only PVE 8 supports it: PVE 9 refuses
	// it.
	// +optional
	Geometry *MachineDiskGeometry `json:"geometry,omitempty"`

	// Limits of the disk's throughput.
	// +optional
	Limits *MachineDiskLimits `json:"limits,omitempty"`

	// ImportFrom is the volume ID of an image to fill a new disk from, on a storage with
	// content type import, such as local:import/data.qcow2: a qcow2, raw or vmdk file, or
	// a disk in an OVA (local:import/appliance.ova/disk.vmdk), for which the storage must
	// also have content type images; up to 255 characters. The disk gets the size of the
	// image and then grows to its own size. On local storage, the image must be on the
	// VM's node. The field applies only when the disk is created, and is ignored for the
	// disk that image fills. PVE: import-from=.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:import/([^/,]+\.ova/)?[^/,]+\.(qcow2|raw|vmdk)$`
	ImportFrom *string `json:"importFrom,omitempty"`

	// Volume is the volume ID of an existing disk to attach instead of creating a new
	// one, such as local-lvm:vm-100-disk-1: an unused disk of this VM, or another volume
	// that PVE holds for its VMID and that no VM uses. Empty creates a new disk even if
	// the VM has an unused disk that formerly had this name, or came with a disk that
	// this entry would become. The field applies only when the disk is attached.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:[^,\s]+)?$`
	Volume *string `json:"volume,omitempty"`

	// VolumeRef names the Volume that is the disk, in the same namespace if this resource
	// has one. The provider hands the Volume to this Machine once no other Machine has
	// it, and hands it back when you remove the disk from the list or delete this
	// resource. The VM is created and started once the Volume exists. On local storage,
	// the VM is on the Volume's node. Cannot change.
	// +optional
	VolumeRef *VolumeReference `json:"volumeRef,omitempty"`

	// RemovalPolicy determines what happens to the disk when you remove it from the list.
	// Detach keeps it as an unused disk of the VM; a new entry of the same name attaches
	// it again. Retain leaves it attached, no longer managed. Destroy deletes it with its
	// data. When this resource is deleted, all of these disks are deleted with the VM.
	// Default: Retain for the disk that the VM boots from and for a disk that was not
	// created for this list, such as a template's disk; Detach otherwise. Destroy, and
	// Detach of a disk whose default is Retain, apply only if the entry still declared
	// them when you removed it.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}

// VolumeReference references a Volume of the same scope, and of the same namespace if
// there is one.
type VolumeReference struct {
	// Name of the Volume, up to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MachineDiskLimits limit the throughput of a disk. 0 removes a limit and
// the parts of its burst that are not declared. A burst may exceed its limit for a
// time, by default one second. A total limit replaces the read and write limits that
// are no longer declared, and vice versa.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.totalMBps) || has(self.totalBurstMBps)) || !(has(self.readMBps) || has(self.writeMBps) || has(self.readBurstMBps) || has(self.writeBurstMBps))",message="limits in MBps are for reading and writing each or for their total, not both"
// +kubebuilder:validation:XValidation:rule="!(has(self.totalIOPS) || has(self.totalBurstIOPS)) || !(has(self.readIOPS) || has(self.writeIOPS) || has(self.readBurstIOPS) || has(self.writeBurstIOPS))",message="limits in IOPS are for reading and writing each or for their total, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.readBurstMBps) || self.readBurstMBps == 0 || self.readBurstMBps == '0' || has(self.readMBps) && self.readMBps != 0 && self.readMBps != '0'",message="limits.readBurstMBps needs limits.readMBps"
// +kubebuilder:validation:XValidation:rule="!has(self.readBurstIOPS) || self.readBurstIOPS == 0 || has(self.readIOPS) && self.readIOPS > 0",message="limits.readBurstIOPS needs limits.readIOPS"
// +kubebuilder:validation:XValidation:rule="!has(self.readBurstSeconds) || self.readBurstSeconds == 0 || has(self.readBurstMBps) && self.readBurstMBps != 0 && self.readBurstMBps != '0'",message="limits.readBurstSeconds needs limits.readBurstMBps"
// +kubebuilder:validation:XValidation:rule="!has(self.readIOPSBurstSeconds) || self.readIOPSBurstSeconds == 0 || has(self.readBurstIOPS) && self.readBurstIOPS > 0",message="limits.readIOPSBurstSeconds needs limits.readBurstIOPS"
// +kubebuilder:validation:XValidation:rule="!has(self.writeBurstMBps) || self.writeBurstMBps == 0 || self.writeBurstMBps == '0' || has(self.writeMBps) && self.writeMBps != 0 && self.writeMBps != '0'",message="limits.writeBurstMBps needs limits.writeMBps"
// +kubebuilder:validation:XValidation:rule="!has(self.writeBurstIOPS) || self.writeBurstIOPS == 0 || has(self.writeIOPS) && self.writeIOPS > 0",message="limits.writeBurstIOPS needs limits.writeIOPS"
// +kubebuilder:validation:XValidation:rule="!has(self.writeBurstSeconds) || self.writeBurstSeconds == 0 || has(self.writeBurstMBps) && self.writeBurstMBps != 0 && self.writeBurstMBps != '0'",message="limits.writeBurstSeconds needs limits.writeBurstMBps"
// +kubebuilder:validation:XValidation:rule="!has(self.writeIOPSBurstSeconds) || self.writeIOPSBurstSeconds == 0 || has(self.writeBurstIOPS) && self.writeBurstIOPS > 0",message="limits.writeIOPSBurstSeconds needs limits.writeBurstIOPS"
// +kubebuilder:validation:XValidation:rule="!has(self.totalBurstMBps) || self.totalBurstMBps == 0 || self.totalBurstMBps == '0' || has(self.totalMBps) && self.totalMBps != 0 && self.totalMBps != '0'",message="limits.totalBurstMBps needs limits.totalMBps"
// +kubebuilder:validation:XValidation:rule="!has(self.totalBurstIOPS) || self.totalBurstIOPS == 0 || has(self.totalIOPS) && self.totalIOPS > 0",message="limits.totalBurstIOPS needs limits.totalIOPS"
// +kubebuilder:validation:XValidation:rule="!has(self.totalBurstSeconds) || self.totalBurstSeconds == 0 || has(self.totalBurstMBps) && self.totalBurstMBps != 0 && self.totalBurstMBps != '0'",message="limits.totalBurstSeconds needs limits.totalBurstMBps"
// +kubebuilder:validation:XValidation:rule="!has(self.totalIOPSBurstSeconds) || self.totalIOPSBurstSeconds == 0 || has(self.totalBurstIOPS) && self.totalBurstIOPS > 0",message="limits.totalIOPSBurstSeconds needs limits.totalBurstIOPS"
type MachineDiskLimits struct {
	// ReadMBps is the limit of reading in megabytes per second, with decimals:
	// "12.5". PVE: mbps_rd=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="limits.readMBps is 0 or more"
	ReadMBps *resource.Quantity `json:"readMBps,omitempty"`

	// ReadIOPS is the limit of read operations per second. PVE: iops_rd=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadIOPS *int32 `json:"readIOPS,omitempty"`

	// ReadBurstMBps is the limit of reading during a burst in megabytes per
	// second, with decimals. PVE: mbps_rd_max=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="limits.readBurstMBps is 0 or more"
	ReadBurstMBps *resource.Quantity `json:"readBurstMBps,omitempty"`

	// ReadBurstIOPS is the limit of read operations per second during a burst. PVE:
	// iops_rd_max=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadBurstIOPS *int32 `json:"readBurstIOPS,omitempty"`

	// ReadBurstSeconds is how long a burst of readBurstMBps may last, in seconds.
	// PVE: bps_rd_max_length=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadBurstSeconds *int32 `json:"readBurstSeconds,omitempty"`

	// ReadIOPSBurstSeconds is how long a burst of readBurstIOPS may last, in
	// seconds. PVE: iops_rd_max_length=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadIOPSBurstSeconds *int32 `json:"readIOPSBurstSeconds,omitempty"`

	// WriteMBps is the limit of writing in megabytes per second, with decimals:
	// "12.5". PVE: mbps_wr=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="limits.writeMBps is 0 or more"
	WriteMBps *resource.Quantity `json:"writeMBps,omitempty"`

	// WriteIOPS is the limit of write operations per second. PVE: iops_wr=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WriteIOPS *int32 `json:"writeIOPS,omitempty"`

	// WriteBurstMBps is the limit of writing during a burst in megabytes per
	// second, with decimals. PVE: mbps_wr_max=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="limits.writeBurstMBps is 0 or more"
	WriteBurstMBps *resource.Quantity `json:"writeBurstMBps,omitempty"`

	// WriteBurstIOPS is the limit of write operations per second during a burst. PVE:
	// iops_wr_max=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WriteBurstIOPS *int32 `json:"writeBurstIOPS,omitempty"`

	// WriteBurstSeconds is how long a burst of writeBurstMBps may last, in
	// seconds. PVE: bps_wr_max_length=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WriteBurstSeconds *int32 `json:"writeBurstSeconds,omitempty"`

	// WriteIOPSBurstSeconds is how long a burst of writeBurstIOPS may last, in
	// seconds. PVE: iops_wr_max_length=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WriteIOPSBurstSeconds *int32 `json:"writeIOPSBurstSeconds,omitempty"`

	// TotalMBps is the limit of reading and writing together in megabytes per
	// second, with decimals: "12.5". PVE: mbps=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="limits.totalMBps is 0 or more"
	TotalMBps *resource.Quantity `json:"totalMBps,omitempty"`

	// TotalIOPS is the limit of read and write operations per second. PVE: iops=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalIOPS *int32 `json:"totalIOPS,omitempty"`

	// TotalBurstMBps is the limit of reading and writing together during a burst
	// in megabytes per second, with decimals. PVE: mbps_max=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="limits.totalBurstMBps is 0 or more"
	TotalBurstMBps *resource.Quantity `json:"totalBurstMBps,omitempty"`

	// TotalBurstIOPS is the limit of read and write operations per second during a burst.
	// PVE: iops_max=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalBurstIOPS *int32 `json:"totalBurstIOPS,omitempty"`

	// TotalBurstSeconds is how long a burst of totalBurstMBps may last, in
	// seconds. PVE: bps_max_length=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalBurstSeconds *int32 `json:"totalBurstSeconds,omitempty"`

	// TotalIOPSBurstSeconds is how long a burst of totalBurstIOPS may last, in
	// seconds. PVE: iops_max_length=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalIOPSBurstSeconds *int32 `json:"totalIOPSBurstSeconds,omitempty"`
}

// MachineDiskGeometry is the geometry of a disk. 0 or empty removes a part.
//
// +kubebuilder:validation:MinProperties=1
type MachineDiskGeometry struct {
	// Cylinders of the disk. PVE: cyls=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cylinders *int32 `json:"cylinders,omitempty"`

	// Heads of the disk. PVE: heads=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Heads *int32 `json:"heads,omitempty"`

	// Sectors of a track. PVE: secs=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sectors *int32 `json:"sectors,omitempty"`

	// Translation by the BIOS: none, lba or auto. PVE: trans=.
	// +optional
	// +kubebuilder:validation:Enum=none;lba;auto;""
	Translation *string `json:"translation,omitempty"`
}

// MachineCDROM is a CD-ROM drive of a VM. If you remove the medium from the entry, the
// drive becomes empty, or gets the medium that it had in the template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(self.device) || self.device.matches('^' + self.type + '[0-9]+$')",messageExpression="'type %s and device %s disagree'.format([self.type, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.iso) || !has(self.physical) || !self.physical",messageExpression="'CD-ROM drive %s has an ISO image or is the physical drive of the node: set iso or physical'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.device) || !has(oldSelf.device) || self.device == oldSelf.device",messageExpression="'the device of CD-ROM drive %s cannot change: it is %s, not %s'.format([self.name, oldSelf.device, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(oldSelf.type) || self.type == oldSelf.type",messageExpression="'the type of CD-ROM drive %s cannot change: it is %s, not %s'.format([self.name, oldSelf.type, self.type])"
type MachineCDROM struct {
	// Name of the drive in this list, up to 63 characters. It identifies one drive of the
	// VM as long as it is listed, regardless of its position.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// ISO is the volume ID of the ISO image in the drive, such as
	// local:iso/virtio-win.iso, up to 255 characters; empty for no medium. On local
	// storage, the image must be on the VM's node. Another value changes the medium at
	// once, even while the VM runs. If somebody changes the medium in Proxmox VE, the
	// provider restores it. Default: the current medium, which is none for a new drive.
	// PVE: the volume ID, or none.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:iso/[^/,]+)?$`
	ISO *string `json:"iso,omitempty"`

	// Physical passes the physical drive of the VM's node to the guest, which needs the
	// privilege Sys.Console on /; a VM with it cannot migrate. False removes it. Default:
	// the current setting of the drive, which is false for a new one. PVE: cdrom in place
	// of a volume ID.
	// +optional
	Physical *bool `json:"physical,omitempty"`

	// Type is the bus of the drive: ide, sata or scsi. Default: the bus of the existing
	// drive; for a new drive, ide if it has a free device, then sata. Cannot change.
	// +optional
	// +kubebuilder:validation:Enum=ide;sata;scsi
	Type *string `json:"type,omitempty"`

	// Device in PVE of the drive, such as ide0. Default: the drive that already has the
	// same image; for the first drives of the list, the drives that the VM has from its
	// source or from its adoption; otherwise a free device of its type. Cloud-init drives
	// are never used. Cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30))$`
	Device *string `json:"device,omitempty"`

	// RemovalPolicy determines what happens to the drive when you remove it from the
	// list. Detach and Destroy remove it from the VM and keep the ISO image. Retain
	// leaves it as it is, no longer managed. Default: Retain for a drive that was not
	// created for this list, such as a template's drive; Detach otherwise. For a drive
	// that was not created for this list, Detach and Destroy apply only if the entry
	// still declared them when you removed it.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}
