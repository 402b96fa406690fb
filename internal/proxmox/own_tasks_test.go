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

package proxmox_test

import (
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestOwnTasks starts a task as a token that may not see the tasks of others. PVE lists it only among those of its node.
func TestOwnTasks(t *testing.T) {
	releases(t, func(t *testing.T, o simulator.Options) {
		t.Helper()
		o.Speed = 0.01
		l := newLab(t, o)
		l.pve.Edit(func(s *simulator.State) {
			s.ACL = []simulator.Grant{{Path: "/vms", Kind: "user", ID: "crossplane@pve", Role: "PVEVMAdmin", Propagate: true}}
		})
		u, err := l.Shutdown(t.Context(), proxmox.Ref{Node: "pve1", VMID: 100}, proxmox.ShutdownOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.Tasks(t.Context())
		if err != nil || l.ListsOwnTasks(all) {
			t.Errorf("the cluster's list must be known to lack our task, got %v, error %v", all, err)
		}
		for node, want := range map[string]int{"pve1": 1, "pve2": 0} {
			own, err := l.OwnTasks(t.Context(), node)
			if err != nil || len(own) != want {
				t.Errorf("node %s: want %d tasks that run, got %v, error %v", node, want, own, err)
			}
			if want == 1 && (own[0].UPID != u || own[0].ID != "100" || !own[0].Running) {
				t.Errorf("want the task %s, got %v", u, own[0])
			}
		}
	})
}

// TestEndedTasks lists the ended tasks of a node, as a token that may not see the tasks of others.
func TestEndedTasks(t *testing.T) {
	releases(t, func(t *testing.T, o simulator.Options) {
		t.Helper()
		l := newLab(t, o)
		l.pve.Edit(func(s *simulator.State) {
			s.ACL = []simulator.Grant{{Path: "/vms", Kind: "user", ID: "crossplane@pve", Role: "PVEVMAdmin", Propagate: true}}
		})
		u, err := l.Shutdown(t.Context(), proxmox.Ref{Node: "pve1", VMID: 100}, proxmox.ShutdownOptions{})
		l.done(u, err)
		for since, want := range map[time.Time]int{u.Start(): 1, u.Start().Add(time.Second): 0} {
			ended, err := l.EndedTasks(t.Context(), "pve1", since)
			if err != nil || len(ended) != want {
				t.Fatalf("since %s: want %d tasks, got %v, error %v", since, want, ended, err)
			}
			if want == 1 && (ended[0].UPID != u || !ended[0].OK() || ended[0].End.IsZero()) {
				t.Errorf("want the end of %s, got %+v", u, ended[0])
			}
		}
	})
}

// TestListsOwnTasks checks for which users a list contains their own tasks.
func TestListsOwnTasks(t *testing.T) {
	cases := map[string]struct {
		reason      string
		credentials proxmox.Credentials
		list        []proxmox.Task
		want        bool
	}{
		"User":  {reason: "A user sees its own tasks, if there are any.", credentials: proxmox.Credentials{Username: "u@pve", Password: "p"}, want: true},
		"Token": {reason: "A token that sees nothing may have tasks.", credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"}},
		"TokenAuditor": {
			reason: "A token that sees any task sees all.", credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
			list: []proxmox.Task{{}}, want: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := proxmox.New(proxmox.Config{Endpoints: []string{"https://pve"}, Credentials: tc.credentials})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.ListsOwnTasks(tc.list); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
