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
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func clusterLog(c *engine.Call) (any, error) {
	limit := 50
	if c.Has("max") {
		limit = c.Num("max")
	}
	all := c.State.May(c.Who, "/", "Sys.Syslog")
	out := []map[string]any{}
	for i := len(c.State.Log) - 1; i >= 0 && len(out) < limit; i-- {
		e := c.State.Log[i]
		if !all && e.User != string(c.Who) {
			continue
		}
		out = append(out, map[string]any{
			"uid": strconv.Itoa(e.UID), "id": fmt.Sprintf("%d:%s", e.UID, e.Node), "time": e.Time.Unix(), "node": e.Node,
			"user": e.User, "tag": e.Tag(), "pid": 1000, "pri": e.Priority, "msg": e.Message,
		})
	}
	return out, nil
}

// root lists the paths of the API.
func root(*engine.Call) (any, error) {
	return engine.Subdirs("version", "cluster", "nodes", "storage", "access", "pools"), nil
}

func nextID(c *engine.Call) (any, error) {
	if c.Has("vmid") {
		if c.State.Taken(c.VMID()) != nil {
			return nil, apierr.Param("vmid", "VM %d already exists", c.VMID())
		}
		return c.Str("vmid"), nil
	}
	lower, upper := idRange(c, c.State.Options)
	for id := lower; id < upper; id++ {
		if c.State.Taken(id) == nil {
			return strconv.Itoa(id), nil
		}
	}
	return nil, apierr.Errorf("unable to get any free VMID in range [%d, %d]", lower, upper-1)
}

func clusterStatus(c *engine.Call) (any, error) {
	out := []map[string]any{}
	names := slices.Sorted(maps.Keys(c.State.Nodes))
	if c.State.ClusterName != "" {
		out = append(out, map[string]any{
			"type": "cluster", "id": "cluster", "name": c.State.ClusterName, "nodes": len(names), "version": len(names),
			"quorate": schema.Flag(!c.State.NoQuorum),
		})
	}
	for i, name := range names {
		n := c.State.Nodes[name]
		out = append(out, map[string]any{
			"type": "node", "id": "node/" + name, "name": name, "ip": n.Address, "level": "", "local": schema.Flag(name == c.Local),
			"nodeid": i + 1, "online": schema.Flag(!c.Engine.Gone(n)),
		})
	}
	return out, nil
}

// corosyncNodes returns the nodes as corosync knows them, or none for a standalone node.
func corosyncNodes(c *engine.Call) (any, error) {
	out := []map[string]any{}
	if c.State.ClusterName == "" {
		return out, nil
	}
	for i, name := range slices.Sorted(maps.Keys(c.State.Nodes)) {
		n := c.State.Nodes[name]
		entry := map[string]any{"node": name, "name": name, "nodeid": strconv.Itoa(i + 1), "quorum_votes": "1", "ring0_addr": n.Address}
		for link, address := range n.Links {
			entry["ring"+strconv.Itoa(link+1)+"_addr"] = address
		}
		out = append(out, entry)
	}
	return out, nil
}

// clusterTasks compares the owner of a task without the name of the token. So users see the tasks of their tokens, and a token sees none unless it may see
// all.
func clusterTasks(c *engine.Call) (any, error) {
	all := c.State.May(c.Who, "/", "Sys.Audit")
	running, ended := []map[string]any{}, []map[string]any{}
	for _, t := range slices.Backward(c.State.Tasks) {
		if c.State.Nodes[t.Node] == nil || (!all && !t.BelongsInCluster(c.Who)) {
			continue
		}
		if t.Running() {
			running = append(running, t.Entry())
			continue
		}
		e := t.Entry()
		e["endtime"], e["status"], e["saved"] = t.Ended.Unix(), t.Exit, "1"
		ended = append(ended, e)
	}
	// PVE distributes only few of the ended tasks.
	if room := max(maxBroadcast*len(c.State.Nodes)-len(running), 0); len(ended) > room {
		ended = ended[:room]
	}
	return append(running, ended...), nil
}

// maxBroadcast is the number of tasks that a node distributes to the cluster.
const maxBroadcast = 25
