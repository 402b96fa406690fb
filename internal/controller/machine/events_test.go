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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestTaskEvent(t *testing.T) {
	cases := map[string]struct {
		reason       string
		task         proxmox.Task
		event, words string
	}{
		"Created": {reason: "The seed's words tell of a creation.", task: proxmox.Task{Type: "qmclone", ExitStatus: "OK"}, event: "Created", words: "Successfully created VM 100"},
		"Warned":  {reason: "Warnings are told.", task: proxmox.Task{Type: "qmigrate", ExitStatus: "WARNINGS: 2"}, event: "Migrated", words: "Migrated VM 100, with 2 warnings in the log of its task"},
		"Other":   {reason: "Any task is told.", task: proxmox.Task{Type: "qmtemplate", ExitStatus: "OK"}, event: "TaskEnded", words: "qmtemplate of VM 100 has ended"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := taskEvent(tc.task, "100")
			if string(e.Reason) != tc.event || e.Message != tc.words {
				t.Errorf("\n%s\nwant %s: %s, got %s: %s", tc.reason, tc.event, tc.words, e.Reason, e.Message)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	seen := v1alpha1.MachineObservation{VMID: new(int32(100)), Node: "pve1", Phase: v1alpha1.MachineRunning}
	there, off := seen, seen
	there.Node, off.Phase = "pve2", v1alpha1.MachineStopped
	cases := map[string]struct {
		reason        string
		before, after v1alpha1.MachineObservation
		ours          bool
		want          []string
	}{
		"First":   {reason: "What is seen first has not changed.", after: off},
		"Same":    {reason: "Nothing changed.", before: seen, after: seen},
		"Moved":   {reason: "A VM that was moved is told of.", before: seen, after: there, want: []string{"VM 100 was moved from node pve1 to node pve2 in Proxmox VE"}},
		"Stopped": {reason: "So is one that was stopped.", before: seen, after: off, want: []string{"VM 100 was stopped in Proxmox VE, or has stopped by itself"}},
		"Ours":    {reason: "What we did is told by its task.", before: seen, after: off, ours: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range changeEvents(&tc.before, &tc.after, tc.ours) {
				got = append(got, e.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nevents: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Each change is told from what to what, in one event, and what was not done in none.
func TestChangeEvents(t *testing.T) {
	b := newBench(t, all(named(10000), spec(func(p *v1alpha1.MachineParameters) {
		p.Memory = quantity("8Gi")
		p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0")}}
	})))
	b.m.Annotations[object.AnnotationDevices] = `{"networks":{"lan":"net0"}}`
	b.vms[10000] = ourVM("running")
	b.bridges = append(b.bridges, proxmox.Bridge{Name: "vmbr1"})
	c := b.vms[10000].config
	c["memory"], c["net0"] = "4096", "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	reconcile := func() []string {
		e, events := b.external(), &heard{}
		e.record = events
		b.touch()
		if s := b.reconcileWith(t.Context(), e); s.err != nil {
			t.Fatal(s.err)
		}
		return events.messages
	}
	b.reconcile(t.Context())
	b.clock.wait(time.Hour)
	if diff := cmp.Diff([]string{"memory 4096 → 8192"}, reconcile()); diff != "" {
		t.Errorf("a change of the spec: -want, +got:\n%s", diff)
	}
	c["memory"] = "8192"
	if got := reconcile(); len(got) > 0 {
		t.Errorf("want no event of a VM that is up to date, got %q", got)
	}
	c["net0"] = "virtio=BC:24:11:00:00:01,bridge=vmbr1"
	if diff := cmp.Diff([]string{"net0 bridge vmbr1 → vmbr0: set by others, put back"}, reconcile()); diff != "" {
		t.Errorf("an edit by hand: -want, +got:\n%s", diff)
	}
	c["net0"] = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
}
