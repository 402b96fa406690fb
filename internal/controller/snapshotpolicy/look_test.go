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
			if got := goesBack(m); got != tc.want {
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
			if got := goesBack(m); got != tc.want {
				t.Errorf("\n%s\nA restore in place is the same: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
