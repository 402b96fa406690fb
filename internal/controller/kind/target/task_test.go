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

package target

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestVMUnreachable checks the remedy that is reported for a VM whose node cannot be asked, including a node that is no longer a member of the
// cluster.
func TestVMUnreachable(t *testing.T) {
	cluster := proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: []proxmox.ClusterNode{{Name: "on"}, {Name: "off"}, {Name: "new"}}}
	cutOff := cluster
	cutOff.Quorate = false
	cases := map[string]struct {
		reason string
		node   string
		in     members
		want   string
		err    bool
	}{
		"Online":  {reason: "A node that is online is asked.", node: "on", in: members{status: cluster}},
		"New":     {reason: "A member that is not listed yet is asked.", node: "new", in: members{status: cluster}},
		"Offline": {reason: "A node that is offline may come back.", node: "off", in: members{status: cluster}, want: "is offline: bring it back"},
		"Removed": {
			reason: "The configurations of VMs stay when their node is removed.", node: "gone", in: members{status: cluster},
			want: "move the VM's configuration in /etc/pve/nodes/gone/qemu-server",
		},
		"NoQuorum": {reason: "A node that is cut off does not tell who is a member.", node: "gone", in: members{status: cutOff}, want: "quorum"},
		"Hidden": {
			reason: "Without Sys.Audit the provider does not see the quorum.", node: "gone",
			in: members{err: &proxmox.Error{Status: http.StatusForbidden}}, want: "Sys.Audit",
		},
		"Failed": {reason: "Another failure decides nothing.", node: "gone", in: members{err: errors.New("broken")}, err: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := VMUnreachable(t.Context(), &tc.in, tc.node)
			if (err != nil) != tc.err || (got != nil) != (tc.want != "") {
				t.Fatalf("%s Got %v, %v", tc.reason, got, err)
			}
			if got != nil && (got.Reason != ReasonNodeOffline || !strings.Contains(got.Message, tc.want)) {
				t.Errorf("%s Got %v", tc.reason, got)
			}
		})
	}
}

// members is a cluster as known to the node that is asked.
type members struct {
	pve

	status proxmox.ClusterStatus
	err    error
	asked  int
}

func (m *members) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return m.status, m.err
}

func (m *members) Task(_ context.Context, u proxmox.UPID) (proxmox.Task, error) {
	m.asked++
	return proxmox.Task{UPID: u, ExitStatus: "OK"}, nil
}

func (m *members) NodeTasks(context.Context, string, string) ([]proxmox.Task, error) {
	m.asked++
	return []proxmox.Task{{}}, nil
}

func TestNodeState(t *testing.T) {
	cluster := proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: []proxmox.ClusterNode{{Name: "on"}, {Name: "off"}, {Name: "new"}}}
	cutOff, alone := cluster, cluster
	cutOff.Quorate, alone.Name = false, ""
	renamed := alone
	renamed.Standalone = true
	denied := &proxmox.Error{Op: "call", Method: http.MethodGet, Status: http.StatusForbidden, Message: "Permission check failed"}
	cases := map[string]struct {
		reason  string
		node    string
		in      members
		asked   bool
		offline string
		err     bool
	}{
		"Online":    {reason: "A node that is online is asked.", node: "on", in: members{status: cluster}, asked: true},
		"Nameless":  {reason: "What names no node is refused where it is asked.", in: members{status: cluster}, asked: true},
		"Offline":   {reason: "A task of a node that is offline may still run.", node: "off", in: members{status: cluster}, offline: "node off"},
		"New":       {reason: "A member that is not listed yet is asked.", node: "new", in: members{status: cluster}, asked: true},
		"Removed":   {reason: "No member has the task any more.", node: "gone", in: members{status: cluster}},
		"NoQuorum":  {reason: "What is cut off does not tell who is a member.", node: "gone", in: members{status: cutOff}, offline: "quorum"},
		"NoCluster": {reason: "A node that has not joined its cluster yet knows no members.", node: "gone", in: members{status: alone}, offline: "quorum"},
		"Renamed":   {reason: "A node of no cluster that was renamed has no task by its former name.", node: "gone", in: members{status: renamed}},
		"Denied":    {reason: "Who may not see the quorum cannot tell.", node: "gone", in: members{err: denied}, offline: "Sys.Audit on /"},
		"Failed":    {reason: "Another failure decides nothing.", node: "gone", in: members{err: errors.New("broken")}, err: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := proxmox.UPID("UPID:" + tc.node + ":00000001:00000001:65000000:vzdump:100:root@pam:")
			task, offline, err := Task(t.Context(), &tc.in, &tc.in, u)
			if (err != nil) != tc.err || (task != nil) != (tc.asked || tc.offline != "") || tc.in.asked > 0 != tc.asked {
				t.Errorf("%s Got task %v, asked %d times, %v", tc.reason, task, tc.in.asked, err)
			}
			if (offline != nil) != (tc.offline != "") || offline != nil && (!task.Running || !strings.Contains(offline.Message, tc.offline)) {
				t.Errorf("%s Got %v, %v", tc.reason, task, offline)
			}
			all, err := NodeTasks(t.Context(), &tc.in, &tc.in, tc.node, "vzdump")
			if (err != nil) != tc.err || len(all.All) > 0 != tc.asked || (all.Offline != nil) != (tc.offline != "") {
				t.Errorf("%s Got tasks %+v, %v", tc.reason, all, err)
			}
		})
	}
}
