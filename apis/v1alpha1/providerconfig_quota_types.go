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

// ReasonQuotaExceeded is the reason of the conditions Ready and UpToDate of a resource
// that waits because the quota of its tenant is exceeded, and of the condition
// TenantAllowed of one that would wait if the quota were enforced.
const ReasonQuotaExceeded xpv2.ConditionReason = "QuotaExceeded"

// TenantQuota limits the total amounts of the resources of a tenant, through this
// provider configuration. A resource that exceeds the quota waits until there is room.
// Amounts that are not set are not limited.
//
// +kubebuilder:validation:XValidation:rule="has(self.vms) || has(self.cores) || has(self.memory) || has(self.disks) || has(self.snapshots) || has(self.backups) || has(self.publicAddresses)",message="quota limits nothing: set vms, cores, memory, disks, snapshots, backups or publicAddresses"
type TenantQuota struct {
	// VMs is the number of VMs, 0 to 100000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	VMs *int32 `json:"vms,omitempty"`

	// Cores of all VMs, running or not, 0 to 1000000: the cores of each VM times its
	// sockets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Cores *int32 `json:"cores,omitempty"`

	// Memory of all VMs in bytes, running or not, such as 64Gi; 0 or more.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="quota.memory is 0 or more"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// Disks are the limits on the total size of the disks of all VMs and Volumes, by
	// storage, up to 64. A detached disk counts as long as its VM keeps it. Disks of
	// firmware, drives of removable media and snapshots do not count.
	// +optional
	// +listType=map
	// +listMapKey=storage
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Disks []TenantStorageQuota `json:"disks,omitempty"`

	// Snapshots is the number of Snapshots, including those that SnapshotPolicies make, 0
	// to 100000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Snapshots *int32 `json:"snapshots,omitempty"`

	// Backups is the number of Backups, 0 to 100000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Backups *int32 `json:"backups,omitempty"`

	// PublicAddresses are the limits on the number of interfaces of all VMs that are
	// attached to a bridge or VNet with scarce addresses, up to 64.
	// +optional
	// +listType=map
	// +listMapKey=bridge
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	PublicAddresses []TenantAddressQuota `json:"publicAddresses,omitempty"`
}

// TenantStorageQuota limits the size of a tenant's disks on a storage.
type TenantStorageQuota struct {
	// Storage of the disks, 2 to 100 characters.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage string `json:"storage"`

	// Size of all disks on the storage in bytes, such as 500Gi; 0 or more. Disk sizes
	// have units of 1024: use Gi or Ti.
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="quota.disks.size is 0 or more"
	Size resource.Quantity `json:"size"`
}

// TenantAddressQuota limits the number of a tenant's interfaces that are attached to a
// bridge.
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

// TenantObservation is the usage of a tenant with a quota.
type TenantObservation struct {
	// Name of the tenant.
	Name string `json:"name"`

	// Usage of the resources that the quota limits.
	// +optional
	// +listType=map
	// +listMapKey=resource
	Usage []TenantUsage `json:"usage,omitempty"`
}

// TenantUsage is a tenant's usage of a resource.
type TenantUsage struct {
	// Resource is vms, cores, memory, snapshots, backups, disks/ and a storage, or
	// publicAddresses/ and a bridge.
	Resource string `json:"resource"`

	// Used is the amount that exists or is about to be created.
	Used resource.Quantity `json:"used"`

	// Limit of the quota.
	Limit resource.Quantity `json:"limit"`

	// Waiting is the number of resources that wait for room.
	// +optional
	Waiting *int32 `json:"waiting,omitempty"`
}
