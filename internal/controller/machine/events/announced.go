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

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// Announced remembers what was told of Machines that goes on being so. The status that a look begins with may be older than
// the last look, and would have it told again.
type Announced struct{ machines objectstate.Store[states] }

// states that were told of a Machine.
type states struct {
	retained []v1alpha1.MachineRetainedDevice
	faults   map[xpv2.ConditionType]string

	// warned are the generations of which was told last that a disk may fill its storage, by disk.
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

// Fault reports whether a fault that a condition shows is yet to be told; it is empty if there is none.
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

// Overcommitted reports whether it is yet to be told of a generation of the Machine that a disk of it may fill its storage.
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

// Forget forgets a Machine that is gone.
func (a *Announced) Forget(m objectstate.Object) {
	a.machines.Lock()
	defer a.machines.Unlock()
	a.machines.Delete(m)
}
