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
	"net/url"
)

// Resources are what the cluster's list has: up to 10 seconds old, and only what
// the user may see.
type Resources struct {
	// Guests are the VMs and containers.
	Guests []Guest

	// Nodes of the cluster, those offline included.
	Nodes []Node

	// Storages of all nodes. A shared one is listed once for each node.
	Storages []Storage
}

// Resources lists guests, nodes and storages in one call.
func (c *Client) Resources(ctx context.Context) (Resources, error) {
	all, err := c.resources(ctx, "list the cluster's resources", "")
	if err != nil {
		return Resources{}, err
	}
	r := Resources{Guests: make([]Guest, 0, len(all))}
	for _, d := range all {
		switch d.Type {
		case "qemu", "lxc":
			r.Guests = append(r.Guests, d.guest())
		case "node":
			r.Nodes = append(r.Nodes, d.node())
		case "storage":
			r.Storages = append(r.Storages, d.storage())
		}
	}
	return r, nil
}

// resources asks for one kind of /cluster/resources, or for all.
func (c *Client) resources(ctx context.Context, op, kind string) ([]resource, error) {
	var all list[resource]
	r := request{op: op, method: http.MethodGet, path: "/cluster/resources"}
	if kind != "" {
		r.query = url.Values{"type": {kind}}
	}
	err := c.do(ctx, r, &all)
	return all, err
}
