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

package apis_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// networkOf returns a NodeNetwork of the scope with parameters in YAML.
func (s scope) networkOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "NodeNetwork", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestNodeNetworkAccepted(t *testing.T) {
	cases := map[string]string{
		"Bridge":       `{node: pve1, interface: vmbr1, type: bridge, cidr: 10.1.0.1/24, gateway: 10.1.0.254, bridge: {ports: [], vlans: 2 4 100-200}}`,
		"Bond":         `{node: pve1, interface: bond0, type: bond, mtu: 9000, bond: {slaves: [eno1, eno2], mode: 802.3ad, transmitHashPolicy: layer2+3}}`,
		"NamedVLAN":    `{node: pve1, interface: eno1.5, type: vlan}`,
		"NumberedVLAN": `{node: pve1, interface: vlan5, type: vlan, vlan: {rawDevice: eno1}}`,
		"VLANPort":     `{node: pve1, interface: vmbr1, type: bridge, bridge: {ports: [eno1.5, bond0]}}`,
		"NoPrimary":    `{node: pve1, interface: bond0, type: bond, bond: {slaves: [eno1], mode: active-backup, primary: ""}}`,
		"NamedTwice":   `{node: pve1, interface: eno1.4094, type: vlan, vlan: {rawDevice: eno1, id: 4094}}`,
		"CustomVLAN":   `{node: pve1, interface: storage, type: vlan, vlan: {rawDevice: eno1, id: 5}}`,
		"Card":         `{node: pve1, interface: eno1, type: eth, mtu: 9000, autostart: true}`,
		"OVSBridge":    `{node: pve1, interface: vmbr1, type: OVSBridge, ovs: {ports: [eno1]}}`,
		"OVSBond":      `{node: pve1, interface: bond1, type: OVSBond, ovs: {bridge: vmbr1}, bond: {slaves: [eno1], mode: lacp-balance-tcp}}`,
		"OVSIntPort":   `{node: pve1, interface: port1, type: OVSIntPort, ovs: {bridge: vmbr1, tag: 5}, cidr6: "2001:db8::1/64", gateway6: "2001:db8::fe"}`,
		"Resets":       `{node: pve1, interface: vmbr1, type: bridge, cidr: "", gateway: "", cidr6: "", gateway6: "", mtu: 0, comments: "", applyStaged: ""}`,
	}
	for name, spec := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantAccepted(t, "Proxmox VE takes it.", tryCreate(t.Context(), s.networkOf(t, spec)))
			})
		}
	}
}

func TestNodeNetworkRefused(t *testing.T) {
	cases := map[string]refusal{
		"Node": {reason: "An interface is of a node.", spec: `{interface: vmbr1, type: bridge}`, want: []string{"spec.forProvider.node"}},
		"LongName": {
			reason: "Linux takes 15 characters.",
			spec:   `{node: pve1, interface: toolonginterface, type: bridge}`,
			want:   []string{"spec.forProvider.interface"},
		},
		"Block": {
			reason: "Options are those of the type.",
			spec:   `{node: pve1, interface: eno1.5, type: vlan, bridge: {}}`,
			want:   []string{"bridge is for the type bridge"},
		},
		"NoSlaves": {
			reason: "A bond has slaves.",
			spec:   `{node: pve1, interface: bond0, type: bond}`,
			want:   []string{"bond is for the types bond"},
		},
		"BondName": {
			reason: "PVE knows a bond by its name.",
			spec:   `{node: pve1, interface: lag0, type: bond, bond: {slaves: [eno1]}}`,
			want:   []string{"bond and a number"},
		},
		"BondMode": {
			reason: "Modes are those of the kernel.",
			spec:   `{node: pve1, interface: bond0, type: bond, bond: {slaves: [eno1], mode: balance-slb}}`,
			want:   []string{"for the type bond"},
		},
		"OVSBondMode": {
			reason: "Modes of a bond of Open vSwitch are its own.",
			spec:   `{node: pve1, interface: bond0, type: OVSBond, ovs: {bridge: vmbr1}, bond: {slaves: [eno1], mode: 802.3ad}}`,
			want:   []string{"an OVSBond has"},
		},
		"VLANDevice": {reason: "A VLAN stands upon a device.", spec: `{node: pve1, interface: vlan5, type: vlan}`, want: []string{"vlan.rawDevice"}},
		"VLANTag": {
			reason: "A VLAN has a tag.",
			spec:   `{node: pve1, interface: storage, type: vlan, vlan: {rawDevice: eno1}}`,
			want:   []string{"vlan.id"},
		},
		"Ports": {
			reason: "A port is one interface.", spec: `{node: pve1, interface: vmbr1, type: bridge, bridge: {ports: [eno1 eno2]}}`,
			want: []string{"spec.forProvider.bridge.ports[0]", "eno1 eno2"},
		},
		"Slaves": {
			reason: "A slave is named as PVE takes it.", spec: `{node: pve1, interface: bond0, type: bond, bond: {slaves: ["eno-1"]}}`,
			want: []string{"spec.forProvider.bond.slaves[0]", "eno-1"},
		},
		"VLANTagRange": {reason: "A tag is 1 to 4094.", spec: `{node: pve1, interface: eno1.4095, type: vlan}`, want: []string{"1 to 4094"}},
		"VLANNoTag":    {reason: "0 is no tag.", spec: `{node: pve1, interface: vlan0, type: vlan, vlan: {rawDevice: eno1}}`, want: []string{"1 to 4094"}},
		"VLANOtherTag": {
			reason: "PVE goes by the name.", spec: `{node: pve1, interface: eno1.5, type: vlan, vlan: {id: 15}}`, want: []string{"another tag"},
		},
		"VLANOtherNumber": {
			reason: "PVE goes by the name.", spec: `{node: pve1, interface: vlan5, type: vlan, vlan: {rawDevice: eno1, id: 55}}`, want: []string{"another tag"},
		},
		"VLANOtherDevice": {
			reason: "PVE goes by the name.", spec: `{node: pve1, interface: eno1.5, type: vlan, vlan: {rawDevice: eno2}}`, want: []string{"another device"},
		},
		"OVSBridge": {
			reason: "A port is of a bridge.",
			spec:   `{node: pve1, interface: port1, type: OVSIntPort}`,
			want:   []string{"need ovs.bridge"},
		},
		"Autostart": {
			reason: "The bridge starts its ports.",
			spec:   `{node: pve1, interface: port1, type: OVSIntPort, ovs: {bridge: vmbr1}, autostart: true}`,
			want:   []string{"autostart is not for"},
		},
		"MTU": {reason: "PVE takes 1280 at least.", spec: `{node: pve1, interface: vmbr1, type: bridge, mtu: 1000}`, want: []string{"1280"}},
		"CIDR": {
			reason: "An address has its length.",
			spec:   `{node: pve1, interface: vmbr1, type: bridge, cidr: 10.1.0.1}`,
			want:   []string{"IPv4 address with its length"},
		},
		"Family": {
			reason: "Families have fields of their own.",
			spec:   `{node: pve1, interface: vmbr1, type: bridge, cidr: "2001:db8::1/64"}`,
			want:   []string{"IPv4 address"},
		},
		"Gateway": {
			reason: "A gateway needs an address.",
			spec:   `{node: pve1, interface: vmbr1, type: bridge, gateway: 10.1.0.254}`,
			want:   []string{"gateway needs cidr"},
		},
		"Consent": {
			reason: "Consent is to a checksum.",
			spec:   `{node: pve1, interface: vmbr1, type: bridge, applyStaged: all}`,
			want:   []string{"applyStaged"},
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.networkOf(t, tc.spec)), tc.want...)
			})
		}
	}
}
