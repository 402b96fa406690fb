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

package qemu

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// nicParts returns the properties of a network interface except its model and MAC address.
func nicParts(n *v1alpha1.MachineNetwork) []part {
	return []part{
		{key: "bridge", Codec: codec.Texts(&n.Bridge)},
		{key: "tag", Codec: codec.Counts(&n.VLAN)},
		{key: "trunks", Codec: codec.Texts(&n.Trunks)},
		{key: "firewall", Codec: codec.Flags(&n.Firewall), absent: "0"},
		{key: "mtu", Codec: codec.Counts(&n.MTU)},
		{key: "queues", Codec: codec.Counts(&n.Queues)},
		{key: "rate", Codec: codec.Rates(&n.RateMBps)},
		{key: "link_down", Codec: codec.Flags(&n.LinkDown), absent: "0"},
		{key: "host-tunnel", Codec: codec.Flags(&n.HostTunnel)},
	}
}

// defaultModel is the model of a new network interface whose spec names none.
const defaultModel = "virtio"

// nicOption returns the option of a network interface. It always contains the MAC address that the interface has, or had before it went missing. Otherwise
// PVE would generate a new one.
func nicOption(device string, n v1alpha1.MachineNetwork, before map[string]string, missing func() proxmox.NIC) Option {
	parts := withdrawn(nicParts(&n), before)
	return Option{Name: device, same: sameNIC, others: openValuesOfNIC(n, parts), Want: func(now string) (string, bool) {
		nic, err := proxmox.ParseNIC(now)
		if err != nil {
			nic = missing()
		}
		nic.Model = cmp.Or(ptr.Deref(n.Model, ""), before[partModel], nic.Model)
		if n.MACAddress != nil && !strings.EqualFold(*n.MACAddress, nic.MAC) {
			nic.MAC = *n.MACAddress
		}
		overlay(&nic.Options, parts...)
		return nic.String(), true
	}}
}

// newNIC returns an interface to add, with its former MAC address if there was one.
func (d Desired) newNIC(n v1alpha1.MachineNetwork) proxmox.NIC {
	nic, err := proxmox.ParseNIC(d.Devices.returning[listNetworks+"/"+n.Name])
	if err != nil {
		nic = proxmox.NIC{Model: defaultModel}
		overlay(&nic.Options, part{key: "bridge", Codec: codec.Fixed(NonEmpty(d.Defaults.Bridge))})
	}
	nic.MAC = d.Devices.MACs[n.Name]
	return nic
}

// openValuesOfNIC returns the values of a network interface that the spec leaves open.
func openValuesOfNIC(n v1alpha1.MachineNetwork, parts []part) func(string) string {
	return func(value string) string {
		nic, err := proxmox.ParseNIC(value)
		if err != nil {
			return value
		}
		if n.Model != nil {
			nic.Model = ""
		}
		if n.MACAddress != nil {
			nic.MAC = ""
		}
		return nic.Model + " " + strings.ToLower(nic.MAC) + " " + otherProperties(nic.Options, parts)
	}
}

func sameNIC(a, b string) bool {
	x, errX := proxmox.ParseNIC(a)
	y, errY := proxmox.ParseNIC(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// IPConfigName returns the cloud-init option for a network device.
func IPConfigName(device string) string { return "ipconfig" + strings.TrimPrefix(device, "net") }

func ipParts(c *v1alpha1.MachineIPConfig) []part {
	return []part{
		{key: "ip", Codec: codec.Texts(&c.Address)},
		{key: "gw", Codec: codec.Texts(&c.Gateway)},
		{key: "ip6", Codec: codec.Texts(&c.Address6)},
		{key: "gw6", Codec: codec.Texts(&c.Gateway6)},
	}
}

// ipConfigOption returns the cloud-init configuration of a network interface.
func ipConfigOption(device string, c *v1alpha1.MachineIPConfig, before map[string]string) Option {
	name := IPConfigName(device)
	c = cmp.Or(c, &v1alpha1.MachineIPConfig{})
	parts := withdrawn(ipParts(c), before)
	return Option{Name: name, same: sameProperties(""), Want: func(now string) (string, bool) {
		p, err := propertystring.Parse(now, "")
		if err != nil {
			p = propertystring.Properties{}
		}
		declared := overlay(&p, parts...)
		// A gateway needs a static address.
		for _, gateway := range []part{{key: "gw", needs: "ip"}, {key: "gw6", needs: "ip6"}} {
			if isDeclared(parts, gateway.needs) && !IsStatic(p.Get(gateway.needs)) {
				p.Delete(gateway.key)
			}
		}
		return p.String(), declared
	}}
}

// IsStatic reports whether a cloud-init address does not come from the network.
func IsStatic(address string) bool { return !slices.Contains([]string{"", "dhcp", "auto"}, address) }
