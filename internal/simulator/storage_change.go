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

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// needed are the options without which a storage of a type cannot be defined.
func needed(kind string) []string {
	return map[string][]string{
		"dir": {"path"}, "btrfs": {"path"}, "nfs": {"server", "export"}, "cifs": {"server", "share"}, "lvm": {"vgname"},
		"lvmthin": {"vgname", "thinpool"}, "zfspool": {"pool"}, "pbs": {"server", "datastore"},
	}[kind]
}

// defaultSize is the size of storages that are defined while the simulator runs.
const defaultSize = 100 << 30

// defaultContent is what a storage holds of whose content a definition says nothing.
func defaultContent(kind string) []string {
	switch kind {
	case "lvmthin", "zfspool", "btrfs":
		return []string{"images", "rootdir"}
	case "pbs", "cephfs":
		return []string{"backup"}
	}
	return []string{"images"}
}

// onNetwork reports whether all nodes see the same storage by its type.
func onNetwork(kind string) bool {
	return slices.Contains([]string{"nfs", "cifs", "rbd", "cephfs", "pbs", "iscsi", "glusterfs", "iscsidirect", "zfs"}, kind)
}

func (c *call) createStorage() (any, error) {
	id, kind := c.str("storage"), c.str("type")
	for _, name := range needed(kind) {
		if !c.has(name) {
			return nil, die("missing value for required option '%s'", name)
		}
	}
	if c.state.Storages[id] != nil {
		return nil, die("create storage failed: storage ID '%s' already defined", id)
	}
	s := &Storage{
		ID: id, Type: kind, Path: c.str("path"), Content: defaultContent(kind), Total: defaultSize, Shared: onNetwork(kind), Options: map[string]string{},
	}
	if s.Path == "" && slices.Contains([]string{"nfs", "cifs", "cephfs"}, kind) {
		s.Path = "/mnt/pve/" + id
	}
	c.state.Storages[id] = s
	c.setStorage(s)
	return map[string]any{"storage": id, "type": kind}, nil
}

func (c *call) updateStorage() (any, error) {
	const failed = "update storage failed: "
	s := c.state.Storages[c.str("storage")]
	switch {
	case c.has("digest") && c.str("digest") != c.state.storageDigest():
		return nil, die("%s%s", failed, errModified())
	case s == nil:
		return nil, die(failed+"storage '%s' does not exist", c.str("storage"))
	}
	for _, key := range c.deleted() {
		switch {
		case slices.Contains(needed(s.Type), key):
			return nil, die(failed+"unable to delete required option '%s'", key)
		case !c.knows(key):
			return nil, die(failed+"no such option '%s'", key)
		case c.has(key):
			return nil, die(failed+"cannot set and delete property '%s' at the same time!", key)
		}
	}
	c.setStorage(s)
	return map[string]any{"storage": s.ID, "type": s.Type}, nil
}

// setStorage takes over what a call says of a storage, secrets apart.
func (c *call) setStorage(s *Storage) {
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	maps.Copy(s.Options, c.given("storage", "type", "path", "content", "nodes", "disable", "shared", "password", "keyring", "encryption-key",
		"master-pubkey"))
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
	for _, name := range c.deleted() {
		delete(s.Options, name)
		switch name {
		case "content":
			s.Content = defaultContent(s.Type)
		case "nodes":
			s.Nodes = nil
		case "disable":
			s.Disabled = false
		case "shared":
			s.Shared = onNetwork(s.Type)
		}
	}
}

func (c *call) deleteStorage() (any, error) {
	id := c.str("storage")
	if c.state.Storages[id] == nil {
		return nil, die("delete storage failed: storage '%s' does not exist", id)
	}
	delete(c.state.Storages, id)
	c.state.ACL = slices.DeleteFunc(c.state.ACL, func(g Grant) bool { return g.Path == "/storage/"+id })
	for _, p := range c.state.Pools {
		delete(p.Storages, id)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}
