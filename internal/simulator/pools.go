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
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func (c *call) listPools() (any, error) {
	if id := c.str("poolid"); id != "" {
		p, err := c.pool(id)
		if err != nil {
			return nil, err
		}
		entry := c.showPool(p)
		entry["poolid"] = id
		return []map[string]any{entry}, nil
	}
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Pools)) {
		if !c.state.may(c.who, "/pool/"+id, "Pool.Audit") {
			continue
		}
		entry := map[string]any{"poolid": id}
		if comment := c.state.Pools[id].Comment; comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	return out, nil
}

func (c *call) pool(id string) (*Pool, error) {
	if p := c.state.Pools[id]; p != nil {
		return p, nil
	}
	return nil, die("pool '%s' does not exist", id)
}

func (c *call) getPool() (any, error) {
	p, err := c.pool(c.str("poolid"))
	if err != nil {
		return nil, err
	}
	out := c.showPool(p)
	out["poolid"] = c.str("poolid")
	return out, nil
}

func (c *call) showPool(p *Pool) map[string]any {
	members, held := []any{}, c.state.held()
	for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
		if g := c.state.Guests[vmid]; g != nil && (!c.has("type") || c.str("type") == "qemu") {
			members = append(members, json.RawMessage(c.op().resource(nil, g)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Storages)) {
		if s := c.state.Storages[id]; s != nil && (!c.has("type") || c.str("type") == "storage") {
			members = append(members, storageResource(s, c.state.Nodes[s.near(c.local)], held))
		}
	}
	out := map[string]any{"members": members}
	if p.Comment != "" {
		out["comment"] = p.Comment
	}
	return out
}

// near is the node of which a pool tells the storage: the one that was asked, if it has the storage.
func (s *Storage) near(node string) string {
	if s.storageOn(node) || len(s.Nodes) == 0 {
		return node
	}
	return slices.Min(s.Nodes)
}

func (c *call) createPool() (any, error) {
	id := c.str("poolid")
	if c.state.Pools[id] != nil {
		return nil, die("create pool failed: pool '%s' already exists", id)
	}
	if i := strings.LastIndex(id, "/"); i >= 0 && c.state.Pools[id[:i]] == nil {
		return nil, die("create pool failed: parent '%s' of pool '%s' does not exist", id[:i], id)
	}
	if leaf := id[strings.LastIndex(id, "/")+1:]; leaf == "" || !strings.Contains(letters, leaf[:1]) {
		return nil, die("create pool failed: pool name must start with a letter")
	}
	c.state.Pools[id] = &Pool{Comment: c.str("comment"), VMs: map[int]bool{}, Storages: map[string]bool{}}
	return nil, nil //nolint:nilnil // The answer is null.
}

// letters are those that names may start with.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// updatePool changes the comment and the members; one that is wrong leaves all as it was.
func (c *call) updatePool() (any, error) {
	id := c.str("poolid")
	if c.state.Pools[id] == nil {
		return nil, die("update pools failed: pool '%s' does not exist", id)
	}
	pools := map[string]*Pool{}
	for name, p := range c.state.Pools {
		pools[name] = &Pool{Comment: p.Comment, VMs: maps.Clone(p.VMs), Storages: maps.Clone(p.Storages)}
	}
	p := pools[id]
	if c.has("comment") {
		p.Comment = c.str("comment")
	}
	for _, vmid := range schema.SplitList(c.str("vms")) {
		if err := c.poolMember("VM "+vmid, vmPath(atoi(vmid)), p.VMs[atoi(vmid)]); err != nil {
			return nil, err
		}
		if err := c.setPoolVM(pools, p, atoi(vmid)); err != nil {
			return nil, err
		}
	}
	for _, storage := range schema.SplitList(c.str("storage")) {
		if err := c.poolMember("Storage '"+storage+"'", "/storage/"+storage, p.Storages[storage]); err != nil {
			return nil, err
		}
		p.Storages[storage] = true
		if c.flag("delete") {
			delete(p.Storages, storage)
		}
	}
	c.state.Pools = pools
	return nil, nil //nolint:nilnil // The answer is null.
}

// poolMember fails unless the caller may change a member, and it is there to be removed or not there to be added.
func (c *call) poolMember(what, path string, member bool) error {
	err := c.checkModify([]any{"perm-modify", path}, nil)
	switch {
	case err != nil:
		return err
	case c.flag("delete") && !member:
		return die("update pools failed: %s is not a pool member", what)
	case !c.flag("delete") && member:
		return die("update pools failed: %s is already a pool member", what)
	}
	return nil
}

// setPoolVM adds a VM, which is in one pool at most, or removes it.
func (c *call) setPoolVM(pools map[string]*Pool, p *Pool, vmid int) error {
	if c.flag("delete") {
		delete(p.VMs, vmid)
		return nil
	}
	if old, ok := c.state.poolsOf()[vmid]; ok && pools[old] != p {
		if !c.flag("allow-move") {
			return die("update pools failed: VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, old)
		}
		if err := c.state.check(c.who, "/pool/"+old, "Pool.Allocate"); err != nil {
			return err
		}
		delete(pools[old].VMs, vmid)
	}
	p.VMs[vmid] = true
	return nil
}

func (c *call) deletePool() (any, error) {
	id := c.str("poolid")
	p := c.state.Pools[id]
	if p == nil {
		return nil, die("delete pool failed: pool '%s' does not exist", id)
	}
	for _, other := range slices.Sorted(maps.Keys(c.state.Pools)) {
		if strings.HasPrefix(other, id+"/") {
			return nil, die("delete pool failed: pool '%s' is not empty (contains pool '%s')", id, other)
		}
	}
	for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
		if c.state.Guests[vmid] != nil {
			return nil, die("delete pool failed: pool '%s' is not empty (contains VM %d)", id, vmid)
		}
	}
	for _, storage := range slices.Sorted(maps.Keys(p.Storages)) {
		if c.state.Storages[storage] != nil {
			return nil, die("delete pool failed: pool '%s' is not empty (contains storage '%s')", id, storage)
		}
	}
	delete(c.state.Pools, id)
	c.state.ACL = slices.DeleteFunc(c.state.ACL, func(g Grant) bool { return g.Path == "/pool/"+id })
	return nil, nil //nolint:nilnil // The answer is null.
}
