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

// TestNetworkFile checks that manual changes of the interfaces file are only shown in the diff. PVE keeps one address of each family of an interface when
// it writes the file.
func TestNetworkFile(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := rootClient(t, s)
	s.Edit(func(st *state.State) {
		n := st.Nodes["pve1"]
		n.Interfaces["vmbr1"].CIDR, n.Interfaces["vmbr1"].Addresses = "10.9.0.11/24", []string{"10.9.0.50/24"}
		n.StagedLines = []string{"source /etc/network/mine"}
	})
	if body := c.do("GET /nodes/pve1/network").Body; strings.Contains(body, "10.9.0.50") || strings.Contains(body, "changes") {
		t.Errorf("nothing is staged, and one address is listed: %s", body)
	}
	c.ok("POST /nodes/pve1/network", "iface=vmbr7", "type=bridge")
	body := c.do("GET /nodes/pve1/network").Body
	for _, line := range []string{`\n-\taddress 10.9.0.50/24\n`, `\n+source /etc/network/mine\n`} {
		if !strings.Contains(body, line) {
			t.Errorf("want the changes to have %s: %s", line, body)
		}
	}
	c.ok("DELETE /nodes/pve1/network")
	c.ok("POST /nodes/pve1/network", "iface=vmbr7", "type=bridge")
	if body := c.do("GET /nodes/pve1/network").Body; strings.Contains(body, "mine") {
		t.Errorf("the changes are reverted: %s", body)
	}
}

// TestContainersOfNode checks that a node lists its containers to users who may see them.
func TestContainersOfNode(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	s.Edit(func(st *state.State) {
		for vmid, node := range map[int]string{910: "pve1", 911: "pve2"} {
			st.Containers[vmid] = &state.Guest{VMID: vmid, Node: node, Power: state.Running, Config: map[string]string{"hostname": "a"}}
		}
	})
	if body := rootClient(t, s).do("GET /nodes/pve1/lxc").Body; !strings.Contains(body, `"vmid":910`) || strings.Contains(body, "911") {
		t.Errorf("want container 910 alone: %s", body)
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
