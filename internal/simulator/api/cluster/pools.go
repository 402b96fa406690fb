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
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func listPools(c *engine.Call) (any, error) {
	if id := c.Str("poolid"); id != "" {
		p, err := pool(c, id)
		if err != nil {
			return nil, err
		}
		entry := showPool(c, p)
		entry["poolid"] = id
		return []map[string]any{entry}, nil
	}
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Pools)) {
		if !c.State.May(c.Who, "/pool/"+id, "Pool.Audit") {
			continue
		}
		entry := map[string]any{"poolid": id}
		if comment := c.State.Pools[id].Comment; comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	return out, nil
}

func pool(c *engine.Call, id string) (*state.Pool, error) {
	if p := c.State.Pools[id]; p != nil {
		return p, nil
	}
	return nil, apierr.Errorf("pool '%s' does not exist", id)
}

func getPool(c *engine.Call) (any, error) {
	p, err := pool(c, c.Str("poolid"))
	if err != nil {
		return nil, err
	}
	out := showPool(c, p)
	out["poolid"] = c.Str("poolid")
	return out, nil
}

func showPool(c *engine.Call, p *state.Pool) map[string]any {
	members, held := []any{}, held(c.State)
	for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
		if g := c.State.Guests[vmid]; g != nil && (!c.Has("type") || c.Str("type") == "qemu") {
			members = append(members, json.RawMessage(resource(c.Op(), nil, g)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Storages)) {
		if s := c.State.Storages[id]; s != nil && (!c.Has("type") || c.Str("type") == "storage") {
			members = append(members, storageResource(c.Op(), s, c.State.Nodes[near(s, c.Local)], held))
		}
	}
	out := map[string]any{"members": members}
	if p.Comment != "" {
		out["comment"] = p.Comment
	}
	return out
}

// near returns the node for which a pool shows a storage. It is the node that was asked, if that has the storage.
func near(s *state.Storage, node string) string {
	if s.StorageOn(node) || len(s.Nodes) == 0 {
		return node
	}
	return slices.Min(s.Nodes)
}

func createPool(c *engine.Call) (any, error) {
	id := c.Str("poolid")
	if c.State.Pools[id] != nil {
		return nil, apierr.Errorf("create pool failed: pool '%s' already exists", id)
	}
	if i := strings.LastIndex(id, "/"); i >= 0 && c.State.Pools[id[:i]] == nil {
		return nil, apierr.Errorf("create pool failed: parent '%s' of pool '%s' does not exist", id[:i], id)
	}
	if leaf := id[strings.LastIndex(id, "/")+1:]; leaf == "" || strings.Trim(leaf[:1], schema.Letters) != "" {
		return nil, apierr.Errorf("create pool failed: pool name must start with a letter")
	}
	c.State.Pools[id] = &state.Pool{Comment: c.Field("comment"), VMs: map[int]bool{}, Storages: map[string]bool{}}
	return nil, nil //nolint:nilnil // The answer is null.
}

// updatePool changes the comment and the members. If one of them is invalid, nothing is changed.
func updatePool(c *engine.Call) (any, error) {
	id := c.Str("poolid")
	if c.State.Pools[id] == nil {
		return nil, apierr.Errorf("update pools failed: pool '%s' does not exist", id)
	}
	pools := map[string]*state.Pool{}
	for name, p := range c.State.Pools {
		pools[name] = &state.Pool{Comment: p.Comment, VMs: maps.Clone(p.VMs), Storages: maps.Clone(p.Storages)}
	}
	p := pools[id]
	if c.Has("comment") {
		p.Comment = c.Field("comment")
	}
	for _, vmid := range schema.SplitList(c.Str("vms")) {
		if err := poolMember(c, "VM "+vmid, state.VMPath(schema.Int(vmid)), p.VMs[schema.Int(vmid)]); err != nil {
			return nil, err
		}
		if err := setPoolVM(c, pools, p, schema.Int(vmid)); err != nil {
			return nil, err
		}
	}
	for _, storage := range schema.SplitList(c.Str("storage")) {
		if err := poolMember(c, "Storage '"+storage+"'", "/storage/"+storage, p.Storages[storage]); err != nil {
			return nil, err
		}
		p.Storages[storage] = true
		if c.Flag("delete") {
			delete(p.Storages, storage)
		}
	}
	c.State.Pools = pools
	return nil, nil //nolint:nilnil // The answer is null.
}

// poolMember fails unless the caller may change a member, and the member can be removed or added.
func poolMember(c *engine.Call, what, path string, member bool) error {
	err := c.CheckModify([]any{"perm-modify", path}, nil)
	switch {
	case err != nil:
		return apierr.Errorf("update pools failed: 403 %s", err)
	case c.Flag("delete") && !member:
		return apierr.Errorf("update pools failed: %s is not a pool member", what)
	case !c.Flag("delete") && member:
		return apierr.Errorf("update pools failed: %s is already a pool member", what)
	}
	return nil
}

// setPoolVM adds a VM, which can be in only one pool, or removes it.
func setPoolVM(c *engine.Call, pools map[string]*state.Pool, p *state.Pool, vmid int) error {
	if c.Flag("delete") {
		delete(p.VMs, vmid)
		return nil
	}
	if old, ok := poolsOf(c.State)[vmid]; ok && pools[old] != p {
		if !c.Flag("allow-move") {
			return apierr.Errorf("update pools failed: VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, old)
		}
		if err := c.State.Check(c.Who, "/pool/"+old, "Pool.Allocate"); err != nil {
			return err
		}
		delete(pools[old].VMs, vmid)
	}
	p.VMs[vmid] = true
	return nil
}

func deletePool(c *engine.Call) (any, error) {
	id := c.Str("poolid")
	p := c.State.Pools[id]
	if p == nil {
		return nil, apierr.Errorf("delete pool failed: pool '%s' does not exist", id)
	}
	for _, other := range slices.Sorted(maps.Keys(c.State.Pools)) {
		if strings.HasPrefix(other, id+"/") {
			return nil, apierr.Errorf("delete pool failed: pool '%s' is not empty (contains pool '%s')", id, other)
		}
	}
	for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
		if c.State.Guests[vmid] != nil {
			return nil, apierr.Errorf("delete pool failed: pool '%s' is not empty (contains VM %d)", id, vmid)
		}
	}
	for _, storage := range slices.Sorted(maps.Keys(p.Storages)) {
		if c.State.Storages[storage] != nil {
			return nil, apierr.Errorf("delete pool failed: pool '%s' is not empty (contains storage '%s')", id, storage)
		}
	}
	delete(c.State.Pools, id)
	c.State.ACL = slices.DeleteFunc(c.State.ACL, func(g state.Grant) bool { return g.Path == "/pool/"+id })
	return nil, nil //nolint:nilnil // The answer is null.
}
