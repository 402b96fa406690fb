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

package nodenet_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox/sdn"
)

type (
	config  = nodenet.Config
	options = nodenet.Options
)

func ips(all ...string) []netip.Addr {
	var out []netip.Addr
	for _, ip := range all {
		out = append(out, netip.MustParseAddr(ip))
	}
	return out
}

// plain returns a node with a management bridge on a network card, and a second card.
func plain() config {
	return config{
		"eno1":  {"type": "eth"},
		"eno2":  {"type": "eth"},
		"vmbr0": {"type": "bridge", "bridge_ports": "eno1", "cidr": "192.0.2.11/24", "gateway": "192.0.2.1", "autostart": "1"},
		"vmbr1": {"type": "bridge", "bridge_ports": "", "autostart": "1"},
	}
}

// bonded returns a node whose management address is on a VLAN of a bridge on a bond.
func bonded() config {
	return config{
		"eno1":     {"type": "eth", "autostart": "1"},
		"eno2":     {"type": "eth", "autostart": "1"},
		"eno3":     {"type": "eth"},
		"bond0":    {"type": "bond", "slaves": "eno1 eno2", "bond_mode": "802.3ad", "autostart": "1"},
		"vmbr0":    {"type": "bridge", "bridge_ports": "bond0", "bridge_vlan_aware": "1", "bridge_vids": "2-4094", "autostart": "1"},
		"vmbr0.50": {"type": "vlan", "vlan-raw-device": "vmbr0", "cidr": "192.0.2.11/24", "cidr6": "2001:db8::11/64", "gateway6": "2001:db8::1", "autostart": "1"},
	}
}

// switched returns a node with Open vSwitch.
func switched() config {
	return config{
		"eno1":    {"type": "OVSPort", "ovs_bridge": "vmbr0"},
		"vmbr0":   {"type": "OVSBridge", "ovs_ports": "eno1 mgmt storage", "autostart": "1"},
		"mgmt":    {"type": "OVSIntPort", "ovs_bridge": "vmbr0", "cidr": "192.0.2.11/24", "ovs_tag": "5"},
		"storage": {"type": "OVSIntPort", "ovs_bridge": "vmbr0", "cidr": "10.9.0.11/24"},
	}
}

// set returns a configuration with options of an interface changed; an empty value removes
// one.
func set(c config, name string, changed options) config {
	if c[name] == nil {
		c[name] = options{}
	}
	for option, value := range changed {
		if value == "" {
			delete(c[name], option)
		} else {
			c[name][option] = value
		}
	}
	return c
}

func without(c config, name string) config {
	delete(c, name)
	return c
}

func TestRefuse(t *testing.T) {
	node := []nodenet.Address{{For: "the node", IPs: ips("192.0.2.11")}}
	endpoint := []nodenet.Address{{For: "the endpoint https://192.0.2.11:8006", IPs: ips("192.0.2.11")}}
	elsewhere := []nodenet.Address{{For: "the endpoint https://192.0.2.12:8006", IPs: ips("192.0.2.12")}}
	proxy := []nodenet.Address{{For: "the endpoint https://pve.example.com:8006", IPs: ips("198.51.100.7")}}
	six := []nodenet.Address{{For: "the endpoint https://[2001:db8::11]:8006", IPs: ips("2001:db8::11")}}
	twice := []nodenet.Address{{For: "the node", IPs: ips("192.0.2.11")}, {For: "corosync link 1", IPs: ips("10.9.0.11")}}
	others := ips("192.0.2.12", "192.0.2.13")
	tests := map[string]struct {
		reason        string
		before, after config
		cluster       []nodenet.Address
		endpoints     []nodenet.Address
		confirmed     bool
		guests        map[string][]string
		gone          []netip.Addr
		zones         []sdn.Zone
		refused       string // Part of one of the reasons; empty if the change is permitted.
	}{
		"NewBridge": {
			reason: "A bridge without ports cuts nothing off.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge", "cidr": "10.77.0.1/24"}), endpoints: endpoint,
		},
		"NewBridgeOnFreeCard": {
			reason: "A card that carries nothing may become a port.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge", "bridge_ports": "eno2"}), endpoints: endpoint,
		},
		"PortRemoved": {
			reason: "The management bridge keeps its port.",
			before: plain(), after: set(plain(), "vmbr0", options{"bridge_ports": ""}), refused: `bridge_ports of vmbr0 from "eno1" to ""`,
		},
		"PortReplaced": {
			reason: "Another port may have no link.",
			before: plain(), after: set(plain(), "vmbr0", options{"bridge_ports": "eno2"}), refused: "bridge_ports of vmbr0",
		},
		"PortAdded": {
			reason: "A further port keeps what is reached over the first.",
			before: plain(), after: set(plain(), "vmbr0", options{"bridge_ports": "eno1 eno2"}), endpoints: endpoint,
		},
		"PortTaken": {
			reason: "The card below the management bridge becomes no port of another one.",
			before: plain(), after: set(plain(), "vmbr1", options{"bridge_ports": "eno1"}), refused: "makes eno1 a port of vmbr1",
		},
		"CardTakenByBond": {
			reason: "The card that has the address itself becomes no slave.",
			before: config{"eno1": {"type": "eth", "cidr": "192.0.2.11/24", "autostart": "1"}},
			after: config{"eno1": {
				"type": "eth",
				"cidr": "192.0.2.11/24", "autostart": "1",
			}, "bond0": {"type": "bond", "slaves": "eno1"}}, refused: "makes eno1 a port of bond0",
		},
		"AddressRemoved": {
			reason: "The address of the node stays.",
			before: plain(), after: set(plain(), "vmbr0", options{"cidr": "", "gateway": ""}), refused: "takes away 192.0.2.11",
		},
		"AddressChanged": {
			reason: "Another address is not where the cluster looks for the node.",
			before: plain(), after: set(plain(), "vmbr0", options{"cidr": "192.0.2.99/24"}), refused: "takes away 192.0.2.11",
		},
		"LengthChanged": {
			reason: "Another length makes other nodes unreachable.",
			before: plain(), after: set(plain(), "vmbr0", options{"cidr": "192.0.2.11/28"}), refused: "from 24 to 28",
		},
		"AddressMovedToVLAN": {
			reason: "Whether the switch knows the VLAN cannot be seen.",
			before: plain(), after: set(set(plain(), "vmbr0", options{"cidr": "", "gateway": ""}),
				"vmbr0.5", options{"type": "vlan", "cidr": "192.0.2.11/24", "gateway": "192.0.2.1"}), refused: "moves 192.0.2.11",
		},
		"AddressTwice": {
			reason: "PVE takes an address that is there already.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge", "cidr": "192.0.2.11/24"}), refused: "same network",
		},
		"NetworkTwice": {
			reason: "Two interfaces in one network share its routes.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge", "cidr": "192.0.2.77/25"}), refused: "vmbr9 the address 192.0.2.77/25",
		},
		"MTU": {
			reason: "The MTU of the management bridge may change.",
			before: plain(), after: set(plain(), "vmbr0", options{"mtu": "9000", "comments": "large"}), endpoints: endpoint,
		},
		"VLANAware": {
			reason: "Frames without a tag pass a bridge that becomes VLAN aware.",
			before: plain(), after: set(plain(), "vmbr0", options{"bridge_vlan_aware": "1", "bridge_vids": "2-4094"}), endpoints: endpoint,
		},
		"Gateway": {
			reason: "Clients in other networks come over the default route.",
			before: plain(), after: set(plain(), "vmbr0", options{"gateway": "192.0.2.254"}), refused: "default route 192.0.2.1",
		},
		"GatewayElsewhere": {
			reason: "The default route does not move to another interface.",
			before: plain(), after: set(set(plain(), "vmbr0", options{"gateway": ""}),
				"vmbr9", options{"type": "bridge", "cidr": "10.77.0.1/24", "gateway": "10.77.0.254"}), refused: "default route 192.0.2.1",
		},
		"GatewayOfOtherFamily": {
			reason: "Nothing is reached over IPv6.",
			before: set(plain(), "vmbr1", options{"cidr6": "2001:db8::1/64", "gateway6": "2001:db8::fe"}),
			after:  set(plain(), "vmbr1", options{"cidr6": "2001:db8::1/64", "gateway6": "2001:db8::ff"}), endpoints: endpoint,
		},
		"AutostartOff": {
			reason: "After a restart the node would be gone.",
			before: plain(), after: set(plain(), "vmbr0", options{"autostart": ""}), refused: `autostart of vmbr0`,
		},
		"ManagementRemoved": {
			reason: "The management bridge stays.",
			before: plain(), after: without(plain(), "vmbr0"), refused: "removes vmbr0",
		},
		"SlaveRemoved": {
			reason: "The slave that is left may have no link.",
			before: bonded(), after: set(bonded(), "bond0", options{"slaves": "eno1"}), refused: "slaves of bond0",
		},
		"SlaveAdded": {
			reason: "A bond may get a card more while the others stay.",
			before: bonded(), after: set(bonded(), "bond0", options{"slaves": "eno1 eno2 eno3"}), endpoints: six,
		},
		"BondMode": {
			reason: "The switch may not know the other mode.",
			before: bonded(), after: set(bonded(), "bond0", options{"bond_mode": "active-backup"}), refused: "bond_mode of bond0",
		},
		"BondRemoved": {
			reason: "The bond below the management bridge stays.",
			before: bonded(), after: without(set(bonded(), "vmbr0", options{"bridge_ports": "eno1"}), "bond0"), refused: "removes bond0",
		},
		"VIDsBelowVLAN": {
			reason: "The VLAN with the address is one of those that the bridge passes.",
			before: bonded(), after: set(bonded(), "vmbr0", options{"bridge_vids": "100-200"}), refused: "bridge_vids of vmbr0",
		},
		"EndpointIPv6": {
			reason: "The endpoint is reached over IPv6.",
			before: bonded(), after: set(bonded(), "vmbr0.50", options{"cidr6": "2001:db8::12/64"}), endpoints: six, refused: "takes away 2001:db8::11",
		},
		"GatewayIPv6": {
			reason: "The default route of IPv6 stays.",
			before: bonded(), after: set(bonded(), "vmbr0.50", options{"gateway6": "2001:db8::2"}), endpoints: six, refused: "default route 2001:db8::1",
		},
		"EndpointOnOtherNode": {
			reason: "The call is passed on to the node by its own address, which stays.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge"}), endpoints: elsewhere,
		},
		"OwnAddressInOtherNetwork": {
			reason: "The node is reached by its own address, in another network than the endpoint.",
			before: set(plain(), "vmbr0", options{"cidr": "192.0.2.11/25"}), after: set(plain(), "vmbr0", options{"cidr": "198.51.100.1/24"}),
			endpoints: elsewhere, refused: "takes away 192.0.2.11",
		},
		"Proxy": {
			reason: "What stands before the API is not on the node.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge"}), endpoints: proxy, refused: "confirmUnmappedAddresses",
		},
		"ProxyConfirmed": {
			reason: "The user says that it is not cut off.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge"}), endpoints: proxy, confirmed: true,
		},
		"ProxyConfirmedNodeKept": {
			reason: "The consent does not concern the address of the node.",
			before: plain(), after: without(plain(), "vmbr0"), endpoints: proxy, confirmed: true, refused: "removes vmbr0",
		},
		"NoAddress": {
			reason: "A name that cannot be resolved may mean any address.",
			before: plain(), after: set(plain(), "vmbr9", options{"type": "bridge"}), endpoints: []nodenet.Address{{For: "the endpoint https://pve:8006"}},
			refused: "no known address",
		},
		"CorosyncLink": {
			reason: "The second link of corosync is kept as the first is.",
			before: switched(), after: set(switched(), "storage", options{"cidr": "10.9.0.12/24"}), cluster: twice, refused: "corosync link 1",
		},
		"DHCP": {
			reason: "Proxmox VE does not show an address that the node was given.",
			before: config{"eno1": {"type": "eth", "method": "dhcp"}}, after: config{"eno1": {"type": "eth", "method": "dhcp"}, "vmbr9": {"type": "bridge"}},
			refused: "no interface of node pve1",
		},
		"InternalPort": {
			reason: "Another internal port of the bridge carries nothing.",
			before: switched(), after: without(set(switched(), "vmbr0", options{"ovs_ports": "eno1 mgmt"}), "storage"), endpoints: endpoint,
		},
		"OVSPortRemoved": {
			reason: "The port to the outside stays.",
			before: switched(), after: set(switched(), "vmbr0", options{"ovs_ports": "mgmt storage"}), refused: "ovs_ports of vmbr0",
		},
		"OVSTag": {
			reason: "Another tag is another network.",
			before: switched(), after: set(switched(), "mgmt", options{"ovs_tag": "6"}), refused: "ovs_tag of mgmt",
		},
		"OthersStandUpon": {
			reason: "A VLAN stands upon the bridge.",
			before: set(plain(), "vmbr1.7", options{"type": "vlan", "vlan-raw-device": "vmbr1"}),
			after:  without(set(plain(), "vmbr1.7", options{"type": "vlan", "vlan-raw-device": "vmbr1"}), "vmbr1"), refused: "which vmbr1.7 uses",
		},
		"GuestsUse": {
			reason: "VMs have NICs on the bridge.",
			before: plain(), after: without(plain(), "vmbr1"), guests: map[string][]string{"vmbr1": {"VM 100"}}, refused: "which VM 100 uses",
		},
		"Unused": {
			reason: "A bridge that nobody uses may go.",
			before: plain(), after: without(plain(), "vmbr1"), endpoints: endpoint, guests: map[string][]string{"vmbr0": {"VM 100"}},
		},
		"PeerOfZone": {
			reason: "A VXLAN zone has the address among its peers.", before: set(plain(), "vmbr1", options{"cidr": "10.9.0.11/24"}),
			after: set(plain(), "vmbr1", options{"cidr": "10.9.0.12/24"}), zones: []sdn.Zone{{Name: "z1", Peers: []string{"10.9.0.11"}}},
			refused: "takes away 10.9.0.11, which SDN zone z1",
		},
		"PeerOfZoneElsewhere": {
			reason: "The zone is on another node.", before: set(plain(), "vmbr1", options{"cidr": "10.9.0.11/24"}), endpoints: endpoint,
			after: set(plain(), "vmbr1", options{"cidr": ""}), zones: []sdn.Zone{{Name: "z1", Peers: []string{"10.9.0.11"}, Nodes: []string{"pve2"}}},
		},
		"PeerOfZoneKept": {
			reason: "The address stays, and its length changes.", before: set(plain(), "vmbr1", options{"cidr": "10.9.0.11/24"}), endpoints: endpoint,
			after: set(plain(), "vmbr1", options{"cidr": "10.9.0.11/25"}), zones: []sdn.Zone{{Name: "z1", Peers: []string{"10.9.0.11"}}},
		},
		"GoneConfirmed": {
			reason: "The consent does not concern an address that an interface of the node has had.", gone: ips("198.51.100.7"),
			after: plain(), endpoints: proxy, confirmed: true, refused: "takes away 198.51.100.7",
		},
		"GoneOther": {reason: "Nothing is reached through the address.", gone: ips("10.1.1.1"), after: plain(), endpoints: endpoint},
		"UnknownBefore": {
			reason: "Where the address stands upon a card, and is started, it is reached.",
			after:  plain(), endpoints: endpoint,
		},
		"UnknownBeforeNoCard": {
			reason: "An address without a card is not reached from outside.",
			after:  set(plain(), "vmbr0", options{"bridge_ports": ""}), refused: "no network card",
		},
		"UnknownBeforeNoAutostart": {
			reason: "An interface that is not started with the node would be gone after a restart.",
			after:  set(plain(), "vmbr0", options{"autostart": ""}), refused: "not started with the node",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := tc.cluster
			if cluster == nil {
				cluster = node
			}
			got := nodenet.Refuse(nodenet.Request{
				Node: "pve1", Before: tc.before, After: tc.after, Cluster: cluster, Endpoints: tc.endpoints, Others: others,
				Confirmed: tc.confirmed, Users: tc.guests, Gone: tc.gone, Zones: tc.zones,
			})
			all := strings.Join(got, "\n")
			if tc.refused == "" && len(got) > 0 {
				t.Errorf("%s\nrefused: %s", tc.reason, all)
			}
			if tc.refused != "" && !strings.Contains(all, tc.refused) {
				t.Errorf("%s\nreasons: %q, want one with %q", tc.reason, all, tc.refused)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	ovs := config{"eno1": {"type": "eth"}, "eno2": {"type": "eth"}, "vmbr0": {"type": "bridge", "bridge_vlan_aware": "1"}}
	tests := map[string]struct {
		reason   string
		baseline config
		now      config
		ours     []string
		want     string
	}{
		"Ours": {
			reason: "Our own bridge is new.", baseline: plain(), ours: []string{"vmbr9"},
			now: set(plain(), "vmbr9", options{"type": "bridge"}),
		},
		"Others": {
			reason: "Somebody else has changed another one.", baseline: plain(), ours: []string{"vmbr9"}, want: "vmbr1",
			now: set(set(plain(), "vmbr9", options{"type": "bridge"}), "vmbr1", options{"mtu": "9000"}),
		},
		"OthersRemoved": {
			reason: "Somebody else has removed one.", baseline: plain(), ours: []string{"vmbr9"}, want: "vmbr1", now: without(plain(), "vmbr1"),
		},
		"Slaves": {
			reason: "PVE starts the slaves of a bond.", baseline: plain(), ours: []string{"bond0"},
			now: set(set(plain(), "bond0", options{"type": "bond", "slaves": "eno2"}), "eno2", options{"autostart": "1"}),
		},
		"SlaveChanged": {
			reason: "Something else of the slave was changed by others.", baseline: plain(), ours: []string{"bond0"}, want: "eno2",
			now: set(set(plain(), "bond0", options{"type": "bond", "slaves": "eno2"}), "eno2", options{"mtu": "9000"}),
		},
		"OtherStarted": {
			reason: "A card that is no slave of ours was started by others.", baseline: plain(), ours: []string{"bond0"}, want: "eno2",
			now: set(plain(), "eno2", options{"autostart": "1"}),
		},
		"BridgeOfOVS": {
			reason: "PVE makes a port of a card.", baseline: ovs, ours: []string{"vmbr9"},
			now: config{
				"eno1": {"type": "eth"}, "eno2": {"type": "OVSPort", "ovs_bridge": "vmbr9"}, "vmbr0": ovs["vmbr0"],
				"vmbr9": {"type": "OVSBridge", "ovs_ports": "eno2"},
			},
		},
		"BridgeOfOVSRemoved": {
			reason: "PVE makes a card of a port.", ours: []string{"vmbr0"},
			baseline: switched(), now: config{"eno1": {"type": "eth"}, "mgmt": {"type": "eth"}, "storage": switched()["storage"]}, want: "mgmt",
		},
		"PortReleased": {
			reason: "PVE takes the options of a port along with its bridge.", ours: []string{"vmbr9"}, baseline: withPort(), now: config{"eno2": {"type": "eth"}},
		},
		"PortReleasedByOthers": {
			reason: "The bridge was none of ours.", ours: []string{"vmbr8"}, want: "eno2 vmbr9", baseline: withPort(), now: config{"eno2": {"type": "eth"}},
		},
		"PortReleasedAndChanged": {
			reason: "Others have changed the card that is left.", ours: []string{"vmbr9"}, want: "eno2",
			baseline: withPort(), now: config{"eno2": {"type": "eth", "mtu": "9000"}},
		},
		"CardReset": {
			reason: "Others have taken the options of a card that is a port of a Linux bridge of ours.", ours: []string{"vmbr9"}, want: "eno2",
			baseline: config{"eno2": {"type": "eth", "mtu": "1400"}, "vmbr9": {"type": "bridge", "bridge_ports": "eno2"}},
			now:      config{"eno2": {"type": "eth"}, "vmbr9": {"type": "bridge", "bridge_ports": "eno2", "mtu": "1400"}},
		},
		"Defaults": {
			reason: "PVE writes defaults down, and the kernel changes what is active.", baseline: ovs, ours: nil,
			now: set(ovs.Clone(), "vmbr0", options{"bridge_vids": "2-4094", "bridge_stp": "off", "active": "1", "priority": "9"}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(nodenet.NewBaseline(tc.baseline).Foreign(tc.now, tc.ours), " "); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

const head = "@@ -1,3 +1,6 @@\n+# written by a program\n+# do not edit\n+\n auto lo\n iface lo inet loopback\n \n"

// withPort returns a bridge of Open vSwitch with a network card that has options.
func withPort() config {
	return config{
		"eno2":  {"type": "OVSPort", "ovs_bridge": "vmbr9", "mtu": "1400", "ovs_tag": "7"},
		"vmbr9": {"type": "OVSBridge", "ovs_ports": "eno2"},
	}
}

func TestChanges(t *testing.T) {
	files := "--- /etc/network/interfaces\t2026-11-20 21:16:34 +0000\n+++ /etc/network/interfaces.new\t2026-11-20 21:26:02 +0000\n"
	tests := map[string]struct{ reason, diff, want string }{
		"Nothing": {reason: "Nothing is staged without a difference.", diff: "", want: ""},
		"Head":    {reason: "Only the head of the file is new.", diff: files + head, want: ""},
		"Bridge": {
			reason: "Times do not count, and the head is left out.", diff: files + head + "@@ -11,4 +22,5 @@\n \n+auto vmbr9\n",
			want: "@@ -1,3 +1,6 @@\n auto lo\n iface lo inet loopback\n \n@@ -11,4 +22,5 @@\n \n+auto vmbr9\n",
		},
		"Removed": {reason: "A line that goes counts.", diff: files + "@@ -9,2 +9,1 @@\n a\n-b\n", want: "@@ -9,2 +9,1 @@\n a\n-b\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nodenet.Changes(tc.diff); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestShown(t *testing.T) {
	got := nodenet.Shown("+\twpa-psk geheim\n+\taddress 10.0.0.1/24\n")
	if strings.Contains(got, "geheim") || !strings.Contains(got, "10.0.0.1") {
		t.Errorf("secrets are hidden, and nothing else: %q", got)
	}
	if long := nodenet.Shown(strings.Repeat("x", 100_000)); len(long) > 10_000 {
		t.Errorf("%d bytes are shown", len(long))
	}
}

func TestAsStaged(t *testing.T) {
	bridge := options{"type": "bridge", "cidr": "10.77.0.1/24", "autostart": "1", "comments": "a \nb", "bridge_ports": "eno3 eno2"}
	shown := options{
		"type": "bridge", "cidr": "10.77.0.1/24", "address": "10.77.0.1", "netmask": "24", "autostart": "1", "comments": "a\nb\n",
		"bridge_ports": "eno2 eno3", "bridge_stp": "off", "bridge_fd": "0", "families": "inet", "method": "static", "method6": "manual", "priority": "7",
	}
	with := func(option, value string) options {
		return set(config{"x": shown}.Clone(), "x", options{option: value})["x"]
	}
	tests := map[string]struct {
		reason       string
		staged, seen options
		want         bool
	}{
		"Shown":    {reason: "PVE adds what it derives.", staged: bridge, seen: shown, want: true},
		"Added":    {reason: "Somebody has set a further option.", staged: bridge, seen: with("mtu", "1400")},
		"Removed":  {reason: "Somebody has removed one.", staged: bridge, seen: with("comments", "")},
		"Changed":  {reason: "Somebody has changed one.", staged: bridge, seen: with("cidr", "10.77.0.2/24")},
		"Stopped":  {reason: "Somebody has switched autostart off.", staged: bridge, seen: with("autostart", "")},
		"Gone":     {reason: "Somebody has removed the interface.", staged: bridge},
		"NotGone":  {reason: "The interface was to be removed.", seen: shown},
		"BothGone": {reason: "The interface is removed as it was to be.", want: true},
		"Form": {
			reason: "An address has several forms.", want: true,
			staged: options{"type": "vlan", "cidr6": "2001:DB8::1/64"}, seen: options{"type": "vlan", "cidr6": "2001:db8::1/64", "vlan-id": "5"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nodenet.AsStaged(tc.staged, tc.seen); got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	before := switched()
	after := before.Changed("port", map[string]string{"type": "OVSIntPort", "ovs_bridge": "vmbr0"}, nil)
	if got := after["vmbr0"]["ovs_ports"]; got != "eno1 mgmt storage port" {
		t.Errorf("a new port joins its bridge: %q", got)
	}
	if got := after.Removed("port")["vmbr0"]["ovs_ports"]; got != "eno1 mgmt storage" {
		t.Errorf("a port that goes leaves its bridge: %q", got)
	}
	if got := before.Changed("mgmt", nil, []string{"ovs_tag"})["mgmt"]["ovs_tag"]; got != "" || before["mgmt"]["ovs_tag"] != "5" {
		t.Errorf("an option is removed in a copy: %q", got)
	}
}
