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
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/proxmoxtest"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// pendingVM runs with 1 core and is to have 2 after its next start.
func pendingVM() *guest {
	g := ourVM("running")
	g.config["cores"], g.pending = "1", map[string]string{"cores": "2"}
	g.now.Uptime = time.Hour
	return g
}

func restarting(p *v1alpha1.MachineParameters) {
	p.CPU, p.RestartPolicy = &v1alpha1.MachineCPU{Cores: new(int32(2))}, new("WhenRequired")
}

func TestRestart(t *testing.T) {
	// The clock stands on a Friday at 8:00 UTC.
	window := func(schedule string) func(*namespaced.Machine) {
		return spec(func(p *v1alpha1.MachineParameters) {
			p.MaintenanceWindow = &v1alpha1.MaintenanceWindow{Schedule: schedule, DurationMinutes: 60}
		})
	}
	reboot := []string{"Reboot 10000 0s"}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      func(*guest)
		writes  []string
		shown   xpv2.ConditionReason
		message string
		err     string
	}{
		"Required": {reason: "What needs a restart gets one.", machine: spec(restarting), writes: reboot, shown: conditions.ReasonRestarting, message: "cores"},
		"Never": {
			reason:  "Unless nobody allows it.",
			machine: spec(func(p *v1alpha1.MachineParameters) { restarting(p); p.RestartPolicy = new("Never") }),
			shown:   conditions.ReasonPendingChanges, message: "cores",
		},
		"HandEdit": {
			reason:  "A hand edit that is pending is taken back, which needs none.",
			machine: spec(func(p *v1alpha1.MachineParameters) { restarting(p); p.CPU.Cores = new(int32(1)) }),
			writes:  []string{"Configure 10000 set cores delete  digest d1"}, shown: conditions.ReasonPendingChanges,
		},
		"Undeclared": {
			reason:  "What a person changed of what is not declared restarts nothing.",
			machine: spec(func(p *v1alpha1.MachineParameters) { restarting(p); p.CPU = nil }), shown: conditions.ReasonPendingChanges,
			message: "cores",
		},
		"ChangeFirst": {
			reason:  "What is still to be changed comes first.",
			machine: spec(func(p *v1alpha1.MachineParameters) { restarting(p); p.OnBoot = new(true) }),
			writes:  []string{"Configure 10000 set onboot delete  digest d1"}, shown: conditions.ReasonPendingChanges,
		},
		"Booting": {
			reason: "A guest that boots does not hear.", machine: spec(restarting), vm: func(g *guest) { g.now.Uptime = time.Second },
			shown: conditions.ReasonWaitingForGuest,
		},
		"Answers": {
			reason: "One whose agent answers has booted.", machine: spec(restarting),
			vm: func(g *guest) { g.now.Uptime = time.Second; g.config["agent"] = "1"; g.agent = noInterfaces }, writes: reboot,
			shown: conditions.ReasonRestarting,
		},
		"WindowOpen": {
			reason: "A VM is restarted within its window.", machine: all(spec(restarting), window("30 7 * * 5")), writes: reboot,
			shown: conditions.ReasonRestarting,
		},
		"WindowClosed": {
			reason: "Outside it waits, and says until when.", machine: all(spec(restarting), window("0 9 * * *")),
			shown: conditions.ReasonOutsideMaintenanceWindow, message: "opens at 2027-01-15T09:00:00Z",
		},
		"WindowBroken": {
			reason: "A schedule that cannot be is refused.", machine: all(spec(restarting), window("0 25 * * *")),
			shown: conditions.ReasonOutsideMaintenanceWindow, err: "above maximum (23)",
		},
		"WouldFail": {
			reason: "A VM that would not start again is left running.", machine: spec(restarting),
			vm: func(g *guest) { g.config["hotplug"], g.pending["hotplug"] = "disk", "memory" }, shown: conditions.ReasonStartBlocked,
			message: "hotplug memory needs cpu.numa",
		},
		"Locked": {
			reason: "A VM that is locked is left alone.", machine: spec(restarting), vm: func(g *guest) { g.config["lock"] = "backup" },
			shown: conditions.ReasonPendingChanges,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.vms[10000] = pendingVM()
			if tc.vm != nil {
				tc.vm(b.vms[10000])
			}
			s := b.reconcile(t.Context())
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != tc.shown || !strings.Contains(c.Message, tc.message) {
				t.Errorf("\n%s\nwant %s with %q, got %s: %s", tc.reason, tc.shown, tc.message, c.Reason, c.Message)
			}
		})
	}
}

// TestRestartOnce checks that a restart is not repeated for the same changes, whatever its result.
func TestRestartOnce(t *testing.T) {
	b := newBench(t, spec(restarting))
	b.vms[10000] = pendingVM()
	b.on["Reboot"] = func() {
		if b.kept(t, object.AnnotationLastRestart) == "" {
			t.Error("What the VM is restarted for must be kept before the call")
		}
	}
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmreboot", 10000), "OK")
	b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
	b.clock.wait(3 * time.Hour)          // The VM has been running for an hour.
	for range 3 {
		b.touch()
		b.reconcile(t.Context())
	}
	if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != conditions.ReasonRestartIneffective {
		t.Errorf("want said that the restart was in vain, got %s: %s", c.Reason, c.Message)
	}
	if len(b.writes) != 1 {
		t.Errorf("want one restart, got %q", b.writes)
	}
	b.vms[10000].config["cores"], b.vms[10000].pending = "2", nil // A user restarts it.
	b.touch()
	b.reconcile(t.Context())
	if got := b.kept(t, object.AnnotationLastRestart); got != "" {
		t.Errorf("want forgotten what no longer is pending, got %q", got)
	}
	b.vms[10000].config["cores"], b.vms[10000].pending = "1", map[string]string{"cores": "2"}
	b.touch()
	if b.reconcile(t.Context()); len(b.writes) != 2 {
		t.Errorf("want the same changes to restart it again later, got %q", b.writes)
	}
}

// TestRestartOnceUpgraded checks that the record of an earlier release shows that a restart was made.
func TestRestartOnceUpgraded(t *testing.T) {
	b := newBench(t, spec(restarting))
	b.vms[10000] = pendingVM()
	b.reconcile(t.Context())
	b.m.Annotations[object.AnnotationLastRestart] = restart.Last(b.m).Changes
	b.writes, b.tasks = nil, tasktrack.New(b.clock.now)
	b.touch()
	b.reconcile(t.Context())
	if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != conditions.ReasonRestartIneffective || len(b.writes) > 0 {
		t.Errorf("want no restart, got %q and %s: %s", b.writes, c.Reason, c.Message)
	}
}

// runOn lets time pass while the VM continues to run.
func (b *bench) runOn(d time.Duration) {
	b.clock.wait(d)
	b.vms[10000].now.Uptime += d
	b.touch()
}

// A restartBench has a VM whose guest is to be restarted and does not act on requests.
func restartBench(t *testing.T, change func(*v1alpha1.MachineParameters)) *bench {
	t.Helper()
	b := newBench(t, all(spec(restarting), spec(change)))
	b.vms[10000] = pendingVM()
	return b
}

// refuseReboot ends the task of a reboot as PVE does when the guest does not act on it.
func (b *bench) refuseReboot(t *testing.T) {
	t.Helper()
	b.end(t, upid("pve1", "qmreboot", 10000), "VM quit/powerdown failed - got timeout")
}

// wantRestart reconciles and compares the condition RestartRequired and the calls so far.
func (b *bench) wantRestart(t *testing.T, why string, reason xpv2.ConditionReason, message string, writes ...string) {
	t.Helper()
	b.reconcile(t.Context())
	if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != reason || !strings.Contains(c.Message, message) {
		t.Errorf("%s: want %s with %q, got %s: %s", why, reason, message, c.Reason, c.Message)
	}
	if diff := cmp.Diff(writes, b.writes); diff != "" {
		t.Errorf("%s: writes: -want, +got:\n%s", why, diff)
	}
}

const timedOut = "the VM was not restarted: VM quit/powerdown failed - got timeout; it is asked for again"

// TestRestartFails checks that a request that the guest does not act on is reported as such, and made again.
func TestRestartFails(t *testing.T) {
	b := restartBench(t, func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(180)) })
	one := "Reboot 10000 3m0s"
	b.wantRestart(t, "The guest is asked", conditions.ReasonRestarting, "", one)
	b.runOn(3 * time.Minute)
	b.refuseReboot(t)
	b.wantRestart(t, "It has not acted", conditions.ReasonRestartFailed, timedOut+" at 2027-01-15T08:04:00Z", one)
	b.runOn(59 * time.Second)
	b.wantRestart(t, "It is left alone", conditions.ReasonRestartFailed, timedOut, one)
	b.runOn(time.Second)
	b.wantRestart(t, "It is asked again", conditions.ReasonRestarting, "", one, one)
	b.runOn(3 * time.Minute)
	b.refuseReboot(t)
	b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
	b.runOn(time.Minute)
	b.wantRestart(t, "It is left alone for longer", conditions.ReasonRestartFailed, "the VM was not restarted, although that was asked for", one, one)
	b.runOn(time.Minute)
	b.wantRestart(t, "It is asked once more", conditions.ReasonRestarting, "", one, one, one)
}

// TestRestartWaitsForLock checks that a request that has done nothing, because Proxmox VE held the VM's lock, is made again once the lock may be
// free. It is reported as a failure only after half a minute.
func TestRestartWaitsForLock(t *testing.T) {
	b := restartBench(t, func(*v1alpha1.MachineParameters) {})
	one := "Reboot 10000 0s"
	b.wantRestart(t, "The guest is asked", conditions.ReasonRestarting, "", one)
	b.end(t, upid("pve1", "qmreboot", 10000), lockTimeout)
	if s := b.reconcile(t.Context()); !waitsOnly(b, s) {
		t.Errorf("the lock is waited for, got %v", s.err)
	}
	b.runOn(lockedRetry)
	b.wantRestart(t, "It is asked again", conditions.ReasonRestarting, "", one, one)
	b.end(t, upid("pve1", "qmreboot", 10000), lockTimeout)
	b.runOn(tasktrack.LockHeld - lockedRetry)
	b.wantRestart(t, "The lock is held for too long", conditions.ReasonRestarting, "", one, one)
	b.runOn(defaultShutdown)
	b.wantRestart(t, "That is told", conditions.ReasonRestartFailed, "can't lock file", one, one)
}

// defaultShutdown is how long Proxmox VE waits for a guest unless the call says otherwise.
const defaultShutdown = time.Minute

// TestRestartUnknownAfterLock checks that a request whose answer was lost is not repeated although the request before it got no lock: the guest may
// have received it.
func TestRestartUnknownAfterLock(t *testing.T) {
	b := restartBench(t, func(*v1alpha1.MachineParameters) {})
	one := "Reboot 10000 0s"
	b.wantRestart(t, "The guest is asked", conditions.ReasonRestarting, "", one)
	b.end(t, upid("pve1", "qmreboot", 10000), lockTimeout)
	b.runOn(lockedRetry)
	b.errs["Reboot"] = proxmoxtest.LostAnswer(t)
	b.wantRestart(t, "It is asked again", conditions.ReasonRestarting, "", one, one)
	delete(b.errs, "Reboot")
	b.runOn(lockedRetry)
	b.wantRestart(t, "It may have been heard", conditions.ReasonRestarting, "", one, one)
}

// TestRestartFailsInWindow checks that the guest is asked again in each maintenance window.
func TestRestartFailsInWindow(t *testing.T) {
	b := restartBench(t, func(p *v1alpha1.MachineParameters) {
		p.ShutdownTimeoutSeconds = new(int32(180))
		p.MaintenanceWindow = &v1alpha1.MaintenanceWindow{Schedule: "0 8 * * *", DurationMinutes: 4}
	})
	one := "Reboot 10000 3m0s"
	b.wantRestart(t, "The guest is asked", conditions.ReasonRestarting, "", one)
	b.runOn(3 * time.Minute)
	b.refuseReboot(t)
	b.runOn(2 * time.Minute)
	b.wantRestart(t, "The window has closed", conditions.ReasonRestartFailed, timedOut+" when the maintenance window opens at 2027-01-16T08:00:00Z", one)
	b.runOn(24*time.Hour - 5*time.Minute)
	b.wantRestart(t, "The next one opens", conditions.ReasonRestarting, "", one, one)
	if r := restart.Last(b.m); r.Count != 1 || !r.First.Equal(r.Last) {
		t.Errorf("want requests to be counted again in each window, got %+v", r)
	}
}

// TestRestartHard checks that a guest that has not acted within restartTimeoutSeconds is stopped hard and started, even if nothing else would start it.
func TestRestartHard(t *testing.T) {
	b := restartBench(t, func(p *v1alpha1.MachineParameters) {
		p.ShutdownTimeoutSeconds, p.RestartTimeoutSeconds, p.RunStrategy = new(int32(180)), new(int32(200)), new(power.Manual)
	})
	one := "Reboot 10000 3m0s"
	b.wantRestart(t, "The guest is asked", conditions.ReasonRestarting, "", one)
	b.runOn(3 * time.Minute)
	b.refuseReboot(t)
	b.runOn(19 * time.Second)
	b.wantRestart(t, "It has time left", conditions.ReasonRestartFailed, timedOut+" at 2027-01-15T08:03:20Z", one)
	b.runOn(time.Second)
	b.on["Stop"] = func() {
		if !strings.Contains(b.kept(t, object.AnnotationLastRestart), `"stopped":true`) {
			t.Error("That the VM is to be started must be kept before the call")
		}
	}
	b.wantRestart(t, "Its time is spent", conditions.ReasonRestarting, "", one, "Stop 10000")
	b.end(t, upid("pve1", "qmstop", 10000), "OK")
	b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
	b.vms[10000].status, b.vms[10000].now, b.vms[10000].config["cores"], b.vms[10000].pending = "stopped", proxmox.Status{}, "2", nil
	b.touch()
	b.wantRestart(t, "It is started", conditions.ReasonUpToDate, "", one, "Stop 10000", "Start 10000")
	b.vms[10000].status = "running"
	b.tasks = tasktrack.New(b.clock.now)
	b.touch()
	b.wantRestart(t, "It runs", conditions.ReasonUpToDate, "", one, "Stop 10000", "Start 10000")
	if got := b.kept(t, object.AnnotationLastRestart); got != "" {
		t.Errorf("want the restart forgotten, got %q", got)
	}
}

// TestRestartHardSoon checks that the first request does not take longer than the restart as a whole.
func TestRestartHardSoon(t *testing.T) {
	b := restartBench(t, func(p *v1alpha1.MachineParameters) {
		p.ShutdownTimeoutSeconds, p.RestartTimeoutSeconds = new(int32(180)), new(int32(20))
	})
	b.wantRestart(t, "The guest is asked", conditions.ReasonRestarting, "", "Reboot 10000 20s")
	b.runOn(20 * time.Second)
	b.refuseReboot(t)
	b.runOn(2 * tasktrack.FirstRetry)
	b.wantRestart(t, "It is stopped", conditions.ReasonRestarting, "", "Reboot 10000 20s", "Stop 10000")
}

// TestRestartUnderWay checks that a restart that is under way does not count as ineffective.
func TestRestartUnderWay(t *testing.T) {
	b := newBench(t, spec(restarting))
	b.vms[10000] = pendingVM()
	shown := func(why string, want xpv2.ConditionReason) {
		t.Helper()
		b.reconcile(t.Context())
		if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != want {
			t.Errorf("%s: want %s, got %s: %s", why, want, c.Reason, c.Message)
		}
	}
	u := upid("pve1", "qmreboot", 10000)
	shown("It is restarted", conditions.ReasonRestarting)
	b.pve.tasks = []proxmox.Task{{UPID: u, Type: "qmreboot", ID: "10000", Running: true}}
	b.runOn(90 * time.Second)
	shown("The guest shuts down", conditions.ReasonRestarting)
	done := b.ends[u]
	b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
	shown("The guest still shuts down", conditions.ReasonRestarting)
	b.pve.tasks = nil
	done(proxmox.Task{UPID: u, Type: "qmreboot", ID: "10000", ExitStatus: "VM quit/powerdown failed - got timeout"})
	<-b.woken
	shown("The guest has not shut down", conditions.ReasonRestartFailed)
}

// TestRestartOnceForImage checks that an image that waits for its drive is a change like others.
func TestRestartOnceForImage(t *testing.T) {
	b := newBench(t, all(spec(restarting), spec(func(p *v1alpha1.MachineParameters) {
		p.CloudInit = &v1alpha1.MachineCloudInit{UserData: &v1alpha1.CloudInitData{Inline: new("#cloud-config\n")}}
	})))
	b.vms[10000] = pendingVM()
	b.reconcile(t.Context())
	for u := range b.ends {
		b.end(t, u, "OK")
		delete(b.ends, u)
	}
	uploaded := b.volumes["pve1"][len(b.volumes["pve1"])-1]
	b.vms[10000].config["ide2"], b.vms[10000].pending["ide2"] = "none,media=cdrom", uploaded+",media=cdrom"
	b.writes = nil
	b.vms[10000].now.Uptime = 10 * time.Minute // It is restarted each time that an hour passes.
	for range 3 {
		b.touch()
		b.reconcile(t.Context())
		if b.kept(t, object.AnnotationLastRestart) != "" {
			b.tasks = tasktrack.New(b.clock.now) // The provider starts again.
		}
		b.clock.wait(time.Hour)
	}
	if diff := cmp.Diff([]string{"Reboot 10000 0s"}, b.writes); diff != "" {
		t.Errorf("want one restart, whatever comes of it: -want, +got:\n%s", diff)
	}
}

// TestRestartRefused checks that a restart that PVE refuses to begin counts as not made, and is made when PVE allows it.
func TestRestartRefused(t *testing.T) {
	for reason, refusal := range map[string]error{
		"a privilege is missing":  refused(403, "Permission check failed (/vms/10000, VM.PowerMgmt)"),
		"it waits for its turn":   outOfTurn(t),
		"no worker can be forked": refused(500, "got no worker upid - start worker failed"),
	} {
		b := newBench(t, spec(restarting))
		b.vms[10000] = pendingVM()
		b.errs["Reboot"] = refusal
		if s := b.reconcile(t.Context()); s.err == nil || b.kept(t, object.AnnotationLastRestart) != "" {
			t.Errorf("%s: want the error and no restart noted, got %v and %q", reason, s.err, b.kept(t, object.AnnotationLastRestart))
		}
		delete(b.errs, "Reboot")
		if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 || b.kept(t, object.AnnotationLastRestart) == "" {
			t.Errorf("%s: want it made now, got %v and %q", reason, s.err, b.writes)
		}
	}
	b := newBench(t, spec(restarting))
	b.vms[10000] = pendingVM()
	b.errs["Reboot"] = proxmoxtest.LostAnswer(t)
	if s := b.reconcile(t.Context()); s.err == nil || b.kept(t, object.AnnotationLastRestart) == "" {
		t.Errorf("want noted what may have been made, got %v", s.err)
	}
}
