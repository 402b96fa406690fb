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

package nocloud

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/yaml"
)

// A Network is the configuration of one network interface of a guest.
type Network struct {
	// Number of the interface. The guest names it eth followed by this number, as it does with PVE's own drive.
	Number int

	// MAC address by which the guest finds the interface.
	MAC string

	// Address is an IPv4 address with its prefix length, dhcp, manual or empty, and
	// Gateway its gateway.
	Address, Gateway string

	// Address6 is an IPv6 address with its prefix length, dhcp, auto, manual or
	// empty, and Gateway6 its gateway.
	Address6, Gateway6 string
}

type networkConfig struct {
	Version int           `json:"version"`
	Config  []networkItem `json:"config"`
}

// A networkItem is a network interface, or the name servers of all.
type networkItem struct {
	Type       string   `json:"type"`
	Name       string   `json:"name,omitempty"`
	MACAddress string   `json:"mac_address,omitempty"`
	Subnets    []subnet `json:"subnets,omitempty"`
	Address    []string `json:"address,omitempty"`
	Search     []string `json:"search,omitempty"`
}

type subnet struct {
	Type    string `json:"type"`
	Address string `json:"address,omitempty"`
	Netmask string `json:"netmask,omitempty"`
	Gateway string `json:"gateway,omitempty"`
}

// network returns network-config, or nil if the guest configures networks by itself. It uses version 1, like PVE's own drive: version 2 cannot express
// SLAAC in a way that brings an interface up in every guest, and some programs other than cloud-init read only version 1.
func (d Data) network() ([]byte, error) {
	if d.NetworkConfig != nil {
		return []byte(*d.NetworkConfig), nil
	}
	if len(d.Networks) == 0 {
		return nil, nil
	}
	config := networkConfig{Version: 1}
	for _, n := range d.Networks {
		config.Config = append(config.Config, n.item())
	}
	if len(d.Nameservers)+len(d.SearchDomains) > 0 {
		config.Config = append(config.Config, networkItem{Type: "nameserver", Address: d.Nameservers, Search: d.SearchDomains})
	}
	out, err := yaml.Marshal(config)
	return out, errors.Wrap(err, "cannot write network-config")
}

func (n Network) item() networkItem {
	return networkItem{
		Type: "physical", Name: fmt.Sprintf("eth%d", n.Number), MACAddress: strings.ToLower(n.MAC),
		Subnets: append(n.subnets4(), n.subnets6()...),
	}
}

func (n Network) subnets4() []subnet {
	p, err := netip.ParsePrefix(n.Address)
	switch {
	case n.Address == "dhcp":
		return []subnet{{Type: "dhcp4"}}
	case err != nil:
		return nil
	}
	mask := net.IP(net.CIDRMask(p.Bits(), p.Addr().BitLen())).String()
	return []subnet{{Type: "static", Address: p.Addr().String(), Netmask: mask, Gateway: n.Gateway}}
}

func (n Network) subnets6() []subnet {
	switch {
	case n.Address6 == "dhcp":
		return []subnet{{Type: "dhcp6"}}
	case n.Address6 == "auto":
		return []subnet{{Type: "ipv6_slaac"}}
	case !strings.Contains(n.Address6, "/"):
		return nil
	}
	return []subnet{{Type: "static6", Address: n.Address6, Gateway: n.Gateway6}}
}
