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
	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestAccessNeighbours makes access control requests similar to those of TestAccess, and checks the answers of pve-access-control.
func TestAccessNeighbours(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	vmuser := c.with("Authorization", "PVEAPIToken=vmuser@pve!t1="+simulatortest.TestSecret)
	const users, groups, roles, domains, pools = "/access/users", "/access/groups", "/access/roles", "/access/domains", "/pools"
	converse(t, c, []step{
		{request: "GET /access", has: `{"subdir":"users"}`},
		{request: "POST " + users, params: []string{"userid=u1@pve", "firstname=F", "lastname=L", "keys=k"}},
		{request: "GET " + users + "/u1@pve", has: `"firstname":"F","groups":[],"keys":"k","lastname":"L"`},
		{request: "POST " + users, params: []string{"userid=u2@nowhere", "password=secret12"}, line: "500 create user failed: auth domain 'nowhere' does not exist"},
		{request: "POST " + users, params: []string{"userid=a b@pve"}, line: "500 value 'a b@pve' does not look like a valid user name"},
		{request: "GET " + users, params: []string{"enabled=0"}, has: `{"data":[]}`},
		{request: "GET " + users, params: []string{"full=1"}, has: `"tokens":[{"expire":0,"privsep":0,"tokenid":"t1"}]`},
		{request: "POST " + groups, params: []string{"groupid=g1", "comment=c"}},
		{request: "PUT " + groups + "/g1", params: []string{"comment=d"}},
		{request: "GET " + groups, has: `{"comment":"d","groupid":"g1","users":""}`},
		{request: "PUT " + groups + "/g2", line: "500 update group failed: group 'g2' does not exist"},
		{request: "POST " + users + "/u1@pve/token/t1", params: []string{"comment=x"}},
		{request: "PUT " + users + "/u1@pve/token/t1", params: []string{"delete=comment"}, has: `{"data":{"expire":0,"privsep":1}}`},
		{request: "PUT " + users + "/u1@pve/token/t1", params: []string{"regenerate=1"}, has: `"full-tokenid":"u1@pve!t1"`},
		{request: "PUT " + users + "/u1@pve/token/t1", params: []string{"delete=expire"}, line: wrong, has: "unknown option 'expire'"},
		{request: "POST " + roles, params: []string{"roleid=PVEmine"}, line: wrong, has: "(case-insensitive) 'PVE' namespace"},
		{request: "DELETE " + roles + "/none", line: "500 delete role failed: role 'none' does not exist"},
		{request: "PUT " + roles + "/none", params: []string{"privs=VM.Audit"}, line: "500 update role failed: role 'none' does not exist"},
		{request: "PUT /access/acl", params: []string{"path=/vms", "roles=PVEVMUser"}, line: wrong, has: "either 'users', 'groups' or 'tokens' is required."},
		{request: "PUT /access/acl", params: []string{"path=vms//501/", "roles=PVEVMUser", "users=u1@pve"}},
		{request: "GET /access/acl", has: `"path":"/vms/501"`},
		{
			request: "PUT /access/acl", params: []string{"path=/vms", "roles=PVEVMUser", "tokens=u1@pve!none"},
			line: "500 ACL update failed: no such token 'none' for user 'u1@pve'",
		},
		{request: "GET " + domains + "/pam", has: `"type":"pam"`},
		{
			request: "POST " + domains, params: []string{"realm=corp", "type=ldap", "base_dn=dc=x", "user_attr=uid"},
			line: "500 add auth server failed: missing value for required option 'server1'",
		},
		{request: "POST " + domains, params: []string{"realm=corp", "type=ldap", "base_dn=dc=x", "user_attr=uid", "server1=10.0.0.9", "default=1"}},
		{request: "GET " + domains, has: `{"default":1,"realm":"corp","type":"ldap"}`},
		{request: "PUT " + domains + "/corp", params: []string{"comment=c", "delete=default"}},
		{request: "GET " + domains + "/corp", has: `"comment":"c"`},
		{request: "PUT " + domains + "/none", params: []string{"comment=c"}, line: "500 update auth server failed: domain 'none' does not exist"},
		{request: "DELETE " + domains + "/corp"},
		{request: "DELETE " + domains + "/corp", line: "500 delete auth server failed: authentication domain 'corp' does not exist"},
		{request: "POST " + pools, params: []string{"poolid=a/b"}, line: "500 create pool failed: parent 'a' of pool 'a/b' does not exist"},
		{request: "POST " + pools, params: []string{"poolid=1a"}, line: "500 create pool failed: pool name must start with a letter"},
		{request: "POST " + pools, params: []string{"poolid=a"}},
		{request: "POST " + pools, params: []string{"poolid=a/b"}},
		{request: "PUT " + pools, params: []string{"poolid=a/b", "vms=501,501", "comment=half"}, line: "500 update pools failed: VM 501 is already a pool member"},
		{request: "GET " + pools, params: []string{"poolid=a/b"}, has: `{"data":[{"members":[],"poolid":"a/b"}]}`},
		{request: "PUT " + pools + "/a", params: []string{"vms=501", "delete=1"}, line: "500 update pools failed: VM 501 is not a pool member"},
		{request: "PUT " + pools + "/a", params: []string{"storage=local"}},
		{request: "GET " + pools + "/a", params: []string{"type=qemu"}, has: `"members":[]`},
		{request: "DELETE " + pools + "/a", line: "500 delete pool failed: pool 'a' is not empty (contains pool 'a/b')"},
		{request: "DELETE " + pools, params: []string{"poolid=a/b"}},
		{request: "DELETE " + pools + "/a", line: "500 delete pool failed: pool 'a' is not empty (contains storage 'local')"},
	})
	converse(t, vmuser, []step{
		{request: "PUT /access/acl", params: []string{"path=/vms/501", "roles=PVEVMUser", "users=u1@pve"}},
		{
			request: "PUT /access/acl", params: []string{"path=/vms/501", "roles=PVEPoolAdmin", "users=u1@pve"}, line: wrong,
			has: "Cannot add role 'PVEPoolAdmin' - requires 'Permissions.Modify' or superset of privileges.",
		},
		{
			request: "PUT /access/acl", params: []string{"path=/vms/501", "roles=NoAccess", "users=u1@pve"}, line: wrong,
			has: "Cannot add role 'NoAccess' - requires 'Permissions.Modify'",
		},
	})
}

// TestGuestNeighbours makes requests to guests similar to the recorded ones, and checks the answers of qemu-server.
func TestGuestNeighbours(t *testing.T) {
	const one = "/nodes/pve1/qemu/100"
	for name, tc := range map[string]struct {
		reason string
		params []string
		start  bool
		lock   string
		steps  []step
	}{
		"SnapshotOrCurrent": {reason: "A configuration is that of a snapshot or the current one.", steps: []step{
			{request: "GET " + one + "/config", params: []string{"snapshot=s1", "current=1"}, line: wrong, has: "cannot use 'snapshot' parameter with 'current'"},
		}},
		"Reserved": {reason: "One reserved name is so in all letters.", steps: []step{
			{request: "POST " + one + "/snapshot", params: []string{"snapname=PENDING"}, line: "500 unable to use snapshot name 'pending' (reserved name)"},
			{
				request: "POST /nodes/pve1/qemu/999/snapshot", params: []string{"snapname=s1"},
				line: "500 Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist",
			},
		}},
		"LockedSnapshot": {reason: "What is locked keeps the description of its snapshots.", lock: "backup", steps: []step{
			{request: "PUT " + one + "/snapshot/s1/config", params: []string{"description=x"}, line: "500 VM is locked (backup)"},
			{request: "PUT " + one + "/cloudinit", line: "500 VM is locked (backup)"},
			{request: "PUT " + one + "/sendkey", params: []string{"key=ret"}, line: "500 VM is locked (backup)"},
		}},
		"SendKey": {reason: "Keys are for running VMs.", steps: []step{
			{request: "PUT " + one + "/sendkey", params: []string{"key=ret"}, line: "500 VM 100 not running"},
		}},
		"Feature": {reason: "A snapshot's features are asked for by name.", steps: []step{
			{request: "GET " + one + "/feature", params: []string{"feature=copy", "snapname=s1"}, line: "500 snapshot 's1' does not exist"},
		}},
		"BackgroundDelay": {reason: "A change that ends in time has no task to tell of.", steps: []step{
			{request: "POST " + one + "/config", params: []string{"cores=2", "background_delay=5"}, has: `{"data":null}`},
			{request: "POST " + one + "/config", params: []string{"cores=3"}, has: "UPID:pve1:"},
			{
				request: "POST " + one + "/config", params: []string{"boot=order=scsi7", "background_delay=5"},
				line: "500 failed to update VM 100: invalid bootorder: device 'scsi7' does not exist'",
			},
		}},
		"Windows": {reason: "Windows keeps the machine that it was installed on.", params: []string{"ostype=win11", "machine=q35"}, steps: []step{
			{request: "GET " + one + "/config", has: `"machine":"pc-q35-10.0+pve1"`},
			{request: "PUT " + one + "/config", params: []string{"delete=machine"}},
			{request: "PUT " + one + "/config", params: []string{"ostype=win10"}},
			{request: "GET " + one + "/config", has: `"machine":"pc-i440fx-10.0+pve1"`},
		}},
		"StopHA": {reason: "HA stops its VMs in its own way.", steps: []step{
			{request: "POST /cluster/ha/resources", params: []string{"sid=vm:100"}},
			{request: "POST " + one + "/status/stop", params: []string{"overrule-shutdown=1"}, line: wrong, has: "Not applicable for HA resources."},
		}},
		"SuspendHA": {reason: "HA would start it at once.", start: true, steps: []step{
			{request: "POST /cluster/ha/resources", params: []string{"sid=vm:100"}},
			{request: "POST " + one + "/status/suspend", params: []string{"todisk=1"}, line: "500 Cannot suspend HA managed VM to disk"},
		}},
		"Agent": {reason: "The agent freezes, tells the time and reads parts of files.", start: true, params: []string{"agent=1"}, steps: []step{
			{request: "POST " + one + "/agent/fsfreeze-freeze", has: `{"data":{"result":1}}`},
			{request: "POST " + one + "/agent/fsfreeze-status", has: `{"data":{"result":"frozen"}}`},
			{request: "POST " + one + "/agent", params: []string{"command=fsfreeze-thaw"}, has: `{"data":{"result":1}}`},
			{request: "GET " + one + "/agent/get-time", has: `{"data":{"result":`},
			{request: "GET " + one + "/agent/get-vcpus", has: `"logical-id":0`},
			{
				request: "GET " + one + "/agent/file-read", params: []string{"file=/none"},
				line: "500 Agent error: failed to open file '/none' (mode: 'r'): No such file or directory",
			},
			{request: "POST " + one + "/agent/file-write", params: []string{"file=/f", "content=abcdef"}},
			{request: "GET " + one + "/agent/file-read", params: []string{"file=/f", "offset=1", "count=2"}, has: `{"bytes-read":2,"content":"bc","truncated":1}`},
			{request: "GET " + one + "/agent/file-read", params: []string{"file=/f", "decode=0"}, has: `"content":"YWJjZGVm"`},
			{request: "POST " + one + "/agent/set-user-password", params: []string{"username=u", "password=secret"}, has: `{"data":{"result":{}}}`},
		}},
		"Network": {reason: "Cloud-init configures the NICs that have a configuration.", params: []string{
			"net0=virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1=virtio,bridge=vmbr0", "ipconfig0=ip6=auto",
		}, steps: []step{
			{
				request: "GET " + one + "/cloudinit/dump", params: []string{"type=network"},
				has: `{"data":"version: 1\nconfig:\n    - type: physical\n      name: eth0\n      mac_address: 'bc:24:11:00:00:01'\n      ` +
					`subnets:\n      - type: ipv6_slaac\n    - type: nameserver\n      address:\n`,
			},
		}},
		"Root": {reason: "For root no user is made.", params: []string{"ciuser=root"}, steps: []step{
			{
				request: "GET " + one + "/cloudinit/dump", params: []string{"type=user"},
				has: `user: root\ndisable_root: False\nchpasswd:\n  expire: False\npackage_upgrade: true\n`,
			},
		}},
		"ConfigDrive": {reason: "Windows reads its network from a config drive.", params: []string{
			"ostype=win11", "net0=virtio,bridge=vmbr0", "ipconfig0=ip=10.0.0.5/24,gw=10.0.0.1", "nameserver=1.1.1.1",
		}, steps: []step{
			{
				request: "GET " + one + "/cloudinit/dump", params: []string{"type=network"},
				has: `iface lo inet loopback\n\n        dns_nameservers 1.1.1.1\n        dns_search example.org\nauto eth0\niface eth0 inet ` +
					`static\n        address 10.0.0.5\n        netmask 255.255.255.0\n        gateway 10.0.0.1\n"}`,
			},
			{request: "GET " + one + "/cloudinit/dump", params: []string{"type=meta"}, has: `\"network_config\": { \"content_path\": \"/content/0000\" }`},
		}},
		"PendingCloudInit": {reason: "What was added waits, what was deleted is marked.", start: true, params: []string{"ciuser=a", "citype=nocloud"}, steps: []step{
			{request: "PUT " + one + "/config", params: []string{"nameserver=1.1.1.1", "delete=ciuser"}},
			{
				request: "GET " + one + "/cloudinit",
				has:     `{"data":[{"key":"nameserver","pending":"1.1.1.1"},{"key":"citype","value":"nocloud"},{"delete":1,"key":"ciuser"}]}`,
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
			c := connect(t, s)
			c.task("POST /nodes/pve1/qemu", append([]string{"vmid=100", "scsi0=local:1,format=qcow2"}, tc.params...)...)
			s.Edit(func(st *state.State) {
				if tc.start {
					st.Guests[100].Power, st.Guests[100].Agent = state.Running, &state.Agent{}
				}
				if tc.lock != "" {
					st.Guests[100].Config["lock"] = tc.lock
				}
			})
			converse(t, c, tc.steps)
			if t.Failed() {
				t.Log(tc.reason)
			}
		})
	}
}

// TestTasksOfNeighbours runs tasks similar to the recorded ones.
func TestTasksOfNeighbours(t *testing.T) {
	const one = "/nodes/pve1/qemu/100"
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.task("POST /nodes/pve1/qemu", "vmid=100", "scsi0=local:1,format=qcow2", "ide2=none,media=cdrom", "description=old")
	for _, step := range []struct {
		reason, request string
		params          []string
		exit            string
	}{
		{"An empty drive has no volume.", "PUT " + one + "/resize", []string{"disk=ide2", "size=1G"}, "unable to parse volume ID 'none'"},
		{"A snapshot of the VM is taken.", "POST " + one + "/snapshot", []string{"snapname=s1"}, "OK"},
		{"A disk that the snapshot does not know.", "POST " + one + "/config", []string{"scsi1=local:1", "description=new"}, "OK"},
		{"The way back keeps the description and the disk.", "POST " + one + "/snapshot/s1/rollback", nil, "OK"},
		{"A snapshot is looked for before the lock.", "DELETE " + one + "/snapshot/none", nil, "snapshot 'none' does not exist"},
		{"The VM is started before it is suspended.", "POST " + one + "/status/start", nil, "OK"},
		{"The memory of a VM is saved on another storage.", "POST " + one + "/status/suspend", []string{"todisk=1", "statestorage=data2"}, "OK"},
		{"The VM goes on from the memory that was saved.", "POST " + one + "/status/resume", nil, "OK"},
	} {
		if got := c.task(step.request, step.params...); got != step.exit {
			t.Errorf("%s got %q, want %q", step.reason, got, step.exit)
		}
	}
	config := c.config(one)
	if config["description"] != "new" || config["unused0"] != "local:100/vm-100-disk-1.raw" || config["lock"] != nil || config["scsi1"] != nil {
		t.Errorf("the configuration in the end: %v", config)
	}
}

// TestFirewallNeighbours makes requests to firewalls similar to the recorded ones, and checks the answers of pve-firewall.
func TestFirewallNeighbours(t *testing.T) {
	const vm, cluster, host = "/nodes/pve1/qemu/100/firewall", "/cluster/firewall", "/nodes/pve1/firewall"
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.task("POST /nodes/pve1/qemu", "vmid=100")
	converse(t, c, []step{
		{request: "GET " + vm, has: `{"name":"rules"}`},
		{request: "POST " + vm + "/rules", params: []string{"type=in", "action=FOO"}, line: wrong, has: `"action":"unknown action 'FOO'"`},
		{
			request: "POST " + vm + "/rules", params: []string{"type=in", "action=DROP", "iface=eth0"}, line: wrong,
			has: `"iface":"value does not match the regex pattern 'net\\d+'"`,
		},
		{request: "POST " + vm + "/rules", params: []string{"type=in", "action=DROP", "source=+none"}, line: wrong, has: `"source":"no such ipset 'none'"`},
		{request: "POST " + vm + "/rules", params: []string{"type=in", "action=DROP", "dest=dc/none"}, line: wrong, has: `"dest":"no such alias 'dc/none'"`},
		{request: "POST " + vm + "/rules", params: []string{"type=in", "action=DROP", "proto=icmp", "icmp-type=echo-request"}},
		{
			request: "POST " + vm + "/rules", params: []string{"type=in", "action=DROP", "icmp-type=echo-request"}, line: wrong,
			has: "'icmp-type' requires this property",
		},
		{
			request: "POST " + vm + "/rules", params: []string{"type=in", "action=DROP", "sport=1", "proto=esp"}, line: wrong,
			has: "protocol 'esp' does not support ports",
		},
		{request: "POST " + vm + "/rules", params: []string{"type=out", "action=ACCEPT", "pos=1"}},
		{request: "GET " + vm + "/rules/0", has: `"type":"out"`},
		{request: "PUT " + vm + "/rules/0", params: []string{"delete=action"}, line: wrong, has: "unable to delete required property 'action'"},
		{request: "PUT " + vm + "/rules/0", params: []string{"delete=bogus"}, line: wrong, has: "no such property ('bogus')"},
		{request: "PUT " + vm + "/rules/0", params: []string{"enable=1", "digest=0000"}, line: "500 " + apierr.Modified().Error()},
		{request: "PUT " + vm + "/options", params: []string{"delete=bogus"}, line: wrong, has: "no such option 'bogus'"},
		{request: "POST " + host + "/rules", params: []string{"type=forward", "action=REJECT"}, line: wrong, has: "cannot define REJECT rules on forward chain"},
		{request: "POST " + vm + "/ipset", params: []string{"name=seta"}},
		{request: "POST " + vm + "/ipset", params: []string{"name=setb", "rename=none"}, line: wrong, has: "IPSet 'none' does not exist"},
		{request: "POST " + vm + "/ipset", params: []string{"name=setb", "rename=seta", "comment=c"}},
		{request: "GET " + vm + "/ipset", has: `"comment":"c"`},
		{request: "POST " + vm + "/ipset/setb", params: []string{"cidr=10.0.0.1/32", "nomatch=1"}},
		{request: "POST " + vm + "/ipset/setb", params: []string{"cidr=10.0.0.1"}, line: wrong, has: "address '10.0.0.1' already exists"},
		{request: "GET " + vm + "/ipset/setb/10.0.0.1", has: `"cidr":"10.0.0.1"`},
		{request: "PUT " + vm + "/ipset/setb/10.0.0.1", params: []string{"comment=x"}},
		{request: "GET " + vm + "/ipset/setb/10.0.0.1", has: `"comment":"x"`},
		{request: "GET " + vm + "/ipset/setb/10.0.0.9", line: wrong, has: "no such IP/Network"},
		{request: "POST " + cluster + "/aliases", params: []string{"name=Al", "cidr=10.0.0.1"}},
		{request: "POST " + cluster + "/aliases", params: []string{"name=al", "cidr=10.0.0.1"}, line: wrong, has: "alias 'al' already exists"},
		{request: "GET " + cluster + "/aliases/AL", has: `"name":"Al"`},
		{request: "GET " + cluster + "/aliases/none", line: wrong, has: `"name":"no such alias"`},
		{request: "DELETE " + cluster + "/aliases/none"},
		{
			request: "GET " + vm + "/refs",
			has:     `{"name":"Al","ref":"dc/Al","scope":"dc","type":"alias"},{"comment":"c","name":"setb","ref":"+guest/setb","scope":"guest","type":"ipset"}`,
		},
		{request: "POST " + cluster + "/groups", params: []string{"group=g1"}},
		{request: "POST " + cluster + "/groups", params: []string{"group=g2"}},
		{request: "POST " + cluster + "/groups", params: []string{"group=g1", "rename=g2"}, line: wrong, has: "Security group 'g1' does already exist"},
		{request: "POST " + cluster + "/groups/g1", params: []string{"type=group", "action=g2"}, line: wrong, has: "invalid rule type 'group' for rule_env 'group'"},
	})
}

// TestNetworkNeighbours changes a node's network in ways similar to the recorded ones, and checks the answers of pve-manager.
func TestNetworkNeighbours(t *testing.T) {
	const list = "/nodes/pve1/network"
	sc := lab()
	for _, card := range []string{"eno7", "eno8"} {
		sc.Nodes[0].Interfaces = append(sc.Nodes[0].Interfaces, simulator.ScenarioInterface{Name: card, Type: "eth"})
	}
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: sc}))
	converse(t, c, []step{
		{
			request: "POST " + list, params: []string{"iface=vmbr6", "type=bridge", "bridge_ports=eno9"},
			line: "500 bridge 'vmbr6' - unable to find bridge port 'eno9'",
		},
		{
			request: "POST " + list, params: []string{"iface=vmbr6", "type=bridge", "bridge_ports=eno8", "mtu=9000"},
			line: "500 interface 'eno8' - mtu 1500 is lower than 'vmbr6' - mtu 9000",
		},
		{
			request: "POST " + list, params: []string{"iface=bond0", "type=bond", "slaves=vmbr0"},
			line: "500 bond 'bond0' - wrong interface type on slave 'vmbr0' ('bridge' != 'eth or bond')",
		},
		{request: "POST " + list, params: []string{"iface=vlan5", "type=vlan", "vlan-raw-device=eno9"}, line: "500 vlan 'vlan5' - unable to find parent 'eno9'"},
		{request: "POST " + list, params: []string{"iface=port0", "type=OVSIntPort"}, line: wrong, has: `"ovs_bridge":"parameter is required"`},
		{
			request: "POST " + list, params: []string{"iface=port0", "type=OVSIntPort", "ovs_bridge=vmbr0"}, line: wrong,
			has: `"ovs_bridge":"interface 'vmbr0' is no OVS bridge"`,
		},
		{request: "POST " + list, params: []string{"iface=vmbr5", "type=OVSBridge", "ovs_ports=eno8"}},
		{request: "GET " + list + "/eno8", has: `"ovs_bridge":"vmbr5"`},
		{request: "POST " + list, params: []string{"iface=port0", "type=OVSIntPort", "ovs_bridge=vmbr5", "ovs_tag=7"}},
		{request: "GET " + list + "/vmbr5", has: `"ovs_ports":"eno8 port0"`},
		{request: "GET " + list, has: `+\tovs_ports eno8 port0\n`},
		{request: "DELETE " + list + "/port0"},
		{request: "GET " + list + "/vmbr5", has: `"ovs_ports":"eno8"`},
		{request: "DELETE " + list + "/vmbr5"},
		{request: "GET " + list + "/eno8", has: `"type":"eth"`},
		{
			request: "POST " + list,
			params: []string{
				"iface=vmbr7", "type=bridge", "cidr=10.7.0.1/24", "cidr6=fd00::1/64", "gateway6=fd00::f", "bridge_ports=eno7", "autostart=1",
				"comments=c",
			},
		},
		{request: "GET " + list + "/vmbr7", has: `"address6":"fd00::1"`},
		{request: "GET " + list + "/vmbr7", has: `"families":["inet","inet6"]`},
		{
			request: "POST " + list, params: []string{"iface=vmbr8", "type=bridge", "bridge_ports=eno7"}, line: wrong,
			has: `"bridge_ports":"eno7 is already used on interface 'vmbr7'."`,
		},
		{
			request: "POST " + list, params: []string{"iface=vmbr8", "type=bridge", "cidr6=2001:DB8::1/64"}, line: wrong,
			has: `"address":"2001:DB8::1 with type 'DOCUMENTATION', cannot be used as host IPv6 address."`,
		},
		{
			request: "POST " + list, params: []string{"iface=vmbr8", "type=bridge", "cidr6=fd01::1/64", "gateway6=fd01::f"}, line: wrong,
			has: `"gateway6":"Default ipv6 gateway already exists on interface 'vmbr7'."`,
		},
		{
			request: "POST " + list,
			params:  []string{"iface=vmbr8", "type=bridge", "cidr=10.8.0.1/24", "address=10.8.0.1", "netmask=255.255.255.0"}, line: wrong,
			has: `"address":"address conflicts with cidr"`,
		},
		{request: "PUT " + list + "/vmbr7", params: []string{"type=bridge"}},
		{request: "GET " + list + "/vmbr7", has: `"method":"manual"`},
		{request: "GET " + list + "/vmbr7", has: `"autostart":1,"bridge_fd":"0","bridge_ports":"eno7"`},
		{request: "PUT " + list + "/vmbr7", params: []string{"type=bridge", "delete=comments,autostart"}},
		{request: "GET " + list + "/vmbr7", has: `{"data":{"bridge_fd":"0","bridge_ports":"eno7","bridge_stp":"off","families":["inet"],"method":"manual"`},
		{request: "POST " + list, params: []string{"iface=vmbr8", "type=bridge", "address=10.8.0.1", "netmask=255.255.255.0"}},
		{request: "GET " + list + "/vmbr8", has: `"cidr":"10.8.0.1/24"`},
	})
}

// TestRestore backs up a VM and creates VMs from the backup.
func TestRestore(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.ok("PUT /storage/local", "content=images,iso,import,backup")
	c.task("POST /nodes/pve1/qemu", "vmid=100", "name=a", "cores=2", "scsi0=local:0,import-from=local:import/tiny.qcow2", "scsi1=local:1,backup=0",
		"ide2=local:cloudinit", "net0=virtio,bridge=vmbr0")
	if exit := c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=local"); exit != "OK" {
		t.Fatalf("backup: %s", exit)
	}
	archive := ""
	s.Edit(func(st *state.State) {
		for key, v := range st.Volumes {
			if v.Content == "backup" {
				archive = key.Storage + ":" + key.Name
			}
		}
	})
	before := c.config("/nodes/pve1/qemu/100")
	c.ok("PUT /nodes/pve1/qemu/100/config", "cores=8")
	for _, step := range []struct {
		reason string
		params []string
		line   string
		exit   string
	}{
		{"A drive of one's own.", []string{"vmid=200", "archive=" + archive, "scsi0=local:1"}, wrong, ""},
		{
			"A backup that is restored must exist.",
			[]string{"vmid=200", "archive=local:backup/vzdump-qemu-1-2020_01_01-00_00_00.vma.zst"},
			"500 volume 'local:backup/vzdump-qemu-1-2020_01_01-00_00_00.vma.zst' does not exist", "",
		},
		{"A VMID that is taken.", []string{"vmid=100", "archive=" + archive}, "500 unable to restore VM 100 - VM 100 already exists on node 'pve1'", ""},
		{"Another VM is made on another storage.", []string{"vmid=200", "archive=" + archive, "storage=data2", "unique=1", "name=b", "pool=testpool"}, "", "OK"},
		{"The VM as it was.", []string{"vmid=100", "archive=" + archive, "force=1"}, "", "OK"},
	} {
		if step.line != "" {
			if got := c.do("POST /nodes/pve1/qemu", step.params...); got.Line != step.line {
				t.Errorf("%s got %q, want %q", step.reason, got.Line, step.line)
			}
			continue
		}
		if got := c.task("POST /nodes/pve1/qemu", step.params...); got != step.exit {
			t.Errorf("%s got %q, want %q", step.reason, got, step.exit)
		}
	}
	again, other := c.config("/nodes/pve1/qemu/100"), c.config("/nodes/pve1/qemu/200")
	if again["smbios1"] != before["smbios1"] || again["net0"] != before["net0"] || again["scsi1"] != nil || again["cores"] != before["cores"] ||
		again["lock"] != nil || again["unused0"] != "local:100/vm-100-disk-1.raw" || again["description"] != "scsi1: local:100/vm-100-disk-1.raw,backup=0,size=1G" {
		t.Errorf("put back: %v, was %v", again, before)
	}
	if other["smbios1"] == before["smbios1"] || other["net0"] == before["net0"] || other["name"] != "b" ||
		other["scsi0"] != "data2:200/vm-200-disk-0.qcow2,size=64M" || other["ide2"] == nil {
		t.Errorf("another one: %v", other)
	}
	s.Edit(func(st *state.State) {
		if v := st.Volume("pve1", "data2:200/vm-200-disk-0.qcow2"); v == nil || !v.System {
			t.Errorf("the other one does not boot: %v", v)
		}
	})
}

// TestRestoreFails checks that a failed restore leaves what it has created, as in Proxmox VE.
func TestRestoreFails(t *testing.T) {
	const uuid = "11111111-2222-4333-8444-555555555555"
	for _, storage := range []string{"local", "pbs"} {
		s, c := backedUp(t)
		if exit := c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage="+storage); exit != "OK" {
			t.Fatalf("backup: %s", exit)
		}
		archive := "archive=" + backups(s)[0]
		restore := []string{"vmid=300", archive, "unique=1", "name=b", "smbios1=uuid=" + uuid}
		if exit := c.task("POST /nodes/pve1/qemu", append(restore, "storage=pbs")...); exit != "Content type 'images' is not available on storage 'pbs'" {
			t.Errorf("%s: a storage without disks: %s", storage, exit)
		}
		if left := c.config("/nodes/pve1/qemu/300"); len(left) != 1 || left["digest"] == nil {
			t.Errorf("%s: nothing but the VMID is taken before the head of the backup is read, got %v", storage, left)
		}
		c.task("DELETE /nodes/pve1/qemu/300")
		s.Inject(simulator.Fault{Task: "qmrestore", Count: 1, TaskExit: "command 'vma extract' failed"})
		if exit := c.task("POST /nodes/pve1/qemu", restore...); !strings.Contains(exit, "vma extract") {
			t.Errorf("%s: a backup that cannot be read: %s", storage, exit)
		}
		if left := c.config("/nodes/pve1/qemu/300"); len(left) != 2 || left["memory"] != "128" {
			t.Errorf("%s: what is left has the memory of no VM, and no lock, got %v", storage, left)
		}
		if got := c.do("POST /nodes/pve1/qemu", restore...); got.Line != "500 unable to restore VM 300 - VM 300 already exists on node 'pve1'" {
			t.Errorf("%s: what is left is in the way, got %q", storage, got.Line)
		}
		if exit := c.task("DELETE /nodes/pve1/qemu/300"); exit != "OK" {
			t.Errorf("%s: what is left can be removed: %s", storage, exit)
		}
		if exit := c.task("POST /nodes/pve1/qemu", restore...); exit != "OK" {
			t.Errorf("%s: and then the restore created again: %s", storage, exit)
		}
		if made := c.config("/nodes/pve1/qemu/300"); made["smbios1"] != "uuid="+uuid || made["name"] != "b" {
			t.Errorf("%s: parameters come before what is new in a copy, got %v", storage, made)
		}
	}
}

// TestDefinitionNeighbours changes storages and backup jobs, and lists tasks, in ways similar to the recorded ones.
func TestDefinitionNeighbours(t *testing.T) {
	const jobs = "/cluster/backup"
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.task("POST /nodes/pve1/qemu", "vmid=100", "scsi0=local:1")
	c.task("POST /nodes/pve1/qemu/100/snapshot", "snapname=s1")
	s.Edit(func(st *state.State) { st.Tasks[0].Exit = "WARNINGS: 1" })
	converse(t, c, []step{
		{request: "POST /storage", params: []string{"storage=n1", "type=nfs", "server=10.0.0.9", "export=/srv", "options=vers=4.2", "prune-backups=keep-last=3"}},
		{request: "GET /storage/n1", has: `"export":"/srv","options":"vers=4.2","path":"/mnt/pve/n1","prune-backups":"keep-last=3","server":"10.0.0.9","shared":1`},
		{request: "PUT /storage/n1", params: []string{"content=iso", "digest=0000"}, line: "500 update storage failed: " + apierr.Modified().Error()},
		{request: "PUT /storage/n1", params: []string{"delete=bogus"}, line: "500 update storage failed: no such option 'bogus'"},
		{request: "PUT /storage/n1", params: []string{"delete=options,content"}},
		{request: "GET /storage/n1", has: `{"data":{"content":"images",`},
		{request: "POST /storage", params: []string{"storage=n1", "type=nfs"}, line: "500 missing value for required option 'server'"},
		{request: "POST " + jobs, params: []string{"id=j1", "all=1"}, line: wrong, has: "neither 'starttime' nor 'schedule' were set"},
		{request: "POST " + jobs, params: []string{"id=j1", "schedule=daily"}, line: wrong, has: `"vmid":"property is missing"`},
		{request: "POST " + jobs, params: []string{"id=j1", "schedule=daily", "all=1", "vmid=100"}, line: wrong, has: `"all":"option conflicts with option 'vmid'"`},
		{request: "POST " + jobs, params: []string{"id=j1", "schedule=daily", "all=1", "dumpdir=/x"}, line: wrong, has: `"dumpdir":"Only root may set this option."`},
		{request: "POST " + jobs, params: []string{"id=j1", "schedule=daily", "all=1"}},
		{request: "POST " + jobs, params: []string{"id=j1", "schedule=daily", "all=1"}, line: "500 Job 'j1' already exists"},
		{request: "PUT " + jobs + "/j1", line: "500 no options specified"},
		{request: "PUT " + jobs + "/j1", params: []string{"vmid=100"}},
		{request: "GET " + jobs + "/j1", has: `{"data":{"enabled":1,"id":"j1","schedule":"daily","type":"vzdump","vmid":"100"}}`},
		{request: "PUT " + jobs + "/none", params: []string{"vmid=100"}, line: "500 no such vzdump job"},
		{request: "PUT " + jobs + "/j1", params: []string{"delete=enabled"}, line: wrong, has: `"delete":"unknown option 'enabled'"`},
		{request: "PUT " + jobs + "/j1", params: []string{"delete=schedule"}, line: wrong, has: `"delete":"unknown option 'schedule'"`},
		{request: "PUT " + jobs + "/j1", params: []string{"delete=comment,repeat-missed"}},
		{request: "PUT " + jobs + "/j1", params: []string{"notes-template={{vmid}}"}, line: wrong, has: "required by 'notes-template'"},
		{request: "PUT " + jobs + "/j1", params: []string{"fleecing=1"}, line: wrong, has: "'storage' parameter is required when 'enabled' is set"},
		{request: "PUT " + jobs + "/j1", params: []string{"storage=local", "notes-template={{who}}"}, line: wrong, has: "variable 'who'"},
		{request: "PUT " + jobs + "/j1", params: []string{"prune-backups=keep-last=3,keep-daily=7", "fleecing=1,storage=local", "enabled=0"}},
		{request: "GET " + jobs, has: `"fleecing":{"enabled":1,"storage":"local"},"id":"j1","next-run":`},
		{request: "GET " + jobs + "/j1", has: `"prune-backups":{"keep-daily":"7","keep-last":"3"}`},
		{request: "PUT " + jobs + "/j1", params: []string{"exclude=100"}},
		{request: "GET " + jobs + "/j1", has: `{"data":{"all":1,"enabled":0,"exclude":"100",`},
		{request: "PUT " + jobs + "/j1", params: []string{"delete=all,exclude"}, line: wrong, has: `"vmid":"property is missing"`},
		{request: "GET /nodes/pve1/tasks", params: []string{"errors=1"}, has: `"type":"qmcreate"`},
		{request: "GET /nodes/pve1/tasks", params: []string{"statusfilter=error,unknown"}, has: `"type":"qmsnapshot"`},
	})
}
