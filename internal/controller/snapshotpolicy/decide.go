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
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/schedule"
)

// A machine is a Machine that is selected and not being deleted.
type machine struct {
	name    string
	created time.Time
	hasVM   bool
	pending []string // disks that the VM does not have yet
}

// A state of a Snapshot.
type state int

const (
	waiting  state = iota // Its task has not begun.
	begun                 // Its task is running.
	taken                 // It is ready to use.
	unseen                // It was taken, and cannot be read now.
	gone                  // It no longer exists.
	stuck                 // It is incomplete, or another snapshot has its name. A user has to resolve that.
	deleting              // It is being removed.
)

// A snapshot is a Snapshot that the policy has created.
type snapshot struct {
	name, machine string
	run           time.Time // for which it was created
	at            time.Time // when it was taken
	state         state
	problem       string
	offline       bool      // It waits for a node that cannot be asked. That may be another node than its VM's.
	retained      bool      // It is not removed.
	vm            string    // UUID of its VM, if that is known
	since         time.Time // when it was created, or its removal was requested
}

// busy reports whether a task works on the snapshot, or may start at any moment.
func (s *snapshot) busy() bool { return s.state == waiting || s.state == begun || s.state == deleting }

// A view holds everything that a decision about a policy depends on.
type view struct {
	now, created time.Time
	spec         *v1alpha1.SnapshotPolicyParameters
	schedule     schedule.Schedule
	status       *v1alpha1.SnapshotPolicyObservation
	machines     []machine
	snapshots    []*snapshot
	goBack       map[string]bool   // Machines whose VMs are put back to a snapshot, so that all of theirs stay
	offline      map[string]string // why the VMs of Machines cannot be reached
	uuids        map[string]string // of the VMs of all Machines

	// takes and removes are false if the management policies forbid that.
	takes, removes bool
}

// A plan is the result of a decision about a view.
type plan struct {
	*view

	next     v1alpha1.SnapshotPolicyObservation
	entries  map[string]*v1alpha1.SnapshotPolicyMachineStatus
	busy     map[string]bool      // Machines that a task works on
	apart    map[string]string    // why nothing can be done for Machines
	newest   map[string]time.Time // runs of the newest snapshots of the Machines
	pending  []string             // Machines without their snapshot of the run
	free     int                  // how many tasks may begin
	take     []string             // Machines to take a snapshot of
	remove   []*snapshot
	surplus  []*snapshot // all that are to be removed, including those in remove
	problems []kind.Problem
	events   []event.Event
	wake     time.Time
}

// decide decides what to do now.
func (v *view) decide() *plan {
	p := &plan{view: v, busy: maps.Clone(v.goBack), newest: map[string]time.Time{}, next: v1alpha1.SnapshotPolicyObservation{
		LastScheduleTime: v.status.LastScheduleTime, ScheduledUntil: v.status.ScheduledUntil,
		LastMissedTime: v.status.LastMissedTime, ActiveRun: v.status.ActiveRun,
	}}
	if p.busy == nil {
		p.busy = map[string]bool{}
	}
	p.know()
	p.schedule()
	p.close()
	p.free = p.places() - len(p.next.Active)
	p.abandon()
	p.takeNext()
	p.prune()
	p.conclude()
	return p
}

// know collects what is known of each Machine.
func (p *plan) know() {
	p.entries = map[string]*v1alpha1.SnapshotPolicyMachineStatus{}
	selected := map[string]bool{}
	for _, m := range p.machines {
		selected[m.name] = true
		p.entry(m.name)
	}
	for _, s := range p.snapshots {
		p.entry(s.machine)
	}
	for i := range p.status.MachineStatuses {
		before := &p.status.MachineStatuses[i]
		e, ok := p.entries[before.Name]
		if !ok {
			continue
		}
		e.LastScheduleTime, e.AttemptTime, e.Attempts, e.RetryTime = before.LastScheduleTime, before.AttemptTime, before.Attempts, before.RetryTime
		if timeOf(e.RetryTime).After(p.now.Add(longestRetry)) {
			e.RetryTime = toTime(p.now) // It was set by a clock that was ahead.
		}
		if selected[e.Name] {
			e.Message = before.Message
		}
	}
	for _, s := range p.snapshots {
		if s.run.After(timeOf(p.next.LastScheduleTime)) {
			p.next.LastScheduleTime = toTime(s.run)
		}
	}
	p.reach()
	for _, s := range p.snapshots {
		p.count(s)
	}
	p.next.Machines = int32(len(p.machines)) //nolint:gosec // There are not so many.
}

func (p *plan) entry(name string) *v1alpha1.SnapshotPolicyMachineStatus {
	if p.entries[name] == nil {
		p.entries[name] = &v1alpha1.SnapshotPolicyMachineStatus{Name: name}
	}
	return p.entries[name]
}

// count counts a snapshot. An abandoned snapshot does not count as one of its run.
func (p *plan) count(s *snapshot) {
	e := p.entry(s.machine)
	if s.run.After(timeOf(e.LastScheduleTime)) && (s.state != deleting || e.RetryTime == nil) {
		e.LastScheduleTime = toTime(s.run)
	}
	if s.busy() {
		p.busy[s.machine] = true
		if p.apart[s.machine] == "" && !s.offline {
			p.next.Active = append(p.next.Active, s.name)
		}
	}
	if s.state == stuck {
		e.Message = s.problem
	}
	if s.state != taken && (s.state != unseen || s.at.IsZero()) {
		return
	}
	e.Snapshots++
	p.next.Snapshots++
	if s.run.After(p.newest[s.machine]) {
		p.newest[s.machine] = s.run
		e.Newest, e.NewestTime = s.name, toTime(s.at)
	}
	if s.state == taken && !s.run.Before(timeOf(p.next.LastScheduleTime)) {
		e.Message, e.Attempts, e.RetryTime = "", 0, nil
	}
}

// schedule begins the run that is due. The newest known time counts, whatever the clock shows, so that a clock that is set back does not repeat runs.
func (p *plan) schedule() {
	until := p.created
	for _, t := range []*metav1.Time{p.next.ScheduledUntil, p.next.LastScheduleTime} {
		if timeOf(t).After(until) {
			until = t.Time
		}
	}
	p.next.ObservedSchedule = p.spec.Schedule + " " + p.view.schedule.Zone().String()
	if changed := p.status.ObservedSchedule != "" && p.status.ObservedSchedule != p.next.ObservedSchedule; changed && p.now.After(until) {
		until = p.now
		p.next.ScheduledUntil = toTime(until)
	}
	if p.now.Before(until.Add(-tolerance)) {
		p.problems = append(p.problems, kind.Problem{Reason: reasonClockBehind, Message: fmt.Sprintf(

			"the clock of the provider's node shows %s, which is before the last run, at %s: set the clock; no run begins before that time. "+
				"If the clock is right now and was ahead then, remove the Snapshots of that run, and lastScheduleTime and scheduledUntil of the status",
			stamp(p.now), stamp(until))})
	}
	last, count := p.view.schedule.Between(until, p.now)
	if count > 0 {
		p.next.ScheduledUntil = toTime(last)
		until = last
		p.due(last, count)
	}
	if p.suspended() {
		p.next.ActiveRun = nil
	}
	if ptr.Deref(p.spec.Suspend, false) {
		return
	}
	if next := p.view.schedule.Next(later(until, p.now)); !next.IsZero() {
		p.next.NextScheduleTime = toTime(next)
		p.until(next)
	}
}

func (p *plan) suspended() bool { return ptr.Deref(p.spec.Suspend, false) || !p.takes }

// missedRuns reports runs that are not made up for.
const missedRuns = "runs before that at %s were missed and are not made up for (%s): the provider did not run at their times, or could not begin them"

// due begins the last of the runs that are due, or reports that it was missed.
func (p *plan) due(run time.Time, count int) {
	if p.suspended() {
		return
	}
	p.miss()
	if count > schedule.Most {
		p.tell(event.Warning(eventMissed, errors.Errorf(missedRuns, stamp(run), fmt.Sprintf("more than %d", schedule.Most))))
	} else if count > 1 {
		p.tell(event.Warning(eventMissed, errors.Errorf(missedRuns, stamp(run), strconv.Itoa(count-1))))
	}
	p.next.ActiveRun = nil
	if end := p.deadline(run); !end.IsZero() && p.now.After(end) {
		p.next.LastMissedTime = toTime(run)
		p.tell(event.Warning(eventMissed, errors.Errorf("the run at %s was missed: by startingDeadlineMinutes it was to begin until %s", stamp(run), stamp(end))))
		return
	}
	p.next.LastScheduleTime, p.next.ActiveRun = toTime(run), toTime(run)
	for _, e := range p.entries {
		e.Attempts, e.RetryTime = 0, nil
	}
}

// deadline returns the time until which snapshots of a run may begin. It is zero if they may begin until the next run.
func (p *plan) deadline(run time.Time) time.Time {
	if p.spec.StartingDeadlineMinutes == nil {
		return time.Time{}
	}
	return run.Add(time.Duration(*p.spec.StartingDeadlineMinutes) * time.Minute)
}

// waitsFor returns the Machines that have no snapshot of the active run. A Machine that is younger than the run does not take part in it.
func (p *plan) waitsFor() []machine {
	run := timeOf(p.next.ActiveRun)
	return slices.DeleteFunc(slices.Clone(p.machines), func(m machine) bool {
		return run.IsZero() || m.created.After(run) || !timeOf(p.entry(m.name).LastScheduleTime).Before(run)
	})
}

// miss ends the active run, and reports which Machines have no snapshot of it.
func (p *plan) miss() {
	missed := p.waitsFor()
	if len(missed) == 0 {
		return
	}
	for _, m := range missed {
		e := p.entry(m.name)
		e.Message = "missed the run at " + stamp(p.next.ActiveRun.Time) + because(e.Message)
	}
	p.tell(event.Warning(eventMissed, errors.Errorf(
		"Machines without a snapshot of the run at %s: %d; status.atProvider.machineStatuses says why", stamp(p.next.ActiveRun.Time), len(missed))))
}

// close ends the active run if nothing is left to do, or its deadline has passed.
func (p *plan) close() {
	if p.next.ActiveRun == nil {
		return
	}
	run := p.next.ActiveRun.Time
	if end := p.deadline(run); !end.IsZero() {
		if p.now.After(end) {
			p.miss()
			p.next.ActiveRun = nil
			return
		}
		p.until(end.Add(time.Second))
	}
	open := slices.ContainsFunc(p.snapshots, func(s *snapshot) bool { return s.run.Equal(run) && (s.state == waiting || s.state == begun) })
	if !open && len(p.waitsFor()) == 0 {
		p.next.ActiveRun = nil
	}
}

// abandon removes Snapshots whose task does not begin, so that others need not wait. Nothing was taken of them. Those of the active run are tried
// again. Their age is measured by the clock of the provider, because the API server's may differ.
func (p *plan) abandon() {
	for _, s := range p.snapshots {
		if s.state != waiting || !p.removes {
			continue
		}
		e, goesOn := p.entry(s.machine), s.run.Equal(timeOf(p.next.ActiveRun))
		if e.AttemptTime == nil || e.AttemptTime.After(p.now) {
			e.AttemptTime = toTime(p.now)
		}
		if end := e.AttemptTime.Add(beginTimeout); goesOn && p.now.Before(end) {
			p.until(end)
			continue
		}
		e.Message = s.problem
		if e.Message == "" {
			e.Message = fmt.Sprintf("its Snapshot did not begin within %d minutes", beginTimeout/time.Minute)
		}
		if goesOn {
			e.LastScheduleTime, e.RetryTime = nil, toTime(p.now.Add(min(firstRetry<<min(e.Attempts, 10), longestRetry)))
			e.Attempts++
		}
		p.remove, p.surplus = append(p.remove, s), append(p.surplus, s)
	}
}

// takeNext plans the snapshots of the Machines that wait, those with the fewest failures first.
func (p *plan) takeNext() {
	all := p.waitsFor()
	slices.SortStableFunc(all, func(a, b machine) int {
		return cmp.Or(cmp.Compare(p.entry(a.name).Attempts, p.entry(b.name).Attempts), cmp.Compare(a.name, b.name))
	})
	heldUp := sync.OnceValue(p.heldUp)
	for _, m := range all {
		e := p.entry(m.name)
		p.pending = append(p.pending, m.name)
		switch {
		case p.apart[m.name] != "":
			e.Message = p.apart[m.name]
		case p.busy[m.name]:
		case !m.hasVM:
			e.Message = "the Machine has no VM yet"
		case len(m.pending) > 0:
			e.Message = "the VM does not have all of its disks yet: " + strings.Join(m.pending, ", ")
		case p.now.Before(timeOf(e.RetryTime)):
			p.until(e.RetryTime.Time)
		case p.free > 0:
			p.free--
			p.take = append(p.take, m.name)
			e.AttemptTime = toTime(p.now)
		default:
			e.Message = cmp.Or(heldUp(), e.Message)
		}
	}
	p.next.Pending = int32(len(p.pending)) //nolint:gosec // There are not so many.
}

// until plans the next reconcile at a time, unless something changes before.
func (p *plan) until(t time.Time) {
	if p.wake.IsZero() || t.Before(p.wake) {
		p.wake = t
	}
}

func (p *plan) tell(e event.Event) { p.events = append(p.events, e) }

// timeOf returns a time, which is zero for nil, and toTime the reverse for a time that is not zero, in whole seconds.
func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func toTime(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t.UTC().Truncate(time.Second))) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
