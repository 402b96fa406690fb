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
	"strconv"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// str, num and flag read the parameters of a call; absent ones are empty, 0 or false.
func (c *call) str(name string) string { return c.Values[name] }

func (c *call) num(name string) int { return atoi(c.Values[name]) }

func (c *call) flag(name string) bool { return c.Values[name] == "1" }

func (c *call) has(name string) bool {
	_, ok := c.Values[name]
	return ok
}

// deleted are the options that a call is to delete.
func (c *call) deleted() []string { return schema.SplitList(c.Values["delete"]) }

func (c *call) vmid() int { return c.num("vmid") }

// guest finds the guest that the call is about on the node that answers.
func (c *call) guest() (*Guest, error) { return c.state.guest(c.node, c.vmid()) }

// guest finds a guest on a node.
func (st *State) guest(node string, vmid int) (*Guest, error) {
	if g := st.Guests[vmid]; g != nil && g.Node == node {
		return g, nil
	}
	return nil, die("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", node, vmid)
}

// process finds a guest for calls that look at its process first and say so differently.
func (st *State) process(node string, vmid int) (*Guest, error) {
	g, err := st.guest(node, vmid)
	if err != nil {
		return nil, die("unable to find configuration file for VM %d on node '%s'", vmid, node)
	}
	return g, nil
}

// rootOnly fails when somebody else sets an option that is for root@pam.
func (c *call) rootOnly(names ...string) error {
	for _, name := range names {
		if c.has(name) && c.str(name) != "0" && c.who != root {
			return paramError(name, "Only root may use this option.")
		}
	}
	return nil
}

// show turns the options of a configuration into what the API returns: integers and booleans as numbers, passwords
// masked.
func (s *engine) show(config map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range config {
		out[key] = s.showValue(key, value)
	}
	return out
}

// mask is what passwords are shown as.
const mask = "**********"

func (s *engine) showValue(key, value string) any {
	if key == "cipassword" {
		return mask
	}
	p := s.option(key)
	if p == nil {
		return value
	}
	if p.Type == "integer" || p.Type == "boolean" {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	if value == "" {
		return " "
	}
	return value
}

func (c *call) getConfig() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	config := g.effective()
	if c.has("snapshot") && c.flag("current") {
		const both = "cannot use 'snapshot' parameter with 'current'"
		return nil, paramErrors(map[string]string{"snapshot": both, "current": both})
	}
	switch {
	case c.has("snapshot"):
		snap := g.Snapshots[c.str("snapshot")]
		if snap == nil {
			return nil, die("snapshot '%s' does not exist", c.str("snapshot"))
		}
		config = snap.show()
	case c.flag("current"):
		config = maps.Clone(g.Config)
	}
	if config["lock"] == "create" {
		config = map[string]string{"lock": "create"}
	}
	out := c.s.show(config)
	out["digest"] = g.digest()
	return out, nil
}

func (c *call) getPending() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{{"key": "digest", "value": g.digest()}}
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		entry := map[string]any{"key": key, "value": c.s.showValue(key, g.Config[key])}
		if v, ok := g.Pending[key]; ok {
			entry["pending"] = c.s.showValue(key, v)
		}
		if force, ok := g.Delete[key]; ok {
			entry["delete"] = map[bool]int{false: 1, true: 2}[force]
		}
		out = append(out, entry)
	}
	for _, key := range slices.Sorted(maps.Keys(g.Pending)) {
		if _, ok := g.Config[key]; !ok {
			out = append(out, map[string]any{"key": key, "pending": c.s.showValue(key, g.Pending[key])})
		}
	}
	return out, nil
}

func (c *call) guestIndex() (any, error) {
	return subdirs("config", "cloudinit", "pending", "status", "unlink", "vncproxy", "termproxy", "migrate", "resize", "move",
		"rrd", "rrddata", "monitor", "agent", "snapshot", "spiceproxy", "sendkey", "firewall", "mtunnel", "remote_migrate"), nil
}

func subdirs(names ...string) []map[string]any {
	out := make([]map[string]any, 0, len(names))
	for _, n := range names {
		out = append(out, map[string]any{"subdir": n})
	}
	return out
}
