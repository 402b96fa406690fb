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

package proxmox

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// traceFor is how long a line of the log may be late that a call of ours makes.
	traceFor = 30 * time.Second

	// tasksFor is how long a task of ours is known to be that.
	tasksFor = 24 * time.Hour
)

// ownCalls are what the calls of a Client leave in the cluster's lists of tasks and
// in its log, so that nobody takes them for the work of others. That the user is
// the same says nothing: several may use one token.
type ownCalls struct {
	user  string
	clock func() time.Time

	mu    sync.Mutex
	calls map[string]int // under way, by the VMID
	lines map[string]int // those of them that have a line
	tasks map[UPID]time.Time

	// pendingLines are the lines that are yet to come, by the VMID; early those that came
	// before the answer of their call.
	pendingLines map[string][]time.Time
	early        map[string]int
}

func newOwnCalls(user string, clock func() time.Time) *ownCalls {
	return &ownCalls{
		user: user, clock: clock,
		calls: map[string]int{}, lines: map[string]int{}, tasks: map[UPID]time.Time{}, pendingLines: map[string][]time.Time{}, early: map[string]int{},
	}
}

// target is the VMID of the VM that a request changes, or empty.
func (r request) target() string {
	if !r.writes() || !strings.HasPrefix(r.path, "/nodes/{node}/qemu") {
		return ""
	}
	if len(r.args) > 1 {
		return r.args[1]
	}
	return r.form["vmid"]
}

// logged reports whether PVE has a line of the log for a request besides that of its
// task.
func (r request) logged() bool {
	_, what, _ := strings.Cut(r.path, "{vmid}")
	return slices.Contains([]string{"/config", "/resize", "/move_disk", "/unlink"}, what)
}

// expectTask notes that a task may be started by what is about to be done.
func (t *ownCalls) expectTask(r request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count(t.calls, r.target(), 1)
}

// release notes that it is known which task was started, if any.
func (t *ownCalls) release(r request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count(t.calls, r.target(), -1)
}

// enter notes that a request is about to be made.
func (t *ownCalls) enter(r request) {
	t.expectTask(r)
	if r.logged() {
		t.mu.Lock()
		defer t.mu.Unlock()
		count(t.lines, r.target(), 1)
	}
}

// leave notes that a request was answered, and whether it was carried out.
func (t *ownCalls) leave(r request, done bool) {
	t.release(r)
	vmid := r.target()
	if vmid == "" || !r.logged() {
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

// count adds to the number of a VM, if it is one. None is not kept.
func count(n map[string]int, vmid string, more int) {
	if n[vmid] += more; n[vmid] <= 0 || vmid == "" {
		delete(n, vmid)
	}
}

// started notes a task of ours.
func (t *ownCalls) started(u UPID) {
	if u == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	maps.DeleteFunc(t.tasks, func(_ UPID, at time.Time) bool { return now.Sub(at) > tasksFor })
	t.tasks[u] = now
}

// startedByUs reports whether a task is ours, or may turn out to be: a call is under way
// that may have started it.
func (t *ownCalls) startedByUs(u UPID) (sure, maybe bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, sure = t.tasks[u]
	return sure, !sure && u.User() == t.user && t.calls[u.ID()] > 0
}

// loggedByUs reports whether a line about a VM is that of a call of ours. Each call has one.
func (t *ownCalls) loggedByUs(vmid, user string) bool {
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

// due are the lines that are yet to come, those left out that are too late.
func (t *ownCalls) due(vmid string) []time.Time {
	return slices.DeleteFunc(t.pendingLines[vmid], func(at time.Time) bool { return t.clock().Sub(at) > traceFor })
}

// StartedByUs reports whether this Client has started a task. While a call is under way
// that may turn out to have done so, it may only be.
func (c TaskAPI) StartedByUs(u UPID) (sure, maybe bool) { return c.ownCalls.startedByUs(u) }

// LoggedByUs reports whether a line of the log, which names a VM, is of a call of this
// Client. It must be asked once for each line.
func (c TaskAPI) LoggedByUs(vmid, user string) bool { return c.ownCalls.loggedByUs(vmid, user) }
