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

package machine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A cacheWatcher has signs of change blur what is known of a VM, and wakes its Machine.
type cacheWatcher struct {
	cache *vmCache
	uid   objectstate.UID
	wake  func()
}

// Changed says that others have done something to the VM.
func (p cacheWatcher) Changed(what inventory.Change) {
	blurred := dirtyAll
	if what == inventory.ChangeConfig {
		blurred = dirtyConfig
	}
	p.cache.dirtyOf(p.uid, blurred)
	p.wake()
}

// Listed compares what the cluster's list tells of the VM with what is known. If that
// is the same, it need not be read.
func (p cacheWatcher) Listed(g *proxmox.Guest) {
	doubts, moved := p.cache.compare(p.uid, g)
	if doubts != 0 {
		p.cache.dirtyOf(p.uid, doubts)
	}
	if doubts != 0 || moved {
		p.wake()
	}
}

// Missed has the VM read some time soon. That it is ours has to be proven anew.
func (p cacheWatcher) Missed() {
	p.cache.all.Lock()
	defer p.cache.all.Unlock()
	if r := p.cache.all.Get(p.uid); r != nil {
		r.read = time.Time{}
		r.due = sooner(r.due, p.cache.now().Add(rand.N(p.cache.fullResync/3+1))) //nolint:gosec // Jitter needs no secrecy.
	}
}

// firstMismatch is how long lists are of no use that go on to say something else than
// what was read because of them: 10, 30, 70 seconds … 40 minutes.
const firstMismatch = 10 * time.Second

// Since is when the VM was read or changed last, and until when lists are of no use that
// say what they said.
func (p cacheWatcher) Since() (changed, until time.Time) {
	p.cache.all.Lock()
	defer p.cache.all.Unlock()
	r := p.cache.all.Get(p.uid)
	if r == nil {
		return time.Time{}, time.Time{}
	}
	return r.lastWrite, r.lastWrite.Add(firstMismatch * time.Duration(1<<max(min(r.mismatches-1, 8), 0)-1))
}

// compare says what the list puts in doubt of a VM as it is known, and whether it has
// moved to another pool.
func (s *vmCache) compare(uid objectstate.Object, g *proxmox.Guest) (doubts dirty, moved bool) {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(uid)
	if r == nil || r.values == nil {
		return 0, false // It is yet to be looked at.
	}
	if g == nil {
		r.mismatches++
		return dirtyAll, false
	}
	if doubts = drift(r.cachedVM(s.now()), *g); doubts != 0 {
		r.mismatches++
		return doubts, false
	}
	moved = r.pool != nil && *r.pool != g.Pool
	r.mismatches, r.pool = 0, new(g.Pool) // Not a part of the list, which would be kept whole.
	return 0, moved
}

// startsApart is how far apart two may see the start of a VM that is the same.
const startsApart = 30 * time.Second

// drift returns what a list says other than what is known. Where the node does not tell,
// nothing is in doubt but what all nodes know.
func drift(v *vm, g proxmox.Guest) dirty {
	told := g.Status != "unknown"
	restarted := told && v.Status.Running() && v.Status.Uptime-g.Uptime > startsApart
	status := told && g.Status != v.powerState() && v.lock() != "suspended"
	if g.Node != v.Node || stateInHA(g) != v.Status.HAState || restarted || status {
		return dirtyAll
	}
	known := g.Lock == v.lock() && v.Config.Tagged(g.Tags)
	if !known || told && (g.Template != v.template() || g.Name != v.listedName() || !v.sizesMatch(g)) {
		return dirtyConfig
	}
	return 0
}

// stateInHA is the state of a guest in HA as its status tells it: nothing of one that HA
// is to ignore.
func stateInHA(g proxmox.Guest) string {
	if g.HAState == haIgnored {
		return ""
	}
	return g.HAState
}

// listedName is the name that a list has. PVE makes one up where there is none.
func (v *vm) listedName() string { return cmp.Or(v.Config["name"], fmt.Sprintf("VM %d", v.VMID)) }

// sizesMatch reports whether the VM has the sizes that a list has.
func (v *vm) sizesMatch(g proxmox.Guest) bool {
	cpus, memory, disk := false, false, g.MaxDisk == 0
	for _, config := range []qemu.Config{v.Active, v.Config} {
		n := config.Integer("cores", 1) * config.Integer("sockets", 1)
		cpus = cpus || g.MaxCPU == int(config.Integer("vcpus", n))
		memory = memory || g.MaxMemory == config.Memory()
		for _, device := range config.Disks() {
			k, err := proxmox.ParseDisk(config[device])
			size, known := k.Size()
			disk = disk || err == nil && known && int64(size) == g.MaxDisk
		}
	}
	return cpus && memory && disk
}
