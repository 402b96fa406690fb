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
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/proxmoxtest"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// outOfTurn returns the error of a call that must wait for its turn.
func outOfTurn(t *testing.T) error {
	t.Helper()
	c, err := proxmox.New(proxmox.Config{
		Endpoints: []string{"https://192.0.2.1"}, Credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
		Limits: proxmox.Limits{Tasks: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ReserveCreate(proxmox.Ref{Node: "pve1", VMID: 100}); err != nil {
		t.Fatal(err)
	}
	return c.ReserveCreate(proxmox.Ref{Node: "pve1", VMID: 101})
}

func waitsForTurn(t *testing.T, s reconcileResult) {
	t.Helper()
	if _, ok := proxmox.Waiting(s.err); !ok {
		t.Fatalf("want that it waits for its turn, got %v", s.err)
	}
}

// TestCreationWaitsForItsTurn checks that a Machine shows without an error that its VM is created later, and that nothing is tried before.
func TestCreationWaitsForItsTurn(t *testing.T) {
	b := newBench(t, nil)
	b.errs["Keep"] = outOfTurn(t)
	waitsForTurn(t, b.reconcile(t.Context()))
	if b.writes != nil {
		t.Errorf("nothing may be tried before its turn: %v", b.writes)
	}
	ready, made := b.m.GetCondition(xpv2.TypeReady), b.m.GetCondition(conditions.TypeVMCreated)
	if ready.Reason != xpv2.ReasonCreating || made.Reason != conditions.ReasonCreating || made.Status != corev1.ConditionFalse {
		t.Errorf("conditions are %v and %v, want that it is being created", ready, made)
	}
	want := "the VM is not created yet: it waits for its turn: as many tasks of this provider run as limits.concurrentTasks (1) allows"
	if ready.Message != want || b.m.Observation().Phase != v1alpha1.MachinePending {
		t.Errorf("phase is %s, message is\n%s, want\n%s", b.m.Observation().Phase, ready.Message, want)
	}
	delete(b.errs, "Keep")
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 1 {
		t.Errorf("its turn has come: %v, %v", s, b.writes)
	}
}

// TestTaskWaitsForItsTurn checks that a VM shows that its next task starts later, and that it then does.
func TestTaskWaitsForItsTurn(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.vms[10000].now.HAManaged = true
	b.errs["Start"] = outOfTurn(t)
	waitsForTurn(t, b.reconcile(t.Context()))
	if m := b.m.GetCondition(xpv2.TypeReady).Message; !strings.Contains(m, "the next task of the VM is yet to start: it waits for its turn") {
		t.Errorf("Ready says %q", m)
	}
	delete(b.errs, "Start")
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 {
		t.Errorf("HA was asked for nothing yet, so it is to be asked now: %v, %v", s, b.writes)
	}
}

// TestLostAnswer checks that a call with an unknown outcome is looked for in the current tasks, whatever causes the reconcile, and is repeated only
// if it was not there.
func TestLostAnswer(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.errs["Start"] = proxmoxtest.LostAnswer(t)
	if s := b.reconcile(t.Context()); s.err == nil {
		t.Fatal("the answer was lost")
	}
	started := len(b.writes)
	looks := func(reason string) {
		t.Helper()
		if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != started {
			t.Errorf("%s: %v, %v", reason, s, b.writes)
		}
	}
	delete(b.errs, "Start")
	looks("what was sent may still arrive")
	b.clock.wait(tasktrack.Arrival)
	b.errs["RecentTasks"] = refused(500, "this list is of before the call")
	b.pve.tasks = []proxmox.Task{{UPID: upid("pve1", "qmstart", 10000), ID: "10000", Running: true}}
	looks("it has arrived")
	b.pve.tasks = nil
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != started+1 {
		t.Errorf("it did not arrive, or came to nothing: %v, %v", s, b.writes)
	}
}
