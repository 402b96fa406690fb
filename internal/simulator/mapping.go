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
)

func mappingRoutes() map[string]handler {
	out := map[string]handler{"GET /cluster/mapping": indexOf("dir", "pci", "usb")}
	for kind, what := range map[string]string{"pci": "hardware", "usb": "hardware", "dir": "directory"} {
		m := &mapping{kind: kind, sectionFile: sectionFile{
			create: "create " + what + " mapping failed: ", update: "update " + what + " mapping failed: ", fixed: []string{"map"},
			taken: kind + " ID '%s' already defined", missing: kind + " ID '%s' does not exist",
		}}
		path := "/cluster/mapping/" + kind
		maps.Copy(out, map[string]handler{
			"GET " + path:              m.list,
			"POST " + path:             m.create,
			"GET " + path + "/{id}":    m.get,
			"PUT " + path + "/{id}":    m.update,
			"DELETE " + path + "/{id}": m.remove,
		})
	}
	return out
}

// mapping serves the mappings of one kind.
type mapping struct {
	sectionFile
	kind string
}

func (m *mapping) list(c *call) (any, error) {
	in, out := c.state.Mappings[m.kind], []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(in)) {
		if c.state.checkAny(c.who, "/mapping/"+m.kind+"/"+id, "Mapping.Modify", "Mapping.Use", "Mapping.Audit") != nil {
			continue
		}
		entry := c.showSection(in, id)
		entry["id"] = id
		if node := c.str("check-node"); node != "" {
			entry["checks"] = m.check(c, in[id], node)
		}
		out = append(out, entry)
	}
	return out, nil
}

// check says whether a mapping has a device on a node.
func (m *mapping) check(c *call, options map[string]string, node string) []map[string]any {
	if len(m.nodes(c, options)[node]) > 0 {
		return []map[string]any{}
	}
	return []map[string]any{{"severity": "warning", "message": "No mapping for node " + node + "."}}
}

// nodes are the mapped devices by node.
func (m *mapping) nodes(c *call, options map[string]string) map[string][]map[string]string {
	out := map[string][]map[string]string{}
	format := c.facts.Parameters("POST", "/cluster/mapping/"+m.kind)["map"].Items.Format
	for _, text := range listed(options["map"]) {
		if device, err := c.facts.ParseProperties(format, text); err == nil {
			out[device["node"]] = append(out[device["node"]], device)
		}
	}
	return out
}

func (m *mapping) get(c *call) (any, error) {
	in, id := c.state.Mappings[m.kind], c.str("id")
	if in[id] == nil {
		return nil, die("mapping '%s' not found", id)
	}
	return c.showSection(in, id), nil
}

// valid refuses a directory that is given twice on a node.
func (m *mapping) valid(c *call, options map[string]string) error {
	if m.kind != "dir" {
		return nil
	}
	for node, list := range m.nodes(c, options) {
		if len(list) > 1 {
			return die("Node '%s' is specified %d times.", node, len(list))
		}
	}
	return nil
}

func (m *mapping) create(c *call) (any, error) {
	options := c.section("id")
	if err := m.valid(c, options); err != nil {
		return nil, err
	}
	return nil, m.add(c.state.Mappings[m.kind], c.str("id"), options)
}

func (m *mapping) update(c *call) (any, error) {
	options := c.section("id")
	if err := m.valid(c, options); err != nil {
		return nil, err
	}
	return nil, m.change(c, c.state.Mappings[m.kind], c.str("id"), options)
}

func (m *mapping) remove(c *call) (any, error) {
	delete(c.state.Mappings[m.kind], c.str("id"))
	return nil, nil //nolint:nilnil // The answer is null.
}
