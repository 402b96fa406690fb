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

package cloudinit

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/yaml"
)

// A Network is what a guest configures on one network interface.
type Network struct {
	// Number of the interface: the guest calls it eth and this number, as it does
	// with PVE's own drive.
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
	Version   int                 `json:"version"`
	Ethernets map[string]ethernet `json:"ethernets"`
}

type ethernet struct {
	Match       map[string]string   `json:"match"`
	SetName     string              `json:"set-name"`
	DHCP4       bool                `json:"dhcp4,omitempty"`
	DHCP6       bool                `json:"dhcp6,omitempty"`
	AcceptRA    *bool               `json:"accept-ra,omitempty"`
	Addresses   []string            `json:"addresses,omitempty"`
	Routes      []route             `json:"routes,omitempty"`
	Nameservers map[string][]string `json:"nameservers,omitempty"`
}

type route struct {
	To  string `json:"to"`
	Via string `json:"via"`
}

// network is network-config, version 2, or nil if the guest configures networks
// by itself.
func (d Data) network() ([]byte, error) {
	if d.NetworkConfig != nil {
		return []byte(*d.NetworkConfig), nil
	}
	if len(d.Networks) == 0 {
		return nil, nil
	}
	config := networkConfig{Version: 2, Ethernets: map[string]ethernet{}}
	for i, n := range d.Networks {
		e := n.ethernet()
		if i == 0 {
			e.Nameservers = d.nameservers()
		}
		config.Ethernets[e.SetName] = e
	}
	out, err := yaml.Marshal(config)
	return out, errors.Wrap(err, "cannot write network-config")
}

func (d Data) nameservers() map[string][]string {
	out := map[string][]string{}
	if len(d.Nameservers) > 0 {
		out["addresses"] = d.Nameservers
	}
	if len(d.SearchDomains) > 0 {
		out["search"] = d.SearchDomains
	}
	return out
}

func (n Network) ethernet() ethernet {
	e := ethernet{
		Match:   map[string]string{"macaddress": strings.ToLower(n.MAC)},
		SetName: fmt.Sprintf("eth%d", n.Number),
		DHCP4:   n.Address == "dhcp", DHCP6: n.Address6 == "dhcp",
	}
	if n.Address6 == "auto" {
		yes := true
		e.AcceptRA = &yes
	}
	e.static(n.Address, n.Gateway, "0.0.0.0/0")
	e.static(n.Address6, n.Gateway6, "::/0")
	return e
}

// static adds an address that does not come from the network.
func (e *ethernet) static(address, gateway, everywhere string) {
	if !strings.Contains(address, "/") {
		return
	}
	e.Addresses = append(e.Addresses, address)
	if gateway != "" {
		e.Routes = append(e.Routes, route{To: everywhere, Via: gateway})
	}
}
