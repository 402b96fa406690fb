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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypeTenantAllowed reports whether a resource follows the rules of its tenant and,
// where these are not enforced, whether it would have to wait for the tenant's quota.
const TypeTenantAllowed xpv2.ConditionType = "TenantAllowed"

// TenantEnforcement determines what happens when a resource breaks the rules of its
// tenant.
type TenantEnforcement string

// The ways of enforcement.
const (
	// TenantRefuse refuses the resource.
	TenantRefuse TenantEnforcement = "Refuse"
	// TenantWarn reports what would be refused or would wait.
	TenantWarn TenantEnforcement = "Warn"
)

// ReasonTenantRefused is the reason of the conditions Ready and UpToDate of a resource
// that breaks the rules of its tenant.
const ReasonTenantRefused xpv2.ConditionReason = "TenantRefused"

// ProviderTenant determines which resources belong to a tenant, and what they may use
// and do. Anything that a list does not name is refused before anything is written.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) || has(self.namespaceSelector) || has(self.resourceSelector)",messageExpression="'tenant %s is nobody: set namespaces, namespaceSelector or resourceSelector'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="has(self.unrestricted) && self.unrestricted || has(self.vmidRange) || has(self.pools)",messageExpression="'tenant %s needs vmidRange or pools, by which its VMs are told from those of others'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.unrestricted) || !self.unrestricted || !(has(self.vmidRange) || has(self.pools) || has(self.tags) || has(self.nodes) || has(self.storages) || has(self.bridges) || has(self.sdnZones) || has(self.images) || has(self.imageHosts) || has(self.templates) || has(self.ipPools) || has(self.connectionSecretNamespaces) || has(self.allow) || has(self.quota))",messageExpression="'tenant %s is unrestricted: leave out what it may use and do'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.tags) || !has(self.allow) || !has(self.allow.adoptTags) || self.tags.all(t, !(t in self.allow.adoptTags))",messageExpression="'tenant %s has a tag in tags and in allow.adoptTags: the one is on all of its VMs, the other tells which are handed over to it'.format([self.name])"
type ProviderTenant struct {
	// Name of the tenant, which refusals show, 1 to 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// Namespaces whose resources belong to the tenant, by name, 1 to 64. Cluster-scoped
	// resources belong to the tenant if their claim is in one of these namespaces, by the
	// label crossplane.io/claim-namespace.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// NamespaceSelector selects more namespaces by their labels. It needs the permissions
	// get, list and watch on namespaces. If two tenants select the same namespace, its
	// resources are not allowed to do anything.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// ResourceSelector selects cluster-scoped resources by their own labels. It is
	// ignored for namespaced resources, because their owners choose their labels.
	// +optional
	ResourceSelector *metav1.LabelSelector `json:"resourceSelector,omitempty"`

	// Unrestricted allows the resources to do everything that the credentials permit. Set
	// it for the operators of the cluster. Default: false.
	// +optional
	Unrestricted *bool `json:"unrestricted,omitempty"`

	// VMIDRange from which the tenant's VMs get their VMIDs, lowest free first. A VM
	// outside this range does not belong to the tenant. Default: the range of the
	// provider configuration; only pools then determine which VMs belong to the tenant.
	// +optional
	VMIDRange *VMIDRange `json:"vmidRange,omitempty"`

	// Pools that the tenant's VMs are members of, 1 to 32. A VM whose spec has no pool is
	// created in the first of them. A VM in another pool, or in no pool, does not belong
	// to the tenant. Default: VMs are in no pool.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`
	Pools []string `json:"pools,omitempty"`

	// Tags that every VM of the tenant has in addition to the tags in its spec, up to 16.
	// No other tenant can set them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	Tags []string `json:"tags,omitempty"`

	// Nodes that VMs can be on, up to 64: placement chooses from these. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Nodes []string `json:"nodes,omitempty"`

	// Storages that disks and backups can be on, up to 64. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storages []string `json:"storages,omitempty"`

	// Bridges and VNets that interfaces can be attached to, up to 64. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Bridges []TenantBridge `json:"bridges,omitempty"`

	// SDNZones to whose VNets interfaces can be attached, up to 32: all VNets of a zone,
	// with any VLAN, except VNets that bridges lists with their own VLANs. It needs
	// SDN.Audit on the zones. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=8
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9]*$`
	SDNZones []string `json:"sdnZones,omitempty"`

	// Images from which disks can be filled and that can be inserted into CD-ROM drives,
	// by their volume IDs, up to 64; * matches any characters except slashes:
	// local:iso/debian-*.iso. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:(iso|import)/[^/,\s?\\\[\]]+$`
	Images []string `json:"images,omitempty"`

	// ImageHosts that image.url of Machines, and source.url and source.checksumURL of
	// Images, may name, up to 64, in lower case: a name, an IPv4 address, or an IPv6
	// address in brackets, with a port if the URL has one: images.example.org,
	// mirror.example.org:8443. A name that begins with *. matches all names with any one
	// label in its place. With ImageHosts, a namespace may have Images with a URL. Their
	// files are on storages of the tenant, and their names begin with the name of the
	// namespace and a dot; VMs of the namespace can use these files. File names of
	// cluster-scoped resources begin with the namespace of their claim in the same way.
	// If only labels determine the tenant, they begin with the tenant's name, an
	// underscore, the name of the provider configuration, an underscore and a dot. A node
	// follows redirects to any other host: list only hosts whose redirects you trust.
	// Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^(\[[0-9a-f:.]+\]|([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?|\*\.([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?)(:[1-9][0-9]{0,4})?$`
	ImageHosts []string `json:"imageHosts,omitempty"`

	// Templates from which VMs can be cloned in addition to the tenant's own, by their
	// names, up to 64; * matches any characters: debian-*. Templates of other tenants are
	// never included. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9.*-]+$`
	Templates []string `json:"templates,omitempty"`

	// IPPools of Cluster API's IPAM from which networks can take their addresses, by kind
	// and name, up to 64; * matches any characters except slashes: InClusterIPPool/lan-*.
	// The API group is ipam.cluster.x-k8s.io unless it follows the kind:
	// Pool.ipam.example.org/lan-*. For a namespaced kind of pool, only pools in the
	// resource's namespace count; for a cluster-scoped resource, pools in the namespace
	// of its claim and in the namespaces of the field namespaces. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=320
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9*-]+(\.[a-z0-9.*-]+)?/[a-z0-9.*-]+$`
	IPPools []string `json:"ipPools,omitempty"`

	// ConnectionSecretNamespaces are more namespaces in which cluster-scoped resources
	// can have their connection Secrets, up to 64, such as the namespace in which
	// Compositions keep them. Default: only the namespace of the claim and the namespaces
	// of the field namespaces.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	ConnectionSecretNamespaces []string `json:"connectionSecretNamespaces,omitempty"`

	// Allow has the permissions that a tenant does not have by default.
	// +optional
	Allow *TenantPermissions `json:"allow,omitempty"`

	// Quota limits the total amounts of the tenant's resources. Default: no limit.
	// +optional
	Quota *TenantQuota `json:"quota,omitempty"`
}

// TenantBridge is a bridge or VNet with its VLANs.
type TenantBridge struct {
	// Name of the bridge or VNet, 1 to 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`
	Name string `json:"name"`

	// VLANs of the bridge, up to 32 ranges. If they are set, every interface needs one of
	// these tags, because an interface without a tag gets all VLANs of a VLAN-aware
	// bridge. Default: any VLAN, and interfaces without a tag.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	VLANs []VLANRange `json:"vlans,omitempty"`
}

// VLANRange is a range of VLANs, both ends included.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",messageExpression="'vlans: min %d must not exceed max %d'.format([self.min, self.max])"
type VLANRange struct {
	// Min is the lowest VLAN, 1 to 4094.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	Min int32 `json:"min"`

	// Max is the highest VLAN, 1 to 4094.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	Max int32 `json:"max"`
}

// TenantPermissions are the permissions of a tenant beyond having VMs.
type TenantPermissions struct {
	// Adopt allows the tenant to adopt VMs that are members of these pools, up to 32, by
	// the annotation crossplane.io/external-name. From then on, such a VM belongs to the
	// tenant while it is in one of the tenant's own pools and in its VMID range, or in
	// one of these pools. The tenant must be allowed to use the VM's node and everything
	// that the VM has. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`
	Adopt []string `json:"adopt,omitempty"`

	// AdoptTags also allows the tenant to adopt VMs that have one of these tags, up to
	// 16, unless they are where another tenant's VMs are, or in a pool from which another
	// tenant can adopt VMs. Such a VM belongs to the tenant while it has the tag, which
	// its Machine keeps. No tenant can set these tags. Everybody who can change the
	// options of a VM in Proxmox VE can set its tags: permit that only to operators.
	// Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	AdoptTags []string `json:"adoptTags,omitempty"`

	// Passthrough allows VMs to use devices and directories of nodes from these resource
	// mappings, up to 32. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Passthrough []string `json:"passthrough,omitempty"`

	// ExtraConfig allows these options in extraConfig, up to 32. With args, hookscript or
	// cicustom, a tenant can access the node, regardless of all other settings here.
	// Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=40
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-z0-9_-]*$`
	ExtraConfig []string `json:"extraConfig,omitempty"`

	// RootOptions allows options that in Proxmox VE only root@pam can set, with its
	// password: hookscript, cpu.affinity, huge pages, args and the others of extraConfig,
	// PCI and USB devices and serial ports of nodes by their addresses; and
	// cpu.numaNodes[].hostNodes. With these options, a tenant can access the node,
	// regardless of all other settings here. Default: false.
	// +optional
	RootOptions *bool `json:"rootOptions,omitempty"`

	// HighAvailability allows the tenant to put VMs under the control of PVE's HA
	// manager, with rules between VMs of the tenant. Default: false.
	// +optional
	HighAvailability *bool `json:"highAvailability,omitempty"`

	// DestroyDisks allows removalPolicy Destroy to delete single disks. When a VM is
	// deleted, its disks are deleted in any case. Default: false.
	// +optional
	DestroyDisks *bool `json:"destroyDisks,omitempty"`
}
