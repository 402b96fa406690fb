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

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// TestBusy checks that a task which PVE lists as running does not always work on the VM.
func TestBusy(t *testing.T) {
	runs := func(kind, node string) proxmox.Task {
		return proxmox.Task{UPID: upid(node, kind, 10000), Node: node, Type: kind, ID: "10000", Running: true}
	}
	cases := map[string]struct {
		reason string
		task   proxmox.Task
		writes []string
	}{
		"Backup": {reason: "A task that works on the VM is waited for.", task: runs("vzdump", "pve1")},
		"Console": {
			reason: "The task of a console is not waited for: it runs while somebody has it open.", task: runs("vncproxy", "pve1"),
			writes: []string{"Configure 10000 set onboot delete  digest d1"},
		},
		"Dead": {
			reason: "The task of a node that went down does not count: it is listed until the node is back.", task: runs("qmigrate", "pve2"),
			writes: []string{"Configure 10000 set onboot delete  digest d1"},
		},
		"Removed": {
			reason: "The task of a node that is no longer part of the cluster does not count.", task: runs("qmigrate", "pve9"),
			writes: []string{"Configure 10000 set onboot delete  digest d1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, spec(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) }))
			b.vms[10000], b.nodes[1].Status, b.pve.tasks = ourVM("running"), "offline", []proxmox.Task{tc.task}
			if s := b.reconcile(t.Context()); s.err != nil {
				t.Fatal(s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			b = newBench(t, deleted)
			b.vms[10000], b.nodes[1].Status, b.pve.tasks = ourVM("stopped"), "offline", []proxmox.Task{tc.task}
			if s := b.reconcile(t.Context()); s.err != nil || (len(b.writes) > 0) != (len(tc.writes) > 0) {
				t.Errorf("\n%s\ndeleting: got %v and %q", tc.reason, s.err, b.writes)
			}
		})
	}
}

// TestTaskDiedWithNode checks that a VM that high availability has moved to another node does not wait for a task on the node that went down.
func TestTaskDiedWithNode(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	u := upid("pve1", "qmstart", 10000)
	b.pve.tasks = []proxmox.Task{{UPID: u, Node: "pve1", Type: "qmstart", ID: "10000", Running: true}}
	b.clock.wait(tasktrack.VisibleWithin)
	b.nodes[0].Status, b.vms[10000].node = "offline", "pve2"
	b.touch()
	if s := b.reconcile(t.Context()); s.err == nil || !strings.Contains(s.err.Error(), "its node went down") {
		t.Errorf("want said what became of the start, got %v", s.err)
	}
	b.clock.wait(tasktrack.LastRetry + time.Minute)
	b.touch()
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Start 10000", "Start 10000"}, b.writes); diff != "" {
		t.Errorf("want the VM started where it is: -want, +got:\n%s", diff)
	}
}
