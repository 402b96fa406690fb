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
		if g := c.state.Guests[vmid]; g != nil {
			members = append(members, json.RawMessage(c.op().resource(nil, g)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Storages)) {
		s := c.state.Storages[id]
		for _, node := range slices.Sorted(maps.Keys(c.state.Nodes)) {
			if s != nil && s.storageOn(node) {
				members = append(members, storageResource(s, c.state.Nodes[node], held))
			}
		}
	}
	out := map[string]any{"members": members}
	if p.Comment != "" {
		out["comment"] = p.Comment
	}
	return out
}

func (c *call) createPool() (any, error) {
	id := c.str("poolid")
	if c.state.Pools[id] != nil {
		return nil, die("create pool failed: pool '%s' already exists", id)
	}
	c.state.Pools[id] = &Pool{Comment: c.str("comment"), VMs: map[int]bool{}, Storages: map[string]bool{}}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updatePool() (any, error) {
	p := c.state.Pools[c.str("poolid")]
	if p == nil {
		return nil, die("update pools failed: pool '%s' does not exist", c.str("poolid"))
	}
	if c.has("comment") {
		p.Comment = c.str("comment")
	}
	for _, id := range schema.SplitList(c.str("vms")) {
		if err := c.poolMember(p, "/vms/"+id, func() error { return c.setPoolVM(p, atoi(id)) }); err != nil {
			return nil, err
		}
	}
	for _, id := range schema.SplitList(c.str("storage")) {
		err := c.poolMember(p, "/storage/"+id, func() error {
			p.Storages[id] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// poolMember adds a member by a function, or takes it away, if the caller may.
func (c *call) poolMember(p *Pool, path string, add func() error) error {
	if err := c.checkModify([]any{"perm-modify", path}, nil); err != nil {
		return err
	}
	if !c.flag("delete") {
		return add()
	}
	delete(p.VMs, atoi(strings.TrimPrefix(path, "/vms/")))
	delete(p.Storages, strings.TrimPrefix(path, "/storage/"))
	return nil
}

// setPoolVM adds a VM, which is in one pool at most.
func (c *call) setPoolVM(p *Pool, vmid int) error {
	if old, ok := c.state.poolsOf()[vmid]; ok && c.state.Pools[old] != p {
		if !c.flag("allow-move") {
			return die("update pools failed: VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, old)
		}
		delete(c.state.Pools[old].VMs, vmid)
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
	for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
		if c.state.Guests[vmid] != nil {
			return nil, die("delete pool failed: pool '%s' is not empty (contains VM %d)", id, vmid)
		}
	}
	delete(c.state.Pools, id)
	return nil, nil //nolint:nilnil // The answer is null.
}
