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
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// Resources holds the cluster's list. It is up to 10 seconds old, and contains only what the user may see.
type Resources struct {
	// Guests are the VMs and containers.
	Guests []Guest

	// Nodes of the cluster, including those that are offline.
	Nodes []Node

	// Storages of all nodes. A shared one is listed once for each node.
	Storages []Storage
}

// Resources lists guests, nodes and storages in one call. If the list reports a node as offline and the endpoint is cut off from the cluster, a node with
// quorum is asked instead.
func (c ClusterAPI) Resources(ctx context.Context) (Resources, error) {
	var by *transport.Endpoint
	r, err := c.listResources(transport.Served(ctx, &by))
	if err == nil && slices.ContainsFunc(r.Nodes, Node.Offline) && c.transport.ExcludeWithoutQuorum(ctx, by, c.membership) {
		return c.listResources(ctx)
	}
	return r, err
}

func (c ClusterAPI) listResources(ctx context.Context) (Resources, error) {
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

// resources reads one kind of /cluster/resources, or all kinds.
func (c *conn) resources(ctx context.Context, op, kind string) ([]resource, error) {
	var all list[resource]
	r := request{op: op, method: http.MethodGet, path: "/cluster/resources"}
	if kind != "" {
		r.query = url.Values{"type": {kind}}
	}
	err := c.do(ctx, r, &all)
	return all, err
}

// A Node of the cluster.
type Node struct {
	// Name of the node.
	Name string

	// Status is online, offline or unknown.
	Status string

	// CPU usage, from 0 to 1 of all cores.
	CPU float64

	// MaxCPU is the number of cores, including hyper-threads.
	MaxCPU int

	// Memory used and MaxMemory available, in bytes.
	Memory, MaxMemory int64

	// Disk used and MaxDisk available of the node's root file system, in bytes.
	Disk, MaxDisk int64

	// Uptime since the node's boot, to the second.
	Uptime time.Duration
}

// Online reports whether the node is up and reports its status.
func (n Node) Online() bool { return n.Status == "online" }

// Offline reports whether the node cannot be asked. A node with the status unknown is up and answers requests, but the daemon that reports the status of
// the node and its guests hangs, for example on a storage that is no longer available.
func (n Node) Offline() bool { return n.Status == "offline" }

// resource is an entry of /cluster/resources and of /nodes/{node}/qemu.
type resource struct {
	ID          text    `json:"id"`
	Type        text    `json:"type"`
	Node        text    `json:"node"`
	VMID        integer `json:"vmid"`
	Name        text    `json:"name"`
	Status      text    `json:"status"`
	Template    flag    `json:"template"`
	Tags        text    `json:"tags"`
	Pool        text    `json:"pool"`
	Lock        text    `json:"lock"`
	HAState     text    `json:"hastate"`
	Uptime      integer `json:"uptime"`
	CPU         float   `json:"cpu"`
	MaxCPU      integer `json:"maxcpu"`
	CPUs        float   `json:"cpus"`
	Memory      integer `json:"mem"`
	MaxMemory   integer `json:"maxmem"`
	Disk        integer `json:"disk"`
	MaxDisk     integer `json:"maxdisk"`
	DiskRead    integer `json:"diskread"`
	DiskWritten integer `json:"diskwrite"`
	Storage     text    `json:"storage"`
	PluginType  text    `json:"plugintype"`
	Content     text    `json:"content"`
	Shared      flag    `json:"shared"`
}

// Nodes returns the nodes of the cluster, including those that are offline.
func (c ClusterAPI) Nodes(ctx context.Context) ([]Node, error) {
	all, err := c.resources(ctx, "list nodes", "node")
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, 0, len(all))
	for _, d := range all {
		nodes = append(nodes, d.node())
	}
	return nodes, nil
}

func (d resource) node() Node {
	return Node{
		Name: string(d.Node), Status: string(d.Status), CPU: float64(d.CPU), MaxCPU: int(d.MaxCPU),
		Memory: int64(d.Memory), MaxMemory: int64(d.MaxMemory), Disk: int64(d.Disk), MaxDisk: int64(d.MaxDisk),
		Uptime: seconds(d.Uptime),
	}
}

// A Storage is a storage on one node. A shared storage is listed once for each node.
type Storage struct {
	// Name of the storage.
	Name string

	// Node of the storage.
	Node string

	// Status is available or unknown.
	Status string

	// Type is the storage's plugin, such as dir, lvmthin, rbd.
	Type string

	// Content lists the types that can be stored, such as images, iso, import.
	Content []string

	// Shared reports whether all its nodes have the same content.
	Shared bool

	// Disk used and MaxDisk in total, in bytes.
	Disk, MaxDisk int64
}

// Storages returns the storages of all nodes.
func (c ClusterAPI) Storages(ctx context.Context) ([]Storage, error) {
	all, err := c.resources(ctx, "list storages", "storage")
	if err != nil {
		return nil, err
	}
	storages := make([]Storage, 0, len(all))
	for _, d := range all {
		storages = append(storages, d.storage())
	}
	return storages, nil
}

func (d resource) storage() Storage {
	return Storage{
		Name: string(d.Storage), Node: string(d.Node), Status: string(d.Status), Type: string(d.PluginType),
		Content: splitList(string(d.Content)), Shared: bool(d.Shared), Disk: int64(d.Disk), MaxDisk: int64(d.MaxDisk),
	}
}
