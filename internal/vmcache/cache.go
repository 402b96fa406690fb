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

// Package vmcache finds and reads VMs, and caches them as they were last seen. It knows how long a cached VM may be relied on, which signs make it stale,
// and what the state of a VM must be after a change of ours.
package vmcache

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const (
	// DefaultFullResyncInterval is how often a VM is read even without a sign that it has changed.
	DefaultFullResyncInterval = 30 * time.Minute

	// spreadAfter is the minimum time between the first read of a VM and its next periodic read.
	spreadAfter = time.Minute

	// CheckWithin is how soon a VM is read whose state was only inferred from a change of ours.
	CheckWithin = 5 * time.Minute

	// proofHolds is how long the proof that a VM is ours remains valid while nothing but this provider changes the VM.
	proofHolds = time.Minute

	// freshFor is how long a VM that was just read need not be read again before it is changed.
	freshFor = time.Second
)

// Cache holds VMs as they were last seen. It is only in memory: what a restart loses is read again. An entry is valid while the VM is watched and there is
// no sign that it has changed.
type Cache struct {
	now        func() time.Time
	fullResync time.Duration

	all objectstate.Store[entry]

	// versions counts the versions of VMs that were given out.
	versions int
}

// inventoryWatch is the inventory of the cluster in which a VM is watched.
type inventoryWatch interface{ Unwatch(key string) }

// An entry holds a VM as it was seen.
type entry struct {
	id qemu.Identity
	at inventoryWatch // the inventory that watches the VM

	ref    proxmox.Ref
	values []byte // the options as JSON, to save memory
	status proxmox.Status
	seen   time.Time // when the status was read

	// locked is true if the VM was seen to be locked since, or when, the status was read.
	locked bool

	// listed is true if the status is from a list that may have been older than the read of the VM, and no later list has confirmed it.
	listed bool

	// version changes whenever ref, values or status change. It is 0 until they are read.
	version int

	read time.Time // when the options were last read
	due  time.Time // when they are read at the latest
	// lastWrite is when the VM was last changed by us, or read.
	lastWrite time.Time

	// dirty names the parts that have to be read again, and changes counts the reasons.
	dirty   Dirty
	changes int

	// mismatches counts how often in a row the cluster's list has differed from what was read. pool is the pool that the list has shown last.
	mismatches int
	pool       *string

	// usage is the VM's resource usage in the cluster's last list, or nil if that had none.
	usage *vmstate.Usage

	// predicted is true if some of the state was not read since our last change.
	predicted bool
	// resized holds the sizes that disks will have.
	resized map[string]string
}

// Dirty names the parts of a VM that have to be read again.
type Dirty uint8

// The parts of a VM that may be dirty.
const (
	DirtyConfig Dirty = 1 << iota
	DirtyStatus
	DirtyAll = DirtyConfig | DirtyStatus
)

// New returns a cache that has VMs read again after the interval safety even without a sign that they have changed.
func New(now func() time.Time, safety time.Duration) *Cache {
	return &Cache{now: now, fullResync: safety}
}

// at calls do with the entry of a Machine, if there is one. The cache is locked meanwhile.
func (s *Cache) at(m objectstate.Object, do func(*entry)) {
	s.all.Lock()
	defer s.all.Unlock()
	if r := s.all.Get(m); r != nil {
		do(r)
	}
}

// A ReadToken is taken before a VM is read. Changes after that moment may be missing from what is read.
type ReadToken struct {
	changes int
	at      time.Time
	dirty   Dirty
	Status  *proxmox.Status // the known status, nil if it has to be read
	Listed  bool            // whether the status is from a list
}

// BeginRead begins a read of the VM of a Machine, which is watched from now on. The status is read again after a lock, such as that of a backup: Proxmox
// VE starts a stopped VM for the backup, and stops it before it releases the lock.
func (s *Cache) BeginRead(m objectstate.Object, id qemu.Identity, at inventoryWatch, unbroken bool) ReadToken {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(m)
	if r == nil || r.id != id || r.at != at && !unbroken {
		r = &entry{id: id, at: at, dirty: DirtyAll}
		s.all.Set(m, r)
	}
	r.at = at
	if !unbroken {
		r.dirty = DirtyAll
	}
	g := ReadToken{changes: r.changes, at: s.now(), dirty: r.dirty, Listed: r.listed}
	if r.values != nil && r.dirty&DirtyStatus == 0 && !r.locked {
		status := r.statusNow(s.now())
		g.Status = &status
	}
	return g
}

// Keep stores a VM that was read. The status is stored only if the token had none.
func (s *Cache) Keep(m objectstate.Object, v *vmstate.VM, g ReadToken) {
	values, err := json.Marshal(v.Values)
	if err != nil {
		return // Strings can always be marshalled.
	}
	s.at(m, func(r *entry) {
		first := r.values == nil
		if r.version == 0 || r.ref != v.Ref || !bytes.Equal(r.values, values) || g.Status == nil && !sameStatus(r.statusNow(s.now()), v.Status) {
			s.versions++
			r.version = s.versions
		}
		r.ref, r.values, r.read, r.lastWrite = v.Ref, values, g.at, s.now()
		if g.Status == nil {
			r.status, r.seen, r.locked, r.listed = v.Status, s.now(), false, v.StatusListed
		}
		r.locked = r.locked || v.Lock() != ""
		if r.changes == g.changes {
			r.dirty, r.predicted, r.resized = 0, false, nil
		}
		r.due = s.next(first)
	})
}

// KeepStatus stores a status of a VM that was read after the call of Keep.
func (s *Cache) KeepStatus(m objectstate.Object, status proxmox.Status) {
	s.at(m, func(r *entry) {
		if !sameStatus(r.statusNow(s.now()), status) {
			s.versions++
			r.version = s.versions
		}
		r.status, r.seen, r.listed = status, s.now(), false
	})
}

// sameStatus reports whether a status that was read equals the known one as it must be now.
func sameStatus(known, read proxmox.Status) bool {
	restarted := (known.Uptime - read.Uptime).Abs() > 2*time.Second // Both are rounded to a second.
	known.Uptime, known.Memory = read.Uptime, read.Memory
	return known == read && !restarted
}

// Version returns a number that changes whenever the cached VM of a Machine changes, or 0 if the VM has to be read.
func (s *Cache) Version(m objectstate.Object, id qemu.Identity, at inventoryWatch) (version int) {
	s.at(m, func(r *entry) {
		if r.id == id && r.at == at && r.dirty == 0 && !r.predicted && s.now().Before(r.due) {
			version = r.version
		}
	})
	return version
}

// next returns when a VM is read at the latest. After a restart all VMs are read at about the same time, so their next reads are spread evenly, at the
// usual rate.
func (s *Cache) next(first bool) time.Time {
	jitter := s.fullResync / 5
	if first {
		return s.now().Add(min(s.fullResync/10, spreadAfter) + rand.N(s.fullResync+jitter+1)) //nolint:gosec // Jitter needs no secrecy.
	}
	return s.now().Add(s.fullResync + rand.N(jitter+1)) //nolint:gosec // Jitter needs no secrecy.
}

// Handover moves a cached VM to the inventory at, which another connection to the cluster uses. The list of that connection must agree with the cached VM,
// because it may lead to another cluster, or lack the privileges to see the VM.
func (s *Cache) Handover(m objectstate.Object, at inventoryWatch, g proxmox.Guest) {
	s.at(m, func(r *entry) {
		if r.values != nil && drift(r.cachedVM(s.now()), g) == 0 {
			r.at = at
		}
	})
}

// SeenAt returns the inventory in which a cached VM was seen.
func (s *Cache) SeenAt(m objectstate.Object) (at inventoryWatch) {
	s.at(m, func(r *entry) { at = r.at })
	return at
}

// Cached returns the VM of a Machine, or nil if it has to be read. While a task of ours runs (busy), the state from before the task suffices.
func (s *Cache) Cached(m objectstate.Object, id qemu.Identity, at inventoryWatch, busy bool) *vmstate.VM {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(m)
	if r == nil || r.values == nil || r.id != id || r.at != at {
		return nil
	}
	if !busy && (r.dirty != 0 || !s.now().Before(r.due)) {
		return nil
	}
	if v := r.cachedVM(s.now()); !v.BeingCreated() {
		return v
	}
	return nil // The task of a clone names its source, so its end is no sign for this VM.
}

// cachedVM returns the VM from the cached values.
func (r *entry) cachedVM(now time.Time) *vmstate.VM {
	v := &vmstate.VM{Ref: r.ref, Status: r.statusNow(now), StatusListed: r.listed}
	var values []proxmox.PendingValue
	_ = json.Unmarshal(r.values, &values) // We have marshalled it ourselves.
	v.Read(values)
	return v
}

// statusNow returns the status with its uptime advanced to now.
func (r *entry) statusNow(now time.Time) proxmox.Status {
	st := r.status
	if st.Running() {
		st.Uptime += now.Sub(r.seen)
	}
	return st
}

// Proven reports whether the VM was recently proven to be ours, and only we have changed it since.
func (s *Cache) Proven(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.predicted && r.dirty == 0 && s.now().Sub(r.read) < proofHolds })
	return yes
}

// Unbroken reports whether the VM was read since the watch began, and since then no change by others was seen and none can have been missed.
func (s *Cache) Unbroken(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.dirty == 0 && !r.read.IsZero() })
	return yes
}

// Fresh reports whether the VM was read just now.
func (s *Cache) Fresh(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = !r.predicted && r.dirty == 0 && s.now().Sub(r.read) < freshFor })
	return yes
}

// Predicted reports whether some of the VM's state is only inferred from our changes.
func (s *Cache) Predicted(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.predicted })
	return yes
}

// First reports whether the VM has not been seen before.
func (s *Cache) First(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.values == nil })
	return yes
}

// Invalidate marks parts of a VM as stale after a change of ours.
func (s *Cache) Invalidate(m objectstate.Object, what Dirty) { s.dirtyOf(m, what) }

func (s *Cache) dirtyOf(uid objectstate.Object, what Dirty) {
	s.all.Lock()
	defer s.all.Unlock()
	if r := s.all.Get(uid); r != nil {
		r.dirty |= what
		r.changes++
	}
}

// RecordWrite records that we have changed a VM.
func (s *Cache) RecordWrite(m objectstate.Object) {
	s.at(m, func(r *entry) { r.lastWrite = s.now() })
}

// Leave ends the watch of the VM of a Machine in its previous inventory, if that is not at.
func (s *Cache) Leave(m objectstate.Object, at inventoryWatch) {
	before := s.SeenAt(m)
	if before != nil && before != at {
		before.Unwatch(string(m.GetUID()))
	}
}

// Forget forgets the VM of a Machine.
func (s *Cache) Forget(m objectstate.Object) {
	s.all.Lock()
	r := s.all.Get(m)
	s.all.Delete(m)
	s.all.Unlock()
	if r != nil && r.at != nil { // This runs without the lock: an inventory that reports signs holds its own lock, and asks when the VM was seen.
		r.at.Unwatch(string(m.GetUID()))
	}
}

// Len returns the number of cached VMs.
func (s *Cache) Len() int {
	s.all.Lock()
	defer s.all.Unlock()
	return s.all.Len()
}
