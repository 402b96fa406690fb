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
)

// onNode is a call for one node.
func onNode(op, method, node, path string) request {
	return request{op: op + " of node " + strconv.Quote(node), method: method, path: "/nodes/{node}" + path, args: []string{node}}
}

// node makes a call for one node.
func (c *Client) node(ctx context.Context, r request, data any) error {
	if !validNode(r.args[0]) {
		return r.refuse("node name is not valid")
	}
	return c.do(ctx, r, data)
}

// NodeConfig is the configuration of a node, with its description. It needs
// Sys.Audit on /.
func (c *Client) NodeConfig(ctx context.Context, node string) (Settings, error) {
	var data map[string]setting
	if err := c.node(ctx, onNode("read the configuration", http.MethodGet, node, "/config"), &data); err != nil {
		return Settings{}, err
	}
	return newSettings(data), nil
}

// SetNodeConfig changes the configuration of a node. An option with parts is set
// as a whole. An empty change is not sent. It needs Sys.Modify on /.
func (c *Client) SetNodeConfig(ctx context.Context, node string, change Change) error {
	if change.Empty() {
		return nil
	}
	r := onNode("change the configuration", http.MethodPut, node, "/config")
	r.form = change.form()
	return c.node(ctx, r, nil)
}

// DNS is how a node resolves names.
type DNS struct {
	// SearchDomain for names without a dot, or empty.
	SearchDomain string

	// Servers are the addresses of up to three name servers.
	Servers []string
}

// NodeDNS reads the DNS settings of a node.
func (c *Client) NodeDNS(ctx context.Context, node string) (DNS, error) {
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

// SetNodeDNS writes the DNS settings of a node, all of them: PVE removes those
// that are empty.
func (c *Client) SetNodeDNS(ctx context.Context, node string, dns DNS) error {
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
func (c *Client) NodeTimeZone(ctx context.Context, node string) (string, error) {
	var d struct {
		TimeZone text `json:"timezone"`
	}
	err := c.node(ctx, onNode("read the time zone", http.MethodGet, node, "/time"), &d)
	return string(d.TimeZone), err
}

// SetNodeTimeZone sets the time zone of a node. PVE refuses one that the node
// does not know.
func (c *Client) SetNodeTimeZone(ctx context.Context, node, zone string) error {
	r := onNode("set the time zone", http.MethodPut, node, "/time")
	r.form = map[string]string{"timezone": zone}
	return c.node(ctx, r, nil)
}
