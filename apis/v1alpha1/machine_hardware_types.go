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

// MachineCPU is the CPU topology, model and limits of a VM.
//
// +kubebuilder:validation:XValidation:rule="!has(self.threadsPerCore) || (has(self.cores) && self.cores % ((has(self.sockets) ? self.sockets : 1) * self.threadsPerCore) == 0)",messageExpression="has(self.cores) ? 'threadsPerCore %d needs cores to be a multiple of sockets * threadsPerCore: cores %d, sockets %d'.format([self.threadsPerCore, self.cores, has(self.sockets) ? self.sockets : 1]) : 'threadsPerCore %d needs cores'.format([self.threadsPerCore])"
// +kubebuilder:validation:XValidation:rule="!has(self.vcpus) || self.vcpus == 0 || (has(self.cores) && self.vcpus <= self.cores * (has(self.sockets) ? self.sockets : 1))",messageExpression="has(self.cores) ? 'vcpus %d is out of range: 0 to cores * sockets, which is %d'.format([self.vcpus, self.cores * (has(self.sockets) ? self.sockets : 1)]) : 'vcpus %d needs cores'.format([self.vcpus])"
// +kubebuilder:validation:XValidation:rule="!has(self.flags) || size(self.flags) == 0 || (has(self.type) && size(self.type) > 0)",messageExpression="'flags %s need type'.format([self.flags])"
type MachineCPU struct {
	// Cores per socket, 1 to 1024. For a running VM, a change applies after a restart. A
	// change of vcpus needs no restart if hotplug includes cpu. PVE: cores, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Cores *int32 `json:"cores,omitempty"`

	// Sockets, 1 to 4. PVE: sockets, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	Sockets *int32 `json:"sockets,omitempty"`

	// ThreadsPerCore, 1 or 2, declares how many cores are meant as threads of one core:
	// cores must be a multiple of sockets * threadsPerCore. PVE has no such option and
	// shows every thread as a core.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	ThreadsPerCore *int32 `json:"threadsPerCore,omitempty"`

	// VCPUs that are plugged in at start, at most cores * sockets; the others can be
	// plugged in later. 0 for all. PVE: vcpus, default all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4096
	VCPUs *int32 `json:"vcpus,omitempty"`

	// Type is the emulated CPU model: host, x86-64-v2-AES, kvm64, a model of
	// QEMU, or custom-<name>; empty for PVE's default. PVE: cpu cputype=,
	// default kvm64 in the API.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]*$`
	Type *string `json:"type,omitempty"`

	// Flags of the CPU to turn on (+) or off (-), such as +aes. Needs type. An
	// empty list removes them. PVE: cpu flags=.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[+-][a-zA-Z0-9._-]+$`
	// +kubebuilder:validation:items:MaxLength=32
	Flags []string `json:"flags,omitzero"`

	// Hidden hides from the guest that it runs under KVM. PVE: cpu hidden=, default off.
	// +optional
	Hidden *bool `json:"hidden,omitempty"`

	// HVVendorID is the Hyper-V vendor ID that Windows guests see, 1 to 12 letters and
	// digits; empty for QEMU's default. PVE: cpu hv-vendor-id=.
	// +optional
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]*$`
	HVVendorID *string `json:"hvVendorID,omitempty"`

	// PhysBits is the width of physical addresses that the guest sees: 8 to 64 bits, or
	// host; empty for QEMU's default. PVE: cpu phys-bits=.
	// +optional
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^(host|[89]|[1-5][0-9]|6[0-4])?$`
	PhysBits *string `json:"physBits,omitempty"`

	// GuestPhysBits is the width of physical addresses that the guest can use, 32 to 64
	// bits; 0 for QEMU's default. PVE 9.1 and later: cpu guest-phys-bits=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:validation:XValidation:rule="self == 0 || self >= 32",messageExpression="'cpu.guestPhysBits %d is neither 0 nor 32 to 64'.format([self])"
	GuestPhysBits *int32 `json:"guestPhysBits,omitempty"`

	// Level is the highest basic CPUID leaf that the guest can query; 0 for the model's
	// default. PVE 9.2 and later: cpu level=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Level *int32 `json:"level,omitempty"`

	// Limit of CPU use in cores, 0 (none) to 128, with decimals: "1.5". PVE:
	// cpulimit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('128')) <= 0",messageExpression="'cpu.limit ' + string(self) + ' is out of range: 0 to 128 cores'"
	Limit *resource.Quantity `json:"limit,omitempty"`

	// Units are the weight of the VM relative to other VMs, 1 to 262144; 0 for PVE's
	// default. PVE: cpuunits, default 100; PVE caps it at 10000 with cgroup v2.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=262144
	Units *int32 `json:"units,omitempty"`

	// Affinity pins the VM to cores of the node, such as 0,5,8-11; empty for all. Only
	// root@pam can set it, with its password. Applied at the next restart. PVE: affinity.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^(\d+(-\d+)?(,\d+(-\d+)?)*)?$`
	Affinity *string `json:"affinity,omitempty"`

	// NUMA shows a NUMA topology to the guest. Memory hotplug needs it. PVE: numa,
	// default off.
	// +optional
	NUMA *bool `json:"numa,omitempty"`

	// NUMANodes are the NUMA nodes of the guest; they need numa. An empty list removes
	// all. Applied at the next restart. PVE: numa0 to numa7.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	NUMANodes []MachineNUMANode `json:"numaNodes,omitzero"`
}

// MachineNUMANode is one NUMA node of the guest.
type MachineNUMANode struct {
	// CPUs of the node, such as 0-3.
	// +kubebuilder:validation:Pattern=`^\d+(-\d+)?(;\d+(-\d+)?)*$`
	// +kubebuilder:validation:MaxLength=128
	CPUs string `json:"cpus"`

	// Memory of the node, a quantity of bytes in whole MiB. PVE: numaN memory=
	// (MiB).
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// HostNodes are the NUMA nodes of the host to take the memory from, such as 0;1.
	// +optional
	// +kubebuilder:validation:Pattern=`^\d+(-\d+)?(;\d+(-\d+)?)*$`
	// +kubebuilder:validation:MaxLength=128
	HostNodes *string `json:"hostNodes,omitempty"`

	// Policy of memory allocation on the host: preferred, bind or interleave.
	// +optional
	// +kubebuilder:validation:Enum=preferred;bind;interleave
	Policy *string `json:"policy,omitempty"`
}

// MachineMemoryOptions are the settings of ballooning, shares and huge pages.
type MachineMemoryOptions struct {
	// Minimum memory that ballooning leaves to the guest, a quantity of bytes in whole
	// MiB, at most memory. PVE: balloon (MiB), default memory.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).asApproximateFloat() / 1048576.0 >= 1.0 && quantity(string(self)).asApproximateFloat() / 1048576.0 <= 16777216.0 && double(int(quantity(string(self)).asApproximateFloat() / 1048576.0)) == quantity(string(self)).asApproximateFloat() / 1048576.0",messageExpression="'memoryOptions.minimum %s is not a whole number of MiB in the range 1Mi to 16Ti'.format([self])"
	Minimum *resource.Quantity `json:"minimum,omitempty"`

	// Shares are the weight of the VM in automatic ballooning, 0 (none) to 50000. PVE:
	// shares, default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50000
	Shares *int32 `json:"shares,omitempty"`

	// HugePages of the node to use: any, 2 or 1024 (MiB); empty for none. Only root@pam
	// can set it, with its password. Applied at the next restart. PVE: hugepages.
	// +optional
	// +kubebuilder:validation:Enum=any;"2";"1024";""
	HugePages *string `json:"hugePages,omitempty"`

	// KeepHugePages keeps huge pages allocated after the VM stops. Only root@pam can set
	// it, with its password. PVE: keephugepages, default off.
	// +optional
	KeepHugePages *bool `json:"keepHugePages,omitempty"`

	// AllowKSM allows the node to merge identical memory pages of the VM and other VMs.
	// Applied at the next restart. PVE 9.1 and later: allow-ksm, default on.
	// +optional
	AllowKSM *bool `json:"allowKSM,omitempty"`
}

// MachineEFIDisk holds the variables of the UEFI firmware.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(oldSelf.type) || self.type == oldSelf.type",messageExpression="'efiDisk.type cannot change from %s to %s: it is decided when the disk is made'.format([oldSelf.type, self.type])"
// +kubebuilder:validation:XValidation:rule="!has(self.preEnrolledKeys) || !has(oldSelf.preEnrolledKeys) || self.preEnrolledKeys == oldSelf.preEnrolledKeys",message="efiDisk.preEnrolledKeys cannot change: the keys are enrolled when the disk is made"
// +kubebuilder:validation:XValidation:rule="!has(self.preEnrolledKeys) || !self.preEnrolledKeys || !has(self.type) || self.type == '4m'",message="efiDisk.preEnrolledKeys needs type 4m"
type MachineEFIDisk struct {
	// Enabled false detaches the disk, which remains an unused disk of the VM. Default:
	// true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Storage for the disk. Default: the provider config's default storage; for an
	// existing disk, its current storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// Format of a new disk on file storage: raw, qcow2 or vmdk. Default: the default
	// format of the storage. PVE: format=.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// Type of the variable store: 2m or 4m. Default for a new disk: 4m. Cannot
	// change. PVE: efitype=.
	// +optional
	// +kubebuilder:validation:Enum="2m";"4m"
	Type *string `json:"type,omitempty"`

	// PreEnrolledKeys enrolls the distributions' and Microsoft's keys for secure boot;
	// needs type 4m. Default: false. Cannot change. PVE: pre-enrolled-keys=.
	// +optional
	PreEnrolledKeys *bool `json:"preEnrolledKeys,omitempty"`

	// MSCertificate 2023 makes PVE enroll Microsoft's certificates of 2023 into a disk
	// with preEnrolledKeys that does not have them. They stay if you remove this field
	// again. PVE 9.1 and later: ms-cert=.
	// +optional
	// +kubebuilder:validation:Enum="2023"
	MSCertificate *string `json:"msCertificate,omitempty"`
}

// MachineTPM is the state of a virtual trusted platform module.
//
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !has(oldSelf.version) || self.version == oldSelf.version",messageExpression="'tpm.version cannot change from %s to %s: it is decided when the state is made'.format([oldSelf.version, self.version])"
type MachineTPM struct {
	// Enabled false detaches the state, which remains an unused disk of the VM. Default:
	// true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Storage for the state. Default: the provider config's default storage; for an
	// existing state, its current storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// Format of a new state on file storage: raw, qcow2 or vmdk. Default: raw.
	// PVE 9.1 and later: format=.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// Version of the TPM: v1.2 or v2.0. Default for a new state: v2.0. Cannot
	// change. PVE: version=.
	// +optional
	// +kubebuilder:validation:Enum=v1.2;v2.0
	Version *string `json:"version,omitempty"`
}

// MachineAgentOptions refine how PVE talks to the guest agent.
type MachineAgentOptions struct {
	// Type of the channel: virtio or isa. PVE: agent type=, default virtio.
	// +optional
	// +kubebuilder:validation:Enum=virtio;isa
	Type *string `json:"type,omitempty"`

	// FSTrimClonedDisks trims file systems after a disk is moved or the VM migrates. PVE:
	// agent fstrim_cloned_disks=, default off.
	// +optional
	FSTrimClonedDisks *bool `json:"fstrimClonedDisks,omitempty"`

	// FreezeFSOnBackup freezes file systems for consistent backups. PVE: agent
	// freeze-fs-on-backup=, default on.
	// +optional
	FreezeFSOnBackup *bool `json:"freezeFSOnBackup,omitempty"`
}

// MachineVGA is the display of a VM.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clipboard) || self.clipboard != 'vnc' || !has(self.type) || self.type.matches('^(std|cirrus|vmware|virtio|qxl)')",messageExpression="'vga.clipboard vnc does not go with vga.type ' + self.type"
type MachineVGA struct {
	// Type of the display: std, cirrus, qxl, qxl2 to qxl4, virtio, virtio-gl,
	// vmware, serial0 to serial3 or none. PVE: vga type=, default std.
	// +optional
	// +kubebuilder:validation:Enum=std;cirrus;qxl;qxl2;qxl3;qxl4;virtio;virtio-gl;vmware;serial0;serial1;serial2;serial3;none
	Type *string `json:"type,omitempty"`

	// MemoryMiB is the memory of the display, 4 to 512 MiB; 0 for the type's default.
	// PVE: vga memory=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=512
	// +kubebuilder:validation:XValidation:rule="self == 0 || self >= 4",messageExpression="'vga.memoryMiB %d is neither 0 nor 4 to 512'.format([self])"
	MemoryMiB *int32 `json:"memoryMiB,omitempty"`

	// Clipboard of the console: vnc, or empty for SPICE's clipboard only. Not with type
	// none or serial0 to serial3. PVE: vga clipboard=.
	// +optional
	// +kubebuilder:validation:Enum=vnc;""
	Clipboard *string `json:"clipboard,omitempty"`
}

// MachineAudio is a sound device.
//
// +kubebuilder:validation:XValidation:rule="has(self.enabled) && !self.enabled || has(self.device)",message="audio needs device, unless enabled is false"
type MachineAudio struct {
	// Enabled false removes the device. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Device model: ich9-intel-hda, intel-hda or AC97. PVE: audio0 device=.
	// +optional
	// +kubebuilder:validation:Enum=ich9-intel-hda;intel-hda;AC97
	Device *string `json:"device,omitempty"`

	// Driver of the back end: spice or none. PVE: audio0 driver=, default
	// spice.
	// +optional
	// +kubebuilder:validation:Enum=spice;none
	Driver *string `json:"driver,omitempty"`
}

// MachineRNG is a random number generator fed by the host.
//
// +kubebuilder:validation:XValidation:rule="has(self.enabled) && !self.enabled || has(self.source)",message="rng needs source, unless enabled is false"
type MachineRNG struct {
	// Enabled false removes the device. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Source on the node: /dev/urandom, /dev/random or /dev/hwrng. /dev/hwrng needs the
	// privilege Mapping.Use on /mapping/hwrng, or root@pam. PVE: rng0 source=.
	// +optional
	// +kubebuilder:validation:Enum=/dev/urandom;/dev/random;/dev/hwrng
	Source *string `json:"source,omitempty"`

	// MaxBytes is the maximum number of bytes per period, 0 for no limit. PVE: rng0
	// max_bytes=, default 1024.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBytes *int32 `json:"maxBytes,omitempty"`

	// PeriodMilliseconds is the period of the limit. PVE: rng0 period=, default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PeriodMilliseconds *int32 `json:"periodMilliseconds,omitempty"`
}

// MachineWatchdog is a virtual hardware watchdog.
//
// +kubebuilder:validation:MinProperties=1
type MachineWatchdog struct {
	// Enabled false removes the device. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Model of the device: i6300esb or ib700. PVE: watchdog model=, default
	// i6300esb.
	// +optional
	// +kubebuilder:validation:Enum=i6300esb;ib700
	Model *string `json:"model,omitempty"`

	// Action when the guest no longer responds: reset, shutdown, poweroff, pause, debug
	// or none; empty for QEMU's default, reset. PVE: watchdog action=.
	// +optional
	// +kubebuilder:validation:Enum=reset;shutdown;poweroff;pause;debug;none;""
	Action *string `json:"action,omitempty"`
}

// MachineSMBIOS are the type 1 fields that the guest sees. An empty value removes a
// field.
type MachineSMBIOS struct {
	// Manufacturer of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Manufacturer *string `json:"manufacturer,omitempty"`

	// Product name of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Product *string `json:"product,omitempty"`

	// Version of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version *string `json:"version,omitempty"`

	// Serial number of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Serial *string `json:"serial,omitempty"`

	// SKU of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SKU *string `json:"sku,omitempty"`

	// Family of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Family *string `json:"family,omitempty"`
}

// MachinePCIDevice is a PCI device of the node that is passed through to the guest.
//
// +kubebuilder:validation:XValidation:rule="has(self.mapping) != has(self.host)",messageExpression="'PCI device %s needs either mapping or host'.format([self.name])"
type MachinePCIDevice struct {
	// Name of the device in this list, up to 63 characters. It identifies one device of
	// the VM as long as it is listed, regardless of its position.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// Mapping is the resource mapping to take the device from. It needs the
	// privilege Mapping.Use. PVE: hostpciN mapping=.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]+$`
	Mapping *string `json:"mapping,omitempty"`

	// Host address of the device in lower case, such as 0000:01:00.0; separate several
	// with semicolons. Only root@pam can set it, with its password. PVE: hostpciN host=.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(\.[a-f0-9])?(;([a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(\.[a-f0-9])?)*$`
	Host *string `json:"host,omitempty"`

	// PCIe presents the device as PCI Express instead of PCI; needs machineType q35. PVE:
	// hostpciN pcie=, default off.
	// +optional
	PCIe *bool `json:"pcie,omitempty"`

	// PrimaryGPU makes the device the VM's display. PVE: hostpciN x-vga=, default
	// off.
	// +optional
	PrimaryGPU *bool `json:"primaryGPU,omitempty"`

	// LegacyIGD passes an integrated Intel GPU to the VM as its only display; needs
	// machineType pc and vga type none. PVE: hostpciN legacy-igd=, default off.
	// +optional
	LegacyIGD *bool `json:"legacyIGD,omitempty"`

	// ROMBar shows the device's ROM to the guest. PVE: hostpciN rombar=, default
	// on.
	// +optional
	ROMBar *bool `json:"romBar,omitempty"`

	// ROMFile is a ROM file in /usr/share/kvm of the node; empty for the device's own
	// ROM. In recent versions of PVE, only root@pam can set it, with its password. PVE:
	// hostpciN romfile=.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^,;\s]*$`
	ROMFile *string `json:"romFile,omitempty"`

	// MediatedDevice is the type of a mediated device, such as nvidia-63, that is created
	// at each start; empty for the device itself. PVE: hostpciN mdev=.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[^/.:,;\s]*$`
	MediatedDevice *string `json:"mediatedDevice,omitempty"`

	// Driver is vfio, or keep for a device that stays bound to its own driver. PVE 9.1
	// and later: hostpciN driver=, default vfio.
	// +optional
	// +kubebuilder:validation:Enum=vfio;keep
	Driver *string `json:"driver,omitempty"`

	// VendorID that the guest sees, such as 0x10de; empty for the ID of the device. PVE:
	// hostpciN vendor-id=.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^(0x[0-9a-fA-F]{4})?$`
	VendorID *string `json:"vendorID,omitempty"`

	// DeviceID that the guest sees, such as 0x1db6; empty for the ID of the device. PVE:
	// hostpciN device-id=.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^(0x[0-9a-fA-F]{4})?$`
	DeviceID *string `json:"deviceID,omitempty"`

	// SubVendorID that the guest sees; empty for the ID of the device. PVE: hostpciN
	// sub-vendor-id=.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^(0x[0-9a-fA-F]{4})?$`
	SubVendorID *string `json:"subVendorID,omitempty"`

	// SubDeviceID that the guest sees; empty for the ID of the device. PVE: hostpciN
	// sub-device-id=.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^(0x[0-9a-fA-F]{4})?$`
	SubDeviceID *string `json:"subDeviceID,omitempty"`

	// RemovalPolicy determines what happens to the device when you remove it from the
	// list. Detach and Destroy remove it from the VM. Retain leaves it as it is, no
	// longer managed. Default: Retain for a device that was not created for this list,
	// such as a template's device; Detach otherwise. For a device that was not created
	// for this list, Detach and Destroy apply only if the entry still declared them when
	// you removed it.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}

// MachineUSBDevice is a USB device of the node that is passed through to the guest.
//
// +kubebuilder:validation:XValidation:rule="has(self.mapping) != has(self.host)",messageExpression="'USB device %s needs either mapping or host'.format([self.name])"
type MachineUSBDevice struct {
	// Name of the device in this list, up to 63 characters. It identifies one device of
	// the VM as long as it is listed, regardless of its position.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// Mapping is the resource mapping to take the device from. It needs the
	// privilege Mapping.Use. PVE: usbN mapping=.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]+$`
	Mapping *string `json:"mapping,omitempty"`

	// Host device: vendor:product such as 046d:c52b, bus-port such as 1-2.3, or spice for
	// a device that the console redirects. Except for spice, only root@pam can set it,
	// with its password. PVE: usbN host=.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^((0x)?[0-9A-Fa-f]{4}:(0x)?[0-9A-Fa-f]{4}|\d+-\d+(\.\d+)*|spice)$`
	Host *string `json:"host,omitempty"`

	// USB3 presents the device as USB 3 instead of USB 2; recent guests ignore it. PVE:
	// usbN usb3=, default off.
	// +optional
	USB3 *bool `json:"usb3,omitempty"`

	// RemovalPolicy determines what happens to the device when you remove it from the
	// list. Detach and Destroy remove it from the VM. Retain leaves it as it is, no
	// longer managed. Default: Retain for a device that was not created for this list,
	// such as a template's device; Detach otherwise. For a device that was not created
	// for this list, Detach and Destroy apply only if the entry still declared them when
	// you removed it.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}

// MachineVirtioFS is a directory of the node that is shared with the guest.
type MachineVirtioFS struct {
	// Name of the share in this list, up to 63 characters. It identifies one share of the
	// VM as long as it is listed, regardless of its position.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// Mapping is the directory mapping to share, which is also the tag that the
	// guest mounts. It needs the privilege Mapping.Use. PVE: virtiofsN dirid=.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]+$`
	Mapping string `json:"mapping"`

	// Cache policy: auto, always, metadata or never. PVE: virtiofsN cache=,
	// default auto.
	// +optional
	// +kubebuilder:validation:Enum=auto;always;metadata;never
	Cache *string `json:"cache,omitempty"`

	// DirectIO honors the guest's O_DIRECT. PVE: virtiofsN direct-io=, default off.
	// +optional
	DirectIO *bool `json:"directIO,omitempty"`

	// ExposeACL shows POSIX ACLs, and therefore extended attributes, to the guest. PVE:
	// virtiofsN expose-acl=, default off.
	// +optional
	ExposeACL *bool `json:"exposeACL,omitempty"`

	// ExposeXattr shows extended attributes to the guest. PVE: virtiofsN
	// expose-xattr=, default off.
	// +optional
	ExposeXattr *bool `json:"exposeXattr,omitempty"`

	// RemovalPolicy determines what happens to the share when you remove it from the
	// list. Detach and Destroy remove it from the VM. Retain leaves it as it is, no
	// longer managed. Default: Retain for a share that was not created for this list,
	// such as a template's share; Detach otherwise. For a share that was not created for
	// this list, Detach and Destroy apply only if the entry still declared them when you
	// removed it.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}
