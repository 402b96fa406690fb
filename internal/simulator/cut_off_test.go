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

// TestCutOff disconnects a node from the network while the others keep quorum. It continues to answer from its last known data, as in the recording of an
// isolated node, and the others consider it offline.
func TestCutOff(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Version: version, NodeAddresses: map[string]string{"pve2": "127.0.0.1:0"}})
			alone, others := connect(t, s), connect(t, s)
			others.node = s.NodeURL("pve2")
			alone.ok("POST /nodes/pve1/qemu/100/status/start")
			steer(t, s, "PUT nodes/pve1", `{"cutOff":true}`)
			for request, want := range map[string][]string{
				"GET /cluster/status": {`"quorate":0`, `"name":"pve2","nodeid":2,"online":0`, `"local":1,"name":"pve1","nodeid":1,"online":1`},
				"GET /nodes":          {`"status":"offline"`, `"status":"online"`},
				"GET /cluster/resources": {
					`"node":"pve2","status":"offline"`, `"node":"pve1","status":"online"`, `{"id":"qemu/9001","node":"pve2","status":"unknown"`,
				},
				"GET /cluster/ha/status/current": {`No quorum on node 'pve1'!`},
			} {
				lacks(t, alone.ok(request).Body, want...)
			}
			for request, want := range map[string]string{
				"GET /nodes/pve2/qemu/9001/config":       "595 No route to host",
				"GET /nodes/pve1/qemu/9000/config":       "200 OK",
				"PUT /nodes/pve1/qemu/9000/config":       "500 unable to open file '/etc/pve/nodes/pve1/qemu-server/9000.conf.tmp.1000' - Permission denied",
				"POST /nodes/pve1/qemu/100/status/start": "500 cluster not ready - no quorum?",
			} {
				if got := alone.do(request, map[string][]string{"PUT /nodes/pve1/qemu/9000/config": {"cores=1"}}[request]...); got.Line != want {
					t.Errorf("%s of the node that is cut off: %s, want %s", request, got.Line, want)
				}
			}
			lacks(t, others.ok("GET /cluster/status").Body, `"quorate":1`, `"name":"pve1","nodeid":1,"online":0`, `"name":"pve2","nodeid":2,"online":1`)
			others.ok("PUT /nodes/pve2/qemu/9001/config", "description=x")
			if got := others.do("GET /nodes/pve1/qemu/100/config").Line; got != "595 No route to host" {
				t.Errorf("the others reach it: %s", got)
			}
			if g, _ := s.Guest(100); g.Power != state.Running {
				t.Errorf("its VMs run on, got %v", g.Power)
			}
			steer(t, s, "PUT nodes/pve1", `{"cutOff":false}`)
			lacks(t, alone.ok("GET /cluster/status").Body, `"quorate":1`, `"name":"pve2","nodeid":2,"online":1`)
			others.ok("GET /nodes/pve1/qemu/100/config")
		})
	}
}

// lacks fails the test for each text that an answer does not contain.
func lacks(t *testing.T, body string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(body, w) {
			t.Errorf("no %s in %s", w, body)
		}
	}
}
