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

package e2e

import (
	"context"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// The token of the integration tests, with the privileges that docs/TESTING.md grants.
const (
	testToken  = "tester@pve!provider"
	testSecret = "00000000-0000-4000-8000-000000000002"
	testPool   = "tests"
)

// testerRights are what docs/TESTING.md grants, as a scenario has it. The first key of each section is followed by the addition.
func testerRights() map[string]string {
	return map[string]string{
		"\npools:\n": "  - {id: " + testPool + "}\n",
		"\nusers:\n": "  - {id: tester@pve, tokens: [{id: provider, secret: " + testSecret + "}]}\n",
		"\nacl:\n": "  - {path: /pool/tests, user: tester@pve, roles: [ProviderTests]}\n" +
			"  - {path: /vms/9000, user: tester@pve, roles: [PVETemplateUser]}\n" +
			"  - {path: /storage/ceph, user: tester@pve, roles: [ProviderTestsStorage]}\n" +
			"  - {path: /sdn/zones/localnetwork/vmbr0, user: tester@pve, roles: [PVESDNUser]}\n",
		"\nroles:\n": "  - {id: ProviderTestsStorage, privileges: [Datastore.AllocateSpace, Datastore.Audit]}\n" +
			"  - {id: ProviderTests, privileges: [" + strings.Join(testerPrivileges(), ", ") + "]}\n",
	}
}

// testerPrivileges are those of docs/TESTING.md for the pool.
func testerPrivileges() []string {
	content, err := os.ReadFile(filepath.Join(checkout.Root(), "docs", "TESTING.md"))
	if err != nil {
		return nil
	}
	role := regexp.MustCompile(`role add ProviderTests --privs "([^"]*)"`).FindSubmatch(content)
	if role == nil {
		return nil
	}
	return strings.Fields(string(role[1]))
}

// TestIntegration runs the tests for a real server with the simulator: what they create is in their range and their pool, and nothing of
// it is left.
func TestIntegration(t *testing.T) {
	if len(testerPrivileges()) == 0 {
		t.Fatal("docs/TESTING.md has no role ProviderTests")
	}
	dir := filepath.Join(runDir, "integration")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	env, ctx := commands.New(runContext, checkout, dir, os.Stdout)
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	sim := startForTester(ctx, t, env)
	before := listed(ctx, t, sim)

	run := exec.CommandContext(ctx, "go", "test", "-trimpath", "-tags=integration", "-count=1", "-v", "-run=TestServer", "./integration")
	run.Dir = checkout.Module()
	run.Env = append(os.Environ(),
		"PROXMOX_ENDPOINT="+sim.URL(), "PROXMOX_CA_FILE="+sim.CAFile(), "PROXMOX_TOKEN="+testToken+"="+testSecret,
		"PROXMOX_TEST_VMIDS=9900-9949", "PROXMOX_TEST_POOL="+testPool, "PROXMOX_TEST_STORAGE=ceph", "PROXMOX_TEST_BRIDGE=vmbr0",
		"PROXMOX_TEST_TEMPLATE=9000", "PROXMOX_TEST_TIMEOUT="+maxWait.String())
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, name := range []string{"Namespaced", "ClusterScoped", "Snapshot", "Clone"} {
		if !strings.Contains(string(output), "--- PASS: TestServer/"+name+" ") {
			t.Errorf("TestServer/%s has not run:\n%s", name, output)
		}
	}
	if diff := cmp.Diff(before, listed(ctx, t, sim)); diff != "" {
		t.Errorf("the cluster is not as it was: -before, +after:\n%s", diff)
	}
	checkWrites(ctx, t, sim)
}

// startForTester starts a simulator whose token is that of the integration tests.
func startForTester(ctx context.Context, t *testing.T, env *commands.Environment) *simulator.Simulator {
	t.Helper()
	sim, err := simulator.New(env.Dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := checkout.Binary("pve-simulator")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := checkout.ScenarioWith(env.Dir, testerRights())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Run(ctx, sim.Spec(path, scenario)); err != nil {
		t.Fatal(err)
	}
	return sim
}

// listed are the VMs of the cluster by their VMIDs, as its administrator sees them.
func listed(ctx context.Context, t *testing.T, sim *simulator.Simulator) []int64 {
	t.Helper()
	vms, err := sim.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(vms))
}

// checkWrites checks that all requests that change a VM were for one of the range, but for the clone of the template.
func checkWrites(ctx context.Context, t *testing.T, sim *simulator.Simulator) {
	t.Helper()
	requests, err := sim.Requests(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, r := range requests {
		m := regexp.MustCompile(`^/nodes/[^/]+/qemu/(\d+)(/.*)?$`).FindStringSubmatch(r.Path)
		if r.Method == http.MethodGet || m == nil || m[1] == "9000" && m[2] == "/clone" {
			continue
		}
		written++
		if vmid, err := strconv.Atoi(m[1]); err != nil || vmid < 9900 || vmid > 9949 {
			t.Errorf("%s %s changes a VM outside the range", r.Method, r.Path)
		}
	}
	if written == 0 {
		t.Error("no request has changed a VM")
	}
}
