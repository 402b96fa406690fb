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

package guestagent

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Reachable returns the addresses that other machines can reach, IPv4 first. It leaves out loopback and link-local addresses.
func Reachable(all []netip.Addr) []string {
	var v4, v6 []string
	for _, a := range all {
		switch {
		case a.IsLoopback(), a.IsLinkLocalUnicast(), a.IsUnspecified():
		case a.Is4():
			v4 = append(v4, a.String())
		default:
			v6 = append(v6, a.WithZone("").String())
		}
	}
	return slices.Concat(v4, v6)
}

// reachableOf returns the reachable addresses of all interfaces.
func reachableOf(all []proxmox.Interface) []string {
	var found []netip.Addr
	for _, i := range all {
		found = append(found, i.Addresses...)
	}
	return Reachable(found)
}

// MissesIPv4 reports whether the guest reports no IPv4 address for one of the network cards with these MAC addresses.
func MissesIPv4(macs []string, reported []proxmox.Interface) bool {
	has := func(i proxmox.Interface) bool {
		return slices.ContainsFunc(i.Addresses, func(a netip.Addr) bool { return a.Is4() && !a.IsLinkLocalUnicast() })
	}
	return slices.ContainsFunc(macs, func(mac string) bool {
		return !slices.ContainsFunc(reported, func(i proxmox.Interface) bool { return strings.EqualFold(i.MAC, mac) && has(i) })
	})
}
