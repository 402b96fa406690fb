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

// Package vmcache finds and reads VMs, and remembers them as they were seen last: until when that may be relied on, what makes it stale,
// and what a VM must be like after what was done to it.
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
	// DefaultFullResyncInterval is how often a VM is read although there is no sign
	// that it has changed.
	DefaultFullResyncInterval = 30 * time.Minute

	// spreadAfter is how long a VM that was read for the first time is not read again
	// for safety's sake.
	spreadAfter = time.Minute

	// CheckWithin is how soon a VM is read of which it is only known what it must be
	// like after what we did.
	CheckWithin = 5 * time.Minute

	// proofHolds is how long the proof holds that a VM is ours while nobody but we
	// does anything to it.
	proofHolds = time.Minute

	// freshFor is how long what was read need not be read again before something is
	// done.
	freshFor = time.Second
)

// Cache remembers VMs as they were seen last. It is a memory only, and what it
// forgets in a restart is read again. It is good while the VM is watched and there
// is no sign that it has changed.
type Cache struct {
	now        func() time.Time
	fullResync time.Duration

	all objectstate.Store[entry]

	// versions of VMs that were given out.
	versions int
}

// inventoryWatch is where a VM is watched: the inventory of its cluster.
type inventoryWatch interface{ Unwatch(key string) }

// An entry is a VM as it was seen.
type entry struct {
	id qemu.Identity
	at inventoryWatch // where it is watched

	ref    proxmox.Ref
	values []byte // its options, which take much room otherwise
	status proxmox.Status
	seen   time.Time // the status

	// locked is true if the VM was seen to be locked since, or when, the status was read.
	locked bool

	// listed is true if the status is what a list told that may have been older than the look at the VM, and no later one has told it since.
	listed bool

	// version is another one whenever ref, values or status have changed, and 0 until they are read.
	version int

	read time.Time // when the options were read
	due  time.Time // when they are read in any case
	// lastWrite is when something was last done by us, or read.
	lastWrite time.Time

	// dirty says what has to be read again, and signs counts why.
	dirty   Dirty
	changes int

	// mismatches are how often in a row the cluster's list has said something else than
	// what was read, and pool the one that it has.
	mismatches int
	pool       *string

	// usage is what the cluster's list said last of what the VM uses; nil if it said nothing.
	usage *vmstate.Usage

	// predicted is true if something of it was not read since we did something.
	predicted bool
	// resized are the sizes that disks will have.
	resized map[string]string
}

// A Dirty is what is no longer known of a VM.
type Dirty uint8

// The parts of a VM that may be dirty.
const (
	DirtyConfig Dirty = 1 << iota
	DirtyStatus
	DirtyAll = DirtyConfig | DirtyStatus
)

// New returns a cache that has VMs read again after an interval although there is no sign that they have changed.
func New(now func() time.Time, safety time.Duration) *Cache {
	return &Cache{now: now, fullResync: safety}
}

// at calls a function with the entry of a Machine, for the time of a function.
func (s *Cache) at(m objectstate.Object, do func(*entry)) {
	s.all.Lock()
	defer s.all.Unlock()
	if r := s.all.Get(m); r != nil {
		do(r)
	}
}

// A ReadToken is taken before a VM is read: what happens meanwhile may be missed by
// what is read.
type ReadToken struct {
	changes int
	at      time.Time
	dirty   Dirty
	Status  *proxmox.Status // as it is known, nil if it has to be read
	Listed  bool            // whether a list has told that
}

// BeginRead begins to look at the VM of a Machine, which is watched from now on. Its status is read again after a lock, such as that of a
// backup: Proxmox VE starts a VM that is off for it, and stops it before the lock goes.
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

// Keep keeps what was read after a read of the status.
func (s *Cache) Keep(m objectstate.Object, v *vmstate.VM, g ReadToken) {
	values, err := json.Marshal(v.Values)
	if err != nil {
		return // Strings can always be written.
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

// KeepStatus keeps the status of a VM that was read after what Keep has kept.
func (s *Cache) KeepStatus(m objectstate.Object, status proxmox.Status) {
	s.at(m, func(r *entry) {
		if !sameStatus(r.statusNow(s.now()), status) {
			s.versions++
			r.version = s.versions
		}
		r.status, r.seen, r.listed = status, s.now(), false
	})
}

// sameStatus reports whether a status is the one that was known, by now.
func sameStatus(known, read proxmox.Status) bool {
	restarted := (known.Uptime - read.Uptime).Abs() > 2*time.Second // Each is told to the second.
	known.Uptime, known.Memory = read.Uptime, read.Memory
	return known == read && !restarted
}

// Version returns a number that is another one whenever what is known of the VM of a Machine has changed, or 0 if the VM is to be read.
func (s *Cache) Version(m objectstate.Object, id qemu.Identity, at inventoryWatch) (version int) {
	s.at(m, func(r *entry) {
		if r.id == id && r.at == at && r.dirty == 0 && !r.predicted && s.now().Before(r.due) {
			version = r.version
		}
	})
	return version
}

// next returns when a VM is read again in any case. After a restart all are read about
// at once: the next time they are spread evenly, as many a minute as ever after.
func (s *Cache) next(first bool) time.Time {
	jitter := s.fullResync / 5
	if first {
		return s.now().Add(min(s.fullResync/10, spreadAfter) + rand.N(s.fullResync+jitter+1)) //nolint:gosec // Jitter needs no secrecy.
	}
	return s.now().Add(s.fullResync + rand.N(jitter+1)) //nolint:gosec // Jitter needs no secrecy.
}

// Handover takes over a VM that was seen where it was watched before: through another connection
// to the cluster. The list of this one must say the same of it, for it may lead to
// another cluster, or not be let see the VM.
func (s *Cache) Handover(m objectstate.Object, at inventoryWatch, g proxmox.Guest) {
	s.at(m, func(r *entry) {
		if r.values != nil && drift(r.cachedVM(s.now()), g) == 0 {
			r.at = at
		}
	})
}

// SeenAt returns where a VM was seen that is known.
func (s *Cache) SeenAt(m objectstate.Object) (at inventoryWatch) {
	s.at(m, func(r *entry) { at = r.at })
	return at
}

// Cached returns the VM of a Machine, or nil if it has to be looked at. While a task of ours
// runs, what was before is good enough.
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
	return nil // The task of a clone names its source: its end is no sign for the VM.
}

// cachedVM returns the VM as it is known.
func (r *entry) cachedVM(now time.Time) *vmstate.VM {
	v := &vmstate.VM{Ref: r.ref, Status: r.statusNow(now), StatusListed: r.listed}
	var values []proxmox.PendingValue
	_ = json.Unmarshal(r.values, &values) // We have written it.
	v.Read(values)
	return v
}

// statusNow returns the status with the uptime that it has by now.
func (r *entry) statusNow(now time.Time) proxmox.Status {
	st := r.status
	if st.Running() {
		st.Uptime += now.Sub(r.seen)
	}
	return st
}

// Proven reports whether the VM was proven ours lately, and only we have done something
// to it since.
func (s *Cache) Proven(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.predicted && r.dirty == 0 && s.now().Sub(r.read) < proofHolds })
	return yes
}

// Unbroken reports whether the VM was read since it is watched, no sign of a change by others has come since, and none was missed.
func (s *Cache) Unbroken(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.dirty == 0 && !r.read.IsZero() })
	return yes
}

// Fresh reports whether the VM was read just now.
func (s *Cache) Fresh(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = !r.predicted && r.dirty == 0 && s.now().Sub(r.read) < freshFor })
	return yes
}

// Predicted reports whether something of the VM is only what it must be after what we did.
func (s *Cache) Predicted(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.predicted })
	return yes
}

// First reports whether the VM has not been seen before.
func (s *Cache) First(m objectstate.Object) (yes bool) {
	s.at(m, func(r *entry) { yes = r.values == nil })
	return yes
}

// Invalidate invalidates what is known of a VM: something was done to it.
func (s *Cache) Invalidate(m objectstate.Object, what Dirty) { s.dirtyOf(m, what) }

func (s *Cache) dirtyOf(uid objectstate.Object, what Dirty) {
	s.all.Lock()
	defer s.all.Unlock()
	if r := s.all.Get(uid); r != nil {
		r.dirty |= what
		r.changes++
	}
}

// RecordWrite notes that we have done something to a VM.
func (s *Cache) RecordWrite(m objectstate.Object) {
	s.at(m, func(r *entry) { r.lastWrite = s.now() })
}

// Leave leaves where the VM of a Machine was watched before, if that was elsewhere.
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
	if r != nil && r.at != nil { // Unlocked: who tells of signs has a lock, and asks when the VM was seen.
		r.at.Unwatch(string(m.GetUID()))
	}
}

// Len returns the number of VMs that are known.
func (s *Cache) Len() int {
	s.all.Lock()
	defer s.all.Unlock()
	return s.all.Len()
}
