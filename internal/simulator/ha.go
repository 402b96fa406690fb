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

// haRoutes are the methods of HA.
func haRoutes() map[string]handler {
	const resource, group, rule = "/cluster/ha/resources", "/cluster/ha/groups", "/cluster/ha/rules"
	return map[string]handler{
		"GET /cluster/ha":                      indexOf("status", "resources", "groups", "rules"),
		"GET /cluster/ha/status":               indexOf("current", "manager_status"),
		"GET /cluster/ha/status/current":       (*call).haStatus,
		"GET " + resource:                      (*call).listHA,
		"POST " + resource:                     (*call).createHA,
		"GET " + resource + "/{sid}":           (*call).getHA,
		"PUT " + resource + "/{sid}":           (*call).updateHA,
		"DELETE " + resource + "/{sid}":        (*call).deleteHA,
		"POST " + resource + "/{sid}/migrate":  (*call).migrateHA,
		"POST " + resource + "/{sid}/relocate": (*call).migrateHA,
		"GET " + group:                         haGroup("index groups", (*call).listHAGroups),
		"POST " + group:                        haGroup("create group", (*call).createHAGroup),
		"GET " + group + "/{group}":            haGroup("read group", (*call).getHAGroup),
		"PUT " + group + "/{group}":            haGroup("update group", (*call).updateHAGroup),
		"DELETE " + group + "/{group}":         haGroup("delete group", (*call).deleteHAGroup),
		"GET " + rule:                          (*call).listHARules,
		"POST " + rule:                         (*call).createHARule,
		"GET " + rule + "/{rule}":              (*call).getHARule,
		"PUT " + rule + "/{rule}":              (*call).updateHARule,
		"DELETE " + rule + "/{rule}":           (*call).deleteHARule,
	}
}

// haSID is the resource that a call names; a bare VMID is a VM's.
func haSID(sid string) string {
	if !strings.Contains(sid, ":") {
		return "vm:" + sid
	}
	return sid
}

// haManaged reports whether HA acts for a guest: it lets alone what it is to ignore.
func (st *State) haManaged(vmid int) bool {
	h := st.HA[haID(vmid)]
	return h != nil && h.State != "ignored"
}

// haDigest is the digest of all resources.
func (st *State) haDigest() string {
	all := map[string]map[string]string{}
	for sid, h := range st.HA {
		all[sid] = maps.Clone(h.Options)
		if all[sid] == nil {
			all[sid] = map[string]string{}
		}
		all[sid]["state"], all[sid]["comment"] = h.State, h.Comment
	}
	return digestOf(all)
}

func (c *call) showHA(sid string) map[string]any {
	h := c.state.HA[sid]
	out := map[string]any{"sid": sid, "type": strings.SplitN(sid, ":", 2)[0], "state": h.State, "digest": c.state.haDigest()}
	if h.Comment != "" {
		out["comment"] = h.Comment
	}
	for key, value := range h.Options {
		out[key] = c.haValue(key, value)
	}
	return out
}

// haValue is an option of a resource in the type of its parameter.
func (c *call) haValue(key, value string) any {
	if p := c.facts.Parameters("POST", "/cluster/ha/resources")[key]; p != nil && (p.Type == "integer" || p.Type == "boolean") {
		return atoi(value)
	}
	return value
}

func (c *call) listHA() (any, error) {
	out := []map[string]any{}
	for _, sid := range slices.Sorted(maps.Keys(c.state.HA)) {
		if t := c.str("type"); t == "" || strings.HasPrefix(sid, t+":") {
			out = append(out, c.showHA(sid))
		}
	}
	return out, nil
}

func (c *call) getHA() (any, error) {
	sid := haSID(c.str("sid"))
	if c.state.HA[sid] != nil {
		return c.showHA(sid), nil
	}
	return nil, die("no such resource '%s'", sid)
}

// haType refuses a type that is not the resource's, and groups where there are none any more.
func (c *call) haType(sid string) error {
	if t := c.str("type"); t != "" && !strings.HasPrefix(sid, t+":") {
		return die("types does not match")
	}
	if c.has("group") && c.state.Version != "8.4" {
		return die("invalid parameter 'group': ha groups have been migrated to rules")
	}
	return nil
}

func (c *call) createHA() (any, error) {
	sid := haSID(c.str("sid"))
	if err := c.haType(sid); err != nil {
		return nil, err
	}
	_, id, _ := strings.Cut(sid, ":")
	if c.state.Guests[atoi(id)] == nil {
		return nil, die("resource '%s' does not exist in cluster", sid)
	}
	if c.state.HA[sid] != nil {
		return nil, die("create resource failed: resource ID '%s' already defined", sid)
	}
	wanted := c.str("state")
	if wanted == "" {
		wanted = "started"
	}
	c.state.HA[sid] = &HAResource{State: wanted, Comment: c.str("comment"), Options: c.given("sid", "type", "state", "comment")}
	c.op().requestedHA(atoi(id))
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateHA() (any, error) {
	sid := haSID(c.str("sid"))
	if err := c.haType(sid); err != nil {
		return nil, err
	}
	if g := c.str("group"); g != "" && c.state.HAGroups[g] == nil {
		return nil, die("HA group '%s' does not exist", g)
	}
	h := c.state.HA[sid]
	switch {
	case h != nil && h.Failed && h.State != "ignored" && c.str("state") != "disabled":
		return nil, die("service '%s' in error state, must be disabled and fixed first", sid)
	case c.has("digest") && c.str("digest") != c.state.haDigest():
		return nil, errModified()
	case h == nil:
		return nil, die("no such resource '%s'", sid)
	}
	if err := c.setHA(h); err != nil {
		return nil, err
	}
	c.op().requestedHA(atoi(strings.TrimPrefix(sid, "vm:")))
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) setHA(h *HAResource) error {
	options := maps.Clone(h.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, c.given("sid", "state", "comment"))
	for _, key := range c.deleted() {
		if c.facts.Parameters("POST", "/cluster/ha/resources")[key] == nil || key == "sid" || key == "type" {
			return die("no such option '%s'", key)
		}
		delete(options, key)
		switch key {
		case "state":
			h.State = "started"
		case "comment":
			h.Comment = ""
		}
	}
	if c.has("state") {
		h.State = c.str("state")
		h.Failed = false
	}
	if c.has("comment") {
		h.Comment = c.str("comment")
	}
	h.Options = options
	return nil
}

func (c *call) deleteHA() (any, error) {
	sid := haSID(c.str("sid"))
	if c.state.HA[sid] == nil {
		return nil, die("cannot delete service '%s', not HA managed!", sid)
	}
	delete(c.state.HA, sid)
	if c.str("purge") != "0" {
		c.state.leaveRules(sid)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// migrateHA asks HA to move a guest: while it runs, or with a stop in between.
func (c *call) migrateHA() (any, error) {
	sid, target := haSID(c.str("sid")), c.str("node")
	vmid := atoi(strings.TrimPrefix(sid, "vm:"))
	if !c.state.haManaged(vmid) {
		return nil, die("resource '%s' is not HA managed", sid)
	}
	c.op().moveHA(vmid, target)
	return map[string]any{"sid": sid, "requested-node": target}, nil
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
		h := c.state.HA[sid]
		node, wanted, state := "", h.wanted(), h.shown()
		if g := c.state.Guests[atoi(strings.TrimPrefix(sid, "vm:"))]; g != nil {
			node = g.Node
		}
		out = append(out, map[string]any{
			"id": "service:" + sid, "sid": sid, "type": "service", "node": node, "state": state, "request_state": wanted,
			"crm_state": state, "status": sid + " (" + node + ", " + state + ")",
		})
	}
	return out, nil
}
