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

// A NodeNetwork is a network interface of a node of Proxmox VE: a bridge, a bond, a
// VLAN, an Open vSwitch form of these, or a network card. Proxmox VE stages changes of
// interfaces until they are applied. The provider applies its own changes. It never
// applies changes of others without consent, and never changes that would cut the node
// off.
//
// +proxmox:kind=NodeNetwork,shortName=pvenet
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".spec.forProvider.node"
// +kubebuilder:printcolumn:name="INTERFACE",type="string",JSONPath=".spec.forProvider.interface"
// +kubebuilder:printcolumn:name="TYPE",type="string",JSONPath=".spec.forProvider.type"
// +kubebuilder:printcolumn:name="APPLIED",type="string",JSONPath=".status.conditions[?(@.type=='Applied')].status"
// +kubebuilder:printcolumn:name="STAGED",type="string",JSONPath=".status.conditions[?(@.type=='Staged')].status",priority=1

// NodeNetworkParameters describe an interface. Only the fields that are set are
// managed; an empty value resets an option.
//
// +kubebuilder:validation:XValidation:rule="self.node == oldSelf.node && self.interface == oldSelf.interface && self.type == oldSelf.type",message="node, interface and type cannot change: delete the NodeNetwork and create it again"
// +kubebuilder:validation:XValidation:rule="!has(self.bridge) || self.type == 'bridge'",message="bridge is for the type bridge"
// +kubebuilder:validation:XValidation:rule="has(self.bond) == (self.type in ['bond', 'OVSBond'])",message="bond is for the types bond and OVSBond, which need it"
// +kubebuilder:validation:XValidation:rule="!has(self.vlan) || self.type == 'vlan'",message="vlan is for the type vlan"
// +kubebuilder:validation:XValidation:rule="!has(self.ovs) || self.type.startsWith('OVS')",message="ovs is for the types OVSBridge, OVSBond, OVSPort and OVSIntPort"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['bond', 'OVSBond']) || self.interface.matches('^bond[0-9]+$')",message="Proxmox VE knows a bond by its name: bond and a number, such as bond0"
// +kubebuilder:validation:XValidation:rule="self.type != 'vlan' || self.interface.matches('^.+[.][0-9]+$') || (has(self.vlan) && has(self.vlan.rawDevice) && (has(self.vlan.id) || self.interface.matches('^vlan[0-9]+$')))",message="a VLAN is named after its device and tag, such as eno1.5, or has vlan.rawDevice and a tag: in its name, such as vlan5, or in vlan.id"
// +kubebuilder:validation:XValidation:rule="self.type != 'vlan' || !self.interface.matches('^(.+[.]|vlan)[0-9]+$') || self.interface.matches('^(.+[.]|vlan)([1-9][0-9]{0,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-4])$')",message="the tag in the name of a VLAN is a number of 1 to 4094"
// +kubebuilder:validation:XValidation:rule="self.type != 'vlan' || !has(self.vlan) || !has(self.vlan.id) || !self.interface.matches('^(.+[.]|vlan)[0-9]+$') || int(self.interface.contains('.') ? self.interface.substring(self.interface.lastIndexOf('.') + 1) : self.interface.substring(4)) == self.vlan.id",message="vlan.id is another tag than the name of the VLAN has, which Proxmox VE goes by: leave vlan.id out"
// +kubebuilder:validation:XValidation:rule="self.type != 'vlan' || !has(self.vlan) || !has(self.vlan.rawDevice) || !self.interface.contains('.') || self.interface.startsWith(self.vlan.rawDevice + '.')",message="vlan.rawDevice is another device than the name of the VLAN has, which Proxmox VE goes by: leave vlan.rawDevice out"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['OVSBond', 'OVSIntPort', 'OVSPort']) || (has(self.ovs) && has(self.ovs.bridge))",message="OVSBond, OVSIntPort and OVSPort need ovs.bridge"
// +kubebuilder:validation:XValidation:rule="!has(self.ovs) || !has(self.ovs.bridge) || self.type != 'OVSBridge'",message="ovs.bridge is for OVSBond, OVSIntPort and OVSPort"
// +kubebuilder:validation:XValidation:rule="!has(self.ovs) || !has(self.ovs.ports) || self.type == 'OVSBridge'",message="ovs.ports is for OVSBridge"
// +kubebuilder:validation:XValidation:rule="!has(self.ovs) || !has(self.ovs.tag) || self.type != 'OVSBridge'",message="ovs.tag is for OVSBond, OVSIntPort and OVSPort"
// +kubebuilder:validation:XValidation:rule="!has(self.autostart) || !(self.type in ['OVSBond', 'OVSIntPort', 'OVSPort'])",message="autostart is not for OVSBond, OVSIntPort and OVSPort: their bridge starts them"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || size(self.gateway) == 0 || (has(self.cidr) && size(self.cidr) > 0)",message="gateway needs cidr"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway6) || size(self.gateway6) == 0 || (has(self.cidr6) && size(self.cidr6) > 0)",message="gateway6 needs cidr6"
// +kubebuilder:validation:XValidation:rule="self.type != 'bond' || !has(self.bond) || !has(self.bond.mode) || self.bond.mode in ['balance-rr', 'active-backup', 'balance-xor', 'broadcast', '802.3ad', 'balance-tlb', 'balance-alb']",message="bond.mode is one of balance-rr, active-backup, balance-xor, broadcast, 802.3ad, balance-tlb and balance-alb for the type bond"
// +kubebuilder:validation:XValidation:rule="self.type != 'OVSBond' || !has(self.bond) || (!has(self.bond.primary) && !has(self.bond.transmitHashPolicy) && (!has(self.bond.mode) || self.bond.mode in ['active-backup', 'balance-slb', 'lacp-balance-slb', 'lacp-balance-tcp']))",message="an OVSBond has no bond.primary and no bond.transmitHashPolicy, and bond.mode is one of active-backup, balance-slb, lacp-balance-slb and lacp-balance-tcp"
type NodeNetworkParameters struct {
	// Node that has the interface, by its name. Cannot change (PVE: node).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Node string `json:"node"`

	// Interface by its name, such as vmbr1: a letter, then letters, digits and
	// underscores, optionally with a dot and the tag of a VLAN, at most 15 characters. A
	// bond is named bond0, bond1 and so on. Cannot change (PVE: iface).
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.][0-9]+)?$`
	Interface string `json:"interface"`

	// Type of the interface: bridge, bond, vlan, an Open vSwitch form of these, for which
	// the node needs the package openvswitch-switch, or eth for a network card. A network
	// card (eth and OVSPort) always exists: adopt it by its external name, such as
	// pve1/eno1. It does not change when the NodeNetwork is deleted. Cannot change (PVE:
	// type).
	// +kubebuilder:validation:Enum=bridge;bond;vlan;eth;OVSBridge;OVSBond;OVSPort;OVSIntPort
	Type string `json:"type"`

	// Autostart starts the interface when the node boots, and when the network is
	// reloaded. Default when it is created: true (PVE: autostart).
	// +optional
	Autostart *bool `json:"autostart,omitempty"`

	// Comments on the interface, at most 1024 characters. Proxmox VE does not keep spaces
	// at the ends of lines. Empty removes them (PVE: comments).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Comments *string `json:"comments,omitempty"`

	// MTU in bytes, 1280 to 65520, and at most the MTU of the interfaces below; 0 resets
	// it. Default of Proxmox VE: 1500 (PVE: mtu).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65520
	// +kubebuilder:validation:XValidation:rule="self == 0 || self >= 1280",message="mtu is at least 1280, or 0 for the default"
	MTU *int32 `json:"mtu,omitempty"`

	// CIDR is the IPv4 address of the node on the interface, with its prefix length, such
	// as 10.1.0.11/24. Empty removes it (PVE: cidr).
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (isCIDR(self) && cidr(self).ip().family() == 4)",message="cidr is an IPv4 address with its length, such as 10.1.0.11/24"
	CIDR *string `json:"cidr,omitempty"`

	// Gateway is the default gateway for IPv4. A node has only one. Empty removes it
	// (PVE: gateway).
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (isIP(self) && ip(self).family() == 4)",message="gateway is an IPv4 address"
	Gateway *string `json:"gateway,omitempty"`

	// CIDR6 is the IPv6 address of the node on the interface, with its prefix length,
	// such as 2001:db8::11/64. Empty removes it (PVE: cidr6).
	// +optional
	// +kubebuilder:validation:MaxLength=49
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (isCIDR(self) && cidr(self).ip().family() == 6)",message="cidr6 is an IPv6 address with its length, such as 2001:db8::11/64"
	CIDR6 *string `json:"cidr6,omitempty"`

	// Gateway6 is the default gateway for IPv6. A node has only one. Empty removes it
	// (PVE: gateway6).
	// +optional
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (isIP(self) && ip(self).family() == 6)",message="gateway6 is an IPv6 address"
	Gateway6 *string `json:"gateway6,omitempty"`

	// Bridge has the options of a Linux bridge.
	// +optional
	Bridge *NodeNetworkBridge `json:"bridge,omitempty"`

	// Bond has the options of a bond.
	// +optional
	Bond *NodeNetworkBond `json:"bond,omitempty"`

	// VLAN has the options of a VLAN.
	// +optional
	VLAN *NodeNetworkVLAN `json:"vlan,omitempty"`

	// OVS has the options of Open vSwitch.
	// +optional
	OVS *NodeNetworkOVS `json:"ovs,omitempty"`

	// Apply determines who applies staged changes. With Automatic, the provider applies
	// them, once all NodeNetworks of the node have staged their changes, by one reload.
	// With Manual, somebody applies them in the user interface of Proxmox VE; until then,
	// no staged change on the node is applied, because a reload applies all of them.
	// Default: Automatic.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	Apply *string `json:"apply,omitempty"`

	// ApplyStaged is your consent to apply changes that others have staged on the node
	// together with the changes of this resource. Set it to the checksum in
	// status.atProvider.staged. Proxmox VE applies either all staged changes or none. If
	// more changes are staged afterwards, the checksum is different.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^(sha256:[0-9a-f]{64})?$`
	ApplyStaged *string `json:"applyStaged,omitempty"`

	// ConfirmUnmappedAddresses confirms that changes of this resource do not cut off the
	// addresses of the node and of the endpoints that no interface of the node has in
	// Proxmox VE, such as the address of a proxy, or an address that a node gets by DHCP.
	// All other addresses are protected nevertheless. Default: false.
	// +optional
	ConfirmUnmappedAddresses *bool `json:"confirmUnmappedAddresses,omitempty"`
}

// NodeNetworkBridge has the options of a Linux bridge.
type NodeNetworkBridge struct {
	// Ports of the bridge: network cards, bonds and VLANs. An empty list is a bridge
	// without ports (PVE: bridge_ports).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=15
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.:][0-9]+)?$`
	Ports []string `json:"ports,omitzero"`

	// VLANAware allows NICs of guests to have VLAN tags without a bridge for each VLAN.
	// Default of Proxmox VE: false (PVE: bridge_vlan_aware).
	// +optional
	VLANAware *bool `json:"vlanAware,omitempty"`

	// VLANs that pass a VLAN-aware bridge: tags and ranges of 1 to 4094, separated by
	// spaces, such as "2 4 100-200". Empty resets it. Default of Proxmox VE: 2-4094 (PVE:
	// bridge_vids).
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^([0-9]+(-[0-9]+)?( [0-9]+(-[0-9]+)?)*)?$`
	VLANs *string `json:"vlans,omitempty"`
}

// NodeNetworkBond has the options of a bond.
type NodeNetworkBond struct {
	// Slaves are the network cards of the bond (PVE: slaves, or ovs_bonds of an OVSBond).
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=15
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.:][0-9]+)?$`
	Slaves []string `json:"slaves"`

	// Mode of the bond. For a bond: balance-rr, active-backup, balance-xor, broadcast,
	// 802.3ad, balance-tlb or balance-alb; the default of Proxmox VE is balance-rr. For
	// an OVSBond: active-backup, balance-slb, lacp-balance-slb or lacp-balance-tcp; the
	// default is active-backup (PVE: bond_mode).
	// +optional
	// +kubebuilder:validation:Enum=balance-rr;active-backup;balance-xor;broadcast;"802.3ad";balance-tlb;balance-alb;balance-slb;lacp-balance-slb;lacp-balance-tcp
	Mode *string `json:"mode,omitempty"`

	// Primary is the slave that an active-backup bond prefers. Empty removes it (PVE:
	// bond-primary).
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^([a-zA-Z][a-zA-Z0-9_]*([.:][0-9]+)?)?$`
	Primary *string `json:"primary,omitempty"`

	// TransmitHashPolicy determines by which parts of a frame a balance-xor or 802.3ad
	// bond chooses the slave. Default of the kernel: layer2 (PVE: bond_xmit_hash_policy).
	// +optional
	// +kubebuilder:validation:Enum=layer2;"layer2+3";"layer3+4"
	TransmitHashPolicy *string `json:"transmitHashPolicy,omitempty"`
}

// NodeNetworkVLAN has the options of a VLAN.
type NodeNetworkVLAN struct {
	// ID is the tag of a VLAN whose name does not contain it, 1 to 4094 (PVE: vlan-id).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	ID *int32 `json:"id,omitempty"`

	// RawDevice is the interface that carries the VLAN, if the VLAN's name does not
	// contain it (PVE: vlan-raw-device).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.:][0-9]+)?$`
	RawDevice *string `json:"rawDevice,omitempty"`
}

// NodeNetworkOVS has the options of Open vSwitch.
//
// +kubebuilder:validation:XValidation:rule="has(self.bridge) == has(oldSelf.bridge) && (!has(self.bridge) || self.bridge == oldSelf.bridge)",message="ovs.bridge cannot change: delete the NodeNetwork and create it again"
type NodeNetworkOVS struct {
	// Ports of an OVSBridge: network cards. The provider adds these ports and keeps
	// others, such as those that OVSBonds and OVSIntPorts add by themselves (PVE:
	// ovs_ports).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=15
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.:][0-9]+)?$`
	Ports []string `json:"ports,omitempty"`

	// Bridge of a port or bond. Cannot change (PVE: ovs_bridge).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_]*([.:][0-9]+)?$`
	Bridge *string `json:"bridge,omitempty"`

	// Tag is the VLAN of a port or bond, 1 to 4094; 0 removes it (PVE: ovs_tag).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	Tag *int32 `json:"tag,omitempty"`

	// Options of Open vSwitch, separated by spaces, at most 1024 characters. Empty
	// removes them (PVE: ovs_options).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^\r\n]*$`
	Options *string `json:"options,omitempty"`
}

// NodeNetworkObservation is the observed state of an interface.
type NodeNetworkObservation struct {
	ObjectObservation `json:",inline"`

	// Active reports whether the interface is up.
	// +optional
	Active *bool `json:"active,omitempty"`

	// Staged are the changes of the node's interfaces that wait to be applied, no matter
	// who staged them.
	// +optional
	Staged *NodeNetworkStaged `json:"staged,omitempty"`

	// Reload is the last reload of the network that was started for this resource.
	// +optional
	Reload *NodeNetworkReload `json:"reload,omitempty"`
}

// NodeNetworkStaged are changes that wait to be applied.
type NodeNetworkStaged struct {
	// Checksum of the changes, for applyStaged.
	Checksum string `json:"checksum"`

	// Changes as a diff, at most 8192 bytes, without secrets.
	Changes string `json:"changes"`

	// ByOthers is true if some of the changes are not changes of NodeNetworks.
	// +optional
	ByOthers bool `json:"byOthers,omitempty"`

	// Interfaces that others have changed, as far as the provider can determine.
	// +optional
	// +listType=set
	Interfaces []string `json:"interfaces,omitempty"`
}

// NodeNetworkReload is a reload of the network of a node.
type NodeNetworkReload struct {
	// UPID of the task.
	UPID string `json:"upid"`

	// Result of the task: OK, WARNINGS with their number, or the reason of the failure.
	// It is empty while the task runs.
	// +optional
	Result string `json:"result,omitempty"`
}
