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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// faults are those that are told in events, by the conditions that show them: nothing else tells of them.
func faults() map[xpv2.ConditionType][]xpv2.ConditionReason {
	return map[xpv2.ConditionType][]xpv2.ConditionReason{
		xpv2.TypeReady: {
			conditions.ReasonDeviceMissing, conditions.ReasonBootDiskMissing, conditions.ReasonBridgeMissing, conditions.ReasonGuestHalted,
		},
		conditions.TypeResourcesAllocated: {conditions.ReasonInsufficientResources},
		conditions.TypeRestartRequired:    {conditions.ReasonStartBlocked, conditions.ReasonRestartIneffective},
		conditions.TypeGuestProvisioned:   {conditions.ReasonCloudInitFailed},
	}
}

// A PowerFault is why a VM does not get into the power state of the spec by itself. The condition Ready shows it with the reason
// PowerMismatch, as it does what is about to change.
type PowerFault struct {
	// Fault is the same text as long as the fault is the same; empty if there is none.
	Fault string

	// Lasts is true while a fault that was told may show again, as that of a VM which stops after each start.
	Lasts bool
}

// Conditions returns those of a Machine that may show faults, as they are now.
func Conditions(m object.Machine) map[xpv2.ConditionType]xpv2.Condition {
	now := map[xpv2.ConditionType]xpv2.Condition{}
	for in := range faults() {
		now[in] = m.GetCondition(in)
	}
	return now
}

// Faults returns the events of what a VM lacks or cannot do, as its conditions show it: once for each fault. Without a VM there are
// none: errors of a creation are told as such.
func (a *Announced) Faults(m object.Machine, before map[xpv2.ConditionType]xpv2.Condition, there bool, power PowerFault) []xpevent.Event {
	var all []xpevent.Event
	for in, reasons := range faults() {
		after, fault := m.GetCondition(in), ""
		switch {
		case !there:
		case slices.Contains(reasons, after.Reason):
			fault = after.Message
		case in == xpv2.TypeReady && after.Reason == conditions.ReasonPowerMismatch && power.Fault != "":
			fault = power.Fault
		case in == xpv2.TypeReady && power.Lasts:
			continue
		}
		if a.Fault(m, in, fault) && (before[in].Reason != after.Reason || before[in].Message != after.Message) {
			all = append(all, xpevent.Warning(xpevent.Reason(after.Reason), errors.New(after.Message)))
		}
	}
	return append(all, a.nothingToBoot(m, before[xpv2.TypeReady], there)...)
}

// emptiness is under which it is kept that a VM was said to have nothing to boot from. No condition has this type.
const emptiness xpv2.ConditionType = conditions.NothingToBoot

// nothingToBoot returns the event of a VM that runs with nothing to boot from: once until it has something, however often it starts.
func (a *Announced) nothingToBoot(m object.Machine, before xpv2.Condition, there bool) []xpevent.Event {
	ready, fault := m.GetCondition(xpv2.TypeReady), ""
	switch {
	case there && ready.Reason != xpv2.ReasonAvailable:
		return nil // A VM that is off does not show it.
	case there && strings.Contains(ready.Message, conditions.NothingToBoot):
		fault = conditions.NothingToBoot
	}
	if !a.Fault(m, emptiness, fault) || strings.Contains(before.Message, conditions.NothingToBoot) {
		return nil
	}
	return []xpevent.Event{xpevent.Warning(reasonNothingToBoot, errors.New(ready.Message))}
}
