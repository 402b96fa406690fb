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

// Package power decides in which power state a VM is kept, by its spec, its run strategy and high
// availability, and what brings it there. It calls nobody.
package power

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// The run strategies.
const (
	Always         = "Always"
	RerunOnFailure = "RerunOnFailure"
	Manual         = "Manual"
	Halted         = "Halted"
)

// A Change is what brings a VM to another power state.
type Change int

// The changes of power.
const (
	Keep Change = iota
	On
	Off
	Suspend
	Resume
	// Kill stops a VM whose guest is dead.
	Kill
	// Pause stops the VM's CPUs and keeps its memory on the node.
	Pause
)

// A Policy is what decides in which power state a VM is kept.
type Policy struct {
	qemu.Desired

	// RunningSince is since when the VM was seen to run, and NodeBooted when its node was
	// booted.
	RunningSince, NodeBooted time.Time
}

// DesiredPower is the power state that the VM is to be kept in; empty if it is to be
// left as it is.
func (d Policy) DesiredPower(v *vmstate.VM) v1alpha1.PowerState {
	if v.Template() {
		return ""
	}
	return d.SpecPower()
}

// SpecPower is the power state that the spec asks for, whatever the VM is; empty if that is
// left open.
func (d Policy) SpecPower() v1alpha1.PowerState {
	if d.HighAvailability != nil && d.HAEnabled() {
		switch ptr.Deref(d.HighAvailability.State, "") {
		case vmstate.HAStarted:
			return cmp.Or(d.paused(), v1alpha1.PowerStateRunning)
		case vmstate.HAStopped, vmstate.HADisabled:
			return v1alpha1.PowerStateStopped
		}
	}
	switch strategy := ptr.Deref(d.RunStrategy, ""); {
	case strategy == Manual:
		return ""
	case strategy == Halted:
		return v1alpha1.PowerStateStopped
	case d.PowerState != nil:
		return *d.PowerState
	case d.Created:
		return v1alpha1.PowerStateRunning
	}
	return ""
}

// paused returns Paused if powerState says so, which high availability takes for running.
func (d Policy) paused() v1alpha1.PowerState {
	if ptr.Deref(d.PowerState, "") == v1alpha1.PowerStatePaused {
		return v1alpha1.PowerStatePaused
	}
	return ""
}

// LeftToHA reports whether the change is made by high availability where that manages the VM. It does
// not know paused VMs.
func (c Change) LeftToHA() bool { return c != Keep && c != Resume && c != Pause }

// PowerChange returns the change that brings the VM to the power state of the spec. What HA was told
// to see to is left to HA, which takes a VM that is paused for one that runs.
func (d Policy) PowerChange(v *vmstate.VM) Change {
	change := d.changeAlone(v)
	if change.LeftToHA() && (d.managedByHA(v) || v.HAFailed()) {
		return Keep
	}
	return change
}

// changeAlone is the change where nobody but us sees to the VM.
func (d Policy) changeAlone(v *vmstate.VM) Change {
	switch target := d.DesiredPower(v); {
	case target == v1alpha1.PowerStateRunning:
		return d.startChange(v)
	case !v.On():
	case target == v1alpha1.PowerStateStopped:
		return stopChange(v)
	case target == v1alpha1.PowerStatePaused && v.Status.QMPStatus == vmstate.QMPRunning:
		return Pause
	case target == v1alpha1.PowerStateSuspended:
		return Suspend
	}
	return Keep
}

// stopChange is what makes a VM that is on stop. A guest that is paused or asleep reacts to no request
// to shut down: Proxmox VE would stop it hard, and what it has not written would be lost.
func stopChange(v *vmstate.VM) Change {
	if v.Paused() || v.Asleep() {
		return Resume
	}
	return Off
}

// startChange is what makes the VM run.
func (d Policy) startChange(v *vmstate.VM) Change {
	dead := slices.Contains([]string{vmstate.QMPPanicked, vmstate.QMPInternalError}, v.Status.QMPStatus)
	switch {
	case !v.On() && (ptr.Deref(d.RunStrategy, "") != RerunOnFailure || v.Suspended() || d.failed()):
		return On
	case !v.On():
		return Keep
	case v.Paused(), v.Status.QMPStatus == vmstate.QMPPrelaunch && v.Active["freeze"] != "1":
		return Resume
	case dead && d.RunStrategy != nil:
		return Kill
	}
	return Keep
}

// failed reports whether a VM that does not run has never run, or went down with
// its node. Of other ends PVE does not tell why.
func (d Policy) failed() bool { return d.RunningSince.IsZero() || d.RunningSince.Before(d.NodeBooted) }

// PowerRejections are why a VM cannot be in the power state that the spec wants.
func (d Policy) PowerRejections(v *vmstate.VM) []string {
	if v.Status.HAManaged {
		return []string{"a VM that high availability manages cannot be suspended to disk"}
	}
	for option := range v.Active {
		if strings.HasPrefix(option, "hostpci") {
			return []string{fmt.Sprintf("a VM with a PCI device of the host (%s) cannot be suspended to disk", option)}
		}
	}
	return nil
}

// RunningAnnotation keeps since when the VM runs, for the strategy that asks for it.
func (d Policy) RunningAnnotation(v *vmstate.VM, now time.Time) map[string]string {
	if ptr.Deref(d.RunStrategy, "") != RerunOnFailure || !v.On() || !d.failed() {
		return nil
	}
	return map[string]string{object.AnnotationRunningSince: now.UTC().Format(time.RFC3339)}
}

// UnreachablePower says why the VM cannot be brought to the power state that the spec wants;
// empty if it can.
func (d Policy) UnreachablePower(v *vmstate.VM) string {
	if !v.Template() && !v.Status.HAManaged {
		return ""
	}
	change := d.changeAlone(v)
	switch power := d.SpecPower(); {
	case v.Template() && power != "" && power != v1alpha1.PowerStateStopped:
		return "the VM is a template, which cannot run: make a VM of it again in Proxmox VE, or set powerState to Stopped"
	case v.HAFailed() && change != Keep:
		return givenUp(v, change)
	}
	return ""
}

// givenUp says what a VM is that high availability has given up.
func givenUp(v *vmstate.VM, needs Change) string {
	return fmt.Sprintf("%s, and high availability has given the VM up (state error): find out why, then have it take the VM up again by "+
		"\"ha-manager set vm:%d --state disabled\" on a node", messages[needs], v.VMID)
}

// awaitsHA says what a VM is whose power high availability is to change, which it does not once it has given the VM up.
func awaitsHA(v *vmstate.VM, needs Change, does string) xpv2.Condition {
	message := fmt.Sprintf("%s: high availability is to %s it", messages[needs], does)
	if v.HAFailed() {
		message = givenUp(v, needs)
	}
	return conditions.NotReady(conditions.ReasonPowerMismatch, message)
}

// UnmanagedPower is the condition Ready of a VM whose power is not for us to change.
func (d Policy) UnmanagedPower(v *vmstate.VM) xpv2.Condition {
	target, ha := d.DesiredPower(v), ""
	if d.HighAvailability != nil {
		ha = d.HAState(v)
	}
	switch {
	case ha == vmstate.HAStarted && !v.On():
		return awaitsHA(v, On, "start")
	case (ha == vmstate.HAStopped || ha == vmstate.HADisabled) && v.On():
		return awaitsHA(v, Off, "stop")
	case target == v1alpha1.PowerStatePaused && !v.On():
		return conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is "+v.PowerState()+": only a VM that runs can be paused")
	case target == v1alpha1.PowerStatePaused && v.Paused():
		return xpv2.Available()
	case target == v1alpha1.PowerStateSuspended && !v.Suspended():
		return conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is stopped: only a VM that runs can be suspended")
	case v.Halted():
		return conditions.NotReady(conditions.ReasonGuestHalted, fmt.Sprintf("the VM has a process, but its state is %s", v.Status.QMPStatus))
	case ptr.Deref(d.RunStrategy, "") == RerunOnFailure && target == v1alpha1.PowerStateRunning && !v.On():
		return xpv2.Available().WithMessage("the VM has stopped, and runStrategy RerunOnFailure leaves it so: it is not known to have failed")
	}
	return xpv2.Available()
}

// messages say what a VM is that needs a change.
//
//nolint:gochecknoglobals // A constant.
var messages = map[Change]string{
	On: "the VM is not running yet", Off: "the VM is still running", Suspend: "the VM is not suspended yet",
	Resume: "the VM is paused", Kill: "the guest has crashed: the VM is stopped and started again", Pause: "the VM is not paused yet",
}

// Message says what a VM is that needs the change.
func (c Change) Message() string { return messages[c] }
