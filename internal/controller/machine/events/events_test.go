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

package events

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestTaskEvent(t *testing.T) {
	cases := map[string]struct {
		reason       string
		task         proxmox.Task
		event, words string
	}{
		"Created": {
			reason: "The seed's words tell of a creation.", task: proxmox.Task{Type: "qmclone", ExitStatus: "OK"}, event: "Created",
			words: "Successfully created VM 100",
		},
		"Warned": {
			reason: "Warnings of a task are told.", task: proxmox.Task{Type: "qmigrate", ExitStatus: "WARNINGS: 2"}, event: "Migrated",
			words: "Migrated VM 100, with 2 warnings in the log of its task",
		},
		"Other": {reason: "Any task is told.", task: proxmox.Task{Type: "qmtemplate", ExitStatus: "OK"}, event: "TaskEnded", words: "qmtemplate of VM 100 has ended"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := OfTask(tc.task, "100")
			if string(e.Reason) != tc.event || e.Message != tc.words {
				t.Errorf("\n%s\nwant %s: %s, got %s: %s", tc.reason, tc.event, tc.words, e.Reason, e.Message)
			}
		})
	}
}

func TestReportedAtCall(t *testing.T) {
	for task, want := range map[string]bool{"qmconfig": true, "resize": true, "qmmove": true, "qmstart": false, "qmdestroy": false} {
		if got := ReportedAtCall(task); got != want {
			t.Errorf("ReportedAtCall(%q): want %t, since an event says which option it changes, from what to what; got %t", task, want, got)
		}
	}
}

func TestChanged(t *testing.T) {
	seen := v1alpha1.MachineObservation{VMID: new(int32(100)), Node: "pve1", Phase: v1alpha1.MachineRunning}
	there, off := seen, seen
	there.Node, off.Phase = "pve2", v1alpha1.MachineStopped
	runs, paused := seen, seen
	runs.PowerState, paused.PowerState = "running", "paused"
	copied := paused
	copied.Lock = "backup"
	cases := map[string]struct {
		reason        string
		before, after v1alpha1.MachineObservation
		ours          bool
		want          []string
	}{
		"First": {reason: "What is seen first has not changed.", after: off},
		"Same":  {reason: "A VM that is as it was tells nothing.", before: seen, after: seen},
		"Moved": {
			reason: "A VM that was moved is told of.", before: seen, after: there,
			want: []string{"VM 100 was moved from node pve1 to node pve2 in Proxmox VE"},
		},
		"Stopped": {
			reason: "A VM that was stopped is told of.",
			before: seen, after: off, want: []string{"VM 100 was stopped in Proxmox VE, or has stopped by itself"},
		},
		"Paused": {reason: "A VM that was paused is told of.", before: runs, after: paused, want: []string{"VM 100 was paused in Proxmox VE"}},
		"Copied": {reason: "A backup pauses it for a moment.", before: runs, after: copied},
		"Ours":   {reason: "What we did is told by its task.", before: seen, after: off, ours: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range OfChange(&tc.before, &tc.after, tc.ours) {
				got = append(got, e.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nevents: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
