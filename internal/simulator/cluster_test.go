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
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/examples/scenarios"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func TestPermissions(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) { testPermissions(t, version) })
	}
}

func testPermissions(t *testing.T, version string) {
	t.Helper()
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab(), Version: version})
	admin := connect(t, s)
	admin.task("POST /nodes/pve1/qemu", "vmid=100", "name=a")
	admin.task("POST /nodes/pve1/qemu", "vmid=101", "scsi0=local:1", "net0=virtio,bridge=vmbr0", "rng0=source=/dev/hwrng")
	admin.ok("PUT /nodes/pve1/qemu/101/config", "delete=scsi0")
	as := func(id string) *client {
		return admin.with("Authorization", "PVEAPIToken="+id+"="+simulatortest.TestSecret)
	}
	nobody, separated, auditor, vmuser := as("nobody@pve!t1"), as("nobody@pve!sep"), as("auditor@pve!ro"), as("vmuser@pve!t1")
	ping, model := "500 No QEMU guest agent configured", "403 Permission check failed (/mapping/cpu/a, Mapping.Use)"
	if version == "8.4" {
		ping = "403 Permission check failed (/vms/100, VM.Monitor)"
		model = "403 Permission check failed (/nodes, Sys.Audit)"
	}
	for name, tc := range map[string]struct {
		reason  string
		client  *client
		request string
		params  []string
		line    string
		body    string
	}{
		"ListNothing": {reason: "Lists show what one may see.", client: nobody, request: "GET /nodes/pve1/qemu", line: "200 OK", body: `{"data":[]}`},
		"Separated": {
			reason: "A token with privilege separation has nothing of its user.", client: separated, request: "GET /cluster/resources",
			params: []string{"type=vm"}, line: "200 OK", body: `{"data":[]}`,
		},
		"Create": {
			reason: "A refusal without a path.", client: nobody, request: "POST /nodes/pve1/qemu", params: []string{"vmid=555"},
			line: "403 Permission check failed", body: `{"data":null,"message":"Permission check failed\n"}`,
		},
		"Config": {
			reason: "A refusal names path and privilege.", client: nobody, request: "GET /nodes/pve1/qemu/100/config",
			line: "403 Permission check failed (/vms/100, VM.Audit)",
		},
		"BeforeExistence": {
			reason: "Permission comes before existence.", client: nobody, request: "GET /nodes/pve1/qemu/999/config",
			line: "403 Permission check failed (/vms/999, VM.Audit)",
		},
		"AnyOf": {
			reason: "Several privileges that would do are named.", client: nobody, request: "GET /nodes/pve1/storage/local/content",
			line: "403 Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)",
		},
		"Start": {
			reason: "An auditor starts nothing.", client: auditor, request: "POST /nodes/pve1/qemu/100/status/start",
			line: "403 Permission check failed (/vms/100, VM.PowerMgmt)",
		},
		"Storage": {
			reason: "A disk needs space on its storage.", client: vmuser, request: "POST /nodes/pve1/qemu",
			params: []string{"vmid=556", "scsi0=local:1"}, line: "403 Permission check failed (/storage/local, Datastore.AllocateSpace)",
		},
		"Bridge": {
			reason: "A NIC needs the bridge.", client: vmuser, request: "POST /nodes/pve1/qemu",
			params: []string{"vmid=556", "net0=virtio,bridge=vmbr0"}, line: "403 Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
		},
		"BridgeChange": {
			reason: "A NIC that is changed needs the bridge.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config", params: []string{"net0=virtio,bridge=vmbr0"},
			line: "403 Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
		},
		"BridgeRemoved": {
			reason: "A NIC that goes needs the privilege on its bridge.", client: vmuser, request: "PUT /nodes/pve1/qemu/101/config", params: []string{"delete=net0"},
			line: "403 Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
		},
		"VLAN": {
			reason: "A VLAN is what counts.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"net0=virtio,bridge=vmbr0,tag=7"}, line: "403 Permission check failed (/sdn/zones/localnetwork/vmbr0/7, SDN.Use)",
		},
		"Trunks": {
			reason: "Several VLANs are what counts.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"net0=virtio,bridge=vmbr0,trunks=5-6;2"},
			line:   "403 Permission check failed (/sdn/zones/localnetwork/vmbr0/2, SDN.Use)",
		},
		"Random": {
			reason: "The node's random numbers have a mapping.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"rng0=source=/dev/hwrng"}, line: "403 Permission check failed (/mapping/hwrng, Mapping.Use)",
		},
		"RandomRemoved": {
			reason: "The node's random numbers have a mapping also when they go.",
			client: vmuser, request: "PUT /nodes/pve1/qemu/101/config", params: []string{"delete=rng0"},
			line: "403 Permission check failed (/mapping/hwrng, Mapping.Use)",
		},
		"Unused": {
			reason: "Who frees space may allocate it.", client: vmuser, request: "PUT /nodes/pve1/qemu/101/config",
			params: []string{"delete=unused0"}, line: "403 Permission check failed (/storage/local, Datastore.AllocateSpace)",
		},
		"State": {
			reason: "The memory of a VM takes space.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"vmstatestorage=local"}, line: "403 Permission check failed (/storage/local, Datastore.AllocateSpace)",
		},
		"Model": {
			reason: "CPU models of the cluster are not everybody's.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"cpu=custom-a"}, line: model,
		},
		"DeleteISO": {
			reason: "To remove an ISO image takes more than to upload it.", client: vmuser,
			request: "DELETE /nodes/pve1/storage/local/content/local:iso/tiny.iso",
			line:    "403 Permission check failed (/storage/local, Datastore.Allocate)",
		},
		"ISO": {
			reason: "An ISO image must be readable.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"ide2=local:iso/tiny.iso,media=cdrom"},
			line:   "403 Permission check failed (/storage/local, Datastore.AllocateSpace|Datastore.Audit)",
		},
		"Allowed": {
			reason: "The rest of a VM is the VM administrator's.", client: vmuser, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"cores=2", "memory=128", "name=x", "tags=t"}, line: "200 OK",
		},
		"NodeStatus": {
			reason: "A node's status is for auditors.", client: vmuser, request: "GET /nodes/pve1/status",
			line: "403 Permission check failed (/nodes/pve1, Sys.Audit)",
		},
		"Agent": {reason: "8.4 asks for VM.Monitor, 9 for less.", client: auditor, request: "POST /nodes/pve1/qemu/100/agent/ping", line: ping},
		"Own": {
			reason: "Everybody may look at the own permissions.", client: vmuser, request: "GET /access/permissions",
			params: []string{"path=/nodes"}, line: "200 OK", body: `{"data":{"/nodes":{}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.client.t = t
			got := tc.client.do(tc.request, tc.params...)
			if got.Line != tc.line {
				t.Errorf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
			}
			if tc.body != "" && got.Body != tc.body {
				t.Errorf("%s: -want +got:\n%s", tc.reason, cmp.Diff(tc.body, got.Body))
			}
		})
	}
}

// TestLeastPrivilege makes the calls of a machine's life cycle with the quickstart token, which is not an administrator.
func TestLeastPrivilege(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Version: version})
			c := connect(t, s)
			if got := c.do("PUT /nodes/pve1/qemu/100/config", "startup=order=1"); got.Line != "403 Permission check failed (/, Sys.Modify)" {
				t.Errorf("an administrator's option: %s", got.Line)
			}
			for _, exit := range []string{
				c.task("POST /nodes/pve1/qemu", "vmid=200", "scsi0=local-lvm:8", "ide2=local-lvm:cloudinit", "net0=virtio,bridge=vmbr1,tag=5", "pool=crossplane"),
				c.task("POST /nodes/pve1/qemu/9000/clone", "newid=201", "full=1", "storage=local-lvm"),
				c.task("POST /nodes/pve1/qemu/201/status/start"),
				c.task("POST /nodes/pve1/qemu/201/status/stop"),
				c.task("POST /nodes/pve1/qemu/201/snapshot", "snapname=s1"),
				c.task("DELETE /nodes/pve1/qemu/201", "purge=1"),
			} {
				if exit != "OK" {
					t.Errorf("exit status %q", exit)
				}
			}
			c.ok("GET /nodes/pve1/qemu/200/pending")
			c.ok("GET /cluster/tasks")
			c.ok("GET /nodes/pve1/status")
		})
	}
}

// TestCreationDiesWithNode loses a node that is creating a VM. Nothing cleans up, and other nodes see the lock.
func TestCreationDiesWithNode(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1000})
	c := connect(t, s)
	s.Inject(simulator.Fault{Task: "qmcreate", Hold: true})
	c.ok("POST /nodes/pve3/qemu", "vmid=200", "name=half")
	s.PowerOff("pve3")
	if got := c.ok("GET /cluster/resources").Body; !strings.Contains(got, `"lock":"create"`) {
		t.Errorf("the lock stays, got %s", got)
	}
	s.PowerOn("pve3")
	if g, there := s.Guest(200); !there || g.Config["lock"] != "create" || len(g.Config) != 1 {
		t.Errorf("what was written stays, got %+v", g)
	}
}

func TestNodes(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{NodeAddresses: map[string]string{"pve2": "127.0.0.1:0"}})
	c := connect(t, s)
	if s.NodeURL("pve2") == "" || s.NodeURL("pve2") == s.URL() || s.NodeURL("pve3") != "" {
		t.Errorf("addresses of nodes: %q, %q, %q", s.URL(), s.NodeURL("pve2"), s.NodeURL("pve3"))
	}
	s.Edit(func(st *state.State) { st.Nodes["pve3"].Offline = true })
	for name, tc := range map[string]struct {
		reason  string
		request string
		line    string
	}{
		"Online":    {reason: "One node reaches the others.", request: "GET /nodes/pve2/qemu/9001/config", line: "200 OK"},
		"Localhost": {reason: "localhost is the node that was asked.", request: "GET /nodes/localhost/qemu/9000/config", line: "200 OK"},
		"Offline":   {reason: "Not those that are off.", request: "GET /nodes/pve3/qemu/101/config", line: "595 No route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			if got := c.do(tc.request); got.Line != tc.line {
				t.Errorf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
			}
		})
	}
	c.t = t
	resources := c.ok("GET /cluster/resources").Body
	for _, want := range []string{`"id":"node/pve3","node":"pve3","status":"offline"`, `{"id":"qemu/101","node":"pve3","status":"unknown"`} {
		if !strings.Contains(resources, want) {
			t.Errorf("no %s in %s", want, resources)
		}
	}
	s.Edit(func(st *state.State) { st.NoQuorum = true })
	c.ok("GET /nodes/pve1/qemu/9000/config")
	for request, want := range map[string]string{
		"POST /nodes/pve1/qemu/9000/clone":      "500 cluster not ready - no quorum?",
		"PUT /nodes/pve1/qemu/9000/config":      "500 unable to open file '/etc/pve/nodes/pve1/qemu-server/9000.conf.tmp.1000' - Permission denied",
		"POST /pools":                           "500 create pool failed: cfs-lock 'file-user_cfg' error: no quorum!",
		"POST /nodes/pve1/qemu/100/status/stop": "200 OK",
	} {
		params := map[string][]string{"POST /nodes/pve1/qemu/9000/clone": {"newid=300"}, "PUT /nodes/pve1/qemu/9000/config": {"cores=1"}, "POST /pools": {"poolid=p"}}
		if got := c.do(request, params[request]...); got.Line != want {
			t.Errorf("%s without quorum: %s, want %s", request, got.Line, want)
		}
	}
	end := c.do("DELETE /nodes/pve1/qemu/100").Body
	if want := "'/etc/pve/nodes/pve1/qemu-server/100.conf.tmp.1000' - Permission denied"; !strings.Contains(s.Tasks()[len(s.Tasks())-1].Exit, want) {
		t.Errorf("the task of a removal without quorum: %s, want %s", end, want)
	}
}

// TestExamples loads every scenario of the examples, for both releases.
func TestExamples(t *testing.T) {
	entries, err := scenarios.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for _, version := range []string{"8.4", "9.2"} {
			sc, err := simulator.LoadScenario("../../examples/scenarios/" + e.Name())
			if err != nil {
				t.Errorf("%s: %v", e.Name(), err)
				continue
			}
			if _, err := simulator.New(simulator.Options{Scenario: sc, Version: version}); err != nil {
				t.Errorf("%s on %s: %v", e.Name(), version, err)
			}
		}
	}
	if len(entries) == 0 {
		t.Error("there are no examples")
	}
}

func TestOfflineTakesTime(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
	c := connect(t, s)
	s.Edit(func(st *state.State) { st.Nodes["pve3"].Offline = true })
	line := make(chan string)
	for _, want := range []struct {
		line string
		wait time.Duration
	}{{"595 Connection timed out", 30 * time.Second}, {"595 No route to host", 3 * time.Second}} {
		go func() { line <- c.do("GET /nodes/pve3/qemu").Line }()
		clock.await(t, 1)
		clock.advance(want.wait)
		if got := <-line; got != want.line {
			t.Errorf("a request for a node that is off: %s, want %s", got, want.line)
		}
	}
}

func TestFaults(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	const clone = "/nodes/{node}/qemu/{vmid}/clone"
	hc := httpClient(t, s)
	lost := func(verb, path string) bool {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), verb, s.URL()+"/api2/json"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken="+simulatortest.TestToken+"="+simulatortest.TestSecret)
		resp, err := hc.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err != nil
	}

	remove := s.Inject(simulator.Fault{Method: "POST", Path: clone, Skip: 1, Count: 1, Status: 596, Message: "Connection timed out"})
	lines := []string{}
	for _, id := range []string{"300", "301", "302"} {
		lines = append(lines, c.do("POST /nodes/pve1/qemu/9000/clone", "newid="+id).Line)
	}
	if diff := cmp.Diff([]string{"200 OK", "596 Connection timed out", "200 OK"}, lines); diff != "" {
		t.Errorf("a status for the second request: -want +got:\n%s", diff)
	}
	remove()

	s.Inject(simulator.Fault{Task: "qmclone", Count: 1, TaskExit: "clone failed: disk full"})
	if exit := c.task("POST /nodes/pve1/qemu/9000/clone", "newid=303"); exit != "clone failed: disk full" {
		t.Errorf("a task that fails: %q", exit)
	}
	s.Inject(simulator.Fault{Task: "qmstart", Count: 1, Refuse: true})
	if got := c.do("POST /nodes/pve1/qemu/300/status/start"); got.Line != "500 got no worker upid - start worker failed" {
		t.Errorf("a task that does not start: %s", got.Line)
	}
	s.ClearFaults()

	s.Inject(simulator.Fault{Path: "^/nodes/pve1/qemu/300$", Count: 1, CutBefore: true})
	if !lost("DELETE", "/nodes/pve1/qemu/300") {
		t.Error("the answer is not lost")
	}
	if _, there := s.Guest(300); !there {
		t.Error("a request that was cut before had an effect")
	}
	s.Inject(simulator.Fault{Path: "^/nodes/pve1/qemu/300$", Count: 1, CutAfter: true})
	if !lost("DELETE", "/nodes/pve1/qemu/300") {
		t.Error("the answer is not lost")
	}
	if _, there := s.Guest(300); there {
		t.Error("a request that was cut after had no effect")
	}
}

func TestDelay(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Clock: clock})
	c := connect(t, s)
	s.Inject(simulator.Fault{Path: "/version", Delay: time.Hour})
	line := make(chan string)
	go func() { line <- c.do("GET /version").Line }()
	clock.await(t, 1)
	clock.advance(time.Hour)
	if got := <-line; got != "200 OK" {
		t.Errorf("a request that was delayed: %s", got)
	}
}

func TestDelayEnds(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	release := s.Inject(simulator.Fault{Path: "/version", Delay: time.Hour})
	line := make(chan string)
	go func() { line <- c.do("GET /version").Line }()
	for s.Faults()[0].Hit == 0 {
		<-time.After(time.Millisecond)
	}
	release()
	if got := <-line; got != "200 OK" {
		t.Errorf("a request whose delay was taken away: %s", got)
	}
}

func TestRequests(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	c.do("GET /nodes/pve1/qemu/999/config", "current=1")
	c.do("POST /access/ticket", "username=crossplane@pve", "password=crossplane")
	c.with("Authorization", "PVEAPIToken=x").do("GET /version")
	got := []simulator.Request{}
	for _, r := range s.Requests() {
		if answered := r.Status != 401; answered != (r.Bytes > 0) || answered != (r.Duration > 0) {
			t.Errorf("%s took %s and has %d bytes", r.Path, r.Duration, r.Bytes)
		}
		r.Time, r.Bytes, r.Duration = time.Time{}, 0, 0
		got = append(got, r)
	}
	want := []simulator.Request{
		{
			Method: "GET", Path: "/nodes/pve1/qemu/999/config", Template: "/nodes/{node}/qemu/{vmid}/config", User: simulatortest.TestToken, Node: "pve1",
			Params: map[string]string{"current": "1", "node": "pve1", "vmid": "999"}, Status: 500,
			Message: "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist",
		},
		{
			Method: "POST", Path: "/access/ticket", Template: "/access/ticket", Node: "pve1", Status: 200, Message: "OK",
			Params: map[string]string{"username": "crossplane@pve", "password": "…"},
		},
		{Method: "GET", Path: "/version", Node: "pve1", Status: 401, Message: "Authentication failed!"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.ClearRequests()
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests are left", n)
	}
}

func TestEdit(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	digest := c.config("/nodes/pve1/qemu/100")["digest"]
	s.Edit(func(st *state.State) {
		st.Guests[100].Config["cores"] = "8"
		st.NewGuest(555, "pve2", map[string]string{"name": "foreign"})
		delete(st.Guests, 101)
	})
	if got := c.config("/nodes/pve1/qemu/100"); got["cores"] != 8.0 || got["digest"] == digest {
		t.Errorf("a hand edit is not seen: %v", got)
	}
	if got := c.config("/nodes/pve2/qemu/555"); got["name"] != "foreign" || got["smbios1"] == nil {
		t.Errorf("a new VM is not seen: %v", got)
	}
	if got := c.do("GET /nodes/pve3/qemu/101/config"); got.Line == "200 OK" {
		t.Error("a VM that is gone is still there")
	}
}

func TestScenarioErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		yaml   string
		want   string
	}{
		"Unknown": {reason: "Unknown fields are named.", yaml: "nodes: [{name: pve1}]\nfoo: 1", want: "foo"},
		"NoNodes": {reason: "There is a node at least.", yaml: "cluster: x", want: "without nodes"},
		"Node":    {reason: "Guests are on a node.", yaml: "nodes: [{name: pve1}]\nguests: [{vmid: 100, node: x}]", want: `"x"`},
		"Twice":   {reason: "VMIDs are taken once.", yaml: "nodes: [{name: pve1}]\nguests: [{vmid: 100, node: pve1},{vmid: 100, node: pve1}]", want: "twice"},
		"Option":  {reason: "Options of VMs are known.", yaml: "nodes: [{name: pve1}]\nguests: [{vmid: 100, node: pve1, config: {foo: x}}]", want: `"foo"`},
		"Storage": {
			reason: "Disks are on a storage.", yaml: "nodes: [{name: pve1}]\nguests: [{vmid: 100, node: pve1, config: {scsi0: 'nostore:1'}}]",
			want: "storage 'nostore' does not exist",
		},
		"Value": {
			reason: "Values of options are checked.",
			yaml:   "nodes: [{name: pve1}]\nguests: [{vmid: 100, node: pve1, config: {cores: none}}]", want: `"cores"`,
		},
		"Role":     {reason: "A role must be there.", yaml: "nodes: [{name: pve1}]\nacl: [{path: /, user: a@pve, roles: [x]}]", want: `"x"`},
		"Duration": {reason: "Durations have a unit.", yaml: "nodes: [{name: pve1}]\ndurations: {qmclone: 3}", want: "qmclone"},
		"Size":     {reason: "Sizes are as PVE writes them.", yaml: "nodes: [{name: pve1, memory: lots}]", want: `"lots"`},
		"Version":  {reason: "A version must be known.", yaml: "version: '7.4'\nnodes: [{name: pve1}]", want: `"7.4"`},
		"FileNames": {
			reason: "Files are in a folder of their kind.",
			yaml:   "nodes: [{name: pve1}]\nstorages: [{id: s, type: dir, content: [iso], files: {x: 1G}}]", want: "'x'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := simulator.ParseScenario([]byte(tc.yaml))
			if err == nil {
				_, err = simulator.New(simulator.Options{Scenario: sc})
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want it to name %s", tc.reason, err, tc.want)
			}
		})
	}
}

func TestUpload(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	body := "--x\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"seed.iso\"\r\n\r\nabc\r\n--x--\r\n"
	a := c.send("POST", "/nodes/pve1/storage/nfs/upload", "multipart/form-data; boundary=x", body)
	if a.Line != "200 OK" {
		t.Fatal(a.Line, a.Body)
	}
	var data []byte
	s.Edit(func(st *state.State) {
		if v := st.Volumes[state.VolumeKey{Storage: "nfs", Name: "iso/seed.iso"}]; v != nil {
			data = v.Data
		}
	})
	if string(data) != "abc" {
		t.Errorf("content %q", data)
	}
	if exit := c.task("DELETE /nodes/pve1/storage/nfs/content/nfs:iso/seed.iso"); exit != "OK" {
		t.Errorf("exit status %q", exit)
	}
}
