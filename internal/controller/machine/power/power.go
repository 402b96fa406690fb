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

// Package power decides in which power state a VM is kept, according to its spec, its run strategy and high availability, and which change leads
// there. It makes no calls.
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

// A Change brings a VM to another power state.
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

// A Policy determines in which power state a VM is kept.
type Policy struct {
	qemu.Desired

	// RunningSince is since when the VM was seen to run, and NodeBooted when its node was booted.
	RunningSince, NodeBooted time.Time
}

// DesiredPower returns the power state that the VM is to be kept in, or an empty string if it is to be left as it is.
func (d Policy) DesiredPower(v *vmstate.VM) v1alpha1.PowerState {
	if v.Template() {
		return ""
	}
	return d.SpecPower()
}

// SpecPower returns the power state that the spec asks for, whatever the VM is, or an empty string if it names none.
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

// paused returns Paused if powerState says so, which high availability treats as running.
func (d Policy) paused() v1alpha1.PowerState {
	if ptr.Deref(d.PowerState, "") == v1alpha1.PowerStatePaused {
		return v1alpha1.PowerStatePaused
	}
	return ""
}

// LeftToHA reports whether high availability makes the change for a VM that it manages. It does not know paused VMs.
func (c Change) LeftToHA() bool { return c != Keep && c != Resume && c != Pause }

// PowerChange returns the change that brings the VM to the power state of the spec. Changes that HA was told to make are left to HA, which treats a
// paused VM as running.
func (d Policy) PowerChange(v *vmstate.VM) Change {
	change := d.changeAlone(v)
	if change.LeftToHA() && (d.managedByHA(v) || v.HAFailed()) {
		return Keep
	}
	return change
}

// changeAlone returns the change if only the provider controls the VM's power.
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

// stopChange returns the change that leads to the stop of a VM that is on. A guest that is paused or asleep does not react to a request to shut down:
// Proxmox VE would stop it hard, and unwritten data would be lost.
func stopChange(v *vmstate.VM) Change {
	if v.Paused() || v.Asleep() {
		return Resume
	}
	return Off
}

// startChange returns the change that leads to a running VM.
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

// failed reports whether a VM that does not run has never run, or went down with its node. PVE does not record why a VM has otherwise ended.
func (d Policy) failed() bool { return d.RunningSince.IsZero() || d.RunningSince.Before(d.NodeBooted) }

// PowerRejections returns why a VM cannot be in the power state that the spec asks for.
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

// RunningAnnotation saves since when the VM runs, for the strategy that needs it.
func (d Policy) RunningAnnotation(v *vmstate.VM, now time.Time) map[string]string {
	if ptr.Deref(d.RunStrategy, "") != RerunOnFailure || !v.On() || !d.failed() {
		return nil
	}
	return map[string]string{object.AnnotationRunningSince: now.UTC().Format(time.RFC3339)}
}

// UnreachablePower returns why the VM cannot be brought to the power state that the spec asks for, or an empty string if it can.
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

// givenUp returns the state of a VM that high availability has given up.
func givenUp(v *vmstate.VM, needs Change) string {
	return fmt.Sprintf("%s, and high availability has given the VM up (state error): find out why, then have it take the VM up again by "+
		"\"ha-manager set vm:%d --state disabled\" on a node", messages[needs], v.VMID)
}

// awaitsHA returns the condition of a VM whose power high availability is to change, which it does not once it has given the VM up.
func awaitsHA(v *vmstate.VM, needs Change, does string) xpv2.Condition {
	message := fmt.Sprintf("%s: high availability is to %s it", messages[needs], does)
	if v.HAFailed() {
		message = givenUp(v, needs)
	}
	return conditions.NotReady(conditions.ReasonPowerMismatch, message)
}

// UnmanagedPower returns the condition Ready of a VM whose power the provider does not change.
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

// messages are the states of VMs that need a change.
//
//nolint:gochecknoglobals // A constant.
var messages = map[Change]string{
	On: "the VM is not running yet", Off: "the VM is still running", Suspend: "the VM is not suspended yet",
	Resume: "the VM is paused", Kill: "the guest has crashed: the VM is stopped and started again", Pause: "the VM is not paused yet",
}

// Message returns the state of a VM that needs the change.
func (c Change) Message() string { return messages[c] }
