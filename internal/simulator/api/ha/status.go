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

package ha

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// old is the age of a daemon's status at which the daemon may be dead.
const old = 30 * time.Second

func haStatus(c *engine.Call) (any, error) {
	Keep(c.Op())
	quorum := map[string]any{"id": "quorum", "type": "quorum", "node": c.Local, "status": "OK", "quorate": schema.Flag(!c.State.NoQuorum)}
	if c.State.NoQuorum {
		quorum["status"] = fmt.Sprintf("No quorum on node '%s'!", c.Local)
	}
	out := append([]map[string]any{quorum}, managerStatus(c)...)
	m := c.State.HAManager
	if m.Master != "" {
		for _, name := range slices.Sorted(maps.Keys(m.Nodes)) {
			out = append(out, nodeStatus(c, name))
		}
	}
	for _, sid := range slices.Sorted(maps.Keys(m.Services)) {
		out = append(out, serviceStatus(c.State, sid))
	}
	for _, sid := range slices.Sorted(maps.Keys(c.State.HA)) {
		if m.Services[sid] == nil {
			out = append(out, serviceStatus(c.State, sid))
		}
	}
	return out, nil
}

// age returns whether a status that was written at a time is from a live daemon. With instant tasks, the daemons are always live.
func age(c *engine.Call, written time.Time) string {
	if !c.Engine.Instant() && c.Now().Sub(written) > c.Engine.Scale(old) {
		return "old timestamp - dead?"
	}
	return "active"
}

// managerStatus returns the status of the master and of its watchdog.
func managerStatus(c *engine.Call) []map[string]any {
	m, out, status, node := c.State.HAManager, []map[string]any{}, "", c.Local
	if m.Master != "" {
		node, status = m.Master, age(c, m.Seen)
		if m.Released {
			status = "old timestamp - dead?"
		}
		shown := status
		if status != "active" && !c.State.NoQuorum && len(c.State.HA) == 0 {
			shown = "idle"
		}
		out = append(out, map[string]any{
			"id": "master", "type": "master", "node": m.Master, "timestamp": m.Seen.Unix(), "status": m.Master + " (" + shown + ", " + m.Seen.Format(time.ANSIC) + ")",
		})
	}
	if c.State.Version == "8.4" {
		return out
	}
	armed, watchdog := "standby", "CRM watchdog standby"
	if status == "active" {
		armed, watchdog = "armed", "CRM watchdog active"
	}
	return append(out, map[string]any{
		"id": "fencing", "type": "fencing", "node": node, "armed-state": armed, "status": armed + " (" + watchdog + ")",
	})
}

// nodeStatus returns the status of a node's daemon.
func nodeStatus(c *engine.Call, name string) map[string]any {
	m := c.State.HAManager
	h := *m.Nodes[name]
	h.Seen = written(c, name)
	status, watchdog := age(c, h.Seen), "watchdog standby"
	if c.Engine.Gone(c.State.Nodes[name]) && c.Engine.Instant() {
		status = "old timestamp - dead?"
	}
	switch {
	case status != "active":
	case h.Active:
		watchdog = "watchdog active"
	case active(m, name) > 0:
		status = "wait_for_agent_lock"
	default:
		status = "idle"
	}
	text := name + " (" + status + ", " + watchdog + ", " + h.Seen.Format(time.ANSIC) + ")"
	if c.State.Version == "8.4" {
		text = name + " (" + status + ", " + h.Seen.Format(time.ANSIC) + ")"
	}
	return map[string]any{"id": "lrm:" + name, "type": "lrm", "node": name, "timestamp": h.Seen.Unix(), "status": text}
}

// written returns when a node's daemon last wrote its status. Idle daemons write it too, unless there is no quorum.
func written(c *engine.Call, name string) time.Time {
	h, n, out := c.State.HAManager.Nodes[name], c.State.Nodes[name], c.Now()
	switch {
	case n == nil, h.Active && (n.Offline || c.State.NoQuorum):
		return h.Seen
	case !awake(c.Engine, n):
		out = n.Wrote
	}
	if c.State.NoQuorum && c.State.QuorumLost.Before(out) {
		return c.State.QuorumLost
	}
	return out
}

// serviceStatus returns the status of a resource.
func serviceStatus(st *state.State, sid string) map[string]any {
	s, h := st.HAManager.Services[sid], st.HA[sid]
	out := map[string]any{"id": "service:" + sid, "sid": sid, "type": "service", "node": nodeOf(st, sid)}
	if s != nil {
		out["node"], out["crm_state"] = s.Node, s.State
	}
	verbose := verboseState(s, h)
	out["state"], out["status"] = verbose, fmt.Sprintf("%s (%s, %s)", sid, out["node"], verbose)
	if h == nil {
		return out
	}
	out["request_state"], out["max_restart"], out["max_relocate"] = h.Wanted(), atMost(h, "max_restart"), atMost(h, "max_relocate")
	if st.Version != "8.4" {
		out["failback"] = atMost(h, "failback")
	} else if g := h.Options["group"]; g != "" {
		out["group"] = g
	}
	if h.Comment != "" {
		out["comment"] = h.Comment
	}
	return out
}

// verboseState returns the state of a resource as text for users (PVE::HA::Tools::get_verbose_service_state).
func verboseState(s *state.HAService, h *state.HAResource) string {
	switch {
	case h == nil:
		return "deleting"
	case h.State == ignored:
		return ignored
	case s == nil:
		return "queued"
	}
	wanted := h.Wanted()
	switch {
	case s.State == stopped && wanted == started, s.State == started && !s.Running:
		return "starting"
	case s.State == stopped && wanted == disabled:
		return disabled
	case s.State == started && (wanted == stopped || wanted == disabled):
		return "stopping"
	case s.State == failed && wanted == disabled:
		return "clearing error flag"
	}
	return s.State
}

// fullStatus returns the status data of the manager and the nodes.
func fullStatus(c *engine.Call) (any, error) {
	m := c.State.HAManager
	nodes, lrm, services := map[string]any{}, map[string]any{}, map[string]any{}
	quorate := any("1")
	if c.State.NoQuorum {
		quorate = nil
	}
	for name, h := range m.Nodes {
		nodes[name] = h.State
		mode := map[string]any{"mode": "active", "state": "wait_for_agent_lock", "timestamp": h.Seen.Unix(), "results": results(h)}
		if h.Active {
			mode["state"] = "active"
		}
		lrm[name] = mode
	}
	for sid, s := range m.Services {
		services[sid] = service(s)
	}
	return map[string]any{
		"manager_status": map[string]any{
			"master_node": m.Master, "timestamp": m.Seen.Unix(), "node_status": nodes, "service_status": services,
		},
		"quorum": map[string]any{"node": c.Local, "quorate": quorate}, "lrm_status": lrm,
	}, nil
}

func service(s *state.HAService) map[string]any {
	out := map[string]any{"state": s.State, "node": s.Node, "uid": fmt.Sprintf("%022d", s.Order)}
	if s.Running {
		out["running"] = 1
	}
	if s.Target != "" {
		out["target"] = s.Target
	}
	return out
}

// results returns the recorded results of a node.
func results(h *state.HANode) map[string]any {
	out := map[string]any{}
	for order, r := range h.Results {
		out[fmt.Sprintf("%022d", order)] = map[string]any{"sid": r.SID, "state": r.State, "exit_code": r.Exit}
	}
	return out
}
