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

// Package nodenetwork describes interfaces of nodes for the engine of configuration objects. This file contains the table, options.go the options,
// inspect.go the state that the options do not show, stage.go how changes are staged and applied, and protect.go which changes are refused.
package nodenetwork

import (
	"context"
	"net"
	"net/netip"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

type (
	parameters = v1alpha1.NodeNetworkParameters
	view       = config.View[parameters, *v1alpha1.NodeNetworkObservation]
	staged     = config.Staged[parameters, *v1alpha1.NodeNetworkObservation]
)

// Table returns the table of the kind NodeNetwork.
func Table() config.Table[parameters, *v1alpha1.NodeNetworkObservation] {
	s := newStager(lookup)
	return config.Table[parameters, *v1alpha1.NodeNetworkObservation]{
		Kind: "NodeNetwork", Collection: proxmox.NetworkCollection(""),
		In:      func(p *parameters) proxmox.Collection { return proxmox.NetworkCollection(p.Node) },
		Name:    func(p *parameters) *string { return new(p.Node + "/" + p.Interface) },
		Declare: declare,
		Fixed:   func(*parameters) []string { return []string{optionType, "ovs_bridge"} },
		Implied: []string{
			"method", "method6", "families", "priority", "active", "exists", "altnames", "address", "netmask", "address6", "netmask6",
			"bridge_stp", "bridge_fd", "bridge_vids", "bond_mode", "bond_miimon", "vlan-raw-device", "vlan-id", "ovs_type", optionAutostart,
		},
		Complete:   complete,
		Staged:     &staged{Write: s.write, Removing: s.removing, Apply: s.apply},
		Kept:       func(p *parameters) bool { return isCard(p.Type) },
		Privileges: privileges,
		Inspect:    s.inspect,
		Users:      s.users,
		UsersKnown: true,
	}
}

// privileges returns the privileges that PVE requires for interfaces of a node, and for the checks that protect the node. Bridges, guests and zones
// of SDN that the user may not see are not listed, and without Sys.Audit the addresses of the cluster are not shown.
func privileges(v config.Verb, _ string, p *parameters) []proxmox.Privilege {
	all := []proxmox.Privilege{{Path: "/sdn/zones/localnetwork", Names: []string{"SDN.Audit", "SDN.Use"}}}
	if v == config.See {
		return all
	}
	all = append(all,
		proxmox.Privilege{Path: "/", Names: []string{"Sys.Audit"}},
		proxmox.Privilege{Path: "/nodes/" + p.Node, Names: []string{"Sys.Modify"}},
	)
	if v == config.Delete {
		all = append(all,
			proxmox.Privilege{Path: "/vms", Names: []string{"VM.Audit"}},
			seeZones(),
		)
	}
	return all
}

// seeZones is the privilege to see all zones of SDN.
func seeZones() proxmox.Privilege {
	return proxmox.Privilege{Path: "/sdn/zones", Names: []string{"SDN.Audit", "SDN.Allocate"}}
}

// lookup resolves the name of a host.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
