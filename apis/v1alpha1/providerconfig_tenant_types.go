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

// TypeTenantAllowed reports whether a resource asks for nothing that its tenant may not have.
const TypeTenantAllowed xpv2.ConditionType = "TenantAllowed"

// TenantEnforcement says what becomes of what tenants may not have.
type TenantEnforcement string

// The ways of enforcement.
const (
	// TenantRefuse refuses it.
	TenantRefuse TenantEnforcement = "Refuse"
	// TenantWarn shows what would be refused.
	TenantWarn TenantEnforcement = "Warn"
)

// ReasonTenantRefused is the reason of the conditions Ready and UpToDate of a resource that
// asks for what its tenant may not have.
const ReasonTenantRefused xpv2.ConditionReason = "TenantRefused"

// ProviderTenant says which resources are a tenant's, and what these may use and do. What
// a list does not name is refused, before anything is written.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) || has(self.namespaceSelector) || has(self.resourceSelector)",messageExpression="'tenant %s is nobody: set namespaces, namespaceSelector or resourceSelector'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="has(self.unrestricted) && self.unrestricted || has(self.vmidRange) || has(self.pools)",messageExpression="'tenant %s needs vmidRange or pools, by which its VMs are told from those of others'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.unrestricted) || !self.unrestricted || !(has(self.vmidRange) || has(self.pools) || has(self.tags) || has(self.nodes) || has(self.storages) || has(self.bridges) || has(self.sdnZones) || has(self.images) || has(self.imageHosts) || has(self.templates) || has(self.ipPools) || has(self.connectionSecretNamespaces) || has(self.allow) || has(self.quota))",messageExpression="'tenant %s is unrestricted: leave out what it may use and do'.format([self.name])"
// +kubebuilder:validation:XValidation:rule="!has(self.tags) || !has(self.allow) || !has(self.allow.adoptTags) || self.tags.all(t, !(t in self.allow.adoptTags))",messageExpression="'tenant %s has a tag in tags and in allow.adoptTags: the one is on all of its VMs, the other tells which are handed over to it'.format([self.name])"
type ProviderTenant struct {
	// Name of the tenant, which refusals name, 1 to 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// Namespaces whose resources are the tenant's, by name, 1 to 64. Of cluster-scoped
	// resources those of claims in these namespaces, by the label
	// crossplane.io/claim-namespace.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// NamespaceSelector selects further namespaces by their labels. It needs the right to
	// get, list and watch namespaces. A namespace that two tenants select may do nothing.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// ResourceSelector selects cluster-scoped resources by their own labels. Of no meaning
	// for namespaced ones, whose labels are their owner's to choose.
	// +optional
	ResourceSelector *metav1.LabelSelector `json:"resourceSelector,omitempty"`

	// Unrestricted resources may do all that the credentials may: those of whoever operates
	// the cluster. Default: false.
	// +optional
	Unrestricted *bool `json:"unrestricted,omitempty"`

	// VMIDRange that the tenant's VMs have their VMIDs from, lowest free first. No VM outside
	// is the tenant's. Default: that of the configuration, and then pools alone tell whose
	// a VM is.
	// +optional
	VMIDRange *VMIDRange `json:"vmidRange,omitempty"`

	// Pools that the tenant's VMs are members of, 1 to 32. One without a pool in its spec is
	// made in the first of them, and no VM in another pool, or in none, is the tenant's.
	// Default: VMs are in no pool.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`
	Pools []string `json:"pools,omitempty"`

	// Tags that every VM of the tenant carries beside those of its spec, up to 16. No other
	// tenant may set them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	Tags []string `json:"tags,omitempty"`

	// Nodes that VMs may be on, up to 64: what placement chooses from. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Nodes []string `json:"nodes,omitempty"`

	// Storages that disks and backups may be on, up to 64. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storages []string `json:"storages,omitempty"`

	// Bridges and VNets that interfaces may be attached to, up to 64. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Bridges []TenantBridge `json:"bridges,omitempty"`

	// SDNZones whose VNets interfaces may be attached to, up to 32: all that a zone has, with
	// any VLAN, but for VNets that bridges lists with VLANs of their own. It needs SDN.Audit
	// on the zones. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=8
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9]*$`
	SDNZones []string `json:"sdnZones,omitempty"`

	// Images that disks may be filled from and put into CD-ROM drives, by their volume IDs,
	// up to 64; * stands for any characters but slashes: local:iso/debian-*.iso. Default:
	// none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:(iso|import)/[^/,\s?\\\[\]]+$`
	Images []string `json:"images,omitempty"`

	// ImageHosts that image.url of Machines, and source.url and source.checksumURL of Images,
	// may name, up to 64, in lower case: a name, an IPv4 address, or an IPv6 address in
	// brackets, with a port where the URL has one: images.example.org,
	// mirror.example.org:8443. A name that begins with *. stands for all that have any one
	// label in its place. With it a namespace may have Images by URL, whose files are on
	// storages of the tenant and begin with the name of the namespace and a dot; VMs of the
	// namespace may use these. Those of cluster-scoped resources begin with the namespace of
	// their claim in the same way or, where labels alone tell the tenant, with its name, an
	// underscore, the name of the provider configuration, an underscore and a dot. A node
	// follows redirects to any other host: list only hosts whose redirects are trusted.
	// Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^(\[[0-9a-f:.]+\]|([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?|\*\.([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?)(:[1-9][0-9]{0,4})?$`
	ImageHosts []string `json:"imageHosts,omitempty"`

	// Templates that VMs may be cloned from beside the tenant's own, by their names, up to
	// 64; * stands for any characters: debian-*. Templates of other tenants are never among
	// them. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9.*-]+$`
	Templates []string `json:"templates,omitempty"`

	// IPPools of Cluster API's IPAM that networks may take their addresses from, by kind and
	// name, up to 64; * stands for any characters but slashes: InClusterIPPool/lan-*. The API
	// group is ipam.cluster.x-k8s.io unless it stands behind the kind:
	// Pool.ipam.example.org/lan-*. Pools of a namespaced kind are those of the resource's
	// namespace or, for a cluster-scoped one, of its claim's and of namespaces. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=320
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9*-]+(\.[a-z0-9.*-]+)?/[a-z0-9.*-]+$`
	IPPools []string `json:"ipPools,omitempty"`

	// ConnectionSecretNamespaces are further namespaces in which cluster-scoped resources may
	// have their connection Secrets, up to 64, such as the one where Compositions keep them.
	// Default: those of the claim and of namespaces alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	ConnectionSecretNamespaces []string `json:"connectionSecretNamespaces,omitempty"`

	// Allow what is not allowed by itself.
	// +optional
	Allow *TenantPermissions `json:"allow,omitempty"`

	// Quota is how much the tenant's resources may have together. Default: as much as there is.
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

	// VLANs of the bridge, up to 32 ranges. With them every interface needs a tag of these,
	// since one without gets all VLANs of a bridge that is aware of them. Default: any, and
	// no tag.
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

// TenantPermissions are what a tenant may do beyond having VMs.
type TenantPermissions struct {
	// Adopt lets VMs be taken over that are members of these pools, up to 32, by the
	// annotation crossplane.io/external-name. Such a VM is the tenant's from then on while
	// it is in one of its own pools and its VMID range, or in one of these pools. Its node
	// and all that it has need to be for the tenant. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`
	Adopt []string `json:"adopt,omitempty"`

	// AdoptTags lets VMs be taken over too that have one of these tags, up to 16, unless they
	// are where another tenant's VMs are, or in a pool that another one may adopt from. Such a
	// VM is the tenant's while it has the tag, which its Machine keeps. No tenant may set these
	// tags. Whoever may change the options of a VM in Proxmox VE sets its tags: let none
	// but operators do. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	AdoptTags []string `json:"adoptTags,omitempty"`

	// Passthrough lets devices and directories of nodes be handed to VMs that come from
	// these resource mappings, up to 32. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Passthrough []string `json:"passthrough,omitempty"`

	// ExtraConfig lets these options be set by extraConfig, up to 32. Whoever may set args,
	// hookscript or cicustom reaches the node, whatever else is said here. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=40
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-z0-9_-]*$`
	ExtraConfig []string `json:"extraConfig,omitempty"`

	// RootOptions lets options be set that Proxmox VE lets root@pam alone set, with its
	// password: hookscript, cpu.affinity, huge pages, args and the others of extraConfig, PCI
	// and USB devices and serial ports of nodes by their addresses; and
	// cpu.numaNodes[].hostNodes. Whoever may set them reaches the node, whatever else is said
	// here. Default: false.
	// +optional
	RootOptions *bool `json:"rootOptions,omitempty"`

	// HighAvailability lets VMs be handed to PVE's HA manager, with rules between VMs of the
	// tenant. Default: false.
	// +optional
	HighAvailability *bool `json:"highAvailability,omitempty"`

	// DestroyDisks lets removalPolicy Destroy delete single disks. A VM goes with its disks in
	// any case. Default: false.
	// +optional
	DestroyDisks *bool `json:"destroyDisks,omitempty"`
}
