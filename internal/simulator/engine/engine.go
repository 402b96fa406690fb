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

// Engine runs the API's methods and the tasks that they start on the state of a cluster.
type Engine struct {
	Pace
	Facts *schema.Facts
	// Routes are the behaviour of the API's methods.
	Routes map[string]Handler
	// Durations are how long the work of each kind of task takes.
	Durations map[string]time.Duration
	// Reports is how often nodes report their guests where tasks are instant.
	Reports time.Duration
	// creation and change are the parameters of creating and changing a VM.
	creation, change schema.Properties
	parsed           parseCache
	Locks            *lockTable
	// storageLocks are the locks of storages: of shared ones by their name, of others by node and name.
	storageLocks *queues
	taskFaults   taskFaults
	// BeforeChange runs before each change of the state and before each call: what nodes do by themselves.
	BeforeChange []func(*Op)
	// ChangeCount counts what may have changed the state.
	ChangeCount atomic.Uint64
	// Certificate is what the server presents.
	Certificate []byte

	Mu    sync.Mutex
	State *state.State
	// Reported is when the nodes last reported their guests.
	Reported time.Time
	// Replicated is when the nodes last looked for replication jobs that are due.
	Replicated time.Time
	// Secret signs tickets.
	Secret []byte

	Workers sync.WaitGroup
	// root ends when the engine does, ctx also at a reset; both end the workers.
	root, Ctx       context.Context //nolint:containedctx // Workers live as long as the state that they work on.
	Stop, Interrupt context.CancelFunc
}

// taskFaults are the faults that hit tasks.
type taskFaults interface {
	// TaskExit returns the error that a task of a kind is to end with, if there is one.
	TaskExit(kind, id string) error
	// HoldTask returns what is closed when a task of a kind may go on; nil if nothing holds it.
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

// Begin sets the state to work on. Nothing may work on the old one.
func (s *Engine) Begin(state *state.State) {
	s.State = state
	s.Ctx, s.Interrupt = context.WithCancel(s.root) //nolint:gosec // Reset calls Interrupt, and Close cancels the root that it is below.
}

// Op returns work on the state for root@pam. The state must be held.
func (s *Engine) Op(node string) *Op {
	return &Op{Engine: s, State: s.State, Who: state.Root, Node: node}
}

// collect lets the nodes do what they do by themselves. The state must be held.
func (s *Engine) collect() {
	for _, fn := range s.BeforeChange {
		fn(s.Op(""))
	}
}

// Update runs fn on the state, alone.
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
