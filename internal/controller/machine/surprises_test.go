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
	corev1 "k8s.io/api/core/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestHATaskDoesNothing covers the tasks that ask high availability to start or stop a VM, which succeed at once whatever follows. The provider
// relies on the VM itself, and does not ask in each reconcile.
func TestHATaskDoesNothing(t *testing.T) {
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      *guest
		task    string
	}{
		"Start": {
			reason:  "A VM that others have put under high availability is to run.",
			machine: powerState("Running"), vm: managedByHA(ourVM("stopped"), "started"), task: "qmstart",
		},
		"Stop": {
			reason:  "One is to be off.",
			machine: powerState("Stopped"), vm: managedByHA(hasBooted(ourVM("running")), "started"), task: "qmshutdown",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.vms[10000] = tc.vm
			for range 10 {
				b.reconcile(t.Context())
				if u := upid("pve1", tc.task, 10000); b.ends[u] != nil {
					b.end(t, u, "OK")
					delete(b.ends, u)
				}
				b.clock.wait(time.Second)
			}
			if len(b.writes) != 1 {
				t.Errorf("\n%s\nwant high availability asked once in ten seconds, got %q", tc.reason, b.writes)
			}
			b.reconcile(t.Context())
			if c := b.m.GetCondition(xpv2.TypeReady); c.Reason != conditions.ReasonPowerMismatch {
				t.Errorf("\n%s\nwant Ready to go by the VM, got %s %s: %s", tc.reason, c.Status, c.Reason, c.Message)
			}
			b.clock.wait(haDelay)
			if b.reconcile(t.Context()); len(b.writes) != 2 {
				t.Errorf("\n%s\nwant it asked again later, got %q", tc.reason, b.writes)
			}
		})
	}
}

// TestHAMigrationDoesNothing covers the task that asks high availability to migrate a VM, which also succeeds at once.
func TestHAMigrationDoesNothing(t *testing.T) {
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") }))
	b.vms[10000] = managedByHA(hasBooted(ourVM("running")), "started")
	asked := func() int { return strings.Count(strings.Join(b.writes, ","), "Migrate 10000") }
	for range 10 {
		b.reconcile(t.Context())
		for u, done := range b.ends {
			if done != nil {
				b.end(t, u, "OK")
				delete(b.ends, u)
			}
		}
		b.clock.wait(time.Second)
	}
	if asked() != 1 {
		t.Errorf("want high availability asked once in ten seconds, got %q", b.writes)
	}
	if s := b.reconcile(t.Context()); s.upToDate && len(b.m.Status.AtProvider.Difference) == 0 {
		t.Errorf("want the node to differ while the VM stays, got %+v", b.m.Status.AtProvider)
	}
	b.clock.wait(haDelay)
	if b.reconcile(t.Context()); asked() != 2 {
		t.Errorf("want it asked again later, got %q", b.writes)
	}
}

// TestStaleRunning covers the minutes after a node was lost, in which the cluster lists its VMs as running, and high availability lists its VMs as
// started: the state of the node counts.
func TestStaleRunning(t *testing.T) {
	cases := map[string]struct {
		reason string
		vm     *guest
	}{
		"Plain": {reason: "The list goes on saying running.", vm: ourVM("running")},
		"HA":    {reason: "High availability goes on saying started.", vm: managedByHA(ourVM("running"), "started")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = tc.vm
			for range 2 {
				b.reconcile(t.Context())
			}
			if c := b.m.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue {
				t.Fatalf("the VM is ready first, got %v", c)
			}
			asked := 0
			b.nodes[0].Status, b.on["Pending"], b.on["Status"] = "offline", func() { asked++ }, func() { asked++ }
			b.touch()
			b.m.Spec.ForProvider.OnBoot = new(true)
			for range 3 {
				b.reconcile(t.Context())
				b.clock.wait(time.Minute)
			}
			if c := b.m.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionFalse || c.Reason != conditions.ReasonNodeOffline {
				t.Errorf("\n%s\nwant Ready False while the node is off, got %s %s: %s", tc.reason, c.Status, c.Reason, c.Message)
			}
			if asked != 0 || len(b.writes) != 0 {
				t.Errorf("\n%s\nwant nothing asked of the node, got %d reads and %q", tc.reason, asked, b.writes)
			}
		})
	}
}

// TestVolumeDeletedByOthers deletes a volume that a VM has in a drive. Proxmox VE allows that without a trace in the configuration, and the start
// fails. No other disk is created in its place, and the start is not tried in each reconcile.
func TestVolumeDeletedByOthers(t *testing.T) {
	const lost = "volume 'local-lvm:vm-10000-disk-1' does not exist"
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
		p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), Size: new("1G")}}
	}))
	b.vms[10000] = ourVM("stopped")
	b.vms[10000].config["scsi1"] = "local-lvm:vm-10000-disk-1,size=1G"
	var err error
	for range 10 {
		if s := b.reconcile(t.Context()); s.err != nil {
			err = s.err
		}
		if u := upid("pve1", "qmstart", 10000); b.ends[u] != nil {
			b.ended = map[proxmox.UPID]proxmox.Task{}
			b.end(t, u, lost)
			delete(b.ends, u)
		}
		b.clock.wait(time.Second)
	}
	if err == nil || !strings.Contains(err.Error(), lost) {
		t.Errorf("want the reason told, got %v", err)
	}
	starts := 0
	for _, w := range b.writes {
		if w != "Start 10000" {
			t.Errorf("want nothing but the start, got %q", w)
		}
		starts++
	}
	if starts == 0 || starts > 3 {
		t.Errorf("want the start tried again ever more seldom, got %q", b.writes)
	}
	if c := b.m.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionFalse {
		t.Errorf("want Ready False, got %s: %s", c.Reason, c.Message)
	}
}
