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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
)

// TestRollbackTarget finds which snapshot the spec means.
func TestRollbackTarget(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_700_000_000, 0))
	ready := v1alpha1.SnapshotObservation{Name: "s1", VMUUID: strings.ToUpper(ourUUID), ReadyToUse: true, Time: &at}
	foreign, begun := ready, ready
	foreign.VMUUID, begun.ReadyToUse = otherUUID, false
	cases := map[string]struct {
		reason   string
		snapshot *v1alpha1.SnapshotObservation
		want     rollback.Request
	}{
		"Name":  {reason: "What is no Snapshot is a name of PVE.", want: rollback.Request{Snapshot: "before"}},
		"Ready": {reason: "A Snapshot has a name and a time.", snapshot: &ready, want: rollback.Request{Snapshot: "s1", Taken: at.Time}},
		"Foreign": {
			reason: "It is of the VM.", snapshot: &foreign,
			want: rollback.Request{Snapshot: "before", Problem: `Snapshot "before" is not of the VM of this Machine`},
		},
		"Begun": {reason: "It is there.", snapshot: &begun, want: rollback.Request{Snapshot: "before", Problem: `Snapshot "before" is not ready to use`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			if tc.snapshot != nil {
				s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "before"}}
				s.Status.AtProvider = *tc.snapshot
				if err := b.kube.Create(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			q := rollback.Request{}
			if err := (rollbackFeature{external: b.external()}).resolve(t.Context(), b.m, "before", &q); err != nil {
				t.Fatal(err)
			}
			if !q.Taken.Equal(tc.want.Taken) || q.Snapshot != tc.want.Snapshot || q.Problem != tc.want.Problem {
				t.Errorf("%s\nwant %+v, got %+v", tc.reason, tc.want, q)
			}
		})
	}
}

// TestRecordedRollback has a rollback that was begun stay so without its annotation.
func TestRecordedRollback(t *testing.T) {
	m := newBench(t, nil).m
	m.Status.AtProvider.Rollback = &v1alpha1.MachineRollbackObservation{Token: "1", State: v1alpha1.RollbackPending}
	if r, err := recordedRollback(m); err != nil || r.Token != "" {
		t.Errorf("one that was not begun may be done, got %+v and %v", r, err)
	}
	m.Status.AtProvider.Rollback.State = v1alpha1.RollbackRollingBack
	if r, err := recordedRollback(m); err != nil || r.Token != "1" || !r.Final() {
		t.Errorf("one that was begun is never repeated, got %+v and %v", r, err)
	}
	m.Annotations[object.AnnotationRollback] = "?"
	if _, err := recordedRollback(m); err == nil {
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
			q, err := rollbackFeature{external: e}.request(t.Context(), b.m, *b.m.Spec.ForProvider.Rollback)
			if err != nil || q.Start != tc.want {
				t.Errorf("start: got %t and %v, want %t", q.Start, err, tc.want)
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
		"Stopped": {reason: "It is resumed to be shut down.", power: v1alpha1.PowerStateStopped, stopping: true},
		"Running": {reason: "It is resumed to run.", power: v1alpha1.PowerStateRunning},
		"Paused":  {reason: "It stays as it is.", power: v1alpha1.PowerStatePaused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, powerState(tc.power))
			b.vms[10000] = qmp("paused")
			e := b.external()
			if _, err := e.Observe(t.Context(), b.m); err != nil {
				t.Fatal(err)
			}
			f := rollbackFeature{external: e}
			q, err := f.request(t.Context(), b.m, v1alpha1.MachineRollback{Snapshot: "s1", Token: "1"})
			if f.stopping() != tc.stopping || err != nil || q.Start {
				t.Errorf("%s\nstopping %t, start %t, %v", tc.reason, f.stopping(), q.Start, err)
			}
		})
	}
}
