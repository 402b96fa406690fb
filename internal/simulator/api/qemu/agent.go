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
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// agentCommand answers a command of the guest agent after it has checked that the agent is running.
func agentCommand(answer func(*engine.Call, *state.Guest) any) engine.Handler {
	return func(c *engine.Call) (any, error) {
		g, err := c.Guest()
		if err != nil {
			return nil, err
		}
		if err := guest.AgentRuns(c.Op(), g); err != nil {
			return nil, err
		}
		return map[string]any{"result": answer(c, g)}, nil
	}
}

func agentPing(*engine.Call, *state.Guest) any { return map[string]any{} }

// always returns an answer of the agent that is the same for every guest.
func always(answer any) func(*engine.Call, *state.Guest) any {
	return func(*engine.Call, *state.Guest) any { return answer }
}

// agentAnswers returns the answers of the agent to its commands.
func agentAnswers() map[string]func(*engine.Call, *state.Guest) any {
	return map[string]func(*engine.Call, *state.Guest) any{
		"ping": agentPing, "network-get-interfaces": agentInterfaces, "get-host-name": agentHostname, "get-osinfo": agentOS,
		"get-fsinfo": agentFilesystems, "get-time": agentTime, "get-vcpus": agentCPUs, "info": agentInfo,
		"get-timezone": always(map[string]any{"zone": "UTC", "offset": 0}), "get-users": always([]any{}),
		"get-memory-blocks": always([]any{}), "get-memory-block-info": always(map[string]any{"size": 128 << 20}),
		"fsfreeze-status": agentFrozen, "fsfreeze-freeze": agentFreeze(true), "fsfreeze-thaw": agentFreeze(false),
		"fstrim":       always(map[string]any{"paths": []any{}}),
		"suspend-disk": always(nil), "suspend-hybrid": always(nil), "suspend-ram": always(nil),
	}
}

// agentCommands returns the methods that each run one command of the agent.
func agentCommands(guest string) map[string]engine.Handler {
	out := map[string]engine.Handler{}
	for name, answer := range agentAnswers() {
		verb := "GET "
		if name == "ping" || name == "fstrim" || strings.HasPrefix(name, "fsfreeze-") || strings.HasPrefix(name, "suspend-") {
			verb = "POST "
		}
		out[verb+guest+"/agent/"+name] = agentCommand(answer)
	}
	return out
}

func agentTime(c *engine.Call, _ *state.Guest) any { return c.Now().UnixNano() }

func agentCPUs(c *engine.Call, g *state.Guest) any {
	out := []map[string]any{}
	for i := range guest.Vcpus(c.Engine, g.Config) {
		out = append(out, map[string]any{"logical-id": i, "online": true, "can-offline": i > 0})
	}
	return out
}

// agentInfo lists the commands that the agent supports.
func agentInfo(*engine.Call, *state.Guest) any {
	commands := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(agentAnswers())) {
		commands = append(commands, map[string]any{"name": "guest-" + name, "enabled": true, "success-response": !strings.HasPrefix(name, "suspend-")})
	}
	return map[string]any{"version": "10.0.2", "supported_commands": commands}
}

func agentFrozen(_ *engine.Call, g *state.Guest) any {
	return map[bool]string{true: "frozen", false: "thawed"}[g.Frozen]
}

// agentFreeze freezes or thaws the guest's file systems, and returns their number.
func agentFreeze(freeze bool) func(*engine.Call, *state.Guest) any {
	return func(_ *engine.Call, g *state.Guest) any {
		changed := schema.Flag(g.Frozen != freeze)
		g.Frozen = freeze
		return changed
	}
}

func agentHostname(_ *engine.Call, g *state.Guest) any { return map[string]any{"host-name": g.Name()} }

func agentOS(_ *engine.Call, g *state.Guest) any {
	if g.Agent != nil && len(g.Agent.OS) > 0 {
		return g.Agent.OS
	}
	return map[string]any{
		"id": "debian", "name": "Debian GNU/Linux", "pretty-name": "Debian GNU/Linux 13 (trixie)", "version": "13 (trixie)",
		"version-id": "13", "machine": "x86_64", "kernel-release": "6.12.0-amd64", "kernel-version": "#1 SMP",
	}
}

func agentFilesystems(*engine.Call, *state.Guest) any { return []any{} }

func agentInterfaces(c *engine.Call, g *state.Guest) any {
	out := []map[string]any{guest.NetworkInterface("lo", "00:00:00:00:00:00", []string{"127.0.0.1/8", "::1/128"})}
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if !guest.IsNIC(key) {
			continue
		}
		nic := c.Engine.Parse(key, g.Config[key])
		mac := strings.ToLower(nic["macaddr"])
		addresses := []string{}
		if nic["link_down"] != "1" {
			addresses = append(guest.Addresses(c.Op(), g, guest.Index(key)), guest.LinkLocal(mac))
		}
		out = append(out, guest.NetworkInterface(fmt.Sprintf("eth%d", guest.Index(key)), mac, addresses))
	}
	return out
}

func agentIndex(*engine.Call) (any, error) {
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

// agentShutdown powers off the guest's system, which takes some time.
func agentShutdown(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err == nil {
		err = guest.AgentRuns(c.Op(), g)
	}
	if err != nil {
		return nil, err
	}
	vmid := g.VMID
	c.Engine.Later(c.Engine.Duration("qmshutdown"), func(o *engine.Op) {
		if g := o.State.Guests[vmid]; g != nil && g.Power == state.Running && guest.ReactsToShutdown(o, g) {
			guest.PowerOff(o, g)
		}
	})
	return map[string]any{"result": nil}, nil
}
