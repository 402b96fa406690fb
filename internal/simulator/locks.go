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
	"context"
	"fmt"
	"sync"
	"time"
)

// lockTable holds the locks of guests' configuration files, as flock holds them on a real node.
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

// lockMode is how a lock is held.
type lockMode bool

const (
	shared    lockMode = false
	exclusive lockMode = true
)

func (l *guestLock) take(mode lockMode) bool {
	if l.exclusive || (mode == exclusive && l.shared > 0) {
		return false
	}
	if mode == exclusive {
		l.exclusive = true
	} else {
		l.shared++
	}
	return true
}

// try takes the lock or returns a channel that closes when somebody releases it.
func (t *lockTable) try(vmid int, mode lockMode) (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[vmid]
	if l == nil {
		l = &guestLock{changed: make(chan struct{})}
		t.locks[vmid] = l
	}
	return l.take(mode), l.changed
}

// acquire waits for the lock until the deadline or the end of ctx and reports whether it has it.
func (t *lockTable) acquire(ctx context.Context, vmid int, mode lockMode, deadline <-chan time.Time) bool {
	for {
		ok, changed := t.try(vmid, mode)
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

func (t *lockTable) release(vmid int, mode lockMode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[vmid]
	if mode == exclusive {
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

// Waits for locks as qemu-server has them.
const (
	configLockWait = 10 * time.Second
	briefLockWait  = time.Second
	// storageLockWait is that of pve-storage, for a storage of one node as for a shared one.
	storageLockWait = 10 * time.Second
)

// lockTimeout is what a call or task says when it did not get a lock.
func lockTimeout(vmid int) error {
	return die("can't lock file '/var/lock/qemu-server/lock-%d.conf' - got timeout", vmid)
}

// withLock runs fn while the guest's lock is held.
func (s *engine) withLock(ctx context.Context, vmid int, mode lockMode, wait time.Duration, fn func() error) error {
	if !s.locks.acquire(ctx, vmid, mode, s.clock.After(s.lockWait(wait))) {
		return lockTimeout(vmid)
	}
	defer s.locks.release(vmid, mode)
	return fn()
}

// withStorage runs fn while the storage's lock is held, as PVE::Storage does where it makes a volume from another one: on one node
// for a storage of its own, in the cluster for a shared one.
func (w *worker) withStorage(id string, fn func() error) error {
	key, line := "storage-"+id, fmt.Sprintf("trying to acquire cfs lock 'storage-%s' ...", id)
	late := die("cfs-lock 'storage-%s' error: got lock request timeout", id)
	if !w.sharedStorage(id) {
		key, line = w.task.Node+"/"+key, "trying to acquire lock..."
		late = die("can't lock file '/var/lock/pve-manager/pve-storage-%s' - got timeout", id)
	}
	lock := w.s.storageLocks.of(key)
	select {
	case lock <- struct{}{}:
	default:
		w.logf("%s", line)
		select {
		case lock <- struct{}{}:
		case <-w.s.clock.After(w.s.lockWait(storageLockWait)):
			return late
		case <-w.ctx.Done():
			return errInterrupted
		}
	}
	defer func() { <-lock }()
	return fn()
}

// queues are locks that are given in the order of coming: who has put something into a lock's channel has the lock.
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

func (w *worker) sharedStorage(id string) (shared bool) {
	w.s.update(func(st *State) {
		s := st.Storages[id]
		shared = s != nil && s.Shared
	})
	return shared
}
