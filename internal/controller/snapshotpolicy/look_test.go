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

package snapshotpolicy

import (
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestGoesBack(t *testing.T) {
	asked := &v1alpha1.MachineRollback{Snapshot: "before", Token: "2"}
	of := func(token string, s v1alpha1.MachineActState) *v1alpha1.MachineRollbackObservation {
		return &v1alpha1.MachineRollbackObservation{Token: token, State: s}
	}
	cases := map[string]struct {
		reason string
		spec   *v1alpha1.MachineRollback
		seen   *v1alpha1.MachineRollbackObservation
		lock   string
		want   bool
	}{
		"NotAsked":  {reason: "Nobody has asked for a rollback.", seen: of("1", v1alpha1.ActSucceeded)},
		"Locked":    {reason: "Others have the VM go back.", lock: "rollback", want: true},
		"Asked":     {reason: "Nobody has looked at what is asked for.", spec: asked, want: true},
		"AnotherOf": {reason: "The former rollback is done, and the next is not.", spec: asked, seen: of("1", v1alpha1.ActSucceeded), want: true},
		"Pending":   {reason: "A rollback that waits is under way.", spec: asked, seen: of("2", v1alpha1.ActPending), want: true},
		"Runs":      {reason: "A rollback that runs is under way.", spec: asked, seen: of("2", v1alpha1.ActRollingBack), want: true},
		"Done":      {reason: "The rollback is done.", spec: asked, seen: of("2", v1alpha1.ActSucceeded)},
		"Refused":   {reason: "The rollback is never done.", spec: asked, seen: of("2", v1alpha1.ActRefused)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.Spec.ForProvider.Rollback = tc.spec
			m.Status.AtProvider.Rollback, m.Status.AtProvider.Lock = tc.seen, tc.lock
			if got := rollsBack(m); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
			if tc.spec == nil {
				return
			}
			m = &namespaced.Machine{}
			m.Spec.ForProvider.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: tc.spec.Token}
			if tc.seen != nil {
				m.Status.AtProvider.RestoreInPlace = &v1alpha1.MachineRestoreInPlaceObservation{Token: tc.seen.Token, State: tc.seen.State}
			}
			if got := rollsBack(m); got != tc.want {
				t.Errorf("\n%s\nA restore in place is the same: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestStateOf(t *testing.T) {
	at := metav1.NewTime(time.Unix(1, 0))
	done := func(s *namespaced.Snapshot) { s.Status.AtProvider.Time = &at; meta.SetExternalName(s, "nightly") }
	cases := map[string]struct {
		reason string
		ready  xpv2.ConditionReason
		change func(*namespaced.Snapshot)
		want   state
	}{
		"New":      {reason: "A new Snapshot waits to be taken.", want: waiting},
		"Locked":   {reason: "What is locked was not begun.", ready: "Locked", want: waiting},
		"Creating": {reason: "A Snapshot that is being taken has a task.", ready: xpv2.ReasonCreating, want: begun},
		"Named": {
			reason: "What has a name in PVE was taken, and nobody has looked at it yet.", want: unseen,
			change: func(s *namespaced.Snapshot) { meta.SetExternalName(s, "n") },
		},
		"Taken": {
			reason: "What is ready to use was taken.", ready: xpv2.ReasonAvailable, want: taken,
			change: func(s *namespaced.Snapshot) { done(s); s.Status.AtProvider.ReadyToUse = true },
		},
		"NotBegun":    {reason: "What was not begun waits for the node of its VM.", ready: "NodeOffline", want: waiting},
		"NodeOffline": {reason: "No task works on what was taken while its node is offline.", ready: "NodeOffline", change: done, want: unseen},
		"Unavailable": {reason: "An error says nothing about what was taken.", ready: xpv2.ReasonUnavailable, change: done, want: unseen},
		"NameTaken":   {reason: "Another snapshot has the name of one that was taken.", ready: "AlreadyExists", change: done, want: stuck},
		"Conflict":    {reason: "Another resource stands for what was taken.", ready: "OwnershipConflict", change: done, want: stuck},
		"Incomplete":  {reason: "What was left half-way needs a person.", ready: "Incomplete", change: done, want: stuck},
		"Gone":        {reason: "Somebody has removed what was taken.", ready: "Gone", change: done, want: gone},
		"Deleted": {
			reason: "What is deleted is being removed.", ready: "NodeOffline", want: deleting,
			change: func(s *namespaced.Snapshot) { done(s); s.DeletionTimestamp = &at },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &namespaced.Snapshot{}
			if tc.ready != "" {
				s.SetConditions(xpv2.Condition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: tc.ready})
			}
			if tc.change != nil {
				tc.change(s)
			}
			if got := stateOf(s); got != tc.want {
				t.Errorf("\n%s\nwant %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
