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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
)

// TestRecordedRollback has a rollback that was begun stay so without its annotation.
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

// TestRollbackStart has Proxmox VE start a VM that ran if nobody else does.
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

// TestRollbackWhilePaused has a rollback wait for a VM that is to be off, also while that is resumed to be shut down. What
// is to be paused is not started.
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

// TestHeldPower has a VM that is to run, and is off for an act, be not ready.
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
