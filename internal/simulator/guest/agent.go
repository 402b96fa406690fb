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
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// AgentRuns fails unless the guest agent answers.
func AgentRuns(o *engine.Op, g *state.Guest) error {
	switch {
	case g.Config["agent"] == "":
		return apierr.Errorf("No QEMU guest agent configured")
	case g.Power == state.Stopped:
		return apierr.Errorf("VM %d is not running", g.VMID)
	case o.Engine.Parse("agent", g.Config["agent"])["enabled"] != "1", !booted(o, g), g.Agent != nil && g.Agent.Missing:
		return apierr.Errorf("QEMU guest agent is not running")
	}
	return nil
}

// cloudInitResult is the file that cloud-init writes at its end.
const cloudInitResult = "/run/cloud-init/result.json"

// File returns a file of the guest: one that was written through the agent, or a file that cloud-init leaves if the guest has its drive, or an ISO image
// that may contain its data.
func File(o *engine.Op, g *state.Guest, path string) (string, bool) {
	if content, ok := g.Files[path]; ok || path != cloudInitResult || g.Agent != nil && g.Agent.CloudInitRuns {
		return content, ok
	}
	failures := []string{}
	if g.Agent != nil {
		failures = append(failures, g.Agent.CloudInitErrors...)
	}
	for key, value := range g.Config {
		if d := ParseDrive(o.Engine, key, value); IsDrive(key) && (d.CloudInit() || d.CDROM() && d.File() != "none") {
			raw, err := json.Marshal(map[string]any{"v1": map[string]any{"datasource": "DataSourceNoCloud [seed=/dev/sr0]", "errors": failures}})
			return string(raw), err == nil
		}
	}
	return "", false
}

// freezeWarning returns the log line of a snapshot of a running VM whose agent does not freeze its file systems. It is empty if the agent does, and in 8.4
// also for a VM without an agent.
func freezeWarning(o *engine.Op, g *state.Guest) string {
	enabled, off := agentFreezes(o, g)
	switch {
	case o.State.Version == "8.4" && enabled && AgentRuns(o, g) != nil:
		return fmt.Sprintf("QEMU Guest Agent is not running - VM %d qga command 'guest-ping' failed - got timeout", g.VMID)
	case o.State.Version == "8.4":
		return ""
	}
	return notFrozen(o, g, !enabled || off)
}

// notFrozen returns why PVE 9 does not freeze the file systems of a running VM.
func notFrozen(o *engine.Op, g *state.Guest, off bool) string {
	switch {
	case off:
		return "skipping guest filesystem freeze - disabled in VM options"
	case AgentRuns(o, g) != nil:
		return "skipping guest filesystem freeze - agent configured but not running?"
	case g.Frozen:
		return "skipping guest filesystem freeze - already frozen"
	}
	return ""
}

// FreezeForBackup returns the log lines about freezing in the backup of a running VM.
func FreezeForBackup(o *engine.Op, g *state.Guest) []string {
	enabled, off := agentFreezes(o, g)
	why := ""
	switch {
	case o.State.Version != "8.4":
		why = notFrozen(o, g, !enabled || off)
	case g.Config["agent"] == "" || g.Config["agent"] == "0":
		return nil
	case AgentRuns(o, g) != nil:
		why = "skipping guest-agent 'fs-freeze', agent configured but not running?"
	case off:
		why = "skipping guest-agent 'fs-freeze', disabled in VM options"
	}
	if why != "" {
		return []string{why}
	}
	return []string{"issuing guest-agent 'fs-freeze' command", "issuing guest-agent 'fs-thaw' command"}
}

// agentFreezes reads the option agent. It returns whether the agent is enabled, and whether freezing file systems is turned off.
func agentFreezes(o *engine.Op, g *state.Guest) (enabled, off bool) {
	agent := o.Engine.Parse("agent", g.Config["agent"])
	for _, key := range []string{"freeze-fs", "guest-fsfreeze", "freeze-fs-on-backup"} {
		off = off || agent[key] == "0"
	}
	return agent["enabled"] == "1", off
}

// Addresses returns the addresses of a NIC: those of the scenario, of cloud-init, or of a simulated DHCP server.
func Addresses(o *engine.Op, g *state.Guest, nic int) []string {
	if g.Agent != nil && len(g.Agent.Addresses[nic]) > 0 {
		return slices.Clone(g.Agent.Addresses[nic])
	}
	out := []string{}
	config := o.Engine.Parse("ipconfig0", g.Config[fmt.Sprintf("ipconfig%d", nic)])
	if strings.Contains(config["ip6"], "/") {
		out = append(out, config["ip6"])
	}
	if strings.Contains(config["ip"], "/") {
		return append([]string{config["ip"]}, out...)
	}
	lease := netip.AddrFrom4([4]byte{10, byte(10 + nic), byte(g.VMID / 250), byte(g.VMID%250 + 2)}) //nolint:gosec // Wrapping is fine.
	return append([]string{lease.String() + "/16"}, out...)
}

// LinkLocal returns the IPv6 address derived from a MAC address.
func LinkLocal(mac string) string {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		return "fe80::1/64"
	}
	a := netip.AddrFrom16([16]byte{0xfe, 0x80, 8: hw[0] ^ 2, hw[1], hw[2], 0xff, 0xfe, hw[3], hw[4], hw[5]})
	return a.String() + "/64"
}

// NetworkInterface returns an interface as the guest agent reports it.
func NetworkInterface(name, mac string, addresses []string) map[string]any {
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
