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
	out, added := []map[string]any{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(g.cloudInd)) {
		if value, set := g.Config[key]; set && g.cloudInd[key] == "" {
			added[key] = true
			out = append(out, map[string]any{"key": key, "pending": c.s.showValue(key, value)})
		}
	}
	for key := range strings.FieldsSeq("cicustom ciuser cipassword citype ciupgrade searchdomain nameserver sshkeys") {
		if value := g.Config[key]; value != "" && value != "0" && !added[key] {
			out = append(out, c.cloudInitEntry(key, value, g.cloudInd[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.cloudInd)) {
		if value := g.Config[key]; g.cloudInd[key] != "" && (value == "" || value == "0") {
			out = append(out, map[string]any{"key": key, "delete": 1})
		}
	}
	return out, nil
}

func (c *call) cloudInitEntry(key, value, old string) map[string]any {
	if old == "" || old == value {
		return map[string]any{"key": key, "value": c.s.showValue(key, value)}
	}
	return map[string]any{"key": key, "value": c.s.showValue(key, old), "pending": c.s.showValue(key, value)}
}

func (c *call) regenerateCloudInit() (any, error) {
	return &locked{vmid: c.vmid(), wait: configLockWait, then: func(c *call) (any, error) {
		g, err := c.guest()
		if err == nil {
			err = g.lock()
		}
		if err == nil {
			g.cloudInd = nil
		}
		return nil, err
	}}, nil
}

func (c *call) dumpCloudInit() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	network, meta := c.networkConfig(g), "instance-id: %s\n"
	if format := g.Config["citype"]; format != "nocloud" && (format != "" || strings.HasPrefix(g.Config["ostype"], "w")) {
		network = c.configDrive(g)
		meta = "{\n     \"uuid\": \"%s\",\n     \"network_config\": { \"content_path\": \"/content/0000\" }\n}\n"
	}
	switch c.str("type") {
	case "user":
		return userData(g, c.state.Version != "8.4" && !c.state.may(c.who, vmPath(g.VMID), "VM.Config.Cloudinit")), nil
	case "network":
		return network, nil
	}
	return fmt.Sprintf(meta, hash([]byte(userData(g, false)+network))), nil
}

// keysOf are the public keys of a guest.
func keysOf(g *Guest) []string {
	keys, err := url.PathUnescape(g.Config["sshkeys"])
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(keys, "\n"), func(key string) bool { return strings.TrimSpace(key) == "" })
}

func userData(g *Guest, hide bool) string {
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
	writeLogin(b, g, hide)
	if g.Config["ciupgrade"] != "0" {
		b.WriteString("package_upgrade: true\n")
	}
	return b.String()
}

// writeLogin tells how one logs in to the guest.
func writeLogin(b *strings.Builder, g *Guest, hide bool) {
	user, password := g.Config["ciuser"], g.Config["cipassword"]
	if user != "" {
		fmt.Fprintf(b, "user: %s\n", user)
	}
	if user == "root" {
		b.WriteString("disable_root: False\n")
	}
	if password != "" && hide {
		password = mask
	}
	if password != "" {
		fmt.Fprintf(b, "password: %s\n", password)
	}
	if g.Config["sshkeys"] != "" {
		b.WriteString("ssh_authorized_keys:\n")
	}
	for _, key := range keysOf(g) {
		fmt.Fprintf(b, "  - %s\n", key)
	}
	b.WriteString("chpasswd:\n  expire: False\n")
	if user != "root" {
		b.WriteString("users:\n  - default\n")
	}
}

// configured are the NICs of a guest that cloud-init configures, with their addresses.
func (c *call) configured(g *Guest, fn func(nic int, mac string, addresses map[string]string)) {
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if config := g.Config[fmt.Sprintf("ipconfig%d", index(key))]; isNIC(key) && config != "" {
			fn(index(key), strings.ToLower(c.s.parse(key, g.Config[key])["macaddr"]), c.s.parse("ipconfig0", config))
		}
	}
}

// configDrive is the configuration of the network as config drives have it.
func (c *call) configDrive(g *Guest) string {
	b := &strings.Builder{}
	servers, domains := c.nameServers(g)
	b.WriteString("auto lo\niface lo inet loopback\n\n")
	if len(servers) > 0 {
		fmt.Fprintf(b, "        dns_nameservers %s\n", strings.Join(servers, " "))
	}
	if len(domains) > 0 {
		fmt.Fprintf(b, "        dns_search %s\n", strings.Join(domains, " "))
	}
	c.configured(g, func(nic int, _ string, a map[string]string) {
		fmt.Fprintf(b, "auto eth%d\n", nic)
		writeStanza(b, nic, "inet", a["ip"], a["gw"])
		writeStanza(b, nic, "inet6", a["ip6"], a["gw6"])
	})
	return b.String()
}

// writeStanza writes how an interface gets its address of one family.
func writeStanza(b *strings.Builder, nic int, family, address, gateway string) {
	ip, length, static := strings.Cut(address, "/")
	switch {
	case address == "":
		return
	case !static:
		fmt.Fprintf(b, "iface eth%d %s %s\n", nic, family, address)
		return
	case family == "inet":
		length = net.IP(net.CIDRMask(atoi(length), 32)).String()
	}
	fmt.Fprintf(b, "iface eth%d %s static\n        address %s\n        netmask %s\n", nic, family, ip, length)
	if gateway != "" {
		fmt.Fprintf(b, "        gateway %s\n", gateway)
	}
}

func (c *call) networkConfig(g *Guest) string {
	b := &strings.Builder{}
	b.WriteString("version: 1\nconfig:\n")
	c.configured(g, func(nic int, mac string, a map[string]string) {
		fmt.Fprintf(b, "    - type: physical\n      name: eth%d\n      mac_address: '%s'\n      subnets:\n", nic, mac)
		writeSubnet(b, a["ip"], a["gw"], "dhcp4")
		writeSubnet(b, a["ip6"], a["gw6"], "dhcp6")
	})
	c.writeNameServers(b, g)
	return b.String()
}

// nameServers are the name servers and search domains of a guest's configuration, or those of its node.
func (c *call) nameServers(g *Guest) (servers, domains []string) {
	n := c.state.Nodes[g.Node]
	servers, domains = strings.Fields(g.Config["nameserver"]), strings.Fields(g.Config["searchdomain"])
	if len(servers) == 0 {
		servers = n.DNS
	}
	if len(domains) == 0 {
		domains = strings.Fields(n.SearchDomain)
	}
	return servers, domains
}

func (c *call) writeNameServers(b *strings.Builder, g *Guest) {
	servers, domains := c.nameServers(g)
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

func writeSubnet(b *strings.Builder, address, gateway, dhcp string) {
	ip, length, static := strings.Cut(address, "/")
	switch {
	case address == "":
	case address == "auto":
		b.WriteString("      - type: ipv6_slaac\n")
	case !static:
		fmt.Fprintf(b, "      - type: %s\n", dhcp)
	default:
		writeAddress(b, ip, length)
		if gateway != "" {
			fmt.Fprintf(b, "        gateway: '%s'\n", gateway)
		}
	}
}
