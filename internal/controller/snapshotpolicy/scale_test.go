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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
)

// TestTwoHundredMachines checks that a policy of 200 Machines takes one snapshot of each, at most five at the same time, although the provider is
// restarted meanwhile.
func TestTwoHundredMachines(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Namespaced"], 200)
	l.policy.Parameters().MaxConcurrent = ptr.To(int32(5))
	l.must(l.kube.Update(t.Context(), l.policy))
	for range 60 {
		l.rest(10)
		l.restart()
		if len(l.created) == 200 && l.isUpToDate() {
			break
		}
	}
	for name, times := range l.created {
		if times != 1 {
			t.Errorf("%s was made %d times", name, times)
		}
	}
	if len(l.created) != 200 || l.most != 5 || !l.isUpToDate() {
		t.Errorf("want 200 snapshots, 5 at a time, got %d, %d; up to date: %t", len(l.created), l.most, l.isUpToDate())
	}
}

// TestYearOfRestarts checks that a provider that is restarted in every run, and killed at a write in every tenth run, leaves the same snapshots after
// a year as one that is never restarted.
func TestYearOfRestarts(t *testing.T) {
	end := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	calm := newPlay(t, 1, nightly())
	calm.until(end, 30*time.Minute)
	l := newLab(t, configtest.Scopes()["Cluster"], 1)
	l.policy.Parameters().Retention = nightly().Retention
	l.must(l.kube.Update(t.Context(), l.policy))
	for n := 1; night(n).Before(end); n++ {
		l.now = night(n).Add(time.Hour) // It is due at this time in summer too.
		l.rest(2)
		l.restart()
		if n%10 == 0 {
			l.fatal = 1 + n/10%8
		}
		l.rest(8)
	}
	for name, times := range l.created {
		if times != 1 {
			t.Errorf("%s was made %d times", name, times)
		}
	}
	var got []string
	for _, s := range l.snapshots() {
		run, ok := runOf(l.policy, s)
		if !ok {
			t.Errorf("%s has no time of a run", s.GetName())
		}
		got = append(got, stamp(run))
	}
	slices.Sort(got)
	if diff := cmp.Diff(calm.kept("m000"), got); diff != "" || !l.isUpToDate() {
		t.Errorf("up to date: %t; -calm, +restarted:\n%s", l.isUpToDate(), diff)
	}
}
