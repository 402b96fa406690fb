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
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

const (
	// DefaultFullResyncInterval is how often a VM is read although there is no sign
	// that it has changed.
	DefaultFullResyncInterval = 30 * time.Minute

	// spreadAfter is how long a VM that was read for the first time is not read again
	// for safety's sake.
	spreadAfter = time.Minute

	// checkWithin is how soon a VM is read of which it is only known what it must be
	// like after what we did.
	checkWithin = 5 * time.Minute

	// proofHolds is how long the proof holds that a VM is ours while nobody but we
	// does anything to it.
	proofHolds = time.Minute

	// freshFor is how long what was read need not be read again before something is
	// done.
	freshFor = time.Second
)

// vmCache remembers VMs as they were seen last. It is a memory only, and what it
// forgets in a restart is read again. It is good while the VM is watched and there
// is no sign that it has changed.
type vmCache struct {
	now        func() time.Time
	fullResync time.Duration

	all objectstate.Store[cacheEntry]
}

// watched is where a VM is watched: the inventory of its cluster.
type watched interface{ Unwatch(key string) }

// A cacheEntry is a VM as it was seen.
type cacheEntry struct {
	id qemu.Identity
	at watched // where it is watched

	ref    proxmox.Ref
	values []byte // its options, which take much room otherwise
	status proxmox.Status
	seen   time.Time // the status

	read time.Time // when the options were read
	due  time.Time // when they are read come what may
	// lastWrite is when something was last done by us, or read.
	lastWrite time.Time

	// dirty says what has to be read again, and signs counts why.
	dirty   dirty
	changes int

	// mismatches are how often in a row the cluster's list has said something else than
	// what was read, and pool the one that it has.
	mismatches int
	pool       *string

	// predicted is true if something of it was not read since we did something.
	predicted bool
	// resized are the sizes that disks will have.
	resized map[string]string
}

// A dirty is what is no longer known of a VM.
type dirty uint8

const (
	dirtyConfig dirty = 1 << iota
	dirtyStatus
	dirtyAll = dirtyConfig | dirtyStatus
)

func newVMCache(now func() time.Time, safety time.Duration) *vmCache {
	return &vmCache{now: now, fullResync: safety}
}

// at is the sight of a Machine, for the time of a function.
func (s *vmCache) at(m objectstate.Object, do func(*cacheEntry)) {
	s.all.Lock()
	defer s.all.Unlock()
	if r := s.all.Get(m); r != nil {
		do(r)
	}
}

// A readToken is taken before a VM is read: what happens meanwhile may be missed by
// what is read.
type readToken struct {
	changes int
	at      time.Time
	dirty   dirty
	status  *proxmox.Status // as it is known, nil if it has to be read
}

// beginRead begins to look at the VM of a Machine, which is watched from now on.
func (s *vmCache) beginRead(m objectstate.Object, id qemu.Identity, at watched, unbroken bool) readToken {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(m)
	if r == nil || r.id != id || r.at != at && !unbroken {
		r = &cacheEntry{id: id, at: at, dirty: dirtyAll}
		s.all.Set(m, r)
	}
	r.at = at
	if !unbroken {
		r.dirty = dirtyAll
	}
	g := readToken{changes: r.changes, at: s.now(), dirty: r.dirty}
	if r.values != nil && r.dirty&dirtyStatus == 0 {
		status := r.statusNow(s.now())
		g.status = &status
	}
	return g
}

// keep what was read after a glance.
func (s *vmCache) keep(m objectstate.Object, v *vm, g readToken) {
	values, err := json.Marshal(v.values)
	if err != nil {
		return // Strings can always be written.
	}
	s.at(m, func(r *cacheEntry) {
		first := r.values == nil
		r.ref, r.values, r.read, r.lastWrite = v.Ref, values, g.at, s.now()
		if g.status == nil {
			r.status, r.seen = v.Status, s.now()
		}
		if r.changes == g.changes {
			r.dirty, r.predicted, r.resized = 0, false, nil
		}
		r.due = s.next(first)
	})
}

// next is when a VM is read again come what may. After a restart all are read about
// at once: the next time they are spread evenly, as many a minute as ever after.
func (s *vmCache) next(first bool) time.Time {
	jitter := s.fullResync / 5
	if first {
		return s.now().Add(min(s.fullResync/10, spreadAfter) + rand.N(s.fullResync+jitter+1)) //nolint:gosec // Jitter needs no secrecy.
	}
	return s.now().Add(s.fullResync + rand.N(jitter+1)) //nolint:gosec // Jitter needs no secrecy.
}

// inherit a VM that was seen where it was watched before: through another connection
// to the cluster. The list of this one must say the same of it, for it may lead to
// another cluster, or not be let see the VM.
func (s *vmCache) inherit(m objectstate.Object, at watched, g proxmox.Guest) {
	s.at(m, func(r *cacheEntry) {
		if r.values != nil && drift(r.cachedVM(s.now()), g) == 0 {
			r.at = at
		}
	})
}

// seenAt says where a VM was seen that is known.
func (s *vmCache) seenAt(m objectstate.Object) (at watched) {
	s.at(m, func(r *cacheEntry) { at = r.at })
	return at
}

// cached the VM of a Machine, or nil if it has to be looked at. While a task of ours
// runs, what was before is good enough.
func (s *vmCache) cached(m objectstate.Object, id qemu.Identity, at watched, busy bool) *vm {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(m)
	if r == nil || r.values == nil || r.id != id || r.at != at {
		return nil
	}
	if !busy && (r.dirty != 0 || !s.now().Before(r.due)) {
		return nil
	}
	if v := r.cachedVM(s.now()); !v.beingCreated() {
		return v
	}
	return nil // The task of a clone names its source: its end is no sign for the VM.
}

// cachedVM is the VM as it is known.
func (r *cacheEntry) cachedVM(now time.Time) *vm {
	v := &vm{Ref: r.ref, Status: r.statusNow(now)}
	var values []proxmox.PendingValue
	_ = json.Unmarshal(r.values, &values) // We have written it.
	v.read(values)
	return v
}

// statusNow is the status with the uptime that it has by now.
func (r *cacheEntry) statusNow(now time.Time) proxmox.Status {
	st := r.status
	if st.Running() {
		st.Uptime += now.Sub(r.seen)
	}
	return st
}

// proven reports whether the VM was proven ours lately, and only we have done something
// to it since.
func (s *vmCache) proven(m objectstate.Object) (yes bool) {
	s.at(m, func(r *cacheEntry) { yes = r.predicted && r.dirty == 0 && s.now().Sub(r.read) < proofHolds })
	return yes
}

// fresh reports whether the VM was read just now.
func (s *vmCache) fresh(m objectstate.Object) (yes bool) {
	s.at(m, func(r *cacheEntry) { yes = !r.predicted && r.dirty == 0 && s.now().Sub(r.read) < freshFor })
	return yes
}

// predicted reports whether something of the VM is only what it must be after what we did.
func (s *vmCache) predicted(m objectstate.Object) (yes bool) {
	s.at(m, func(r *cacheEntry) { yes = r.predicted })
	return yes
}

// first reports whether the VM has not been seen before.
func (s *vmCache) first(m objectstate.Object) (yes bool) {
	s.at(m, func(r *cacheEntry) { yes = r.values == nil })
	return yes
}

// invalidate what is known of a VM: something was done to it.
func (s *vmCache) invalidate(m objectstate.Object, what dirty) { s.dirtyOf(m, what) }

func (s *vmCache) dirtyOf(uid objectstate.Object, what dirty) {
	s.all.Lock()
	defer s.all.Unlock()
	if r := s.all.Get(uid); r != nil {
		r.dirty |= what
		r.changes++
	}
}

// recordWrite notes that we have done something to a VM.
func (s *vmCache) recordWrite(m objectstate.Object) {
	s.at(m, func(r *cacheEntry) { r.lastWrite = s.now() })
}

// leave where the VM of a Machine was watched before, if that was elsewhere.
func (s *vmCache) leave(m objectstate.Object, at watched) {
	before := s.seenAt(m)
	if before != nil && before != at {
		before.Unwatch(string(m.GetUID()))
	}
}

// forget the VM of a Machine.
func (s *vmCache) forget(m objectstate.Object) {
	s.all.Lock()
	r := s.all.Get(m)
	s.all.Delete(m)
	s.all.Unlock()
	if r != nil && r.at != nil { // Unlocked: who tells of signs has a lock, and asks when the VM was seen.
		r.at.Unwatch(string(m.GetUID()))
	}
}

// size is the number of VMs that are known.
func (s *vmCache) size() int {
	s.all.Lock()
	defer s.all.Unlock()
	return s.all.Len()
}
