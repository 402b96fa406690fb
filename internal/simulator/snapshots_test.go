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

package simulator_test

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// halfWay returns a running VM with a snapshot, on which a task is partly done.
func halfWay(t *testing.T, request string, params ...string) (*handClock, *client, string) {
	t.Helper()
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
	s.Edit(func(st *state.State) {
		st.Guests[300] = &state.Guest{
			VMID: 300, Node: "pve1", Power: state.Running, Config: map[string]string{"memory": "64", "parent": "old"},
			Snapshots: map[string]*state.Snapshot{"old": {Config: map[string]string{"memory": "32"}, Time: clock.Now()}},
		}
	})
	c := connect(t, s)
	upid := c.start(request, params...)
	clock.await(t, 1)
	return clock, c, upid
}

// TestSnapshotsHalfWay checks that the configuration shows what a task does with a snapshot, and that a task that ends there leaves it like that, except
// for one that takes a snapshot, which cleans up.
func TestSnapshotsHalfWay(t *testing.T) {
	const vm = "/nodes/pve1/qemu/300"
	cases := map[string]struct {
		reason, request string
		params          []string
		lock, snapshot  string // while the task runs
		power           state.Power
		left, leftState string // after it was stopped
	}{
		"Take": {
			reason: "What is taken is being prepared.", request: "POST " + vm + "/snapshot", params: []string{"snapname=new"},
			lock: "snapshot", snapshot: `"name":"new","snapstate":"prepare"`, power: state.Running,
		},
		"Remove": {
			reason: "What is removed is being deleted.", request: "DELETE " + vm + "/snapshot/old",
			lock: "snapshot-delete", snapshot: `"name":"old","snapstate":"delete"`, power: state.Running, left: "snapshot-delete", leftState: "delete",
		},
		"GoBack": {
			reason: "The VM is off, and is locked.", request: "POST " + vm + "/snapshot/old/rollback",
			lock: "rollback", power: state.Stopped, left: "rollback",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock, c, upid := halfWay(t, tc.request, tc.params...)
			g, _ := c.server.Guest(300)
			list := c.ok("GET " + vm + "/snapshot").Body
			if g.Config["lock"] != tc.lock || g.Power != tc.power || tc.snapshot != "" && !has(list, tc.snapshot) {
				t.Errorf("%s Got the lock %q, power %v and snapshots %s", tc.reason, g.Config["lock"], g.Power, list)
			}
			if got := c.do("PUT "+vm+"/config", "cores=2"); got.Line != "500 VM is locked ("+tc.lock+")" {
				t.Errorf("%s a change meanwhile: %s", tc.reason, got.Line)
			}
			if exit := clock.ended(t, c.server, upid); exit != "OK" {
				t.Errorf("%s exit status %q", tc.reason, exit)
			}
			if g, _ := c.server.Guest(300); g.Config["lock"] != "" || g.Snapshots["new"] != nil && g.Snapshots["new"].State != "" {
				t.Errorf("%s afterwards: %v, %v", tc.reason, g.Config, g.Snapshots)
			}

			clock, c, upid = halfWay(t, tc.request, tc.params...)
			c.ok("DELETE /nodes/pve1/tasks/" + upid)
			clock.ended(t, c.server, upid)
			g, _ = c.server.Guest(300)
			if g.Config["lock"] != tc.left || g.Snapshots["new"] != nil || g.Snapshots["old"] == nil || g.Snapshots["old"].State != tc.leftState {
				t.Errorf("%s stopped: the lock is %q, want %q, and the snapshots %v", tc.reason, g.Config["lock"], tc.left, g.Snapshots)
			}
		})
	}
}

// has reports whether a list of objects has one with the fields, in any order.
func has(list, fields string) bool {
	for object := range strings.SplitSeq(list, "}") {
		all := true
		for field := range strings.SplitSeq(fields, ",") {
			all = all && strings.Contains(object, field)
		}
		if all {
			return true
		}
	}
	return false
}

// TestRollbackIncomplete checks that no VM is rolled back to a snapshot that was left incomplete.
func TestRollbackIncomplete(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	s.Edit(func(st *state.State) {
		st.Guests[300] = &state.Guest{
			VMID: 300, Node: "pve1", Config: map[string]string{}, Snapshots: map[string]*state.Snapshot{"old": {State: "delete", Config: map[string]string{}}},
		}
	})
	if exit := connect(t, s).task("POST /nodes/pve1/qemu/300/snapshot/old/rollback"); exit != "unable to rollback to incomplete snapshot (snapstate = delete)" {
		t.Errorf("exit status %q", exit)
	}
}
