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

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Power is the part of a Client that starts and stops VMs.
type Power interface {
	Start(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Stop(ctx context.Context, ref proxmox.Ref, o proxmox.StopOptions) (proxmox.UPID, error)
	Suspend(ctx context.Context, ref proxmox.Ref, o proxmox.SuspendOptions) (proxmox.UPID, error)
	Resume(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Reboot(ctx context.Context, ref proxmox.Ref, o proxmox.RebootOptions) (proxmox.UPID, error)
	Reset(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error)
	Shutdown(ctx context.Context, ref proxmox.Ref, o proxmox.ShutdownOptions) (proxmox.UPID, error)
}

// The run strategies.
const (
	runAlways         = "Always"
	runRerunOnFailure = "RerunOnFailure"
	runManual         = "Manual"
	runHalted         = "Halted"
)

type powerChange int

const (
	keepPower powerChange = iota
	powerOn
	powerOff
	powerSuspend
	powerResume
	// powerKill stops a VM whose guest is dead.
	powerKill
)

// A powerFeature keeps the VM in the power state that the spec asks for.
type powerFeature struct {
	*external
	passive
}

// observe reads since when the VM and its node run, for the strategy that depends on it.
func (e powerFeature) observe(ctx context.Context, m Machine, d *desired) error {
	if ptr.Deref(d.RunStrategy, "") != runRerunOnFailure {
		return nil
	}
	d.runningSince, _ = time.Parse(time.RFC3339, m.GetAnnotations()[object.AnnotationRunningSince]) // Zero if never.
	nodes, err := e.inventory.Nodes(ctx)
	for _, n := range nodes {
		if n.Name == e.vm.Node && n.Uptime > 0 {
			d.nodeBooted = e.now().Add(-n.Uptime)
		}
	}
	return err
}

func (e powerFeature) plan(context.Context, Machine) (proposal, error) {
	p := proposal{annotations: e.planned.runningAnnotation(e.vm, e.now())}
	if e.planned.power == powerSuspend {
		p.rejections = e.planned.powerRejections(e.vm)
	}
	return p, nil
}

func (e powerFeature) needs(_ context.Context, c *creation, at validate.Place) ([]validate.PrivilegeRequirement, error) {
	if c.specPower() != v1alpha1.PowerStateRunning {
		return nil, nil
	}
	return []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.PowerMgmt")}, nil
}

// desiredPower is the power state that the VM is to be kept in; empty if it is to be
// left as it is.
func (d desired) desiredPower(v *vmstate.VM) v1alpha1.PowerState {
	if v.Template() {
		return ""
	}
	return d.specPower()
}

// specPower is the power state that the spec asks for, whatever the VM is; empty if that is
// left open.
func (d desired) specPower() v1alpha1.PowerState {
	if d.HighAvailability != nil && d.haEnabled() {
		switch ptr.Deref(d.HighAvailability.State, "") {
		case vmstate.HAStarted:
			return v1alpha1.PowerStateRunning
		case vmstate.HAStopped, vmstate.HADisabled:
			return v1alpha1.PowerStateStopped
		}
	}
	switch strategy := ptr.Deref(d.RunStrategy, ""); {
	case strategy == runManual:
		return ""
	case strategy == runHalted:
		return v1alpha1.PowerStateStopped
	case d.PowerState != nil:
		return *d.PowerState
	case d.Created:
		return v1alpha1.PowerStateRunning
	}
	return ""
}

// powerChange that brings the VM to the power state of the spec. What HA was told
// to see to is left to HA, which takes a VM that is paused for one that runs.
func (d desired) powerChange(v *vmstate.VM) powerChange {
	change := d.powerChangeAlone(v)
	if change != keepPower && change != powerResume && (d.managedByHA(v) || v.HAFailed()) {
		return keepPower
	}
	return change
}

// powerChangeAlone is the powerChange where nobody but us sees to the VM.
func (d desired) powerChangeAlone(v *vmstate.VM) powerChange {
	running := v.On()
	switch d.desiredPower(v) {
	case v1alpha1.PowerStateRunning:
		return d.startChange(v)
	case v1alpha1.PowerStateStopped:
		if running {
			return powerOff
		}
	case v1alpha1.PowerStateSuspended:
		if running {
			return powerSuspend
		}
	}
	return keepPower
}

// startChange is what makes the VM run.
func (d desired) startChange(v *vmstate.VM) powerChange {
	dead := slices.Contains([]string{vmstate.QMPPanicked, vmstate.QMPInternalError}, v.Status.QMPStatus)
	switch {
	case !v.On() && (ptr.Deref(d.RunStrategy, "") != runRerunOnFailure || v.Suspended() || d.failed()):
		return powerOn
	case !v.On():
		return keepPower
	case v.Status.QMPStatus == vmstate.QMPPaused, v.Status.QMPStatus == vmstate.QMPPrelaunch:
		return powerResume
	case dead && d.RunStrategy != nil:
		return powerKill
	}
	return keepPower
}

// delayStart of a VM that stops soon after each of its starts.
func (e powerFeature) delayStart(m Machine) {
	if e.planned.power != powerOn || e.vm.Suspended() {
		return
	}
	if e.planned.crashes = e.tasks.Crashes(m); e.planned.crashes > 0 {
		e.planned.power = keepPower
	}
}

// failed reports whether a VM that does not run has never run, or went down with
// its node. Of other ends PVE does not tell why.
func (d desired) failed() bool { return d.runningSince.IsZero() || d.runningSince.Before(d.nodeBooted) }

// powerRejections are why a VM cannot be in the power state that the spec wants.
func (d desired) powerRejections(v *vmstate.VM) []string {
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

// haDelay is how long HA has for what it was asked for: it acts some time after
// the task that asks it has ended.
const haDelay = 2 * time.Minute

// setPower makes the change of power that is planned.
func (e powerFeature) setPower(ctx context.Context, m Machine) error {
	if e.planned.power == keepPower {
		return nil
	}
	if e.vm.Status.HAManaged && e.tasks.Asked(m, fmt.Sprintf("power %d", e.planned.power), haDelay) {
		return nil
	}
	return e.start(m)(e.power(ctx, m))
}

func (e powerFeature) power(ctx context.Context, m Machine) (proxmox.UPID, error) {
	switch ref := e.vm.Ref; e.planned.power {
	case powerOn:
		return e.client.Start(ctx, ref)
	case powerOff:
		return e.client.Shutdown(ctx, ref, e.shutdownRound(m))
	case powerSuspend:
		return e.client.Suspend(ctx, ref, proxmox.SuspendOptions{ToDisk: true})
	case powerResume:
		return e.client.Resume(ctx, ref)
	case powerKill:
		return e.client.Stop(ctx, ref, proxmox.StopOptions{})
	case keepPower:
	}
	return "", nil
}

// shutdownRound is the next request to shut the guest down. High availability takes one request.
func (e powerFeature) shutdownRound(m Machine) proxmox.ShutdownOptions {
	total, round := shutdownTimeout(m), tasktrack.BootingRound
	if e.vm.Status.HAManaged || total == 0 {
		return shutdown(m)
	}
	if booted(e.vm) {
		round = tasktrack.BootedRound
	}
	return e.tasks.RequestShutdown(m, total, round)
}

// shutdownWait says what a VM waits for that is to be off.
func (e *external) shutdownWait(m Machine) string {
	if e.vm.Status.HAManaged {
		return "high availability is to stop the VM"
	}
	begun := e.tasks.ShutdownBegun(m)
	if begun.IsZero() {
		return "the guest is asked to shut down"
	}
	return "the guest is asked to shut down; the VM is stopped hard at " + begun.Add(shutdownTimeout(m)).UTC().Format(time.RFC3339)
}

// shutdown gracefully, and hard after the time that the guest has for it.
func shutdown(m Machine) proxmox.ShutdownOptions {
	return proxmox.ShutdownOptions{Timeout: shutdownTimeout(m), ForceStop: true}
}

func shutdownTimeout(m Machine) time.Duration {
	return time.Duration(ptr.Deref(m.Parameters().ShutdownTimeoutSeconds, 0)) * time.Second
}

// runningAnnotation keeps since when the VM runs, for the strategy that asks for it.
func (d desired) runningAnnotation(v *vmstate.VM, now time.Time) map[string]string {
	if ptr.Deref(d.RunStrategy, "") != runRerunOnFailure || !v.On() || !d.failed() {
		return nil
	}
	return map[string]string{object.AnnotationRunningSince: now.UTC().Format(time.RFC3339)}
}

// ready reports whether the VM is in the power state that the spec wants, with
// its identity in place.
func (e powerFeature) ready() xpv2.Condition {
	switch lock := e.vm.Lock(); {
	case e.vm.IdentityPending:
		return xpv2.Creating()
	case e.planned.power != keepPower && lock != "" && lock != "suspended":
		return conditions.NotReady(conditions.ReasonLocked, fmt.Sprintf("the VM is not in the desired power state, and is locked (%s)", lock))
	case e.planned.power != keepPower:
		return conditions.NotReady(conditions.ReasonPowerMismatch, powerMessages[e.planned.power])
	}
	if n := e.planned.crashes; n > 0 {
		return conditions.NotReady(conditions.ReasonPowerMismatch, fmt.Sprintf("the VM has stopped soon after each of its last %d starts: its next start waits, longer each time", n))
	}
	if why := e.planned.unreachablePower(e.vm); why != "" {
		return conditions.NotReady(conditions.ReasonPowerMismatch, why)
	}
	return e.planned.unmanagedPower(e.vm)
}

// unreachablePower says why the VM cannot be brought to the power state that the spec wants;
// empty if it can.
func (d desired) unreachablePower(v *vmstate.VM) string {
	if !v.Template() && !v.Status.HAManaged {
		return ""
	}
	change := d.powerChangeAlone(v)
	switch power := d.specPower(); {
	case v.Template() && power != "" && power != v1alpha1.PowerStateStopped:
		return "the VM is a template, which cannot run: make a VM of it again in Proxmox VE, or set powerState to Stopped"
	case v.HAFailed() && change != keepPower:
		return fmt.Sprintf("%s, and high availability has given the VM up (state error): find out why, then have it take the VM up again by "+
			"\"ha-manager set vm:%d --state disabled\" on a node", powerMessages[change], v.VMID)
	}
	return ""
}

// unmanagedPower is the condition Ready of a VM whose power is not for us to change.
func (d desired) unmanagedPower(v *vmstate.VM) xpv2.Condition {
	target, ha := d.desiredPower(v), ""
	if d.HighAvailability != nil {
		ha = d.haState(v)
	}
	switch {
	case ha == vmstate.HAStarted && !v.On():
		return conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is not running yet: high availability is to start it")
	case (ha == vmstate.HAStopped || ha == vmstate.HADisabled) && v.On():
		return conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is still running: high availability is to stop it")
	case target == v1alpha1.PowerStateSuspended && !v.Suspended():
		return conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is stopped: only a VM that runs can be suspended")
	case v.Halted():
		return conditions.NotReady(conditions.ReasonGuestHalted, fmt.Sprintf("the VM has a process, but its state is %s", v.Status.QMPStatus))
	case ptr.Deref(d.RunStrategy, "") == runRerunOnFailure && target == v1alpha1.PowerStateRunning && !v.On():
		return xpv2.Available().WithMessage("the VM has stopped, and runStrategy RerunOnFailure leaves it so: it is not known to have failed")
	}
	return xpv2.Available()
}

//nolint:gochecknoglobals // A constant.
var powerMessages = map[powerChange]string{
	powerOn: "the VM is not running yet", powerOff: "the VM is still running", powerSuspend: "the VM is not suspended yet",
	powerResume: "the VM is paused", powerKill: "the guest has crashed: the VM is stopped and started again",
}
