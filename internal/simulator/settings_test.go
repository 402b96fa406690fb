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

// step is a request of a sequence, with the expected status line and a part of the expected body.
type step struct {
	request string
	params  []string
	line    string
	has     string
}

// converse sends requests one after another.
func converse(t *testing.T, c *client, steps []step) {
	t.Helper()
	for _, st := range steps {
		got := c.do(st.request, st.params...)
		if st.line == "" {
			st.line = "200 OK"
		}
		if got.Line != st.line || !strings.Contains(got.Body, st.has) {
			t.Errorf("%s %v: got %s %s\nwant %s, with %s", st.request, st.params, got.Line, got.Body, st.line, st.has)
		}
	}
}

const wrong = "400 Parameter verification failed."

func TestSettings(t *testing.T) {
	const options, node, vnets, zones = "/cluster/options", "/nodes/pve1", "/cluster/sdn/vnets", "/cluster/sdn/zones"
	for name, tc := range map[string]struct {
		reason  string
		version string
		steps   []step
	}{
		"Options": {reason: "The cluster's options are set, shown as objects and deleted.", steps: []step{
			{request: "PUT " + options, params: []string{"keyboard=de", "migration=secure,network=10.0.0.0/24", "description=hello", "next-id=lower=200"}},
			{request: "GET " + options, has: `"migration":{"network":"10.0.0.0/24","type":"secure"}`},
			{request: "GET " + options, has: `"description":"hello\n"`},
			{request: "GET /cluster/nextid", has: `{"data":"200"}`},
			{request: "PUT " + options, params: []string{"delete=next-id,description"}},
			{request: "GET /cluster/nextid", has: `{"data":"100"}`},
			{request: "PUT " + options, params: []string{"next-id=lower=300,upper=200"}, line: "500 lower (300) <= upper (200) boundary rule broken"},
			{request: "PUT " + options, params: []string{"migration=type=bogus"}, line: wrong, has: "migration.type"},
		}},
		"Tags": {reason: "The tags in use may be set.", steps: []step{
			{request: "POST " + node + "/qemu", params: []string{"vmid=100", "tags=b;a"}},
			{request: "PUT " + options, params: []string{"user-tag-access=user-allow=list,user-allow-list=x;y", "registered-tags=r"}},
			{request: "GET " + options, has: `"allowed-tags":["a","b","r","x","y"]`},
			{request: "GET " + options, has: `"user-tag-access":{"user-allow":"list","user-allow-list":["x","y"]}`},
		}},
		"Node": {reason: "A node keeps its settings.", steps: []step{
			{request: "PUT " + node + "/config", params: []string{"description=note", "startall-onboot-delay=5", "wakeonlan=BC:24:11:00:00:01"}},
			{request: "GET " + node + "/config", has: `"description":"note\n"`},
			{request: "GET " + node + "/config", has: `"startall-onboot-delay":5`},
			{request: "GET " + node + "/config", params: []string{"property=wakeonlan"}, has: `{"data":{"wakeonlan":"BC:24:11:00:00:01"}}`},
			{
				request: "PUT " + node + "/config", params: []string{"delete=description", "digest=0000"},
				line: "500 detected modified configuration - file changed by other user? Try again.",
			},
			{request: "PUT " + node + "/dns", params: []string{"search=lab.example", "dns1=10.0.0.2"}},
			{request: "GET " + node + "/dns", has: `{"data":{"dns1":"10.0.0.2","search":"lab.example"}}`},
			{request: "PUT " + node + "/dns", params: []string{"dns1=10.0.0.2"}, line: wrong, has: `"search":"property is missing and it is not optional"`},
			{request: "PUT " + node + "/time", params: []string{"timezone=Europe/Vienna"}},
			{request: "GET " + node + "/time", has: `"timezone":"Europe/Vienna"`},
			{request: "PUT " + node + "/time", params: []string{"timezone=Nowhere"}, line: "500 command 'timedatectl set-timezone Nowhere' failed: exit code 1"},
			{request: "GET " + node + "/hosts", has: `"digest"`},
			{request: "POST " + node + "/hosts", params: []string{"data=127.0.0.1 localhost\n"}},
			{request: "GET " + node + "/hosts", has: `"data":"127.0.0.1 localhost\n"`},
		}},
		"Mapping": {reason: "A device has a mapping of its own.", steps: []step{
			{request: "POST /cluster/mapping/pci", params: []string{"id=gpu", "map=node=pve1,path=0000:01:00.0,id=10de:1234", "description=card"}},
			{
				request: "POST /cluster/mapping/pci", params: []string{"id=gpu", "map=node=pve1,path=0000:01:00.0,id=10de:1234"},
				line: "500 create hardware mapping failed: pci ID 'gpu' already defined",
			},
			{request: "POST /cluster/mapping/pci", params: []string{"id=gpu2", "map=path=0000:01:00.0"}, line: wrong, has: "map[0].node"},
			{request: "GET /cluster/mapping/pci", params: []string{"check-node=pve2"}, has: `"message":"No mapping for node pve2."`},
			{request: "GET /cluster/mapping/pci/gpu", has: `"map":["node=pve1,path=0000:01:00.0,id=10de:1234"]`},
			{request: "PUT /cluster/mapping/pci/gpu", params: []string{"mdev=1", "delete=description"}},
			{request: "GET /cluster/mapping/pci/gpu", has: `"mdev":1`},
			{
				request: "PUT /cluster/mapping/usb/nope", params: []string{"map=node=pve1,id=1234:5678"},
				line: "500 update hardware mapping failed: usb ID 'nope' does not exist",
			},
			{request: "GET /cluster/mapping/dir/nope", line: "500 mapping 'nope' not found"},
			{request: "DELETE /cluster/mapping/pci/gpu"},
			{request: "GET /cluster/mapping/pci", has: `{"data":[]}`},
		}},
		"SDN": {reason: "Virtual networks change and take force when they are applied.", steps: []step{
			{request: "POST " + zones, params: []string{"zone=z1", "type=simple"}},
			{request: "POST " + vnets, params: []string{"vnet=vn1", "zone=z1"}},
			{request: "PUT " + vnets + "/vn1", params: []string{"alias=first"}},
			{request: "GET " + vnets + "/vn1", has: `"alias":"first"`},
			{request: "PUT " + vnets + "/vn1", params: []string{"zone=z9"}, line: "500 update sdn vnet object failed: zone z9 don't exist"},
			{request: "PUT " + vnets + "/vn9", params: []string{"alias=x"}, line: "500 sdn vnet object 'vn9' does not exist"},
			{request: "PUT " + zones + "/z1", params: []string{"mtu=1450"}},
			{request: "GET " + zones + "/z1", has: `"mtu":1450`},
			{request: "GET " + node + "/network", params: []string{"type=any_bridge"}, has: `"iface":"vmbr1"`},
			{request: "PUT /cluster/sdn"},
			{request: "GET " + node + "/network", params: []string{"type=any_bridge"}, has: `"iface":"vn1"`},
			{request: "POST " + node + "/qemu", params: []string{"vmid=100", "net0=virtio,bridge=vn1"}},
			{request: "POST " + node + "/qemu/100/status/start"},
			{request: "GET " + node + "/qemu/100/status/current", has: `"status":"running"`},
		}},
		"HARules": {reason: "Rules have the parameters of their type.", steps: []step{
			{request: "POST " + node + "/qemu", params: []string{"vmid=100"}},
			{request: "POST /cluster/ha/resources", params: []string{"sid=vm:100", "state=stopped", "max_restart=3"}},
			{request: "GET /cluster/ha/resources/vm:100", has: `"max_restart":3`},
			{request: "POST /cluster/ha/rules", params: []string{"rule=r1"}, line: wrong, has: `"type":"property is missing and it is not optional"`},
			{
				request: "POST /cluster/ha/rules", params: []string{"rule=r1", "type=bogus"}, line: wrong,
				has: `"type":"value 'bogus' does not have a value in the enumeration 'node-affinity, resource-affinity'"`,
			},
			{
				request: "POST /cluster/ha/rules", params: []string{"rule=r1", "type=node-affinity", "resources=vm:100"}, line: wrong,
				has: `"oneOf[node-affinity].nodes":"property is missing and it is not optional"`,
			},
			{
				request: "POST /cluster/ha/rules", params: []string{"rule=r1", "type=node-affinity", "resources=vm:100", "nodes=pve1", "affinity=positive"}, line: wrong,
				has: `"affinity":"property is not defined in schema and the schema does not allow additional properties"`,
			},
			{
				request: "POST /cluster/ha/rules", params: []string{"rule=r1", "type=node-affinity", "resources=vm:101", "nodes=pve1"},
				line: "500 create ha rule failed: cannot use unmanaged resource(s) vm:101.",
			},
			{
				request: "POST /cluster/ha/rules", params: []string{"rule=r1", "type=node-affinity", "resources=vm:100", "nodes=pve2:2,pve9"},
				line: "500 create ha rule failed: cannot use non-existent node(s) pve9.",
			},
			{request: "POST /cluster/ha/rules", params: []string{"rule=r1", "type=node-affinity", "resources=vm:100", "nodes=pve2:2", "strict=1"}},
			{request: "GET /cluster/ha/rules/r1", has: `"nodes":"pve2:2","order":1,"resources":"vm:100","rule":"r1","strict":1,"type":"node-affinity"`},
			{
				request: "POST /cluster/ha/rules", params: []string{"rule=r2", "type=node-affinity", "resources=vm:100", "nodes=pve1"},
				line: "500 create ha rule failed: 400 Rule 'r2' is invalid.",
			},
			{request: "PUT /cluster/ha/rules/r1", params: []string{"type=node-affinity", "delete=strict", "comment=x"}},
			{request: "GET /cluster/ha/rules", has: `"comment":"x"`},
			{request: "PUT /cluster/ha/rules/r9", params: []string{"type=node-affinity"}, line: "500 update HA rules failed: HA rule 'r9' does not exist"},
			{request: "DELETE /cluster/ha/rules/r1"},
			{request: "GET /cluster/ha/rules/r1", line: "500 no such ha rule 'r1'"},
		}},
		"HAGroups": {reason: "PVE 8 has groups.", version: "8.4", steps: []step{
			{request: "POST /cluster/ha/groups", params: []string{"group=g1", "nodes=pve1:2,pve2", "restricted=1"}},
			{request: "GET /cluster/ha/groups/g1", has: `"nodes":"pve1:2,pve2","restricted":1,"type":"group"`},
			{request: "POST " + node + "/qemu", params: []string{"vmid=100"}},
			{request: "POST /cluster/ha/resources", params: []string{"sid=100", "group=g1", "state=stopped"}},
			{request: "GET /cluster/ha/resources/vm:100", has: `"group":"g1"`},
			{request: "DELETE /cluster/ha/groups/g1", line: "500 delete ha group failed: ha group is used by service 'vm:100'"},
			{request: "DELETE /cluster/ha/resources/vm:100"},
			{request: "DELETE /cluster/ha/groups/g1"},
			{request: "GET /cluster/ha/rules", line: "501 Method 'GET /cluster/ha/rules' not implemented"},
		}},
		"Replication": {reason: "Jobs need storages that replicate.", steps: []step{
			{request: "POST " + node + "/qemu", params: []string{"vmid=100", "scsi0=local:1"}},
			{
				request: "POST /cluster/replication", params: []string{"id=100-0", "type=local", "target=pve2"},
				line: "500 missing replicate feature on volume 'local:100/vm-100-disk-0.raw'",
			},
			{request: "POST /cluster/replication", params: []string{"id=101-0", "type=local", "target=pve2"}, line: "500 Guest '101' does not exist."},
			{request: "GET /cluster/replication/100-0", line: "500 no such replication job '100-0'"},
		}},
		"Backup": {reason: "A backup is a file of a storage for backups, which the task alone looks at.", steps: []step{
			{request: "POST " + node + "/qemu", params: []string{"vmid=100", "scsi0=local:1"}},
			{request: "POST " + node + "/vzdump", params: []string{"vmid=100", "storage=data2"}, has: ":vzdump:100:"},
			{request: "GET " + node + "/storage/data2/content", params: []string{"content=backup"}, has: `{"data":[]}`},
			{request: "PUT /storage/data2", params: []string{"content=images,backup"}},
			{request: "POST " + node + "/vzdump", params: []string{"vmid=100", "storage=data2"}, has: ":vzdump:100:"},
			{
				request: "GET " + node + "/storage/data2/content", params: []string{"content=backup"},
				has: `"subtype":"qemu","vmid":100,"volid":"data2:backup/vzdump-qemu-100-`,
			},
			{request: "POST /nodes/pve2/vzdump", params: []string{"vmid=100", "storage=data2"}, has: `{"data":"OK"}`},
			{request: "POST " + node + "/vzdump", params: []string{"vmid=100", "storage=data2", `notes-template=a\x`}, line: wrong},
			{request: "POST " + node + "/vzdump", params: []string{"vmid=100", "storage=data2", "notes-template={{b}}"}, line: wrong},
		}},
		"Reassign": {reason: "A disk goes to another VM.", steps: []step{
			{request: "POST " + node + "/qemu", params: []string{"vmid=100", "scsi0=local:1", "scsi1=local:1"}},
			{request: "POST " + node + "/qemu", params: []string{"vmid=101", "scsi0=local:1"}},
			{
				request: "POST " + node + "/qemu/100/move_disk", params: []string{"disk=scsi0", "target-vmid=101"},
				line: "500 Target disk key 'scsi0' is already in use for VM '101'",
			},
			{request: "POST " + node + "/qemu/100/move_disk", params: []string{"disk=scsi0"}, line: wrong, has: "both 'storage' and 'target-vmid' missing"},
			{
				request: "POST " + node + "/qemu/100/move_disk", params: []string{"disk=scsi0", "target-vmid=101", "target-disk=scsi3"},
				has: "qmmove:100-scsi0>101-scsi3:",
			},
			{request: "PUT " + node + "/qemu/100/config", params: []string{"sata0=local:100/vm-100-disk-1.raw"}},
			{
				request: "POST " + node + "/qemu/100/move_disk", params: []string{"disk=scsi1", "target-vmid=101", "target-disk=scsi4"},
				line: "500 Can't move disk used by a snapshot to another VM",
			},
			{request: "GET " + node + "/qemu/101/config", has: `"scsi3":"local:101/vm-101-disk-1.raw,size=1G"`},
			{request: "GET " + node + "/qemu/100/config", has: `"boot":" "`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			converse(t, connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: lab(), Version: tc.version})), tc.steps)
		})
	}
}

func TestSettingsNeedPrivileges(t *testing.T) {
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: lab()}))
	auditor := c.with("Authorization", "PVEAPIToken=auditor@pve!ro="+simulatortest.TestSecret)
	nobody := c.with("Authorization", "PVEAPIToken=nobody@pve!t1="+simulatortest.TestSecret)
	converse(t, auditor, []step{
		{request: "GET /cluster/options", has: "mac_prefix"},
		{request: "PUT /cluster/options", params: []string{"keyboard=de"}, line: "403 Permission check failed (/, Sys.Modify)"},
		{request: "PUT /nodes/pve1/dns", params: []string{"search=x"}, line: "403 Permission check failed (/nodes/pve1, Sys.Modify)"},
		{request: "POST /cluster/ha/rules", params: []string{"rule=r1"}, line: "403 Permission check failed (/, Sys.Console)"},
		{request: "POST /cluster/mapping/pci", params: []string{"id=gpu"}, line: "403 Permission check failed (/mapping/pci, Mapping.Modify)"},
	})
	converse(t, nobody, []step{
		{request: "GET /cluster/options", has: `{"data":{"allowed-tags":[]}}`},
		{request: "GET /cluster/mapping/pci", has: `{"data":[]}`},
		{request: "GET /cluster/sdn/vnets", has: `{"data":[]}`},
	})
}

func TestHAMovesGuests(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	for _, r := range [][]string{{"100", "nfs:1"}, {"101", "local:1"}, {"102", "nfs:1"}} {
		c.ok("POST /nodes/pve1/qemu", "vmid="+r[0], "scsi0="+r[1])
	}
	c.ok("POST /cluster/ha/resources", "sid=vm:100")
	c.ok("POST /cluster/ha/resources", "sid=vm:101", "state=stopped")
	if g, _ := s.Guest(100); g.Power != state.Running {
		t.Errorf("HA has not started the VM: %s", g.Power)
	}
	s.Edit(func(st *state.State) { st.Nodes["pve1"].Offline = true })
	for vmid, want := range map[int]string{100: "pve2 running", 101: "pve2 stopped", 102: "pve1 stopped"} {
		if g, _ := s.Guest(vmid); g.Node+" "+string(g.Power) != want {
			t.Errorf("%d: got %s %s, want %s", vmid, g.Node, g.Power, want)
		}
	}
}

func TestHAWaitsForQuorum(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.ok("POST /nodes/pve1/qemu", "vmid=100")
	c.ok("POST /cluster/ha/resources", "sid=vm:100")
	s.Edit(func(st *state.State) { st.Nodes["pve1"].Offline, st.NoQuorum = true, true })
	if g, _ := s.Guest(100); g.Node != "pve1" {
		t.Errorf("got %s, want pve1", g.Node)
	}
}

func TestHAGivesUp(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.ok("POST /nodes/pve1/qemu", "vmid=100")
	c.ok("POST /cluster/ha/resources", "sid=vm:100", "state=stopped")
	s.Edit(func(st *state.State) { st.HA["vm:100"].Failed = true })
	const given = "500 service 'vm:100' in error state, must be disabled and fixed first"
	converse(t, c, []step{
		{request: "GET /nodes/pve1/qemu/100/status/current", has: `"ha":{"managed":1,"state":"error"}`},
		{request: "GET /cluster/resources", params: []string{"type=vm"}, has: `"hastate":"error"`},
		{request: "GET /cluster/ha/resources/vm:100", has: `"state":"stopped"`},
		{request: "PUT /cluster/ha/resources/vm:100", params: []string{"state=started"}, line: given},
		{request: "PUT /cluster/ha/resources/vm:100", params: []string{"max_restart=2"}, line: given},
	})
	failure := "command 'ha-manager set vm:100 --state started' failed: exit code 255"
	if exit := c.task("POST /nodes/pve1/qemu/100/status/start"); exit != failure {
		t.Errorf("start: %s", exit)
	}
	c.ok("PUT /cluster/ha/resources/vm:100", "state=disabled")
	c.ok("PUT /cluster/ha/resources/vm:100", "state=started")
	if g, _ := s.Guest(100); g.Power != state.Running {
		t.Errorf("HA has not started the VM: %s", g.Power)
	}
}
