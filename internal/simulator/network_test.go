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

func rootClient(t *testing.T, s *simulator.Server) *client {
	t.Helper()
	return login(t, s, "root@pam", simulatortest.RootPassword)
}

// login returns a client with a ticket.
func login(t *testing.T, s *simulator.Server, user, password string) *client {
	t.Helper()
	c := connect(t, s)
	delete(c.header, "Authorization")
	data, _ := c.ok("POST /access/ticket", "username="+user, "password="+password).Data.(map[string]any)
	ticket, _ := data["ticket"].(string)
	token, _ := data["CSRFPreventionToken"].(string)
	return c.with("Cookie", "PVEAuthCookie="+ticket).with("CSRFPreventionToken", token)
}

func TestNetworkChanges(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := rootClient(t, s)
	c.ok("POST /nodes/pve1/network", "iface=vmbr7", "type=bridge", "cidr=10.7.0.1/24")
	changes := c.do("GET /nodes/pve1/network").Body
	if !strings.Contains(changes, `"changes":"--- /etc/network/interfaces`) || !strings.Contains(changes, `+iface vmbr7 inet static\n+\taddress 10.7.0.1/24\n`) {
		t.Errorf("a list must have the changes that wait: %s", changes)
	}
	there := func() bool {
		found := false
		s.Edit(func(st *state.State) { found = st.Nodes["pve1"].Interfaces["vmbr7"] != nil })
		return found
	}
	if there() {
		t.Error("a change must wait until it is applied")
	}
	c.ok("DELETE /nodes/pve1/network")
	if body := c.do("GET /nodes/pve1/network").Body; strings.Contains(body, "changes") {
		t.Errorf("without changes there are none in a list: %s", body)
	}
	if a := c.do("GET /nodes/pve1/network/vmbr7"); a.Errors["iface"] != "interface does not exist" {
		t.Errorf("a reverted change must be gone: %s", a.Body)
	}
	c.ok("POST /nodes/pve1/network", "iface=vmbr7", "type=bridge")
	if exit := c.task("PUT /nodes/pve1/network"); exit != "OK" || !there() {
		t.Errorf("an applied change must be in force: %s", exit)
	}
}

func TestCorosyncNodes(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	s.Edit(func(st *state.State) { st.Nodes["pve2"].Links = []string{"10.9.0.12"} })
	list, _ := rootClient(t, s).ok("GET /cluster/config/nodes").Data.([]any)
	if len(list) != 3 {
		t.Fatalf("got %d nodes, want 3", len(list))
	}
	node, _ := list[1].(map[string]any)
	if node["node"] != "pve2" || node["ring0_addr"] != "192.0.2.12" || node["ring1_addr"] != "10.9.0.12" {
		t.Errorf("a node must have the addresses of its links: %v", node)
	}
}

func TestFirewallRules(t *testing.T) {
	c := rootClient(t, simulatortest.NewTest(t, simulator.Options{}))
	const rules = "/nodes/pve1/qemu/100/firewall/rules"
	c.ok("POST "+rules, "type=in", "action=ACCEPT", "comment=one")
	c.ok("POST "+rules, "type=in", "action=DROP", "comment=two")
	first := func() any {
		list, _ := c.ok("GET " + rules).Data.([]any)
		rule, _ := list[0].(map[string]any)
		return rule["comment"]
	}
	if got := first(); got != "two" {
		t.Errorf("a new rule must come first: got %v", got)
	}
	c.ok("PUT "+rules+"/0", "moveto=2")
	if got := first(); got != "one" {
		t.Errorf("a rule must move behind the other: got %v", got)
	}
}
