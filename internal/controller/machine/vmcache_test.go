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
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// reads counts how often the VM is read.
func (b *bench) reads() *int {
	n := 0
	b.on["Pending"] = func() { n++ }
	return &n
}

func TestRemembered(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	reads := b.reads()
	want := func(why string, n int) {
		t.Helper()
		if s := b.reconcile(t.Context()); s.err != nil || !s.exists {
			t.Errorf("%s: %+v", why, s)
		}
		if *reads != n {
			t.Errorf("%s: want %d reads in all, got %d", why, n, *reads)
		}
	}
	want("For the first time", 1)
	b.clock.wait(time.Minute)
	want("Without a sign", 1)
	b.touch()
	want("After a sign", 2)
	want("Once for each", 2)
	b.clock.wait(2 * vmcache.DefaultFullResyncInterval)
	want("In any case, some time", 3)
	for _, w := range b.watchers {
		w.Listed(&proxmox.Guest{
			VMID: 10000, Node: "pve1", Name: "web", Status: "running", MaxCPU: 1, MaxMemory: 512 << 20,
			Uptime: 2*vmcache.DefaultFullResyncInterval + time.Minute,
		})
	}
	want("What is listed as it is known", 3)
	b.watchers[string(b.m.GetUID())].Listed(nil)
	<-b.woken
	want("What is not listed", 4)
	b.on["Pending"] = func() { *reads++; b.watchers[string(b.m.GetUID())].Changed(inventory.ChangeConfig); <-b.woken }
	b.touch()
	want("A sign while it is read", 5)
	b.on["Pending"] = func() { *reads++ }
	want("Has it read once more", 6)
	want("And no more", 6)
	meta.SetReconcileRequest(b.m, "1")
	want("On request", 7)
	b.m.SetLastHandledReconcileAt("1")
	want("Once for each request", 7)
}

// A listing is another connection, whose list may differ.
type listing struct {
	pveInventory

	guests []proxmox.Guest
}

func (l *listing) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	return l.guests, nil
}

// TestHandover connects a Machine in another way, for example with another token.
func TestHandover(t *testing.T) {
	listed := proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: "running", MaxCPU: 1, MaxMemory: 512 << 20}
	cases := map[string]struct {
		reason string
		change func(*proxmox.Guest)
		broken bool
		reads  int
	}{
		"Same":    {reason: "What is known is known if the new connection shows the same.", change: func(*proxmox.Guest) {}},
		"Hidden":  {reason: "The new token may not be let see the VM.", change: func(g *proxmox.Guest) { g.VMID = 1 }, reads: 1},
		"Another": {reason: "Another cluster has another VM of that VMID.", change: func(g *proxmox.Guest) { g.MaxMemory *= 2 }, reads: 1},
		"Broken":  {reason: "What was not watched in between may have changed.", change: func(*proxmox.Guest) {}, broken: true, reads: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = ourVM("running")
			b.reconcile(t.Context())
			reads := b.reads()
			g := listed
			tc.change(&g)
			before, to := b.watchers, &listing{pveInventory: pveInventory{newPVE()}, guests: []proxmox.Guest{g}}
			to.vms = b.vms
			if !tc.broken {
				maps.Copy(to.watchers, before)
			}
			for range 2 {
				e := b.external()
				e.connectTo(b.pve, to)
				if s := b.reconcileWith(t.Context(), e); s.err != nil || !s.exists {
					t.Errorf("%s: %+v", tc.reason, s)
				}
			}
			if *reads != tc.reads {
				t.Errorf("%s\nwant %d reads, got %d", tc.reason, tc.reads, *reads)
			}
			if len(before) > 0 || len(to.watchers) != 1 {
				t.Errorf("%s\nwant the VM watched in the new way only, got %d and %d", tc.reason, len(before), len(to.watchers))
			}
		})
	}
}

// TestDoubted misses changes: the cached VM is used until it is soon read again, but nothing is done to the VM before.
func TestDoubted(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	reads := b.reads()
	if !b.cache.Fresh(b.m) {
		t.Error("What was just read is fresh.")
	}
	for _, w := range b.watchers {
		w.Missed()
	}
	if b.cache.Fresh(b.m) || b.cache.Proven(b.m) {
		t.Error("Nothing is proven any more.")
	}
	if b.reconcile(t.Context()); *reads != 0 {
		t.Errorf("want no read at once, got %d", *reads)
	}
	b.clock.wait(vmcache.DefaultFullResyncInterval / 3)
	if b.reconcile(t.Context()); *reads != 1 {
		t.Errorf("want one read within a third of the usual time, got %d", *reads)
	}
	vmcache.Watcher{Cache: b.cache, UID: "nobody"}.Missed() // Nothing is known of this UID.
}

// TestMismatches lets the list continue to differ from what was read: it is believed less and less often, until both agree.
func TestMismatches(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	p := vmcache.Watcher{Cache: b.cache, UID: objectstate.UID(b.m.GetUID()), Wake: func() {}}
	useless := func() time.Duration {
		changed, until := p.Since()
		return until.Sub(changed)
	}
	same := proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: "running", MaxCPU: 1, MaxMemory: 512 << 20}
	other := same
	other.Name = "db"
	var got []float64 // in seconds
	for range 10 {
		p.Listed(&other)
		got = append(got, useless().Seconds())
		b.reconcile(t.Context())
	}
	want := []float64{0, 10, 30, 70, 150, 310, 630, 1270, 2550, 2550}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("for how long lists are of no use: -want, +got:\n%s", diff)
	}
	if p.Listed(&same); useless() != 0 {
		t.Errorf("want the list believed once it agrees, got %s", useless())
	}
	p.Listed(nil)
	b.reconcile(t.Context())
	if p.Listed(nil); useless() != 10*time.Second {
		t.Errorf("want a VM that is not listed disputed again, got %s", useless())
	}
	if changed, until := (vmcache.Watcher{Cache: b.cache, UID: "nobody"}).Since(); !changed.IsZero() || !until.IsZero() {
		t.Error("Of whom nothing is known, every list tells.")
	}
}

// TestFollows ends our tasks: the resulting state of the VM is either known, or read.
func TestFollows(t *testing.T) {
	const disk = "local-lvm:vm-10000-disk-0,size=10G"
	cases := map[string]struct {
		reason string
		vm     func(*guest)
		task   proxmox.Task
		resize string
		status string
		config map[string]string
		read   bool
	}{
		"Started":  {reason: "A VM that was started runs.", task: proxmox.Task{Type: "qmstart", ExitStatus: "OK"}, status: "running"},
		"Warned":   {reason: "A VM that was started with warnings runs.", task: proxmox.Task{Type: "qmstart", ExitStatus: "WARNINGS: 1"}, status: "running"},
		"Stopped":  {reason: "A VM that was stopped does not.", task: proxmox.Task{Type: "qmstop", ExitStatus: "OK"}, status: "stopped"},
		"ShutDown": {reason: "A VM that was shut down does not run.", task: proxmox.Task{Type: "qmshutdown", ExitStatus: "OK"}, status: "stopped"},
		"Failed":   {reason: "After a failure nobody knows.", task: proxmox.Task{Type: "qmstart", ExitStatus: "boom"}, read: true},
		"Resized": {
			reason: "A disk has the size that was asked for.", task: proxmox.Task{Type: "resize", ExitStatus: "OK"}, resize: "20G",
			status: "stopped", config: map[string]string{"scsi0": "local-lvm:vm-10000-disk-0,size=20G"},
		},
		"Unasked": {reason: "A disk is read again where no size was asked for.", task: proxmox.Task{Type: "resize", ExitStatus: "OK"}, read: true},
		"Other":   {reason: "Other tasks change what they like.", task: proxmox.Task{Type: "qmmove", ExitStatus: "OK"}, read: true},
		"Locked": {
			reason: "What is locked is on its way somewhere.", vm: func(g *guest) { g.config["lock"] = "suspended" },
			task: proxmox.Task{Type: "qmstart", ExitStatus: "OK"}, read: true,
		},
		"Pending": {
			reason: "A start puts pending changes in force.",
			vm:     func(g *guest) { g.config["cores"], g.pending = "2", map[string]string{"cores": "4"} },
			task:   proxmox.Task{Type: "qmstart", ExitStatus: "OK"}, read: true,
		},
		"HAManaged": {
			reason: "HA does as it likes.", vm: func(g *guest) { *g = *managedByHA(g, "stopped") },
			task: proxmox.Task{Type: "qmstart", ExitStatus: "OK"}, read: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { m.Spec.ForProvider.RunStrategy = new(power.Manual) })
			g := ourVM("stopped")
			g.config["scsi0"] = disk
			if tc.vm != nil {
				tc.vm(g)
			}
			b.vms[10000] = g
			b.reconcile(t.Context())
			if tc.resize != "" {
				b.cache.PredictResize(b.m, "scsi0", tc.resize)
			}
			b.cache.OnTaskDone(b.m, tc.task)
			v := b.cache.Cached(b.m, qemu.Identity{UUID: ourUUID, VMID: 10000}, pveInventory{b.pve}, false)
			if (v == nil) != tc.read {
				t.Fatalf("%s\nwant it read %t, got %+v", tc.reason, tc.read, v)
			}
			if v == nil {
				return
			}
			if v.Status.Status != tc.status || tc.config != nil && v.Config["scsi0"] != tc.config["scsi0"] || !b.cache.Predicted(b.m) {
				t.Errorf("%s\nwant it %s with %v, inferred, got %+v with %v", tc.reason, tc.status, tc.config, v.Status, v.Config)
			}
			b.clock.wait(vmcache.CheckWithin)
			if v := b.cache.Cached(b.m, qemu.Identity{UUID: ourUUID, VMID: 10000}, pveInventory{b.pve}, false); v != nil {
				t.Errorf("%s\nwhat is inferred is read some time soon", tc.reason)
			}
		})
	}
	vmcache.New(time.Now, time.Hour).OnTaskDone(resourceOf("nobody", 1), proxmox.Task{Type: "qmstart", ExitStatus: "OK"})
}

// TestLockedForCreation checks that a VM that is locked for its creation is read each time: the task of a clone names its source, so that nothing
// shows its end.
func TestLockedForCreation(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.vms[10000].config["lock"] = "clone"
	reads := b.reads()
	for n := 1; n <= 2; n++ {
		if b.reconcile(t.Context()); *reads != n {
			t.Errorf("want %d reads, got %d", n, *reads)
		}
	}
	delete(b.vms[10000].config, "lock")
	b.reconcile(t.Context())
	if got := b.m.GetCondition(xpv2.TypeReady).Message; strings.Contains(got, "qm unlock") {
		t.Errorf("The VM is not locked any more: %q", got)
	}
}

// TestStatusAfterLock covers a backup of a VM that is off: PVE starts it, and stops it before the lock is removed. The list may show the old state
// for some seconds more.
func TestStatusAfterLock(t *testing.T) {
	b := newBench(t, stopped)
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["lock"] = "backup"
	b.reconcile(t.Context())
	b.vms[10000] = ourVM("stopped")
	for _, w := range b.watchers {
		w.Listed(&proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: "running", MaxCPU: 1, MaxMemory: 512 << 20})
		<-b.woken
	}
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) > 0 || b.m.Observation().Phase != v1alpha1.MachineStopped {
		t.Errorf("a VM that is off is not shut down: got %v, %v, phase %s", s.err, b.writes, b.m.Observation().Phase)
	}
}

// TestReadBeforeWrite checks that the VM is read before a spec that requires a call to PVE is carried out.
func TestReadBeforeWrite(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	reads := b.reads()
	b.m.Spec.ForProvider.MachineType = new("q35")
	b.vms[10000].config["smbios1"] = "uuid=" + otherUUID // There was no sign of this change.
	if s := b.reconcile(t.Context()); s.err != nil && len(b.writes) > 0 || *reads != 1 || len(b.writes) > 0 {
		t.Errorf("A VM that is not ours any more must not be written to: %+v after %d reads: %q", s, *reads, b.writes)
	}
}
