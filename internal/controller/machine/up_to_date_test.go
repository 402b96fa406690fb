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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestUpToDate checks that the condition UpToDate is False for any difference and any wait, and names them.
func TestUpToDate(t *testing.T) {
	memory := spec(func(p *v1alpha1.MachineParameters) { p.Memory = quantity("8Gi") })
	observed := func(m *namespaced.Machine) {
		m.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	}
	window := spec(func(p *v1alpha1.MachineParameters) {
		p.MaintenanceWindow = &v1alpha1.MaintenanceWindow{Schedule: "0 9 * * *", DurationMinutes: 60}
	})
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      *guest
		pve     func(*bench)
		status  corev1.ConditionStatus
		want    xpv2.ConditionReason
		message string
	}{
		"Equal": {reason: "A VM as the spec has it is up to date.", vm: ourVM("running"), status: corev1.ConditionTrue, want: xpv2.ReasonObserveMatched},
		"Different": {
			reason: "A difference is shown from what to what.", machine: memory, vm: ourVM("running"), status: corev1.ConditionFalse,
			want: xpv2.ReasonUpdateRequested, message: "memory (none) → 8192",
		},
		"Observed": {
			reason: "Where nothing may be changed that is said.", machine: all(memory, observed), vm: ourVM("running"),
			status: corev1.ConditionFalse, want: xpv2.ReasonUpdateRestricted,
			message: "memory (none) → 8192; managementPolicies leave out Update",
		},
		"Locked": {
			reason: "A lock is waited for.", machine: memory, vm: locked(ourVM("running"), "backup"), status: corev1.ConditionFalse,
			want: xpv2.ReasonUpdateRequested, message: "memory (none) → 8192; changes wait until the VM is no longer locked (backup)",
		},
		"Busy": {
			reason: "A task of Proxmox VE is waited for.", machine: memory, vm: ourVM("running"),
			pve:    func(b *bench) { b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "vzdump", ID: "10000", Running: true}} },
			status: corev1.ConditionFalse, want: xpv2.ReasonUpdateRequested,
			message: "memory (none) → 8192; waits for a task of Proxmox VE to end",
		},
		"Restart": {
			reason:  "What waits for a restart is a difference.",
			machine: spec(func(p *v1alpha1.MachineParameters) { restarting(p); p.RestartPolicy = nil }), vm: pendingVM(),
			status: corev1.ConditionFalse, want: conditions.ReasonPendingChanges, message: "cores 1 → 2; waits for a restart of the VM",
		},
		"Window": {
			reason: "What the restart waits for is told.", machine: all(spec(restarting), window), vm: pendingVM(), status: corev1.ConditionFalse,
			want:    conditions.ReasonOutsideMaintenanceWindow,
			message: "cores 1 → 2; waits for a restart of the VM: the next maintenance window opens at 2027-01-15T09:00:00Z",
		},
		"Undeclared": {
			reason: "What waits for a restart and is not declared is no difference.", vm: pendingVM(), status: corev1.ConditionTrue,
			want: xpv2.ReasonObserveMatched,
		},
		"Power": {
			reason: "Power is a difference.", machine: powerState("Stopped"), vm: ourVM("running"), status: corev1.ConditionFalse,
			want: conditions.ReasonPowerMismatch, message: "the VM is still running",
		},
		"Action": {
			reason: "An action that is to be done is a wait.", machine: action("Reset", "1"), vm: ourVM("running"), status: corev1.ConditionFalse,
			want: xpv2.ReasonUpdateRequested, message: "powerAction Reset is to be done",
		},
		"Refused": {reason: "What cannot be is said.", machine: spec(func(p *v1alpha1.MachineParameters) {
			p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr9")}}
		}), vm: ourVM("running"), status: corev1.ConditionFalse, want: xpv2.ReasonUpdateFailed, message: "bridge 'vmbr9' not found on node pve1"},
		"Missing": {
			reason: "A VM that does not exist is not up to date.", status: corev1.ConditionFalse, want: xpv2.ReasonCreating,
			message: "the VM does not exist",
		},
		"Deleted": {
			reason: "A VM that is being deleted is not up to date.", machine: deleted, vm: ourVM("running"), status: corev1.ConditionFalse, want: xpv2.ReasonDeleting,
			message: "being deleted",
		},
		"Unreadable": {
			reason: "What cannot be read is not known.", vm: ourVM("running"),
			pve: func(b *bench) { b.errs["Pending"] = refused(596, "Connection timed out") }, status: corev1.ConditionUnknown,
			want: xpv2.ReasonUnavailable, message: "Connection timed out",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			if tc.vm != nil {
				b.vms[10000] = tc.vm
			}
			if tc.pve != nil {
				tc.pve(b)
			}
			_, _ = b.external().Observe(t.Context(), b.m)
			c := b.m.GetCondition(kind.TypeUpToDate)
			if c.Status != tc.status || c.Reason != tc.want || !strings.Contains(c.Message, tc.message) || c.Status == corev1.ConditionTrue && c.Message != "" {
				t.Errorf("\n%s\nwant %s %s: %s, got %s %s: %s", tc.reason, tc.status, tc.want, tc.message, c.Status, c.Reason, c.Message)
			}
		})
	}
}

// TestReadyWithDevices checks that a VM that lacks what the spec declares is not ready, which an event reports once.
func TestReadyWithDevices(t *testing.T) {
	disk := spec(func(p *v1alpha1.MachineParameters) {
		p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), Size: new("1G")}}
	})
	seen := func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true},"volumes":{"data":"gone:vm-10000-disk-1"}}`
	}
	with := func(config ...string) *guest {
		g := ourVM("running")
		g.now.Uptime = time.Hour
		for i := 0; i < len(config); i += 2 {
			g.config[config[i]] = config[i+1]
		}
		return g
	}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      *guest
		pve     func(*bench)
		want    xpv2.ConditionReason
		message string
	}{
		"Whole": {
			reason: "A VM with all that is declared is ready.", machine: disk, vm: with("scsi1", "local-lvm:vm-10000-disk-1,size=1G"),
			want: xpv2.ReasonAvailable,
		},
		"Disk": {
			reason: "One that has lost a disk is not.", machine: all(disk, seen), vm: with("scsi0", "local-lvm:vm-10000-disk-0,size=8G"),
			want: conditions.ReasonDeviceMissing, message: `the VM does not have disk "data" (scsi1)`,
		},
		"Coming": {reason: "One whose disk the next call adds is.", machine: disk, vm: with("boot", "order=net0"), want: xpv2.ReasonAvailable},
		"Failed": {
			reason:  "After a failure nothing is known to bring it.",
			machine: all(disk, func(m *namespaced.Machine) { m.SetConditions(xpv2.ReconcileError(errors.New("boom"))) }),
			vm:      with("boot", "order=net0"), want: conditions.ReasonDeviceMissing, message: `the VM does not have disk "data" (scsi1)`,
		},
		"Unmanaged": {
			reason: "A missing disk is told where the provider only observes: nothing adds it.",
			machine: all(disk, func(m *namespaced.Machine) {
				m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
			}),
			vm: with("boot", "order=net0"), want: conditions.ReasonDeviceMissing, message: `the VM does not have disk "data" (scsi1)`,
		},
		"BootDisk": {
			reason: "A VM whose only disk is detached has nothing to boot from.", vm: with("unused0", "local-lvm:vm-10000-disk-0"),
			want: conditions.ReasonBootDiskMissing, message: "unused0 (local-lvm:vm-10000-disk-0) is not attached",
		},
		"Diskless": {reason: "A VM without disks boots from elsewhere.", vm: with(), want: xpv2.ReasonAvailable},
		"Bridge": {
			reason: "A VM on a bridge that is not there is not ready.", vm: with("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr9"),
			pve: func(b *bench) { b.privileges = proxmox.Privileges{"SDN.Use": true} }, want: conditions.ReasonBridgeMissing,
			message: "bridge 'vmbr9' not found on node pve1",
		},
		"BridgeHidden": {reason: "Whoever may not see a bridge does not know.", vm: with("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr9"), pve: func(b *bench) {
			b.lacks = []proxmox.Privilege{{Path: "/sdn/zones/localnetwork/vmbr9", Names: []string{"SDN.Use"}}}
		}, want: xpv2.ReasonAvailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.vms[10000] = tc.vm
			if tc.pve != nil {
				tc.pve(b)
			}
			told := 0
			for range 3 {
				e, h := b.external(), &heard{}
				e.record = h
				_, _ = e.Observe(t.Context(), b.m)
				if h.of(xpevent.Reason(tc.want), tc.message) {
					told++
				}
			}
			c := b.m.GetCondition(xpv2.TypeReady)
			if c.Reason != tc.want || !strings.Contains(c.Message, tc.message) {
				t.Errorf("\n%s\nwant %s: %s, got %s: %s", tc.reason, tc.want, tc.message, c.Reason, c.Message)
			}
			if want := c.Status == corev1.ConditionFalse; want && told != 1 || !want && told != 0 {
				t.Errorf("\n%s\nwant one event of a fault, got %d", tc.reason, told)
			}
		})
	}
}

// TestFaultsToldOnce checks that a fault that a condition other than Ready shows is also reported once.
func TestFaultsToldOnce(t *testing.T) {
	blocked := pendingVM()
	blocked.config["hotplug"], blocked.pending["hotplug"] = "disk", "memory"
	full := ourVM("running")
	full.config["scsi0"] = "local-lvm:vm-10000-disk-0,size=1G"
	template := ourVM("stopped")
	template.config["template"] = "1"
	cases := map[string]struct {
		reason  string
		vm      *guest
		want    xpv2.ConditionReason
		message string
	}{
		"StartBlocked": {reason: "A VM that would not start again is a fault.", vm: blocked, want: conditions.ReasonStartBlocked, message: "hotplug"},
		"Full": {
			reason: "A full storage is a fault.", vm: full, want: conditions.ReasonInsufficientResources, message: "storage 'local-lvm' on node pve1 is full",
		},
		"Template": {reason: "A template cannot run.", vm: template, want: conditions.ReasonPowerMismatch, message: "the VM is a template"},
		"HAError": {
			reason: "HA starts no VM that it has given up.", vm: managedByHA(ourVM("stopped"), "error"), want: conditions.ReasonPowerMismatch,
			message: "high availability has given the VM up",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(spec(restarting), powerState("Running")))
			b.vms[10000] = tc.vm
			b.storages[0].MaxDisk, b.storages[0].Disk = 100, 1
			if name == "Full" {
				b.storages[0].Disk = 100
			}
			told := 0
			for range 3 {
				e, h := b.external(), &heard{}
				e.record = h
				_, _ = e.Observe(t.Context(), b.m)
				if h.of(xpevent.Reason(tc.want), tc.message) {
					told++
				}
			}
			if told != 1 {
				t.Errorf("%s Want one event %s, got %d", tc.reason, tc.want, told)
			}
		})
	}
}

// TestUpToDateAfterFailure checks that a failure shows when it is retried, with the same words in each reconcile.
func TestUpToDateAfterFailure(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmstart", 10000), "boom")
	var before string
	for range 2 {
		s := b.reconcile(t.Context())
		c := b.m.GetCondition(kind.TypeUpToDate)
		if s.err == nil || c.Reason != xpv2.ReasonUpdateFailed || !strings.HasPrefix(c.Message, s.err.Error()+"; it is tried again at 2027-01-15T08:00:0") {
			t.Errorf("want the error and when it is tried again, got %s: %s (%v)", c.Reason, c.Message, s.err)
		}
		if before != "" && c.Message != before {
			t.Errorf("want the same words, got %q after %q", c.Message, before)
		}
		before = c.Message
		b.clock.wait(time.Second)
	}
}
