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
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

func TestDelete(t *testing.T) {
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("running")
	reconcile := func(why string, exists bool, writes int) {
		t.Helper()
		if s := b.reconcile(t.Context()); s.err != nil || s.exists != exists || len(b.writes) != writes {
			t.Errorf("%s: want exists %t and %d calls in all, got %+v and %q", why, exists, writes, s, b.writes)
		}
	}
	reconcile("It is shut down", true, 1)
	reconcile("It is waited for", true, 1)
	b.end(t, upid("pve1", "qmshutdown", 10000), "OK")
	b.vms[10000].status = "stopped"
	reconcile("It is destroyed", true, 2)
	reconcile("It is waited for", true, 2)
	delete(b.vms, 10000)
	b.end(t, upid("pve1", "qmdestroy", 10000), "OK")
	reconcile("It is gone", false, 2)
	if _, ok := b.tasks.Last(b.m); ok {
		t.Error("A Machine that is gone must be forgotten")
	}
}

// TestDeleteUnread deletes a VM that is watched and was read before.
func TestDeleteUnread(t *testing.T) {
	shutdown := []string{"Shutdown 10000 0s force true"}
	exchanged := func(b *bench) {
		b.vms[10000] = theirVM()
		b.watchers[string(b.m.GetUID())].Changed(inventory.ChangeAll)
	}
	cases := map[string]struct {
		reason string
		vm     *guest
		before func(*bench)
		reads  int
		writes []string
	}{
		"Runs": {reason: "The guest of a VM that has run all the time is asked to shut down without another read.", vm: ourVM("running"), writes: shutdown},
		"Off":  {reason: "A VM that is off is read before it is destroyed.", vm: ourVM("stopped"), reads: 1, writes: []string{"Delete 10000 purge true"}},
		"Exchanged": {
			reason: "A VM that is another one by the time that others' tasks are listed is left alone.", vm: ourVM("running"), reads: 1,
			before: func(b *bench) { b.on["CatchUp"] = func() { exchanged(b) } },
		},
		"Changed": {
			reason: "A VM with a sign of a change is read.", vm: ourVM("running"), reads: 1, writes: shutdown,
			before: func(b *bench) { b.watchers[string(b.m.GetUID())].Changed(inventory.ChangeConfig) },
		},
		"Missed": {
			reason: "A VM is read where signs of changes were missed.", vm: ourVM("running"), reads: 1, writes: shutdown,
			before: func(b *bench) { b.watchers[string(b.m.GetUID())].Missed() },
		},
		"Edited": {
			reason: "A VM that was protected a moment ago is left alone.", vm: ourVM("running"), reads: 1,
			before: func(b *bench) {
				b.on["CatchUpEdits"] = func() {
					b.vms[10000].config["protection"] = "1"
					b.watchers[string(b.m.GetUID())].Changed(inventory.ChangeConfig)
				}
			},
		},
		"Unlogged": {
			reason: "A VM is read by who does not see the edits of others.", vm: ourVM("running"), reads: 1, writes: shutdown,
			before: func(b *bench) { b.errs["CatchUpEdits"] = refused(403, "Permission check failed (/, Sys.Syslog)") },
		},
		"Foreign": {
			reason: "A VM that was seen to be another one is left alone, whatever was read of it before.", vm: ourVM("running"), reads: 1,
			before: func(b *bench) {
				b.m.DeletionTimestamp = nil
				b.vms[10000].config["smbios1"] = "uuid=11111111-1111-4111-8111-111111111111"
				meta.AddAnnotations(b.m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"})
				b.reconcile(t.Context())
				meta.RemoveAnnotations(b.m, meta.AnnotationKeyReconcileRequestedAt)
				b.m.DeletionTimestamp = &metav1.Time{Time: b.clock.now()}
			},
		},
		"Unseen": {
			reason: "A VM is read by who does not see the tasks of others.", vm: ourVM("running"), reads: 1, writes: shutdown,
			before: func(b *bench) { b.errs["CatchUp"] = refused(403, "Permission check failed (/, Sys.Audit)") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			if tc.vm.status == "stopped" {
				b.m.Spec.ForProvider.PowerState = new(v1alpha1.PowerStateStopped)
			}
			b.vms[10000] = tc.vm
			b.reconcile(t.Context())
			b.m.DeletionTimestamp = &metav1.Time{Time: b.clock.now()}
			if tc.before != nil {
				tc.before(b)
			}
			reads := b.reads()
			b.reconcile(t.Context())
			if diff := cmp.Diff(tc.writes, b.writes, cmpopts.EquateEmpty()); diff != "" || *reads != tc.reads {
				t.Errorf("%s\nwant %d reads, got %d; -want, +got:\n%s", tc.reason, tc.reads, *reads, diff)
			}
		})
	}
}

// TestDeleteInRounds checks that a guest that is booting, and ignores a request to shut down, is asked again until its time is spent.
func TestDeleteInRounds(t *testing.T) {
	b := newBench(t, all(deleted, spec(func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(25)) })))
	b.vms[10000] = ourVM("running")
	e, h := b.external(), &heard{}
	e.record = h
	want := []string{"Shutdown 10000 10s force false", "Shutdown 10000 10s force false", "Shutdown 10000 5s force true"}
	for i := range want {
		if s := b.reconcileWith(t.Context(), e); s.err != nil {
			t.Fatal(s.err)
		}
		if diff := cmp.Diff(want[:i+1], b.writes); diff != "" {
			t.Fatalf("round %d: -want, +got:\n%s", i, diff)
		}
		ready := b.m.GetCondition(xpv2.TypeReady)
		if ready.Reason != xpv2.ReasonDeleting || ready.Message != "the guest is asked to shut down; the VM is stopped hard at 2027-01-15T08:00:25Z" {
			t.Errorf("round %d: want said what is waited for, got %s: %s", i, ready.Reason, ready.Message)
		}
		b.clock.wait(10 * time.Second)
		if i < len(want)-1 {
			b.end(t, upid("pve1", "qmshutdown", 10000), "VM quit/powerdown failed - got timeout")
		}
	}
	if len(h.reasons) > 0 {
		t.Errorf("want no event for a round, got %q", h.messages)
	}
	b.end(t, upid("pve1", "qmshutdown", 10000), "OK")
	b.vms[10000].status = "stopped"
	b.reconcile(t.Context())
	if ready := b.m.GetCondition(xpv2.TypeReady); len(b.writes) != len(want)+1 || ready.Message != "the VM is being destroyed" {
		t.Errorf("want it destroyed, got %q and %s", b.writes, ready.Message)
	}
}

// TestStopInRounds checks the message of a VM that is to be off.
func TestStopInRounds(t *testing.T) {
	b := newBench(t, all(powerState("Stopped"), spec(func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(25)) })))
	b.vms[10000] = ourVM("running")
	for i, want := range []string{
		"the VM is still running", "the VM is still running: the guest is asked to shut down; the VM is stopped hard at 2027-01-15T08:00:25Z",
	} {
		b.reconcile(t.Context())
		if ready := b.m.GetCondition(xpv2.TypeReady); ready.Reason != conditions.ReasonPowerMismatch || ready.Message != want {
			t.Errorf("look %d: want %q, got %s: %q", i, want, ready.Reason, ready.Message)
		}
	}
}

// TestShutdownTime checks that the time spent by a guest is the time that Proxmox VE was told to give it, even if its tasks end sooner. A VM that is
// started meanwhile has all of its time again.
func TestShutdownTime(t *testing.T) {
	b := newBench(t, all(deleted, spec(func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(25)) })))
	b.vms[10000] = ourVM("running")
	want := []string{"Shutdown 10000 10s force false", "Shutdown 10000 10s force false", "Shutdown 10000 5s force true"}
	for range want {
		b.reconcile(t.Context())
		b.clock.wait(time.Second)
		b.end(t, upid("pve1", "qmshutdown", 10000), "VM quit/powerdown failed - got timeout")
	}
	if diff := cmp.Diff(want, b.writes); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, exit := range []string{"VM quit/powerdown failed - got timeout", "OK"} {
		tracker := tasktrack.New(b.clock.now)
		tracker.Started(b.m, upid("pve1", "qmshutdown", 10000))
		first := tracker.RequestShutdown(b.m, time.Time{}, 15*time.Second, 10*time.Second)
		task := proxmox.Task{UPID: upid("pve1", "qmshutdown", 10000), Type: "qmshutdown", ExitStatus: exit}
		tracker.Ended(b.m, task, task.Err())
		second := tracker.RequestShutdown(b.m, time.Time{}, 15*time.Second, 10*time.Second)
		if first.ForceStop || second.ForceStop == (exit == "OK") {
			t.Errorf("after %q: got %+v, then %+v", exit, first, second)
		}
	}
}

// TestDeleteRounds checks that a guest that has booted is asked less often, and high availability once.
func TestDeleteRounds(t *testing.T) {
	for want, change := range map[string]func(*guest){
		"Shutdown 10000 30s force false": func(g *guest) { g.now.Uptime = time.Hour },
		"Shutdown 10000 10s force false": func(g *guest) { g.now.Uptime = time.Second },
		"Shutdown 10000 3m0s force true": func(g *guest) { g.now.HAManaged, g.now.HAState = true, "started" },
	} {
		b := newBench(t, all(deleted, spec(func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(180)) })))
		b.vms[10000] = ourVM("running")
		change(b.vms[10000])
		b.reconcile(t.Context())
		if diff := cmp.Diff([]string{want}, b.writes); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}

func TestDeleteFails(t *testing.T) {
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmdestroy", 10000), "base volume is in use by linked clones")
	if s := b.reconcile(t.Context()); proxmox.ClassOf(s.err) != proxmox.ClassTaskFailed || len(b.writes) != 1 {
		t.Errorf("A failure is shown and held back: %v, %q", s.err, b.writes)
	}
}

// TestDeleteWaitsForStorage checks the wait for a missing storage: PVE destroys a VM although it cannot remove its disks, and only warns of the rest.
func TestDeleteWaitsForStorage(t *testing.T) {
	disks := map[string]string{
		"scsi0": "ceph:vm-10000-disk-0,size=8G", "unused0": "ceph:vm-10000-disk-1", "scsi1": "local-lvm:vm-10000-disk-0,size=1G",
		"scsi2": "ceph:vm-200-disk-0,size=1G", "ide2": "iso:iso/debian.iso,media=cdrom",
	}
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("stopped")
	maps.Copy(b.vms[10000].config, disks)
	for i := range b.storages {
		if b.storages[i].Name == "ceph" || b.storages[i].Name == "iso" {
			b.storages[i].Status = "unknown"
		}
	}
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(
		s.err.Error(), "for the storage of ceph:vm-10000-disk-0, ceph:vm-10000-disk-1: it is not available on node pve1",
	) || len(b.writes) > 0 {
		t.Fatalf("want it to wait for its disks alone, got %v and %q", s.err, b.writes)
	}
	b.clock.wait(obstacleTime)
	e, h := b.external(), &heard{}
	e.record = h
	if s := b.reconcileWith(t.Context(), e); s.err != nil || len(b.writes) != 1 {
		t.Errorf("want it destroyed all the same some time later, got %v and %q", s.err, b.writes)
	}
	if !h.of(events.ReasonOrphanedDisks, "ceph:vm-10000-disk-0, ceph:vm-10000-disk-1") {
		t.Errorf("want told which disks are left, got %q", h.messages)
	}
	b = newBench(t, deleted)
	b.vms[10000] = ourVM("stopped")
	maps.Copy(b.vms[10000].config, disks)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 1 {
		t.Errorf("want it destroyed at once while all storages are there, got %v and %q", s.err, b.writes)
	}
}

// TestDeleteWarns checks that the warnings of a successful task are reported.
func TestDeleteWarns(t *testing.T) {
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("stopped")
	e, h := b.external(), &heard{}
	e.record = h
	b.taskLog = []string{
		"purging VM 10000 from related configurations..", "WARN: Could not remove disk 'ceph:vm-10000-disk-0', check manually: rbd error",
		"TASK WARNINGS: 1",
	}
	b.reconcileWith(t.Context(), e)
	b.end(t, upid("pve1", "qmdestroy", 10000), "WARNINGS: 1")
	if !h.of(events.ReasonTaskWarning, "Could not remove disk 'ceph:vm-10000-disk-0'") {
		t.Errorf("want the warning told, got %q", h.messages)
	}
}

// TestDeleteWithAnotherVMID checks that a vmid that was added to a Machine which has a VM does not hold up its deletion.
func TestDeleteWithAnotherVMID(t *testing.T) {
	b := newBench(t, all(named(555), deleted))
	b.vms[10000] = ourVM("stopped")
	if s := b.reconcile(t.Context()); s.err != nil || !slices.Equal(b.writes, []string{"Delete 10000 purge true"}) {
		t.Errorf("want the VM destroyed, got %v and %q", s.err, b.writes)
	}
}

// TestDestroyed checks that the entry that PVE keeps of a VM until it is destroyed, which has no identity, is recognized.
func TestDestroyed(t *testing.T) {
	remains := func() *guest {
		return &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "destroyed"}}
	}
	destroying := []proxmox.Task{{UPID: upid("pve1", "qmdestroy", 10000), Node: "pve1", Type: "qmdestroy", ID: "10000", Running: true}}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		tasks   []proxmox.Task
		exists  bool
		err     string
	}{
		"Deleting":   {reason: "A Machine stays until the removal of its VM has ended.", machine: deleted, tasks: destroying, exists: true},
		"Died":       {reason: "A Machine says what to do if the removal of its VM has died.", machine: deleted, err: "qm destroy 10000 --skiplock"},
		"ByHand":     {reason: "A removal by hand is waited for.", tasks: destroying, exists: true},
		"ByHandDied": {reason: "A Machine says what to do if a removal by hand has died.", err: "qm destroy 10000 --skiplock"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.m.Status.AtProvider.UUID = ourUUID
			b.vms[10000], b.pve.tasks = remains(), tc.tasks
			s := b.reconcile(t.Context())
			if s.exists != tc.exists || tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) || len(b.writes) > 0 {
				t.Errorf("\n%s\nwant exists %t and error %q, got %+v and %q", tc.reason, tc.exists, tc.err, s, b.writes)
			}
		})
	}
}

// TestImageOfForeignVM checks that an image stays while the VM that now has the VMID has it: the VM may be ours under another UUID.
func TestImageOfForeignVM(t *testing.T) {
	id := qemu.Identity{VMID: 10000, UUID: ourUUID}
	used, other := "files:iso/"+id.NoCloudImageName(strings.Repeat("a", 16)), "files:iso/"+id.NoCloudImageName(strings.Repeat("b", 16))
	b := newBench(t, all(named(10000), deleted, func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationImages] = "pve1=" + used + " pve1=" + other
	}))
	b.volumes = map[string][]string{"pve1": {used, other}}
	b.vms[10000] = theirVM()
	b.vms[10000].config["ide2"] = used + ",media=cdrom"
	s := b.reconcile(t.Context())
	for u := range b.ends {
		b.end(t, u, "OK")
	}
	for range 3 {
		if s = b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
	}
	if diff := cmp.Diff(map[string][]string{"pve1": {used}}, b.volumes); diff != "" || s.exists {
		t.Errorf("want the image kept that is in use, and the Machine released, got %+v: -want, +got:\n%s", s, diff)
	}
}
