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
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// engine runs the API's methods and the tasks that they start on the state of a cluster.
type engine struct {
	pace
	facts *schema.Facts
	// routes are the behaviour of the API's methods.
	routes map[string]handler
	// durations are how long the work of each kind of task takes.
	durations map[string]time.Duration
	// reports is how often nodes report their guests where tasks are instant.
	reports time.Duration
	// creation and change are the parameters of creating and changing a VM.
	creation, change schema.Properties
	parsed           parseCache
	locks            *lockTable
	// storageLocks are the locks of storages: of shared ones by their name, of others by node and name.
	storageLocks *queues
	taskFaults   taskFaults
	// beforeChange runs before each change of the state and before each call: what nodes do by themselves.
	beforeChange []func(*op)
	// changes counts what may have changed the state.
	changes atomic.Uint64
	// certificate is what the server presents.
	certificate []byte

	mu    sync.Mutex
	state *State
	// reported is when the nodes last reported their guests.
	reported time.Time
	// replicated is when the nodes last looked for replication jobs that are due.
	replicated time.Time
	// secret signs tickets.
	secret []byte

	workers sync.WaitGroup
	// root ends when the engine does, ctx also at a reset; both end the workers.
	root, ctx       context.Context //nolint:containedctx // Workers live as long as the state that they work on.
	stop, interrupt context.CancelFunc
}

// taskFaults are the faults that hit tasks.
type taskFaults interface {
	// TaskExit returns the error that a task of a kind is to end with, if there is one.
	TaskExit(kind, id string) error
	// RefuseTask returns the error of a task that cannot start, if there is one.
	RefuseTask(kind, id string) error
}

// newEngine returns an engine without a state.
func newEngine(p pace, facts *schema.Facts, faults taskFaults) *engine {
	s := &engine{
		pace: p, facts: facts, durations: durations(), taskFaults: faults, secret: randomBytes(32),
		creation: facts.Parameters("POST", "/nodes/any/qemu"), change: facts.Parameters("PUT", "/nodes/any/qemu/100/config"),
		locks: newLockTable(), storageLocks: &queues{locks: map[string]chan struct{}{}},
	}
	s.root, s.stop = context.WithCancel(context.Background())
	return s
}

// close ends the tasks and returns when they have ended.
func (s *engine) close() {
	s.stop()
	s.workers.Wait()
}

// begin sets the state to work on. Nothing may work on the old one.
func (s *engine) begin(state *State) {
	s.state = state
	s.ctx, s.interrupt = context.WithCancel(s.root)
}

// op returns work on the state for root@pam. The state must be held.
func (s *engine) op(node string) *op { return &op{s: s, st: s.state, who: root, node: node} }

// collect lets the nodes do what they do by themselves. The state must be held.
func (s *engine) collect() {
	for _, fn := range s.beforeChange {
		fn(s.op(""))
	}
}

// update runs fn on the state, alone.
func (s *engine) update(fn func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect()
	fn(s.state)
	s.changes.Add(1)
}

// Guest returns a copy of a guest and whether it exists.
func (s *engine) Guest(vmid int) (Guest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.state.Guests[vmid]
	if !ok {
		return Guest{}, false
	}
	out := *g
	out.Config, out.Pending, out.Delete = maps.Clone(g.Config), maps.Clone(g.Pending), maps.Clone(g.Delete)
	out.Snapshots = maps.Clone(g.Snapshots)
	return out, true
}

// Tasks returns copies of the tasks, oldest first.
func (s *engine) Tasks() []Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Task, 0, len(s.state.tasks))
	for _, t := range s.state.tasks {
		out = append(out, *t)
	}
	return out
}
