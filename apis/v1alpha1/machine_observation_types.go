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

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MachineObservation is the observed state of a VM.
type MachineObservation struct {
	// Phase of the VM: Pending (nothing was created), Creating, Running,
	// Stopped or Error (see the conditions).
	// +optional
	Phase MachinePhase `json:"phase,omitempty"`

	// VMID of the VM.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Cluster in Proxmox VE that the VM is in, by its name. It is empty if its node is in
	// no cluster, or if the token cannot read the name, which needs Sys.Audit on /.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// Node that the VM is on.
	// +optional
	Node string `json:"node,omitempty"`

	// Name of the VM.
	// +optional
	Name string `json:"name,omitempty"`

	// UUID of the VM (SMBIOS), which proves that the VM belongs to this resource.
	// +optional
	UUID string `json:"uuid,omitempty"`

	// RecordSignature is set if the provider configuration has tenants. It proves to the
	// provider that it has recorded VMID and UUID itself, for this resource and this
	// provider configuration. So it can delete a VM that is no longer where the tenant's
	// VMs must be.
	// +optional
	RecordSignature string `json:"recordSignature,omitempty"`

	// Annotations of this resource that the provider relies on, as it last found them. If
	// somebody removes one, the provider restores it from here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// PowerState as PVE reports it: running, stopped, paused, suspended, or
	// another state of QEMU, such as io-error or guest-panicked.
	// +optional
	PowerState string `json:"powerState,omitempty"`

	// UptimeSeconds of the running VM. It is updated when another value changes. If only
	// the uptime changes, it is updated when it is wrong by half of itself, where this
	// limit is at least ten minutes and at most an hour, or a tenth of the uptime if that
	// is longer. startedAt is exact.
	// +optional
	UptimeSeconds *int64 `json:"uptimeSeconds,omitempty"`

	// Usage of CPU, memory and disks of the running VM, as PVE last listed it. It is
	// updated only together with another of these values, including uptimeSeconds:
	// observedAt has its time.
	// +optional
	Usage *MachineUsageObservation `json:"usage,omitempty"`

	// StartedAt is when the running VM started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// Pool of PVE that the VM is a member of.
	// +optional
	Pool string `json:"pool,omitempty"`

	// HAState is the state in which PVE's HA manager must keep the VM; empty if it does
	// not manage the VM.
	// +optional
	HAState string `json:"haState,omitempty"`

	// Lock of PVE on the VM, such as clone, backup or migrate.
	// +optional
	Lock string `json:"lock,omitempty"`

	// IPAddresses of the guest as its agent reports them, without loopback and link-local
	// addresses. Addresses of networks come before those that the guest has created for
	// itself, such as for containers, and IPv4 addresses come first.
	// +optional
	// +listType=atomic
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// CPU cores and sockets that are in effect.
	// +optional
	CPU *MachineCPUObservation `json:"cpu,omitempty"`

	// MemoryBytes of the VM.
	// +optional
	MemoryBytes *int64 `json:"memoryBytes,omitempty"`

	// Disks of the VM as they are, whether declared or not.
	// +optional
	// +listType=map
	// +listMapKey=device
	Disks []MachineDiskObservation `json:"disks,omitempty"`

	// PendingDisks are the names of the disks of the spec that a new VM does not have
	// yet, such as the disk of a Volume that is not attached yet. Snapshots and Backups
	// of the Machine wait for them. Once the VM has had all disks, the list stays empty:
	// disks that are added or missing later do not delay Snapshots and Backups.
	// +optional
	// +listType=atomic
	PendingDisks []string `json:"pendingDisks,omitempty"`

	// CDROMs are the CD-ROM drives of the VM as they are, whether declared or not.
	// +optional
	// +listType=map
	// +listMapKey=device
	CDROMs []MachineCDROMObservation `json:"cdroms,omitempty"`

	// Networks of the VM as they are, whether declared or not.
	// +optional
	// +listType=map
	// +listMapKey=device
	Networks []MachineNetworkObservation `json:"networks,omitempty"`

	// RetainedDevices are devices of the VM whose entries were removed from their list in
	// the spec, but which stay in the VM. They are no longer managed until an entry with
	// their name or their device is added again.
	// +optional
	// +listType=map
	// +listMapKey=device
	RetainedDevices []MachineRetainedDevice `json:"retainedDevices,omitempty"`

	// Config is the VM's configuration that is in effect as PVE writes it, whether
	// declared or not, by the names of its options. It is set only if the spec has
	// showConfig. Notes, SSH keys, passwords and QEMU arguments are left out.
	// +optional
	Config map[string]string `json:"config,omitempty"`

	// PendingChanges are options that PVE applies at the next restart, by
	// their PVE name.
	// +optional
	// +listType=map
	// +listMapKey=option
	PendingChanges []MachinePendingChange `json:"pendingChanges,omitempty"`

	// Difference between the spec and the VM, by PVE option: what the next update sends,
	// or would send with managementPolicies ["Observe"].
	// +optional
	// +listType=map
	// +listMapKey=option
	Difference []MachinePendingChange `json:"difference,omitempty"`

	// Placement is the reason why the VM was created on its node. The current node is in
	// node.
	// +optional
	Placement *MachinePlacementObservation `json:"placement,omitempty"`

	// Image from which the VM was made, if the spec names one by image.ref, image.url or
	// templateRef.
	// +optional
	Image *MachineImageObservation `json:"image,omitempty"`

	// LastTask in PVE that this provider started for the VM and saw end.
	// +optional
	LastTask *MachineTask `json:"lastTask,omitempty"`

	// PowerAction that was last done.
	// +optional
	PowerAction *MachinePowerActionObservation `json:"powerAction,omitempty"`

	// Rollback that was last requested.
	// +optional
	Rollback *MachineRollbackObservation `json:"rollback,omitempty"`

	// RestoreInPlace that was last requested.
	// +optional
	RestoreInPlace *MachineRestoreInPlaceObservation `json:"restoreInPlace,omitempty"`

	// Recreation that was last requested.
	// +optional
	Recreation *MachineRecreationObservation `json:"recreation,omitempty"`

	// LastUpdated is when one of these values, except uptime and usage, last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// MachineUsageObservation is the resource usage of a running VM.
type MachineUsageObservation struct {
	// CPUPercent is the share of the VM's virtual CPUs that is in use, 0 to 100.
	CPUPercent int32 `json:"cpuPercent"`

	// MemoryBytes that the guest uses, as its balloon driver reports; without that
	// report, the memory that the VM's process uses on the node.
	MemoryBytes int64 `json:"memoryBytes"`

	// DiskReadBytes are the bytes that the guest has read from its disks since its start.
	// PVE does not know how full its file systems are.
	DiskReadBytes int64 `json:"diskReadBytes"`

	// DiskWrittenBytes are the bytes that the guest has written to its disks since its
	// start.
	DiskWrittenBytes int64 `json:"diskWrittenBytes"`

	// ObservedAt is when PVE listed these values.
	ObservedAt metav1.Time `json:"observedAt"`
}

// MachinePhase is a phase of a Machine.
// +kubebuilder:validation:Enum=Pending;Creating;Running;Stopped;Error
type MachinePhase string

// The phases of a Machine.
const (
	// MachinePending means that nothing was created yet.
	MachinePending MachinePhase = "Pending"
	// MachineCreating means that the VM is being created or configured for the
	// first time.
	MachineCreating MachinePhase = "Creating"
	// MachineRunning means that the VM is on. Whether it is paused is in powerState.
	MachineRunning MachinePhase = "Running"
	// MachineStopped means that the VM does not run.
	MachineStopped MachinePhase = "Stopped"
	// MachineError means that the VM cannot reach the desired state; the conditions
	// report why.
	MachineError MachinePhase = "Error"
)

// MachineCPUObservation is the CPU topology of a VM.
type MachineCPUObservation struct {
	// Cores per socket.
	Cores int32 `json:"cores"`

	// Sockets of the VM.
	Sockets int32 `json:"sockets"`
}

// MachineDiskObservation is a disk of a VM as it is.
type MachineDiskObservation struct {
	// Device in PVE, such as scsi0, or unused0 for a disk that is detached.
	Device string `json:"device"`

	// Name of the disk in the spec, if it is, or was, declared there.
	// +optional
	Name string `json:"name,omitempty"`

	// Volume ID, such as local-lvm:vm-100-disk-0.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Size as PVE writes it, such as 20G (GiB).
	// +optional
	Size string `json:"size,omitempty"`
}

// MachineCDROMObservation is a CD-ROM drive of a VM as it is.
type MachineCDROMObservation struct {
	// Device in PVE, such as ide2.
	Device string `json:"device"`

	// Name of the drive in the spec's cdroms, if it is, or was, declared there.
	// +optional
	Name string `json:"name,omitempty"`

	// Volume ID of the medium, such as local:iso/debian.iso; cdrom for the
	// physical drive of the node; empty for a drive without a medium.
	// +optional
	Volume string `json:"volume,omitempty"`
}

// MachineNetworkObservation is a network interface of a VM as it is.
type MachineNetworkObservation struct {
	// Device in PVE, such as net0.
	Device string `json:"device"`

	// Name of the interface in the spec, if it is, or was, declared there.
	// +optional
	Name string `json:"name,omitempty"`

	// MACAddress of the interface.
	// +optional
	MACAddress string `json:"macAddress,omitempty"`

	// Bridge that the interface is plugged into.
	// +optional
	Bridge string `json:"bridge,omitempty"`

	// Model of the interface.
	// +optional
	Model string `json:"model,omitempty"`

	// VLAN tag, if any.
	// +optional
	VLAN *int32 `json:"vlan,omitempty"`

	// Interface name in the guest, as its agent reports it.
	// +optional
	Interface string `json:"interface,omitempty"`

	// IPAddresses of the interface, as the agent reports them.
	// +optional
	// +listType=atomic
	IPAddresses []string `json:"ipAddresses,omitempty"`
}

// MachineRetainedDevice is a device whose entry was removed from its list in the spec.
type MachineRetainedDevice struct {
	// Device in PVE, such as scsi0.
	Device string `json:"device"`

	// List in the spec that had the entry: disks, cdroms, networks, pciDevices,
	// usbDevices or virtiofs.
	List string `json:"list"`

	// Name of the entry.
	Name string `json:"name"`

	// Reason why the device is retained.
	Reason string `json:"reason"`
}

// MachinePendingChange is the change of one option.
type MachinePendingChange struct {
	// Option of the VM's configuration by its PVE name.
	Option string `json:"option"`

	// Current value; empty when the option is not set.
	// +optional
	Current string `json:"current,omitempty"`

	// Desired value; empty when the option is removed.
	// +optional
	Desired string `json:"desired,omitempty"`
}

// MachineTask is a task of PVE.
type MachineTask struct {
	// UPID of the task.
	UPID string `json:"upid"`

	// Type of the task, such as qmclone.
	Type string `json:"type"`

	// Result of the task: OK, a warning count, or the error.
	Result string `json:"result"`
}

// MachinePlacementObservation is the choice of a node.
type MachinePlacementObservation struct {
	// Node that was chosen.
	Node string `json:"node"`

	// Reason for the node.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Others are the nodes that were not chosen.
	// +optional
	// +listType=map
	// +listMapKey=node
	Others []MachinePlacementRejection `json:"others,omitempty"`
}

// MachinePlacementRejection is the reason why a node was not chosen.
type MachinePlacementRejection struct {
	// Node that was not chosen.
	Node string `json:"node"`

	// Reason against the node.
	Reason string `json:"reason"`
}

// MachinePowerActionObservation is the state of a power action.
type MachinePowerActionObservation struct {
	// Action that was done.
	Action string `json:"action"`

	// Token of the request.
	Token string `json:"token"`

	// UPID of the task.
	// +optional
	UPID string `json:"upid,omitempty"`

	// Result of the action: OK, a warning count, or the error. It is empty while its task
	// runs, and unknown if the provider stopped before it could see the result.
	// +optional
	Result string `json:"result,omitempty"`
}

// MachineImageObservation is the revision of an Image from which a VM was made. It
// does not change when the Image gets a newer revision.
type MachineImageObservation struct {
	// Name of the Image.
	Name string `json:"name"`

	// Revision of the Image.
	Revision int32 `json:"revision"`

	// Digest of the revision's file as it was downloaded, if its checksum is known.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Volume from which a disk was filled.
	// +optional
	Volume string `json:"volume,omitempty"`

	// TemplateVMID is the VMID of the template that was cloned.
	// +optional
	TemplateVMID *int32 `json:"templateVMID,omitempty"`
}
