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

// MachineNetwork is a network interface of a VM. Options that are not set are not
// managed. If you remove an option, it gets the value that it has on a new VM without
// it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mtu) || self.mtu == 0 || !has(self.model) || self.model == 'virtio'",messageExpression="'mtu %d needs model virtio, not %s'.format([self.mtu, self.model])"
// +kubebuilder:validation:XValidation:rule="!has(self.hostTunnel) || !has(self.model) || self.model == 'virtio'",messageExpression="'hostTunnel needs model virtio, not %s'.format([self.model])"
// +kubebuilder:validation:XValidation:rule="!has(self.device) || !has(oldSelf.device) || self.device == oldSelf.device",messageExpression="'the device of network %s cannot change: it is %s, not %s'.format([self.name, oldSelf.device, self.device])"
// +kubebuilder:validation:XValidation:rule="!has(self.bridge) || !has(self.networkRef)",message="bridge and networkRef exclude each other: set one of them"
type MachineNetwork struct {
	// Name of the interface in this list, up to 63 characters. It identifies one
	// interface of the VM as long as it is listed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// Device in PVE of the interface, net0 to net31. To rename an entry, give the new
	// entry the device of the entry that you remove: it is the same interface, with the
	// same MAC address. Default: the interfaces that the VM has from its source or from
	// its adoption, in the order of the list; then the lowest free device. Cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^net([0-9]|[12][0-9]|3[01])$`
	Device *string `json:"device,omitempty"`

	// Bridge or SDN VNet that the interface is plugged into, such as vmbr0. Default: the
	// provider config's default bridge, or the bridge in the source. PVE: bridge=.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_.-]+$`
	Bridge *string `json:"bridge,omitempty"`

	// NetworkRef names the bridge by the NodeNetworks of its nodes, in the same namespace
	// if this resource has one, instead of by bridge. The VM is created on a node on
	// which the NodeNetwork of the bridge is applied, and waits while there is none. An
	// interface that is added later waits for the NodeNetwork of the VM's own node.
	// +optional
	NetworkRef *MachineNetworkReference `json:"networkRef,omitempty"`

	// Model of the interface. Default: virtio, or the model in the source.
	// +optional
	// +kubebuilder:validation:Enum=virtio;e1000;e1000e;rtl8139;vmxnet3;e1000-82540em;e1000-82544gc;e1000-82545em;i82551;i82557b;i82559er;ne2k_isa;ne2k_pci;pcnet
	Model *string `json:"model,omitempty"`

	// MACAddress of the interface, such as BC:24:11:00:00:01; a unicast address. Default:
	// PVE generates an address once, and the interface then keeps it.
	// +optional
	// +kubebuilder:validation:MaxLength=17
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}$`
	MACAddress *string `json:"macAddress,omitempty"`

	// VLAN tag of the interface, 1 to 4094; 0 for none. If trunks is also set, it is the
	// VLAN of untagged packets. PVE: tag=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`

	// Trunks are the VLANs that pass with tags, such as 10;20-29; empty for no
	// restriction. PVE: trunks=.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^(\d+(-\d+)?(;\d+(-\d+)?)*)?$`
	Trunks *string `json:"trunks,omitempty"`

	// Firewall turns PVE's firewall on for the interface. PVE: firewall=.
	// +optional
	Firewall *bool `json:"firewall,omitempty"`

	// MTU of the interface, 576 to 65520 and at most the MTU of the bridge, or 1 for the
	// MTU of the bridge; only for virtio. 0 removes the option; the guest then uses its
	// default. PVE: mtu=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65520
	// +kubebuilder:validation:XValidation:rule="self <= 1 || self >= 576",messageExpression="'mtu %d is less than IP needs: it is 576 and more, 1 for that of the bridge, or 0 for none'.format([self])"
	MTU *int32 `json:"mtu,omitempty"`

	// Queues for packets, up to 64; 0 removes the option; the interface then has one
	// queue. PVE: queues=.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Queues *int32 `json:"queues,omitempty"`

	// RateMBps is the limit of the interface in megabytes per second, with
	// decimals: "12.5"; 0 for none. PVE: rate=.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) in [int] ? self >= 0 : self.charAt(0) != '-'",message="networks[].rateMBps is 0 or more"
	RateMBps *resource.Quantity `json:"rateMBps,omitempty"`

	// LinkDown disconnects the virtual cable. PVE: link_down=.
	// +optional
	LinkDown *bool `json:"linkDown,omitempty"`

	// HostTunnel offloads the segmentation of tunnelled packets to the node; only for
	// virtio. PVE 9.2 and later: host-tunnel=, default depends on the machine's version.
	// +optional
	HostTunnel *bool `json:"hostTunnel,omitempty"`

	// IPConfig is the configuration that cloud-init applies in the guest. PVE: ipconfigN.
	// +optional
	IPConfig *MachineIPConfig `json:"ipConfig,omitempty"`

	// RemovalPolicy determines what happens to the interface when you remove it from the
	// list. Detach removes it from the VM; if you add it again, it gets its former MAC
	// address. Retain leaves it as it is, no longer managed. Destroy removes it and
	// forgets its MAC address. Default: Retain for an interface that was not created for
	// this list, such as a template's interface; Detach otherwise. For an interface that
	// was not created for this list, Detach and Destroy apply only if the entry still
	// declared them when you removed it.
	// +optional
	// +kubebuilder:validation:Enum=Detach;Retain;Destroy
	RemovalPolicy *string `json:"removalPolicy,omitempty"`
}

// MachineIPConfig is the IP configuration that cloud-init applies to an interface.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || size(self.gateway) == 0 || (has(self.address) && size(self.address) > 0 && self.address != 'dhcp')",messageExpression="'gateway %s needs a static address'.format([self.gateway])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway6) || size(self.gateway6) == 0 || (has(self.address6) && size(self.address6) > 0 && !(self.address6 in ['dhcp', 'auto']))",messageExpression="'gateway6 %s needs a static address6'.format([self.gateway6])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !has(self.address) || !isCIDR(self.address) || cidr(self.address).prefixLength() >= 31 || cidr(self.address).containsIP(self.gateway)",messageExpression="'gateway %s is not in the network of address %s'.format([self.gateway, self.address])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway6) || !isIP(self.gateway6) || !has(self.address6) || !isCIDR(self.address6) || cidr(self.address6).prefixLength() >= 127 || ip(self.gateway6).isLinkLocalUnicast() || cidr(self.address6).containsIP(self.gateway6)",messageExpression="'gateway6 %s is neither in the network of address6 %s nor link-local'.format([self.gateway6, self.address6])"
// +kubebuilder:validation:XValidation:rule="!has(self.poolRef) || !(has(self.address) || has(self.gateway))",message="poolRef excludes address and gateway, which come from the pool"
// +kubebuilder:validation:XValidation:rule="!has(self.poolRef6) || !(has(self.address6) || has(self.gateway6))",message="poolRef6 excludes address6 and gateway6, which come from the pool"
// +kubebuilder:validation:MinProperties=1
type MachineIPConfig struct {
	// Address is dhcp or an IPv4 address with prefix length, such as 192.0.2.10/24. If it
	// is empty, the interface has no IPv4 address and no IPv4 gateway. PVE: ip=.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self == 'dhcp' || (isCIDR(self) && cidr(self).ip().family() == 4)",messageExpression="'ipConfig.address ' + self + ' is neither dhcp nor an IPv4 address with prefix length'"
	Address *string `json:"address,omitempty"`

	// Gateway is the IPv4 default gateway; empty for none. It must be in the network of
	// the address, unless that network is a /31 or /32. PVE: gw=.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (isIP(self) && ip(self).family() == 4)",messageExpression="'ipConfig.gateway ' + self + ' is not an IPv4 address'"
	Gateway *string `json:"gateway,omitempty"`

	// Address6 is dhcp, auto (SLAAC) or an IPv6 address with prefix length. If it is
	// empty, the interface has no IPv6 address and no IPv6 gateway. PVE: ip6=.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self in ['dhcp', 'auto'] || (isCIDR(self) && cidr(self).ip().family() == 6)",messageExpression="'ipConfig.address6 ' + self + ' is neither dhcp nor auto nor an IPv6 address with prefix length'"
	Address6 *string `json:"address6,omitempty"`

	// Gateway6 is the IPv6 default gateway; empty for none. It must be link-local or in
	// the network of address6, unless that network is a /127 or /128. PVE: gw6=.
	// +optional
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (isIP(self) && ip(self).family() == 6)",messageExpression="'ipConfig.gateway6 ' + self + ' is not an IPv6 address'"
	Gateway6 *string `json:"gateway6,omitempty"`

	// PoolRef names a pool of IPv4 addresses of Cluster API's IPAM, instead of address
	// and gateway. The provider creates an IPAddressClaim for it, and the VM is created
	// once an address is allocated. The address is released when the Machine is deleted
	// and its VM is gone.
	// +optional
	PoolRef *MachineIPPoolReference `json:"poolRef,omitempty"`

	// PoolRef6 names a pool of IPv6 addresses of Cluster API's IPAM, instead of address6
	// and gateway6. It works like poolRef.
	// +optional
	PoolRef6 *MachineIPPoolReference `json:"poolRef6,omitempty"`
}

// MachineIPPoolReference names a pool of addresses of Cluster API's IPAM.
type MachineIPPoolReference struct {
	// APIGroup of the pool, such as ipam.cluster.x-k8s.io.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup"`

	// Kind of the pool, such as InClusterIPPool or GlobalInClusterIPPool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind"`

	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// Namespace of the IPAddressClaim, and of the pool if its kind is namespaced.
	// Required for cluster-scoped Machines; ignored for namespaced ones, whose claims are
	// in their own namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace *string `json:"namespace,omitempty"`
}

// MachineNetworkReference names a bridge by its NodeNetworks: one for each node that
// has the bridge.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="networkRef needs either name or selector"
type MachineNetworkReference struct {
	// Name of the interface, such as vmbr20, that the NodeNetworks have on their nodes,
	// 2 to 15 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.][0-9]+)?$`
	Name *string `json:"name,omitempty"`

	// Selector of the NodeNetworks. The bridges among the NodeNetworks that it matches
	// must have the same name on all nodes.
	// +optional
	Selector *NodeNetworkSelector `json:"selector,omitempty"`
}

// NodeNetworkSelector selects NodeNetworks of the same scope.
type NodeNetworkSelector struct {
	// MatchLabels that the NodeNetworks must have, 1 to 16.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels"`
}
