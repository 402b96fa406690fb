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
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

func mappingRoutes() map[string]engine.Handler {
	out := map[string]engine.Handler{"GET /cluster/mapping": engine.IndexOf("dir", "pci", "usb")}
	for kind, what := range map[string]string{"pci": "hardware", "usb": "hardware", "dir": "directory"} {
		m := &mapping{kind: kind, SectionFile: engine.SectionFile{
			Create: "create " + what + " mapping failed: ", Update: "update " + what + " mapping failed: ", Fixed: []string{"map"},
			Taken: kind + " ID '%s' already defined", Missing: kind + " ID '%s' does not exist",
		}}
		path := "/cluster/mapping/" + kind
		maps.Copy(out, map[string]engine.Handler{
			"GET " + path:              m.list,
			"POST " + path:             m.create,
			"GET " + path + "/{id}":    m.get,
			"PUT " + path + "/{id}":    m.update,
			"DELETE " + path + "/{id}": m.remove,
		})
	}
	return out
}

// mapping serves the resource mappings of one kind.
type mapping struct {
	engine.SectionFile
	kind string
}

func (m *mapping) list(c *engine.Call) (any, error) {
	in, out := c.State.Mappings[m.kind], []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(in)) {
		if c.State.CheckAny(c.Who, "/mapping/"+m.kind+"/"+id, "Mapping.Modify", "Mapping.Use", "Mapping.Audit") != nil {
			continue
		}
		entry := c.ShowSection(in, id)
		entry["id"] = id
		if node := c.Str("check-node"); node != "" {
			entry["checks"] = m.check(c, in[id], node)
		}
		out = append(out, entry)
	}
	return out, nil
}

// check reports whether a mapping has a device on a node.
func (m *mapping) check(c *engine.Call, options map[string]string, node string) []map[string]any {
	if len(m.nodes(c, options)[node]) > 0 {
		return []map[string]any{}
	}
	return []map[string]any{{"severity": "warning", "message": "No mapping for node " + node + "."}}
}

// nodes returns the mapped devices by node.
func (m *mapping) nodes(c *engine.Call, options map[string]string) map[string][]map[string]string {
	out := map[string][]map[string]string{}
	format := c.Facts.Parameters("POST", "/cluster/mapping/"+m.kind)["map"].Items.Format
	for _, text := range engine.Listed(options["map"]) {
		if device, err := c.Facts.ParseProperties(format, text); err == nil {
			out[device["node"]] = append(out[device["node"]], device)
		}
	}
	return out
}

func (m *mapping) get(c *engine.Call) (any, error) {
	in, id := c.State.Mappings[m.kind], c.Str("id")
	if in[id] == nil {
		return nil, apierr.Errorf("mapping '%s' not found", id)
	}
	return c.ShowSection(in, id), nil
}

// valid rejects a directory that is given twice on a node.
func (m *mapping) valid(c *engine.Call, options map[string]string) error {
	if m.kind != "dir" {
		return nil
	}
	for node, list := range m.nodes(c, options) {
		if len(list) > 1 {
			return apierr.Errorf("Node '%s' is specified %d times.", node, len(list))
		}
	}
	return nil
}

func (m *mapping) create(c *engine.Call) (any, error) {
	options := c.Section("id")
	if err := m.valid(c, options); err != nil {
		return nil, err
	}
	return nil, m.Add(c.State.Mappings[m.kind], c.Str("id"), options)
}

func (m *mapping) update(c *engine.Call) (any, error) {
	options := c.Section("id")
	if err := m.valid(c, options); err != nil {
		return nil, err
	}
	return nil, m.Change(c, c.State.Mappings[m.kind], c.Str("id"), options)
}

func (m *mapping) remove(c *engine.Call) (any, error) {
	delete(c.State.Mappings[m.kind], c.Str("id"))
	return nil, nil //nolint:nilnil // The answer is null.
}
