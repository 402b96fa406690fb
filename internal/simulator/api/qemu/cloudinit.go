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

package qemu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// getCloudInit compares the content of the cloud-init drive with the configuration.
func getCloudInit(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	out, added := []map[string]any{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(g.CloudInit)) {
		if value, set := g.Config[key]; set && g.CloudInit[key] == "" {
			added[key] = true
			out = append(out, map[string]any{"key": key, "pending": c.Engine.ShowValue(key, value)})
		}
	}
	for key := range strings.FieldsSeq("cicustom ciuser cipassword citype ciupgrade searchdomain nameserver sshkeys") {
		if value := g.Config[key]; value != "" && value != "0" && !added[key] {
			out = append(out, cloudInitEntry(c, key, value, g.CloudInit[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.CloudInit)) {
		if value := g.Config[key]; g.CloudInit[key] != "" && (value == "" || value == "0") {
			out = append(out, map[string]any{"key": key, "delete": 1})
		}
	}
	return out, nil
}

func cloudInitEntry(c *engine.Call, key, value, old string) map[string]any {
	if old == "" || old == value {
		return map[string]any{"key": key, "value": c.Engine.ShowValue(key, value)}
	}
	return map[string]any{"key": key, "value": c.Engine.ShowValue(key, old), "pending": c.Engine.ShowValue(key, value)}
}

func regenerateCloudInit(c *engine.Call) (any, error) {
	return &engine.Locked{VMID: c.VMID(), Wait: engine.ConfigLockWait, Then: func(c *engine.Call) (any, error) {
		g, err := c.Guest()
		if err == nil {
			err = g.Lock()
		}
		if err == nil {
			g.CloudInit = nil
		}
		return nil, err
	}}, nil
}

func dumpCloudInit(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	network, meta := networkConfig(c, g), "instance-id: %s\n"
	if format := g.Config["citype"]; format != "nocloud" && (format != "" || strings.HasPrefix(g.Config["ostype"], "w")) {
		network = configDrive(c, g)
		meta = "{\n     \"uuid\": \"%s\",\n     \"network_config\": { \"content_path\": \"/content/0000\" }\n}\n"
	}
	switch c.Str("type") {
	case "user":
		return guest.UserData(g, c.State.Version != "8.4" && !c.State.May(c.Who, state.VMPath(g.VMID), "VM.Config.Cloudinit")), nil
	case "network":
		return network, nil
	}
	return fmt.Sprintf(meta, state.Digest([]byte(guest.UserData(g, false)+network))), nil
}

// configured calls fn for the NICs of a guest that cloud-init configures, with their addresses.
func configured(c *engine.Call, g *state.Guest, fn func(nic int, mac string, addresses map[string]string)) {
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if config := g.Config[fmt.Sprintf("ipconfig%d", guest.Index(key))]; guest.IsNIC(key) && config != "" {
			fn(guest.Index(key), strings.ToLower(c.Engine.Parse(key, g.Config[key])["macaddr"]), c.Engine.Parse("ipconfig0", config))
		}
	}
}

// configDrive returns the configuration of the network in the format of config drives.
func configDrive(c *engine.Call, g *state.Guest) string {
	b := &strings.Builder{}
	servers, domains := nameServers(c, g)
	b.WriteString("auto lo\niface lo inet loopback\n\n")
	if len(servers) > 0 {
		fmt.Fprintf(b, "        dns_nameservers %s\n", strings.Join(servers, " "))
	}
	if len(domains) > 0 {
		fmt.Fprintf(b, "        dns_search %s\n", strings.Join(domains, " "))
	}
	configured(c, g, func(nic int, _ string, a map[string]string) {
		fmt.Fprintf(b, "auto eth%d\n", nic)
		guest.WriteStanza(b, nic, "inet", a["ip"], a["gw"])
		guest.WriteStanza(b, nic, "inet6", a["ip6"], a["gw6"])
	})
	return b.String()
}

func networkConfig(c *engine.Call, g *state.Guest) string {
	b := &strings.Builder{}
	b.WriteString("version: 1\nconfig:\n")
	configured(c, g, func(nic int, mac string, a map[string]string) {
		fmt.Fprintf(b, "    - type: physical\n      name: eth%d\n      mac_address: '%s'\n      subnets:\n", nic, mac)
		guest.WriteSubnet(b, a["ip"], a["gw"], "dhcp4")
		guest.WriteSubnet(b, a["ip6"], a["gw6"], "dhcp6")
	})
	writeNameServers(c, b, g)
	return b.String()
}

// nameServers returns the name servers and search domains of a guest's configuration, or those of its node.
func nameServers(c *engine.Call, g *state.Guest) (servers, domains []string) {
	n := c.State.Nodes[g.Node]
	servers, domains = strings.Fields(g.Config["nameserver"]), strings.Fields(g.Config["searchdomain"])
	if len(servers) == 0 {
		servers = n.DNS
	}
	if len(domains) == 0 {
		domains = strings.Fields(n.SearchDomain)
	}
	return servers, domains
}

func writeNameServers(c *engine.Call, b *strings.Builder, g *state.Guest) {
	servers, domains := nameServers(c, g)
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
