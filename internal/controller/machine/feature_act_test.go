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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
)

// TestRecordedRollback checks that a rollback that was begun counts as begun without its annotation.
func TestRecordedRollback(t *testing.T) {
	m := newBench(t, nil).m
	m.Status.AtProvider.Rollback = &v1alpha1.MachineRollbackObservation{Token: "1", State: v1alpha1.ActPending}
	if r, err := act.Recorded(rollback.Kind{}, m); err != nil || r.Token != "" {
		t.Errorf("one that was not begun may be done, got %+v and %v", r, err)
	}
	m.Status.AtProvider.Rollback.State = v1alpha1.ActRollingBack
	if r, err := act.Recorded(rollback.Kind{}, m); err != nil || r.Token != "1" || !r.Final() {
		t.Errorf("one that was begun is never repeated, got %+v and %v", r, err)
	}
	m.Annotations[object.AnnotationRollback] = "?"
	if _, err := act.Recorded(rollback.Kind{}, m); err == nil {
		t.Error("an annotation that cannot be read is an error: a rollback may have been done")
	}
}

// TestRollbackStart checks that Proxmox VE is told to start a VM that ran if nothing else starts it.
func TestRollbackStart(t *testing.T) {
	cases := map[string]struct {
		strategy string
		want     bool
	}{
		power.Always: {power.Always, false}, power.Halted: {power.Halted, false}, power.Manual: {power.Manual, true},
		power.RerunOnFailure: {power.RerunOnFailure, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, runStrategy(tc.strategy))
			if tc.strategy == power.Always || tc.strategy == power.RerunOnFailure {
				b.m.Spec.ForProvider.PowerState = new(v1alpha1.PowerStateRunning)
			}
			b.vms[10000] = ourVM("stopped")
			b.m.Spec.ForProvider.Rollback = &v1alpha1.MachineRollback{Snapshot: "s1", Token: "1"}
			e := b.external()
			if _, err := e.Observe(t.Context(), b.m); err != nil {
				t.Fatal(err)
			}
			if got := e.planned.leavesOff(e.vm); got != tc.want {
				t.Errorf("start: got %t, want %t", got, tc.want)
			}
		})
	}
}

// TestRollbackWhilePaused checks that a rollback waits for a VM that is to be off, also while that is resumed to be shut down. A VM that is to be
// paused is not started.
func TestRollbackWhilePaused(t *testing.T) {
	cases := map[string]struct {
		reason   string
		power    v1alpha1.PowerState
		stopping bool
	}{
		"Stopped": {reason: "A paused VM is resumed to be shut down.", power: v1alpha1.PowerStateStopped, stopping: true},
		"Running": {reason: "A paused VM is resumed to run.", power: v1alpha1.PowerStateRunning},
		"Paused":  {reason: "A VM that is to be paused stays as it is.", power: v1alpha1.PowerStatePaused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, powerState(tc.power))
			b.vms[10000] = qmp("paused")
			e := b.external()
			if _, err := e.Observe(t.Context(), b.m); err != nil {
				t.Fatal(err)
			}
			if p := e.planned; p.stops(e.vm) != tc.stopping || p.leavesOff(e.vm) {
				t.Errorf("%s\nstopping %t, start %t", tc.reason, p.stops(e.vm), p.leavesOff(e.vm))
			}
		})
	}
}

// TestHeldPower checks that a VM that is to run, and is off for an act, is not ready.
func TestHeldPower(t *testing.T) {
	cases := map[string]struct {
		reason   string
		recorded *act.Record
		want     string
	}{
		"Begins": {reason: "The act comes before the start.", want: "the VM is not running yet: it waits for rollback"},
		"Done": {
			reason: "The act was done before.", recorded: &act.Record{Token: "1", State: v1alpha1.ActSucceeded},
			want: "the VM is not running yet",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, powerState(v1alpha1.PowerStateRunning))
			b.vms[10000] = ourVM("stopped")
			b.m.Spec.ForProvider.Rollback = &v1alpha1.MachineRollback{Snapshot: "s1", Token: "1"}
			if tc.recorded != nil {
				meta.AddAnnotations(b.m, map[string]string{object.AnnotationRollback: tc.recorded.String()})
			}
			if _, err := b.external().Observe(t.Context(), b.m); err != nil {
				t.Fatal(err)
			}
			ready := b.m.GetCondition(xpv2.TypeReady)
			if ready.Status != corev1.ConditionFalse || ready.Reason != conditions.ReasonPowerMismatch || ready.Message != tc.want {
				t.Errorf("%s\nwant %q, got %+v", tc.reason, tc.want, ready)
			}
		})
	}
}

// TestActOnLostNode takes the node down that restores a VM in place, and moves the VM to another node. Until the result of the task is seen, the VM
// may only be stopped.
func TestActOnLostNode(t *testing.T) {
	const volume = "nfs:backup/vzdump-qemu-10000-2026_11_22-17_00_00.vma.zst"
	cases := map[string]struct {
		reason string
		status string
		spec   func(p *v1alpha1.MachineParameters)
		write  string
		ready  string
	}{
		"Start": {
			reason: "A VM is not started whose disks may be written.", status: "stopped", ready: "the VM is not running yet: it waits for restoreInPlace: node pve2",
			spec: func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateRunning) },
		},
		"Stop": {
			reason: "A VM that is to be off is stopped.", status: "running", write: "Shutdown 10000", ready: "the VM is still running",
			spec: func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) },
		},
		"Change": {
			reason: "A change of options would be lost by the restore.", status: "stopped",
			spec: func(p *v1alpha1.MachineParameters) { p.Description = new("changed") },
		},
		"Rollback": {
			reason: "A rollback is not begun in the midst of a restore.", status: "stopped",
			spec: func(p *v1alpha1.MachineParameters) {
				p.Rollback = &v1alpha1.MachineRollback{Snapshot: "s1", Token: "1"}
			},
		},
		"Token": {
			reason: "Another token waits for the end of the restore.", status: "stopped",
			spec: func(p *v1alpha1.MachineParameters) { p.RestoreInPlace.Token = "2" },
		},
		"Dropped": {
			reason: "A restore that is not asked for any more may go on.", status: "stopped",
			spec: func(p *v1alpha1.MachineParameters) { p.RestoreInPlace = nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &act.Record{
				Token: "1", Target: volume, State: v1alpha1.ActRestoring, Node: "pve2", Call: act.Call{Begun: 1, Task: upid("pve2", "qmrestore", 10000)},
			}
			b := newBench(t, func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationRestoreInPlace] = r.String()
				m.Spec.ForProvider.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", Volume: new(volume)}
				tc.spec(&m.Spec.ForProvider)
			})
			b.vms[10000], b.nodes[1].Status, b.errs["Task"] = ourVM(tc.status), "offline", refused(595, "No route to host")
			if s := b.reconcile(t.Context()); s.err != nil {
				t.Fatalf("%s Got %v", tc.reason, s.err)
			}
			writes := strings.Join(b.writes, "; ")
			if writes != tc.write && (tc.write == "" || len(b.writes) != 1 || !strings.HasPrefix(writes, tc.write)) {
				t.Errorf("%s Want %q, got %q", tc.reason, tc.write, writes)
			}
			if a := b.m.Annotations; a[object.AnnotationRestoreInPlace] != r.String() || a[object.AnnotationRollback] != "" {
				t.Errorf("%s Got %s and %s", tc.reason, a[object.AnnotationRestoreInPlace], a[object.AnnotationRollback])
			}
			if c := b.m.GetCondition(kind.TypeUpToDate); c.Reason != conditions.ReasonNodeOffline || strings.Count(c.Message, "node pve2") != 1 {
				t.Errorf("%s Got %s: %s", tc.reason, c.Reason, c.Message)
			}
			if c := b.m.GetCondition(xpv2.TypeReady); !strings.HasPrefix(c.Message, tc.ready) || name == "Start" && c.Reason != conditions.ReasonNodeOffline {
				t.Errorf("%s Got %s: %s", tc.reason, c.Reason, c.Message)
			}
		})
	}
}

// TestActOnRemovedNode removes the node from the cluster that restores a VM in place. The result of the restore is unknown, and the VM is managed again.
func TestActOnRemovedNode(t *testing.T) {
	r := &act.Record{Token: "1", State: v1alpha1.ActRestoring, Node: "pve2", Call: act.Call{Begun: 1, Task: upid("pve2", "qmrestore", 10000)}}
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationRestoreInPlace] = r.String()
		p := &m.Spec.ForProvider
		p.PowerState = new(v1alpha1.PowerStateRunning)
		p.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", Volume: new("nfs:backup/vzdump-qemu-10000-2026_11_22-17_00_00.vma.zst")}
	})
	b.vms[10000], b.nodes, b.errs["Task"] = ourVM("stopped"), b.nodes[:1], refused(500, "hostname lookup 'pve2' failed")
	for range 2 {
		if s := b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
	}
	if o := b.m.Status.AtProvider.RestoreInPlace; o == nil || o.State != v1alpha1.ActUnknown || len(b.writes) != 1 || b.writes[0] != "Start 10000" {
		t.Errorf("want an unknown result and the VM started, got %+v, %q", o, b.writes)
	}
	if c := b.m.GetCondition(kind.TypeUpToDate); !strings.Contains(c.Message, "set another restoreInPlace.token") {
		t.Errorf("got %s: %s", c.Reason, c.Message)
	}
}
