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
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// holding makes all tasks wait forever.
type holding struct{}

func (holding) TaskExit(string, string) error           { return nil }
func (holding) HoldTask(string, string) <-chan struct{} { return make(chan struct{}) }
func (holding) RefuseTask(string, string) error         { return nil }

// TestLostBeforeItBegins loses a node between a call and the worker of the task that the call has started. The worker must end and keep no lock.
func TestLostBeforeItBegins(t *testing.T) {
	facts, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Pace{Clock: WallClock{}, Speed: 1}, facts, holding{})
	defer s.Close()
	s.Begin(&state.State{})
	task := &state.Task{Type: "qmcreate", ID: "100"}
	task.Lose()
	sp := &spawned{task: task, ended: make(chan struct{}), work: func(w *Worker) error {
		return w.Locked(100, Exclusive, time.Minute, func() error { return w.PauseFor("qmcreate") })
	}}
	s.run(sp)
	select {
	case <-sp.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the worker of a task whose node is down never ends")
	}
	if free, _ := s.Locks.Try(100, Exclusive); !free {
		t.Error("the lock of the VM must be free")
	}
}
