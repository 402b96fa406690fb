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

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

func TestLifecycle(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/200"

	steps := []struct {
		request string
		params  []string
		exit    string
	}{
		{"POST /nodes/pve1/qemu/9000/clone", []string{"newid=200", "name=web", "pool=crossplane"}, "OK"},
		{"PUT " + vm + "/resize", []string{"disk=scsi0", "size=12G"}, "OK"},
		{"POST " + vm + "/status/start", nil, "OK"},
		{"POST " + vm + "/config", []string{"cores=4", "description=hello"}, "OK"},
		{"POST " + vm + "/status/shutdown", nil, "OK"},
		{"DELETE " + vm, []string{"purge=1"}, "OK"},
	}
	for _, step := range steps {
		if got := c.task(step.request, step.params...); got != step.exit {
			t.Errorf("%s: exit status %q, want %q", step.request, got, step.exit)
		}
		if step.request == "POST "+vm+"/status/start" {
			checkRunning(t, c, vm)
		}
	}
	if a := c.do("GET " + vm + "/config"); a.Line != "500 Configuration file 'nodes/pve1/qemu-server/200.conf' does not exist" {
		t.Errorf("config after destroy: %s", a.Line)
	}
}

func checkRunning(t *testing.T, c *client, vm string) {
	t.Helper()
	config := c.config(vm)
	if got := config["scsi0"]; got != "ceph:base-9000-disk-0/vm-200-disk-0,discard=on,iothread=1,size=12G,ssd=1" {
		t.Errorf("scsi0: %v", got)
	}
	if got, _ := config["net0"].(string); !strings.HasPrefix(got, "virtio=BC:24:11:") || !strings.HasSuffix(got, ",bridge=vmbr0") {
		t.Errorf("net0: %v", got)
	}
	want := map[string]any{"name": "web", "cores": 2.0, "memory": "2048", "agent": "1"}
	got := map[string]any{}
	for key := range want {
		got[key] = config[key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config: -want +got:\n%s", diff)
	}
	a := c.ok("GET " + vm + "/agent/network-get-interfaces")
	if !strings.Contains(a.Body, `"ip-address":"10.10.0.202"`) {
		t.Errorf("no address in %s", a.Body)
	}
}

// TestSystemOfGuest checks that a scenario defines the system in a guest.
func TestSystemOfGuest(t *testing.T) {
	sc := lab()
	sc.Guests = append(sc.Guests, simulator.ScenarioGuest{
		VMID: 950, Node: "pve1", Running: true, Config: map[string]string{"scsi0": "local:1", "agent": "1", "net0": "virtio,bridge=vmbr0"},
		Agent: &simulator.ScenarioAgent{OS: map[string]string{"id": "alpine"}, Addresses: map[string][]string{"net0": {"192.0.2.7/24"}}},
	})
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: sc}))
	for path, want := range map[string]string{"get-osinfo": `{"data":{"result":{"id":"alpine"}}}`, "network-get-interfaces": `"192.0.2.7"`} {
		if got := c.ok("GET /nodes/pve1/qemu/950/agent/" + path); !strings.Contains(got.Body, want) {
			t.Errorf("want %s to say %s, got %s", path, want, got.Body)
		}
	}
}
