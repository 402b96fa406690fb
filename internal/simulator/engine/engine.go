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

// Package engine runs the methods of the API: it checks parameters and permissions, holds the locks of the state, of guests and of
// storages, and runs tasks. The behaviour of the methods is in the packages below api, which register it by their routes.
package engine

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// An Engine runs the API's methods and the tasks that they start on the state of a cluster.
type Engine struct {
	Pace
	Facts *schema.Facts
	// Routes holds the behaviour of the API's methods.
	Routes map[string]Handler
	// Durations holds how long the work of each kind of task takes.
	Durations map[string]time.Duration
	// Reports is how often nodes report their guests if tasks are instant.
	Reports time.Duration
	// creation and change are the parameters of the creation and the change of a VM.
	creation, change schema.Properties
	parsed           parseCache
	Locks            *lockTable
	// storageLocks holds the locks of storages: shared ones by name, others by node and name.
	storageLocks *queues
	taskFaults   taskFaults
	// BeforeChange runs before each change of the state and before each call. It simulates what nodes do by themselves.
	BeforeChange []func(*Op)
	// ChangeCount counts possible changes of the state.
	ChangeCount atomic.Uint64
	// Certificate is the certificate of the server.
	Certificate []byte

	Mu    sync.Mutex
	State *state.State
	// Reported is when the nodes last reported their guests.
	Reported time.Time
	// Replicated is when the nodes last checked for replication jobs that are due.
	Replicated time.Time
	// Secret signs tickets.
	Secret []byte

	Workers sync.WaitGroup
	// root ends with the engine. Ctx also ends at a reset. Both end the workers.
	root, Ctx       context.Context //nolint:containedctx // Workers live as long as the state that they work on.
	Stop, Interrupt context.CancelFunc
}

// taskFaults holds the faults that affect tasks.
type taskFaults interface {
	// TaskExit returns the error that a task of a kind is to end with, if there is one.
	TaskExit(kind, id string) error
	// HoldTask returns a channel that is closed when a task of a kind may continue, or nil if nothing holds it.
	HoldTask(kind, id string) <-chan struct{}
	// RefuseTask returns the error of a task that cannot start, if there is one.
	RefuseTask(kind, id string) error
}

// New returns an engine without a state.
func New(p Pace, facts *schema.Facts, faults taskFaults) *Engine {
	s := &Engine{
		Pace: p, Facts: facts, Durations: durations(), taskFaults: faults, Secret: random.Bytes(32),
		creation: facts.Parameters("POST", "/nodes/any/qemu"), change: facts.Parameters("PUT", "/nodes/any/qemu/100/config"),
		Locks: newLockTable(), storageLocks: &queues{locks: map[string]chan struct{}{}},
	}
	s.root, s.Stop = context.WithCancel(context.Background())
	return s
}

// Close ends the tasks and returns when they have ended.
func (s *Engine) Close() {
	s.Stop()
	s.Workers.Wait()
}

// Begin sets the state. Nothing may use the old state.
func (s *Engine) Begin(state *state.State) {
	s.State = state
	s.Ctx, s.Interrupt = context.WithCancel(s.root) //nolint:gosec // Reset calls Interrupt, and Close cancels the root that it is below.
}

// Op returns an Op for root@pam. The state must be held.
func (s *Engine) Op(node string) *Op {
	return &Op{Engine: s, State: s.State, Who: state.Root, Node: node}
}

// collect simulates what the nodes do by themselves. The state must be held.
func (s *Engine) collect() {
	for _, fn := range s.BeforeChange {
		fn(s.Op(""))
	}
}

// Update runs fn with exclusive access to the state.
func (s *Engine) Update(fn func(*state.State)) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.collect()
	fn(s.State)
	s.ChangeCount.Add(1)
}

// Guest returns a copy of a guest and whether it exists.
func (s *Engine) Guest(vmid int) (state.Guest, bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	g, ok := s.State.Guests[vmid]
	if !ok {
		return state.Guest{}, false
	}
	out := *g
	out.Config, out.Pending, out.Delete = maps.Clone(g.Config), maps.Clone(g.Pending), maps.Clone(g.Delete)
	out.Snapshots = maps.Clone(g.Snapshots)
	return out, true
}

// Tasks returns copies of the tasks, oldest first.
func (s *Engine) Tasks() []state.Task {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	out := make([]state.Task, 0, len(s.State.Tasks))
	for _, t := range s.State.Tasks {
		out = append(out, *t)
	}
	return out
}
