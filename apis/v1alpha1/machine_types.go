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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Machine is a QEMU virtual machine of Proxmox VE.
//
// +proxmox:kind=Machine,shortName=pvm,forProvider=default,phase=Pending
// +proxmox:rule="!has(self.spec.forProvider.vmid) || has(oldSelf.spec.forProvider.vmid) || !has(oldSelf.status) || !has(oldSelf.status.atProvider) || !has(oldSelf.status.atProvider.vmid) || self.spec.forProvider.vmid == oldSelf.status.atProvider.vmid",messageExpression="'vmid cannot be %d: this Machine is VM %d'.format([self.spec.forProvider.vmid, oldSelf.status.atProvider.vmid])"
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.atProvider.phase"
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".status.atProvider.node"
// +kubebuilder:printcolumn:name="IP",type="string",JSONPath=".status.atProvider.ipAddresses[0]"

// MachineParameters describe a QEMU virtual machine. Only the fields that are set are
// managed: a field that is not set keeps the value from Proxmox VE, the template or a
// person.
//
// +kubebuilder:validation:XValidation:rule="[has(self.template) || has(self.templateTags), has(self.templateRef) || has(self.templateSelector), has(self.image), has(self.iso), has(self.clone) && has(self.clone.vm), has(self.clone) && (has(self.clone.machine) || has(self.clone.machineRef) || has(self.clone.machineSelector)), has(self.restore)].filter(s, s).size() <= 1",message="a Machine has at most one source: set only one of template (or templateTags), templateRef (or templateSelector), image, iso, restore, clone.vm and clone.machine (or machineRef, machineSelector)"
// +kubebuilder:validation:XValidation:rule="!has(self.clone) || has(self.template) || has(self.templateTags) || has(self.templateRef) || has(self.templateSelector) || has(self.clone.vm) || has(self.clone.machine) || has(self.clone.machineRef) || has(self.clone.machineSelector)",message="clone needs a source: set template, templateTags, templateRef or templateSelector, or clone.vm, clone.machine, clone.machineRef or clone.machineSelector"
// +kubebuilder:validation:XValidation:rule="!has(self.clone) || !has(self.clone.snapshot) || !has(self.template) && !has(self.templateTags) && !has(self.templateRef) && !has(self.templateSelector)",message="a template has no snapshots: clone.snapshot needs clone.vm, clone.machine, clone.machineRef or clone.machineSelector"
// +kubebuilder:validation:XValidation:rule="has(self.template) == has(oldSelf.template)",message="the source of a Machine cannot change: template can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="has(self.templateTags) == has(oldSelf.templateTags)",message="the source of a Machine cannot change: templateTags can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="(has(self.templateRef) || has(self.templateSelector)) == (has(oldSelf.templateRef) || has(oldSelf.templateSelector))",message="the source of a Machine cannot change: templateRef can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="has(self.image) == has(oldSelf.image)",message="the source of a Machine cannot change: image can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="has(self.restore) == has(oldSelf.restore)",message="the source of a Machine cannot change: restore can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.image) || has(self.disks) && self.disks.exists(d, !has(self.image.disk) || d.name == self.image.disk)",message="image needs the disk that it fills: list it in disks",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.clone) == has(oldSelf.clone)",message="clone counts at creation only: it can be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="!has(self.highAvailability) || !has(self.highAvailability.state) || !has(self.powerState) || self.highAvailability.state == 'ignored' || (self.highAvailability.state == 'started') == (self.powerState in ['Running', 'Paused'])",messageExpression="'highAvailability.state %s and powerState %s disagree: leave one of them out'.format([self.highAvailability.state, self.powerState])"
// +kubebuilder:validation:XValidation:rule="!has(self.highAvailability) || !has(self.powerState) || self.powerState != 'Suspended' || has(self.highAvailability.enabled) && !self.highAvailability.enabled",message="a VM that high availability manages cannot be suspended to disk: powerState is Running, Paused or Stopped"
// +kubebuilder:validation:XValidation:rule="!has(self.runStrategy) || !has(self.powerState) || self.runStrategy in ['Always', 'RerunOnFailure'] || self.runStrategy == 'Halted' && self.powerState == 'Stopped'",messageExpression="'runStrategy %s and powerState %s disagree: leave powerState out'.format([self.runStrategy, self.powerState])"
// +kubebuilder:validation:XValidation:rule="!has(self.bootOrder) || self.bootOrder.all(d, d in ['disk', 'network', 'cdrom'] || (has(self.disks) && self.disks.exists(x, x.name == d)) || (has(self.cdroms) && self.cdroms.exists(x, x.name == d)) || (has(self.networks) && self.networks.exists(x, x.name == d)) || (has(self.pciDevices) && self.pciDevices.exists(x, x.name == d)) || (has(self.usbDevices) && self.usbDevices.exists(x, x.name == d)) || d.matches('^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|net([0-9]|[12][0-9]|3[01])|hostpci([0-9]|1[0-5])|usb([0-9]|1[0-3]))$'))",messageExpression="'bootOrder %s: entries are disk, network, cdrom, the name of a disk, CD-ROM drive, network, PCI or USB device of this Machine, or a PVE device such as scsi0'.format([self.bootOrder])"
// +kubebuilder:validation:XValidation:rule="!has(self.disks) || !has(self.cdroms) || !self.disks.exists(d, has(d.device) && self.cdroms.exists(c, has(c.device) && c.device == d.device))",messageExpression="'a disk and a CD-ROM drive have the same device: %s'.format([self.disks.filter(d, has(d.device) && self.cdroms.exists(c, has(c.device) && c.device == d.device))[0].device])"
// +kubebuilder:validation:XValidation:rule="!has(self.balloon) || self.balloon || !has(self.memoryOptions) || !has(self.memoryOptions.minimum)",message="memoryOptions.minimum needs the balloon device: set balloon to true or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.memory) || !has(self.memoryOptions) || !has(self.memoryOptions.minimum) || quantity(string(self.memoryOptions.minimum)).compareTo(quantity(string(self.memory))) <= 0",messageExpression="'memoryOptions.minimum %s must not exceed memory %s'.format([self.memoryOptions.minimum, self.memory])"
// +kubebuilder:validation:XValidation:rule="!has(self.reportProvisioning) || !self.reportProvisioning || (!has(self.agent) || self.agent) && (!has(self.osType) || !self.osType.startsWith('w'))",message="reportProvisioning asks the guest agent for cloud-init: agent must not be false, nor osType a Windows"
// +kubebuilder:validation:XValidation:rule="!has(self.recreation) || !has(self.vmid)",message="recreation makes the VM under another VMID: vmid must be left out"
type MachineParameters struct {
	// Name of the VM in Proxmox VE: a DNS name of letters, digits, hyphens and dots, 1 to
	// 100 characters. It does not have to be unique in Proxmox VE. Default: the name of
	// this resource. PVE: name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$`
	Name *string `json:"name,omitempty"`

	// VMID for the new VM, 100 to 999999999. Default: the lowest free one of the provider
	// config's vmidRange. A VM that already has this VMID and was not created by this
	// resource is never changed: to adopt an existing VM, set the annotation
	// crossplane.io/external-name to its VMID instead. Cannot change. PVE: vmid.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",messageExpression="'vmid cannot change: it is %d, not %d'.format([oldSelf, self])"
	VMID *int32 `json:"vmid,omitempty"`

	// Node of the Proxmox VE cluster to create the VM on. Default: the provider config's
	// default node, unless placement is set or the source is on local storage elsewhere;
	// otherwise the node that placement chooses. The current node of the VM is in
	// status.atProvider.node: if a VM is moved in Proxmox VE (by high availability or by
	// hand), it stays on its new node. A change of this field migrates the VM, with the
	// disks that it has on local storage; the migration is live if the VM runs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Node *string `json:"node,omitempty"`

	// Placement chooses the node if node is not set. It applies only at creation: it
	// never moves a VM. status.atProvider.placement has the chosen node and the reason.
	// +optional
	Placement *MachinePlacement `json:"placement,omitempty"`

	// Pool in Proxmox VE that the VM is a member of; empty for none. A change moves the
	// VM to the other pool; other members stay. PVE: pool.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2})?$`
	Pool *string `json:"pool,omitempty"`

	// Template to clone: its name, or its VMID as a number or string. The clone is a
	// linked clone unless clone.full is true. If several templates have the name,
	// templates on the VM's node come first, and of these the newest is cloned, by the
	// time of creation that PVE keeps; of several from the same second, the one with the
	// highest VMID. Cannot change. PVE: meta ctime=.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="string(self) == string(oldSelf)",messageExpression="'template cannot change: the VM was cloned from ' + string(oldSelf)"
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? (self >= 100 && self <= 999999999) : (size(self) >= 1 && size(self) <= 100)",message="template is the name of a template (1 to 100 characters) or its VMID (100 to 999999999)"
	Template *intstr.IntOrString `json:"template,omitempty"`

	// TemplateTags are tags of the template to clone, which must have all of them, 1 to
	// 16, each of up to 124 characters. Together with template, they choose among the
	// templates of that name. Alone, they choose among all templates: templates on the
	// VM's node come first, and of these the newest is cloned, as with template. Cannot
	// change. PVE: tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="templateTags cannot change: the VM was cloned from a template that had them"
	TemplateTags []string `json:"templateTags,omitempty"`

	// TemplateRef is an Image whose template is cloned, in the same namespace if this
	// resource has one. If the Image has several templates, the one on the VM's node is
	// cloned. The Machine waits until the Image is ready. Its revision is pinned at
	// creation: a newer revision changes nothing. The clone is a linked clone unless
	// clone.full is true. Cannot change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="templateRef cannot change: the VM was cloned from it"
	TemplateRef *Reference `json:"templateRef,omitempty"`

	// TemplateSelector selects the Image by its labels. The provider sets templateRef to
	// its name, which then stays.
	// +optional
	TemplateSelector *Selector `json:"templateSelector,omitempty"`

	// Clone determines how the source is cloned, or names a VM or another Machine as the
	// source. It applies only at creation and can be neither added nor removed later.
	// +optional
	Clone *MachineClone `json:"clone,omitempty"`

	// Image is a cloud image that becomes the content of a new disk. It applies only at
	// creation: it can be neither added nor removed nor changed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="image cannot change: the VM was made from it"
	Image *MachineImage `json:"image,omitempty"`

	// Restore creates the VM from a backup. It applies only at creation: it can be
	// neither added nor removed nor changed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="restore cannot change: the VM was made from it"
	Restore *MachineRestore `json:"restore,omitempty"`

	// ISO is the volume ID of an ISO image to install from, such as
	// local:iso/debian-13.iso. It is inserted into a CD-ROM drive, an existing or a new
	// one; a new VM boots from it while its first disk is empty. Another value changes
	// the medium, and "" ejects it. For more drives, such as one with drivers, use
	// cdroms. Up to 255 characters. PVE: ide2 with media=cdrom, or another free drive.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:iso/[^/,]+)?$`
	ISO *string `json:"iso,omitempty"`

	// CPU topology, model and limits.
	// +optional
	CPU *MachineCPU `json:"cpu,omitempty"`

	// Memory in bytes, as a Kubernetes quantity: 2Gi and 2147483648 are the
	// same. 64Mi to 16Ti, in whole MiB. PVE: memory (MiB); without it a new VM
	// gets PVE's default of 512 MiB.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).asApproximateFloat() / 1048576.0 >= 64.0 && quantity(string(self)).asApproximateFloat() / 1048576.0 <= 16777216.0 && double(int(quantity(string(self)).asApproximateFloat() / 1048576.0)) == quantity(string(self)).asApproximateFloat() / 1048576.0",messageExpression="'memory %s is not a whole number of MiB in the range 64Mi to 16Ti: write it with Mi, Gi or Ti, such as 4Gi'.format([self])"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// MemoryOptions are the settings of ballooning, shares and huge pages.
	// +optional
	MemoryOptions *MachineMemoryOptions `json:"memoryOptions,omitempty"`

	// Balloon turns the balloon device on or off. Default: PVE's (on), or the
	// template's. PVE: balloon.
	// +optional
	Balloon *bool `json:"balloon,omitempty"`

	// Disks of the VM by name. When you remove a disk from this list, its removalPolicy
	// decides what happens to it. Without this list, no disk is managed, and nothing
	// changes; an empty list removes all entries. Disks that are not declared, such as
	// those of a template, do not change.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=57
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.device) || self.filter(b, has(b.device) && b.device == a.device).size() == 1)",messageExpression="'two disks have the same device: %s'.format([self.filter(a, has(a.device) && self.filter(b, has(b.device) && b.device == a.device).size() > 1)[0].device])"
	Disks []MachineDisk `json:"disks,omitzero"`

	// CDROMs are CD-ROM drives of the VM by name, in addition to the drive of iso. When
	// you remove a drive from this list, its removalPolicy decides what happens to it;
	// the ISO image is kept. Without this list, nothing changes; an empty list removes
	// all entries. Drives that are not declared do not change. A drive is added and
	// removed at the next restart, on scsi at once; its medium changes at once. PVE: ide0
	// to ide3, sata0 to sata5, scsi0 to scsi30 with media=cdrom.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=41
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.device) || self.filter(b, has(b.device) && b.device == a.device).size() == 1)",messageExpression="'two CD-ROM drives have the same device: %s'.format([self.filter(a, has(a.device) && self.filter(b, has(b.device) && b.device == a.device).size() > 1)[0].device])"
	CDROMs []MachineCDROM `json:"cdroms,omitzero"`

	// EFIDisk holds the variables of the UEFI firmware (bios: ovmf). It is created once,
	// with the size that PVE gives it. PVE: efidisk0.
	// +optional
	EFIDisk *MachineEFIDisk `json:"efiDisk,omitempty"`

	// TPM is the state of a virtual trusted platform module. It is created once, with the
	// size that PVE gives it. PVE: tpmstate0.
	// +optional
	TPM *MachineTPM `json:"tpm,omitempty"`

	// Networks are the network interfaces of the VM by name. The MAC address of an
	// interface never changes unless macAddress changes. When you remove an interface
	// from this list, its removalPolicy decides what happens to it. Without this list,
	// nothing changes; an empty list removes all entries. Interfaces that are not
	// declared do not change.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.device) || self.filter(b, has(b.device) && b.device == a.device).size() == 1)",messageExpression="'two networks have the same device: %s'.format([self.filter(a, has(a.device) && self.filter(b, has(b.device) && b.device == a.device).size() > 1)[0].device])"
	Networks []MachineNetwork `json:"networks,omitzero"`

	// CloudInit configures the guest at its first boot.
	// +optional
	CloudInit *MachineCloudInit `json:"cloudInit,omitempty"`

	// OSType lets PVE tune the VM for its guest system: linux, windows,
	// solaris, other, or one of PVE's own values. linux means l26, windows
	// means win11. PVE: ostype; without it a new VM gets PVE's default, other.
	// +optional
	// +kubebuilder:validation:Enum=linux;windows;solaris;other;wxp;w2k;w2k3;w2k8;wvista;win7;win8;win10;win11;l24;l26
	OSType *string `json:"osType,omitempty"`

	// BootOrder lists the devices that the VM boots from, first to last: disk, network or
	// cdrom for all devices of that type, names of disks, CD-ROM drives, networks, PCI or
	// USB devices, or PVE device names such as scsi0. While the VM runs without a device
	// to boot from, the condition Bootable is False. 1 to 16 entries. PVE: boot order=,
	// default for a new VM: its first disk, then the medium of iso or the first one in
	// cdroms, then its first network.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	BootOrder []string `json:"bootOrder,omitempty"`

	// Agent tells PVE that the QEMU guest agent runs in the guest. The agent reports IP
	// addresses. Default: the template's; off for a new VM. PVE: agent.
	// +optional
	Agent *bool `json:"agent,omitempty"`

	// AgentOptions refine how PVE talks to the guest agent.
	// +optional
	AgentOptions *MachineAgentOptions `json:"agentOptions,omitempty"`

	// ReportProvisioning makes the provider ask the guest agent, after each start of the
	// guest, whether cloud-init has finished: it reads the guest's file
	// /run/cloud-init/result.json until the file exists, after 2, 3, 4.5 seconds … 5
	// minutes. The condition GuestProvisioned shows the result, with the errors of
	// cloud-init. It needs the guest agent, and the token needs VM.GuestAgent.FileRead
	// (Proxmox VE 9) or VM.Monitor (8) for the VM. Ready does not wait for it. Default:
	// false.
	// +optional
	ReportProvisioning *bool `json:"reportProvisioning,omitempty"`

	// ShowConfig makes status.atProvider.config show all options that are in effect, as
	// PVE writes them, whether declared or not. Other fields of the status show most of
	// them, and the provider keeps both in memory. Default: false.
	// +optional
	ShowConfig *bool `json:"showConfig,omitempty"`

	// Protection makes PVE refuse to remove the VM or its disks. While it is set, the
	// deletion of this resource waits, and a condition reports that. If this field is not
	// set, a VM that is protected in PVE is also kept, until you set this field to false.
	// PVE: protection.
	// +optional
	Protection *bool `json:"protection,omitempty"`

	// Description is the VM's note in PVE, up to 8000 characters of Markdown;
	// an empty one removes it.
	// PVE: description.
	// +optional
	// +kubebuilder:validation:MaxLength=8000
	Description *string `json:"description,omitempty"`

	// Tags of the VM, each of lower-case letters, digits, _, -, + and dots, up to 124
	// characters. They replace all tags that the VM has; an empty list removes them. The
	// labels tenant-id and tenant.vitistack.io/id add the tag tenant_<id> and replace the
	// tag of another tenant. PVE: tags, sorted and without duplicates.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	Tags []string `json:"tags,omitzero"`

	// OnBoot starts the VM when its node boots. PVE: onboot.
	// +optional
	OnBoot *bool `json:"onBoot,omitempty"`

	// Startup determines the order in which VMs start and stop when a node boots or shuts
	// down. PVE: startup.
	// +optional
	Startup *MachineStartup `json:"startup,omitempty"`

	// BIOS is the firmware: seabios or ovmf (UEFI). Applied at the next
	// restart. PVE: bios, default seabios.
	// +optional
	// +kubebuilder:validation:Enum=seabios;ovmf
	BIOS *string `json:"bios,omitempty"`

	// MachineType is the QEMU machine: pc, q35, virt, or a version of them such
	// as pc-q35-9.0; empty for PVE's default, pc. Applied at the next restart.
	// PVE: machine type=.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^(pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|virt(-\d+(\.\d+)+)?(\+pve\d+)?)?$`
	MachineType *string `json:"machineType,omitempty"`

	// MachineOptions refine the QEMU machine. Applied at the next restart. PVE:
	// machine.
	// +optional
	MachineOptions *MachineOptions `json:"machineOptions,omitempty"`

	// SCSIController is the model of the controller of scsi disks. Applied at
	// the next restart. PVE: scsihw, default lsi; this provider gives a VM that
	// it creates with scsi disks and without a source virtio-scsi-single.
	// +optional
	// +kubebuilder:validation:Enum=lsi;lsi53c810;virtio-scsi-pci;virtio-scsi-single;megasas;pvscsi
	SCSIController *string `json:"scsiController,omitempty"`

	// VGA is the display. Applied at the next restart. PVE: vga.
	// +optional
	VGA *MachineVGA `json:"vga,omitempty"`

	// SerialPorts are the serial ports 0 to 3, in order. Each is socket (a Unix socket on
	// the node, which PVE's terminal connects to) or a device of the node such as
	// /dev/ttyS0, which only root@pam can set, with its password. An empty list removes
	// all serial ports. Applied at the next restart. PVE: serial0 to serial3.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Pattern=`^(socket|/dev/[^,]+)$`
	// +kubebuilder:validation:items:MaxLength=128
	SerialPorts []string `json:"serialPorts,omitzero"`

	// Audio is a sound device. Applied at the next restart. PVE: audio0.
	// +optional
	Audio *MachineAudio `json:"audio,omitempty"`

	// RNG is a random number generator fed by the host. Applied at the next
	// restart. PVE: rng0.
	// +optional
	RNG *MachineRNG `json:"rng,omitempty"`

	// Watchdog is a virtual hardware watchdog. Applied at the next restart.
	// PVE: watchdog.
	// +optional
	Watchdog *MachineWatchdog `json:"watchdog,omitempty"`

	// SMBIOS are the type 1 fields that the guest sees. The provider manages the UUID
	// among them, which is the identity of this VM. Applied at the next restart. PVE:
	// smbios1, at most 512 characters in base64.
	// +optional
	SMBIOS *MachineSMBIOS `json:"smbios,omitempty"`

	// PCIDevices are PCI devices of the node that the guest uses, by name. When you
	// remove a device from this list, its removalPolicy decides what happens to it.
	// Without this list, nothing changes; an empty list removes all entries. Devices that
	// are not declared do not change. Applied at the next restart. PVE: hostpci0 to
	// hostpci15.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	PCIDevices []MachinePCIDevice `json:"pciDevices,omitzero"`

	// USBDevices are USB devices of the node that the guest uses, by name. When you
	// remove a device from this list, its removalPolicy decides what happens to it.
	// Without this list, nothing changes; an empty list removes all entries. Devices that
	// are not declared do not change. PVE: usb0 to usb13.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=14
	USBDevices []MachineUSBDevice `json:"usbDevices,omitzero"`

	// VirtioFS are directories of the node that are shared with the guest, by name. When
	// you remove a share from this list, its removalPolicy decides what happens to it.
	// Without this list, nothing changes; an empty list removes all entries. Shares that
	// are not declared do not change. Applied at the next restart. PVE: virtiofs0 to
	// virtiofs9.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	VirtioFS []MachineVirtioFS `json:"virtiofs,omitzero"`

	// Hotplug lists what can change while the VM runs: network, disk, cpu, memory, usb,
	// cloudinit; an empty list turns hotplug off. Memory hotplug needs cpu.numa and adds
	// memory in steps: 1Gi, then 512Mi each up to 17Gi, 1Gi each up to 49Gi, and so on.
	// PVE: hotplug, default network,disk,usb.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:Enum=network;disk;cpu;memory;usb;cloudinit
	Hotplug []string `json:"hotplug,omitzero"`

	// Hookscript is the volume ID of a script that PVE runs at the VM's lifecycle events,
	// such as local:snippets/hook.pl; empty for none. Only root@pam can set it, with its
	// password. PVE: hookscript.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:snippets/[^,;\s]+)?$`
	Hookscript *string `json:"hookscript,omitempty"`

	// ACPI false turns ACPI off for guests that cannot handle it. Applied at the next
	// restart. PVE: acpi, default on.
	// +optional
	ACPI *bool `json:"acpi,omitempty"`

	// KVM false turns hardware virtualization by KVM off. Applied at the next restart.
	// PVE: kvm, default on.
	// +optional
	KVM *bool `json:"kvm,omitempty"`

	// Tablet is the USB pointing device of the console. PVE: tablet, default
	// on.
	// +optional
	Tablet *bool `json:"tablet,omitempty"`

	// LocalTime sets the VM's clock to local time instead of UTC. PVE:
	// localtime.
	// +optional
	LocalTime *bool `json:"localTime,omitempty"`

	// HighAvailability puts the VM under the control of PVE's HA manager, which needs the
	// privilege Sys.Console on /. PVE: the HA resource vm:<vmid>.
	// +optional
	HighAvailability *MachineHighAvailability `json:"highAvailability,omitempty"`

	// ExtraConfig are options of the VM's configuration by their PVE name, for options
	// that have no field here: amd-sev, args, autostart, cicustom, keyboard,
	// spice_enhancements, vmstatestorage and similar. They are compared and corrected
	// like fields; an empty value removes the option. These are refused: options that
	// have a field, options that the server does not know, values that it does not accept
	// and, without the password of root@pam, options that only root@pam can set.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][a-z0-9_-]{0,39}$') && !self[k].contains('\\n'))",message="extraConfig has names of Proxmox VE's options (lower-case letters, digits, _ and -) and values of one line"
	ExtraConfig map[string]ExtraValue `json:"extraConfig,omitempty"`

	// PowerState that the VM is kept in. Running runs the VM, and resumes it if it is
	// paused or suspended. Stopped shuts it down. Paused stops the CPUs of the running VM
	// and keeps its memory on the node. Suspended saves the memory of the running VM to
	// disk and stops the VM. A VM that is off is not started in order to pause or suspend
	// it, and a paused VM is resumed in order to shut it down. Default: Running for a VM
	// that this resource creates; the power state of an adopted VM does not change. PVE:
	// status/start, shutdown, suspend (with todisk for Suspended), resume.
	// +optional
	// +kubebuilder:validation:Enum=Running;Stopped;Paused;Suspended
	PowerState *PowerState `json:"powerState,omitempty"`

	// PowerAction is done once for each new token.
	// +optional
	PowerAction *MachinePowerAction `json:"powerAction,omitempty"`

	// Rollback returns the VM to a snapshot, once for each new token. Afterwards, the
	// provider applies the spec again, and the run strategy decides whether the VM runs.
	// PVE: snapshot/{snapname}/rollback.
	// +optional
	Rollback *MachineRollback `json:"rollback,omitempty"`

	// RestoreInPlace restores the VM from a backup of it, once for each new token.
	// Afterwards, the provider applies the spec again, and the run strategy decides
	// whether the VM runs. PVE: archive with force.
	// +optional
	RestoreInPlace *MachineRestoreInPlace `json:"restoreInPlace,omitempty"`

	// Recreation creates the VM again under another VMID if its creation was lost with
	// its node, once for each new token. A VM that was complete is never created again,
	// and neither is a VM whose VMID is set by vmid.
	// +optional
	Recreation *MachineRecreation `json:"recreation,omitempty"`

	// RunStrategy determines what happens when the VM stops by itself although it should
	// run. Always starts it again, whatever the cause. RerunOnFailure starts it again
	// only after a known failure: its node went down, or QEMU reports a panic of the
	// guest or an internal error. In all other cases, PVE does not distinguish a guest
	// that shut itself down from a killed process, so the VM stays stopped. Manual never
	// starts or stops the VM, not even a new one: use powerAction, or start and stop it
	// by hand. Halted keeps it stopped. Default: Always, except that a VM whose guest has
	// panicked stays as it is for inspection.
	// +optional
	// +kubebuilder:validation:Enum=Always;RerunOnFailure;Manual;Halted
	RunStrategy *string `json:"runStrategy,omitempty"`

	// ShutdownTimeoutSeconds is how long a guest may take to shut down before it is
	// stopped hard, 1 to 3600 seconds. Default: 180. A reboot that takes longer is given
	// up, and the VM is not stopped. PVE: shutdown timeout.
	// +optional
	// +kubebuilder:default=180
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	ShutdownTimeoutSeconds *int32 `json:"shutdownTimeoutSeconds,omitempty"`

	// RestartPolicy determines when the VM may be restarted to apply changes that need a
	// restart. Never does not restart it; the condition RestartRequired lists the
	// changes. WhenRequired reboots the guest gracefully, once for each set of such
	// changes. If a guest does not react, the request is repeated, less and less often,
	// and in each maintenance window. Changes of options that are not declared here cause
	// no restart. Default: Never. PVE: status/reboot.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;WhenRequired
	RestartPolicy *string `json:"restartPolicy,omitempty"`

	// RestartTimeoutSeconds is the time after which a VM is stopped hard and started, 1
	// to 86400 seconds, if its guest has not reacted. It begins at the first request of
	// restartPolicy WhenRequired, in the same maintenance window. Data that the guest has
	// not written yet are lost. Default: the VM is never stopped hard for a restart. PVE:
	// status/stop.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	RestartTimeoutSeconds *int32 `json:"restartTimeoutSeconds,omitempty"`

	// MaintenanceWindow limits when restartPolicy WhenRequired can restart the VM.
	// Default: any time.
	// +optional
	MaintenanceWindow *MaintenanceWindow `json:"maintenanceWindow,omitempty"`
}

// PowerState is the power state that a Machine is kept in.
type PowerState string

// The power states.
const (
	// PowerStateRunning keeps the VM running.
	PowerStateRunning PowerState = "Running"
	// PowerStateStopped keeps the VM shut down.
	PowerStateStopped PowerState = "Stopped"
	// PowerStatePaused keeps the VM's CPUs stopped and its memory on the node.
	PowerStatePaused PowerState = "Paused"
	// PowerStateSuspended keeps the VM's state on disk.
	PowerStateSuspended PowerState = "Suspended"
)

// MachineClone determines how a source is cloned. All fields apply only at creation.
//
// +kubebuilder:validation:XValidation:rule="(has(self.storage) || has(self.format)) ? (has(self.full) && self.full || has(self.snapshot) || has(self.vm) || has(self.machine) || has(self.machineRef) || has(self.machineSelector)) : true",message="clone.storage and clone.format need clone.full: a linked clone stays on the storage of its template"
type MachineClone struct {
	// Full copies the disks. Otherwise the clone is linked: it shares the template's
	// disks, takes seconds and needs little space. Clones of a source that is not a
	// template, and clones of a snapshot, are always full. If the source is on local
	// storage of a node other than node, the clone must be full: it is created on the
	// source's node and migrates before its first start. Default: false. PVE: full.
	// +optional
	Full *bool `json:"full,omitempty"`

	// Storage for the disks of a full clone. Default: the storage of the source.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// Format of the disks of a full clone on file storage: raw, qcow2 or vmdk. Default:
	// the format of the source.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// Snapshot of the source to clone instead of its current state; always a full clone.
	// A template in PVE has no snapshots, so this is for a VM or another Machine. 2 to 40
	// characters. PVE: snapname.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]+$`
	Snapshot *string `json:"snapshot,omitempty"`

	// VM to clone, running or not, managed by a Machine or not: its name, or its VMID as
	// a number or string. The source is only read. The clone is a full clone, unless the
	// VM is a template. A name must be unique among the VMs of the cluster. Cannot
	// change.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="string(self) == string(oldSelf)",messageExpression="'clone.vm cannot change: the VM was cloned from ' + string(oldSelf)"
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? (self >= 100 && self <= 999999999) : (size(self) >= 1 && size(self) <= 100)",message="clone.vm is the name of a VM (1 to 100 characters) or its VMID (100 to 999999999)"
	VM *intstr.IntOrString `json:"vm,omitempty"`

	// Machine is the name of another Machine to clone, running or not, in the same
	// namespace if this resource has one. Its VM must exist and belong to that Machine.
	// The clone is a full clone, unless that VM is a template.
	// +optional
	Machine *string `json:"machine,omitempty"`

	// MachineRef references the Machine to clone; the provider sets machine to its name.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// MachineSelector selects the Machine to clone by its labels. The provider sets
	// machine to its name, which then stays.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`
}

// MachineImage is a cloud image from which a disk is filled: a volume, the file of an
// Image, or the file at a URL.
//
// +kubebuilder:validation:XValidation:rule="[has(self.volume), has(self.ref), has(self.url)].filter(s, s).size() == 1",message="an image comes from one place: set one of volume, ref and url"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !has(self.checksum) && !has(self.checksumURL) && !has(self.format) && !has(self.storages)",message="checksum, checksumURL, format and storages need url"
// +kubebuilder:validation:XValidation:rule="!has(self.checksum) || !has(self.checksumURL)",message="set one of checksum and checksumURL"
type MachineImage struct {
	// Volume ID of the image, on a storage with content type import, such as
	// local:import/ubuntu-24.04.qcow2: a qcow2, raw or vmdk file, or such a file in an
	// OVA, as local:import/appliance.ova/disk.vmdk, for which the storage must also have
	// content type images; up to 255 characters. On local storage, the image must be on
	// the VM's node; if node is not set, a node that has it is chosen. PVE: import-from.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:import/([^/,]+\.ova/)?[^/,]+\.(qcow2|raw|vmdk)$`
	Volume string `json:"volume,omitempty"`

	// Ref is an Image whose file is imported, in the same namespace if this resource has
	// one. The Machine waits until the Image is ready, and is created on a node that has
	// the file. The revision is pinned at creation: a newer revision changes nothing.
	// +optional
	Ref *Reference `json:"ref,omitempty"`

	// URL of the image, http or https, up to 2048 characters. It is a shorthand: the
	// provider creates an Image for that URL, with a name derived from the URL. All
	// Machines of the namespace (or of the cluster scope) with the same image share it,
	// and it is removed with the last of them. For refreshes, templates and older
	// revisions, create an Image and name it by ref.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/\S*)?$`
	URL *string `json:"url,omitempty"`

	// Checksum of the file at url, as algorithm and hexadecimal digits: sha256:9f86d0….
	// Algorithms are md5, sha1, sha224, sha256, sha384 and sha512. A file with another
	// checksum is not kept.
	// +optional
	// +kubebuilder:validation:MaxLength=140
	// +kubebuilder:validation:Pattern=`^(md5:[0-9a-fA-F]{32}|sha1:[0-9a-fA-F]{40}|sha224:[0-9a-fA-F]{56}|sha256:[0-9a-fA-F]{64}|sha384:[0-9a-fA-F]{96}|sha512:[0-9a-fA-F]{128})$`
	Checksum *string `json:"checksum,omitempty"`

	// ChecksumURL is the URL of the list of checksums that a distribution publishes with
	// the file at url, such as SHA256SUMS, or of a file that contains only its digest; up
	// to 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/\S*)?$`
	ChecksumURL *string `json:"checksumURL,omitempty"`

	// Format of the file at url: qcow2, raw or vmdk. Default: the extension in url; qcow2
	// if the extension is .img.
	// +optional
	// +kubebuilder:validation:Enum=qcow2;raw;vmdk
	Format *string `json:"format,omitempty"`

	// Storages that the file at url is downloaded to, 1 to 16. They must be file storages
	// (dir, nfs, cifs, btrfs, cephfs) with the content type import. Default: local.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storages []string `json:"storages,omitempty"`

	// Disk that receives the image, by its name in disks. It gets the size of the image
	// and then grows to its own size. Default: the first of disks that has no volume and
	// no volumeRef.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Disk *string `json:"disk,omitempty"`
}

// PlacementStrategy is how placement chooses among the nodes that fit.
// +kubebuilder:validation:Enum=Balanced;Pack;Spread
type PlacementStrategy string

// The strategies of placement.
const (
	// PlacementBalanced chooses the node that would have the smallest share of its memory
	// assigned.
	PlacementBalanced PlacementStrategy = "Balanced"
	// PlacementPack chooses the node that would have the largest share of its memory
	// assigned.
	PlacementPack PlacementStrategy = "Pack"
	// PlacementSpread chooses the node with the fewest VMs.
	PlacementSpread PlacementStrategy = "Spread"
)

// PlacementSpreadRule determines how strictly a group is spread.
// +kubebuilder:validation:Enum=Preferred;Required
type PlacementSpreadRule string

// The rules of spreading a group.
const (
	// SpreadPreferred chooses the node with the fewest Machines of the group.
	SpreadPreferred PlacementSpreadRule = "Preferred"
	// SpreadRequired never chooses a node that has a Machine of the group.
	SpreadRequired PlacementSpreadRule = "Required"
)

// MachinePlacement chooses a node. Fields that are not set do not limit the choice.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spread) || has(self.group)",message="placement.spread needs placement.group"
type MachinePlacement struct {
	// Nodes are the candidates, by their names in PVE, up to 64. Default: all
	// nodes of the cluster.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Nodes []string `json:"nodes,omitempty"`

	// NodeSelector has the labels that the ProxmoxNode of a candidate must have,
	// up to 32. A node without a ProxmoxNode has no labels.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Strategy among the nodes that fit: Balanced (the smallest share of memory
	// assigned), Pack (the largest), or Spread (the fewest VMs). Default:
	// Balanced.
	// +optional
	Strategy *PlacementStrategy `json:"strategy,omitempty"`

	// Group that this Machine belongs to. The Machines of the same namespace that name
	// the same group are spread over the nodes. Terms of affinity and anti-affinity can
	// also name groups.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Group *string `json:"group,omitempty"`

	// Spread of the group: Preferred chooses the node with the fewest Machines of the
	// group, Required never chooses a node that has one. Default: Preferred.
	// +optional
	Spread *PlacementSpreadRule `json:"spread,omitempty"`

	// Affinity keeps this Machine on the same node as others of its namespace. If no
	// Machine matches a required term, only a Machine that matches the term itself is
	// placed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Affinity []MachineAffinityTerm `json:"affinity,omitempty"`

	// AntiAffinity keeps this Machine and others of its namespace on different nodes.
	// Required terms of other Machines that match this Machine apply as well.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AntiAffinity []MachineAffinityTerm `json:"antiAffinity,omitempty"`

	// MaxVMsPerNode excludes nodes that have this many VMs and containers, not counting
	// templates, 1 to 10000. The maxVMs of a ProxmoxNode applies as well.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxVMsPerNode *int32 `json:"maxVMsPerNode,omitempty"`

	// MinFreeMemory that must remain free on the node after the memory that is assigned
	// to its running VMs, as a quantity of bytes, 0 to 16Ti. Default: a twentieth of the
	// node's memory, at most 2Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('16Ti')) <= 0",messageExpression="'placement.minFreeMemory %s is not a quantity of 0 to 16Ti'.format([self])"
	MinFreeMemory *resource.Quantity `json:"minFreeMemory,omitempty"`

	// MinFreeStorage that must remain free on each storage of the VM, as a quantity of
	// bytes, 0 to 1Pi. New disks count with their full size, on thin storages too.
	// Default: a twentieth of the storage, at most 10Gi. With the default, if no node has
	// room for the full size of new disks, thin storages with more free space than this
	// accept new disks of up to the size of the storage.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('1Pi')) <= 0",messageExpression="'placement.minFreeStorage %s is not a quantity of 0 to 1Pi'.format([self])"
	MinFreeStorage *resource.Quantity `json:"minFreeStorage,omitempty"`

	// CPUOvercommitPercent is the maximum number of virtual CPUs of all running VMs on
	// the node, in percent of its CPU threads, 10 to 10000: 400 means four for each
	// thread. Default: any number.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=10000
	CPUOvercommitPercent *int32 `json:"cpuOvercommitPercent,omitempty"`
}

// MachineAffinityTerm names other Machines by their labels, by their group, or
// by both.
//
// +kubebuilder:validation:XValidation:rule="has(self.group) || has(self.matchLabels) || has(self.matchExpressions)",message="a term of affinity needs group, matchLabels or matchExpressions"
// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="matchExpressions have the operator In or NotIn with values, or Exists or DoesNotExist without"
type MachineAffinityTerm struct {
	// Group of the other Machines.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Group *string `json:"group,omitempty"`

	// MatchLabels of the other Machines, up to 32.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// MatchExpressions about the labels of the other Machines, up to 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`

	// Required terms exclude nodes; other terms only influence the choice. Default: true.
	// +optional
	Required *bool `json:"required,omitempty"`
}

// ExtraValue is the value of an option, as Proxmox VE writes it.
//
// +kubebuilder:validation:MaxLength=4096
type ExtraValue string

// MachineOptions refine the QEMU machine.
//
// +kubebuilder:validation:MinProperties=1
type MachineOptions struct {
	// VIOMMU is the model of a virtual IOMMU: intel (needs machineType q35) or
	// virtio; empty for none. PVE: viommu=.
	// +optional
	// +kubebuilder:validation:Enum=intel;virtio;""
	VIOMMU *string `json:"viommu,omitempty"`

	// AWBits is the width of the IOMMU's addresses in bits, 32 to 64 (intel: 39
	// or 48); 0 for QEMU's default. PVE 9.1 and later: aw-bits=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:validation:XValidation:rule="self == 0 || self >= 32",messageExpression="'machineOptions.awBits %d is neither 0 nor 32 to 64'.format([self])"
	AWBits *int32 `json:"awBits,omitempty"`

	// EnableS3 offers the sleep state S3 (suspend to memory) to the guest. PVE:
	// enable-s3=, default depends on the machine's version.
	// +optional
	EnableS3 *bool `json:"enableS3,omitempty"`

	// EnableS4 offers the sleep state S4 (suspend to disk) to the guest. PVE:
	// enable-s4=, default depends on the machine's version.
	// +optional
	EnableS4 *bool `json:"enableS4,omitempty"`
}

// MachineStartup determines the start order of VMs. At least one field must be set.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !(has(self.order) || has(self.upSeconds) || has(self.downSeconds))",message="startup that is not enabled has no other fields"
type MachineStartup struct {
	// Enabled false removes the VM from the order. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Order of start, lowest first; shutdown is in reverse. 0 or more.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Order *int32 `json:"order,omitempty"`

	// UpSeconds is the time to wait before the next VM is started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpSeconds *int32 `json:"upSeconds,omitempty"`

	// DownSeconds is the time to wait for this VM to shut down before it is stopped.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DownSeconds *int32 `json:"downSeconds,omitempty"`
}

// MachineHighAvailability has the VM's settings in PVE's HA manager.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !has(self.state) && !has(self.maxRestart) && !has(self.maxRelocate) && !has(self.group) && !has(self.failback) && !has(self.rules)",message="enabled false takes the VM out of high availability: leave the other fields out"
// +kubebuilder:validation:XValidation:rule="!has(self.rules) || self.rules != 'Placement' || !has(self.group)",message="rules Placement chooses the group: leave group out"
type MachineHighAvailability struct {
	// Enabled false removes the VM from high availability. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// State requested from the HA manager: started, stopped, disabled, or ignored, with
	// which powerState alone controls the VM's power. The other states take precedence
	// over powerState, which must not contradict them. Default: started or stopped,
	// depending on powerState. PVE: state.
	// +optional
	// +kubebuilder:validation:Enum=started;stopped;disabled;ignored
	State *string `json:"state,omitempty"`

	// MaxRestart is the maximum number of restart attempts on one node, 0 to 10. PVE:
	// max_restart, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxRestart *int32 `json:"maxRestart,omitempty"`

	// MaxRelocate is the maximum number of attempts on other nodes, 0 to 10. PVE:
	// max_relocate, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxRelocate *int32 `json:"maxRelocate,omitempty"`

	// Group in HA that the VM belongs to, 2 to 100 characters; empty for none. PVE 8
	// only: PVE 9 has rules instead, and the group is refused. PVE: group.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9])?$`
	Group *string `json:"group,omitempty"`

	// Failback moves the VM back to a preferred node when that node comes online. PVE 9
	// only: PVE 8 refuses it. PVE: failback, default on.
	// +optional
	Failback *bool `json:"failback,omitempty"`

	// Rules that HA gets so that it keeps the decisions of placement. Placement writes
	// the nodes of placement.nodes and placement.nodeSelector, and the required terms of
	// affinity and anti-affinity, among the Machines of the namespace that also set
	// Placement; None removes the rules that were written. Preferred terms are not
	// written, because HA has no preferences. PVE 9: node-affinity and resource-affinity
	// rules. PVE 8: a group with the nodes; affinity and anti-affinity are refused.
	// Default: rules do not change.
	// +optional
	Rules *HARules `json:"rules,omitempty"`
}

// HARules determines which rules of HA are kept.
//
// +kubebuilder:validation:Enum=None;Placement
type HARules string

const (
	// HARulesNone removes the rules that were kept.
	HARulesNone HARules = "None"

	// HARulesPlacement keeps the decisions of placement.
	HARulesPlacement HARules = "Placement"
)

// MachinePowerAction is an action that is done once.
type MachinePowerAction struct {
	// Action to do: Reboot (by the guest; applies pending changes), Reset (hard; does not
	// apply them), Shutdown (by the guest; the request is repeated until the guest
	// reacts, and after shutdownTimeoutSeconds the VM is stopped hard), Stop (hard) or
	// Start. If the spec has the VM run, it is started again after Shutdown and Stop.
	// +kubebuilder:validation:Enum=Reboot;Reset;Shutdown;Stop;Start
	Action string `json:"action"`

	// Token makes the request unique: the action is done once for each new token, for
	// example a time or a counter. It is never repeated, even if it fails:
	// status.atProvider.powerAction reports its result.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Token string `json:"token"`
}

// MaintenanceWindow is a recurring time span.
type MaintenanceWindow struct {
	// Schedule of the window's start: minute (0-59), hour (0-23), day of the month
	// (1-31), month (1-12) and day of the week (0-6, 0 is Sunday), each *, a number, a
	// range, a list or steps such as */2. If both days are restricted, a match of either
	// is enough, as in cron. "0 2 * * 6" is Saturday at 2:00.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[0-9*,/-]+( [0-9*,/-]+){4}$`
	Schedule string `json:"schedule"`

	// TimeZone of the schedule, a name of the IANA time zone database such as
	// Europe/Oslo. If a change of clocks skips the opening time of a window, the window
	// does not open on that day. Default: UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	// +kubebuilder:validation:XValidation:rule="self != 'Local' && timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0",message="unknown time zone"
	TimeZone *string `json:"timeZone,omitempty"`

	// DurationMinutes is the length of the window, 1 to 1440.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1440
	DurationMinutes int32 `json:"durationMinutes"`
}

// Reference names another object of the same scope.
type Reference struct {
	// Name of the referenced object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// Selector selects another object of the same scope.
type Selector struct {
	// MatchLabels that the object must have.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// MatchControllerRef selects only objects with the same controller as this
	// one, such as those of one composite resource.
	// +optional
	MatchControllerRef *bool `json:"matchControllerRef,omitempty"`
}
