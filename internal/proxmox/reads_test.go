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

package proxmox

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// read returns a call's result as an untyped value, for tables.
func read[T any](v T, err error) (any, error) { return v, err }

// TestReads decodes bodies that PVE 8.4 and 9.2 have sent.
func TestReads(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   string
		call   func(context.Context, *Client) (any, error)
		path   string
		query  string
		want   any
	}{
		"Version": {
			reason: "Who are you?",
			data:   `{"release":"9.2","repoid":"14a22df35955d97d","version":"9.2.11"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.Version(ctx)) },
			path:   "/version",
			want:   Version{Version: "9.2.11", Release: "9.2", RepoID: "14a22df35955d97d"},
		},
		"CheckMigration": {
			reason: "What stands in the way is told by node.",
			data: `{"running":1,"allowed_nodes":["pve2"],"not_allowed_nodes":{
				"pve3":{"unavailable_storages":["fast"],"unavailable-resources":["gpu"]},
				"pve4":{"blocking-ha-resources":[{"sid":"vm:200","cause":"resource-affinity"}]}},
				"local_disks":[{"volid":"local-lvm:vm-100-disk-0","size":1,"cdrom":0,"referenced_in_snapshot":{"two":1,"one":1}},
					{"volid":"local:iso/a.iso","cdrom":1},{"volid":"local-lvm:vm-100-state-one","is_vmstate":1,"referenced_in_snapshot":{"one":1}}],
				"local_resources":["hostpci0"],"mapped-resources":[]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.CheckMigration(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/migrate",
			want: MigrationCheck{
				Running: true, Allowed: []string{"pve2"}, LocalResources: []string{"hostpci0"},
				Missing:  map[string][]string{"pve3": {"fast", "gpu"}, "pve4": nil},
				Blocking: map[string][]string{"pve4": {"vm:200"}},
				LocalDisks: []LocalDisk{
					{Volume: "local-lvm:vm-100-disk-0", Snapshots: []string{"one", "two"}},
					{Volume: "local:iso/a.iso", CDROM: true},
					{Volume: "local-lvm:vm-100-state-one"},
				},
			},
		},
		"PoolVMs": {
			reason: "A pool is asked for by parameter, and storages among its members are no VMs.",
			data:   `[{"comment":"hello","members":[{"id":"storage/pve1/local","type":"storage"},{"id":"qemu/100","vmid":100,"type":"qemu"}],"poolid":"a/b"}]`,
			call: func(ctx context.Context, c *Client) (any, error) {
				vmids, _, err := c.PoolVMs(ctx, "a/b")
				return vmids, err
			},
			path:  "/pools",
			query: "poolid=a%2Fb",
			want:  []int{100},
		},
		"HAResource": {
			reason: "What HA was told has PVE's names.",
			data:   `{"digest":"abc","max_restart":3,"sid":"vm:100","state":"stopped","type":"vm"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.HAResource(ctx, 100)) },
			path:   "/cluster/ha/resources/vm:100",
			want:   HASettings{"state": "stopped", "max_restart": "3"},
		},
		"HAResources": {
			reason: "VMs are told apart by their VMIDs.",
			data: `[{"digest":"abc","max_restart":3,"sid":"vm:100","state":"stopped","type":"vm"},{"digest":"abc","sid":"vm:101","type":"vm",
				"group":"gone","errors":{"group":"group 'gone' does not exist"}}]`,
			call:  func(ctx context.Context, c *Client) (any, error) { return read(c.HAResources(ctx)) },
			path:  "/cluster/ha/resources",
			query: "type=vm",
			want:  map[int]HASettings{100: {"state": "stopped", "max_restart": "3"}, 101: {"group": "gone"}},
		},
		"HARules": {
			reason: "Rules have what belongs to their type.",
			data: `[{"digest":"abc","nodes":"pve2,pve1:2","order":1,"resources":"vm:100","rule":"r1","strict":1,"type":"node-affinity"},
				{"affinity":"negative","comment":"x","digest":"abc","errors":{"resources":["rule is ineffective as there are less than two ` +
				`resources"]},"order":2,"resources":"vm:101,ct:100","rule":"r2","type":"resource-affinity"}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.HARules(ctx)) },
			path: "/cluster/ha/rules",
			want: HARules{Rules: []HARule{
				{Name: "r1", Type: HANodeAffinity, Resources: []string{"vm:100"}, Nodes: []string{"pve1:2", "pve2"}, Strict: true, Digest: "abc"},
				{Name: "r2", Type: HAResourceAffinity, Resources: []string{"ct:100", "vm:101"}, Nodes: []string{}, Affinity: HANegative, Comment: "x", Digest: "abc"},
			}},
		},
		"Replications": {
			reason: "Some jobs are about to be removed.",
			data: `[{"guest":100,"id":"100-0","jobnum":0,"source":"pve1","target":"pve2","type":"local","schedule":"*/15"},
				{"guest":101,"id":"101-12","jobnum":12,"remove_job":"full","source":"pve2","target":"pve1","type":"local"}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Replications(ctx)) },
			path: "/cluster/replication",
			want: []Replication{{ID: "100-0", VMID: 100, Target: "pve2"}, {ID: "101-12", VMID: 101, Target: "pve1", Removal: RemovalFull}},
		},
		"ReplicationFailures": {
			reason: "Jobs that went well have no error.",
			data: `[{"duration":3.1,"fail_count":2,"error":"command 'ssh' failed: exit code 255","guest":100,"id":"100-0","last_sync":1795274110,` +
				`"last_try":1795274990,"target":"pve2"},
				{"fail_count":0,"guest":100,"id":"100-1","last_sync":1795274110,"last_try":1795274110,"target":"pve3"}]`,
			call:  func(ctx context.Context, c *Client) (any, error) { return read(c.ReplicationFailures(ctx, vm100)) },
			path:  "/nodes/pve1/replication",
			query: "guest=100",
			want:  map[string]string{"100-0": "command 'ssh' failed: exit code 255"},
		},
		"Nodes": {
			reason: "A node that is offline has no numbers.",
			data: `[{"cgroup-mode":2,"cpu":0.0276,"disk":12,"id":"node/pve1","level":"","maxcpu":2,"maxdisk":34,"maxmem":8320000000,` +
				`"mem":1000000000,"node":"pve1","status":"online","type":"node","uptime":28},
				{"id":"node/pve2","node":"pve2","status":"offline","type":"node"}]`,
			call:  func(ctx context.Context, c *Client) (any, error) { return read(c.Nodes(ctx)) },
			path:  "/cluster/resources",
			query: "type=node",
			want: []Node{
				{Name: "pve1", Status: "online", CPU: 0.0276, MaxCPU: 2, Memory: 1000000000, MaxMemory: 8320000000, Disk: 12, MaxDisk: 34, Uptime: 28 * time.Second},
				{Name: "pve2", Status: "offline"},
			},
		},
		"Guests": {
			reason: "A VM that was just created has hardly more than its VMID.",
			data: `[{"netin":70,"node":"pve1","uptime":14,"disk":0,"maxdisk":19922944,"mem":5,"status":"running","id":"qemu/500","diskread":0,` +
				`"memhost":0,"maxcpu":1,"diskwrite":0,"type":"qemu","cpu":0.344438196011878,"netout":1733,"name":"snap","maxmem":67108864,` +
				`"vmid":500,"template":0,"hastate":"started"},
				{"status":"unknown","id":"qemu/210","tags":"web;prod","vmid":210,"node":"pve1","pool":"testpool","type":"qemu"},
				{"type":"lxc","id":"lxc/960","node":"pve1","vmid":"960","lock":"migrate","template":1,"status":"stopped"}]`,
			call:  func(ctx context.Context, c *Client) (any, error) { return read(c.Guests(ctx)) },
			path:  "/cluster/resources",
			query: "type=vm",
			want: []Guest{
				{
					VMID: 500, Node: "pve1", Name: "snap", Type: "qemu", Status: "running", Uptime: 14 * time.Second, CPU: 0.344438196011878, MaxCPU: 1,
					Memory: 5, MaxMemory: 67108864, MaxDisk: 19922944, HAState: "started",
				},
				{VMID: 210, Node: "pve1", Type: "qemu", Status: "unknown", Tags: []string{"web", "prod"}, Pool: "testpool"},
				{VMID: 960, Node: "pve1", Type: "lxc", Status: "stopped", Lock: "migrate", Template: true},
			},
		},
		"Storages": {
			reason: "Content is a list.",
			data: `[{"content":"images,iso,import","disk":5,"id":"storage/pve1/local","maxdisk":10,"node":"pve1","plugintype":"dir","shared":0,` +
				`"status":"available","storage":"local","type":"storage"}]`,
			call:  func(ctx context.Context, c *Client) (any, error) { return read(c.Storages(ctx)) },
			path:  "/cluster/resources",
			query: "type=storage",
			want:  []Storage{{Name: "local", Node: "pve1", Status: "available", Type: "dir", Content: []string{"images", "iso", "import"}, Disk: 5, MaxDisk: 10}},
		},
		"Bridges": {
			reason: "Bridges of the node and of SDN.",
			data: `[{"families":["inet"],"cidr":"10.99.0.1/24","iface":"vmbr0","bridge_ports":"eno1 eno2","bridge_fd":"0","active":1,"type":"bridge"},
				{"iface":"vmbr1","bridge_vlan_aware":1,"bridge_ports":"","type":"bridge"}]`,
			call:  func(ctx context.Context, c *Client) (any, error) { return read(c.Bridges(ctx, "pve1")) },
			path:  "/nodes/pve1/network",
			query: "type=any_bridge",
			want: []Bridge{
				{Name: "vmbr0", Type: "bridge", Active: true, Ports: []string{"eno1", "eno2"}, CIDR: "10.99.0.1/24"},
				{Name: "vmbr1", Type: "bridge", VLANAware: true},
			},
		},
		"ClusterStatus": {
			reason: "A cluster of two that lost its quorum.",
			data: `[{"type":"cluster","id":"cluster","name":"lab","nodes":2,"quorate":0,"version":2},
				{"type":"node","id":"node/pve1","name":"pve1","nodeid":1,"online":1,"local":1,"ip":"10.99.0.1","level":""},
				{"type":"node","id":"node/pve2","name":"pve2","nodeid":2,"online":0,"local":0,"ip":"10.99.0.2","level":""}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.ClusterStatus(ctx)) },
			path: "/cluster/status",
			want: ClusterStatus{Name: "lab", Nodes: []ClusterNode{
				{Name: "pve1", Online: true, Local: true, Address: "10.99.0.1"}, {Name: "pve2", Address: "10.99.0.2"},
			}},
		},
		"SingleNode": {
			reason: "A node alone needs no quorum.",
			data:   `[{"type":"node","id":"node/pve1","name":"pve1","nodeid":0,"online":1,"local":1,"ip":"10.99.0.1","level":""}]`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.ClusterStatus(ctx)) },
			path:   "/cluster/status",
			want:   ClusterStatus{Quorate: true, Nodes: []ClusterNode{{Name: "pve1", Online: true, Local: true, Address: "10.99.0.1"}}},
		},
		"Permissions": {
			reason: "Privileges, and whether they go on downwards.",
			data:   `{"/vms/100":{"VM.Audit":1,"VM.PowerMgmt":0}}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.Permissions(ctx, "/vms/100")) },
			path:   "/access/permissions",
			query:  "path=%2Fvms%2F100",
			want:   map[string]Privileges{"/vms/100": {"VM.Audit": true, "VM.PowerMgmt": false}},
		},
		"Config": {
			reason: "Numbers and booleans become strings, a blank becomes nothing.",
			data: `{"boot":" ","cores":2,"cpulimit":"0.5","cpuunits":1e3,"digest":"e1e1","memory":"64","onboot":true,"numa":false,"tags":" ",` +
				`"description":"line1\nline2 ü","lock":"clone","template":0}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Config(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/config",
			want: VMConfig{Digest: "e1e1", Values: map[string]string{
				"boot": "", "cores": "2", "cpulimit": "0.5", "cpuunits": "1000", "memory": "64", "onboot": "1", "numa": "0", "tags": "",
				"description": "line1\nline2 ü", "lock": "clone", "template": "0",
			}},
		},
		"ConfigCreating": {
			reason: "While it is created, a VM has its lock only.",
			data:   `{"lock":"create","digest":"da39"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.Config(ctx, vm100)) },
			path:   "/nodes/pve1/qemu/100/config",
			want:   VMConfig{Digest: "da39", Values: map[string]string{"lock": "create"}},
		},
		"CorosyncLinks": {
			reason: "A node has several links, in their order.",
			data:   `[{"node":"pve1","name":"pve1","nodeid":"1","quorum_votes":"1","ring0_addr":"192.0.2.11","ring1_addr":"10.9.0.11"},{"node":"pve2"}]`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.CorosyncLinks(ctx)) },
			path:   "/cluster/config/nodes",
			want:   map[string][]string{"pve1": {"192.0.2.11", "10.9.0.11"}, "pve2": nil},
		},
		"ContainerConfig": {
			reason: "The configuration of a container may have a list, which is left out.",
			data:   `{"digest":"e1e1","hostname":"db","net0":"name=eth0,bridge=vmbr0","lxc":[["lxc.cap.drop","sys_time"]]}`,
			call: func(ctx context.Context, c *Client) (any, error) {
				return read(c.SnapshotConfig(ctx, container101, "before"))
			},
			path:  "/nodes/pve1/lxc/101/config",
			query: "snapshot=before",
			want:  VMConfig{Digest: "e1e1", Values: map[string]string{"hostname": "db", "net0": "name=eth0,bridge=vmbr0", "lxc": ""}},
		},
		"ContainerPending": {
			reason: "A mount point that waits for a restart is shown as that of a VM.",
			data:   `[{"key":"mp0","value":"files:101/vm-101-disk-1.raw,mp=/srv","delete":1},{"key":"digest","value":"e1e1"}]`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.Pending(ctx, container101)) },
			path:   "/nodes/pve1/lxc/101/pending",
			want: []PendingValue{
				{Key: "mp0", Value: new("files:101/vm-101-disk-1.raw,mp=/srv"), Delete: 1}, {Key: "digest", Value: new("e1e1")},
			},
		},
		"NodeInterfaces": {
			reason: "Comments come back with a line end, and what has no value is left out.",
			data:   `[{"iface":"vmbr9","type":"bridge","bridge_ports":"","autostart":1,"comments":"rec\n","families":["inet"],"exists":null}]`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.NodeInterfaces(ctx, "pve1")) },
			path:   "/nodes/pve1/network",
			want: NodeInterfaces{Objects: []Object{{Name: "pve1/vmbr9", Settings: Settings{
				Values: map[string]string{"type": "bridge", "autostart": "1", "comments": "rec", "families": "inet"},
			}}}},
		},
		"Pending": {
			reason: "Changed, to be deleted, new, and as it is.",
			data: `[{"key":"net1","value":"virtio=BC:24:11:00:04:01,bridge=vmbr0","delete":1},{"value":"64","pending":"96","key":"memory"},
				{"key":"cores","pending":2},{"key":"digest","value":"e1e1"},{"key":"tags","value":" "}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Pending(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/pending",
			want: []PendingValue{
				{Key: "net1", Value: ptr("virtio=BC:24:11:00:04:01,bridge=vmbr0"), Delete: 1},
				{Key: "memory", Value: ptr("64"), Pending: ptr("96")},
				{Key: "cores", Pending: ptr("2")},
				{Key: "digest", Value: ptr("e1e1")},
				{Key: "tags", Value: ptr("")},
			},
		},
		"StatusRunning": {
			reason: "A running VM has a process.",
			data: `{"cpus":1,"tags":" ","qmpstatus":"paused","maxmem":134217728,"mem":7,"uptime":28,"status":"running","clipboard":null,` +
				`"name":"full","ha":{"managed":1,"state":"started"},"agent":1,"vmid":100,"pid":430,"running-machine":"pc-i440fx-10.0","running-qemu":"10.0.13"}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Status(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/status/current",
			want: Status{
				Status: "running", QMPStatus: "paused", Uptime: 28 * time.Second, Agent: true, PID: 430, HAManaged: true, HAState: "started", Name: "full",
				CPUs: 1, Memory: 7, MaxMemory: 134217728,
			},
		},
		"StatusStopped": {
			reason: "A stopped one may be locked.",
			data:   `{"ha":{"managed":1,"state":null},"lock":"backup","status":"stopped","qmpstatus":"stopped","template":"1"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.Status(ctx, vm100)) },
			path:   "/nodes/pve1/qemu/100/status/current",
			want:   Status{Status: "stopped", QMPStatus: "stopped", Lock: "backup", HAManaged: true, Template: true},
		},
		"Interfaces": {
			reason: "IPv4 and IPv6, loopback too; a tunnel has no MAC.",
			data: `{"result":[{"hardware-address":"00:00:00:00:00:00","ip-addresses":[{"prefix":8,"ip-address-type":"ipv4",` +
				`"ip-address":"127.0.0.1"},{"ip-address":"::1","ip-address-type":"ipv6","prefix":128}],"statistics":{"tx-packets":0,"rx-errs":0,` +
				`"tx-errs":0,"rx-packets":0,"rx-bytes":0,"rx-dropped":0,"tx-dropped":0,"tx-bytes":0},"name":"lo"},
				{"ip-addresses":[{"ip-address-type":"ipv4","prefix":24,"ip-address":"10.99.0.104"},{"ip-address-type":"ipv6","prefix":64,` +
				`"ip-address":"fe80::be24:11ff:fe00:600"}],"hardware-address":"BC:24:11:00:06:00","name":"eth0"},
				{"name":"tun0"}]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Interfaces(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/agent/network-get-interfaces",
			want: []Interface{
				{Name: "lo", MAC: "00:00:00:00:00:00", Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}},
				{Name: "eth0", MAC: "bc:24:11:00:06:00", Addresses: []netip.Addr{netip.MustParseAddr("10.99.0.104"), netip.MustParseAddr("fe80::be24:11ff:fe00:600")}},
				{Name: "tun0"},
			},
		},
		"InterfacesWindows": {
			reason: "Prefixes may be -1, and loopback may have no MAC.",
			data: `{"result":[{"hardware-address":"76:05:ee:00:00:01","ip-addresses":[{"ip-address":"fe80::15df:19eb%3","ip-address-type":"ipv6",` +
				`"prefix":-1},{"ip-address":"2001:db8::5","ip-address-type":"ipv6","prefix":-1},{"ip-address":"192.0.2.45","ip-address-type":"ipv4",` +
				`"prefix":24}],"name":"Ethernet"},
				{"ip-addresses":[{"ip-address":"127.0.0.1","ip-address-type":"ipv4","prefix":-1}],"name":"Loopback Pseudo-Interface 1"}]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Interfaces(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/agent/network-get-interfaces",
			want: []Interface{
				{
					Name: "Ethernet", MAC: "76:05:ee:00:00:01",
					Addresses: []netip.Addr{netip.MustParseAddr("fe80::15df:19eb%3"), netip.MustParseAddr("2001:db8::5"), netip.MustParseAddr("192.0.2.45")},
				},
				{Name: "Loopback Pseudo-Interface 1", Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}},
			},
		},
		"InterfacesOdd": {
			reason: "What one interface lacks or has in its own form does not hide the others.",
			data: `{"result":[{"name":"sit0","hardware-address":"00:00:00:00","ip-addresses":[{"prefix":8},{"ip-address":"x"},` +
				`{"ip-address":null}],"statistics":{"rx-bytes":"1"}},
				{"name":5,"hardware-address":null,"ip-addresses":null,"more":[]},{},
				{"name":"ib0","hardware-address":"80-00-02-08-FE-80-00-00-00-00-00-00-00-11-22-33-44-55-66-77"},
				{"name":"eth0","hardware-address":"BC:24:11:00:06:00","ip-addresses":[{"ip-address":"::ffff:192.0.2.4","prefix":"24"}]}]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Interfaces(ctx, vm100)) },
			path: "/nodes/pve1/qemu/100/agent/network-get-interfaces",
			want: []Interface{
				{Name: "sit0"},
				{Name: "5"},
				{},
				{Name: "ib0", MAC: "80:00:02:08:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77"},
				{Name: "eth0", MAC: "bc:24:11:00:06:00", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.4")}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok(tc.data))
			got, err := tc.call(background(), pve.client(t))
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			a := pve.asked()
			if len(a) != 1 || a[0].path != "/api2/json"+tc.path || a[0].query != tc.query {
				t.Errorf("%s\nrequests: got %+v, want one of %s?%s", tc.reason, a, tc.path, tc.query)
			}
		})
	}
}

// TestAgentThatDoesNotTell checks answers for commands that an agent does not know or has disabled. PVE returns them as results.
func TestAgentThatDoesNotTell(t *testing.T) {
	pve := fixed(t, ok(`{"result":{"error":{"class":"CommandDisabled","desc":"The command guest-network-get-interfaces has been disabled\nfor this instance"}}}`))
	_, err := pve.client(t).Interfaces(background(), vm100)
	if ClassOf(err) != ClassUnknown {
		t.Fatalf("got %v of class %s, want no agent", err, ClassOf(err))
	}
	want := `cannot ask the guest agent of VM 100 on node "pve1": Agent error: The command guest-network-get-interfaces has been disabled for this instance`
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestVersionAtLeast(t *testing.T) {
	cases := map[string]struct {
		reason       string
		version      string
		major, minor int
		want         bool
	}{
		"Same":      {reason: "A version is at least itself.", version: "8.4.21", major: 8, minor: 4, want: true},
		"Later":     {reason: "A later minor version is enough.", version: "8.10.1", major: 8, minor: 4, want: true},
		"Earlier":   {reason: "An earlier minor version is not enough.", version: "8.3.5", major: 8, minor: 4},
		"Major":     {reason: "A major counts more.", version: "9.0.3", major: 8, minor: 4, want: true},
		"Before":    {reason: "A major counts more.", version: "7.9.1", major: 8, minor: 0},
		"Beta":      {reason: "A beta has its release.", version: "9.0~beta1", major: 9, minor: 0, want: true},
		"Bare":      {reason: "No minor is .0.", version: "9", major: 9, minor: 0, want: true},
		"BareMinor": {reason: "No minor is .0.", version: "9", major: 9, minor: 1},
		"Nonsense":  {reason: "What is no version is none.", version: "x", major: 1, minor: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Version{Version: tc.version}).AtLeast(tc.major, tc.minor); got != tc.want {
				t.Errorf("%s\n%s is at least %d.%d: got %t, want %t", tc.reason, tc.version, tc.major, tc.minor, got, tc.want)
			}
		})
	}
}

func TestAnswersToSimpleQuestions(t *testing.T) {
	for name, ok := range map[string]bool{
		"an online node":          Node{Status: "online"}.Online(),
		"an offline node":         !Node{Status: "offline"}.Online(),
		"a node not heard of":     !Node{Status: "unknown"}.Online(),
		"a paused VM":             Status{Status: "running", QMPStatus: "paused"}.Running(),
		"a stopped VM":            !Status{Status: "stopped"}.Running(),
		"a VM that is created":    VMConfig{Values: map[string]string{"lock": "create"}}.Lock() == "create",
		"a VM that is not locked": VMConfig{}.Lock() == "",
		"a changed option":        PendingValue{Pending: ptr("")}.Changes(),
		"a removed option":        PendingValue{Value: ptr("1"), Delete: 1}.Changes(),
		"an option as it is":      !PendingValue{Value: ptr("1")}.Changes(),
		"where a guest is":        Guest{VMID: 100, Node: "pve1"}.Ref() == vm100,
	} {
		if !ok {
			t.Errorf("%s: wrong answer", name)
		}
	}
}
