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
// +kubebuilder:validation:XValidation:rule="!has(self.vcpus) || (has(self.cores) && self.vcpus <= self.cores * (has(self.sockets) ? self.sockets : 1))",messageExpression="has(self.cores) ? 'vcpus %d is out of range: 1 to cores * sockets, which is %d'.format([self.vcpus, self.cores * (has(self.sockets) ? self.sockets : 1)]) : 'vcpus %d needs cores'.format([self.vcpus])"
// +kubebuilder:validation:XValidation:rule="!has(self.flags) || has(self.type)",messageExpression="'flags %s need type'.format([self.flags])"
type MachineCPU struct {
	// Cores per socket, 1 to 1024. Needs a restart of a running VM unless cpu
	// hotplug and vcpus are used. PVE: cores, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Cores *int32 `json:"cores,omitempty"`

	// Sockets, 1 to 4. PVE: sockets, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	Sockets *int32 `json:"sockets,omitempty"`

	// ThreadsPerCore, 1 or 2, states how the cores are meant to be seen: cores
	// must be a multiple of sockets * threadsPerCore. PVE has no such option
	// and shows every thread as a core.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	ThreadsPerCore *int32 `json:"threadsPerCore,omitempty"`

	// VCPUs plugged in at start, at most cores * sockets; the others can be
	// plugged in later. PVE: vcpus, default all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	VCPUs *int32 `json:"vcpus,omitempty"`

	// Type is the emulated CPU model: host, x86-64-v2-AES, kvm64, a model of
	// QEMU, or custom-<name>. PVE: cpu, default kvm64 in the API.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Type *string `json:"type,omitempty"`

	// Flags of the CPU to turn on (+) or off (-), such as +aes. Needs type.
	// PVE: cpu flags=.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[+-][a-zA-Z0-9._-]+$`
	// +kubebuilder:validation:items:MaxLength=32
	Flags []string `json:"flags,omitempty"`

	// Limit of CPU use in cores, 0 (none) to 128, with decimals: "1.5". PVE:
	// cpulimit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('128')) <= 0",messageExpression="'cpu.limit ' + string(self) + ' is out of range: 0 to 128 cores'"
	Limit *resource.Quantity `json:"limit,omitempty"`

	// Units are the VM's weight against others, 1 to 262144. PVE: cpuunits,
	// default 100; PVE caps it at 10000 with cgroup v2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=262144
	Units *int32 `json:"units,omitempty"`

	// Affinity pins the VM to host cores, such as 0,5,8-11. Only root@pam may
	// set it. PVE: affinity.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="false",message="cpu.affinity is not served yet by this version of the provider"
	Affinity *string `json:"affinity,omitempty"`

	// NUMA shows a NUMA topology to the guest; needed by memory hotplug. PVE:
	// numa, default off.
	// +optional
	NUMA *bool `json:"numa,omitempty"`

	// NUMANodes are the NUMA nodes of the guest. PVE: numa0 to numa7.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="false",message="cpu.numaNodes is not served yet by this version of the provider"
	NUMANodes []MachineNUMANode `json:"numaNodes,omitempty"`
}

// MachineNUMANode is one NUMA node of the guest.
type MachineNUMANode struct {
	// CPUs of the node, such as 0-3.
	// +kubebuilder:validation:Pattern=`^\d+(-\d+)?(;\d+(-\d+)?)*$`
	// +kubebuilder:validation:MaxLength=128
	CPUs string `json:"cpus"`

	// Memory of the node, a quantity of bytes.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// HostNodes to take the memory from, such as 0;1.
	// +optional
	// +kubebuilder:validation:Pattern=`^\d+(-\d+)?(;\d+(-\d+)?)*$`
	// +kubebuilder:validation:MaxLength=128
	HostNodes *string `json:"hostNodes,omitempty"`

	// Policy of allocation on the host: preferred, bind or interleave.
	// +optional
	// +kubebuilder:validation:Enum=preferred;bind;interleave
	Policy *string `json:"policy,omitempty"`
}

// MachineMemoryOptions are ballooning, shares and huge pages.
type MachineMemoryOptions struct {
	// Minimum memory that ballooning may leave to the guest, a quantity of
	// bytes in whole MiB, at most memory. PVE: balloon (MiB), default memory.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).asApproximateFloat() / 1048576.0 >= 1.0 && quantity(string(self)).asApproximateFloat() / 1048576.0 <= 16777216.0 && double(int(quantity(string(self)).asApproximateFloat() / 1048576.0)) == quantity(string(self)).asApproximateFloat() / 1048576.0",messageExpression="'memoryOptions.minimum %s is not a whole number of MiB in the range 1Mi to 16Ti'.format([self])"
	Minimum *resource.Quantity `json:"minimum,omitempty"`

	// Shares are the VM's weight in automatic ballooning, 0 (none) to 50000.
	// PVE: shares, default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50000
	Shares *int32 `json:"shares,omitempty"`

	// HugePages of the host to use: any, 2 or 1024 (MiB). Only root@pam may
	// set it. PVE: hugepages.
	// +optional
	// +kubebuilder:validation:Enum=any;"2";"1024"
	// +kubebuilder:validation:XValidation:rule="false",message="memoryOptions.hugePages is not served yet by this version of the provider"
	HugePages *string `json:"hugePages,omitempty"`

	// KeepHugePages allocated after the VM stops. PVE: keephugepages.
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="memoryOptions.keepHugePages is not served yet by this version of the provider"
	KeepHugePages *bool `json:"keepHugePages,omitempty"`

	// AllowKSM lets the host merge equal pages. PVE 9 and later: allow-ksm,
	// default on.
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="memoryOptions.allowKSM is not served yet by this version of the provider"
	AllowKSM *bool `json:"allowKSM,omitempty"`
}

// MachineEFIDisk holds the variables of the UEFI firmware.
type MachineEFIDisk struct {
	// Storage for the disk. Default: the provider config's default storage.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Storage *string `json:"storage,omitempty"`

	// Format on file storage: raw, qcow2 or vmdk.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	Format *string `json:"format,omitempty"`

	// Type of the variable store: 2m or 4m. Default: 4m.
	// +optional
	// +kubebuilder:validation:Enum="2m";"4m"
	Type *string `json:"type,omitempty"`

	// PreEnrolledKeys puts Microsoft's secure boot keys in place.
	// +optional
	PreEnrolledKeys *bool `json:"preEnrolledKeys,omitempty"`
}

// MachineTPM is the state of a virtual trusted platform module.
type MachineTPM struct {
	// Storage for the state. Default: the provider config's default storage.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Storage *string `json:"storage,omitempty"`

	// Version of the TPM: v1.2 or v2.0. Default: v2.0.
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

	// FSTrimClonedDisks trims file systems after a disk was moved or the VM
	// migrated. PVE: agent fstrim_cloned_disks=, default off.
	// +optional
	FSTrimClonedDisks *bool `json:"fstrimClonedDisks,omitempty"`

	// FreezeFSOnBackup freezes file systems for consistent backups. PVE: agent
	// freeze-fs-on-backup=, default on.
	// +optional
	FreezeFSOnBackup *bool `json:"freezeFSOnBackup,omitempty"`
}

// MachineVGA is the display of a VM.
type MachineVGA struct {
	// Type of the display: std, cirrus, qxl, qxl2 to qxl4, virtio, virtio-gl,
	// vmware, serial0 to serial3 or none. PVE: vga type=, default std.
	// +optional
	// +kubebuilder:validation:Enum=std;cirrus;qxl;qxl2;qxl3;qxl4;virtio;virtio-gl;vmware;serial0;serial1;serial2;serial3;none
	Type *string `json:"type,omitempty"`

	// MemoryMiB of the display, 4 to 512 MiB. PVE: vga memory=.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=512
	MemoryMiB *int32 `json:"memoryMiB,omitempty"`

	// Clipboard of the console: vnc. PVE: vga clipboard=.
	// +optional
	// +kubebuilder:validation:Enum=vnc
	Clipboard *string `json:"clipboard,omitempty"`
}

// MachineAudio is a sound device.
type MachineAudio struct {
	// Device model: ich9-intel-hda, intel-hda or AC97.
	// +kubebuilder:validation:Enum=ich9-intel-hda;intel-hda;AC97
	Device string `json:"device"`

	// Driver of the back end: spice or none. Default: spice.
	// +optional
	// +kubebuilder:validation:Enum=spice;none
	Driver *string `json:"driver,omitempty"`
}

// MachineRNG is a random number generator fed by the host.
type MachineRNG struct {
	// Source on the host: /dev/urandom, /dev/random or /dev/hwrng.
	// +kubebuilder:validation:Enum=/dev/urandom;/dev/random;/dev/hwrng
	Source string `json:"source"`

	// MaxBytes per period, 0 for no limit. PVE: rng0 max_bytes=, default 1024.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBytes *int32 `json:"maxBytes,omitempty"`

	// PeriodMilliseconds of the limit. PVE: rng0 period=, default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PeriodMilliseconds *int32 `json:"periodMilliseconds,omitempty"`
}

// MachineWatchdog is a virtual hardware watchdog.
type MachineWatchdog struct {
	// Model of the device: i6300esb or ib700. Default: i6300esb.
	// +optional
	// +kubebuilder:validation:Enum=i6300esb;ib700
	Model *string `json:"model,omitempty"`

	// Action when the guest stops answering: reset, shutdown, poweroff, pause,
	// debug or none.
	// +optional
	// +kubebuilder:validation:Enum=reset;shutdown;poweroff;pause;debug;none
	Action *string `json:"action,omitempty"`
}

// MachineSMBIOS are the type 1 fields that the guest sees.
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

// MachinePCIDevice is a PCI device of the host handed to the guest.
//
// +kubebuilder:validation:XValidation:rule="has(self.mapping) != has(self.host)",message="set either mapping or host"
type MachinePCIDevice struct {
	// Name of the device in this list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Mapping is the resource mapping to take the device from.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Mapping *string `json:"mapping,omitempty"`

	// Host address of the device, such as 0000:01:00.0. Only root@pam may set
	// it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Host *string `json:"host,omitempty"`

	// PCIe instead of PCI; needs machineType q35.
	// +optional
	PCIe *bool `json:"pcie,omitempty"`

	// PrimaryGPU makes the device the VM's display.
	// +optional
	PrimaryGPU *bool `json:"primaryGPU,omitempty"`

	// ROMBar shows the device's ROM to the guest. Default: true.
	// +optional
	ROMBar *bool `json:"romBar,omitempty"`

	// MediatedDevice type, such as nvidia-63.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MediatedDevice *string `json:"mediatedDevice,omitempty"`
}

// MachineUSBDevice is a USB device of the host handed to the guest.
//
// +kubebuilder:validation:XValidation:rule="has(self.mapping) != has(self.host)",message="set either mapping or host"
type MachineUSBDevice struct {
	// Name of the device in this list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Mapping is the resource mapping to take the device from.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Mapping *string `json:"mapping,omitempty"`

	// Host device: vendor:product, bus-port, or spice. All but spice only
	// root@pam may set.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Host *string `json:"host,omitempty"`

	// USB3 instead of USB 2.
	// +optional
	USB3 *bool `json:"usb3,omitempty"`
}

// MachineVirtioFS is a directory of the host shared with the guest.
type MachineVirtioFS struct {
	// Name of the share in this list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Mapping is the directory mapping to share.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Mapping string `json:"mapping"`

	// Cache policy: auto, always, metadata or never. Default: auto.
	// +optional
	// +kubebuilder:validation:Enum=auto;always;metadata;never
	Cache *string `json:"cache,omitempty"`

	// DirectIO honours the guest's O_DIRECT.
	// +optional
	DirectIO *bool `json:"directIO,omitempty"`

	// ExposeACL shows POSIX ACLs to the guest.
	// +optional
	ExposeACL *bool `json:"exposeACL,omitempty"`

	// ExposeXattr shows extended attributes to the guest.
	// +optional
	ExposeXattr *bool `json:"exposeXattr,omitempty"`
}
