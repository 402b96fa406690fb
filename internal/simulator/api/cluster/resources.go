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

package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// appendText appends a JSON string.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			out, _ := json.Marshal(text) //nolint:errchkjson // A string is always valid.
			return append(b, out...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// row writes the fields of a JSON object one after another.
type row []byte

func (r *row) text(key, value string) {
	*r = append(append(*r, `,"`...), key...)
	*r = appendText(append(*r, `":`...), value)
}

func (r *row) number(key string, value int64) {
	*r = append(append(*r, `,"`...), key...)
	*r = strconv.AppendInt(append(*r, `":`...), value, 10)
}

// resource appends what the cluster knows of a guest: the latest report of its node, which is some seconds old. The state of a guest without a report is
// unknown.
func resource(o *engine.Op, b []byte, g *state.Guest) []byte {
	known, status := guest.Known(o, g), "unknown"
	if known != nil {
		status = known.Status
	}
	r := row(strconv.AppendInt(append(b, `{"id":"qemu/`...), int64(g.VMID), 10))
	r = append(r, '"')
	r.text("node", g.Node)
	r.text("status", status)
	r.text("type", "qemu")
	r.number("vmid", int64(g.VMID))
	if known == nil {
		return append(r, '}')
	}
	r.text("name", known.Name)
	r.number("template", int64(schema.Flag(known.Template)))
	r.number("maxcpu", int64(known.CPUs))
	r = strconv.AppendFloat(append(r, `,"cpu":`...), known.CPU, 'g', -1, 64)
	r.number("maxmem", known.Memory)
	r.number("mem", known.Mem)
	if o.State.Version != "8.4" {
		r.number("memhost", known.Memhost)
	}
	r.number("maxdisk", known.Disk)
	r.number("disk", 0)
	r.number("uptime", known.Uptime)
	r.number("netin", known.Netin)
	r.number("netout", known.Netout)
	r.number("diskread", known.Diskread)
	r.number("diskwrite", known.Diskwritten)
	return append(r, '}')
}

// Resources lists the resources of the cluster that the caller may see.
func Resources(c *engine.Call) (any, error) {
	out, kind := []byte{'['}, c.Str("type")
	wanted := func(name string) bool { return kind == "" || kind == name }
	if wanted("vm") {
		out = guestResources(c, out)
	}
	for _, part := range []struct {
		kind string
		list func(*engine.Call) []map[string]any
	}{
		{"vm", containerResources},
		{"pool", poolResources},
		{"node", nodeResources},
		{"storage", storageResources},
		{map[bool]string{true: "sdn", false: "network"}[c.State.Version == "8.4"], networkResources},
	} {
		if !wanted(part.kind) {
			continue
		}
		for _, entry := range part.list(c) {
			text, err := json.Marshal(entry)
			if err != nil {
				return nil, err
			}
			out = append(append(out, text...), ',')
		}
	}
	if last := len(out) - 1; out[last] == ',' {
		out = out[:last]
	}
	return engine.InJSON(append(out, ']')), nil
}

// guestResources appends the guests, each with its values that are always up to date and a trailing comma.
func guestResources(c *engine.Call, out []byte) []byte {
	pools, view, o := poolsOf(c.State), c.State.View(c.Who), c.Op()
	audited := map[string]bool{}
	for pool := range c.State.Pools {
		audited[pool] = c.State.May(c.Who, "/pool/"+pool, "Pool.Audit")
	}
	out = slices.Grow(out, len(c.State.Guests)*rowSize)
	for _, vmid := range slices.Sorted(maps.Keys(c.State.Guests)) {
		if !view.May(state.VMPath(vmid), "VM.Audit") {
			continue
		}
		g := c.State.Guests[vmid]
		out = resource(o, out, g)
		r := row(out[:len(out)-1])
		for _, key := range []string{"lock", "tags"} {
			if v, ok := g.Config[key]; ok {
				r.text(key, v)
			}
		}
		if pool, ok := pools[vmid]; ok && audited[pool] {
			r.text("pool", pool)
		}
		if sid := state.HAID(vmid); c.State.HA[sid] != nil || c.State.HAManager.Services[sid] != nil {
			r.text("hastate", c.State.HAState(sid))
		}
		r = append(r, "},"...)
		out = r
	}
	return out
}

// containerResources returns the containers.
func containerResources(c *engine.Call) []map[string]any {
	out := []map[string]any{}
	for _, vmid := range slices.Sorted(maps.Keys(c.State.Containers)) {
		if !c.State.May(c.Who, state.VMPath(vmid), "VM.Audit") {
			continue
		}
		g := c.State.Containers[vmid]
		out = append(out, map[string]any{
			"id": "lxc/" + strconv.Itoa(vmid), "type": "lxc", "vmid": vmid, "node": g.Node, "status": string(g.Power), "name": g.Config["hostname"],
			"template": schema.Flag(g.Config["template"] == "1"),
		})
	}
	return out
}

// rowSize is the approximate length of a guest's JSON.
const rowSize = 360

func poolResources(c *engine.Call) []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.State.Pools)) {
		if c.State.May(c.Who, "/pool/"+name, "Pool.Audit") {
			out = append(out, map[string]any{"id": "/pool/" + name, "pool": name, "type": "pool"})
		}
	}
	return out
}

func poolsOf(st *state.State) map[int]string {
	out := map[int]string{}
	for name, p := range st.Pools {
		for vmid := range p.VMs {
			out[vmid] = name
		}
	}
	return out
}

func nodeResources(c *engine.Call) []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.State.Nodes)) {
		n := c.State.Nodes[name]
		entry := map[string]any{"id": "node/" + name, "type": "node", "node": name, "status": guest.NodeStatus(c.Engine, n)}
		if guest.Reporting(c.Engine, n) {
			entry["cgroup-mode"] = 2
		}
		maps.Copy(entry, guest.NodeReport(c.Op(), n, c.State.May(c.Who, "/nodes/"+name, "Sys.Audit")))
		if !c.State.HAIdle && c.State.Version != "8.4" {
			entry["hastate"] = c.State.HANodeState(name)
		}
		out = append(out, entry)
	}
	return out
}

func storageResources(c *engine.Call) []map[string]any {
	out, held := []map[string]any{}, held(c.State)
	for _, id := range slices.Sorted(maps.Keys(c.State.Storages)) {
		if !c.State.May(c.Who, "/storage/"+id, "Datastore.Audit") {
			continue
		}
		for _, node := range slices.Sorted(maps.Keys(c.State.Nodes)) {
			if s := c.State.Storages[id]; !s.Disabled && s.StorageOn(node) {
				out = append(out, storageResource(c.Op(), s, c.State.Nodes[node], held))
			}
		}
	}
	return out
}

// held returns how much the volumes of each storage occupy on each node, in bytes.
func held(st *state.State) map[state.VolumeKey]int64 {
	out := map[state.VolumeKey]int64{}
	for key, v := range st.Volumes {
		out[state.VolumeKey{Storage: key.Storage, Node: key.Node}] += v.Used
	}
	return out
}

func storageResource(o *engine.Op, s *state.Storage, n *state.Node, held map[state.VolumeKey]int64) map[string]any {
	out := map[string]any{
		"id": "storage/" + n.Name + "/" + s.ID, "type": "storage", "storage": s.ID, "node": n.Name, "plugintype": s.Type,
		"content": strings.Join(s.Content, ","), "shared": schema.Flag(s.Shared), "status": "unknown",
	}
	if guest.Reporting(o.Engine, n) {
		used := min(s.Used+held[s.Key(n.Name, "")], s.Total)
		out["status"], out["maxdisk"], out["disk"] = "available", s.Total, used
	}
	return out
}

func networkResources(c *engine.Call) []map[string]any {
	out := []map[string]any{}
	zones := []string{"localnetwork"}
	zones = append(zones, slices.Sorted(maps.Keys(c.State.SDN.AppliedZones))...)
	for _, node := range slices.Sorted(maps.Keys(c.State.Nodes)) {
		for _, zone := range zones {
			if c.State.May(c.Who, "/sdn/zones/"+zone, "SDN.Audit") {
				out = append(out, zoneResource(c, node, zone))
			}
		}
	}
	return out
}

func zoneResource(c *engine.Call, node, zone string) map[string]any {
	out := map[string]any{"id": "sdn/" + node + "/" + zone, "type": "sdn", "sdn": zone, "node": node, "status": "ok"}
	if c.State.Version != "8.4" {
		out = map[string]any{
			"id": "network/" + node + "/zone/" + zone, "type": "network", "network-type": "zone", "network": zone, "node": node, "status": "ok",
		}
		if t := c.State.SDN.AppliedZones[zone]["type"]; t != "" {
			out["zone-type"] = t
		}
	}
	return out
}
