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

package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// lockTable holds the locks of guests' configuration files, which a real node holds with flock.
type lockTable struct {
	mu    sync.Mutex
	locks map[int]*guestLock
}

type guestLock struct {
	exclusive bool
	shared    int
	changed   chan struct{}
}

func newLockTable() *lockTable { return &lockTable{locks: map[int]*guestLock{}} }

// lockMode is the mode of a lock.
type lockMode bool

const (
	// Shared locks may be held by several holders at the same time.
	Shared lockMode = false
	// Exclusive locks have a single holder.
	Exclusive lockMode = true
)

func (l *guestLock) take(mode lockMode) bool {
	if l.exclusive || (mode == Exclusive && l.shared > 0) {
		return false
	}
	if mode == Exclusive {
		l.exclusive = true
	} else {
		l.shared++
	}
	return true
}

// Try takes the lock, or returns a channel that is closed when the lock is released.
func (t *lockTable) Try(vmid int, mode lockMode) (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[vmid]
	if l == nil {
		l = &guestLock{changed: make(chan struct{})}
		t.locks[vmid] = l
	}
	return l.take(mode), l.changed
}

// acquire waits for the lock until the deadline or the end of ctx, and reports whether it has the lock.
func (t *lockTable) acquire(ctx context.Context, vmid int, mode lockMode, deadline <-chan time.Time) bool {
	for {
		ok, changed := t.Try(vmid, mode)
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-deadline:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (t *lockTable) Release(vmid int, mode lockMode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[vmid]
	if mode == Exclusive {
		l.exclusive = false
	} else {
		l.shared--
	}
	close(l.changed)
	l.changed = make(chan struct{})
	if !l.exclusive && l.shared == 0 {
		delete(t.locks, vmid)
	}
}

// The lock timeouts of qemu-server.
const (
	ConfigLockWait = 10 * time.Second
	BriefLockWait  = time.Second
	// StorageLockWait is the lock timeout of pve-storage, for local and shared storages.
	StorageLockWait = 10 * time.Second
)

// lockTimeout returns the error of a call or task that did not get a lock.
func lockTimeout(vmid int) error {
	return apierr.Errorf("can't lock file '/var/lock/qemu-server/lock-%d.conf' - got timeout", vmid)
}

// withLock runs fn while the guest's lock is held.
func (s *Engine) withLock(ctx context.Context, vmid int, mode lockMode, wait time.Duration, fn func() error) error {
	if !s.Locks.acquire(ctx, vmid, mode, s.Clock.After(s.lockWait(wait))) {
		return lockTimeout(vmid)
	}
	defer s.Locks.Release(vmid, mode)
	return fn()
}

// WithStorage runs fn while the storage's lock is held, like PVE::Storage when it creates a volume from another one. The lock of a local storage applies
// to one node, that of a shared one to the cluster.
func (w *Worker) WithStorage(id string, fn func() error) error {
	key, line := "storage-"+id, fmt.Sprintf("trying to acquire cfs lock 'storage-%s' ...", id)
	late := apierr.Errorf("cfs-lock 'storage-%s' error: got lock request timeout", id)
	if !w.sharedStorage(id) {
		key, line = w.Task.Node+"/"+key, "trying to acquire lock..."
		late = apierr.Errorf("can't lock file '/var/lock/pve-manager/pve-storage-%s' - got timeout", id)
	}
	lock := w.Engine.storageLocks.of(key)
	select {
	case lock <- struct{}{}:
	default:
		w.Logf("%s", line)
		select {
		case lock <- struct{}{}:
		case <-w.Engine.Clock.After(w.Engine.lockWait(StorageLockWait)):
			return late
		case <-w.Ctx.Done():
			return errInterrupted
		}
	}
	defer func() { <-lock }()
	return fn()
}

// WithBackups runs fn while the node's lock for backups is held. One backup runs at a time on a node, and the others wait up to the maximum.
func (w *Worker) WithBackups(longest time.Duration, fn func() error) error {
	lock := w.Engine.storageLocks.of(w.Task.Node + "/vzdump")
	select {
	case lock <- struct{}{}:
	default:
		w.Logf("INFO: trying to get global lock - waiting...")
		select {
		case lock <- struct{}{}:
			w.Logf("INFO: got global lock")
		case <-w.Engine.Clock.After(w.Engine.lockWait(longest)):
			w.Logf("ERROR: can't acquire lock '/var/run/vzdump.lock' - got timeout")
			return apierr.Errorf("can't acquire lock '/var/run/vzdump.lock' - got timeout")
		case <-w.Ctx.Done():
			return errInterrupted
		}
	}
	defer func() { <-lock }()
	return fn()
}

// queues holds locks that are granted in order of arrival. The sender of a value into a lock's channel has the lock.
type queues struct {
	mu    sync.Mutex
	locks map[string]chan struct{}
}

func (q *queues) of(key string) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.locks[key] == nil {
		q.locks[key] = make(chan struct{}, 1)
	}
	return q.locks[key]
}

func (w *Worker) sharedStorage(id string) (shared bool) {
	w.Engine.Update(func(st *state.State) {
		s := st.Storages[id]
		shared = s != nil && s.Shared
	})
	return shared
}

// LockGuest takes the lock of a guest like a process of PVE, and reports whether it got it in time.
func (s *Engine) LockGuest(ctx context.Context, vmid int) bool {
	return s.Locks.acquire(ctx, vmid, Exclusive, s.Clock.After(s.lockWait(ConfigLockWait)))
}

// Wait waits for a simulated duration, and reports whether the context is still valid afterwards.
func (s *Engine) Wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-s.Clock.After(s.Scale(d)):
		return true
	case <-ctx.Done():
		return false
	}
}

// Runs reports whether a guest of a state is running. The state must not be held.
func (s *Engine) Runs(st *state.State, vmid int) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	g := st.Guests[vmid]
	return g != nil && g.Power != state.Stopped
}
