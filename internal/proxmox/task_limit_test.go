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
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox/tasklimit"
)

// oneTask is a connection that may start one task at once.
func oneTask() *conn {
	return &conn{limiter: tasklimit.New[UPID](taskLimits(Limits{Tasks: 1}), "u@pve!t", newManualClock().Now)}
}

const ownStart, ownConsole UPID = "UPID:a:00000001:000629DA:6B00B985:qmstart:1:u@pve!t:", "UPID:b:00000002:000629DA:6B00B985:vncproxy:100:u@pve!t:"

func came(turn *tasklimit.Turn) (yes bool) {
	turn.Then(func() { yes = true })
	return yes
}

func TestConsolesDoNotCount(t *testing.T) {
	c := oneTask()
	c.observeTasks([]Task{{UPID: ownConsole, Type: "vncproxy", Running: true}}, true)
	if err := c.reserve(creation(Ref{Node: "a", VMID: 2}, nil)); err != nil {
		t.Errorf("a console that is open is no task to wait for: %v", err)
	}
}

func TestCreationsWaitInOrder(t *testing.T) {
	c := oneTask()
	c.observeTasks([]Task{{UPID: ownStart, Type: "qmstart", Running: true}}, true)
	waits := func(vmid int) *tasklimit.Turn {
		err := c.reserve(creation(Ref{Node: "a", VMID: vmid}, nil))
		turn, ok := Waiting(err)
		if err == nil || !ok || ClassOf(err) != ClassConflict || IsOutcomeUnknown(err) {
			t.Fatalf("VM %d: got %v, want that it waits for its turn", vmid, err)
		}
		return turn
	}
	first, second := waits(2), waits(3)
	c.observeTasks([]Task{{UPID: ownStart, Type: "qmstart"}}, true)
	if !came(first) || came(second) {
		t.Error("two that are created on one node are two that wait")
	}
}

func TestClonesNameTheirSource(t *testing.T) {
	r := cloning(Ref{Node: "pve1", VMID: 9000}, CloneOptions{NewID: 101}).limited()
	if r.Node != "pve1" || r.Source != "9000" || r.Key == cloning(Ref{Node: "pve1", VMID: 9000}, CloneOptions{NewID: 102}).limited().Key {
		t.Errorf("a clone counts for its node and its source, and each has a turn of its own: got %+v", r)
	}
}
