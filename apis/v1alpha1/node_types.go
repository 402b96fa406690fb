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

// A ProxmoxNode is a node of a Proxmox VE cluster.
//
// +proxmox:kind=ProxmoxNode,shortName=pvenode,forProvider=optional
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".status.atProvider.nodeName"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.atProvider.version"
// +kubebuilder:printcolumn:name="VMS",type="integer",JSONPath=".status.atProvider.vmCount"
// +kubebuilder:printcolumn:name="CLUSTER",type="string",JSONPath=".status.atProvider.clusterName",priority=1

// ProxmoxNodeParameters describe a node of a Proxmox VE cluster: the number of VMs
// that can be placed on it, and the settings that are managed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.nodeName), has(oldSelf.nodeName)].filter(h, h).size() != 2 || self.nodeName == oldSelf.nodeName",message="nodeName cannot change: a ProxmoxNode cannot become another node"
type ProxmoxNodeParameters struct {
	// Cluster is the name of the ProxmoxCluster that the node belongs to. The provider
	// configuration of that ProxmoxCluster is used instead of this resource's own.
	// Without a cluster, the node belongs to the cluster of this resource's
	// providerConfigRef.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Cluster *string `json:"cluster,omitempty"`

	// ClusterRef references the ProxmoxCluster.
	// +optional
	ClusterRef *Reference `json:"clusterRef,omitempty"`

	// ClusterSelector selects the ProxmoxCluster.
	// +optional
	ClusterSelector *Selector `json:"clusterSelector,omitempty"`

	// NodeName is the name of the node in Proxmox VE, which must exist. Default: the
	// external name of this resource, which is its name unless you set another one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	NodeName *string `json:"nodeName,omitempty"`

	// MaxVMs is the number of VMs, 0 to 10000, at which no more Machines are created on
	// the node, not even Machines that name the node. Existing VMs stay. Default: no
	// limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	MaxVMs *int32 `json:"maxVMs,omitempty"`

	// Schedulable determines whether placement can choose the node. If it is false, the
	// node gets only Machines that name it; existing VMs stay. Default: true.
	// +optional
	Schedulable *bool `json:"schedulable,omitempty"`

	// Labels of the node for the placement of Machines, in addition to the labels of this
	// resource. If both have the same key, the label here takes precedence.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`

	// Description of the node, up to 65536 characters, shown in the notes of the
	// web interface. Empty removes it (PVE: description).
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Description *string `json:"description,omitempty"`

	// WakeOnLAN determines how other nodes wake this one (PVE: wakeonlan).
	// +optional
	WakeOnLAN *WakeOnLAN `json:"wakeOnLAN,omitempty"`

	// StartAllOnBootDelay is the number of seconds between the boot of the node and the
	// start of the guests that start on boot, 0 to 300. Default of Proxmox VE: 0 (PVE:
	// startall-onboot-delay).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	StartAllOnBootDelay *int32 `json:"startAllOnBootDelay,omitempty"`

	// BallooningTarget is the use of the node's memory, in percent, 0 to 100, that
	// automatic ballooning tries to reach. Default of Proxmox VE: 80 (PVE:
	// ballooning-target).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	BallooningTarget *int32 `json:"ballooningTarget,omitempty"`

	// Location of the node, from Proxmox VE 9.2 on. Default of Proxmox VE: the
	// location of the cluster (PVE: location).
	// +optional
	Location *Location `json:"location,omitempty"`

	// DNS settings of the node itself, in its /etc/resolv.conf.
	// +optional
	DNS *NodeDNS `json:"dns,omitempty"`

	// TimeZone of the node, such as Etc/UTC or Europe/Oslo (PVE: timezone).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`
	TimeZone *string `json:"timeZone,omitempty"`
}

// WakeOnLAN determines how a node is woken.
type WakeOnLAN struct {
	// MACAddress of the interface that listens for the wake-on-LAN packet, such
	// as BC:24:11:00:00:01 (PVE: mac).
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$`
	MACAddress string `json:"macAddress"`

	// BindInterface is the interface of the other nodes from which the packet is sent.
	// Default of Proxmox VE: the interface of the default route (PVE: bind-interface).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_]{1,20}([:.][0-9]+)?$`
	BindInterface *string `json:"bindInterface,omitempty"`

	// BroadcastAddress is the IPv4 address to which the packet is sent. Default
	// of Proxmox VE: 255.255.255.255 (PVE: broadcast-address).
	// +optional
	// +kubebuilder:validation:Format=ipv4
	BroadcastAddress *string `json:"broadcastAddress,omitempty"`
}

// NodeDNS determines how a node resolves names.
//
// +kubebuilder:validation:MinProperties=1
type NodeDNS struct {
	// SearchDomain for names without a dot (PVE: search).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\s,;]+$`
	SearchDomain *string `json:"searchDomain,omitempty"`

	// Servers are the IP addresses of one to three name servers, in the order in which
	// they are asked (PVE: dns1, dns2, dns3).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.all(s, isIP(s))",message="servers are IP addresses"
	Servers []string `json:"servers,omitempty"`
}

// Location is a place on the earth.
type Location struct {
	// Name of the place, up to 128 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^,=\r\n]+$`
	Name *string `json:"name,omitempty"`

	// Latitude in degrees, -90 to 90, as a decimal such as "59.91".
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^-?[0-9]{1,2}(\.[0-9]+)?$`
	// +kubebuilder:validation:XValidation:rule="double(self) >= -90.0 && double(self) <= 90.0",message="latitude is from -90 to 90"
	Latitude string `json:"latitude"`

	// Longitude in degrees, -180 to 180, as a decimal such as "10.75".
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^-?[0-9]{1,3}(\.[0-9]+)?$`
	// +kubebuilder:validation:XValidation:rule="double(self) >= -180.0 && double(self) <= 180.0",message="longitude is from -180 to 180"
	Longitude string `json:"longitude"`
}

// ProxmoxNodeObservation is the observed state of a node. Usage and uptime are updated
// about once a minute, everything else when it changes.
type ProxmoxNodeObservation struct {
	// Ready is true when the node is online.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// NodeName is the name of the node in Proxmox VE.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// ClusterName is the name of the node's cluster in Proxmox VE; empty for a node that
	// is not in a cluster.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// Status of the node: online, offline or unknown.
	// +optional
	Status string `json:"status,omitempty"`

	// Fingerprint of the node's TLS certificate: its SHA-256 in hexadecimal.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// Resources of the node.
	// +optional
	Resources *ProxmoxNodeResources `json:"resources,omitempty"`

	// VMCount is the number of VMs on the node, running or not, without templates.
	// +optional
	VMCount *int32 `json:"vmCount,omitempty"`

	// Version of Proxmox VE on the node.
	// +optional
	Version string `json:"version,omitempty"`

	// UptimeSeconds of the node.
	// +optional
	UptimeSeconds *int64 `json:"uptimeSeconds,omitempty"`

	// Kernel that runs on the node.
	// +optional
	Kernel string `json:"kernel,omitempty"`

	// Networks of the node to which VMs can be attached: bridges, and VNets that are in
	// effect.
	// +optional
	// +listType=map
	// +listMapKey=name
	Networks []ProxmoxNodeNetwork `json:"networks,omitempty"`

	// Interfaces of the node and their users: network cards, bonds, VLANs, bridges and
	// VNets. Bridges are listed only if the user has permission to see them.
	// +optional
	// +listType=map
	// +listMapKey=name
	Interfaces []ProxmoxNodeInterface `json:"interfaces,omitempty"`

	// PCIMappings are the PCI resource mappings that have devices on the node.
	// +optional
	// +listType=map
	// +listMapKey=name
	PCIMappings []ProxmoxNodePCIMapping `json:"pciMappings,omitempty"`

	// Difference between the settings of the spec and Proxmox VE: what the next update
	// sets, or would set with managementPolicies [Observe].
	// +optional
	// +listType=map
	// +listMapKey=option
	Difference []OptionDifference `json:"difference,omitempty"`

	// LastUpdated is when the provider last checked the node, to about a minute.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// ProxmoxNodeResources are the resources of a node.
type ProxmoxNodeResources struct {
	// CPU in cores including hyper-threads: the number of cores of the node, and the
	// number of busy ones, rounded up.
	CPU ResourceUse `json:"cpu"`

	// Memory in bytes.
	Memory ResourceUse `json:"memory"`

	// Storage in bytes: of all usable storages of the node, including shared ones.
	Storage ResourceUse `json:"storage"`
}

// ResourceUse is the total amount of a resource and the used amount.
type ResourceUse struct {
	// Total amount.
	Total int64 `json:"total"`

	// Used amount.
	Used int64 `json:"used"`
}

// ProxmoxNodeNetwork is a bridge or VNet of a node.
type ProxmoxNodeNetwork struct {
	// Name of the bridge or VNet, such as vmbr0.
	Name string `json:"name"`

	// Type of the network: bridge, OVSBridge or vnet.
	// +optional
	Type string `json:"type,omitempty"`

	// Active is true when the network is up.
	// +optional
	Active bool `json:"active,omitempty"`

	// VLANAware is true when NICs can have their own VLAN tags.
	// +optional
	VLANAware bool `json:"vlanAware,omitempty"`

	// Ports of the bridge.
	// +optional
	// +listType=set
	Ports []string `json:"ports,omitempty"`

	// CIDR is the node's own address on the bridge.
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// ProxmoxNodeInterface is a network interface of a node, and its users.
type ProxmoxNodeInterface struct {
	// Name of the interface, such as eno1.
	Name string `json:"name"`

	// Type of the interface as Proxmox VE reports it, such as eth, bond, vlan, bridge,
	// OVSBridge or vnet.
	// +optional
	Type string `json:"type,omitempty"`

	// Active is true when the interface is up.
	// +optional
	Active *bool `json:"active,omitempty"`

	// UsedBy lists the users of the interface: addresses and default routes of the node;
	// interfaces that are based on it, such as "bridge vmbr0"; SDN zones that are based
	// on it and that the token has permission to see, such as "SDN zone z1"; and Machines
	// whose VMs have NICs on it, up to 20 by name. A namespaced ProxmoxNode names the
	// Machines of its namespace and counts the others. VMs that no Machine manages and
	// containers are not listed.
	// +optional
	// +listType=set
	UsedBy []string `json:"usedBy,omitempty"`
}

// ProxmoxNodePCIMapping is a PCI resource mapping with devices on a node.
type ProxmoxNodePCIMapping struct {
	// Name of the mapping.
	Name string `json:"name"`

	// Devices are the addresses of its devices on the node, such as 0000:01:00.0.
	// +optional
	// +listType=set
	Devices []string `json:"devices,omitempty"`
}
