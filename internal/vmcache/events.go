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

package vmcache

import (
	"math/rand/v2"
	"time"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Watcher marks a cached VM as dirty when there is a sign that it has changed, and wakes its Machine.
type Watcher struct {
	Cache *Cache
	UID   objectstate.UID
	Wake  func()
}

// Changed records that others have changed the VM.
func (p Watcher) Changed(what inventory.Change) {
	dirtied := DirtyAll
	if what == inventory.ChangeConfig {
		dirtied = DirtyConfig
	}
	p.Cache.dirtyOf(p.UID, dirtied)
	p.Wake()
}

// Listed compares the cluster's list with the cached VM. If they agree, the VM need not be read.
func (p Watcher) Listed(g *proxmox.Guest) {
	drifted, moved := p.Cache.Compare(p.UID, g)
	if drifted != 0 {
		p.Cache.dirtyOf(p.UID, drifted)
	}
	if drifted != 0 || moved {
		p.Wake()
	}
}

// Missed has the VM read soon. Its ownership has to be proven again.
func (p Watcher) Missed() {
	p.Cache.all.Lock()
	defer p.Cache.all.Unlock()
	if r := p.Cache.all.Get(p.UID); r != nil {
		r.read = time.Time{}
		r.due = sooner(r.due, p.Cache.now().Add(rand.N(p.Cache.fullResync/3+1))) //nolint:gosec // Jitter needs no secrecy.
	}
}

// firstMismatch is how long lists are ignored that still differ after they have caused a read of the VM: 10, 30, 70 seconds … 40 minutes.
const firstMismatch = 10 * time.Second

// Since returns when the VM was last read or changed, and until when lists that repeat the last one are ignored.
func (p Watcher) Since() (changed, until time.Time) {
	p.Cache.all.Lock()
	defer p.Cache.all.Unlock()
	r := p.Cache.all.Get(p.UID)
	if r == nil {
		return time.Time{}, time.Time{}
	}
	return r.lastWrite, r.lastWrite.Add(firstMismatch * time.Duration(1<<max(min(r.mismatches-1, 8), 0)-1))
}

// Compare returns which parts of the cached VM the list contradicts, and whether the VM has moved to another pool.
func (s *Cache) Compare(uid objectstate.Object, g *proxmox.Guest) (drifted Dirty, moved bool) {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(uid)
	if r == nil || r.values == nil {
		return 0, false // It has not been read yet.
	}
	if g == nil {
		r.mismatches++
		return DirtyAll, false
	}
	drifted = drift(r.cachedVM(s.now()), *g)
	r.listed = r.listed && (drifted&DirtyStatus != 0 || g.Status == "unknown") // This list is newer than the read of the VM.
	if drifted != 0 {
		r.mismatches++
		return drifted, false
	}
	moved = r.pool != nil && *r.pool != g.Pool
	r.mismatches, r.pool = 0, new(g.Pool) // A copy, because a pointer into the list would keep all of it in memory.
	return 0, moved
}

// startsApart is how far the start times of the same VM in two sources may differ.
const startsApart = 30 * time.Second

// drift returns the parts of a VM that a list contradicts. If the node does not report, only the values that all nodes know are compared.
func drift(v *vmstate.VM, g proxmox.Guest) Dirty {
	reported := g.Status != "unknown"
	restarted := reported && v.Status.Running() && v.Status.Uptime-g.Uptime > startsApart
	status := reported && g.Status != v.PowerState() && v.Lock() != "suspended"
	if g.Node != v.Node || StateInHA(g) != v.Status.HAState || restarted || status {
		return DirtyAll
	}
	known := g.Lock == v.Lock() && v.Config.Tagged(g.Tags)
	if !known || reported && (g.Template != v.Template() || g.Name != v.ListedName() || !v.SizesMatch(g)) {
		return DirtyConfig
	}
	return 0
}

// StateInHA returns the HA state of a guest as the guest's status shows it. It is empty for a guest that HA is to ignore.
func StateInHA(g proxmox.Guest) string {
	if g.HAState == vmstate.HAIgnored {
		return ""
	}
	return g.HAState
}
