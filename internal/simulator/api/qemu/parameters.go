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

package qemu

import (
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
)

// GetConfig returns the configuration of a VM.
func GetConfig(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	config := g.Effective()
	if c.Has("snapshot") && c.Flag("current") {
		const both = "cannot use 'snapshot' parameter with 'current'"
		return nil, apierr.Params(map[string]string{"snapshot": both, "current": both})
	}
	switch {
	case c.Has("snapshot"):
		snap := g.Snapshots[c.Str("snapshot")]
		if snap == nil {
			return nil, apierr.Errorf("snapshot '%s' does not exist", c.Str("snapshot"))
		}
		config = guest.Show(snap)
	case c.Flag("current"):
		config = maps.Clone(g.Config)
	}
	if config["lock"] == "create" {
		config = map[string]string{"lock": "create"}
	}
	out := c.Engine.Show(config)
	out["digest"] = g.Digest()
	return out, nil
}

func getPending(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{{"key": "digest", "value": g.Digest()}}
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		entry := map[string]any{"key": key, "value": c.Engine.ShowValue(key, g.Config[key])}
		if v, ok := g.Pending[key]; ok {
			entry["pending"] = c.Engine.ShowValue(key, v)
		}
		if force, ok := g.Delete[key]; ok {
			entry["delete"] = map[bool]int{false: 1, true: 2}[force]
		}
		out = append(out, entry)
	}
	for _, key := range slices.Sorted(maps.Keys(g.Pending)) {
		if _, ok := g.Config[key]; !ok {
			out = append(out, map[string]any{"key": key, "pending": c.Engine.ShowValue(key, g.Pending[key])})
		}
	}
	return out, nil
}

func guestIndex(*engine.Call) (any, error) {
	return engine.Subdirs("config", "cloudinit", "pending", "status", "unlink", "vncproxy", "termproxy", "migrate", "resize", "move",
		"rrd", "rrddata", "monitor", "agent", "snapshot", "spiceproxy", "sendkey", "firewall", "mtunnel", "remote_migrate"), nil
}
