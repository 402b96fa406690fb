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
	"net"
	"net/url"
	"slices"
	"strings"
)

// getCloudInit compares what the cloud-init drive holds with the configuration.
func (c *call) getCloudInit() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, key := range []string{"cicustom", "ciuser", "cipassword", "searchdomain", "nameserver", "sshkeys", "name"} {
		value, set := g.Config[key]
		old, changed := g.cloudInd[key]
		if key == "name" && !changed {
			continue
		}
		if e := c.cloudInitEntry(key, value, old, set, changed); e != nil {
			out = append(out, e)
		}
	}
	return out, nil
}

func (c *call) cloudInitEntry(key, value, old string, set, changed bool) map[string]any {
	entry := map[string]any{"key": key}
	switch {
	case !set && !changed:
		return nil
	case !changed || old == value:
		entry["value"] = c.s.showValue(key, value)
		return entry
	case old != "":
		entry["value"] = c.s.showValue(key, old)
	}
	if set {
		entry["pending"] = c.s.showValue(key, value)
	} else {
		entry["delete"] = 1
	}
	return entry
}

func (c *call) regenerateCloudInit() (any, error) {
	g, err := c.guest()
	if err == nil {
		g.cloudInd = nil
	}
	return nil, err
}

func (c *call) dumpCloudInit() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	switch c.str("type") {
	case "user":
		return userData(g), nil
	case "network":
		return c.networkConfig(g), nil
	}
	return fmt.Sprintf("instance-id: %s\n", hash([]byte(userData(g)+c.networkConfig(g)))), nil
}

func userData(g *Guest) string {
	host := g.Config["name"]
	if host == "" {
		host = fmt.Sprintf("VM%d", g.VMID)
	}
	fqdn := host
	if domain := g.Config["searchdomain"]; domain != "" && !strings.Contains(host, ".") {
		fqdn = host + "." + domain
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "#cloud-config\nhostname: %s\nmanage_etc_hosts: true\nfqdn: %s\n", strings.SplitN(host, ".", 2)[0], fqdn)
	if user := g.Config["ciuser"]; user != "" {
		fmt.Fprintf(b, "user: %s\n", user)
	}
	if password := g.Config["cipassword"]; password != "" {
		fmt.Fprintf(b, "password: %s\n", password)
	}
	if keys, err := url.PathUnescape(g.Config["sshkeys"]); err == nil && strings.TrimSpace(keys) != "" {
		b.WriteString("ssh_authorized_keys:\n")
		for key := range strings.SplitSeq(strings.TrimSpace(keys), "\n") {
			fmt.Fprintf(b, "  - %s\n", key)
		}
	}
	b.WriteString("chpasswd:\n  expire: False\nusers:\n  - default\n")
	if g.Config["ciupgrade"] != "0" {
		b.WriteString("package_upgrade: true\n")
	}
	return b.String()
}

func (c *call) networkConfig(g *Guest) string {
	b := &strings.Builder{}
	b.WriteString("version: 1\nconfig:\n")
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if !isNIC(key) {
			continue
		}
		mac := strings.ToLower(c.s.parse(key, g.Config[key])["macaddr"])
		fmt.Fprintf(b, "    - type: physical\n      name: eth%d\n      mac_address: '%s'\n      subnets:\n", index(key), mac)
		config := c.s.parse("ipconfig0", g.Config[fmt.Sprintf("ipconfig%d", index(key))])
		writeSubnet(b, config["ip"], config["gw"], "4")
		writeSubnet(b, config["ip6"], config["gw6"], "6")
	}
	c.writeNameServers(b, g)
	return b.String()
}

// writeNameServers tells the guest the name servers of its configuration, or those of its node.
func (c *call) writeNameServers(b *strings.Builder, g *Guest) {
	n := c.state.Nodes[g.Node]
	servers, domains := strings.Fields(g.Config["nameserver"]), strings.Fields(g.Config["searchdomain"])
	if len(servers) == 0 {
		servers = n.DNS
	}
	if len(domains) == 0 {
		domains = strings.Fields(n.SearchDomain)
	}
	if len(servers)+len(domains) == 0 {
		return
	}
	b.WriteString("    - type: nameserver\n")
	for _, part := range []struct {
		name   string
		values []string
	}{{"address", servers}, {"search", domains}} {
		if len(part.values) > 0 {
			fmt.Fprintf(b, "      %s:\n", part.name)
		}
		for _, v := range part.values {
			fmt.Fprintf(b, "      - '%s'\n", v)
		}
	}
}

// writeAddress writes a fixed address, of IPv4 with its network mask.
func writeAddress(b *strings.Builder, ip, length string) {
	if strings.Contains(ip, ":") {
		fmt.Fprintf(b, "      - type: static6\n        address: '%s/%s'\n", ip, length)
		return
	}
	mask := net.IP(net.CIDRMask(atoi(length), 32))
	fmt.Fprintf(b, "      - type: static\n        address: '%s'\n        netmask: '%s'\n", ip, mask)
}

func writeSubnet(b *strings.Builder, address, gateway, family string) {
	ip, length, static := strings.Cut(address, "/")
	switch {
	case address == "" || address == "manual":
	case !static:
		fmt.Fprintf(b, "      - type: %s%s\n", address, family)
	default:
		writeAddress(b, ip, length)
		if gateway != "" {
			fmt.Fprintf(b, "        gateway: '%s'\n", gateway)
		}
	}
}
