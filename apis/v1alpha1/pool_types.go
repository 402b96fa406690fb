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

// A Pool is a group of virtual machines and storages of Proxmox VE, on which
// permissions can be granted.
//
// +proxmox:kind=Pool,shortName=pvepool,forProvider=optional
// +kubebuilder:printcolumn:name="POOL",type="string",JSONPath=".status.atProvider.name"
// +kubebuilder:printcolumn:name="MEMBERS",type="integer",JSONPath=".status.atProvider.memberCount"

// PoolParameters describe a pool. Only the fields that are set are managed. The
// provider adds members and keeps members that others have added.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(oldSelf.name)].filter(h, h).size() != 2 || self.name == oldSelf.name",message="name cannot change: a pool cannot be renamed"
type PoolParameters struct {
	// Name of the pool: letters, digits, hyphens, underscores and dots, the first a
	// letter. The name of a nested pool begins with the names of its parent pools, as in
	// production/web: three levels at most, and the parent pool must exist. Default: the
	// name of this resource. Cannot change (PVE: poolid).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9._-]*(/[A-Za-z][A-Za-z0-9._-]*){0,2}$`
	Name *string `json:"name,omitempty"`

	// Comment on the pool. Empty removes it (PVE: comment).
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Comment *string `json:"comment,omitempty"`

	// VMIDs of VMs and containers that are members, 100 to 999999999 each. A guest that
	// is in another pool stays there, and this resource is not ready while the guest is
	// in that pool (PVE: vms).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=999999999
	VMIDs []int32 `json:"vmids,omitempty"`

	// MachineRefs reference Machines that are members. To create a Machine in the pool,
	// set the field pool of the Machine instead.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	MachineRefs []Reference `json:"machineRefs,omitempty"`

	// MachineSelector selects Machines that are members, including those that are created
	// later.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`

	// Storages that are members (PVE: storage).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=100
	Storages []string `json:"storages,omitempty"`

	// StorageRefs reference Storages that are members.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	StorageRefs []Reference `json:"storageRefs,omitempty"`

	// StorageSelector selects Storages that are members, including those that are created
	// later.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`
}

// PoolObservation is the observed state of a pool.
type PoolObservation struct {
	ObjectObservation `json:",inline"`

	// VMIDs of the current members, no matter who added them. Shown when the spec names
	// members.
	// +optional
	// +listType=set
	VMIDs []int32 `json:"vmids,omitempty"`

	// Storages that are members, no matter who added them. Shown when the spec names
	// members.
	// +optional
	// +listType=set
	Storages []string `json:"storages,omitempty"`

	// MemberCount is the number of members. Shown when the spec names members.
	// +optional
	MemberCount *int32 `json:"memberCount,omitempty"`
}
