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

package proxmox

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSnapshotTree decodes bodies that PVE 8.4 and 9.2 have sent, with times in place of zeros.
func TestSnapshotTree(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   string
		want   SnapshotTree
	}{
		"None": {
			reason: "What the VM is now is no snapshot.", data: `[{"description":"You are here!","digest":"abc","name":"current","running":0}]`,
		},
		"Tree": {
			reason: "Parents make the tree, and the present state has one.",
			data: `[{"description":"","name":"liveram","parent":"live","snaptime":1795209830,"vmstate":1},
				{"description":"first one","name":"live","snaptime":1795209820,"vmstate":0},
				{"description":"You are here!","digest":"abc","name":"current","parent":"liveram","running":1}]`,
			want: SnapshotTree{Current: "liveram", Snapshots: []Snapshot{
				{Name: "liveram", Parent: "live", Time: time.Unix(1795209830, 0), Memory: true},
				{Name: "live", Description: "first one", Time: time.Unix(1795209820, 0)},
			}},
		},
		"Unfinished": {
			reason: "A snapshot that is being taken, or whose task was killed, says so.",
			data: `[{"description":"","name":"s1","snaptime":1795209830,"vmstate":0,"snapstate":"prepare"},
				{"description":"You are here!","name":"current","running":0}]`,
			want: SnapshotTree{Snapshots: []Snapshot{{Name: "s1", Time: time.Unix(1795209830, 0), State: "prepare"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok(tc.data))
			got, err := pve.client(t).SnapshotTree(background(), vm100)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if a := pve.asked()[0]; a.method != http.MethodGet || a.path != "/api2/json/nodes/pve1/qemu/100/snapshot" {
				t.Errorf("%s\nasked for %s %s", tc.reason, a.method, a.path)
			}
			for _, s := range tc.want.Snapshots {
				if found := got.Named(s.Name); found == nil || *found != s {
					t.Errorf("%s\nNamed(%q): got %v", tc.reason, s.Name, found)
				}
			}
			if got.Named("nosnap") != nil || got.Named("current") != nil {
				t.Errorf("%s\nNamed(...): want nothing for what is no snapshot", tc.reason)
			}
		})
	}
}

func TestSnapshotRequests(t *testing.T) {
	const snapshots = "/api2/json/nodes/pve1/qemu/100/snapshot"
	type want struct {
		Method, Path string
		Form         map[string]string
	}
	cases := map[string]struct {
		reason string
		call   func(context.Context, *Client) error
		want   want
	}{
		"Take": {
			reason: "A name is enough.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.TakeSnapshot(ctx, vm100, SnapshotOptions{Name: "s1"}))
			},
			want: want{http.MethodPost, snapshots, map[string]string{"snapname": "s1"}},
		},
		"TakeMemory": {
			reason: "Description and memory have their names.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.TakeSnapshot(ctx, vm100, SnapshotOptions{Name: "s1", Description: "d", Memory: true}))
			},
			want: want{http.MethodPost, snapshots, map[string]string{"snapname": "s1", "description": "d", "vmstate": "1"}},
		},
		"Describe": {
			reason: "An empty description is sent.",
			call:   func(ctx context.Context, c *Client) error { return c.DescribeSnapshot(ctx, vm100, "s1", "") },
			want:   want{http.MethodPut, snapshots + "/s1/config", map[string]string{"description": ""}},
		},
		"Remove": {
			reason: "A snapshot is not removed by force.",
			call:   func(ctx context.Context, c *Client) error { return task(c.RemoveSnapshot(ctx, vm100, "s1")) },
			want:   want{http.MethodDelete, snapshots + "/s1", map[string]string{}},
		},
		"Rollback": {
			reason: "The VM is not started.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.RollbackSnapshot(ctx, vm100, RollbackOptions{Name: "s1"}))
			},
			want: want{http.MethodPost, snapshots + "/s1/rollback", map[string]string{}},
		},
		"RollbackStart": {
			reason: "The VM is started if that is asked for.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.RollbackSnapshot(ctx, vm100, RollbackOptions{Name: "s1", Start: true}))
			},
			want: want{http.MethodPost, snapshots + "/s1/rollback", map[string]string{"start": "1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok(`"UPID:pve1:00000EF8:000629DA:6B00B985:qmsnapshot:100:tester@pve!full:"`))
			if err := tc.call(background(), pve.client(t)); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			a := pve.asked()[0]
			if diff := cmp.Diff(tc.want, want{a.method, a.path, form(t, a.body)}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSnapshotWithoutTask checks that an answer without a task counts as one that may have started one.
func TestSnapshotWithoutTask(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{
		"taken": func(ctx context.Context, c *Client) error {
			return task(c.TakeSnapshot(ctx, vm100, SnapshotOptions{Name: "s1"}))
		},
		"removed": func(ctx context.Context, c *Client) error { return task(c.RemoveSnapshot(ctx, vm100, "s1")) },
	} {
		if err := call(background(), fixed(t, ok("null")).client(t)); !IsOutcomeUnknown(err) {
			t.Errorf("%s: want an error with an unknown outcome, got %v", name, err)
		}
	}
}

func TestCanSnapshot(t *testing.T) {
	for data, want := range map[string]bool{`{"hasFeature":0,"nodes":["pve1"]}`: false, `{"hasFeature":1,"nodes":["pve1"]}`: true} {
		pve := fixed(t, ok(data))
		if got, err := pve.client(t).CanSnapshot(background(), vm100); got != want || err != nil {
			t.Errorf("CanSnapshot(...) of %s: got %t and %v", data, got, err)
		}
		if a := pve.asked()[0]; a.path != "/api2/json/nodes/pve1/qemu/100/feature" || a.query != "feature=snapshot" {
			t.Errorf("asked for %s?%s", a.path, a.query)
		}
	}
}

func TestSnapshotFailure(t *testing.T) {
	cases := map[string]struct {
		reason string
		exit   string
		want   SnapshotProblem
		text   string
	}{
		"Exists": {
			reason: "A name that is taken.",
			exit:   "snapshot name 's1' already used", want: SnapshotExists, text: "another snapshot has the name",
		},
		"Feature": {
			reason: "A raw disk has no snapshots.",
			exit:   "snapshot feature is not available", want: SnapshotNotSupported, text: "the storage of a disk of the VM has no snapshots",
		},
		"Template": {
			reason: "A template takes no snapshots.",
			exit:   "you can't take a snapshot if it's a template", want: SnapshotNotSupported, text: "the VM is a template",
		},
		"Full": {
			reason: "A full file system.",
			exit:   "unable to save VM state and RAM - No space left on device", want: SnapshotStorageFull, text: "no space is left on the storage of the " +
				"disks or of the memory",
		},
		"ThinPool": {
			reason: "A full thin pool.",
			exit: "lvcreate snapshot 'pve/snap_vm-100-disk-0_s1' error: Cannot create new thin volume, free space in thin pool pve/data reached " +
				"threshold.", want: SnapshotStorageFull, text: "no space is left on the storage of the disks or of the memory",
		},
		"Replication": {
			reason: "A job that has not run.",
			exit: "snapshot 's1' needed by replication job '100-0' - run " +
				"replication first", want: SnapshotInUse, text: "a replication job needs the snapshot until it has run again",
		},
		"Locked": {
			reason: "A backup locks the VM.",
			exit:   "VM is locked (backup)", want: SnapshotLocked, text: "the VM is locked by something else that works on it",
		},
		"LockFile": {
			reason: "A clone locks the file of the VM.",
			exit: "can't lock file '/var/lock/qemu-server/lock-500.conf' - " +
				"got timeout", want: SnapshotLocked, text: "the VM is locked by something else that works on it",
		},
		"Stopped": {reason: "A stopped task is no fault of the VM.", exit: "unexpected status", want: SnapshotStopped, text: "the task was stopped"},
		"Other": {
			reason: "What is not known is repeated.",
			exit:   "VM 100 qmp command 'savevm-start' failed", want: SnapshotFailed, text: "VM 100 qmp command 'savevm-start' failed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problem, text := SnapshotFailure(Task{Type: "qmsnapshot", ExitStatus: tc.exit}.Err())
			if problem != tc.want || text != tc.text {
				t.Errorf("\n%s\nSnapshotFailure(): want %s, %q, got %s, %q", tc.reason, tc.want, tc.text, problem, text)
			}
		})
	}
	refused := &Error{Op: "take a snapshot", Status: http.StatusInternalServerError, Message: "Cannot live-migrate a VM with: virtiofs"}
	if problem, text := SnapshotFailure(refused); problem != SnapshotFailed || text != refused.Error() {
		t.Errorf("a call that was refused: got %s, %q", problem, text)
	}
}
