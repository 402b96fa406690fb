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

package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (c *call) nodeTime() (any, error) {
	zone := c.state.Nodes[c.node].TimeZone
	if zone == "" {
		zone = "Etc/UTC"
	}
	now, offset := c.now(), 0
	if place, err := time.LoadLocation(zone); err == nil {
		_, offset = now.In(place).Zone()
	}
	return map[string]any{"timezone": zone, "time": now.Unix(), "localtime": now.Unix() + int64(offset)}, nil
}

func (c *call) setNodeTime() (any, error) {
	zone := c.str("timezone")
	if _, err := time.LoadLocation(zone); err != nil || zone == "" {
		return nil, die("command 'timedatectl set-timezone %s' failed: exit code 1", zone)
	}
	c.state.Nodes[c.node].TimeZone = zone
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) nodeDNS() (any, error) {
	out := map[string]any{}
	for i, server := range c.state.Nodes[c.node].DNS {
		out[fmt.Sprintf("dns%d", i+1)] = server
	}
	if search := c.state.Nodes[c.node].SearchDomain; search != "" {
		out["search"] = search
	}
	return out, nil
}

// setNodeDNS replaces the domain and all servers.
func (c *call) setNodeDNS() (any, error) {
	n := c.state.Nodes[c.node]
	n.DNS, n.SearchDomain = nil, c.str("search")
	for i := range 3 {
		server := c.str(fmt.Sprintf("dns%d", i+1))
		if server != "" && server != "0.0.0.0" && !slices.Contains(n.DNS, server) {
			n.DNS = append(n.DNS, server)
		}
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (n *Node) digest() string {
	return digestOf(map[string]map[string]string{"": n.Options, "#": {"description": n.Description}})
}

func (c *call) nodeConfig() (any, error) {
	n, out := c.state.Nodes[c.node], map[string]any{}
	maps.Copy(out, c.typed(n.Options))
	if n.Description != "" {
		out["description"] = strings.TrimRight(n.Description, "\n") + "\n"
	}
	if len(out) > 0 {
		out["digest"] = n.digest()
	}
	only := c.str("property")
	maps.DeleteFunc(out, func(key string, _ any) bool { return only != "" && only != "all" && key != only })
	return out, nil
}

func (c *call) setNodeConfig() (any, error) {
	n := c.state.Nodes[c.node]
	if c.has("digest") && c.str("digest") != n.digest() {
		return nil, errModified()
	}
	options := maps.Clone(n.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, c.given("description"))
	if c.has("description") {
		n.Description = c.str("description")
	}
	for _, key := range c.deleted() {
		delete(options, key)
		if key == "description" {
			n.Description = ""
		}
	}
	n.Options = options
	return nil, nil //nolint:nilnil // The answer is null.
}

// hosts is the node's file of host names.
func (n *Node) hosts() string {
	if n.Hosts != "" {
		return n.Hosts
	}
	return fmt.Sprintf("127.0.0.1 localhost.localdomain localhost\n%s %s.%s %s\n", n.Address, n.Name, n.SearchDomain, n.Name)
}

func (c *call) nodeHosts() (any, error) {
	text := c.state.Nodes[c.node].hosts()
	return map[string]any{"data": text, "digest": hash([]byte(text))}, nil
}

func (c *call) setNodeHosts() (any, error) {
	n := c.state.Nodes[c.node]
	if c.has("digest") && c.str("digest") != hash([]byte(n.hosts())) {
		return nil, errModified()
	}
	n.Hosts = c.str("data")
	return nil, nil //nolint:nilnil // The answer is null.
}
