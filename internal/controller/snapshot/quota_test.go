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

package snapshot

import (
	"context"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// taken is a cluster with two VMs that have the snapshot "first".
type taken struct {
	Inventory

	busy string // VMID that a task works on.
}

func (taken) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	return []proxmox.Guest{{VMID: 100, Type: "qemu"}, {VMID: 101, Type: "qemu"}}, nil
}

func (t taken) Tasks(context.Context, time.Duration) ([]proxmox.Task, error) {
	return []proxmox.Task{{ID: t.busy, Running: true}}, nil
}

func (taken) Nodes(context.Context) ([]proxmox.Node, error) { return nil, nil }

func (taken) Snapshots(context.Context, proxmox.Ref, time.Duration) (proxmox.SnapshotTree, error) {
	return proxmox.SnapshotTree{Snapshots: []proxmox.Snapshot{{Name: "first"}}}, nil
}

// TestTakenBefore checks that a Snapshot takes no other snapshot while the one that it was granted exists, whatever its record contains.
func TestTakenBefore(t *testing.T) {
	cases := map[string]struct {
		reason string
		before quota.Taken
		busy   string
		waits  bool
	}{
		"First":     {reason: "The Snapshot was let take none yet."},
		"Same":      {reason: "The Snapshot takes the one that it was let take.", before: quota.Taken{VMID: 100, Name: "next"}},
		"There":     {reason: "What the Snapshot was let take is there.", before: quota.Taken{VMID: 100, Name: "first"}, waits: true},
		"OtherVM":   {reason: "What the Snapshot was let take is there in another VM.", before: quota.Taken{VMID: 101, Name: "first"}, waits: true},
		"NotTaken":  {reason: "What the Snapshot was let take has come to nothing, as with a name that was taken.", before: quota.Taken{VMID: 100, Name: "failed"}},
		"BeingMade": {reason: "What the Snapshot was let take may be about to be there.", before: quota.Taken{VMID: 100, Name: "failed"}, busy: "100", waits: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := taken{busy: tc.busy}
			tree, err := cluster.Snapshots(t.Context(), proxmox.Ref{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			asked := quota.Taken{}
			e := &external{inventory: cluster, view: &view{name: "next", tree: tree}, room: room{
				taken: func(context.Context) (quota.Taken, error) { return tc.before, nil },
				ask:   func(_ context.Context, s quota.Taken) error { asked = s; return nil },
			}}
			e.view.target.VMID = 100
			if err := e.checkRoom(t.Context()); err != nil {
				t.Fatal(err)
			}
			if waits := e.view.problem != nil; waits != tc.waits || waits != (asked.Name == "") {
				t.Errorf("%s\nwant that it waits: %v, got %v, asked for %v", tc.reason, tc.waits, e.view.problem, asked)
			}
		})
	}
}
