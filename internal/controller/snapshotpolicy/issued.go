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

package snapshotpolicy

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// issued is what was done for each policy of which the cache does not know yet: with a cache that
// is behind, more would be begun than is allowed.
type issued struct {
	policies objectstate.Store[changes]
}

// changes are the Snapshots that were created and deleted.
type changes struct{ created, deleted map[string]bool }

// begin reports whether nothing is known of the policy yet.
func (i *issued) begin(p Policy) bool {
	i.policies.Lock()
	defer i.policies.Unlock()
	if i.policies.Get(p) != nil {
		return false
	}
	i.policies.Set(p, &changes{created: map[string]bool{}, deleted: map[string]bool{}})
	return true
}

// forget forgets what was done for the policy.
func (i *issued) forget(p Policy) {
	i.policies.Lock()
	defer i.policies.Unlock()
	i.policies.Delete(p)
}

// of calls a function with what was done for the policy, if anything was.
func (i *issued) of(p Policy, change func(*changes)) {
	i.policies.Lock()
	defer i.policies.Unlock()
	if c := i.policies.Get(p); c != nil {
		change(c)
	}
}

func (i *issued) created(p Policy, name string) { i.of(p, func(c *changes) { c.created[name] = true }) }
func (i *issued) deleted(p Policy, name string) { i.of(p, func(c *changes) { c.deleted[name] = true }) }
func (i *issued) lost(p Policy, name string)    { i.of(p, func(c *changes) { delete(c.created, name) }) }

func (i *issued) isDeleted(p Policy, name string) (deleted bool) {
	i.of(p, func(c *changes) { deleted = c.deleted[name] })
	return deleted
}

// see records a Snapshot that is seen in the cache.
func (i *issued) see(p Policy, s resource.Managed) {
	i.of(p, func(c *changes) {
		delete(c.created, s.GetName())
		if meta.WasDeleted(s) {
			delete(c.deleted, s.GetName())
		}
	})
}

// unseen are the Snapshots that were created and that the cache does not have. What is deleted and
// not in the cache any more is over.
func (i *issued) unseen(p Policy, there map[string]bool) (names []string) {
	i.of(p, func(c *changes) {
		for name := range c.deleted {
			if !there[name] {
				delete(c.deleted, name)
			}
		}
		for name := range c.created {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}
