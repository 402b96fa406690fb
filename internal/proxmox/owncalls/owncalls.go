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

// Package owncalls distinguishes the tasks and log lines of our own calls in a cluster from those of others. Without it, each change by us would be a
// reason to read the VM again, and TestBudgets of internal/controller would fail (linked and resized).
package owncalls

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// traceFor is how late the log line of one of our calls may be.
	traceFor = 30 * time.Second

	// tasksFor is how long our own tasks are remembered.
	tasksFor = 24 * time.Hour
)

// A Task has a name that shows who started it.
type Task interface {
	comparable

	// ID is the VMID of the VM on which the task works.
	ID() string

	// User who has started the task.
	User() string
}

// A Call is one of our own calls.
type Call struct {
	// VMID of the VM that the call changes, or empty.
	VMID string

	// Logged is true if PVE logs a line for the call in addition to that of its task.
	Logged bool
}

// Calls holds the traces that the calls of a client leave in the cluster's lists of tasks and in its log, so that they are not taken for changes by
// others. The user alone does not show this, because several programs may use one token.
type Calls[T Task] struct {
	user  string
	clock func() time.Time

	mu    sync.Mutex
	calls map[string]int // calls that are running, by the VMID
	lines map[string]int // those of them with a log line
	tasks map[T]time.Time

	// pendingLines are the expected log lines, by the VMID. early counts the lines that arrived before the answer of their call.
	pendingLines map[string][]time.Time
	early        map[string]int
}

// New returns the calls of a client of a user, without any calls yet.
func New[T Task](user string, clock func() time.Time) *Calls[T] {
	return &Calls[T]{
		user: user, clock: clock,
		calls: map[string]int{}, lines: map[string]int{}, tasks: map[T]time.Time{}, pendingLines: map[string][]time.Time{}, early: map[string]int{},
	}
}

// ExpectTask records that a task may be started by the next operation.
func (t *Calls[T]) ExpectTask(c Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count(t.calls, c.VMID, 1)
}

// Release records that it is known which task was started, if any.
func (t *Calls[T]) Release(c Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count(t.calls, c.VMID, -1)
}

// Enter records that a request is about to be made.
func (t *Calls[T]) Enter(c Call) {
	t.ExpectTask(c)
	if c.Logged {
		t.mu.Lock()
		defer t.mu.Unlock()
		count(t.lines, c.VMID, 1)
	}
}

// Leave records that a request was answered, and whether it was carried out.
func (t *Calls[T]) Leave(c Call, done bool) {
	t.Release(c)
	vmid := c.VMID
	if vmid == "" || !c.Logged {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	count(t.lines, vmid, -1)
	switch {
	case t.early[vmid] > 0 && (done || t.early[vmid] > t.lines[vmid]):
		count(t.early, vmid, -1)
	case done:
		t.pendingLines[vmid] = append(t.due(vmid), t.clock())
	}
}

// count adds to the number of a VM. It deletes numbers that are not positive, and ignores an empty VMID.
func count(n map[string]int, vmid string, more int) {
	if n[vmid] += more; n[vmid] <= 0 || vmid == "" {
		delete(n, vmid)
	}
}

// Started records a task that we have started.
func (t *Calls[T]) Started(u T) {
	var none T
	if u == none {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	maps.DeleteFunc(t.tasks, func(_ T, at time.Time) bool { return now.Sub(at) > tasksFor })
	t.tasks[u] = now
}

// StartedByUs reports whether a task is surely ours, and whether it may turn out to be because a running call may have started it.
func (t *Calls[T]) StartedByUs(u T) (sure, maybe bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, sure = t.tasks[u]
	return sure, !sure && u.User() == t.user && t.calls[u.ID()] > 0
}

// LoggedByUs reports whether a log line about a VM is from one of our calls. Each call has one line.
func (t *Calls[T]) LoggedByUs(vmid, user string) bool {
	if user != t.user {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	owed := t.due(vmid)
	delete(t.pendingLines, vmid)
	if len(owed) > 1 {
		t.pendingLines[vmid] = owed[1:]
	}
	if len(owed) == 0 && t.early[vmid] < t.lines[vmid] {
		t.early[vmid]++
		return true
	}
	return len(owed) > 0
}

// due returns the expected lines, without those that are too late.
func (t *Calls[T]) due(vmid string) []time.Time {
	return slices.DeleteFunc(t.pendingLines[vmid], func(at time.Time) bool { return t.clock().Sub(at) > traceFor })
}
