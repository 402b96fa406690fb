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

// Package ha serves /cluster/ha and simulates the HA manager.
package ha

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// haDigest returns the digest of all resources.
func haDigest(st *state.State) string {
	all := map[string]map[string]string{}
	for sid, h := range st.HA {
		all[sid] = maps.Clone(h.Options)
		if all[sid] == nil {
			all[sid] = map[string]string{}
		}
		all[sid]["state"], all[sid]["comment"] = h.State, h.Comment
	}
	return state.SectionsDigest(all)
}

func showHA(c *engine.Call, sid string) map[string]any {
	h := c.State.HA[sid]
	out := map[string]any{"sid": sid, "type": strings.SplitN(sid, ":", 2)[0], "state": h.State, "digest": haDigest(c.State)}
	if h.Comment != "" {
		out["comment"] = h.Comment
	}
	for key, value := range h.Options {
		out[key] = haValue(c, key, value)
	}
	return out
}

// haValue returns an option of a resource in the type of its parameter.
func haValue(c *engine.Call, key, value string) any {
	if p := c.Facts.Parameters("POST", "/cluster/ha/resources")[key]; p != nil && (p.Type == "integer" || p.Type == "boolean") {
		return schema.Int(value)
	}
	return value
}

func listHA(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, sid := range slices.Sorted(maps.Keys(c.State.HA)) {
		if t := c.Str("type"); t == "" || strings.HasPrefix(sid, t+":") {
			out = append(out, showHA(c, sid))
		}
	}
	return out, nil
}

func getHA(c *engine.Call) (any, error) {
	sid := state.HASID(c.Str("sid"))
	if c.State.HA[sid] != nil {
		return showHA(c, sid), nil
	}
	return nil, apierr.Errorf("no such resource '%s'", sid)
}

// haType rejects a type that is not the resource's, and groups in versions without groups.
func haType(c *engine.Call, sid string) error {
	if t := c.Str("type"); t != "" && !strings.HasPrefix(sid, t+":") {
		return apierr.Errorf("types does not match")
	}
	if c.Has("group") && c.State.Version != "8.4" {
		return apierr.Errorf("invalid parameter 'group': ha groups have been migrated to rules")
	}
	return nil
}

func createHA(c *engine.Call) (any, error) {
	sid := state.HASID(c.Str("sid"))
	if err := haType(c, sid); err != nil {
		return nil, err
	}
	kind, id, _ := strings.Cut(sid, ":")
	switch {
	case kind != "vm" && kind != "ct":
		return nil, apierr.Errorf("unknown section type '%s'", kind)
	case c.State.Guests[schema.Int(id)] == nil:
		return nil, apierr.Errorf("resource '%s' does not exist in cluster", sid)
	case kind == "ct":
		return nil, apierr.Errorf("resource '%s' - guest with ID %s is not a container", sid, id)
	}
	if c.State.HA[sid] != nil {
		return nil, apierr.Errorf("create resource failed: resource ID '%s' already defined", sid)
	}
	wanted := c.Str("state")
	if wanted == "" {
		wanted = "started"
	}
	c.State.HA[sid] = &state.HAResource{State: wanted, Comment: c.Str("comment"), Options: c.Given("sid", "type", "state", "comment")}
	Keep(c.Op())
	return nil, nil //nolint:nilnil // The answer is null.
}

// updateHA changes a resource.
func updateHA(c *engine.Call) (any, error) {
	if err := haType(c, state.HASID(c.Str("sid"))); err != nil {
		return nil, err
	}
	err := changeHA(c)
	if err != nil && c.State.Version != "8.4" && !strings.Contains(err.Error(), "in error state") {
		return nil, apierr.Errorf("update resources config failed: %s", err)
	}
	return nil, err
}

func changeHA(c *engine.Call) error {
	sid := state.HASID(c.Str("sid"))
	if g := c.Str("group"); g != "" && c.State.HAGroups[g] == nil {
		return apierr.Errorf("HA group '%s' does not exist", g)
	}
	h := c.State.HA[sid]
	switch {
	case h != nil && h.Failed && h.State != "ignored" && c.Str("state") != "disabled":
		return apierr.Errorf("service '%s' in error state, must be disabled and fixed first", sid)
	case c.Has("digest") && c.Str("digest") != haDigest(c.State):
		return apierr.Modified()
	case h == nil:
		return apierr.Errorf("no such resource '%s'", sid)
	}
	if err := setHA(c, h); err != nil {
		return err
	}
	Keep(c.Op())
	return nil
}

func setHA(c *engine.Call, h *state.HAResource) error {
	options := maps.Clone(h.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, c.Given("sid", "state", "comment"))
	for _, key := range c.Deleted() {
		if c.Facts.Parameters("POST", "/cluster/ha/resources")[key] == nil || key == "sid" || key == "type" {
			return apierr.Errorf("no such option '%s'", key)
		}
		delete(options, key)
		switch key {
		case "state":
			h.State = "started"
		case "comment":
			h.Comment = ""
		}
	}
	if c.Has("state") {
		h.State = c.Str("state")
		h.Failed = false
	}
	if c.Has("comment") {
		h.Comment = c.Str("comment")
	}
	h.Options = options
	return nil
}

func deleteHA(c *engine.Call) (any, error) {
	sid := state.HASID(c.Str("sid"))
	if c.State.HA[sid] == nil {
		return nil, apierr.Errorf("cannot delete service '%s', not HA managed!", sid)
	}
	delete(c.State.HA, sid)
	if c.Str("purge") != "0" {
		c.State.LeaveRules(sid)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// migrateHA requests HA to move a guest, either live or with a stop in between.
func migrateHA(c *engine.Call) (any, error) {
	sid, target := state.HASID(c.Str("sid")), c.Str("node")
	vmid := schema.Int(strings.TrimPrefix(sid, "vm:"))
	if !c.State.HAManaged(vmid) {
		return nil, apierr.Errorf("resource '%s' is not HA managed", sid)
	}
	out := map[string]any{"sid": sid, "requested-node": target}
	if together := Dependent(c.State, vmid); len(together) > 0 {
		out["comigrated-resources"] = together
	}
	if blocking := Blocking(c.State, vmid, target); len(blocking) > 0 {
		out["blocking-resources"] = blocking
	}
	verb := migrating
	if strings.HasSuffix(c.Path, "/relocate") {
		verb = relocating
	}
	Ask(c.Op(), verb, sid, target)
	return out, nil
}

// haIndex lists the paths of HA.
func haIndex(*engine.Call) (any, error) {
	return []map[string]any{{"id": "status"}, {"id": "resources"}, {"id": "groups"}, {"id": "rules"}}, nil
}
