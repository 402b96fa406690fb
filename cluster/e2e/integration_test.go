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
	"bytes"
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
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// The token of the integration tests, with the privileges that docs/TESTING.md grants.
const (
	testToken  = "tester@pve!provider"
	testSecret = "00000000-0000-4000-8000-000000000002"
	testPool   = "tests"
)

// testerRights returns the permissions that docs/TESTING.md grants, in the form of a scenario. The first key of each section is followed by the
// addition.
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

// testerPrivileges returns the privileges in docs/TESTING.md for the pool.
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

// TestIntegration runs the tests for a real server with the simulator, and checks that all they create is in their range and their pool, and that
// nothing of it is left, however they end.
func TestIntegration(t *testing.T) {
	t.Parallel()
	if len(testerPrivileges()) == 0 {
		t.Fatal("docs/TESTING.md has no role ProviderTests")
	}
	program := filepath.Join(runDir, "integration.test")
	build := exec.CommandContext(runContext, "go", "test", "-c", "-trimpath", "-tags=integration", "-o", program, "./integration")
	build.Dir = checkout.Module()
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for name, test := range map[string]func(*testing.T, string){
		"Whole": testWhole, "Interrupted": testInterrupted, "Failed": testFailed, "Occupied": testOccupied,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

// testWhole runs all tests.
func testWhole(t *testing.T, program string) {
	t.Helper()
	r := newTester(t, program, "whole")
	r.start(t, "9900-9949", "TestServer", maxWait)
	r.ends(t, 0)
	for _, name := range []string{"Namespaced", "ClusterScoped", "Snapshot", "Clone"} {
		if !strings.Contains(r.output.String(), "--- PASS: TestServer/"+name+" ") {
			t.Errorf("TestServer/%s has not run:\n%s", name, r.output.String())
		}
	}
	if !strings.Contains(r.output.String(), starting) {
		t.Errorf("the tests do not say that they start anything:\n%s", r.output.String())
	}
	r.leavesNothing(t)
}

// testInterrupted interrupts the tests with Ctrl-C once there is a VM.
func testInterrupted(t *testing.T, program string) {
	t.Helper()
	r := newTester(t, program, "interrupted")
	r.start(t, "9900-9949", "TestServer/Namespaced", maxWait)
	if err := wait.PollUntilContextTimeout(r.ctx, 100*time.Millisecond, maxWait, true, func(ctx context.Context) (bool, error) {
		return len(listed(ctx, t, r.sim)) > len(r.before), nil
	}); err != nil {
		t.Errorf("there is no VM: %v", err)
	}
	if err := syscall.Kill(-r.run.Process.Pid, syscall.SIGINT); err != nil {
		t.Error(err)
	}
	r.ends(t, 130)
	r.leavesNothing(t)
}

// testFailed makes a test fail once there is a VM.
func testFailed(t *testing.T, program string) {
	t.Helper()
	r := newTester(t, program, "failed", `task=qmstart exit="no more memory"`)
	r.start(t, "9900-9949", "TestServer/Namespaced", 90*time.Second) // Enough for the failure and for the removal on a busy computer.
	r.ends(t, 1)
	if !strings.Contains(r.output.String(), "no more memory") {
		t.Errorf("the tests do not tell why they failed:\n%s", r.output.String())
	}
	r.leavesNothing(t)
}

// testOccupied runs the tests with a range that contains a guest, and checks that they end before they start or write anything.
func testOccupied(t *testing.T, program string) {
	t.Helper()
	r := newTester(t, program, "occupied")
	r.start(t, "9000-9009", "TestServer", maxWait)
	r.ends(t, 1)
	if text := r.output.String(); !strings.Contains(text, "guest 9000 is in the range 9000-9009") || strings.Contains(text, starting) {
		t.Errorf("want an end before anything is started, got:\n%s", text)
	}
	requests, err := r.sim.Requests(r.ctx, 0)
	if err != nil || len(requests) == 0 {
		t.Errorf("the tests have asked nothing: %v", err)
	}
	for _, q := range requests {
		if q.Method != http.MethodGet {
			t.Errorf("the tests have sent %s %s", q.Method, q.Path)
		}
	}
}

// starting is in the output of tests that start something.
const starting = "control plane: starting"

// A tester runs the tests for a real server with a separate simulator.
type tester struct {
	ctx     context.Context //nolint:containedctx // It ends when the simulator does.
	sim     *simulator.Simulator
	program string
	before  []int64
	run     *exec.Cmd
	output  bytes.Buffer
}

// newTester starts a simulator with faults, whose token is that of the integration tests.
func newTester(t *testing.T, program, name string, faults ...string) *tester {
	t.Helper()
	dir := filepath.Join(runDir, "integration-"+name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	env, ctx := commands.New(runContext, checkout, dir, os.Stdout)
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	sim, err := simulator.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := checkout.Binary("pve-simulator")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := checkout.ScenarioWith(dir, testerRights())
	if err != nil {
		t.Fatal(err)
	}
	spec := sim.Spec(path, scenario)
	for _, f := range faults {
		spec.Args = append(spec.Args, "--fault", f)
	}
	if _, err := env.Run(ctx, spec); err != nil {
		t.Fatal(err)
	}
	return &tester{ctx: ctx, sim: sim, program: program, before: listed(ctx, t, sim)}
}

// start starts tests like a terminal: in a separate process group, which Ctrl-C interrupts as a whole.
func (r *tester) start(t *testing.T, vmids, tests string, timeout time.Duration) {
	t.Helper()
	r.run = exec.CommandContext(r.ctx, r.program, "-test.v", "-test.timeout=15m", "-test.run=^"+strings.ReplaceAll(tests, "/", "$/^")+"$")
	r.run.Dir = filepath.Join(checkout.Module(), "integration")
	r.run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.run.Stdout, r.run.Stderr = &r.output, &r.output
	r.run.Env = append(os.Environ(),
		"PROXMOX_ENDPOINT="+r.sim.URL(), "PROXMOX_CA_FILE="+r.sim.CAFile(), "PROXMOX_TOKEN="+testToken+"="+testSecret,
		"PROXMOX_TOKEN_ID=", "PROXMOX_TOKEN_SECRET=", // Those of the user who runs this test.
		"PROXMOX_TEST_VMIDS="+vmids, "PROXMOX_TEST_POOL="+testPool, "PROXMOX_TEST_STORAGE=ceph", "PROXMOX_TEST_BRIDGE=vmbr0",
		"PROXMOX_TEST_TEMPLATE=9000", "PROXMOX_TEST_TIMEOUT="+timeout.String())
	if err := r.run.Start(); err != nil {
		t.Fatal(err)
	}
}

// ends waits until the tests have ended, and checks their exit code.
func (r *tester) ends(t *testing.T, code int) {
	t.Helper()
	err := r.run.Wait()
	if got := r.run.ProcessState.ExitCode(); got != code {
		t.Fatalf("the tests have ended with %d, want %d: %v\n%s", got, code, err, r.output.String())
	}
}

// leavesNothing checks that exactly the former VMs exist, and that all requests that change a VM were for one in the range, except for the clone of the
// template. There must be at least one such VM, which was removed.
func (r *tester) leavesNothing(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(r.before, listed(r.ctx, t, r.sim)); diff != "" {
		t.Errorf("the cluster is not as it was: -before, +after:\n%s\n%s", diff, r.output.String())
	}
	requests, err := r.sim.Requests(r.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	for _, q := range requests {
		m := regexp.MustCompile(`^/nodes/[^/]+/qemu/(\d+)(/.*)?$`).FindStringSubmatch(q.Path)
		if q.Method == http.MethodGet || m == nil || m[1] == "9000" && m[2] == "/clone" {
			continue
		}
		if vmid, err := strconv.Atoi(m[1]); err != nil || vmid < 9900 || vmid > 9949 {
			t.Errorf("%s %s changes a VM outside the range", q.Method, q.Path)
		}
		if q.Method == http.MethodDelete && m[2] == "" {
			removed++
		}
	}
	if removed == 0 {
		t.Error("no request has removed a VM")
	}
}

// listed returns the VMs of the cluster by their VMIDs, as its administrator sees them.
func listed(ctx context.Context, t *testing.T, sim *simulator.Simulator) []int64 {
	t.Helper()
	vms, err := sim.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(vms))
}
