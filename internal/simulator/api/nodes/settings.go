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

package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func nodeTime(c *engine.Call) (any, error) {
	zone := c.State.Nodes[c.Node].TimeZone
	if zone == "" {
		zone = "Etc/UTC"
	}
	now, offset := c.Now(), 0
	if place, err := time.LoadLocation(zone); err == nil {
		_, offset = now.In(place).Zone()
	}
	return map[string]any{"timezone": zone, "time": now.Unix(), "localtime": now.Unix() + int64(offset)}, nil
}

func setNodeTime(c *engine.Call) (any, error) {
	zone := c.Str("timezone")
	if _, err := time.LoadLocation(zone); err != nil || zone == "" {
		return nil, apierr.Errorf("command 'timedatectl set-timezone %s' failed: exit code 1", zone)
	}
	c.State.Nodes[c.Node].TimeZone = zone
	return nil, nil //nolint:nilnil // The answer is null.
}

func nodeDNS(c *engine.Call) (any, error) {
	out := map[string]any{}
	for i, server := range c.State.Nodes[c.Node].DNS {
		out[fmt.Sprintf("dns%d", i+1)] = server
	}
	if search := c.State.Nodes[c.Node].SearchDomain; search != "" {
		out["search"] = search
	}
	return out, nil
}

// setNodeDNS replaces the domain and all servers.
func setNodeDNS(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	n.DNS, n.SearchDomain = nil, c.Str("search")
	for i := range 3 {
		server := c.Str(fmt.Sprintf("dns%d", i+1))
		if server != "" && server != "0.0.0.0" && !slices.Contains(n.DNS, server) {
			n.DNS = append(n.DNS, server)
		}
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func digest(n *state.Node) string {
	return state.SectionsDigest(map[string]map[string]string{"": n.Options, "#": {"description": n.Description}})
}

func nodeConfig(c *engine.Call) (any, error) {
	n, out := c.State.Nodes[c.Node], map[string]any{}
	maps.Copy(out, c.Typed(n.Options))
	if n.Description != "" {
		out["description"] = strings.TrimRight(n.Description, "\n") + "\n"
	}
	if len(out) > 0 {
		out["digest"] = digest(n)
	}
	only := c.Str("property")
	maps.DeleteFunc(out, func(key string, _ any) bool { return only != "" && only != "all" && key != only })
	return out, nil
}

func setNodeConfig(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	if c.Has("digest") && c.Str("digest") != digest(n) {
		return nil, apierr.Modified()
	}
	options := maps.Clone(n.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, c.Given("description"))
	if c.Has("description") {
		n.Description = c.Str("description")
	}
	for _, key := range c.Deleted() {
		delete(options, key)
		if key == "description" {
			n.Description = ""
		}
	}
	n.Options = options
	return nil, nil //nolint:nilnil // The answer is null.
}

// hostsFile returns the node's file of host names.
func hostsFile(n *state.Node) string {
	if n.Hosts != "" {
		return n.Hosts
	}
	return fmt.Sprintf("127.0.0.1 localhost.localdomain localhost\n%s %s.%s %s\n", n.Address, n.Name, n.SearchDomain, n.Name)
}

func nodeHosts(c *engine.Call) (any, error) {
	text := hostsFile(c.State.Nodes[c.Node])
	return map[string]any{"data": text, "digest": state.Digest([]byte(text))}, nil
}

func setNodeHosts(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	if c.Has("digest") && c.Str("digest") != state.Digest([]byte(hostsFile(n))) {
		return nil, apierr.Modified()
	}
	n.Hosts = c.Str("data")
	return nil, nil //nolint:nilnil // The answer is null.
}
