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

// TestFirewallDetails makes requests to firewalls and checks the answers of pve-firewall.
func TestFirewallDetails(t *testing.T) {
	const set, missing = "/cluster/firewall/ipset/s1", "/nodes/pve1/qemu/987/firewall"
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: lab()}))
	converse(t, c, []step{
		{request: "POST /cluster/firewall/ipset", params: []string{"name=s1"}},
		{request: "POST " + set, params: []string{"cidr=10.0.0.0/24", "comment=a"}},
		{request: "GET " + set + "/10.0.0.0/24", has: `"cidr":"10.0.0.0/24","comment":"a"`},
		{request: "GET " + set + "/10.0.0.0%2F24", has: `"comment":"a"`},
		{request: "PUT " + set + "/10.0.0.0/24", params: []string{"comment=b"}},
		{request: "GET " + set + "/10.0.0.0/24", has: `"comment":"b"`},
		{
			request: "PUT " + set + "/10.0.0.0/24", params: []string{"comment=c", "digest=0000000000000000000000000000000000000000"},
			line: "500 detected modified configuration - file changed by other user? Try again.",
		},
		{request: "DELETE " + set + "/10.0.0.0/24"},
		{request: "GET " + set + "/10.0.0.0/24", line: wrong, has: "no such IP/Network"},
		// The firewall of a VM is a separate file, which may exist before the VM and remain after it.
		{request: "GET " + missing + "/options"},
		{request: "PUT " + missing + "/options", params: []string{"enable=1"}},
		{request: "GET " + missing + "/options", has: `"enable":1`},
		{request: "POST " + missing + "/rules", params: []string{"type=in", "action=ACCEPT"}},
		{request: "GET " + missing + "/rules", has: `"action":"ACCEPT"`},
	})
}
