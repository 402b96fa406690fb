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

// MachineCDROM is a CD-ROM drive of a VM. Taking its medium out of the entry empties
// the drive, or puts in again what it had in the template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(self.device) || self.device.matches('^' + self.type + '[0-9]+$')",messageExpression="'type %s and device %s disagree'.format([self.type, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.iso) || !has(self.physical) || !self.physical",messageExpression="'CD-ROM drive %s has an ISO image or is the physical drive of the node: set iso or physical'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.device) || !has(oldSelf.device) || self.device == oldSelf.device",messageExpression="'the device of CD-ROM drive %s cannot change: it is %s, not %s'.format([self.name, oldSelf.device, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(oldSelf.type) || self.type == oldSelf.type",messageExpression="'the type of CD-ROM drive %s cannot change: it is %s, not %s'.format([self.name, oldSelf.type, self.type])"
type MachineCDROM struct {
	// Name of the drive in this list, up to 63 characters. It stands for one
	// drive of the VM for as long as it is listed, whatever its position.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// ISO is the volume ID of the ISO image in the drive, such as
	// local:iso/virtio-win.iso, up to 255 characters; empty for no medium. On
	// local storage the image has to be on the VM's node. Another value changes
	// the medium, at once also while the VM runs, and a medium that somebody
	// changes in Proxmox VE is put back. Default: what is in the drive, which for a
	// new one is nothing. PVE: the volume ID, or none.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:iso/[^/,]+)?$`
	ISO *string `json:"iso,omitempty"`

	// Physical hands the physical drive of the VM's node to the guest, which needs
	// the privilege Sys.Console on /; a VM with it cannot migrate. False takes it
	// away. Default: what the drive is, which for a new one is false. PVE: cdrom in
	// place of a volume ID.
	// +optional
	Physical *bool `json:"physical,omitempty"`

	// Type is the bus of the drive: ide, sata or scsi. Default: that of the drive
	// that it is; for a new one ide while a device is free there, then sata.
	// Cannot change.
	// +optional
	// +kubebuilder:validation:Enum=ide;sata;scsi
	Type *string `json:"type,omitempty"`

	// Device of PVE that the drive is, such as ide0. Default: the drive that has
	// the same image already; for the first drives of the list those that the VM came
	// with from its source or by its adoption; otherwise a free one of its type. Drives for cloud-init are never taken. Cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30))$`
	Device *string `json:"device,omitempty"`

	// RemovalPolicy is what becomes of the drive when it is taken off the list: Detach
	// and Destroy take it from the VM, and keep the ISO image, Retain leaves it as it is, no longer
	// managed. Default: Retain for one that was not made for this list, such as one
	// of a template, and Detach otherwise. Detach and Destroy of one that was not made
	// for this list count only if the list said so up to the very change that took it
	// off.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}
