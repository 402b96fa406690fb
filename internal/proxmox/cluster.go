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
	"strconv"
	"strings"
	"time"
)

// A Version of PVE.
type Version struct {
	// Version is the whole version, such as 8.4.21.
	Version string

	// Release is the point release, such as 8.4.
	Release string

	// RepoID is the revision that the release was built from.
	RepoID string
}

// AtLeast reports whether this is release major.minor or a later one.
func (v Version) AtLeast(major, minor int) bool {
	parts := strings.SplitN(v.Version+"..", ".", 3)
	ma, err := strconv.Atoi(parts[0])
	if err != nil || ma != major {
		return err == nil && ma > major
	}
	mi, err := strconv.Atoi(parts[1])
	return err == nil && mi >= minor || minor <= 0
}

// Version is the version of the node that answers. Any user may ask.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var d struct {
		Version text `json:"version"`
		Release text `json:"release"`
		RepoID  text `json:"repoid"`
	}
	r := request{op: "read the PVE version", method: http.MethodGet, path: "/version"}
	if err := c.do(ctx, r, &d); err != nil {
		return Version{}, err
	}
	return Version{Version: string(d.Version), Release: string(d.Release), RepoID: string(d.RepoID)}, nil
}

// A Node of the cluster.
type Node struct {
	// Name of the node.
	Name string

	// Status is online, offline or unknown.
	Status string

	// CPU in use, from 0 to 1 of all cores.
	CPU float64

	// MaxCPU is the number of cores, with hyper-threads.
	MaxCPU int

	// Memory used and MaxMemory available, in bytes.
	Memory, MaxMemory int64

	// Disk used and MaxDisk available of the node's root file system, in bytes.
	Disk, MaxDisk int64

	// Uptime since the node's boot, to the second.
	Uptime time.Duration
}

// Online reports whether the node is up and tells how it is.
func (n Node) Online() bool { return n.Status == "online" }

// Offline reports whether the node cannot be asked. One that is unknown is up, but its
// daemon that tells of it and of its guests hangs, as it does on a storage that is gone;
// what it is asked it answers.
func (n Node) Offline() bool { return n.Status == "offline" }

// resource is an entry of /cluster/resources and of /nodes/{node}/qemu.
type resource struct {
	ID         text    `json:"id"`
	Type       text    `json:"type"`
	Node       text    `json:"node"`
	VMID       integer `json:"vmid"`
	Name       text    `json:"name"`
	Status     text    `json:"status"`
	Template   flag    `json:"template"`
	Tags       text    `json:"tags"`
	Pool       text    `json:"pool"`
	Lock       text    `json:"lock"`
	HAState    text    `json:"hastate"`
	Uptime     integer `json:"uptime"`
	CPU        float   `json:"cpu"`
	MaxCPU     integer `json:"maxcpu"`
	CPUs       float   `json:"cpus"`
	Memory     integer `json:"mem"`
	MaxMemory  integer `json:"maxmem"`
	Disk       integer `json:"disk"`
	MaxDisk    integer `json:"maxdisk"`
	Storage    text    `json:"storage"`
	PluginType text    `json:"plugintype"`
	Content    text    `json:"content"`
	Shared     flag    `json:"shared"`
}

// Nodes are the nodes of the cluster, those offline included.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
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

// A Storage on one node. A shared storage is listed once for each node.
type Storage struct {
	// Name of the storage.
	Name string

	// Node on which it is.
	Node string

	// Status is available or unknown.
	Status string

	// Type is the storage's plugin, such as dir, lvmthin, rbd.
	Type string

	// Content is what may be stored, such as images, iso, import.
	Content []string

	// Shared reports whether all its nodes have the same content.
	Shared bool

	// Disk used and MaxDisk in all, in bytes.
	Disk, MaxDisk int64
}

// Storages are the storages of all nodes.
func (c *Client) Storages(ctx context.Context) ([]Storage, error) {
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

// A Bridge of one node that NICs of VMs may be attached to.
type Bridge struct {
	// Name of the interface, such as vmbr0.
	Name string

	// Type is bridge, OVSBridge or vnet.
	Type string

	// Active reports whether the bridge is up.
	Active bool

	// VLANAware reports whether NICs may have VLAN tags of their own.
	VLANAware bool

	// Ports of the bridge.
	Ports []string

	// CIDR is the node's own address on the bridge, if it has one.
	CIDR string
}

// Bridges are the bridges of a node that the user may use, with those of SDN.
func (c *Client) Bridges(ctx context.Context, node string) ([]Bridge, error) {
	r := request{
		op: "list bridges of node " + strconv.Quote(node), method: http.MethodGet,
		path: "/nodes/{node}/network", args: []string{node}, query: url.Values{"type": {"any_bridge"}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var data list[struct {
		Name      text `json:"iface"`
		Type      text `json:"type"`
		Active    flag `json:"active"`
		VLANAware flag `json:"bridge_vlan_aware"`
		Ports     text `json:"bridge_ports"`
		OVSPorts  text `json:"ovs_ports"`
		CIDR      text `json:"cidr"`
	}]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	bridges := make([]Bridge, 0, len(data))
	for _, d := range data {
		bridges = append(bridges, Bridge{
			Name: string(d.Name), Type: string(d.Type), Active: bool(d.Active), VLANAware: bool(d.VLANAware),
			Ports: splitList(string(d.Ports + " " + d.OVSPorts)), CIDR: string(d.CIDR),
		})
	}
	return bridges, nil
}

// ClusterStatus is what a node knows of its cluster.
type ClusterStatus struct {
	// Name of the cluster. Empty for a node that is in none.
	Name string

	// Quorate reports whether writes are possible. A node alone always is.
	Quorate bool

	// Nodes of the cluster.
	Nodes []ClusterNode
}

// A ClusterNode is a member of the cluster.
type ClusterNode struct {
	// Name of the node.
	Name string

	// Online reports whether the node is part of the cluster's membership now.
	Online bool

	// Local reports whether this node has answered.
	Local bool

	// Address of the node in the cluster network.
	Address string
}

// ClusterStatus reads the name, quorum and members of the cluster.
func (c *Client) ClusterStatus(ctx context.Context) (ClusterStatus, error) {
	var data list[struct {
		Type    text `json:"type"`
		Name    text `json:"name"`
		Quorate flag `json:"quorate"`
		Online  flag `json:"online"`
		Local   flag `json:"local"`
		Address text `json:"ip"`
	}]
	r := request{op: "read the cluster status", method: http.MethodGet, path: "/cluster/status"}
	if err := c.do(ctx, r, &data); err != nil {
		return ClusterStatus{}, err
	}
	s := ClusterStatus{Quorate: true}
	for _, d := range data {
		if d.Type == "cluster" {
			s.Name, s.Quorate = string(d.Name), bool(d.Quorate)
			continue
		}
		s.Nodes = append(s.Nodes, ClusterNode{
			Name: string(d.Name), Online: bool(d.Online), Local: bool(d.Local), Address: string(d.Address),
		})
	}
	return s, nil
}

// Privileges that somebody has on a path. The value reports whether they are
// inherited by the paths below.
type Privileges map[string]bool

// Permissions are the privileges of the user or token itself, by path. An empty
// path asks for all; otherwise the path is answered even where the privileges
// come from above it.
func (c *Client) Permissions(ctx context.Context, path string) (map[string]Privileges, error) {
	r := request{op: "read permissions", method: http.MethodGet, path: "/access/permissions"}
	if path != "" {
		r.query = url.Values{"path": {path}}
	}
	var data map[string]map[string]flag
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make(map[string]Privileges, len(data))
	for path, privileges := range data {
		all[path] = make(Privileges, len(privileges))
		for name, propagate := range privileges {
			all[path][name] = bool(propagate)
		}
	}
	return all, nil
}

func seconds(n integer) time.Duration { return time.Duration(n) * time.Second }

// splitList splits the lists of names that PVE separates by comma, semicolon or
// space. Empty names are left out; an empty list is nil.
func splitList(s string) []string {
	names := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",; \t\n", r) })
	if len(names) == 0 {
		return nil
	}
	return names
}
