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
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/lookup"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// TestEnrich checks for which VMs the status is known without asking their nodes.
func TestEnrich(t *testing.T) {
	const made, other = proxmox.UPID("UPID:pve1:1:2:3:qmclone:9000:u@pve:"), proxmox.UPID("UPID:pve1:2:3:4:qmstart:10000:u@pve:")
	stopped := proxmox.Status{Status: "stopped", QMPStatus: "stopped"}
	asked := proxmox.Status{Status: "running", Uptime: time.Hour}
	justCreated := func(b *bench, _ *external) {
		b.tasks.Started(b.m, made)
		b.tasks.Ended(b.m, proxmox.Task{UPID: made, Type: "qmclone", ExitStatus: "OK"}, nil)
	}
	seen := func(b *bench, e *external) { b.cache.Keep(b.m, e.vm, vmcache.ReadToken{}) }
	ofHA := func(b *bench, _ *external) {
		b.m.Spec.ForProvider.HighAvailability = &v1alpha1.MachineHighAvailability{}
	}
	happened := func(_ *bench, e *external) { e.tasksBefore.Listed = []proxmox.Task{{UPID: other, ID: "10000"}} }
	cases := map[string]struct {
		reason string
		setup  []func(*bench, *external)
		listed func(*proxmox.Guest)
		token  vmcache.ReadToken
		want   proxmox.Status
		calls  int
	}{
		"Known":       {reason: "What is known is not asked for.", token: vmcache.ReadToken{Status: &stopped}, want: stopped},
		"JustCreated": {reason: "A VM that was just made does not run.", setup: []func(*bench, *external){justCreated}, want: stopped},
		"JustCreatedHA": {
			reason: "A VM that was just made and is yet to be told to HA does not run.",
			setup:  []func(*bench, *external){justCreated, ofHA}, want: stopped,
		},
		"Again":   {reason: "A VM that was just made does not run at a second look.", setup: []func(*bench, *external){justCreated, seen}, want: stopped},
		"AgainHA": {reason: "HA may have been told of it since the first.", setup: []func(*bench, *external){justCreated, ofHA, seen}, want: asked, calls: 1},
		"Touched": {reason: "Somebody may have started it.", setup: []func(*bench, *external){justCreated, happened}, want: asked, calls: 1},
		"Listed": {
			reason: "The list is good enough for a VM that is seen for the first time.",
			want:   proxmox.Status{Status: "running", QMPStatus: "running", Uptime: time.Minute},
		},
		"Paused": {
			reason: "A VM that is paused has a process.", listed: func(g *proxmox.Guest) { g.Status = "paused" },
			want: proxmox.Status{Status: "running", QMPStatus: "paused", Uptime: time.Minute},
		},
		"Happened": {reason: "Unless something has just happened to it.", setup: []func(*bench, *external){happened}, want: asked, calls: 1},
		"Unknown":  {reason: "The status is read if the node does not tell.", listed: func(g *proxmox.Guest) { g.Status = "unknown" }, want: asked, calls: 1},
		"Managed": {
			reason: "The status is read if HA manages the VM, of which the list has less.",
			listed: func(g *proxmox.Guest) { g.HAState = "started" }, want: asked, calls: 1,
		},
		"Elsewhere":  {reason: "The status is read if the VM is listed elsewhere.", listed: func(g *proxmox.Guest) { g.Node = "pve2" }, want: asked, calls: 1},
		"LongBefore": {reason: "A VM that has been seen before is asked for.", setup: []func(*bench, *external){seen}, want: asked, calls: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = ourVM("running")
			b.vms[10000].now = asked
			g := proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: "running", Uptime: time.Minute}
			if tc.listed != nil {
				tc.listed(&g)
			}
			e := b.external()
			e.connectTo(b.pve, &listing{pveInventory: pveInventory{b.pve}, guests: []proxmox.Guest{g}})
			v, err := e.reader.GetConfig(t.Context(), proxmox.Ref{Node: "pve1", VMID: 10000})
			if err != nil {
				t.Fatal(err)
			}
			e.vm = v
			b.cache.BeginRead(b.m, qemu.Identity{VMID: 10000, UUID: ourUUID}, pveInventory{b.pve}, false)
			for _, setup := range tc.setup {
				setup(b, e)
			}
			calls := 0
			b.on["Status"] = func() { calls++ }
			got, err := e.lookup().Status(t.Context(), b.m, e.vm, tc.token)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || calls != tc.calls {
				t.Errorf("%s\nwant %d questions, got %d; -want, +got:\n%s", tc.reason, tc.calls, calls, diff)
			}
		})
	}
}

// TestMayBeCreatingOfOthers checks that no clone is reported of a VM that the Machine may not clone, though its annotations name that VM.
func TestMayBeCreatingOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		clones func(context.Context, int) (bool, error)
		want   bool
	}{
		"Free": {reason: "Where nobody is confined all count.", want: true},
		"Own": {
			reason: "A clone of what it may clone may be its own.", want: true,
			clones: func(_ context.Context, vmid int) (bool, error) { return vmid == 9000, nil },
		},
		"Others": {reason: "A clone that others make of their VM is not told of.", clones: func(context.Context, int) (bool, error) { return false, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			now := time.Now()
			b.m.SetAnnotations(map[string]string{object.AnnotationSource: "9000"})
			meta.SetExternalCreatePending(b.m, now)
			l := lookup.Lookup{
				Tasks: b.tasks, Now: now, Clones: tc.clones, Before: tasktrack.View{Listed: []proxmox.Task{{ID: "9000", Type: "qmclone", Running: true}}},
			}
			if got, err := l.MayBeCreating(t.Context(), b.m, 10000); err != nil || got != tc.want {
				t.Errorf("%s Want %t, got %t, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

// TestFirstLook reads a VM for the first time that was started or stopped since its node reported it, without a known task.
func TestFirstLook(t *testing.T) {
	on, off := "powerState: Running", "powerState: Stopped"
	cases := map[string]struct {
		reason     string
		spec       string
		listed, is string
		change     func(*bench)
		calls      int
		writes     []string
		later      string
		confirmed  bool
	}{
		"Runs":    {reason: "A VM that runs as it should is not asked for.", spec: on, listed: "running", is: "running"},
		"Off":     {reason: "A VM that is off as it should be is not asked for.", spec: off, listed: "stopped", is: "stopped"},
		"Starts":  {reason: "A VM that is off is started.", spec: on, listed: "stopped", is: "stopped", calls: 1, writes: []string{"Start 10000"}},
		"Started": {reason: "A VM that was started since is not started again.", spec: on, listed: "stopped", is: "running", calls: 1},
		"Stopped": {reason: "A VM that was stopped since is not shut down.", spec: off, listed: "running", is: "stopped", calls: 1},
		"Deleted": {
			reason: "A VM that was started since is shut down before it is removed.", spec: off, listed: "stopped", is: "running",
			change: func(b *bench) { deleted(b.m) }, calls: 1, writes: []string{"Shutdown 10000 0s force true"},
		},
		"Later": {
			reason: "What the first look has seen is not enough for a change of the spec.", spec: "runStrategy: Manual", listed: "stopped", is: "running",
			later: on, calls: 1,
		},
		"Confirmed": {
			reason: "A later list is as good as a question.", spec: "runStrategy: Manual", listed: "stopped", is: "stopped",
			later: on, confirmed: true, writes: []string{"Start 10000"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.m.Spec.ForProvider = parameters(t, tc.spec)
			b.vms[10000] = ourVM(tc.is)
			if tc.change != nil {
				tc.change(b)
			}
			calls := 0
			b.on["Status"] = func() { calls++ }
			g := proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: tc.listed, MaxCPU: 1, MaxMemory: 512 << 20}
			list := &listing{pveInventory: pveInventory{b.pve}, guests: []proxmox.Guest{g}}
			look := func() {
				e := b.external()
				e.connectTo(b.pve, list)
				if s := b.reconcileWith(t.Context(), e); s.err != nil {
					t.Fatal(s.err)
				}
			}
			look()
			if tc.later != "" {
				if calls > 0 || len(b.writes) > 0 {
					t.Fatalf("\n%s\nwant nothing asked or done before, got %d questions and %q", tc.reason, calls, b.writes)
				}
				if tc.confirmed {
					b.watchers[string(b.m.GetUID())].Listed(&g)
				}
				b.m.Spec.ForProvider, b.m.Generation = parameters(t, tc.later), 2
				look()
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" || calls != tc.calls {
				t.Errorf("\n%s\nwant %d questions, got %d; -want, +got:\n%s", tc.reason, tc.calls, calls, diff)
			}
		})
	}
}

// TestStatusSinceReport starts a provider while the list of a cluster shows VMs as their nodes reported them before they were started or stopped, and
// the tasks that did it are no longer listed.
func TestStatusSinceReport(t *testing.T) {
	cases := map[string]struct {
		reason       string
		reported, is string
	}{
		"Started": {reason: "A VM that has started is left alone.", reported: "Stopped", is: "Running"},
		"Stopped": {reason: "A VM that was stopped is left alone.", reported: "Running", is: "Stopped"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, unreported())
			r := c.rig(t)
			r.settle(parameters(t, "powerState: "+tc.reported))
			reported := c.report(t, r.vmid()).Status
			r.settle(parameters(t, "powerState: "+tc.is))
			c.Edit(func(st *simulator.State) { st.Tasks = nil })
			c.connect(t)
			if now := c.row(t, r.vmid()).Status; now != reported || strings.EqualFold(now, tc.is) {
				t.Fatalf("want the VM listed as %s, got %s", reported, now)
			}
			b := newBench(t, func(m *namespaced.Machine) {
				m.Annotations, m.Spec.ForProvider = maps.Clone(r.m.Annotations), parameters(t, "powerState: "+tc.is)
			})
			e := b.external()
			e.connectTo(c.client, c.inventory)
			e.checks.Superuser = true
			before := c.writes.Load()
			s := b.reconcileWith(t.Context(), e)
			if writes := c.writes.Load() - before; s.err != nil || !s.upToDate || writes != 0 {
				t.Errorf("\n%s\nwant nothing done, got %d writes: %+v", tc.reason, writes, s)
			}
		})
	}
}
