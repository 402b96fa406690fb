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

import "github.com/vitistack/provider-proxmox/internal/simulator/schema"

// needed are the options without which a storage of a type cannot be defined.
func needed(kind string) []string {
	return map[string][]string{
		"dir": {"path"}, "btrfs": {"path"}, "nfs": {"server", "export"}, "cifs": {"server", "share"}, "lvm": {"vgname"},
		"lvmthin": {"vgname", "thinpool"}, "zfspool": {"pool"}, "pbs": {"server", "datastore"},
	}[kind]
}

// defaultSize is the size of storages that are defined while the simulator runs.
const defaultSize = 100 << 30

func (c *call) createStorage() (any, error) {
	id, kind := c.str("storage"), c.str("type")
	if c.state.Storages[id] != nil {
		return nil, die("create storage failed: storage ID '%s' already defined", id)
	}
	for _, name := range needed(kind) {
		if !c.has(name) {
			return nil, die("missing value for required option '%s'", name)
		}
	}
	s := &Storage{ID: id, Type: kind, Path: c.str("path"), Content: []string{"images"}, Total: defaultSize}
	switch kind {
	case "nfs", "cifs", "rbd", "cephfs", "pbs", "iscsi":
		s.Shared = true
	}
	c.state.Storages[id] = s
	c.setStorage(s)
	return map[string]any{"storage": id, "type": kind}, nil
}

func (c *call) updateStorage() (any, error) {
	s := c.state.Storages[c.str("storage")]
	if s == nil {
		return nil, die("update storage failed: storage '%s' does not exist", c.str("storage"))
	}
	c.setStorage(s)
	return map[string]any{"storage": s.ID, "type": s.Type}, nil
}

func (c *call) setStorage(s *Storage) {
	if c.has("content") {
		s.Content = schema.SplitList(c.str("content"))
	}
	if c.has("nodes") {
		s.Nodes = schema.SplitList(c.str("nodes"))
	}
	if c.has("disable") {
		s.Disabled = c.flag("disable")
	}
	if c.has("shared") {
		s.Shared = c.flag("shared")
	}
	for _, name := range schema.SplitList(c.str("delete")) {
		switch name {
		case "nodes":
			s.Nodes = nil
		case "disable":
			s.Disabled = false
		case "shared":
			s.Shared = false
		}
	}
}

func (c *call) deleteStorage() (any, error) {
	id := c.str("storage")
	if c.state.Storages[id] == nil {
		return nil, die("delete storage failed: storage '%s' does not exist", id)
	}
	delete(c.state.Storages, id)
	for _, p := range c.state.Pools {
		delete(p.Storages, id)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}
