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
)

func (c *call) guestStatus() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	out := c.op().vmstatus(g, true)
	out["ha"] = c.state.haStatus(g.VMID)
	if c.s.parse("agent", g.Config["agent"])["enabled"] == "1" {
		out["agent"] = 1
	}
	if g.Config["vga"] != "" {
		out["clipboard"] = nil
	}
	return out, nil
}

func (st *State) haStatus(vmid int) map[string]any {
	ha := st.HA[haID(vmid)]
	if !st.haManaged(vmid) {
		return map[string]any{"managed": 0}
	}
	out := map[string]any{"managed": 1, "state": ha.shown()}
	if st.HAIdle {
		out["state"] = nil
	}
	if st.Version == "8.4" {
		out["group"] = nil
		if group, ok := ha.Options["group"]; ok {
			out["group"] = group
		}
	}
	return out
}

// vmstatus is what PVE tells of a VM, with more of it where full is asked for.
func (o *op) vmstatus(g *Guest, full bool) map[string]any {
	config, r := g.Config, o.measure(g)
	out := map[string]any{
		"vmid": g.VMID, "name": r.name, "status": "stopped", "cpus": r.cpus, "maxmem": r.memory, "maxdisk": r.disk, "disk": 0,
		"uptime": r.uptime, "cpu": r.cpu, "mem": r.mem, "netin": r.netin, "netout": r.netout,
	}
	if o.st.Version != "8.4" {
		out["memhost"] = r.memhost
	}
	if b := atoi(config["balloon"]); b > 0 {
		out["balloon_min"], out["shares"] = int64(b)<<20, 1000
		if config["shares"] != "" {
			out["shares"] = atoi(config["shares"])
		}
	}
	if g.template() {
		out["template"] = 1
	}
	for _, key := range []string{"lock", "tags"} {
		if v, ok := config[key]; ok {
			out[key] = v
		}
	}
	for i := range 4 {
		if config[fmt.Sprintf("serial%d", i)] != "" {
			out["serial"] = 1
		}
	}
	if full {
		out["qmpstatus"] = string(g.Power)
	}
	if g.Power != Stopped {
		o.runningStatus(g, r, out, full)
	}
	return out
}

func (o *op) runningStatus(g *Guest, r *report, out map[string]any, full bool) {
	out["status"], out["pid"] = "running", g.pid
	if o.st.Version != "8.4" {
		for _, kind := range []string{"cpu", "io", "memory"} {
			out["pressure"+kind+"some"], out["pressure"+kind+"full"] = 0, 0
		}
	}
	if !full {
		return
	}
	out["diskread"], out["diskwrite"] = r.diskread, r.diskwritten
	out["running-machine"], out["running-qemu"] = "pc-i440fx-"+o.st.machine(), o.st.qemu()
	out["proxmox-support"] = o.st.support()
	out["blockstat"] = o.blockStatistics(g)
	nics := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if isNIC(key) {
			nics[fmt.Sprintf("tap%di%d", g.VMID, index(key))] = map[string]any{"netin": r.netin, "netout": r.netout}
		}
	}
	if len(nics) > 0 {
		out["nics"] = nics
	}
}

// machine is the machine version that belongs to the QEMU version.
func (st *State) machine() string {
	parts := strings.SplitN(st.qemu(), ".", 3)
	if len(parts) < 2 {
		return st.qemu()
	}
	return parts[0] + "." + parts[1]
}

func (o *op) cpus(g *Guest) int {
	n := o.s.vcpus(g.Config)
	if node := o.st.Nodes[g.Node]; node != nil {
		n = min(n, node.CPUs)
	}
	if v := atoi(g.Config["vcpus"]); v > 0 {
		return v
	}
	return n
}

func (c *call) listGuests() (any, error) {
	out, view := []map[string]any{}, c.state.view(c.who)
	for _, vmid := range slices.Sorted(maps.Keys(c.state.Guests)) {
		g := c.state.Guests[vmid]
		if g.Node == c.node && view.may(vmPath(vmid), "VM.Audit") {
			out = append(out, c.op().vmstatus(g, c.flag("full")))
		}
	}
	return out, nil
}
