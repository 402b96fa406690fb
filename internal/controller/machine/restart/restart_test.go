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

package restart

import (
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// now is a Friday at 8:00 UTC.
func now() time.Time { return time.Date(2027, time.January, 15, 8, 0, 0, 0, time.UTC) }

// spec returns a spec with two cores, of which the VM has one until its next start.
func spec(change func(*v1alpha1.MachineParameters)) Policy {
	p := &v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))}, RestartPolicy: new(whenRequired)}
	if change != nil {
		change(p)
	}
	return Policy{Desired: qemu.Desired{MachineParameters: p}}
}

func pendingVM(change func(*vmstate.VM)) *vmstate.VM {
	v := &vmstate.VM{State: qemu.Read([]proxmox.PendingValue{{Key: "cores", Value: new("1"), Pending: new("2")}})}
	v.Status.Status, v.Status.Uptime = "running", time.Hour
	if change != nil {
		change(v)
	}
	return v
}

// askedFor returns a record of requests for the changes of pendingVM: their number, and how long ago the last one was made.
func askedFor(count int, ago time.Duration, change func(*Request)) Request {
	changes := fingerprint(pendingVM(nil).Pending)
	r := Request{Changes: changes, First: now().Add(-ago), Last: now().Add(-ago), Count: count}
	if change != nil {
		change(&r)
	}
	return r
}

func TestDecide(t *testing.T) {
	window := func(schedule string) func(*v1alpha1.MachineParameters) {
		return func(p *v1alpha1.MachineParameters) {
			p.MaintenanceWindow = &v1alpha1.MaintenanceWindow{Schedule: schedule, DurationMinutes: 60}
		}
	}
	hardAfter := func(seconds int32) func(*v1alpha1.MachineParameters) {
		return func(p *v1alpha1.MachineParameters) { p.RestartTimeoutSeconds = new(seconds) }
	}
	cases := map[string]struct {
		reason  string
		spec    func(*v1alpha1.MachineParameters)
		vm      func(*vmstate.VM)
		last    Request
		noLock  bool
		due     bool
		hard    bool
		count   int
		timeout time.Duration
		want    xpv2.ConditionReason
		why     string
	}{
		"Due": {reason: "A pending change of the spec restarts the VM.", due: true, count: 1, want: conditions.ReasonRestarting},
		"Manual": {
			reason: "Without the policy nobody restarts the VM.", spec: func(p *v1alpha1.MachineParameters) { p.RestartPolicy = nil },
			want: conditions.ReasonPendingChanges,
		},
		"Others": {
			reason: "What others have changed restarts nothing.", spec: func(p *v1alpha1.MachineParameters) { p.CPU = nil },
			want: conditions.ReasonPendingChanges,
		},
		"Off": {
			reason: "A VM that is off takes its changes at its start.", vm: func(v *vmstate.VM) { v.Status.Status = "stopped" },
			want: conditions.ReasonPendingChanges,
		},
		"Locked": {reason: "A locked VM is not restarted.", vm: func(v *vmstate.VM) { v.Config["lock"] = "backup" }, want: conditions.ReasonPendingChanges},
		"Paused": {
			reason: "A paused guest does not hear the request.", vm: func(v *vmstate.VM) { v.Status.QMPStatus = vmstate.QMPPaused },
			want: conditions.ReasonWaitingForGuest, why: "paused",
		},
		"Booting": {
			reason: "A booting guest does not hear the request.", vm: func(v *vmstate.VM) { v.Status.Uptime = BootTime - time.Second },
			want: conditions.ReasonWaitingForGuest, why: "may still be booting",
		},
		"Agent": {
			reason: "A guest whose agent answers has booted.", due: true, count: 1, want: conditions.ReasonRestarting,
			vm: func(v *vmstate.VM) { v.Status.Uptime, v.Interfaces = time.Second, []proxmox.Interface{} },
		},
		"Closed": {
			reason: "The VM is restarted in its window only.", spec: window("0 9 * * *"), want: conditions.ReasonOutsideMaintenanceWindow,
			why: "opens at 2027-01-15T09:00:00Z",
		},
		"Open": {reason: "The VM is restarted within its window.", spec: window("30 7 * * *"), due: true, count: 1, want: conditions.ReasonRestarting},
		"ClosedAgain": {
			reason: "A request of an earlier window waits for the next one.", spec: window("0 9 * * *"), last: askedFor(1, 22*time.Hour, nil),
			vm: func(v *vmstate.VM) { v.Status.Uptime = 48 * time.Hour }, want: conditions.ReasonRestartFailed, why: "opens at 2027-01-15T09:00:00Z",
		},
		"NextWindow": {
			reason: "Requests of an earlier window do not count.", spec: window("30 7 * * *"), last: askedFor(5, 24*time.Hour, nil),
			vm: func(v *vmstate.VM) { v.Status.Uptime = 48 * time.Hour }, due: true, count: 1, want: conditions.ReasonRestarting,
		},
		"Ineffective": {
			reason: "A restart that has applied nothing is not repeated.", last: askedFor(1, 2*time.Hour, nil),
			want: conditions.ReasonRestartIneffective, why: "is not repeated",
		},
		"Asked": {reason: "The guest has a minute to act.", last: askedFor(1, 59*time.Second, nil), want: conditions.ReasonRestarting, why: UnderWay},
		"Rests": {
			reason: "A request that has failed rests for a minute.", last: askedFor(1, 119*time.Second, nil), want: conditions.ReasonRestartFailed,
			why: "it is asked for again at 2027-01-15T08:00:01Z",
		},
		"Second": {
			reason: "The guest is asked again a minute after a request that has failed.",
			last:   askedFor(1, 2*time.Minute, nil), due: true, count: 2, want: conditions.ReasonRestarting,
		},
		"Longer": {
			reason: "The second request that has failed rests longer.", last: askedFor(2, 2*time.Minute, nil),
			want: conditions.ReasonRestartFailed, why: "2027-01-15T08:01:00Z",
		},
		"Hard": {
			reason: "A guest that had the time of the spec is stopped.", spec: hardAfter(300), last: askedFor(3, 5*time.Minute, nil),
			due: true, hard: true, count: 4, want: conditions.ReasonRestarting,
		},
		"NotYetHard": {
			reason: "A guest is asked for no longer than is left.", spec: hardAfter(300), last: askedFor(1, time.Minute, func(r *Request) {
				r.First, r.Last = now().Add(-3*time.Minute), now().Add(-3*time.Minute)
			}), want: conditions.ReasonRestarting, why: UnderWay,
		},
		"Timeout": {
			reason: "The first request has the whole time of the spec.", spec: hardAfter(300), due: true, count: 1, timeout: 5 * time.Minute,
			want: conditions.ReasonRestarting,
		},
		"Shorter": {
			reason: "The time for a shutdown bounds each request.", due: true, count: 1, timeout: 30 * time.Second, want: conditions.ReasonRestarting,
			spec: func(p *v1alpha1.MachineParameters) {
				p.RestartTimeoutSeconds, p.ShutdownTimeoutSeconds = new(int32(300)), new(int32(30))
			},
		},
		"NoLock": {
			reason: "A request that got no lock is made again as it was.", last: askedFor(1, 10*time.Second, nil), noLock: true,
			due: true, count: 1, want: conditions.ReasonRestarting,
		},
		"NoLockLater": {
			reason: "The time of the guest does not begin with a request that it did not hear.", spec: hardAfter(300), noLock: true, due: true, count: 1,
			last: askedFor(1, 10*time.Second, nil), timeout: 5 * time.Minute, want: conditions.ReasonRestarting,
		},
		"NoLockHard": {
			reason: "A stop that got no lock is made again as a stop.", spec: hardAfter(300), noLock: true, due: true, hard: true, count: 4,
			last: askedFor(4, 10*time.Second, func(r *Request) { r.First, r.Stopped = now().Add(-6*time.Minute), true }), want: conditions.ReasonRestarting,
		},
		"NoLockClosed": {
			reason: "Outside the window nothing is made again.", spec: window("0 9 * * *"), noLock: true, last: askedFor(1, 10*time.Second, nil),
			want: conditions.ReasonRestartFailed, why: "opens at 2027-01-15T09:00:00Z",
		},
		"NoLockIneffective": {
			reason: "A VM that was restarted meanwhile is left alone.", noLock: true, last: askedFor(1, 2*time.Hour, nil),
			want: conditions.ReasonRestartIneffective, why: "is not repeated",
		},
		"Changed": {
			reason: "Another change is another request.", due: true, count: 1, want: conditions.ReasonRestarting,
			last: askedFor(3, time.Second, func(r *Request) { r.Changes = "other" }),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.last.Changes != "" && tc.vm == nil && tc.want != conditions.ReasonRestartIneffective {
				tc.vm = func(v *vmstate.VM) { v.Status.Uptime = 24 * time.Hour }
			}
			policy := spec(tc.spec)
			policy.LockTimedOut = tc.noLock
			got := policy.Decide(pendingVM(tc.vm), tc.last, now())
			if got.Due != tc.due || got.Hard != tc.hard || got.Reason != tc.want || !strings.Contains(got.Why, tc.why) {
				t.Errorf("%s Want due %t, hard %t, %s: %s, got %+v", tc.reason, tc.due, tc.hard, tc.want, tc.why, got)
			}
			if tc.due && (got.Request.Count != tc.count || !got.Request.Last.Equal(now()) || got.Request.Stopped != tc.hard) {
				t.Errorf("%s Want request %d of now, got %+v", tc.reason, tc.count, got.Request)
			}
			if tc.due && got.Timeout != tc.timeout {
				t.Errorf("%s Want %s for the guest, got %s", tc.reason, tc.timeout, got.Timeout)
			}
		})
	}
}

func TestStarts(t *testing.T) {
	stopped := func(v *vmstate.VM) { v.Status.Status = "stopped" }
	cases := map[string]struct {
		reason  string
		request Request
		vm      func(*vmstate.VM)
		want    bool
	}{
		"Stopped": {
			reason: "A VM that was stopped for a restart is started.", request: Request{Stopped: true, Last: now().Add(-time.Minute)}, vm: stopped,
			want: true,
		},
		"Asked":   {reason: "A guest that was only asked is not.", request: Request{Last: now().Add(-time.Minute)}, vm: stopped},
		"Runs":    {reason: "A VM that runs needs no start.", request: Request{Stopped: true, Last: now().Add(-time.Minute)}},
		"LongAgo": {reason: "After an hour it is somebody else's will.", request: Request{Stopped: true, Last: now().Add(-startsWithin)}, vm: stopped},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.request.Starts(pendingVM(tc.vm), now()); got != tc.want {
				t.Errorf("%s Want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestLast checks that a saved request is read as it was, and that a request of earlier releases consists of the fingerprint.
func TestLast(t *testing.T) {
	m := &namespaced.Machine{}
	want := askedFor(3, time.Minute, func(r *Request) { r.Stopped = true })
	m.Annotations = map[string]string{object.AnnotationLastRestart: want.String()}
	if got := Last(m); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	m.Annotations[object.AnnotationLastRestart] = "0123456789abcdef"
	if got := Last(m); got != (Request{Changes: "0123456789abcdef"}) {
		t.Errorf("want the fingerprint alone, got %+v", got)
	}
	if text := fingerprint([]proxmox.PendingValue{{Key: "cipassword", Pending: new("hush")}}); strings.Contains(text, "hush") {
		t.Errorf("the fingerprint %q reveals a value", text)
	}
}
