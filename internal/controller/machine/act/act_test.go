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

package act

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestRecord(t *testing.T) {
	r := New("1", time.Unix(5, 0))
	r.Call.Begun = 7
	back, err := Parse(r.String())
	if err != nil || back.String() != r.String() || !back.Open() {
		t.Errorf("a record is read as it was written, got %v and %v", back, err)
	}
	if _, err := Parse("{"); err == nil {
		t.Error("what the provider has not written is an error")
	}
	if empty, err := Parse(""); err != nil || empty.Token != "" || empty.Open() {
		t.Errorf("nothing was done without a record, got %v and %v", empty, err)
	}
}

// TestLeft checks that the proof of an unfinished VM outlives the requests that come after it.
func TestLeft(t *testing.T) {
	now := time.Unix(5, 0)
	r := New("1", now)
	r.Node, r.Call = "pve1", Call{Begun: 7, Task: "UPID:pve1:1"}
	r.Enter(v1alpha1.ActFailed, "broken", now)
	second := r.Next("2", now)
	second.Enter(v1alpha1.ActRefused, "no", now)
	third := second.Next("3", now)
	if c := third.Calls(); len(c) != 1 || c[0].Task != "UPID:pve1:1" || c[0].Node != "pve1" {
		t.Errorf("the call that has failed is kept, got %+v", c)
	}
	third.Node, third.Call = "pve1", Call{Begun: 9}
	third.Enter(v1alpha1.ActRestoring, "", now)
	if c := third.Calls(); len(c) != 2 || c[0].Begun != 9 {
		t.Errorf("the call that goes on may have it too, got %+v", c)
	}
	third.Enter(v1alpha1.ActSucceeded, "", now)
	if fourth := third.Next("4", now); fourth.Left == nil || fourth.Left.Begun != 7 {
		t.Errorf("got %+v", fourth)
	}
}

// TestRepeated checks that a token for which anything was done stays used, whatever comes after it, up to a number of tokens.
func TestRepeated(t *testing.T) {
	now := time.Unix(5, 0)
	waiting := New("0", now)
	first := waiting.Next("1", now)
	first.Enter(v1alpha1.ActSucceeded, "", now)
	second := first.Next("2", now)
	if second.Repeated() {
		t.Error("a new token is none that was used")
	}
	second.Enter(v1alpha1.ActRefused, "no", now)
	if r := second.Next("1", now); !r.Repeated() {
		t.Error("what was done is not done again")
	} else if r.Enter(v1alpha1.ActRefused, "", now); !r.Next("2", now).Repeated() || !r.Next("1", now).Repeated() {
		t.Error("nor is it later")
	}
	if second.Next("0", now).Repeated() {
		t.Error("what was never begun may be asked for again")
	}
	begun := New("3", now)
	begun.Call.Begun = 7
	if !begun.Next("4", now).Next("3", now).Repeated() {
		t.Error("what was begun is not begun again")
	}
	r := first
	for i := range 3 * mostUsed {
		r = r.Next(strconv.Itoa(10+i), now)
		r.Enter(v1alpha1.ActSucceeded, "", now)
	}
	if len(r.Used) != mostUsed || r.Next(strconv.Itoa(10+2*mostUsed), now).Repeated() == false {
		t.Errorf("the last %d are known, got %d", mostUsed, len(r.Used))
	}
}

// members of a cluster, of which pve2 is offline.
type members struct{}

func (members) Nodes(context.Context) ([]proxmox.Node, error) {
	return []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}}, nil
}

func (members) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: []proxmox.ClusterNode{{Name: "pve1"}, {Name: "pve2"}}}, nil
}

// tasks of a cluster, all of which have failed.
type tasks struct {
	asked []proxmox.UPID
	nodes []string
}

func (t *tasks) NodeTasks(_ context.Context, node, _ string) ([]proxmox.Task, error) {
	t.nodes = append(t.nodes, node)
	return nil, nil
}

func (t *tasks) Task(_ context.Context, u proxmox.UPID) (proxmox.Task, error) {
	t.asked = append(t.asked, u)
	return proxmox.Task{UPID: u, ExitStatus: "hidden"}, nil
}

func (*tasks) Identity() proxmox.Identity { return proxmox.Identity{} }

// TestFind checks that only a task of the type that works on the VM is read, whatever a record names.
func TestFind(t *testing.T) {
	upid := func(taskType, id string) proxmox.UPID {
		return proxmox.UPID("UPID:pve1:00000001:00000001:65000000:" + taskType + ":" + id + ":crossplane@pve!demo:")
	}
	for name, tc := range map[string]struct {
		reason string
		task   proxmox.UPID
		found  bool
	}{
		"Own":     {reason: "The task is that of the call.", task: upid("qmrollback", "100"), found: true},
		"Others":  {reason: "The task works on another VM.", task: upid("qmrollback", "101")},
		"Another": {reason: "The task does something else.", task: upid("qmstart", "100")},
		"Node":    {reason: "The task works on no VM.", task: upid("qmrollback", "")},
		"Invalid": {reason: "The text is no UPID of a task.", task: "UPID:qmrollback:100"},
	} {
		t.Run(name, func(t *testing.T) {
			pve := &tasks{}
			found, offline, err := (&Call{Begun: 1, Task: tc.task}).Find(t.Context(), members{}, pve, proxmox.Ref{Node: "pve1", VMID: 100}, "qmrollback")
			if err != nil || offline != nil || (found != nil) != tc.found || (len(pve.asked) > 0) != tc.found {
				t.Errorf("%s Want it looked at %t, got %v, %v", tc.reason, tc.found, found, err)
			}
		})
	}
}

// TestFindElsewhere checks that no node is asked for a task on a node that is offline, or no longer a member of the cluster.
func TestFindElsewhere(t *testing.T) {
	cases := map[string]struct {
		reason  string
		node    string
		task    bool
		offline bool
	}{
		"Offline":     {reason: "The task may still run on the node.", node: "pve2", task: true, offline: true},
		"OfflineLost": {reason: "The node may have a task whose answer was lost.", node: "pve2", offline: true},
		"Removed":     {reason: "No member knows the task any more.", node: "pve3", task: true},
		"RemovedLost": {reason: "No member lists a task whose answer was lost.", node: "pve3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve, c := &tasks{}, &Call{Begun: 1}
			if tc.task {
				c.Task = proxmox.UPID("UPID:" + tc.node + ":00000001:00000001:65000000:qmrollback:100:crossplane@pve!demo:")
			}
			found, offline, err := c.Find(t.Context(), members{}, pve, proxmox.Ref{Node: tc.node, VMID: 100}, "qmrollback")
			if err != nil || len(pve.asked) > 0 || len(pve.nodes) > 0 || (offline != nil) != tc.offline || found != nil && !found.Running {
				t.Fatalf("%s Got %v, %v, %v, asked %v, %v", tc.reason, found, offline, err, pve.asked, pve.nodes)
			}
			if tc.offline && !strings.Contains(offline.Message, "node "+tc.node) || !tc.offline && found != nil {
				t.Errorf("%s Got %v, %v", tc.reason, found, offline)
			}
		})
	}
}
