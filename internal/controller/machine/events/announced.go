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

package events

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// Announced remembers which lasting states of Machines were reported. The status at the beginning of a reconcile may be older than the last
// reconcile, so that they would be reported again.
type Announced struct{ machines objectstate.Store[states] }

// states that were reported for a Machine.
type states struct {
	retained []v1alpha1.MachineRetainedDevice
	faults   map[xpv2.ConditionType]string

	// warned are the last generations, by disk, for which an event has reported that the disk may fill its storage.
	warned map[string]int64
}

// Retained returns the events of devices that are retained, and were not before.
func (a *Announced) Retained(m objectstate.Object, before, after *v1alpha1.MachineObservation) []xpevent.Event {
	a.machines.Lock()
	defer a.machines.Unlock()
	known := a.machines.Get(m)
	if known == nil && len(after.RetainedDevices) == 0 {
		return nil
	}
	known = a.machines.Ensure(m)
	told := slices.Concat(known.retained, before.RetainedDevices)
	known.retained = slices.Clone(after.RetainedDevices)
	var all []xpevent.Event
	for _, r := range after.RetainedDevices {
		if !slices.Contains(told, r) {
			all = append(all, ofRetained(r))
		}
	}
	return all
}

// Fault reports whether a fault that a condition shows must still be reported. The fault is empty if there is none.
func (a *Announced) Fault(m objectstate.Object, in xpv2.ConditionType, fault string) bool {
	a.machines.Lock()
	defer a.machines.Unlock()
	known := a.machines.Get(m)
	if known == nil && fault == "" {
		return false
	}
	known = a.machines.Ensure(m)
	if known.faults == nil {
		known.faults = map[xpv2.ConditionType]string{}
	}
	news := fault != "" && known.faults[in] != fault
	known.faults[in] = fault
	return news
}

// Overcommitted reports whether it must still be reported for a generation of the Machine that one of its disks may fill its storage.
func (a *Announced) Overcommitted(m objectstate.Object, generation int64, disk string) bool {
	a.machines.Lock()
	defer a.machines.Unlock()
	known := a.machines.Ensure(m)
	if known.warned == nil {
		known.warned = map[string]int64{}
	}
	last, told := known.warned[disk]
	known.warned[disk] = generation
	return !told || last != generation
}

// Forget forgets a deleted Machine.
func (a *Announced) Forget(m objectstate.Object) {
	a.machines.Lock()
	defer a.machines.Unlock()
	a.machines.Delete(m)
}

// A watchedCondition is a condition with those reasons that are faults and that nothing but these events reports.
type watchedCondition struct {
	xpv2.ConditionType

	faults []xpv2.ConditionReason
}

func watched() []watchedCondition {
	return []watchedCondition{
		{xpv2.TypeReady, []xpv2.ConditionReason{
			conditions.ReasonDeviceMissing, conditions.ReasonBootDiskMissing, conditions.ReasonBridgeMissing, conditions.ReasonGuestHalted,
		}},
		{conditions.TypeResourcesAllocated, []xpv2.ConditionReason{conditions.ReasonInsufficientResources}},
		{conditions.TypeRestartRequired, []xpv2.ConditionReason{conditions.ReasonStartBlocked, conditions.ReasonRestartIneffective}},
		{conditions.TypeGuestProvisioned, []xpv2.ConditionReason{conditions.ReasonCloudInitFailed}},
		{conditions.TypeBootable, []xpv2.ConditionReason{conditions.ReasonNothingToBoot}},
	}
}

// A PowerFault is why a VM does not reach the power state of the spec by itself. The condition Ready shows it with the reason PowerMismatch, which it
// also has for changes that are about to be made.
type PowerFault struct {
	// Fault is the same text as long as the fault is the same, or empty if there is none.
	Fault string

	// Lasts is true while a reported fault may show again, such as that of a VM which stops after each start.
	Lasts bool
}

// Conditions returns the current conditions of a Machine that may show faults.
func Conditions(m object.Machine) map[xpv2.ConditionType]xpv2.Condition {
	now := map[xpv2.ConditionType]xpv2.Condition{}
	for _, c := range watched() {
		now[c.ConditionType] = m.GetCondition(c.ConditionType)
	}
	return now
}

// Faults returns the events of what a VM lacks or cannot do, as shown by its conditions, once for each fault. Without a VM there are none: errors of
// a creation are reported separately.
func (a *Announced) Faults(m object.Machine, before map[xpv2.ConditionType]xpv2.Condition, there bool, power PowerFault) []xpevent.Event {
	var all []xpevent.Event
	for _, c := range watched() {
		in := c.ConditionType
		after, fault := m.GetCondition(in), ""
		switch {
		case !there:
		case slices.Contains(c.faults, after.Reason):
			fault = after.Message
		case in == xpv2.TypeReady && after.Reason == conditions.ReasonPowerMismatch && power.Fault != "":
			fault = power.Fault
		case in == xpv2.TypeReady && power.Lasts:
			continue
		case in == conditions.TypeBootable && after.Reason == conditions.ReasonNotRunning:
			continue // It may have nothing to boot from when it runs again.
		}
		if a.Fault(m, in, fault) && (before[in].Reason != after.Reason || before[in].Message != after.Message) {
			all = append(all, xpevent.Warning(xpevent.Reason(after.Reason), errors.New(after.Message)))
		}
	}
	return all
}
