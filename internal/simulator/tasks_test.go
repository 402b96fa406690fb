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
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// start sends a request that starts a task and returns its UPID.
func (c *client) start(request string, params ...string) string {
	c.t.Helper()
	upid, _ := c.ok(request, params...).Data.(string)
	return upid
}

func (c *client) status(node, upid string) map[string]any {
	c.t.Helper()
	out, _ := c.ok("GET /nodes/" + node + "/tasks/" + upid + "/status").Data.(map[string]any)
	return out
}

func TestTaskTakesTime(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
	c := connect(t, s)
	upid := c.start("POST /nodes/pve1/qemu/9000/clone", "newid=200", "name=web")
	if !strings.HasPrefix(upid, "UPID:pve1:") || !strings.HasSuffix(upid, ":qmclone:9000:crossplane@pve!demo:") {
		t.Errorf("UPID %q", upid)
	}
	clock.await(t, 1)
	if got := c.status("pve1", upid)["status"]; got != "running" {
		t.Errorf("status of a running task: %v", got)
	}
	if diff := cmp.Diff(map[string]any{"lock": "clone", "description": " qmclone temporary file"}, stable(c.config("/nodes/pve1/qemu/200"))); diff != "" {
		t.Errorf("a VM that is being cloned: -want +got:\n%s", diff)
	}
	if got := c.do("PUT /nodes/pve1/qemu/200/config", "cores=2"); got.Line != "500 VM is locked (clone)" {
		t.Errorf("change of a locked VM: %s", got.Line)
	}
	if exit := clock.ended(t, s, upid); exit != "OK" {
		t.Errorf("exit status %q", exit)
	}
	st := c.status("pve1", upid)
	if st["status"] != "stopped" || st["exitstatus"] != "OK" || st["user"] != "crossplane@pve" || st["tokenid"] != "demo" {
		t.Errorf("status of an ended task: %v", st)
	}
	log := c.ok("GET /nodes/pve1/tasks/" + upid + "/log").Body
	if !strings.Contains(log, "creating a clone of VM 9000 with ID 200") || !strings.Contains(log, "TASK OK") {
		t.Errorf("log: %s", log)
	}
	if got := c.config("/nodes/pve1/qemu/200")["name"]; got != "web" {
		t.Errorf("name of the clone: %v", got)
	}
}

func TestCreateInProgress(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
	c := connect(t, s)
	upid := c.start("POST /nodes/pve1/qemu", "vmid=200", "name=new", "start=1")
	clock.await(t, 1)
	if diff := cmp.Diff(map[string]any{"lock": "create"}, stable(c.config("/nodes/pve1/qemu/200"))); diff != "" {
		t.Errorf("a VM that is being created: -want +got:\n%s", diff)
	}
	if got := c.do("POST /nodes/pve2/qemu", "vmid=200"); got.Line != "500 unable to create VM 200 - VM 200 already exists on node 'pve1'" {
		t.Errorf("a second create: %s", got.Line)
	}
	resources := c.ok("GET /cluster/resources", "type=vm").Body
	if !strings.Contains(resources, `{"id":"qemu/200","node":"pve1","status":"unknown","type":"qemu","vmid":200,"lock":"create"}`) {
		t.Errorf("a new VM is not unknown: %s", resources)
	}
	if exit := clock.ended(t, s, upid); exit != "OK" {
		t.Errorf("exit status %q", exit)
	}
	tasks := s.Tasks()
	if started := tasks[len(tasks)-1]; started.Type != "qmstart" || clock.ended(t, s, started.UPID) != "OK" {
		t.Errorf("the last task is %s", started.String())
	}
	clock.advance(20 * time.Second)
	if resources = c.ok("GET /cluster/resources", "type=vm").Body; !strings.Contains(resources, `"name":"new"`) {
		t.Errorf("the VM's name is still unknown: %s", resources)
	}
}

func TestCloneTakenMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		node   string
		want   string
	}{
		"SameNode": {reason: "The task makes the check again.", node: "pve1", want: "unable to create VM 300: config file already exists"},
		"OtherNode": {
			reason: "Writing the configuration fails.", node: "pve2",
			want: "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/300.conf' failed: File exists",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newHandClock()
			s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
			c := connect(t, s)
			s.Locks.Try(300, engine.Exclusive)
			upid := c.start("POST /nodes/pve1/qemu/9000/clone", "newid=300")
			clock.await(t, 1)
			s.Edit(func(st *state.State) {
				st.Guests[300] = &state.Guest{VMID: 300, Node: tc.node, Config: map[string]string{"name": "other"}}
			})
			s.Locks.Release(300, engine.Exclusive)
			if exit := exitStatus(t, s, upid); exit != tc.want {
				t.Errorf("%s: exit status %q, want %q", tc.reason, exit, tc.want)
			}
			if g, _ := s.Guest(300); g.Config["name"] != "other" || g.Node != tc.node {
				t.Errorf("%s: the VM that was first is now %v on %s", tc.reason, g.Config, g.Node)
			}
		})
	}
}

// exitStatus waits for the end of a task that needs no time.
func exitStatus(t *testing.T, s *simulator.Server, upid string) string {
	t.Helper()
	for t.Context().Err() == nil {
		for _, task := range s.Tasks() {
			if task.UPID == upid && !task.Running() {
				return task.Exit
			}
		}
		runtime.Gosched()
	}
	t.Fatal("the task does not end")
	return ""
}

func TestLocks(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
	c := connect(t, s)
	const timeout = "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"

	// Only one task at a time can clone a running VM. The second gives up after a second.
	first := c.start("POST /nodes/pve1/qemu/100/clone", "newid=300")
	clock.await(t, 1)
	second := c.start("POST /nodes/pve1/qemu/100/clone", "newid=301")
	clock.await(t, 2)
	if exit := clock.ended(t, s, second); exit != timeout {
		t.Errorf("second clone of a running VM: %q", exit)
	}
	if exit := clock.ended(t, s, first); exit != "OK" {
		t.Errorf("first clone of a running VM: %q", exit)
	}

	// Several tasks can clone a template.
	a, b := c.start("POST /nodes/pve1/qemu/9000/clone", "newid=302"), c.start("POST /nodes/pve1/qemu/9000/clone", "newid=303")
	if x, y := clock.ended(t, s, a), clock.ended(t, s, b); x != "OK" || y != "OK" {
		t.Errorf("two clones of a template: %q, %q", x, y)
	}

	clock.advance(engine.StorageLockWait) // No task is waiting any more.

	// A shutdown holds the configuration until the system is off.
	s.Edit(func(st *state.State) { st.Guests[100].Agent.IgnoresShutdown = true })
	shutdown := c.start("POST /nodes/pve1/qemu/100/status/shutdown")
	clock.await(t, 1)
	line := make(chan string)
	go func() { line <- c.do("PUT /nodes/pve1/qemu/100/config", "cores=3").Line }()
	clock.await(t, 2)
	clock.advance(engine.ConfigLockWait)
	if got := <-line; got != "500 "+timeout {
		t.Errorf("change during a shutdown: %s", got)
	}
	if exit := clock.ended(t, s, shutdown); exit != "VM quit/powerdown failed - got timeout" {
		t.Errorf("shutdown of a system that does not listen: %q", exit)
	}
}

// TestStorageLocks checks that linked clones wait for each other's volume.
func TestStorageLocks(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		storage string
		want    string
	}{
		"Shared": {reason: "Who waits for ten seconds gives up.", storage: "ceph", want: "clone failed: cfs-lock 'storage-ceph' error: got lock request timeout"},
		"Local": {
			reason: "Who waits for a storage of one node for ten seconds gives up.", storage: "local-lvm",
			want: "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newHandClock()
			s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
			c := connect(t, s)
			clock.ended(t, s, c.start("POST /nodes/pve1/qemu", "vmid=950", "scsi0="+tc.storage+":1"))
			clock.ended(t, s, c.start("POST /nodes/pve1/qemu/950/template"))
			s.Edit(func(*state.State) { s.Durations["link"] = engine.StorageLockWait + time.Second })
			a, b := c.start("POST /nodes/pve1/qemu/950/clone", "newid=3000"), c.start("POST /nodes/pve1/qemu/950/clone", "newid=3001")
			clock.await(t, 2)
			clock.advance(s.Duration("qmclone"))
			clock.await(t, 2) // One creates its volume, the other waits for the lock.
			clock.advance(engine.StorageLockWait)
			got := []string{clock.ended(t, s, a), clock.ended(t, s, b)}
			slices.Sort(got)
			if diff := cmp.Diff([]string{"OK", tc.want}, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStopTask(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Speed: 1, Clock: clock})
	c := connect(t, s)
	s.Edit(func(st *state.State) { st.Guests[100].Agent.IgnoresShutdown = true })
	upid := c.start("POST /nodes/pve1/qemu/100/status/shutdown")
	clock.await(t, 1)
	active, _ := c.ok("GET /nodes/pve1/tasks", "source=active").Data.([]any)
	if len(active) != 1 {
		t.Errorf("active tasks: %v", active)
	}
	c.ok("DELETE /nodes/pve1/tasks/" + upid)
	status, _ := c.ok("GET /nodes/pve1/tasks/" + upid + "/status").Data.(map[string]any)
	if status["status"] != "stopped" || status["exitstatus"] != "unexpected status" {
		t.Errorf("right after the stop: %v", status)
	}
	if g, _ := s.Guest(100); g.Power != state.Running {
		t.Errorf("the VM is %s", g.Power)
	}
}

func TestHA(t *testing.T) {
	clock := newHandClock()
	sc := lab()
	sc.Guests = []simulator.ScenarioGuest{{VMID: 100, Node: "pve1", Config: map[string]string{"scsi0": "nfs:1"}}}
	sc.HA = []int{100}
	s := simulatortest.NewTest(t, simulator.Options{Scenario: sc, Speed: 1, Clock: clock})
	c := connect(t, s)
	if exit := clock.ended(t, s, c.start("POST /nodes/pve1/qemu/100/status/start")); exit != "OK" {
		t.Errorf("exit status %q", exit)
	}
	started := func() bool {
		return slices.ContainsFunc(s.Tasks(), func(t state.Task) bool { return t.Type == "qmstart" && !t.Running() })
	}
	for !started() {
		clock.advance(100 * time.Millisecond)
		<-time.After(time.Millisecond) // The workers continue.
	}
	tasks := s.Tasks()
	if tasks[0].Type != "hastart" || tasks[1].Type != "qmstart" || clock.ended(t, s, tasks[1].UPID) != "OK" {
		t.Errorf("tasks %s, %s", tasks[0].String(), tasks[1].String())
	}
	if g, _ := s.Guest(100); g.Power != state.Running {
		t.Error("HA does not start the VM")
	}
	if exit := clock.ended(t, s, c.start("POST /nodes/pve1/qemu", "vmid=101", "ha-managed=1")); exit != "OK" {
		t.Errorf("exit status %q", exit)
	}
	c.ok("GET /cluster/ha/resources/vm:101")
}

func TestPower(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "scsi0=local:0,import-from=local:import/tiny.qcow2", "net0=virtio,bridge=vmbr0", "agent=1")
	c.task("POST /nodes/pve1/qemu", "vmid=401", "net0=virtio,bridge=vmbr99")
	c.task("POST /nodes/pve1/qemu", "vmid=402", "cores=64")
	for _, step := range []struct {
		request string
		params  []string
		line    string
		exit    string
	}{
		{request: "POST " + vm + "/status/stop", exit: "OK"},
		{request: "POST " + vm + "/status/shutdown", exit: "OK"},
		{request: "POST " + vm + "/status/reboot", line: "500 VM 400 not running"},
		{request: "POST " + vm + "/status/suspend", line: "500 VM 400 not running"},
		{request: "POST " + vm + "/agent/ping", line: "500 VM 400 is not running"},
		{request: "POST " + vm + "/status/start", exit: "OK"},
		{request: "POST " + vm + "/status/start", exit: "VM 400 already running"},
		{request: "POST " + vm + "/agent/ping", line: "200 OK"},
		{request: "DELETE " + vm, line: "500 VM 400 is running - destroy failed"},
		{request: "POST " + vm + "/template", line: "500 you can't convert a VM to template if VM is running"},
		{request: "POST " + vm + "/status/suspend", exit: "OK"},
		{request: "POST " + vm + "/status/shutdown", line: "500 VM is paused - cannot shutdown"},
		{request: "POST " + vm + "/status/resume", exit: "OK"},
		{request: "POST " + vm + "/status/reboot", exit: "OK"},
		{request: "POST " + vm + "/status/shutdown", exit: "OK"},
		{request: "PUT " + vm + "/config", params: []string{"protection=1"}, line: "200 OK"},
		{request: "DELETE " + vm, line: "500 can't remove VM 400 - protection mode enabled"},
		{request: "PUT " + vm + "/config", params: []string{"protection=0"}, line: "200 OK"},
		{request: "POST /cluster/ha/resources", params: []string{"sid=vm:400", "state=stopped", "max_relocate=0"}, line: "200 OK"},
		{request: "DELETE " + vm, line: "500 unable to remove VM 400 - used in HA resources and purge parameter not set."},
		{request: "POST " + vm + "/template", exit: "OK"},
		{request: "POST " + vm + "/status/start", exit: "OK"},
		{request: "DELETE " + vm, params: []string{"purge=1"}, exit: "OK"},
		{request: "POST /nodes/pve1/qemu/401/status/start", exit: "bridge 'vmbr99' does not exist"},
		{request: "POST /nodes/pve1/qemu/402/status/start", exit: "MAX 8 vcpus allowed per VM on this node"},
		{request: "POST /nodes/pve1/qemu/999/status/start", exit: "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist"},
		{
			request: "PUT /nodes/pve1/qemu/999/resize", params: []string{"disk=scsi0", "size=2G"},
			exit: "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist",
		},
	} {
		if step.line != "" {
			if got := c.do(step.request, step.params...); got.Line != step.line {
				t.Errorf("%s: got %q, want %q", step.request, got.Line, step.line)
			}
			continue
		}
		if got := c.task(step.request, step.params...); got != step.exit {
			t.Errorf("%s %v: exit status %q, want %q", step.request, step.params, got, step.exit)
		}
	}
	left := 0
	s.Edit(func(st *state.State) {
		for _, v := range st.Volumes {
			if v.VMID == 400 {
				left++
			}
		}
	})
	if left > 0 {
		t.Errorf("%d volumes are left", left)
	}
}
