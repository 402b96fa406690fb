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
	"maps"
	"slices"
	"strings"
)

// haSID is the resource that a call names; a bare VMID is a VM's.
func haSID(sid string) string {
	if !strings.Contains(sid, ":") {
		return "vm:" + sid
	}
	return sid
}

func (h *HAResource) show(sid string) map[string]any {
	return map[string]any{"sid": sid, "type": strings.SplitN(sid, ":", 2)[0], "state": h.State, "digest": hash([]byte(sid + h.State))}
}

func (c *call) listHA() (any, error) {
	out := []map[string]any{}
	for _, sid := range slices.Sorted(maps.Keys(c.state.HA)) {
		out = append(out, c.state.HA[sid].show(sid))
	}
	return out, nil
}

func (c *call) getHA() (any, error) {
	sid := haSID(c.str("sid"))
	if h := c.state.HA[sid]; h != nil {
		return h.show(sid), nil
	}
	return nil, die("no such resource '%s'", sid)
}

func (c *call) createHA() (any, error) {
	sid := haSID(c.str("sid"))
	if c.state.HA[sid] != nil {
		return nil, die("create resource failed: resource ID '%s' already defined", sid)
	}
	_, id, _ := strings.Cut(sid, ":")
	if c.state.Guests[atoi(id)] == nil {
		return nil, die("resource '%s' does not exist in cluster", sid)
	}
	state := c.str("state")
	if state == "" {
		state = "started"
	}
	c.state.HA[sid] = &HAResource{State: state, Comment: c.str("comment")}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateHA() (any, error) {
	h := c.state.HA[haSID(c.str("sid"))]
	if h == nil {
		return nil, die("no such resource '%s'", haSID(c.str("sid")))
	}
	if c.has("state") {
		h.State = c.str("state")
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteHA() (any, error) {
	sid := haSID(c.str("sid"))
	if c.state.HA[sid] == nil {
		return nil, die("cannot delete service '%s', not HA managed!", sid)
	}
	delete(c.state.HA, sid)
	return nil, nil //nolint:nilnil // The answer is null.
}

// haStatus tells of quorum, of fencing and of what HA watches.
func (c *call) haStatus() (any, error) {
	out := []map[string]any{{
		"id": "quorum", "type": "quorum", "node": c.local, "status": "OK", "quorate": boolInt(!c.state.NoQuorum),
	}}
	if c.state.Version != "8.4" {
		out = append(out, map[string]any{
			"id": "fencing", "type": "fencing", "node": c.local, "armed-state": "standby", "status": "standby (CRM watchdog standby)",
		})
	}
	for _, sid := range slices.Sorted(maps.Keys(c.state.HA)) {
		node, state := "", c.state.HA[sid].State
		if g := c.state.Guests[atoi(strings.TrimPrefix(sid, "vm:"))]; g != nil {
			node = g.Node
		}
		out = append(out, map[string]any{
			"id": "service:" + sid, "sid": sid, "type": "service", "node": node, "state": state, "request_state": state,
			"crm_state": state, "status": sid + " (" + node + ", " + state + ")",
		})
	}
	return out, nil
}

// haGroups became rules in PVE 9.
func (c *call) haGroups() (any, error) {
	if c.state.Version == "8.4" {
		return []any{}, nil
	}
	return nil, die("cannot index groups: ha groups have been migrated to rules")
}
