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
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestTaskLists reads the lists of tasks and the cluster log as a user and as that user's token. Each list has a different rule: PVE::API2::Cluster drops
// the token's name before it compares, PVE::API2::Tasks compares running tasks by the full name, and pmxcfs compares the lines of the log by the full
// name.
func TestTaskLists(t *testing.T) {
	sc := lab()
	sc.Users = append(sc.Users, simulator.ScenarioUser{
		ID: "owner@pve", Password: "secret12", Tokens: []simulator.ScenarioToken{{ID: "t1", Secret: simulatortest.TestSecret}},
	})
	sc.ACL = append(sc.ACL, simulator.ScenarioGrant{Path: "/vms", User: "owner@pve", Roles: []string{"PVEVMAdmin"}})
	s := simulatortest.NewTest(t, simulator.Options{Scenario: sc})
	admin := connect(t, s)
	admin.task("POST /nodes/pve1/qemu", "vmid=100")
	user := login(t, s, "owner@pve", "secret12")
	token := admin.with("Authorization", "PVEAPIToken=owner@pve!t1="+simulatortest.TestSecret)
	byUser, _ := user.ok("POST /nodes/pve1/qemu/100/status/start").Data.(string)
	byToken, _ := token.ok("POST /nodes/pve1/qemu/100/status/stop").Data.(string)
	running, _ := token.ok("POST /nodes/pve1/qemu/100/status/start").Data.(string)
	s.Edit(func(st *state.State) {
		st.Task(running).Ended, st.Task(running).Exit = time.Time{}, ""
	})
	for name, tc := range map[string]struct {
		reason, path string
		client       *client
		want         map[string]bool
	}{
		"ClusterUser": {
			reason: "A user sees the tasks of the user's tokens in the cluster's list.", path: "/cluster/tasks", client: user,
			want: map[string]bool{byUser: true, byToken: true, running: true},
		},
		"ClusterToken": {reason: "A token sees not even its own tasks in the cluster's list.", path: "/cluster/tasks", client: token, want: map[string]bool{}},
		"ClusterAdmin": {
			reason: "With Sys.Audit on / all tasks show.", path: "/cluster/tasks", client: admin,
			want: map[string]bool{byUser: true, byToken: true, running: true},
		},
		"NodeUser": {
			reason: "A user sees ended tasks of tokens in a node's list, and no running ones.", path: "/nodes/pve1/tasks?source=all", client: user,
			want: map[string]bool{byUser: true, byToken: true},
		},
		"NodeToken": {
			reason: "A token sees its own tasks in a node's list.", path: "/nodes/pve1/tasks?source=all", client: token,
			want: map[string]bool{byToken: true, running: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := tc.client.ok("GET " + tc.path).Body
			for _, upid := range []string{byUser, byToken, running} {
				if got := strings.Contains(body, upid); got != tc.want[upid] {
					t.Errorf("%s %s is there: %t, want %t", tc.reason, upid, got, tc.want[upid])
				}
			}
		})
	}
	if log := token.ok("GET /cluster/log").Body; strings.Contains(log, byUser) || !strings.Contains(log, byToken) {
		t.Errorf("a token sees the log lines of the token alone: %s", log)
	}
	if log := user.ok("GET /cluster/log").Body; !strings.Contains(log, byUser) || strings.Contains(log, byToken) {
		t.Errorf("a user sees the log lines of the user alone: %s", log)
	}
}

// TestListWhileGuestsGo lists the guests of a node while one of them is removed. The node has found the guest, but does not find its configuration.
func TestListWhileGuestsGo(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab(), Speed: 1, Clock: clock})
	c := connect(t, s)
	for _, vmid := range []string{"100", "101"} {
		upid, _ := c.ok("POST /nodes/pve1/qemu", "vmid="+vmid).Data.(string)
		clock.ended(t, s, upid)
	}
	upid, _ := c.ok("DELETE /nodes/pve1/qemu/100").Data.(string)
	if exit := clock.ended(t, s, upid); exit != "OK" {
		t.Fatal(exit)
	}
	for _, tc := range []struct{ reason, path, line string }{
		{reason: "The list of its node fails.", path: "/nodes/pve1/qemu", line: "500 Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"},
		{reason: "Other nodes do not look.", path: "/nodes/pve2/qemu", line: "200 OK"},
		{reason: "The cluster knows its guests without their configurations.", path: "/cluster/resources?type=vm", line: "200 OK"},
	} {
		if got := c.do("GET " + tc.path); got.Line != tc.line {
			t.Errorf("%s got %s, want %s", tc.reason, got.Line, tc.line)
		}
	}
	clock.advance(time.Second)
	if got := c.do("GET /nodes/pve1/qemu").Line; got != "200 OK" {
		t.Errorf("a list that begins later: %s", got)
	}
}
