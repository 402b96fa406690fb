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
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ReasonQuotaExceeded is the reason of the conditions Ready and UpToDate of a resource that waits
// for room in the quota of its tenant.
const ReasonQuotaExceeded xpv2.ConditionReason = "QuotaExceeded"

// TenantQuota is how much the resources of a tenant may have together, by this provider
// configuration. What is more waits until there is room. What is left out is not limited.
//
// +kubebuilder:validation:XValidation:rule="has(self.vms) || has(self.cores) || has(self.memory) || has(self.disks) || has(self.snapshots) || has(self.publicAddresses)",message="quota limits nothing: set vms, cores, memory, disks, snapshots or publicAddresses"
type TenantQuota struct {
	// VMs is the number of VMs, 0 to 100000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	VMs *int32 `json:"vms,omitempty"`

	// Cores of all VMs, running or not: those of each are its cores times its sockets, 0 to
	// 1000000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Cores *int32 `json:"cores,omitempty"`

	// Memory of all VMs in bytes, running or not, such as 64Gi; 0 or more.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="quota.memory is 0 or more"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// Disks are the sizes of the disks of all VMs, by storage, up to 64. Disks of firmware,
	// drives of removable media, snapshots and detached disks do not count.
	// +optional
	// +listType=map
	// +listMapKey=storage
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Disks []TenantStorageQuota `json:"disks,omitempty"`

	// Snapshots is the number of Snapshots, also those that SnapshotPolicies make, 0 to 100000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Snapshots *int32 `json:"snapshots,omitempty"`

	// Backups is the number of Backups, 0 to 100000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Backups *int32 `json:"backups,omitempty"`

	// PublicAddresses are the numbers of interfaces of all VMs that are attached to a bridge or
	// VNet, whose addresses are scarce, up to 64.
	// +optional
	// +listType=map
	// +listMapKey=bridge
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	PublicAddresses []TenantAddressQuota `json:"publicAddresses,omitempty"`
}

// TenantStorageQuota is how much of a storage the disks of a tenant may have.
type TenantStorageQuota struct {
	// Storage that the disks are on, 2 to 100 characters.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage"`

	// Size of all disks on it in bytes, such as 500Gi; 0 or more. As sizes of disks are in
	// units of 1024, give it in Gi or Ti.
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="quota.disks.size is 0 or more"
	Size resource.Quantity `json:"size"`
}

// TenantAddressQuota is how many interfaces of a tenant may be attached to a bridge.
type TenantAddressQuota struct {
	// Bridge or VNet, 1 to 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`
	Bridge string `json:"bridge"`

	// Count of interfaces, 0 to 100000.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Count int32 `json:"count"`
}

// TenantObservation is how much a tenant with a quota has.
type TenantObservation struct {
	// Name of the tenant.
	Name string `json:"name"`

	// Usage of what the quota limits.
	// +optional
	// +listType=map
	// +listMapKey=resource
	Usage []TenantUsage `json:"usage,omitempty"`
}

// TenantUsage is how much a tenant has of a resource.
type TenantUsage struct {
	// Resource is vms, cores, memory, snapshots, disks/ and a storage, or publicAddresses/ and
	// a bridge.
	Resource string `json:"resource"`

	// Used is how much of it is there or about to be made.
	Used resource.Quantity `json:"used"`

	// Limit of the quota.
	Limit resource.Quantity `json:"limit"`

	// Waiting is how many resources wait for room.
	// +optional
	Waiting *int32 `json:"waiting,omitempty"`
}
