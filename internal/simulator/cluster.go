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
