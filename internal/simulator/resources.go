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
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// report is what pvestatd tells the cluster of a guest. Sizes and counts are in bytes, uptime in seconds.
type report struct {
	name, status                                 string
	template                                     bool
	cpus                                         int
	cpu                                          float64
	memory, mem, memhost, disk                   int64
	uptime, netin, netout, diskread, diskwritten int64
}

// sizes are the sizes that lists show of a guest, in bytes, with the options that they were read from.
type sizes struct {
	memory, disk         int64
	memoryText, bootText string
	diskKey, diskText    string
}

// inJSON is a result in JSON.
type inJSON []byte

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

// resource appends what the cluster knows of a guest: the latest report of its node, which is some seconds old. A guest
// without a report is unknown.
func (o *op) resource(b []byte, g *Guest) []byte {
	known, status := o.known(g), "unknown"
	if known != nil {
		status = known.status
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
	r.text("name", known.name)
	r.number("template", int64(boolInt(known.template)))
	r.number("maxcpu", int64(known.cpus))
	r = strconv.AppendFloat(append(r, `,"cpu":`...), known.cpu, 'g', -1, 64)
	r.number("maxmem", known.memory)
	r.number("mem", known.mem)
	if o.st.Version != "8.4" {
		r.number("memhost", known.memhost)
	}
	r.number("maxdisk", known.disk)
	r.number("disk", 0)
	r.number("uptime", known.uptime)
	r.number("netin", known.netin)
	r.number("netout", known.netout)
	r.number("diskread", known.diskread)
	r.number("diskwrite", known.diskwritten)
	return append(r, '}')
}

// resources lists what there is in the cluster, as far as the caller may see it.
func (c *call) resources() (any, error) {
	out, kind := []byte{'['}, c.str("type")
	wanted := func(name string) bool { return kind == "" || kind == name }
	if wanted("vm") {
		out = c.guestResources(out)
	}
	for _, part := range []struct {
		kind string
		list func(*call) []map[string]any
	}{
		{"pool", poolResources},
		{"node", nodeResources},
		{"storage", storageResources},
		{map[bool]string{true: "sdn", false: "network"}[c.state.Version == "8.4"], networkResources},
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
	return inJSON(append(out, ']')), nil
}

// guestResources appends the guests, each with what of it is always fresh and a comma behind it.
func (c *call) guestResources(out []byte) []byte {
	pools, view, o := c.state.poolsOf(), c.state.view(c.who), c.op()
	audited := map[string]bool{}
	for pool := range c.state.Pools {
		audited[pool] = c.state.may(c.who, "/pool/"+pool, "Pool.Audit")
	}
	out = slices.Grow(out, len(c.state.Guests)*rowSize)
	for _, vmid := range slices.Sorted(maps.Keys(c.state.Guests)) {
		if !view.may(vmPath(vmid), "VM.Audit") {
			continue
		}
		g := c.state.Guests[vmid]
		out = o.resource(out, g)
		r := row(out[:len(out)-1])
		for _, key := range []string{"lock", "tags"} {
			if v, ok := g.Config[key]; ok {
				r.text(key, v)
			}
		}
		if pool, ok := pools[vmid]; ok && audited[pool] {
			r.text("pool", pool)
		}
		if ha := c.state.HA[haID(vmid)]; ha != nil {
			r.text("hastate", ha.shown())
		}
		r = append(r, "},"...)
		out = r
	}
	return out
}

// rowSize is about how long the JSON of a guest is.
const rowSize = 360

func poolResources(c *call) []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.state.Pools)) {
		if c.state.may(c.who, "/pool/"+name, "Pool.Audit") {
			out = append(out, map[string]any{"id": "/pool/" + name, "pool": name, "type": "pool"})
		}
	}
	return out
}

func (st *State) poolsOf() map[int]string {
	out := map[int]string{}
	for name, p := range st.Pools {
		for vmid := range p.VMs {
			out[vmid] = name
		}
	}
	return out
}

func nodeResources(c *call) []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.state.Nodes)) {
		n := c.state.Nodes[name]
		entry := map[string]any{"id": "node/" + name, "type": "node", "node": name, "status": n.status(), "level": "", "cgroup-mode": 2}
		if c.state.may(c.who, "/nodes/"+name, "Sys.Audit") && !n.Offline {
			maps.Copy(entry, c.op().nodeUsage(n))
		}
		out = append(out, entry)
	}
	return out
}

func storageResources(c *call) []map[string]any {
	out, held := []map[string]any{}, c.state.held()
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		if !c.state.may(c.who, "/storage/"+id, "Datastore.Audit") {
			continue
		}
		for _, node := range slices.Sorted(maps.Keys(c.state.Nodes)) {
			if s := c.state.Storages[id]; !s.Disabled && s.storageOn(node) {
				out = append(out, storageResource(s, c.state.Nodes[node], held))
			}
		}
	}
	return out
}

// held is what the volumes of each storage take on each node, in bytes.
func (st *State) held() map[VolumeKey]int64 {
	out := map[VolumeKey]int64{}
	for key, v := range st.Volumes {
		out[VolumeKey{Storage: key.Storage, Node: key.Node}] += v.Used
	}
	return out
}

func storageResource(s *Storage, n *Node, held map[VolumeKey]int64) map[string]any {
	out := map[string]any{
		"id": "storage/" + n.Name + "/" + s.ID, "type": "storage", "storage": s.ID, "node": n.Name, "plugintype": s.Type,
		"content": strings.Join(s.Content, ","), "shared": boolInt(s.Shared), "status": "unknown",
	}
	if !n.Offline {
		used := min(s.Used+held[s.key(n.Name, "")], s.Total)
		out["status"], out["maxdisk"], out["disk"] = "available", s.Total, used
	}
	return out
}

func networkResources(c *call) []map[string]any {
	out := []map[string]any{}
	zones := []string{"localnetwork"}
	zones = append(zones, slices.Sorted(maps.Keys(c.state.SDN.AppliedZones))...)
	for _, node := range slices.Sorted(maps.Keys(c.state.Nodes)) {
		for _, zone := range zones {
			if c.state.may(c.who, "/sdn/zones/"+zone, "SDN.Audit") {
				out = append(out, c.zoneResource(node, zone))
			}
		}
	}
	return out
}

func (c *call) zoneResource(node, zone string) map[string]any {
	out := map[string]any{"id": "sdn/" + node + "/" + zone, "type": "sdn", "sdn": zone, "node": node, "status": "ok"}
	if c.state.Version != "8.4" {
		out = map[string]any{
			"id": "network/" + node + "/zone/" + zone, "type": "network", "network-type": "zone", "network": zone, "node": node, "status": "ok",
		}
		if t := c.state.SDN.AppliedZones[zone]["type"]; t != "" {
			out["zone-type"] = t
		}
	}
	return out
}
