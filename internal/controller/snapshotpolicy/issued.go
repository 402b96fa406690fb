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

// issued records the changes for each policy that the cache does not show yet. Otherwise, an outdated cache would lead to more tasks than allowed.
type issued struct {
	policies objectstate.Store[changes]
}

// changes has the Snapshots that were created and deleted.
type changes struct{ created, deleted map[string]bool }

// begin starts to record changes for the policy, and reports whether there was no record of it yet.
func (i *issued) begin(p Policy) bool {
	i.policies.Lock()
	defer i.policies.Unlock()
	if i.policies.Get(p) != nil {
		return false
	}
	i.policies.Set(p, &changes{created: map[string]bool{}, deleted: map[string]bool{}})
	return true
}

// forget removes the record of the policy.
func (i *issued) forget(p Policy) {
	i.policies.Lock()
	defer i.policies.Unlock()
	i.policies.Delete(p)
}

// of calls a function with the changes recorded for the policy, if there are any.
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

// unseen returns the Snapshots that were created and that the cache does not have. It drops deleted ones that are no longer in the cache.
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
