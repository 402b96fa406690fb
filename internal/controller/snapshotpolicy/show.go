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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// Reasons of the conditions of a policy, in addition to those of every kind.
const (
	reasonClockBehind     xpv2.ConditionReason = "ClockBehind"
	reasonInvalidSchedule xpv2.ConditionReason = "InvalidSchedule"
	reasonMissing         xpv2.ConditionReason = "SnapshotsMissing"
	reasonMissed          xpv2.ConditionReason = "RunMissed"
	reasonRunning         xpv2.ConditionReason = "Running"
)

// Reasons of the events of a policy.
const (
	eventMissed  event.Reason = "RunMissed"
	eventTaking  event.Reason = "Taking"
	eventRemoved event.Reason = "Removed"
)

// named is how many Machines a condition names.
const named = 5

// different is how many Snapshots the difference names.
const different = 50

// conclude adds to the plan what the status shows: the Machines without a snapshot, and the remaining work.
func (p *plan) conclude() {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(p.entries)) {
		e := p.entries[name]
		p.next.MachineStatuses = append(p.next.MachineStatuses, *e)
		if e.Message != "" {
			missing = append(missing, name+": "+e.Message)
		}
	}
	if missed := timeOf(p.next.LastMissedTime); missed.After(timeOf(p.next.LastScheduleTime)) {
		p.problems = append(p.problems, kind.Problem{Reason: reasonMissed, Message: "the run at " + stamp(missed) +
			" was missed: the provider could not begin it within startingDeadlineMinutes; raise that if it is too short"})
	}
	if len(missing) > 0 {
		message := strings.Join(missing[:min(len(missing), named)], "; ")
		if more := len(missing) - named; more > 0 {
			message += fmt.Sprintf("; and %d more", more)
		}
		p.problems = append(p.problems, kind.Problem{Reason: reasonMissing, Message: message})
	}
	slices.Sort(p.next.Active)
	p.next.Difference = p.difference()
}

// difference returns the snapshots that are to be removed.
func (p *plan) difference() []v1alpha1.OptionDifference {
	var all []v1alpha1.OptionDifference
	for _, s := range p.surplus[:min(len(p.surplus), different)] {
		all = append(all, v1alpha1.OptionDifference{Option: s.name, Current: s.machine + " at " + stamp(s.run)})
	}
	return all
}

// unfinished returns the problems that describe the remaining work.
func (p *plan) unfinished() []kind.Problem {
	all := slices.Clone(p.problems)
	if p.next.ActiveRun != nil {
		all = append(all, kind.Problem{Reason: reasonRunning, Message: fmt.Sprintf("the run at %s goes on: %d Machines wait for their snapshots",
			stamp(p.next.ActiveRun.Time), len(p.pending))})
	}
	if n := len(p.surplus); n > 0 {
		all = append(all, kind.Problem{Reason: reasonRunning, Message: fmt.Sprintf("%d Snapshots are to be removed", n)})
	}
	return all
}

// show shows the plan as status and conditions.
func (p *plan) show(o Policy) {
	p.next.DeepCopyInto(o.Observation())
	conditions(o, kind.Ready(p.problems...), kind.UpToDate(nil, p.unfinished()...), xpv2.ReconcileSuccess())
}

// conditions sets the conditions of a policy for its present generation.
func conditions(o Policy, all ...xpv2.Condition) {
	for _, c := range all {
		o.SetConditions(c.WithObservedGeneration(o.GetGeneration()))
	}
}
