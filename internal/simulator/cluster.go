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
	"strconv"
	"strings"
	"time"
)

// logEntry is a line of the cluster log.
type logEntry struct {
	time time.Time
	uid  int
	node string
	user string
	pri  int
	msg  string
}

// maxLog is how many lines the cluster log keeps.
const maxLog = 500

func (st *State) logLine(e logEntry) {
	st.sequence++
	e.uid = st.sequence
	st.log = append(st.log, e)
	if len(st.log) > maxLog {
		st.log = slices.Delete(st.log, 0, len(st.log)-maxLog)
	}
}

func (c *call) clusterLog() (any, error) {
	limit := 50
	if c.has("max") {
		limit = c.num("max")
	}
	all := c.state.may(c.who, "/", "Sys.Syslog")
	out := []map[string]any{}
	for i := len(c.state.log) - 1; i >= 0 && len(out) < limit; i-- {
		e := c.state.log[i]
		if !all && e.user != string(c.who) {
			continue
		}
		out = append(out, map[string]any{
			"uid": strconv.Itoa(e.uid), "id": fmt.Sprintf("%d:%s", e.uid, e.node), "time": e.time.Unix(), "node": e.node,
			"user": e.user, "tag": "pvedaemon", "pid": 1000, "pri": e.pri, "msg": e.msg,
		})
	}
	return out, nil
}

func (c *call) nextID() (any, error) {
	if c.has("vmid") {
		if c.state.Guests[c.vmid()] != nil {
			return nil, paramError("vmid", "VM %d already exists", c.vmid())
		}
		return c.str("vmid"), nil
	}
	lower, upper := c.idRange(c.state.Options)
	for id := lower; id < upper; id++ {
		if c.state.Guests[id] == nil {
			return strconv.Itoa(id), nil
		}
	}
	return nil, die("unable to get any free VMID in range [%d, %d]", lower, upper-1)
}

func (c *call) clusterStatus() (any, error) {
	out := []map[string]any{}
	names := slices.Sorted(maps.Keys(c.state.Nodes))
	if c.state.ClusterName != "" {
		out = append(out, map[string]any{
			"type": "cluster", "id": "cluster", "name": c.state.ClusterName, "nodes": len(names), "version": len(names),
			"quorate": boolInt(!c.state.NoQuorum),
		})
	}
	for i, name := range names {
		n := c.state.Nodes[name]
		out = append(out, map[string]any{
			"type": "node", "id": "node/" + name, "name": name, "ip": n.Address, "level": "", "local": boolInt(name == c.local),
			"nodeid": i + 1, "online": boolInt(!n.Offline),
		})
	}
	return out, nil
}

func (c *call) clusterTasks() (any, error) {
	all := c.state.may(c.who, "/", "Sys.Audit")
	running, ended := []map[string]any{}, []map[string]any{}
	for _, t := range slices.Backward(c.state.tasks) {
		if c.state.Nodes[t.Node] == nil || (!all && !t.belongs(c.who)) {
			continue
		}
		if t.Running() {
			running = append(running, t.entry())
			continue
		}
		e := t.entry()
		e["endtime"], e["status"], e["saved"] = t.Ended.Unix(), t.Exit, "1"
		ended = append(ended, e)
	}
	// PVE sends few of the ended tasks around.
	if room := max(maxBroadcast*len(c.state.Nodes)-len(running), 0); len(ended) > room {
		ended = ended[:room]
	}
	return append(running, ended...), nil
}

// maxBroadcast is how many tasks a node tells the cluster of.
const maxBroadcast = 25

// resources lists what there is in the cluster, as far as the caller may see it.
func (c *call) resources() (any, error) {
	out := []map[string]any{}
	add := func(kind string, list func() []map[string]any) {
		if t := c.str("type"); t == "" || t == kind {
			out = append(out, list()...)
		}
	}
	add("pool", c.poolResources)
	add("vm", c.guestResources)
	add("node", c.nodeResources)
	add("storage", c.storageResources)
	add(map[bool]string{true: "sdn", false: "network"}[c.state.Version == "8.4"], c.networkResources)
	return out, nil
}

func (c *call) poolResources() []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.state.Pools)) {
		if c.state.may(c.who, "/pool/"+name, "Pool.Audit") {
			out = append(out, map[string]any{"id": "/pool/" + name, "pool": name, "type": "pool"})
		}
	}
	return out
}

func (c *call) guestResources() []map[string]any {
	pools, view := c.state.poolsOf(), c.state.view(c.who)
	out := make([]map[string]any, 0, len(c.state.Guests))
	for _, vmid := range slices.Sorted(maps.Keys(c.state.Guests)) {
		if !view.may("/vms/"+strconv.Itoa(vmid), "VM.Audit") {
			continue
		}
		g := c.state.Guests[vmid]
		entry := c.op().resource(g)
		for _, key := range []string{"lock", "tags"} {
			delete(entry, key)
			if v, ok := g.Config[key]; ok {
				entry[key] = v
			}
		}
		if pool, ok := pools[vmid]; ok && c.state.may(c.who, "/pool/"+pool, "Pool.Audit") {
			entry["pool"] = pool
		}
		if ha := c.state.HA[haID(vmid)]; ha != nil {
			entry["hastate"] = ha.wanted()
		}
		out = append(out, entry)
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

// resource is what the cluster knows of a guest: the latest report of its node, which is some seconds old. A guest
// without a report is unknown.
func (o *op) resource(g *Guest) map[string]any {
	id := map[string]any{"id": fmt.Sprintf("qemu/%d", g.VMID), "type": "qemu", "vmid": g.VMID, "node": g.Node}
	now, every := o.s.clock.Now(), o.s.scale(o.s.duration("resources"))
	if o.st.Nodes[g.Node] == nil || o.st.Nodes[g.Node].Offline {
		id["status"] = "unknown"
		return id
	}
	if every > 0 && !g.created.IsZero() && !now.Truncate(every).After(g.created) {
		id["status"] = "unknown"
		return id
	}
	if every == 0 || g.cached == nil || now.Truncate(every).After(g.reportedAt) {
		g.cached, g.reportedAt = o.report(g), now
	}
	maps.Copy(id, g.cached)
	return id
}

func (o *op) report(g *Guest) map[string]any {
	s := o.vmstatus(g, false)
	out := map[string]any{"maxcpu": s["cpus"], "template": boolInt(g.template()), "diskread": 0, "diskwrite": 0}
	for _, key := range []string{"name", "status", "cpu", "mem", "memhost", "maxmem", "disk", "maxdisk", "uptime", "netin", "netout"} {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
	return out
}

func (c *call) nodeResources() []map[string]any {
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

func (c *call) storageResources() []map[string]any {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		if !c.state.may(c.who, "/storage/"+id, "Datastore.Audit") {
			continue
		}
		for _, node := range slices.Sorted(maps.Keys(c.state.Nodes)) {
			if s := c.state.Storages[id]; !s.Disabled && s.storageOn(node) {
				out = append(out, c.op().storageResource(s, c.state.Nodes[node]))
			}
		}
	}
	return out
}

func (o *op) storageResource(s *Storage, n *Node) map[string]any {
	out := map[string]any{
		"id": "storage/" + n.Name + "/" + s.ID, "type": "storage", "storage": s.ID, "node": n.Name, "plugintype": s.Type,
		"content": strings.Join(s.Content, ","), "shared": boolInt(s.Shared), "status": "unknown",
	}
	if !n.Offline {
		out["status"], out["maxdisk"], out["disk"] = "available", s.Total, o.used(s, n.Name)
	}
	return out
}

func (c *call) networkResources() []map[string]any {
	out := []map[string]any{}
	if !c.state.may(c.who, "/sdn/zones/localnetwork", "SDN.Audit") {
		return out
	}
	for _, node := range slices.Sorted(maps.Keys(c.state.Nodes)) {
		if c.state.Version == "8.4" {
			out = append(out, map[string]any{
				"id": "sdn/" + node + "/localnetwork", "type": "sdn", "sdn": "localnetwork", "node": node, "status": "ok",
			})
			continue
		}
		out = append(out, map[string]any{
			"id": "network/" + node + "/zone/localnetwork", "type": "network", "network-type": "zone", "network": "localnetwork",
			"node": node, "status": "ok",
		})
	}
	return out
}
