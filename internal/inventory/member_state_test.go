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

package inventory

import (
	"net/http"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestMemberStateOutsideOfClusters distinguishes a standalone node, which had another name before, from one that has not joined its cluster yet.
func TestMemberStateOutsideOfClusters(t *testing.T) {
	here := []proxmox.Node{{Name: "here", Status: "online"}}
	links := map[string][]string{"here": {"192.0.2.1"}, "there": {"192.0.2.2"}}
	cases := map[string]struct {
		reason string
		pve    *pve
		want   MemberState
	}{
		"Renamed":   {reason: "There is no other node than the one that answers.", pve: &pve{nodes: here, nameless: true}, want: Removed},
		"NotJoined": {reason: "The other nodes are not known before the node has joined.", pve: &pve{nodes: here, nameless: true, corosync: links}, want: Undecided},
		"Hidden": {
			reason: "Without Sys.Audit the provider does not see the quorum.", want: Undecided,
			pve: &pve{nodes: here, hidden: &proxmox.Error{Status: http.StatusForbidden, Message: "Permission check failed (/, Sys.Audit)"}},
		},
		"Cluster": {reason: "A cluster with quorum knows its members.", pve: &pve{nodes: here, corosync: links}, want: Removed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(tc.pve)
			defer c.Close()
			if got, err := MemberStateOf(t.Context(), c, "gone"); got != tc.want || err != nil {
				t.Errorf("%s Want %d, got %d, %v", tc.reason, tc.want, got, err)
			}
			if got, err := MemberStateOf(t.Context(), c, "here"); got != Online || err != nil {
				t.Errorf("%s Want the node that answers online, got %d, %v", tc.reason, got, err)
			}
		})
	}
}
