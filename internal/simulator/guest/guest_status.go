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
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// HAStatus returns the HA part of a guest's status.
func HAStatus(st *state.State, vmid int) map[string]any {
	sid := state.HAID(vmid)
	if !st.HAManaged(vmid) {
		return map[string]any{"managed": 0}
	}
	out := map[string]any{"managed": 1, "state": nil}
	if s := st.HAManager.Services[sid]; s != nil {
		out["state"] = s.State
	}
	if st.Version == "8.4" {
		out["group"] = nil
		if group, ok := st.HA[sid].Options["group"]; ok {
			out["group"] = group
		}
	}
	return out
}

// Vmstatus returns the status of a VM. It contains more if full is set.
func Vmstatus(o *engine.Op, g *state.Guest, full bool) map[string]any {
	config, r := g.Config, measure(o, g)
	out := map[string]any{
		"vmid": g.VMID, "name": r.Name, "status": "stopped", "cpus": r.CPUs, "maxmem": r.Memory, "maxdisk": r.Disk, "disk": 0,
		"uptime": r.Uptime, "cpu": r.CPU, "mem": r.Mem, "netin": r.Netin, "netout": r.Netout,
	}
	if o.State.Version != "8.4" {
		out["memhost"] = r.Memhost
	}
	if b := schema.Int(config["balloon"]); b > 0 {
		out["balloon_min"], out["shares"] = int64(b)<<20, 1000
		if config["shares"] != "" {
			out["shares"] = schema.Int(config["shares"])
		}
	}
	if g.Template() {
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
	if g.Power != state.Stopped {
		runningStatus(o, g, r, out, full)
	}
	return out
}

func runningStatus(o *engine.Op, g *state.Guest, r *state.Report, out map[string]any, full bool) {
	out["status"], out["pid"] = "running", g.PID
	if o.State.Version != "8.4" {
		for _, kind := range []string{"cpu", "io", "memory"} {
			out["pressure"+kind+"some"], out["pressure"+kind+"full"] = 0, 0
		}
	}
	if !full {
		return
	}
	out["diskread"], out["diskwrite"] = r.Diskread, r.Diskwritten
	out["running-machine"], out["running-qemu"] = "pc-i440fx-"+machine(o.State), qemu(o.State)
	out["proxmox-support"] = support(o.State)
	out["blockstat"] = blockStatistics(o, g)
	nics := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if IsNIC(key) {
			nics[fmt.Sprintf("tap%di%d", g.VMID, Index(key))] = map[string]any{"netin": r.Netin, "netout": r.Netout}
		}
	}
	if len(nics) > 0 {
		out["nics"] = nics
	}
}

// machine returns the machine version of the QEMU version.
func machine(st *state.State) string {
	parts := strings.SplitN(qemu(st), ".", 3)
	if len(parts) < 2 {
		return qemu(st)
	}
	return parts[0] + "." + parts[1]
}

func cpus(o *engine.Op, g *state.Guest) int {
	n := Vcpus(o.Engine, g.Config)
	if node := o.State.Nodes[g.Node]; node != nil {
		n = min(n, node.CPUs)
	}
	if v := schema.Int(g.Config["vcpus"]); v > 0 {
		return v
	}
	return n
}
