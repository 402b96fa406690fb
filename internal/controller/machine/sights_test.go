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
	"strconv"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func optionsOf(config map[string]string) []proxmox.PendingValue {
	values, _ := qemu.Difference{Set: config}.Applied(nil)
	return values
}

func TestDoubts(t *testing.T) {
	known := func() *vm {
		v := &vm{Ref: proxmox.Ref{Node: "pve1", VMID: 100}, Status: proxmox.Status{Status: "running", QMPStatus: "running", Uptime: time.Hour}}
		v.read(optionsOf(map[string]string{"name": "web", "tags": "b;a", "cores": "2", "memory": "1024", "ostype": "l26"}))
		return v
	}
	listed := proxmox.Guest{VMID: 100, Node: "pve1", Name: "web", Status: "running", Tags: []string{"a", "b"}, MaxCPU: 2, MaxMemory: 1 << 30, Uptime: time.Hour}
	cases := map[string]struct {
		reason string
		change func(*proxmox.Guest)
		want   blur
	}{
		"Same":      {reason: "What is known is listed.", change: func(*proxmox.Guest) {}},
		"Moved":     {reason: "A VM that moved is read.", change: func(g *proxmox.Guest) { g.Node = "pve2" }, want: blurAll},
		"Stopped":   {reason: "So is one that stopped.", change: func(g *proxmox.Guest) { g.Status = "stopped" }, want: blurAll},
		"Paused":    {reason: "So is one that was paused.", change: func(g *proxmox.Guest) { g.Status = "paused" }, want: blurAll},
		"Restarted": {reason: "And one that was started again.", change: func(g *proxmox.Guest) { g.Uptime = time.Minute }, want: blurAll},
		"HA":        {reason: "And one that HA manages now.", change: func(g *proxmox.Guest) { g.HAState = "started" }, want: blurAll},
		"Tagged":    {reason: "Tags are options.", change: func(g *proxmox.Guest) { g.Tags = nil }, want: blurConfig},
		"Locked":    {reason: "A lock is one.", change: func(g *proxmox.Guest) { g.Lock = "backup" }, want: blurConfig},
		"Renamed":   {reason: "So is the name.", change: func(g *proxmox.Guest) { g.Name = "db" }, want: blurConfig},
		"Grown":     {reason: "So are cores.", change: func(g *proxmox.Guest) { g.MaxCPU = 4 }, want: blurConfig},
		"Disk":      {reason: "A disk that is not known is.", change: func(g *proxmox.Guest) { g.MaxDisk = 1 << 30 }, want: blurConfig},
		"Unknown":   {reason: "A node that does not tell puts nothing in doubt.", change: func(g *proxmox.Guest) { *g = proxmox.Guest{Node: "pve1", Status: "unknown", Tags: g.Tags} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := listed
			tc.change(&g)
			if got := known().doubts(g); got != tc.want {
				t.Errorf("%s\ndoubts(): want %b, got %b", tc.reason, tc.want, got)
			}
		})
	}
}

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
	b.clock.wait(2 * DefaultSafetyInterval)
	want("In any case, some time", 3)
	for _, w := range b.watchers {
		w.Listed(&proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: "running", MaxCPU: 1, MaxMemory: 512 << 20, Uptime: 2*DefaultSafetyInterval + time.Minute})
	}
	want("What is listed as it is known", 3)
	b.watchers[string(b.m.GetUID())].Listed(nil)
	<-b.woken
	want("What is not listed", 4)
	b.on["Pending"] = func() { *reads++; b.watchers[string(b.m.GetUID())].Touched(inventory.TouchConfig); <-b.woken }
	b.touch()
	want("A sign while it is read", 5)
	b.on["Pending"] = func() { *reads++ }
	want("Has it read once more", 6)
	want("And no more", 6)
}

// The task of a clone names its source, so nothing tells of its end: a VM that is
// locked for its creation is read each time.
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

// A spec that asks for nothing of PVE costs no read, one that does is read for.
func TestReadBeforeWrite(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	reads := b.reads()
	b.m.Spec.ForProvider.MachineType = new("q35")
	b.vms[10000].config["smbios1"] = "uuid=" + otherUUID // Nobody has told.
	if s := b.reconcile(t.Context()); s.err != nil && len(b.writes) > 0 || *reads != 1 || len(b.writes) > 0 {
		t.Errorf("A VM that is not ours any more must not be written to: %+v after %d reads: %q", s, *reads, b.writes)
	}
}

func TestGuestTalks(t *testing.T) {
	c := newClock()
	g := newGuestTalks(c.now)
	boot, at := c.now(), slot{node: "pve1"}
	m := &namespaced.Machine{}
	due := func(why string, want bool) {
		t.Helper()
		if got := g.due(m, boot, at); got != want {
			t.Errorf("%s: want due %t, got %t", why, want, got)
		}
	}
	due("A guest that has told nothing", true)
	due("One that is being asked", false)
	if g.heard(m, boot, at, nil) {
		t.Error("No answer is no news")
	}
	due("One that did not answer", false)
	c.wait(firstAsk)
	due("Some time later", true)
	told := []proxmox.Interface{{Name: "eth0", Addresses: addrs("192.0.2.1")}}
	if !g.heard(m, boot, at, told) || len(g.told(m, boot)) != 1 {
		t.Error("Addresses are news, and kept")
	}
	c.wait(lastAsk)
	due("One whose addresses are known", false)
	c.wait(askedAgain)
	due("Half an hour later", true)
	if g.heard(m, boot, at, told) {
		t.Error("The same addresses are no news")
	}
	boot = c.now()
	if g.told(m, boot) != nil {
		t.Error("What was told before a start may hold no more")
	}
	due("After another start", true)
	other := &namespaced.Machine{}
	other.UID = "other"
	third := &namespaced.Machine{}
	third.UID = "third"
	if !g.due(other, boot, at) || g.due(third, boot, at) {
		t.Error("Two guests of a node are asked at once, and no more")
	}
}

// Agents that never answer cost a cluster no more than a few calls a minute.
func TestSilentGuests(t *testing.T) {
	c := newClock()
	g := newGuestTalks(c.now)
	boot, at, asked := c.now(), slot{node: "pve1"}, 0
	for minute := range 3 * 60 {
		for i := range 100 {
			m := &namespaced.Machine{}
			m.UID = types.UID(strconv.Itoa(i))
			if !g.due(m, boot, at) {
				continue
			}
			g.heard(m, boot, at, nil)
			if minute >= 120 {
				asked++
			}
		}
		c.wait(time.Minute)
	}
	if want := 60; asked == 0 || asked > want {
		t.Errorf("A hundred silent guests are asked %d times in an hour in which nothing happens, want at most %d", asked, want)
	}
}
