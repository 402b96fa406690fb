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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestMigrateAll checks that all guests of a node, or the named ones, are moved by separate tasks.
func TestMigrateAll(t *testing.T) {
	cases := map[string]struct {
		reason string
		params []string
		line   string
		nodes  map[string]string
	}{
		"Itself":  {reason: "The node is not its own target.", params: []string{"target=pve1", "max-workers=1"}, line: "400 Parameter verification failed."},
		"Workers": {reason: "Somebody has to say how many at a time.", params: []string{"target=pve2"}, line: "500 either 'max-workers' parameter or max_workers"},
		"Missing": {reason: "There is no such node.", params: []string{"target=pve9", "max-workers=1"}, line: "500 no such cluster node 'pve9'"},
		"Named": {
			reason: "VMs that are not named stay.", params: []string{"target=pve2", "maxworkers=1", "vms=301"}, line: "200 OK",
			nodes: map[string]string{"300": "pve1", "301": "pve2", "302": "pve1"},
		},
		"All": {
			reason: "A guest that is locked stays.", params: []string{"target=pve2", "max-workers=2"}, line: "200 OK",
			nodes: map[string]string{"300": "pve2", "301": "pve2", "302": "pve1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
			c := connect(t, s)
			for _, vmid := range []string{"300", "301", "302"} {
				c.ok("POST /nodes/pve1/qemu", "vmid="+vmid)
			}
			s.Edit(func(st *state.State) { st.Guests[302].Config["lock"] = "backup" })
			if got := c.do("POST /nodes/pve1/migrateall", tc.params...).Line; !strings.HasPrefix(got, tc.line) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.line, got)
			}
			for vmid, node := range tc.nodes {
				if got := c.do("GET /nodes/" + node + "/qemu/" + vmid + "/status/current").Line; got != "200 OK" {
					t.Errorf("\n%s\nwant VM %s on %s, got %q", tc.reason, vmid, node, got)
				}
			}
		})
	}
}

// TestBridgesShown checks that the list of a node's interfaces contains the bridges that the user may use, those of which it may use a VLAN, and all other
// interfaces.
func TestBridgesShown(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	connect(t, s).ok("POST /nodes/pve1/network", "iface=vmbr0.5", "type=vlan")
	connect(t, s).ok("PUT /access/acl", "path=/sdn/zones/localnetwork/vmbr1/5", "roles=PVESDNUser", "users=nobody@pve")
	who := connect(t, s).with("Authorization", "PVEAPIToken=nobody@pve!t1="+simulatortest.TestSecret)
	var shown []string
	for _, entry := range who.ok("GET /nodes/pve1/network").Data.([]any) {
		shown = append(shown, entry.(map[string]any)["iface"].(string))
	}
	slices.Sort(shown)
	if diff := cmp.Diff([]string{"vmbr0.5", "vmbr1"}, shown); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
