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

package proxmox

import (
	"context"
	"net/http"
)

// A VNet of the cluster's software-defined network.
type VNet struct {
	// Name of the VNet, which is the name of its bridge on the nodes.
	Name string

	// Zone it belongs to.
	Zone string

	// Tag is the VLAN or VXLAN id, or 0.
	Tag int64

	// Alias is a second name, or empty.
	Alias string

	// VLANAware reports whether NICs may have VLAN tags of their own.
	VLANAware bool
}

// VNets are those that the user may see, whether they have been applied or not.
func (c *Client) VNets(ctx context.Context) ([]VNet, error) {
	var data list[struct {
		Name      text    `json:"vnet"`
		Zone      text    `json:"zone"`
		Tag       integer `json:"tag"`
		Alias     text    `json:"alias"`
		VLANAware flag    `json:"vlanaware"`
	}]
	r := request{op: "list VNets", method: http.MethodGet, path: "/cluster/sdn/vnets"}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make([]VNet, 0, len(data))
	for _, d := range data {
		all = append(all, VNet{
			Name: string(d.Name), Zone: string(d.Zone), Tag: int64(d.Tag), Alias: string(d.Alias), VLANAware: bool(d.VLANAware),
		})
	}
	return all, nil
}
