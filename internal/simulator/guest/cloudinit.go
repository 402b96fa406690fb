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

package guest

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// keysOf returns the public keys of a guest.
func keysOf(g *state.Guest) []string {
	keys, err := url.PathUnescape(g.Config["sshkeys"])
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(keys, "\n"), func(key string) bool { return strings.TrimSpace(key) == "" })
}

// UserData returns the user data of cloud-init.
func UserData(g *state.Guest, hide bool) string {
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

// writeLogin writes the login settings of the guest.
func writeLogin(b *strings.Builder, g *state.Guest, hide bool) {
	user, password := g.Config["ciuser"], g.Config["cipassword"]
	if user != "" {
		fmt.Fprintf(b, "user: %s\n", user)
	}
	if user == "root" {
		b.WriteString("disable_root: False\n")
	}
	if password != "" && hide {
		password = engine.Mask
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

// WriteStanza writes the configuration of an interface for one address family.
func WriteStanza(b *strings.Builder, nic int, family, address, gateway string) {
	ip, length, static := strings.Cut(address, "/")
	switch {
	case address == "":
		return
	case !static:
		fmt.Fprintf(b, "iface eth%d %s %s\n", nic, family, address)
		return
	case family == "inet":
		length = net.IP(net.CIDRMask(schema.Int(length), 32)).String()
	}
	fmt.Fprintf(b, "iface eth%d %s static\n        address %s\n        netmask %s\n", nic, family, ip, length)
	if gateway != "" {
		fmt.Fprintf(b, "        gateway %s\n", gateway)
	}
}

// writeAddress writes a static address, for IPv4 with its network mask.
func writeAddress(b *strings.Builder, ip, length string) {
	if strings.Contains(ip, ":") {
		fmt.Fprintf(b, "      - type: static6\n        address: '%s/%s'\n", ip, length)
		return
	}
	mask := net.IP(net.CIDRMask(schema.Int(length), 32))
	fmt.Fprintf(b, "      - type: static\n        address: '%s'\n        netmask: '%s'\n", ip, mask)
}

// WriteSubnet writes a subnet of the network configuration of cloud-init.
func WriteSubnet(b *strings.Builder, address, gateway, dhcp string) {
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
