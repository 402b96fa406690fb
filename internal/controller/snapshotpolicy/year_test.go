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
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/schedule"
)

// A play is a policy with its Machines, whose snapshots are taken and removed in steps.
type play struct {
	*testing.T

	now, created time.Time
	spec         v1alpha1.SnapshotPolicyParameters
	status       v1alpha1.SnapshotPolicyObservation
	machines     []machine
	snapshots    map[string]*snapshot
	random       *rand.Rand

	// refuses has the Machines whose snapshots do not begin.
	refuses map[string]bool

	made    map[string]int // how often a snapshot was taken of a Machine for a run
	most    int            // maximum number that were taken or removed at the same time
	removed int
}

func newPlay(t *testing.T, machines int, spec v1alpha1.SnapshotPolicyParameters) *play {
	t.Helper()
	configtest.Once(t)
	p := &play{
		T: t, spec: spec, snapshots: map[string]*snapshot{}, made: map[string]int{}, refuses: map[string]bool{},
		random: rand.New(rand.NewPCG(15, 2)), // The sequence must be the same each time. With 15, the clock is ahead while a snapshot waits.
	}
	p.created = time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC)
	p.now = p.created
	for i := range machines {
		p.machines = append(p.machines, machine{name: fmt.Sprintf("m%03d", i), created: p.created, hasVM: true})
	}
	return p
}

// view returns the view of the present state.
func (p *play) view() *view {
	p.Helper()
	s, err := schedule.Parse(p.spec.Schedule, ptr.Deref(p.spec.TimeZone, ""))
	if err != nil {
		p.Fatal(err)
	}
	v := &view{now: p.now, created: p.created, spec: &p.spec, schedule: s, status: &p.status, machines: p.machines, takes: true, removes: true}
	for _, name := range slices.Sorted(maps.Keys(p.snapshots)) {
		v.snapshots = append(v.snapshots, p.snapshots[name])
	}
	return v
}

// step lets tasks continue, and reconciles the policy once.
func (p *play) step() *plan {
	p.Helper()
	for _, name := range slices.Sorted(maps.Keys(p.snapshots)) { // Their order determines which random numbers they get.
		p.progress(name, p.snapshots[name])
	}
	plan := p.view().decide()
	p.status = plan.next
	for _, s := range plan.remove {
		if s.state == taken {
			p.removed++
		}
		s.state = deleting
	}
	for _, name := range plan.take {
		p.take(name, plan.next.ActiveRun.Time)
	}
	busy := 0
	for _, s := range p.snapshots {
		if s.busy() {
			busy++
		}
	}
	p.most = max(p.most, busy)
	return plan
}

// take takes a snapshot. Its deterministic name ensures that it is taken only once.
func (p *play) take(machine string, run time.Time) {
	p.Helper()
	name := objectName("p", machine, run)
	if p.snapshots[name] != nil {
		p.Fatalf("%s is there already", name)
	}
	p.snapshots[name] = &snapshot{name: name, machine: machine, run: run, problem: "Locked"}
}

// progress changes the state of a snapshot at random.
func (p *play) progress(name string, s *snapshot) {
	p.Helper()
	if p.random.IntN(3) == 0 {
		return
	}
	switch s.state {
	case waiting:
		if !p.refuses[s.machine] {
			s.state = begun
		}
	case begun:
		s.state, s.at = taken, p.now
		p.made[s.machine+" "+stamp(s.run)]++
	case deleting:
		delete(p.snapshots, name)
	case taken, unseen, gone, stuck:
	}
}

// until advances to a time in steps of a length. While nothing is in progress, it skips to the next run.
func (p *play) until(end time.Time, length time.Duration) {
	p.Helper()
	for p.now.Before(end) {
		plan := p.step()
		p.now = p.now.Add(length)
		if plan.next.ActiveRun == nil && len(plan.next.Active)+len(plan.surplus) == 0 {
			p.now = later(p.now, plan.next.NextScheduleTime.Time)
			if p.now.After(end) {
				p.now = end
			}
		}
	}
}

func (p *play) entryOf(machine string) v1alpha1.SnapshotPolicyMachineStatus {
	for _, e := range p.status.MachineStatuses {
		if e.Name == machine {
			return e
		}
	}
	return v1alpha1.SnapshotPolicyMachineStatus{}
}

// kept returns the runs of which a Machine has a snapshot.
func (p *play) kept(machine string) []string {
	var runs []string
	for _, s := range p.snapshots {
		if s.machine == machine && s.state == taken {
			runs = append(runs, stamp(s.run))
		}
	}
	slices.Sort(runs)
	return runs
}

func (p *play) takenOnce() {
	p.Helper()
	for of, n := range p.made {
		if n != 1 {
			p.Errorf("%s: %d snapshots", of, n)
		}
	}
}

func nightly() v1alpha1.SnapshotPolicyParameters {
	return v1alpha1.SnapshotPolicyParameters{
		Schedule: "30 2 * * *", TimeZone: ptr.To("Europe/Oslo"), MaxConcurrent: ptr.To(int32(2)),
		Retention: &v1alpha1.SnapshotRetention{
			Last: ptr.To(int32(2)), Daily: ptr.To(int32(7)), Weekly: ptr.To(int32(4)), Monthly: ptr.To(int32(12)),
		},
	}
}

// TestPolicyYear checks that a year of a policy ends with the same snapshots, whether it is undisturbed, or its clock is set back and forth and its
// status is lost.
func TestPolicyYear(t *testing.T) {
	end := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	calm := newPlay(t, 3, nightly())
	calm.until(end, 30*time.Minute)
	calm.takenOnce()
	if n := len(calm.made); n != 3*366 {
		t.Errorf("want a snapshot of three Machines on 366 nights, through both changes of clocks, got %d", n)
	}
	kept := calm.kept("m000")
	if len(kept) != 2+7+4+10 { // The weekly ones reach back to November.
		t.Errorf("want 2 last, 7 days, 4 weeks and 10 more months, got %d: %q", len(kept), kept)
	}
	troubled := newPlay(t, 3, nightly())
	for troubled.now.Before(end) {
		before := troubled.now
		switch troubled.random.IntN(100) {
		case 0: // The clock is set back, and then corrected.
			troubled.now = before.Add(-time.Duration(troubled.random.IntN(100)) * time.Hour)
			troubled.step()
		case 1: // The clock was ahead.
			troubled.now = before.Add(time.Duration(troubled.random.IntN(20)) * time.Hour)
			troubled.step()
		case 2: // The status is lost, as with a restored backup of the cluster, while no run is active.
			if troubled.status.ActiveRun == nil {
				troubled.status = v1alpha1.SnapshotPolicyObservation{}
			}
		}
		troubled.now = before
		troubled.step()
		troubled.now = before.Add(30 * time.Minute)
	}
	troubled.until(end.Add(3*time.Hour), 30*time.Minute)
	troubled.takenOnce()
	for _, m := range calm.machines {
		if diff := cmp.Diff(calm.kept(m.name), troubled.kept(m.name)); diff != "" {
			t.Errorf("%s: -calm, +troubled:\n%s", m.name, diff)
		}
	}
	for what, p := range map[string]*play{"calm": calm, "troubled": troubled} {
		if p.most != 2 || p.removed == 0 {
			t.Errorf("%s: want 2 at a time, got %d; %d were removed", what, p.most, p.removed)
		}
	}
}

// TestManyMachines checks that a policy of many Machines does not exceed its concurrency, although snapshots of some Machines fail.
func TestManyMachines(t *testing.T) {
	p := newPlay(t, 200, nightly())
	p.spec.MaxConcurrent = ptr.To(int32(5))
	for _, i := range []int{0, 7, 8, 9, 10, 11, 12, 150} {
		p.refuses[p.machines[i].name] = true
	}
	p.until(p.created.Add(2*24*time.Hour), 2*time.Minute)
	p.takenOnce()
	if p.most != 5 {
		t.Errorf("want 5 at a time, got %d", p.most)
	}
	if want := 192 * 2; len(p.made) != want {
		t.Errorf("want %d snapshots of those that can be snapshotted, got %d", want, len(p.made))
	}
	for _, s := range p.snapshots {
		if e := p.entryOf(s.machine); s.state == waiting && p.now.Sub(timeOf(e.AttemptTime)) > 2*beginTimeout {
			t.Errorf("%s waits since %s", s.name, e.AttemptTime)
		}
	}
	plan := p.step()
	if len(plan.problems) == 0 || plan.problems[0].Reason != reasonMissing {
		t.Errorf("want a problem that names those without a snapshot, got %v", plan.problems)
	}
}
