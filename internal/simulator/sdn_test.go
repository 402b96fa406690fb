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
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestSDNPending checks zones and virtual networks between their change and its application, as pve-network shows them.
func TestSDNPending(t *testing.T) {
	const zones, vnets = "/cluster/sdn/zones", "/cluster/sdn/vnets"
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: lab(), Version: version}))
			converse(t, c, []step{
				{request: "POST " + zones, params: []string{"zone=z1", "type=simple", "mtu=1400"}},
				{request: "POST " + zones, params: []string{"zone=z2", "type=simple"}},
				{request: "POST " + vnets, params: []string{"vnet=v1", "zone=z1", "tag=5"}, line: "200 OK"},
				{request: "GET " + zones + "?pending=1", has: `"pending":{"mtu":1400},"state":"new"`},
				{request: "GET " + vnets + "?pending=1", has: `"state":"new"`},
				{request: "GET " + zones + "?running=1", has: `{"data":[]}`},
				{request: "GET " + zones + "/z1?running=1", line: "500 sdn 'z1' does not exist"},
				{request: "PUT /cluster/sdn"},
				{request: "GET " + zones + "/z1?running=1", has: `"mtu":1400`},
				{request: "PUT " + zones + "/z1", params: []string{"mtu=1450"}},
				{request: "GET " + zones + "/z1?running=1", has: `"mtu":1400`},
				{request: "GET " + zones + "/z1?pending=1", has: `"mtu":1400,"pending":{"mtu":1450},"state":"changed"`},
				{request: "PUT " + zones + "/z1", params: []string{"delete=mtu"}},
				{request: "GET " + zones + "/z1?pending=1", has: `"mtu":1400,"pending":{"mtu":"deleted"},"state":"changed"`},
				{request: "DELETE " + zones + "/z2"},
				{request: "GET " + zones + "?pending=1", has: `"pending":{},"state":"deleted","type":"simple","zone":"z2"`},
				{request: "DELETE " + vnets + "/v1"},
				{request: "GET " + vnets + "?pending=1", has: `"state":"deleted"`},
				{
					request: "POST " + zones, params: []string{"zone=z3", "type=simple", "ipam=none"},
					line: "500 create sdn zone object failed: 400 Parameter verification failed.",
				},
				{request: "GET " + zones, has: `"zone":"z1"`},
				{request: "GET " + zones + "/z3", line: "500 sdn 'z3' does not exist"},
			})
			got := c.do("POST "+zones, "zone=z4", "type=evpn", "controller=none", "vrf-vxlan=100")
			if want := "500 create sdn zone object failed: controller none don't exist at " +
				"/usr/share/perl5/PVE/Network/SDN/Zones/EvpnPlugin.pm line "; len(got.Line) <= len(want) ||
				got.Line[:len(want)] != want {
				t.Errorf("an EVPN zone needs a controller that exists: %s", got.Line)
			}
		})
	}
}
