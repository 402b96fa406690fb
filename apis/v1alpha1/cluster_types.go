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

// A ProxmoxCluster is a Proxmox VE cluster.
//
// +proxmox:kind=ProxmoxCluster,shortName=pvecluster,forProvider=optional
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.atProvider.version"
// +kubebuilder:printcolumn:name="NODES",type="string",JSONPath=".status.atProvider.nodesOnline"
// +kubebuilder:printcolumn:name="QUORATE",type="boolean",JSONPath=".status.atProvider.quorate"

// ProxmoxClusterParameters describe a Proxmox VE cluster: the expected nodes, storages
// and networks, and the options that are managed.
type ProxmoxClusterParameters struct {
	// Nodes that the cluster must have. The ProxmoxCluster is not Ready while one of them
	// is missing or offline.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Nodes []string `json:"nodes,omitempty"`

	// Storages that the cluster must have. The ProxmoxCluster is not Ready while one of
	// them is missing or is not available on any node.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	Storages []string `json:"storages,omitempty"`

	// Networks (bridges and VNets) that every node must have. The ProxmoxCluster is not
	// Ready while an online node does not have all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=15
	Networks []string `json:"networks,omitempty"`

	// Options of the cluster (PVE: the options of /cluster/options, which are kept in
	// datacenter.cfg). Only the options that are set here are managed: the provider sets
	// them in Proxmox VE, and sets them again if somebody changes them there. If you
	// remove an option here, it keeps its value in Proxmox VE.
	// +optional
	Options *ProxmoxClusterOptions `json:"options,omitempty"`

	// OnDelete determines what happens to the options when this resource is deleted:
	// Retain keeps their values. Reset removes the options that are set here from Proxmox
	// VE, so that its defaults apply. Neither changes anything else. Default: Retain.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Reset
	OnDelete *string `json:"onDelete,omitempty"`
}

// What happens to the options of a deleted ProxmoxCluster.
const (
	OnDeleteRetain = "Retain"
	OnDeleteReset  = "Reset"
)

// ProxmoxClusterObservation is the observed state of a Proxmox VE cluster. Amounts and
// lastHealthCheck are updated about once a minute, everything else when it changes.
type ProxmoxClusterObservation struct {
	// Ready is true when the cluster is reachable, has quorum, and has everything that
	// the spec expects.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// Version of Proxmox VE on the node that answered.
	// +optional
	Version string `json:"version,omitempty"`

	// Name of the cluster; empty for a single node.
	// +optional
	Name string `json:"name,omitempty"`

	// Quorate is true when the cluster has quorum.
	// +optional
	Quorate *bool `json:"quorate,omitempty"`

	// NodesOnline is the number of online nodes and the number of all nodes, such as 2/3.
	// +optional
	NodesOnline string `json:"nodesOnline,omitempty"`

	// Nodes of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	Nodes []ProxmoxClusterNode `json:"nodes,omitempty"`

	// Storages of the cluster that the user has permission to see.
	// +optional
	// +listType=map
	// +listMapKey=name
	Storages []ProxmoxClusterStorage `json:"storages,omitempty"`

	// Networks of the cluster's nodes to which VMs can be attached: bridges, and VNets
	// that are in effect.
	// +optional
	// +listType=map
	// +listMapKey=name
	Networks []ProxmoxClusterNetwork `json:"networks,omitempty"`

	// VNets of the cluster's software-defined network, whether in effect or not.
	// +optional
	// +listType=map
	// +listMapKey=name
	VNets []ProxmoxClusterVNet `json:"vnets,omitempty"`

	// HA is the state of the cluster's high availability.
	// +optional
	HA *ProxmoxClusterHA `json:"ha,omitempty"`

	// Difference between the options of the spec and Proxmox VE: what the next update
	// sets, or would set with managementPolicies [Observe].
	// +optional
	// +listType=map
	// +listMapKey=option
	Difference []OptionDifference `json:"difference,omitempty"`

	// LastHealthCheck is when the provider last checked the cluster, to about a minute.
	// +optional
	LastHealthCheck *metav1.Time `json:"lastHealthCheck,omitempty"`
}

// ProxmoxClusterNode is a node of a cluster.
type ProxmoxClusterNode struct {
	// Name of the node.
	Name string `json:"name"`

	// Online is true when the node is part of the cluster's membership.
	Online bool `json:"online"`

	// Status of the node: online, offline or unknown.
	// +optional
	Status string `json:"status,omitempty"`

	// Address of the node in the cluster's network.
	// +optional
	Address string `json:"address,omitempty"`

	// Fingerprint of the node's TLS certificate: its SHA-256 in hexadecimal.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`
}

// ProxmoxClusterStorage is a storage of a cluster.
type ProxmoxClusterStorage struct {
	// Name of the storage.
	Name string `json:"name"`

	// Type of the storage, such as dir, lvmthin or rbd.
	// +optional
	Type string `json:"type,omitempty"`

	// Shared is true when all nodes have the same content.
	// +optional
	Shared bool `json:"shared,omitempty"`

	// Content types of the storage, such as images, iso or import.
	// +optional
	// +listType=set
	Content []string `json:"content,omitempty"`

	// Total size in bytes. For a storage that is not shared, it is the sum over the nodes
	// on which the storage is available.
	Total int64 `json:"total"`

	// Used bytes.
	Used int64 `json:"used"`

	// Nodes that have the storage.
	// +optional
	// +listType=map
	// +listMapKey=name
	Nodes []ProxmoxClusterStorageNode `json:"nodes,omitempty"`
}

// ProxmoxClusterStorageNode is a storage on one node.
type ProxmoxClusterStorageNode struct {
	// Name of the node.
	Name string `json:"name"`

	// Available is true when the node can use the storage.
	Available bool `json:"available"`

	// Total size in bytes.
	Total int64 `json:"total"`

	// Used bytes.
	Used int64 `json:"used"`
}

// ProxmoxClusterNetwork is a bridge or VNet and the nodes that have it.
type ProxmoxClusterNetwork struct {
	// Name of the bridge or VNet.
	Name string `json:"name"`

	// Type of the network: bridge, OVSBridge or vnet.
	// +optional
	Type string `json:"type,omitempty"`

	// Nodes that have the network, without offline nodes.
	// +optional
	// +listType=set
	Nodes []string `json:"nodes,omitempty"`
}

// ProxmoxClusterVNet is a VNet of a cluster's software-defined network.
type ProxmoxClusterVNet struct {
	// Name of the VNet.
	Name string `json:"name"`

	// Zone that the VNet belongs to.
	// +optional
	Zone string `json:"zone,omitempty"`

	// Tag is the VLAN or VXLAN ID, if the zone has one.
	// +optional
	Tag *int64 `json:"tag,omitempty"`

	// Alias of the VNet.
	// +optional
	Alias string `json:"alias,omitempty"`

	// VLANAware is true when NICs can have their own VLAN tags.
	// +optional
	VLANAware bool `json:"vlanAware,omitempty"`
}

// ProxmoxClusterHA is the state of a cluster's high availability.
type ProxmoxClusterHA struct {
	// Quorum is the state of the quorum as the HA stack reports it, such as OK.
	// +optional
	Quorum string `json:"quorum,omitempty"`

	// Fencing is whether HA is armed: armed, standby, disarming or disarmed. Proxmox VE
	// reports it from 9.2 on.
	// +optional
	Fencing string `json:"fencing,omitempty"`

	// Manager is the node that currently manages HA. It is empty while HA manages
	// nothing.
	// +optional
	Manager string `json:"manager,omitempty"`

	// Resources is the number of guests that HA manages.
	Resources int32 `json:"resources"`

	// Failed are the managed guests that are in error, such as vm:100.
	// +optional
	// +listType=set
	Failed []string `json:"failed,omitempty"`
}

// OptionDifference is an option that differs from its desired value.
type OptionDifference struct {
	// Option by its PVE name.
	Option string `json:"option"`

	// Current value in Proxmox VE; empty when the option is not set.
	// +optional
	Current string `json:"current,omitempty"`

	// Desired value; empty when the option is removed.
	// +optional
	Desired string `json:"desired,omitempty"`
}
