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
	"slices"
	"strings"
	"testing"
	"time"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poll"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

func spec(change func(*v1alpha1.MachineParameters)) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) { change(&m.Spec.ForProvider) }
}

func runStrategy(s string) func(*namespaced.Machine) {
	return spec(func(p *v1alpha1.MachineParameters) { p.RunStrategy = &s })
}

func powerState(s v1alpha1.PowerState) func(*namespaced.Machine) {
	return spec(func(p *v1alpha1.MachineParameters) { p.PowerState = &s })
}

// qmp returns our VM with QEMU in the given state.
func qmp(state string) *guest {
	g := ourVM("running")
	g.now.QMPStatus = state
	return g
}

func locked(g *guest, lock string) *guest {
	g.config["lock"] = lock
	return g
}

// backedUp returns our VM that is off while PVE backs it up.
func backedUp() *guest { return locked(qmp("prelaunch"), "backup") }

func suspendedVM() *guest {
	g := ourVM("stopped")
	g.config["lock"] = "suspended"
	return g
}

func managedByHA(g *guest, state string) *guest {
	g.now.HAManaged, g.now.HAState = true, state
	return g
}

// TestLife checks what one reconcile does with an existing VM: which calls it makes, and what it shows.
func TestLife(t *testing.T) {
	ran := func(ago time.Duration) func(*namespaced.Machine) {
		return func(m *namespaced.Machine) {
			m.Annotations[object.AnnotationRunningSince] = newClock().now().Add(-ago).UTC().Format(time.RFC3339)
		}
	}
	since := func(up time.Duration) func(*bench) { return func(b *bench) { b.nodes[0].Uptime = up } }
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      *guest
		pve     func(*bench)
		writes  []string
		ready   xpv2.ConditionReason
		err     string
	}{
		"Killed": {
			reason: "A VM whose process was killed is started.", vm: ourVM("stopped"), writes: []string{"Start 10000"},
			ready: conditions.ReasonPowerMismatch,
		},
		"Paused":         {reason: "A VM that was paused is resumed.", vm: qmp("paused"), writes: []string{"Resume 10000"}, ready: conditions.ReasonPowerMismatch},
		"PausedByBackup": {reason: "A VM that is paused under a lock is left alone.", vm: locked(qmp("paused"), "snapshot"), ready: conditions.ReasonLocked},
		"BackedUpOff": {
			reason: "A VM that is off has a process while it is backed up, and is off.", machine: powerState("Stopped"), vm: backedUp(),
			ready: xpv2.ReasonAvailable,
		},
		"BackedUpToRun": {reason: "One that is to run is not ready for having that process.", vm: backedUp(), ready: conditions.ReasonLocked},
		"BackedUpDown": {
			reason: "A VM whose guest has shut down during a backup is not ready.",
			vm:     locked(qmp("shutdown"), "backup"), ready: conditions.ReasonLocked,
		},
		"BackedUpManual": {reason: "What people start is off as well.", machine: runStrategy("Manual"), vm: backedUp(), ready: xpv2.ReasonAvailable},
		"Prelaunch": {
			reason: "A VM in prelaunch without a backup is resumed like a VM that was paused.", vm: qmp("prelaunch"), writes: []string{"Resume 10000"},
			ready: conditions.ReasonPowerMismatch,
		},
		"PrelaunchOff": {
			reason:  "A VM in the state prelaunch is stopped if it is to be off.",
			machine: powerState("Stopped"), vm: qmp("prelaunch"), writes: []string{"Shutdown 10000 0s force true"},
			ready: conditions.ReasonPowerMismatch,
		},
		"Asleep":     {reason: "A guest that sleeps does not run.", vm: qmp("suspended"), ready: conditions.ReasonGuestHalted},
		"PoweredOff": {reason: "A guest that is off does not run, though its process does.", vm: qmp("shutdown"), ready: conditions.ReasonGuestHalted},
		"Arriving":   {reason: "A VM that migrates is as ready as it was.", vm: locked(qmp("inmigrate"), "migrate"), ready: xpv2.ReasonAvailable},
		"PausedAdopted": {
			reason:  "A VM whose power is not declared is left paused.",
			machine: func(m *namespaced.Machine) { delete(m.Annotations, "crossplane.io/external-create-pending") }, vm: qmp("paused"),
			ready: conditions.ReasonGuestHalted,
		},
		"DiskFull": {reason: "A VM that waits for its disk cannot be helped.", vm: qmp("io-error"), ready: conditions.ReasonGuestHalted},
		"Panicked": {reason: "A guest that panicked is left for inspection.", vm: qmp("guest-panicked"), ready: conditions.ReasonGuestHalted},
		"PanickedAlways": {
			reason: "Unless the spec says to run it always.", machine: runStrategy("Always"), vm: qmp("guest-panicked"),
			writes: []string{"Stop 10000"}, ready: conditions.ReasonPowerMismatch,
		},
		"PanickedRerun": {
			reason:  "A VM with an internal error is stopped if the spec says to run it again after a failure.",
			machine: runStrategy("RerunOnFailure"), vm: qmp("internal-error"),
			writes: []string{"Stop 10000"}, ready: conditions.ReasonPowerMismatch,
		},

		"Suspend": {
			reason: "A VM that is to be suspended is, to disk.", machine: powerState("Suspended"), vm: ourVM("running"),
			writes: []string{"Suspend 10000 to disk true"}, ready: conditions.ReasonPowerMismatch,
		},
		"Suspended": {reason: "A VM that is suspended is as it should be.", machine: powerState("Suspended"), vm: suspendedVM(), ready: xpv2.ReasonAvailable},
		"SuspendStopped": {
			reason: "A VM that does not run cannot be suspended.", machine: powerState("Suspended"), vm: ourVM("stopped"),
			ready: conditions.ReasonPowerMismatch,
		},
		"SuspendHA": {
			reason: "A VM that HA manages cannot be suspended.", machine: powerState("Suspended"), vm: managedByHA(ourVM("running"), "started"),
			err: "cannot be suspended", ready: conditions.ReasonPowerMismatch,
		},
		"SuspendPCI": {
			reason: "A VM with a device of the host cannot be suspended.", machine: powerState("Suspended"),
			vm: func() *guest { g := ourVM("running"); g.config["hostpci0"] = "mapping=gpu"; return g }(), err: "hostpci0",
			ready: conditions.ReasonPowerMismatch,
		},
		"Resume": {
			reason: "A VM that is suspended is started to run.", vm: suspendedVM(), writes: []string{"Start 10000"},
			ready: conditions.ReasonPowerMismatch,
		},
		"ResumeFirst": {
			reason: "Options of a suspended VM cannot change before it is started.", machine: spec(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) }),
			vm: suspendedVM(), writes: []string{"Start 10000"}, ready: conditions.ReasonPowerMismatch,
		},
		"ChangeSuspended": {
			reason:  "The options of a VM that stays suspended are not changed.",
			machine: all(powerState("Suspended"), spec(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) })), vm: suspendedVM(),
			ready: xpv2.ReasonAvailable,
		},

		"Pause": {
			reason: "A VM that is to be paused keeps its memory on the node.", machine: powerState("Paused"), vm: qmp("running"),
			writes: []string{"Suspend 10000 to disk false"}, ready: conditions.ReasonPowerMismatch,
		},
		"PausedAsked": {reason: "A VM that is paused is as it should be.", machine: powerState("Paused"), vm: qmp("paused"), ready: xpv2.ReasonAvailable},
		"PausedBackup": {
			reason:  "A VM that is paused is as it should be while it is backed up.",
			machine: powerState("Paused"), vm: locked(qmp("paused"), "backup"), ready: xpv2.ReasonAvailable,
		},
		"PauseLocked": {
			reason: "A VM is not paused under a lock.", machine: powerState("Paused"), vm: locked(qmp("running"), "migrate"),
			ready: conditions.ReasonLocked,
		},
		"PauseArrived": {
			reason: "A state of a migration is not ours to change.", machine: powerState("Paused"), vm: qmp("postmigrate"),
			ready: conditions.ReasonGuestHalted,
		},
		"PauseDiskFull": {
			reason:  "The state of a VM whose disk failed is not ours to change.",
			machine: powerState("Paused"), vm: qmp("io-error"), ready: conditions.ReasonGuestHalted,
		},
		"PauseStopped": {
			reason: "A VM that does not run is not started to be paused.", machine: powerState("Paused"), vm: ourVM("stopped"),
			ready: conditions.ReasonPowerMismatch,
		},
		"PauseSaved": {
			reason:  "A VM whose memory is on disk is not started to be paused.",
			machine: powerState("Paused"), vm: suspendedVM(), ready: conditions.ReasonPowerMismatch,
		},
		"PauseHA": {
			reason: "HA does not mind a paused VM.", machine: powerState("Paused"), vm: managedByHA(qmp("running"), "started"),
			writes: []string{"Suspend 10000 to disk false"}, ready: conditions.ReasonPowerMismatch,
		},
		"PausedPCI": {
			reason: "A device of the host stays with a paused VM.", machine: powerState("Paused"),
			vm:     func() *guest { g := qmp("running"); g.config["hostpci0"] = "mapping=gpu"; return g }(),
			writes: []string{"Suspend 10000 to disk false"}, ready: conditions.ReasonPowerMismatch,
		},
		"PausedOff": {
			reason: "A paused guest is resumed, to hear that it is to shut down.", machine: powerState("Stopped"), vm: qmp("paused"),
			writes: []string{"Resume 10000"}, ready: conditions.ReasonPowerMismatch,
		},
		"AsleepOff": {
			reason:  "A guest that sleeps is resumed, to hear that it is to shut down.",
			machine: powerState("Stopped"), vm: qmp("suspended"), writes: []string{"Resume 10000"},
			ready: conditions.ReasonPowerMismatch,
		},
		"PostMigrate": {reason: "What a migration leaves is not resumed.", vm: qmp("postmigrate"), ready: conditions.ReasonGuestHalted},
		"Frozen": {
			reason: "A VM whose options have it start frozen is not resumed.",
			vm:     func() *guest { g := qmp("prelaunch"); g.config["freeze"] = "1"; return g }(), ready: conditions.ReasonGuestHalted,
		},

		"RerunFirst": {
			reason: "A VM that has never run is started.", machine: runStrategy("RerunOnFailure"), vm: ourVM("stopped"),
			writes: []string{"Start 10000"}, ready: conditions.ReasonPowerMismatch,
		},
		"RerunStopped": {
			reason:  "One that stopped while its node went on is not known to have failed.",
			machine: all(runStrategy("RerunOnFailure"), ran(time.Hour)), vm: ourVM("stopped"), pve: since(2 * time.Hour),
			ready: xpv2.ReasonAvailable,
		},
		"RerunNodeDown": {
			reason: "One whose node went down has failed.", machine: all(runStrategy("RerunOnFailure"), ran(time.Hour)), vm: ourVM("stopped"),
			pve: since(time.Minute), writes: []string{"Start 10000"}, ready: conditions.ReasonPowerMismatch,
		},
		"ManualStopped": {reason: "A VM that people start is not started.", machine: runStrategy("Manual"), vm: ourVM("stopped"), ready: xpv2.ReasonAvailable},
		"ManualRunning": {reason: "A VM that people start is not stopped.", machine: runStrategy("Manual"), vm: ourVM("running"), ready: xpv2.ReasonAvailable},
		"Halted": {
			reason: "A VM that is to be halted is stopped.", machine: runStrategy("Halted"), vm: ourVM("running"),
			writes: []string{"Shutdown 10000 0s force true"}, ready: conditions.ReasonPowerMismatch,
		},
		"HaltedIsStopped": {
			reason:  "A VM that is to be halted and is off stays so.",
			machine: runStrategy("Halted"), vm: ourVM("stopped"), ready: xpv2.ReasonAvailable,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.vms[10000] = tc.vm
			if tc.pve != nil {
				tc.pve(b)
			}
			s := b.reconcile(t.Context())
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if got := b.m.GetCondition(xpv2.TypeReady); got.Reason != tc.ready {
				t.Errorf("\n%s\nwant Ready %s, got %s: %s", tc.reason, tc.ready, got.Reason, got.Message)
			}
		})
	}
}

// TestUnresumableIsStopped checks that a guest that cannot be resumed to be asked to shut down is stopped hard.
func TestUnresumableIsStopped(t *testing.T) {
	b := newBench(t, powerState("Stopped"))
	b.vms[10000] = qmp("paused")
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmresume", 10000), "Resetting the Virtual Machine is required")
	for range 20 {
		b.clock.wait(10 * time.Second)
		b.reconcile(t.Context())
		if len(b.writes) > 1 {
			break
		}
	}
	if diff := cmp.Diff([]string{"Resume 10000", "Shutdown 10000 0s force true"}, b.writes); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestPausedIsDeleted checks that a paused VM that is removed is not resumed for that: its disks are removed with it.
func TestPausedIsDeleted(t *testing.T) {
	b := newBench(t, all(powerState("Paused"), spec(func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(180)) })))
	b.vms[10000] = qmp("paused")
	b.m.DeletionTimestamp = &metav1.Time{Time: b.clock.now()}
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Shutdown 10000 3m0s force true"}, b.writes); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if c := b.m.GetCondition(xpv2.TypeReady); !strings.Contains(c.Message, "is stopped hard") {
		t.Errorf("want that said, got %s: %s", c.Reason, c.Message)
	}
}

// TestPausedAgent checks that the agent of a paused guest is not asked, and that its earlier report stays.
func TestPausedAgent(t *testing.T) {
	b := newBench(t, powerState("Paused"))
	b.vms[10000] = qmp("paused")
	b.vms[10000].config["agent"], b.vms[10000].config["net0"] = "1", "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	b.vms[10000].now.Uptime = time.Hour
	b.m.Status.AtProvider.IPAddresses = []string{"192.0.2.1"}
	asked := 0
	b.on["Interfaces"] = func() { asked++ }
	for range 3 {
		b.reconcile(t.Context())
		b.clock.wait(time.Minute)
	}
	if asked != 0 {
		t.Errorf("want the agent left alone, got %d questions", asked)
	}
	if diff := cmp.Diff([]string{"192.0.2.1"}, b.m.Status.AtProvider.IPAddresses); diff != "" {
		t.Errorf("addresses: -want, +got:\n%s", diff)
	}
	if c := b.m.GetCondition(conditions.TypeNetworkConfigured); c.Status != corev1.ConditionTrue {
		t.Errorf("want no fault of the network, got %s: %s", c.Reason, c.Message)
	}
}

// TestRanIsKept checks that the time since which a VM ran is saved, so that its later end can be distinguished from a failure.
func TestRanIsKept(t *testing.T) {
	b := newBench(t, runStrategy("RerunOnFailure"))
	b.nodes[0].Uptime = time.Hour
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	first := b.kept(t, object.AnnotationRunningSince)
	if first == "" {
		t.Fatal("want kept since when the VM ran")
	}
	b.clock.wait(time.Minute)
	if s := b.reconcile(t.Context()); !s.upToDate || b.kept(t, object.AnnotationRunningSince) != first {
		t.Errorf("want it kept once, got %+v and %s", s, b.kept(t, object.AnnotationRunningSince))
	}
	b.vms[10000].status = "stopped"
	b.touch()
	if s := b.reconcile(t.Context()); !s.upToDate || len(b.writes) > 0 {
		t.Errorf("want a VM that stopped by itself left alone, got %+v and %q", s, b.writes)
	}
	b.nodes[0].Uptime = 10 * time.Second
	if b.reconcile(t.Context()); len(b.writes) != 1 {
		t.Errorf("want it started after its node went down, got %q", b.writes)
	}
	b.vms[10000].status = "running"
	b.end(t, upid("pve1", "qmstart", 10000), "OK")
	b.reconcile(t.Context())
	if b.kept(t, object.AnnotationRunningSince) == first {
		t.Error("want kept that it runs since the node is up again")
	}
}

func action(action, token string) func(*namespaced.Machine) {
	return spec(func(p *v1alpha1.MachineParameters) {
		p.PowerAction = &v1alpha1.MachinePowerAction{Action: action, Token: token}
	})
}

// hasBooted returns a guest whose system is up.
func hasBooted(g *guest) *guest {
	g.now.Uptime = restart.BootTime
	return g
}

func TestPowerAction(t *testing.T) {
	cases := map[string]struct {
		reason string
		action string
		vm     *guest
		fail   error
		writes []string
		result string
	}{
		"Reboot":   {reason: "A reboot is the guest's.", action: "Reboot", vm: hasBooted(ourVM("running")), writes: []string{"Reboot 10000 0s"}},
		"Reset":    {reason: "A reset is not.", action: "Reset", vm: ourVM("running"), writes: []string{"Reset 10000"}},
		"Shutdown": {reason: "A shutdown is the guest's.", action: "Shutdown", vm: ourVM("running"), writes: []string{"Shutdown 10000 0s force true"}},
		"Stop":     {reason: "A stop is not.", action: "Stop", vm: ourVM("running"), writes: []string{"Stop 10000"}},
		"Start":    {reason: "What is not kept running can be started.", action: "Start", vm: ourVM("stopped"), writes: []string{"Start 10000"}},
		"Refused": {
			reason: "What PVE refuses is the result.", action: "Reset", vm: ourVM("stopped"), fail: refused(500, "VM 10000 not running"),
			writes: []string{"Reset 10000"}, result: "not running",
		},
		"Lost": {
			reason: "What became of a call without an answer is unknown.", action: "Reset", vm: ourVM("running"),
			fail: refused(596, "Connection timed out"), writes: []string{"Reset 10000"}, result: "unknown",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(runStrategy("Manual"), action(tc.action, "1")))
			b.vms[10000] = tc.vm
			call := strings.Fields(tc.writes[0])[0]
			b.errs[call] = tc.fail
			b.on[call] = func() {
				if !strings.Contains(b.kept(t, object.AnnotationPowerAction), `"token":"1"`) {
					t.Errorf("\n%s\nthe token must be kept before the call", tc.reason)
				}
			}
			if s := b.reconcile(t.Context()); s.err != nil {
				t.Fatal(s.err)
			}
			done := b.m.Observation().PowerAction
			if done == nil || done.Action != tc.action || done.Token != "1" || !strings.Contains(done.Result, tc.result) {
				t.Errorf("\n%s\nwant the result %q shown, got %+v", tc.reason, tc.result, done)
			}
			b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
			b.clock.wait(time.Hour)
			if s := b.reconcile(t.Context()); !s.upToDate {
				t.Errorf("\n%s\nwant nothing to do, got %+v", tc.reason, s)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nan action is done once: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// notHeard is the end of a task whose request the guest ignores.
const notHeard = "VM quit/powerdown failed - got timeout"

// shuttingDown returns a bench with a VM that boots while its spec asks once to shut it down, within 25 seconds.
func shuttingDown(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, all(runStrategy("Manual"), action("Shutdown", "1"), spec(func(p *v1alpha1.MachineParameters) {
		p.ShutdownTimeoutSeconds = new(int32(25))
	})))
	b.ended = map[proxmox.UPID]proxmox.Task{}
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["scsi0"] = "local-lvm:vm-10000-disk-0,size=8G"
	b.vms[10000].now.Uptime = time.Second
	return b
}

// TestShutdownActionInRounds checks that a guest that is booting, and ignores the request to shut down, is asked in rounds, for one token.
func TestShutdownActionInRounds(t *testing.T) {
	b, h := shuttingDown(t), &heard{}
	e := b.external()
	e.record = h
	want := []string{"Shutdown 10000 10s force false", "Shutdown 10000 10s force false", "Shutdown 10000 5s force true"}
	for i := range want {
		if s := b.reconcileWith(t.Context(), e); s.err != nil {
			t.Fatal(s.err)
		}
		if diff := cmp.Diff(want[:i+1], b.writes); diff != "" {
			t.Fatalf("round %d: -want, +got:\n%s", i, diff)
		}
		b.reconcileWith(t.Context(), e)
		c := b.m.GetCondition(kind.TypeUpToDate)
		const wait = "powerAction Shutdown: the guest is asked to shut down; the VM is stopped hard at 2027-01-15T08:00:25Z"
		if a := b.m.Observation().PowerAction; c.Reason != xpv2.ReasonUpdateRequested || c.Message != wait || a == nil || a.Result != "" {
			t.Errorf("round %d: want said what is waited for, and no result yet, got %s: %s, and %+v", i, c.Reason, c.Message, a)
		}
		b.runOn(10 * time.Second)
		if i < len(want)-1 {
			b.end(t, upid("pve1", "qmshutdown", 10000), notHeard)
		}
	}
	if len(h.reasons) > 0 {
		t.Errorf("want no event for a round, got %q", h.messages)
	}
	b.end(t, upid("pve1", "qmshutdown", 10000), "OK")
	b.vms[10000].status = "stopped"
	for range 3 {
		b.clock.wait(time.Minute)
		b.reconcileWith(t.Context(), e)
	}
	if a := b.m.Observation().PowerAction; len(b.writes) != len(want) || a == nil || a.Result != "OK" {
		t.Errorf("want it done once, got %q and %+v", b.writes, a)
	}
}

// TestShutdownActionEnds checks that the guest is asked again only while it is known to be on since it was first asked, and while the spec still asks
// for it.
func TestShutdownActionEnds(t *testing.T) {
	cases := map[string]struct {
		reason string
		after  func(*bench)
		writes []string
		result string
	}{
		"Goes": {
			reason: "A provider that starts again goes on where the other one was.", after: func(*bench) {},
			writes: []string{"Shutdown 10000 10s force false"},
		},
		"Spent": {
			reason: "A shutdown stops the VM hard when the time is spent.", after: func(b *bench) { b.runOn(20 * time.Second) },
			writes: []string{"Shutdown 10000 1s force true"},
		},
		"Started": {
			reason: "A VM that was started meanwhile was off.", after: func(b *bench) {
				b.runOn(time.Hour)
				b.vms[10000].now.Uptime = time.Minute
			}, result: notHeard,
		},
		"Stopped": {reason: "A VM that is off is asked nothing.", after: func(b *bench) { b.vms[10000].status = "stopped" }, result: notHeard},
		"Reverted": {
			reason: "Nobody asks for it any more.", after: func(b *bench) { b.m.Spec.ForProvider.PowerAction = nil }, result: notHeard,
		},
		"Failed": {
			reason: "Another failure is the result.", after: func(b *bench) {
				b.ended[upid("pve1", "qmshutdown", 10000)] = proxmox.Task{Type: "qmshutdown", ExitStatus: "boom"}
			}, result: "boom",
		},
		"Forgotten": {
			reason: "What became of the request is not known.", after: func(b *bench) { b.errs["Task"] = refused(400, "no such task") }, result: "unknown",
		},
		"HA": {
			reason: "High availability takes one request.",
			after:  func(b *bench) { managedByHA(b.vms[10000], "started") }, result: notHeard,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := shuttingDown(t)
			b.reconcile(t.Context())
			b.runOn(10 * time.Second)
			b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
			b.ended[upid("pve1", "qmshutdown", 10000)] = proxmox.Task{Type: "qmshutdown", ExitStatus: notHeard}
			b.writes = nil
			tc.after(b)
			b.touch()
			b.reconcile(t.Context())
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if a := b.m.Observation().PowerAction; a == nil || a.Result != tc.result {
				t.Errorf("\n%s\nwant the result %q, got %+v", tc.reason, tc.result, a)
			}
		})
	}
}

func TestPowerActionResult(t *testing.T) {
	u := upid("pve1", "qmreset", 10000)
	cases := map[string]struct {
		reason string
		see    func(*testing.T, *bench)
		want   string
	}{
		"Runs": {reason: "A task that runs has no result.", see: func(_ *testing.T, b *bench) { b.ended[u] = proxmox.Task{UPID: u, Running: true} }},
		"Ends": {reason: "The end of the task is the result.", see: func(t *testing.T, b *bench) { t.Helper(); b.end(t, u, "OK") }, want: "OK"},
		"Restarts": {
			reason: "A provider that starts again asks for it.",
			see:    func(_ *testing.T, b *bench) { b.ended[u] = proxmox.Task{UPID: u, ExitStatus: "VM is locked (backup)"} },
			want:   "VM is locked (backup)",
		},
		"Forgets": {reason: "What nobody knows is unknown.", see: func(_ *testing.T, b *bench) { b.errs["Task"] = refused(400, "no such task") }, want: "unknown"},
		"Others": {
			reason: "The task of another VM is not looked at, whoever has written it into the status.", want: "unknown",
			see: func(_ *testing.T, b *bench) {
				theirs := upid("pve1", "qmreset", 10001)
				b.m.Observation().PowerAction.UPID, b.ended[theirs] = string(theirs), proxmox.Task{UPID: theirs, ExitStatus: "hidden"}
			},
		},
		"Loses": {reason: "A status that was lost is unknown.", see: func(_ *testing.T, b *bench) { b.m.Observation().PowerAction = nil }, want: "unknown"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, action("Reset", "1"))
			b.ended = map[proxmox.UPID]proxmox.Task{}
			b.vms[10000] = ourVM("running")
			b.reconcile(t.Context())
			tc.see(t, b)
			b.reconcile(t.Context())
			if got := b.m.Observation().PowerAction; got == nil || got.Result != tc.want {
				t.Errorf("\n%s\nwant %q, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestLongRebootRests checks that a guest may take longer to shut down than a VM is left alone after a call.
func TestLongRebootRests(t *testing.T) {
	b := newBench(t, action("Reboot", "1"))
	b.vms[10000] = hasBooted(ourVM("running"))
	b.reconcile(t.Context())
	b.clock.wait(tasktrack.RebootTime)
	b.end(t, upid("pve1", "qmreboot", 10000), "OK")
	b.vms[10000].status = "stopped"
	if b.reconcile(t.Context()); len(b.writes) != 1 {
		t.Errorf("want the VM left alone until PVE has started it, got %q", b.writes)
	}
	b.clock.wait(tasktrack.RebootTime)
	if b.reconcile(t.Context()); len(b.writes) != 2 {
		t.Errorf("want it started if PVE does not, got %q", b.writes)
	}
}

// TestRebootRests checks that only PVE starts a VM that reboots.
func TestRebootRests(t *testing.T) {
	b := newBench(t, action("Reboot", "1"))
	b.vms[10000] = hasBooted(ourVM("running"))
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmreboot", 10000), "OK")
	b.vms[10000].status = "stopped"
	if b.reconcile(t.Context()); len(b.writes) != 1 {
		t.Errorf("want the VM left alone until PVE has started it, got %q", b.writes)
	}
	b.clock.wait(tasktrack.RebootTime)
	if b.reconcile(t.Context()); len(b.writes) != 2 {
		t.Errorf("want it started if PVE does not, got %q", b.writes)
	}
}

// TestRebootRestEnds checks that nothing waits for the reboot any more once the VM was started again.
func TestRebootRestEnds(t *testing.T) {
	b := newBench(t, action("Reboot", "1"))
	b.vms[10000] = ourVM("running")
	b.vms[10000].now.Uptime = time.Hour
	b.reconcile(t.Context())
	b.clock.wait(10 * time.Second)
	b.end(t, upid("pve1", "qmreboot", 10000), "OK")
	b.vms[10000].status, b.vms[10000].now.Uptime = "stopped", 0
	b.m.Spec.ForProvider.OnBoot = new(true)
	b.reconcile(t.Context())
	c := b.m.GetCondition(kind.TypeUpToDate)
	if len(b.writes) != 1 || c.Status != corev1.ConditionFalse ||
		!strings.Contains(c.Message, "onboot (none) → 1; waits for a reboot of the VM to end, until 2027-01-15T08:01:") ||
		!strings.Contains(c.Message, "Z at most") {
		t.Errorf("want the change to wait for the reboot and that said, got %q and %s: %s", b.writes, c.Reason, c.Message)
	}
	b.clock.wait(3 * time.Second)
	b.vms[10000].status, b.vms[10000].now.Uptime = "running", time.Second
	b.m.Spec.ForProvider.PowerAction = &v1alpha1.MachinePowerAction{Action: "Stop", Token: "2"}
	b.touch()
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Reboot 10000 0s", "Configure 10000 set onboot delete  digest d1", "Stop 10000"}, b.writes); diff != "" {
		t.Errorf("want the change made as soon as the VM is back: -want, +got:\n%s", diff)
	}
}

// TestRebootWaitsForGuest checks that a reboot waits for a guest that is booting, which would ignore a request, and shows that. A reset, and a VM
// that is paused, need no guest.
func TestRebootWaitsForGuest(t *testing.T) {
	cases := map[string]struct {
		reason string
		action string
		vm     func(*bench)
		writes []string
	}{
		"Booting": {reason: "The guest was just started.", action: "Reboot"},
		"Agent": {reason: "The agent of the guest answers.", action: "Reboot", vm: func(b *bench) {
			b.vms[10000].config["agent"], b.vms[10000].agent = "1", []proxmox.Interface{{Name: "eth0"}}
		}, writes: []string{"Reboot 10000 0s"}},
		"Booted": {
			reason: "Systems are up by then.", action: "Reboot", vm: func(b *bench) { b.vms[10000].now.Uptime = restart.BootTime },
			writes: []string{"Reboot 10000 0s"},
		},
		"Paused": {
			reason: "A paused guest does not boot.", action: "Reboot", vm: func(b *bench) { b.vms[10000].now.QMPStatus = "paused" },
			writes: []string{"Reboot 10000 0s"},
		},
		"Reset": {reason: "A reset asks no guest.", action: "Reset", writes: []string{"Reset 10000"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(runStrategy("Manual"), action(tc.action, "1")))
			b.vms[10000] = ourVM("running")
			b.vms[10000].now.Uptime = time.Second
			if tc.vm != nil {
				tc.vm(b)
			}
			for range 3 {
				b.reconcile(t.Context())
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			c := b.m.GetCondition(kind.TypeUpToDate)
			waits := c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "powerAction Reboot waits for the guest") &&
				strings.HasSuffix(c.Message, "until 2027-01-15T08:01:59Z at most")
			if waits != (tc.writes == nil) {
				t.Errorf("\n%s\nwant the wait told: %t, got %s: %s", tc.reason, tc.writes == nil, c.Reason, c.Message)
			}
			if next := poll.Interval(b.m, time.Hour, b.clock.now()); tc.writes == nil && next > poll.Addresses {
				t.Errorf("\n%s\nwant it looked at again soon, got %s", tc.reason, next)
			}
		})
	}
}

// TestPowerActionWaitsForLock checks that an action whose task did not get the VM's lock, and thus did nothing, is repeated as long as PVE cleans up.
// Another failure is its result.
func TestPowerActionWaitsForLock(t *testing.T) {
	b := newBench(t, action("Reset", "1"))
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmreset", 10000), "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout")
	for range 10 {
		if len(b.writes) == 1 {
			b.clock.wait(2 * time.Second)
			b.reconcile(t.Context())
		}
	}
	if diff := cmp.Diff([]string{"Reset 10000", "Reset 10000"}, b.writes); diff != "" {
		t.Fatalf("want it done again: -want, +got:\n%s", diff)
	}
	if a := b.m.Status.AtProvider.PowerAction; a == nil || a.Result != "" {
		t.Errorf("want no result yet, got %+v", a)
	}
	b.end(t, upid("pve1", "qmreset", 10000), "boom")
	for range 3 {
		b.clock.wait(time.Minute)
		b.reconcile(t.Context())
	}
	if a := b.m.Status.AtProvider.PowerAction; len(b.writes) != 2 || a == nil || a.Result != "boom" {
		t.Errorf("want the failure as its result, got %q and %+v", b.writes, a)
	}
}

// TestPowerActionTokens checks that a token that returns after another, as with a manifest that is reverted, does nothing.
func TestPowerActionTokens(t *testing.T) {
	for name, kept := range map[string]string{"New": "", "Released": "1"} { // Earlier releases have saved only the token.
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(runStrategy("Manual"), action("Reset", "1"), func(m *namespaced.Machine) {
				meta.AddAnnotations(m, map[string]string{object.AnnotationPowerAction: kept})
			}))
			b.vms[10000] = ourVM("running")
			asked := 0
			for i, token := range []string{"1", "2", "1", "2", "1", "3"} {
				b.m.Spec.ForProvider.PowerAction.Token = token
				before := len(b.writes)
				if i == 0 && kept == "" || token != "1" && i != 3 {
					asked++
				}
				for range 2 {
					b.clock.wait(time.Minute)
					if s := b.reconcile(t.Context()); s.err != nil {
						t.Fatal(s.err)
					}
				}
				if len(b.writes) > before {
					b.end(t, upid("pve1", "qmreset", 10000), "OK")
					b.reconcile(t.Context())
				}
				seen := b.m.Observation().PowerAction
				if len(b.writes) != asked || seen == nil || seen.Token != token {
					t.Fatalf("after token %q, number %d: want %d resets, got %q and %+v", token, i, asked, b.writes, seen)
				}
				if repeated := i == 2 || i == 4; repeated != strings.HasPrefix(seen.Result, "not done: its token was used before") {
					t.Errorf("after token %q, number %d: got %q", token, i, seen.Result)
				}
			}
		})
	}
}

// TestPowerActionWaits checks that a call that is not sent before its turn does not count as a done action.
func TestPowerActionWaits(t *testing.T) {
	b := newBench(t, all(runStrategy("Manual"), action("Reboot", "1")))
	b.vms[10000] = hasBooted(ourVM("running"))
	b.errs["Reboot"] = outOfTurn(t)
	waitsForTurn(t, b.reconcile(t.Context()))
	if seen, kept := b.m.Observation().PowerAction, b.kept(t, object.AnnotationPowerAction); seen != nil || kept != "" {
		t.Errorf("want nothing done yet, got %+v and %q", seen, kept)
	}
	delete(b.errs, "Reboot")
	if s := b.reconcile(t.Context()); s.err != nil || !strings.Contains(b.kept(t, object.AnnotationPowerAction), `"token":"1"`) || len(b.writes) != 2 {
		t.Errorf("want it done when its turn has come, got %v and %q", s.err, b.writes)
	}
}

// TestCrashLoop checks that a VM that stops soon after each of its starts is started less and less often.
func TestCrashLoop(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	u, begun, h, kept := upid("pve1", "qmstart", 10000), b.clock.now(), &heard{}, b.external().shared
	kept.record = h
	look := func() reconcileResult {
		e := b.external()
		e.shared = kept
		return b.reconcileWith(t.Context(), e)
	}
	var started []time.Duration
	for b.clock.now().Before(begun.Add(20*time.Minute)) && len(started) < 8 {
		if s := look(); s.err != nil {
			t.Fatal(s.err)
		}
		if n := len(b.writes); n > len(started) {
			started = append(started, b.clock.now().Sub(begun))
			b.end(t, u, "OK")
			b.vms[10000].status = "running"
			look()
			b.vms[10000].status = "stopped"
			b.touch() // It is off again.
		} else if c := b.m.GetCondition(xpv2.TypeReady); c.Reason != conditions.ReasonPowerMismatch ||
			!strings.Contains(c.Message, "has stopped soon after each of its last") || !strings.Contains(c.Message, "its next start waits until 2027-01-15T08:") {
			t.Fatalf("want said why it is not started, got %s: %s", c.Reason, c.Message)
		}
		b.clock.wait(time.Second)
	}
	var gaps []time.Duration
	for i := range len(started) - 1 {
		gaps = append(gaps, started[i+1]-started[i])
	}
	want := []time.Duration{time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute}
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Errorf("time between starts: -want, +got:\n%s", diff)
	}
	faults := slices.DeleteFunc(slices.Clone(h.reasons), func(r string) bool { return r != string(conditions.ReasonPowerMismatch) })
	if len(faults) != 1 || !h.of(xpevent.Reason(conditions.ReasonPowerMismatch), "has stopped soon after each of its last") {
		t.Errorf("want it told once, got %d events: %q", len(faults), h.messages)
	}
}

// TestCrashLoopEnds checks that a VM that has run for long, or whose spec has changed, is started at once.
func TestCrashLoopEnds(t *testing.T) {
	for reason, change := range map[string]func(*bench){
		"it has run for long":  func(b *bench) { b.clock.wait(tasktrack.RunsFor + time.Second) },
		"its spec has changed": func(b *bench) { b.m.Generation++ },
	} {
		b := newBench(t, nil)
		b.vms[10000] = ourVM("stopped")
		for range 2 {
			b.reconcile(t.Context())
			b.end(t, upid("pve1", "qmstart", 10000), "OK")
			b.touch()
		}
		if b.reconcile(t.Context()); len(b.writes) != 2 {
			t.Fatalf("want two starts and no third so soon, got %q", b.writes)
		}
		change(b)
		b.touch()
		if b.reconcile(t.Context()); len(b.writes) != 3 {
			t.Errorf("%s: want it started at once, got %q", reason, b.writes)
		}
	}
}

// TestRenameOfSuspended renames a disk of a suspended VM, which does not change the VM.
func TestRenameOfSuspended(t *testing.T) {
	known, _ := withDisk("")
	b := newBench(t, all(known, powerState("Suspended"), dataDisk(func(k *v1alpha1.MachineDisk) { k.Name, k.Device = "logs", new("scsi1") })))
	g := suspendedVM()
	g.config["scsi1"] = "local-lvm:vm-10000-disk-1,size=1G"
	b.vms[10000] = g
	for range 2 {
		if got := b.reconcile(t.Context()); got.err != nil {
			t.Error(got.err)
		}
	}
	if got := b.m.Annotations[object.AnnotationDevices]; !strings.Contains(got, `"logs":"scsi1"`) || len(b.writes) > 0 {
		t.Errorf("want the new name noted and nothing written to the VM, got %s, %v", got, b.writes)
	}
	if ready := b.m.GetCondition(xpv2.TypeReady); ready.Message != "" {
		t.Errorf("want nothing to wait for, got Ready: %q", ready.Message)
	}
}
