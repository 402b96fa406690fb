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
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// steer sends a request such as "PUT quorum" to the control API and returns the status and the body.
func steer(t *testing.T, s *simulator.Server, request, body string) (int, map[string]any) {
	t.Helper()
	verb, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(t.Context(), verb, s.URL()+"/_simulator/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpClient(t, s).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // A test's body.
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil && len(raw) > 0 && raw[0] == '{' {
		t.Fatal(err)
	}
	return resp.StatusCode, out
}

func TestControlFaults(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	status, made := steer(t, s, "POST faults", `{"method":"GET","path":"/nodes/*/qemu","status":500,"message":"broken","count":1}`)
	if status != http.StatusOK || made["number"] != 1.0 {
		t.Fatalf("add: %d %v", status, made)
	}
	if got := c.do("GET /nodes/pve1/qemu").Line; got != "500 broken" {
		t.Errorf("with the fault: %s", got)
	}
	if got := c.do("GET /nodes/pve1/qemu").Line; got != "200 OK" {
		t.Errorf("after it was used up: %s", got)
	}
	if got := s.Faults()[0].String(); got != "GET /nodes/*/qemu count=1 status=500 message=broken" {
		t.Errorf("the fault in words: %s", got)
	}
	for request, want := range map[string]int{"DELETE faults/7": 404, "DELETE faults/x": 404, "DELETE faults/1": 200, "POST faults": 400, "PATCH faults": 501} {
		if status, body := steer(t, s, request, ""); status != want {
			t.Errorf("%s: %d %v, want %d", request, status, body, want)
		}
	}
	if _, body := steer(t, s, "POST faults", `{"status":200}`); body["error"] == nil {
		t.Errorf("a fault that is none: %v", body)
	}
	steer(t, s, "POST faults", `{"task":"qmstart","refuse":true}`)
	if _, state := steer(t, s, "GET state", ""); len(state["faults"].([]any)) != 1 {
		t.Errorf("the state's faults: %v", state["faults"])
	}
	steer(t, s, "DELETE faults", "")
	if got := s.Faults(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

func TestControlCluster(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	steer(t, s, "PUT nodes/pve2", `{"online":false}`)
	if got := c.do("GET /nodes/pve2/qemu").Line; got != "595 No route to host" {
		t.Errorf("a node that is off: %s", got)
	}
	steer(t, s, "PUT nodes/pve2", `{"online":true}`)
	c.ok("GET /nodes/pve2/qemu")
	steer(t, s, "PUT quorum", `{"quorate":false}`)
	if got := c.do("POST /nodes/pve1/qemu/9000/clone", "newid=300").Line; got != "500 cluster not ready - no quorum?" {
		t.Errorf("without quorum: %s", got)
	}
	steer(t, s, "PUT quorum", `{"quorate":true}`)
	for request, body := range map[string]string{
		"PUT nodes/nosuch": `{"online":true}`, "PUT nodes/pve1": `{"offline":true}`, "PUT nodes/pve3": `{"cutOff":true,"online":true}`,
		"PUT quorum": `[]`, "GET requests?after=x": "", "GET state?guests=-1": "",
	} {
		if status, _ := steer(t, s, request, body); status != 400 && status != 404 {
			t.Errorf("%s %s: %d", request, body, status)
		}
	}
}

func TestControlState(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	c.task("POST /nodes/pve1/qemu/9000/clone", "newid=300", "name=seen")
	c.ok("PUT /nodes/pve1/qemu/300/config", "tags=blue", "cipassword=hidden", "scsi10=none,media=cdrom",
		"net1=e1000=BC:24:11:00:00:01,bridge=vmbr1,tag=20")
	_, state := steer(t, s, "GET state?search=SEEN+pve1&requests=1&tasks=1&guests=5", "")
	type object = map[string]any
	guests, tasks, requests := state["guests"].(object), state["tasks"].(object), state["requests"].(object)
	row := guests["rows"].([]any)[0].(object)
	nic := row["nics"].([]any)[0].(object)
	if len(row["nics"].([]any)) != 2 || !strings.HasPrefix(nic["mac"].(string), "BC:24:11:") {
		t.Errorf("nics: %v", row["nics"])
	}
	delete(nic, "mac") // It differs in each run.
	want := []any{object{
		"vmid": 300.0, "name": "seen", "node": "pve1", "status": "stopped", "lock": "", "tags": "blue", "template": false,
		"disks": []any{
			object{"device": "ide2", "volume": "ceph:vm-300-cloudinit", "size": "4M"},
			object{"device": "scsi0", "volume": "ceph:base-9000-disk-0/vm-300-disk-0", "size": "8G"},
			object{"device": "scsi10", "volume": "none", "size": ""},
		},
		"nics": []any{
			object{"device": "net0", "model": "virtio", "bridge": "vmbr0", "vlan": ""},
			object{"device": "net1", "model": "e1000", "mac": "BC:24:11:00:00:01", "bridge": "vmbr1", "vlan": "20"},
		},
	}}
	if diff := cmp.Diff(want, guests["rows"]); diff != "" || guests["matching"] != 1.0 || guests["total"] != 5.0 {
		t.Errorf("guests: %v, -want +got:\n%s", guests, diff)
	}
	task := tasks["rows"].([]any)[0].(object)
	if task["type"] != "qmclone" || task["exit"] != "OK" || tasks["total"] != 1.0 {
		t.Errorf("tasks: %v", tasks)
	}
	request := requests["rows"].([]any)[0].(object)
	if request["template"] != "/nodes/{node}/qemu/{vmid}/config" || request["status"] != 200.0 || request["user"] != simulatortest.TestToken ||
		requests["last"] != 2.0 {
		t.Errorf("requests: %v", requests)
	}
	if diff := cmp.Diff([]any{"cipassword", "net1", "node", "scsi10", "tags", "vmid"}, request["parameters"]); diff != "" {
		t.Errorf("parameters: -want +got:\n%s", diff)
	}
	for _, secret := range []string{"hidden", simulatortest.TestSecret} {
		if text, err := json.Marshal(state); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("the state shows %q (%v)", secret, err)
		}
	}
}

func TestControlCounts(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	c.ok("GET /version")
	steer(t, s, "DELETE requests", "")
	c.ok("GET /nodes/pve1/qemu/9000/config")
	c.ok("GET /nodes/pve1/qemu/100/config")
	c.do("GET /nope")
	_, page := steer(t, s, "GET counts", "")
	type object = map[string]any
	got := []object{}
	for _, row := range page["rows"].([]any) {
		row := row.(object)
		if row["bytes"] == 0.0 && row["template"] != "" {
			t.Errorf("no bytes: %v", row)
		}
		delete(row, "bytes")
		got = append(got, row)
	}
	want := []object{
		{"user": simulatortest.TestToken, "method": "GET", "template": "/nodes/{node}/qemu/{vmid}/config", "requests": 2.0},
		{"user": simulatortest.TestToken, "method": "GET", "template": "", "requests": 1.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestControlRequests(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	for range 3 {
		c.ok("GET /version")
	}
	steer(t, s, "DELETE requests", "")
	c.do("GET /nope")
	s.Inject(simulator.Fault{Path: "/access/users", CutAfter: true})
	if _, err := httpClient(t, s).Do(request(t, c, "/access/users")); err == nil {
		t.Error("the connection was not cut")
	}
	_, page := steer(t, s, "GET requests?after=4", "")
	rows := page["rows"].([]any)
	if len(rows) != 1 || page["last"] != 5.0 {
		t.Fatalf("got %v", page)
	}
	if row := rows[0].(map[string]any); row["number"] != 5.0 || row["path"] != "/access/users" || row["bytes"] == 0.0 || row["cut"] != true {
		t.Errorf("got %v", row)
	}
}

func request(t *testing.T, c *client, path string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.URL()+"/api2/json"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	return req
}

func TestReset(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Faults: []simulator.Fault{{Path: "/nope", Status: 500}}})
	if err := s.SetToken("root@pam!mine", "secret"); err != nil {
		t.Fatal(err)
	}
	c := connect(t, s)
	c.ok("POST /nodes/pve1/qemu/9000/clone", "newid=300")
	s.Inject(simulator.Fault{Path: "/version", Status: 500})
	if status, body := steer(t, s, "POST reset", ""); status != http.StatusOK {
		t.Fatalf("reset: %d %v", status, body)
	}
	if _, there := s.Guest(300); there || len(s.Tasks()) != 0 || len(s.Requests()) != 0 || len(s.Faults()) != 1 {
		t.Errorf("after the reset: guest %t, tasks %v, requests %v, faults %v", there, s.Tasks(), s.Requests(), s.Faults())
	}
	c.with("Authorization", "PVEAPIToken=root@pam!mine=secret").ok("GET /version")
	c.ok("POST /nodes/pve1/qemu/9000/clone", "newid=300")
}

// TestResetUnderLoad resets while clients write.
func TestResetUnderLoad(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1000})
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := connect(t, s)
		for i := range 30 {
			c.do("POST /nodes/pve1/qemu/9000/clone", "newid="+strconv.Itoa(300+i))
		}
	}()
	for range 5 {
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if _, there := s.Guest(300); there || len(s.Tasks()) != 0 {
		t.Errorf("something is left: %v", s.Tasks())
	}
}

func TestMayControl(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                        string
		remote, token, header, origin string
		path                          string
		want                          int
	}{
		"Loopback":    {reason: "Clients of this machine need nothing.", remote: "127.0.0.1:5", path: "/_simulator/" + "state"},
		"Loopback6":   {reason: "Clients of this machine need nothing by IPv6.", remote: "[::1]:5", path: "/_simulator/" + "state"},
		"Outside":     {reason: "Clients of other machines are refused.", remote: "192.0.2.1:5", path: "/_simulator/" + "state", want: 403},
		"Page":        {reason: "The page shows nothing by itself.", remote: "192.0.2.1:5", path: "/"},
		"Certificate": {reason: "The certificate is public.", remote: "192.0.2.1:5", path: "/_simulator/" + "ca.crt"},
		"Token": {
			reason: "Clients of other machines need the token.",
			remote: "192.0.2.1:5", token: "secret", header: "Bearer secret", path: "/_simulator/" + "state",
		},
		"WrongToken": {
			reason: "The token must be the right one.",
			remote: "192.0.2.1:5", token: "secret", header: "Bearer other", path: "/_simulator/" + "state", want: 403,
		},
		"TokenForAll": {reason: "If there is a token, all need it.", remote: "127.0.0.1:5", token: "secret", path: "/_simulator/" + "state", want: 403},
		"Origin":      {reason: "Pages of other sites may not.", remote: "127.0.0.1:5", origin: "https://example.org", path: "/_simulator/" + "state", want: 403},
		"OwnOrigin":   {reason: "The simulator's own page may send requests.", remote: "127.0.0.1:5", origin: "https://pve:8006", path: "/_simulator/" + "state"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := simulator.New(simulator.Options{ControlToken: tc.token})
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://pve:8006"+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.RemoteAddr = tc.remote
			for name, value := range map[string]string{"Authorization": tc.header, "Origin": tc.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			got := 0
			if resp := s.Admit(&wire.Request{Request: r}); resp != nil {
				got = resp.Status
			}
			if got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOutsideAPI checks that paths outside the API that the simulator does not use are answered as before.
func TestOutsideAPI(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	for request, want := range map[string]int{
		"GET /": 200, "POST /": 501, "GET /_simulator/ca.crt": 200, "GET /_simulator/nope": 404, "GET /nope": 501, "GET /_simulator": 501, "GET /pve2/": 501,
	} {
		verb, path, _ := strings.Cut(request, " ")
		req, err := http.NewRequestWithContext(t.Context(), verb, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := httpClient(t, s).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != want {
			t.Errorf("%s: %d (%v), want %d", request, resp.StatusCode, err, want)
		}
	}
}

// TestStateIsQuick checks how long reading the state of a large cluster takes.
func TestStateIsQuick(t *testing.T) {
	sc, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	sc.Guests = append(sc.Guests, simulator.ScenarioGuest{VMID: 20000, Node: "pve1", Count: 10000, Config: map[string]string{"name": "many"}})
	s := simulatortest.NewTest(t, simulator.Options{Scenario: sc})
	start := time.Now()
	_, state := steer(t, s, "GET state", "")
	if guests := state["guests"].(map[string]any); len(guests["rows"].([]any)) != 50 || guests["total"].(float64) < 10000 {
		t.Errorf("guests: %v", guests["total"])
	}
	t.Logf("the state of 10,000 guests took %s", time.Since(start))
}

// TestControlFiles stores a snippet on a node while the simulator runs, as clients do by SSH.
func TestControlFiles(t *testing.T) {
	sc := lab()
	sc.Storages[0].Content = append(sc.Storages[0].Content, "snippets")
	s := simulatortest.NewTest(t, simulator.Options{Scenario: sc})
	for name, tc := range map[string]struct {
		reason, path, body string
		status             int
	}{
		"Snippet": {reason: "A snippet is put on the storage.", path: "files/pve1/local/snippets/user.yaml", body: "#cloud-config\n", status: 200},
		"Storage": {reason: "The storage must exist.", path: "files/pve1/none/snippets/user.yaml", body: "x", status: 404},
		"Node":    {reason: "The node must exist.", path: "files/none/local/snippets/user.yaml", body: "x", status: 404},
		"Content": {reason: "The storage must hold such files.", path: "files/pve1/isostore/snippets/user.yaml", body: "x", status: 400},
	} {
		t.Run(name, func(t *testing.T) {
			if status, got := steer(t, s, "PUT "+tc.path, tc.body); status != tc.status {
				t.Errorf("%s got %d %s", tc.reason, status, got)
			}
		})
	}
	c := connect(t, s)
	if got := c.ok("GET /nodes/pve1/storage/local/content?content=snippets").Body; !strings.Contains(got, `"volid":"local:snippets/user.yaml"`) {
		t.Errorf("the snippet is not there: %s", got)
	}
	if exit := c.task("POST /nodes/pve1/qemu", "vmid=100", "scsi0=local:1", "ide2=local:cloudinit", "cicustom=user=local:snippets/user.yaml"); exit != "OK" {
		t.Errorf("a VM with the snippet: %s", exit)
	}
}
