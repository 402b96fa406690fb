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

// ProxmoxClusterParameters describe a Proxmox VE cluster: what is expected of
// it, and the options that are managed.
type ProxmoxClusterParameters struct {
	// Nodes that the cluster is expected to have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Nodes []string `json:"nodes,omitempty"`

	// Storages that the cluster is expected to have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=100
	Storages []string `json:"storages,omitempty"`

	// Networks (bridges and VNets) that every node is expected to have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=15
	Networks []string `json:"networks,omitempty"`
}

// ProxmoxClusterObservation is what is seen of a Proxmox VE cluster.
type ProxmoxClusterObservation struct {
	// Ready is true when the cluster is reachable, has quorum and everything
	// that is expected of it.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// Version of Proxmox VE.
	// +optional
	Version string `json:"version,omitempty"`

	// Name of the cluster; empty for a single node.
	// +optional
	Name string `json:"name,omitempty"`

	// Quorate is true when the cluster has quorum.
	// +optional
	Quorate *bool `json:"quorate,omitempty"`

	// Nodes of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	Nodes []ProxmoxClusterNode `json:"nodes,omitempty"`

	// LastHealthCheck is when the cluster was last looked at.
	// +optional
	LastHealthCheck *metav1.Time `json:"lastHealthCheck,omitempty"`
}

// ProxmoxClusterNode is a node of a cluster.
type ProxmoxClusterNode struct {
	// Name of the node.
	Name string `json:"name"`

	// Online is true when the node is part of the quorum.
	Online bool `json:"online"`
}

// ProxmoxNodeParameters describe a node of a Proxmox VE cluster.
type ProxmoxNodeParameters struct {
	// Cluster is the name of the ProxmoxCluster that the node belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Cluster *string `json:"cluster,omitempty"`

	// ClusterRef references the ProxmoxCluster.
	// +optional
	ClusterRef *Reference `json:"clusterRef,omitempty"`

	// ClusterSelector selects the ProxmoxCluster.
	// +optional
	ClusterSelector *Selector `json:"clusterSelector,omitempty"`

	// NodeName is the name of the node in Proxmox VE. Default: the name of
	// this resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	NodeName *string `json:"nodeName,omitempty"`

	// MaxVMs that placement puts on the node, 0 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	MaxVMs *int32 `json:"maxVMs,omitempty"`

	// Schedulable nodes receive new VMs. Default: true.
	// +optional
	Schedulable *bool `json:"schedulable,omitempty"`
}

// ProxmoxNodeObservation is what is seen of a node.
type ProxmoxNodeObservation struct {
	// Ready is true when the node is online.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// Resources of the node.
	// +optional
	Resources *ProxmoxNodeResources `json:"resources,omitempty"`

	// VMCount is the number of guests on the node.
	// +optional
	VMCount *int32 `json:"vmCount,omitempty"`

	// Version of Proxmox VE on the node.
	// +optional
	Version string `json:"version,omitempty"`

	// UptimeSeconds of the node.
	// +optional
	UptimeSeconds *int64 `json:"uptimeSeconds,omitempty"`
}

// ProxmoxNodeResources are the resources of a node.
type ProxmoxNodeResources struct {
	// CPU cores, total and used.
	CPU ResourceUse `json:"cpu"`

	// Memory in bytes, total and used.
	Memory ResourceUse `json:"memory"`

	// Storage in bytes, total and used.
	Storage ResourceUse `json:"storage"`
}

// ResourceUse is how much there is of something, and how much of it is used.
type ResourceUse struct {
	// Total amount.
	Total int64 `json:"total"`

	// Used amount.
	Used int64 `json:"used"`
}
