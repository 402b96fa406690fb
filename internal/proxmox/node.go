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
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// onNode returns a call for one node.
func onNode(op, method, node, path string) request {
	return request{op: op + " of node " + strconv.Quote(node), method: method, path: "/nodes/{node}" + path, args: []string{node}}
}

// node makes a call for one node.
func (c *conn) node(ctx context.Context, r request, data any) error {
	if !validNode(r.args[0]) {
		return r.refuse("node name is not valid")
	}
	return c.do(ctx, r, data)
}

// NodeConfig returns the configuration of a node, including its description. It needs Sys.Audit on /.
func (c NodeAPI) NodeConfig(ctx context.Context, node string) (Settings, error) {
	var data map[string]setting
	if err := c.node(ctx, onNode("read the configuration", http.MethodGet, node, "/config"), &data); err != nil {
		return Settings{}, err
	}
	return newSettings(data), nil
}

// SetNodeConfig changes the configuration of a node. An option with parts is replaced as a whole. An empty change is not sent. It needs Sys.Modify on /.
func (c NodeAPI) SetNodeConfig(ctx context.Context, node string, change Change) error {
	if change.Empty() {
		return nil
	}
	r := onNode("change the configuration", http.MethodPut, node, "/config")
	r.form = change.form()
	return c.node(ctx, r, nil)
}

// DNS holds the DNS settings of a node.
type DNS struct {
	// SearchDomain for names without a dot, or empty.
	SearchDomain string

	// Servers are the addresses of up to three name servers.
	Servers []string
}

// NodeDNS reads the DNS settings of a node.
func (c NodeAPI) NodeDNS(ctx context.Context, node string) (DNS, error) {
	var d struct {
		Search text `json:"search"`
		First  text `json:"dns1"`
		Second text `json:"dns2"`
		Third  text `json:"dns3"`
	}
	if err := c.node(ctx, onNode("read the DNS settings", http.MethodGet, node, "/dns"), &d); err != nil {
		return DNS{}, err
	}
	dns := DNS{SearchDomain: string(d.Search)}
	for _, server := range []text{d.First, d.Second, d.Third} {
		if server != "" {
			dns.Servers = append(dns.Servers, string(server))
		}
	}
	return dns, nil
}

// SetNodeDNS writes all DNS settings of a node. PVE removes those that are empty.
func (c NodeAPI) SetNodeDNS(ctx context.Context, node string, dns DNS) error {
	r := onNode("set the DNS settings", http.MethodPut, node, "/dns")
	if len(dns.Servers) > 3 {
		return r.refuse("a node has up to three name servers")
	}
	r.form = map[string]string{"search": dns.SearchDomain}
	for i, server := range dns.Servers {
		r.form["dns"+strconv.Itoa(i+1)] = server
	}
	return c.node(ctx, r, nil)
}

// NodeTimeZone reads the time zone of a node, such as Etc/UTC.
func (c NodeAPI) NodeTimeZone(ctx context.Context, node string) (string, error) {
	var d struct {
		TimeZone text `json:"timezone"`
	}
	err := c.node(ctx, onNode("read the time zone", http.MethodGet, node, "/time"), &d)
	return string(d.TimeZone), err
}

// SetNodeTimeZone sets the time zone of a node. PVE rejects one that the node does not know.
func (c NodeAPI) SetNodeTimeZone(ctx context.Context, node, zone string) error {
	r := onNode("set the time zone", http.MethodPut, node, "/time")
	r.form = map[string]string{"timezone": zone}
	return c.node(ctx, r, nil)
}

// NodeStatus is the status that a node reports.
type NodeStatus struct {
	// Version of PVE on the node, such as 9.2.11.
	Version string

	// Kernel that is running, such as 6.14.8-2-pve.
	Kernel string

	// CPU usage, from 0 to 1 of all cores, which include hyper-threads.
	CPU  float64
	CPUs int

	// Memory used and MaxMemory available, in bytes.
	Memory, MaxMemory int64

	// Uptime since the node's boot, to the second.
	Uptime time.Duration
}

// NodeStatus reads the status of a node. For an offline node it waits until the node that was asked gives up, so check [Client.Nodes] first.
func (c NodeAPI) NodeStatus(ctx context.Context, node string) (NodeStatus, error) {
	var d struct {
		Version text    `json:"pveversion"`
		CPU     float   `json:"cpu"`
		Uptime  integer `json:"uptime"`
		Kernel  struct {
			Release text `json:"release"`
		} `json:"current-kernel"`
		CPUInfo struct {
			CPUs integer `json:"cpus"`
		} `json:"cpuinfo"`
		Memory struct {
			Used  integer `json:"used"`
			Total integer `json:"total"`
		} `json:"memory"`
	}
	if err := c.node(ctx, onNode("read the status", http.MethodGet, node, "/status"), &d); err != nil {
		return NodeStatus{}, err
	}
	return NodeStatus{
		Version: managerVersion(string(d.Version)), Kernel: string(d.Kernel.Release), CPU: float64(d.CPU), CPUs: int(d.CPUInfo.CPUs),
		Memory: int64(d.Memory.Used), MaxMemory: int64(d.Memory.Total), Uptime: seconds(d.Uptime),
	}, nil
}

// managerVersion returns the version in pve-manager/9.2.11/14a22df35955d97d.
func managerVersion(s string) string {
	if parts := strings.Split(s, "/"); len(parts) > 1 {
		return parts[1]
	}
	return s
}

// Fingerprints returns the SHA-256 of the nodes' TLS certificates in hexadecimal, by the nodes' names. They distinguish nodes of the same name.
func (c NodeAPI) Fingerprints(ctx context.Context) (map[string]string, error) {
	var data list[struct {
		Node        text `json:"node"`
		Fingerprint text `json:"ssl_fingerprint"`
	}]
	r := request{op: "list the nodes' fingerprints", method: http.MethodGet, path: "/nodes"}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make(map[string]string, len(data))
	for _, d := range data {
		all[string(d.Node)] = string(d.Fingerprint)
	}
	return all, nil
}

// A PCIMapping is a name for PCI devices, which may be on several nodes.
type PCIMapping struct {
	// Name of the mapping.
	Name string

	// Devices by node: addresses such as 0000:01:00.0.
	Devices map[string][]string
}

// PCIMappings returns the PCI resource mappings that the user may see.
func (c NodeAPI) PCIMappings(ctx context.Context) ([]PCIMapping, error) {
	var data list[struct {
		ID  text       `json:"id"`
		Map list[text] `json:"map"`
	}]
	r := request{op: "list PCI mappings", method: http.MethodGet, path: "/cluster/mapping/pci"}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make([]PCIMapping, 0, len(data))
	for _, d := range data {
		m := PCIMapping{Name: string(d.ID), Devices: map[string][]string{}}
		for _, entry := range d.Map {
			m.add(string(entry))
		}
		all = append(all, m)
	}
	return all, nil
}

// add adds the devices of one entry, which belong to one node. An entry that cannot be parsed has none.
func (m PCIMapping) add(entry string) {
	p, err := propertystring.Parse(entry, "")
	if err != nil || p.Get("node") == "" {
		return
	}
	m.Devices[p.Get("node")] = append(m.Devices[p.Get("node")], splitList(p.Get("path"))...)
}
