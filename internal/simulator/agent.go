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
	"net/netip"
	"slices"
	"strings"
)

// agentCommand answers a command of the guest agent once it is sure that the agent runs.
func agentCommand(answer func(*call, *Guest) any) handler {
	return func(c *call) (any, error) {
		g, err := c.guest()
		if err != nil {
			return nil, err
		}
		if err := c.op().agentRuns(g); err != nil {
			return nil, err
		}
		return map[string]any{"result": answer(c, g)}, nil
	}
}

func (o *op) agentRuns(g *Guest) error {
	switch {
	case g.Config["agent"] == "":
		return die("No QEMU guest agent configured")
	case g.Power == Stopped:
		return die("VM %d is not running", g.VMID)
	case o.s.parse("agent", g.Config["agent"])["enabled"] != "1", !o.booted(g), g.Agent != nil && g.Agent.Missing:
		return die("QEMU guest agent is not running")
	}
	return nil
}

func agentPing(*call, *Guest) any { return map[string]any{} }

// always is an answer of the agent that is the same for every guest.
func always(answer any) func(*call, *Guest) any {
	return func(*call, *Guest) any { return answer }
}

// agentAnswers are what the agent answers to its commands.
func agentAnswers() map[string]func(*call, *Guest) any {
	return map[string]func(*call, *Guest) any{
		"ping": agentPing, "network-get-interfaces": agentInterfaces, "get-host-name": agentHostname, "get-osinfo": agentOS,
		"get-fsinfo": agentFilesystems, "get-time": agentTime, "get-vcpus": agentCPUs, "info": agentInfo,
		"get-timezone": always(map[string]any{"zone": "UTC", "offset": 0}), "get-users": always([]any{}),
		"get-memory-blocks": always([]any{}), "get-memory-block-info": always(map[string]any{"size": 128 << 20}),
		"fsfreeze-status": agentFrozen, "fsfreeze-freeze": agentFreeze(true), "fsfreeze-thaw": agentFreeze(false),
		"fstrim":       always(map[string]any{"paths": []any{}}),
		"suspend-disk": always(nil), "suspend-hybrid": always(nil), "suspend-ram": always(nil),
	}
}

// agentCommands are the methods that run one command of the agent each.
func agentCommands(guest string) map[string]handler {
	out := map[string]handler{}
	for name, answer := range agentAnswers() {
		verb := "GET "
		if name == "ping" || name == "fstrim" || strings.HasPrefix(name, "fsfreeze-") || strings.HasPrefix(name, "suspend-") {
			verb = "POST "
		}
		out[verb+guest+"/agent/"+name] = agentCommand(answer)
	}
	return out
}

func agentTime(c *call, _ *Guest) any { return c.now().UnixNano() }

func agentCPUs(c *call, g *Guest) any {
	out := []map[string]any{}
	for i := range c.s.vcpus(g.Config) {
		out = append(out, map[string]any{"logical-id": i, "online": true, "can-offline": i > 0})
	}
	return out
}

// agentInfo lists the commands that the agent knows.
func agentInfo(*call, *Guest) any {
	commands := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(agentAnswers())) {
		commands = append(commands, map[string]any{"name": "guest-" + name, "enabled": true, "success-response": !strings.HasPrefix(name, "suspend-")})
	}
	return map[string]any{"version": "10.0.2", "supported_commands": commands}
}

func agentFrozen(_ *call, g *Guest) any {
	return map[bool]string{true: "frozen", false: "thawed"}[g.Frozen]
}

// agentFreeze freezes the guest's file system, or thaws it, and tells how many it were.
func agentFreeze(freeze bool) func(*call, *Guest) any {
	return func(_ *call, g *Guest) any {
		changed := boolInt(g.Frozen != freeze)
		g.Frozen = freeze
		return changed
	}
}

func agentHostname(_ *call, g *Guest) any { return map[string]any{"host-name": g.name()} }

func agentOS(*call, *Guest) any {
	return map[string]any{
		"id": "debian", "name": "Debian GNU/Linux", "pretty-name": "Debian GNU/Linux 13 (trixie)", "version": "13 (trixie)",
		"version-id": "13", "machine": "x86_64", "kernel-release": "6.12.0-amd64", "kernel-version": "#1 SMP",
	}
}

func agentFilesystems(*call, *Guest) any { return []any{} }

func agentInterfaces(c *call, g *Guest) any {
	out := []map[string]any{networkInterface("lo", "00:00:00:00:00:00", []string{"127.0.0.1/8", "::1/128"})}
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if !isNIC(key) {
			continue
		}
		nic := c.s.parse(key, g.Config[key])
		mac := strings.ToLower(nic["macaddr"])
		addresses := []string{}
		if nic["link_down"] != "1" {
			addresses = append(c.op().addresses(g, index(key)), linkLocal(mac))
		}
		out = append(out, networkInterface(fmt.Sprintf("eth%d", index(key)), mac, addresses))
	}
	return out
}

// addresses are those of a NIC: what the scenario says, what cloud-init configured, or what a DHCP server would give.
func (o *op) addresses(g *Guest, nic int) []string {
	if g.Agent != nil && len(g.Agent.Addresses[nic]) > 0 {
		return slices.Clone(g.Agent.Addresses[nic])
	}
	out := []string{}
	config := o.s.parse("ipconfig0", g.Config[fmt.Sprintf("ipconfig%d", nic)])
	if strings.Contains(config["ip6"], "/") {
		out = append(out, config["ip6"])
	}
	if strings.Contains(config["ip"], "/") {
		return append([]string{config["ip"]}, out...)
	}
	lease := netip.AddrFrom4([4]byte{10, byte(10 + nic), byte(g.VMID / 250), byte(g.VMID%250 + 2)}) //nolint:gosec // Wrapping is fine.
	return append([]string{lease.String() + "/16"}, out...)
}

// linkLocal is the IPv6 address that follows from a MAC address.
func linkLocal(mac string) string {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		return "fe80::1/64"
	}
	a := netip.AddrFrom16([16]byte{0xfe, 0x80, 8: hw[0] ^ 2, hw[1], hw[2], 0xff, 0xfe, hw[3], hw[4], hw[5]})
	return a.String() + "/64"
}

func networkInterface(name, mac string, addresses []string) map[string]any {
	list := []map[string]any{}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a)
		if err != nil {
			continue
		}
		kind := "ipv4"
		if prefix.Addr().Is6() {
			kind = "ipv6"
		}
		list = append(list, map[string]any{
			"ip-address": prefix.Addr().String(), "ip-address-type": kind, "prefix": prefix.Bits(),
		})
	}
	return map[string]any{
		"name": name, "hardware-address": mac, "ip-addresses": list,
		"statistics": map[string]any{
			"rx-bytes": 0, "rx-packets": 0, "rx-errs": 0, "rx-dropped": 0, "tx-bytes": 0, "tx-packets": 0, "tx-errs": 0, "tx-dropped": 0,
		},
	}
}

func (c *call) agentIndex() (any, error) {
	out := []map[string]any{}
	for _, name := range []string{
		"exec", "exec-status", "file-read", "file-write", "fsfreeze-freeze", "fsfreeze-status", "fsfreeze-thaw", "fstrim",
		"get-fsinfo", "get-host-name", "get-memory-block-info", "get-memory-blocks", "get-osinfo", "get-time", "get-timezone",
		"get-users", "get-vcpus", "info", "network-get-interfaces", "ping", "set-user-password", "shutdown", "suspend-disk",
		"suspend-hybrid", "suspend-ram",
	} {
		out = append(out, map[string]any{"name": name})
	}
	return out, nil
}

// agentShutdown makes the guest's system power off, which takes its time.
func (c *call) agentShutdown() (any, error) {
	g, err := c.guest()
	if err == nil {
		err = c.op().agentRuns(g)
	}
	if err != nil {
		return nil, err
	}
	vmid := g.VMID
	c.s.later(c.s.duration("qmshutdown"), func(o *op) {
		if g := o.st.Guests[vmid]; g != nil && g.Power == Running && o.hearsShutdown(g) {
			o.halt(g)
		}
	})
	return map[string]any{"result": nil}, nil
}
