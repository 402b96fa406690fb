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

package proxmox_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// lab is a Client and the simulated cluster that it uses.
type lab struct {
	*proxmox.Client

	t   *testing.T
	pve *simulator.Server
}

func newLab(t *testing.T, o simulator.Options, change ...func(*proxmox.Config)) lab {
	t.Helper()
	pve := simulatortest.NewTest(t, o)
	cfg := proxmox.Config{
		Endpoints:   []string{pve.URL()},
		TLS:         proxmox.TLS{CA: pve.CA()},
		Credentials: proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret},
	}
	for _, c := range change {
		c(&cfg)
	}
	c, err := proxmox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return lab{Client: c, t: t, pve: pve}
}

// end waits for the end of a task that a call has started.
func (l lab) end(u proxmox.UPID, err error) proxmox.Task {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	for {
		task, err := l.Task(l.t.Context(), u)
		if err != nil {
			l.t.Fatal(err)
		}
		if !task.Running {
			return task
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-l.t.Context().Done():
			l.t.Fatalf("task %s does not end", u.Type())
		}
	}
}

// done fails the test unless the task ends with success.
func (l lab) done(u proxmox.UPID, err error) {
	l.t.Helper()
	if err := l.end(u, err).Err(); err != nil {
		l.t.Fatal(err)
	}
}

// appears waits for a VM that a task creates.
func (l lab) appears(ref proxmox.Ref) {
	l.t.Helper()
	for {
		if _, there := l.pve.Guest(ref.VMID); there {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-l.t.Context().Done():
			l.t.Fatalf("VM %d does not appear", ref.VMID)
		}
	}
}

func (l lab) config(ref proxmox.Ref) proxmox.VMConfig {
	l.t.Helper()
	c, err := l.Config(l.t.Context(), ref)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func releases(t *testing.T, test func(*testing.T, simulator.Options)) {
	t.Helper()
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) { test(t, simulator.Options{Version: version}) })
	}
}

func TestLifeOfVM(t *testing.T) {
	releases(t, func(t *testing.T, o simulator.Options) {
		t.Helper()
		l := newLab(t, o)
		ctx := t.Context()
		vm := proxmox.Ref{Node: "pve1", VMID: 20000}
		clone := proxmox.Ref{Node: "pve1", VMID: 20001}

		l.done(l.Create(ctx, vm, proxmox.Params{
			"name": "a", "memory": "512", "scsi0": "ceph:4,ssd=1", "net0": "virtio,bridge=vmbr0", "description": "a;b&c=d\nü %41", "agent": "1",
		}))
		before := l.config(vm)
		if got := before.Values["description"]; got != "a;b&c=d\nü %41" {
			t.Errorf("description: got %q", got)
		}
		if err := l.Configure(ctx, vm, proxmox.Change{
			Set: proxmox.Params{"cores": "2", "tags": "x"}, Delete: []string{"description"}, Digest: before.Digest,
		}); err != nil {
			t.Fatal(err)
		}
		l.done(l.Start(ctx, vm))
		if s, err := l.Status(ctx, vm); err != nil || !s.Running() || s.Name != "a" {
			t.Errorf("started: got %+v, error %v", s, err)
		}
		l.done(l.Stop(ctx, vm, proxmox.StopOptions{OverruleShutdown: true}))
		l.done(l.Clone(ctx, vm, proxmox.CloneOptions{NewID: clone.VMID, Name: "b"}))
		after := l.config(clone)
		if after.Values["cores"] != "2" || after.Values["name"] != "b" || after.Values["net0"] == before.Values["net0"] || after.Lock() != "" {
			t.Errorf("clone: got %v", after.Values)
		}
		for _, ref := range []proxmox.Ref{vm, clone} {
			l.done(l.Delete(ctx, ref, proxmox.DeleteOptions{Purge: true}))
			if _, err := l.Config(ctx, ref); !proxmox.IsNotFound(err) {
				t.Errorf("deleted: got %v, want not found", err)
			}
		}
	})
}

func TestDisksAndNICsAreReadBackEqual(t *testing.T) {
	l := newLab(t, simulator.Options{})
	vm := proxmox.Ref{Node: "pve1", VMID: 20000}
	l.done(l.Create(t.Context(), vm, proxmox.Params{"scsi0": "ceph:4,ssd=1,discard=on", "net0": "e1000=BC:24:11:00:00:0a,tag=5,bridge=vmbr0"}))
	l.done(l.Resize(t.Context(), vm, "scsi0", "6G", ""))
	c := l.config(vm)
	disk, err := proxmox.ParseDisk(c.Values["scsi0"])
	if err != nil {
		t.Fatal(err)
	}
	size, sized := disk.Size()
	if disk.Storage() != "ceph" || size != 6*proxmox.GiB || !sized || disk.Options.Get("discard") != "on" || disk.String() != c.Values["scsi0"] {
		t.Errorf("scsi0: got %q", disk)
	}
	nic, err := proxmox.ParseNIC(c.Values["net0"])
	if err != nil {
		t.Fatal(err)
	}
	want, err := proxmox.ParseNIC("e1000=BC:24:11:00:00:0A,bridge=vmbr0,tag=5")
	if err != nil || !nic.Equal(want) {
		t.Errorf("net0: got %q, want %q", nic, want)
	}
}

func TestListsOfCluster(t *testing.T) {
	l := newLab(t, simulator.Options{})
	ctx := t.Context()
	nodes, err := l.Nodes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range nodes {
		if !n.Online() || n.MaxMemory == 0 || n.MaxCPU == 0 {
			t.Errorf("node: got %+v", n)
		}
		names = append(names, n.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"pve1", "pve2", "pve3"}, names); diff != "" {
		t.Errorf("nodes: -want, +got:\n%s", diff)
	}
	status, err := l.ClusterStatus(ctx)
	if err != nil || status.Name != "demo" || !status.Quorate || len(status.Nodes) != 3 {
		t.Errorf("cluster: got %+v, error %v", status, err)
	}
	checkGuests(t, l)
	bridges, err := l.Bridges(ctx, "pve1")
	if err != nil || len(bridges) != 2 {
		t.Errorf("bridges: got %+v, error %v", bridges, err)
	}
	storages, err := l.Storages(ctx)
	if err != nil || len(storages) != 12 {
		t.Errorf("storages: got %d, error %v; want four on each node", len(storages), err)
	}
	if v, err := l.Version(ctx); err != nil || !v.AtLeast(9, 2) {
		t.Errorf("version: got %+v, error %v", v, err)
	}
	p, err := l.Permissions(ctx, "/vms/100")
	if err != nil || !p["/vms/100"]["VM.Audit"] {
		t.Errorf("permissions: got %v, error %v", p, err)
	}
}

func checkGuests(t *testing.T, l lab) {
	t.Helper()
	all, err := l.Guests(t.Context())
	if err != nil || len(all) != 4 {
		t.Fatalf("guests: got %+v, error %v", all, err)
	}
}

func TestAgentOfSimulator(t *testing.T) {
	l := newLab(t, simulator.Options{})
	got, err := l.Interfaces(t.Context(), proxmox.Ref{Node: "pve1", VMID: 100})
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, i := range got {
		for _, a := range i.Addresses {
			if a.IsGlobalUnicast() {
				addresses = append(addresses, a.String())
			}
		}
	}
	slices.Sort(addresses)
	if diff := cmp.Diff([]string{"192.0.2.100", "198.51.100.1", "2001:db8:20::1"}, addresses); diff != "" {
		t.Errorf("addresses: -want, +got:\n%s", diff)
	}
	if _, err := l.Interfaces(t.Context(), proxmox.Ref{Node: "pve3", VMID: 101}); err == nil || proxmox.ClassOf(err) != proxmox.ClassUnknown {
		t.Errorf("a VM without an agent: got %v, want an error of no particular class", err)
	}
}

func TestRefusalsOfSimulator(t *testing.T) {
	router, archive := proxmox.Ref{Node: "pve1", VMID: 100}, proxmox.Ref{Node: "pve3", VMID: 101}
	cases := map[string]struct {
		reason string
		call   func(context.Context, lab) error
		is     func(error) bool
	}{
		"Taken": {
			reason: "A VMID is claimed once.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Create(ctx, proxmox.Ref{Node: "pve2", VMID: 100}, nil)
				return err
			},
			is: proxmox.IsAlreadyExists,
		},
		"TakenClone": {
			reason: "A VMID that is taken is no clone's.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Clone(ctx, proxmox.Ref{Node: "pve1", VMID: 9000}, proxmox.CloneOptions{NewID: 100})
				return err
			},
			is: proxmox.IsAlreadyExists,
		},
		"TakenCloneElsewhere": {
			reason: "A VMID of another node is found in the task.",
			call: func(ctx context.Context, l lab) error {
				return l.end(l.Clone(ctx, proxmox.Ref{Node: "pve1", VMID: 9000}, proxmox.CloneOptions{NewID: 101})).Err()
			},
			is: proxmox.IsAlreadyExists,
		},
		"Running": {
			reason: "A running VM is not deleted.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Delete(ctx, router, proxmox.DeleteOptions{})
				return err
			},
			is: func(err error) bool { return proxmox.ClassOf(err) == proxmox.ClassConflict },
		},
		"Protected": {
			reason: "A protected VM is not deleted.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Delete(ctx, archive, proxmox.DeleteOptions{})
				return err
			},
			is: proxmox.IsProtected,
		},
		"Digest": {
			reason: "A change is for one configuration.",
			call: func(ctx context.Context, l lab) error {
				return l.Configure(ctx, archive, proxmox.Change{Set: proxmox.Params{"cores": "2"}, Digest: "da39a3ee5e6b4b0d3255bfef95601890afd80709"})
			},
			is: proxmox.IsDigestMismatch,
		},
		"Value": {
			reason: "Values of options have ranges.",
			call: func(ctx context.Context, l lab) error {
				return l.Configure(ctx, archive, proxmox.Change{Set: proxmox.Params{"cores": "0"}})
			},
			is: proxmox.IsInvalid,
		},
		"Root": {
			reason: "Some options are root's.",
			call: func(ctx context.Context, l lab) error {
				return l.Configure(ctx, archive, proxmox.Change{Set: proxmox.Params{"args": "-foo"}})
			},
			is: proxmox.IsInvalid,
		},
		"Storage": {
			reason: "A storage must exist.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Create(ctx, proxmox.Ref{Node: "pve1", VMID: 20000}, proxmox.Params{"scsi0": "nostore:1"})
				return err
			},
			is: proxmox.IsUnknownReference,
		},
		"Elsewhere": {
			reason: "A VM on another node is not on this one.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Config(ctx, proxmox.Ref{Node: "pve1", VMID: 101})
				return err
			},
			is: proxmox.IsNotFound,
		},
		"Task": {
			reason: "A task that nobody started.",
			call: func(ctx context.Context, l lab) error {
				_, err := l.Task(ctx, "UPID:pve1:00000001:00000001:00000001:qmcreate:100:root@pam:")
				return err
			},
			is: proxmox.IsNoSuchTask,
		},
		"Shrink": {
			reason: "Disks do not shrink.",
			call:   func(ctx context.Context, l lab) error { return l.end(l.Resize(ctx, archive, "scsi0", "1G", "")).Err() },
			is:     func(err error) bool { return proxmox.ClassOf(err) == proxmox.ClassTaskFailed },
		},
		"StartMissing": {
			reason: "PVE starts a task to find that nothing is there.",
			call: func(ctx context.Context, l lab) error {
				return l.end(l.Start(ctx, proxmox.Ref{Node: "pve1", VMID: 20000})).Err()
			},
			is: proxmox.IsNotFound,
		},
	}
	for _, version := range []string{"8.4", "9.2"} {
		l := newLab(t, simulator.Options{Version: version})
		for name, tc := range cases {
			t.Run(version+name, func(t *testing.T) {
				if err := tc.call(t.Context(), l); !tc.is(err) {
					t.Errorf("%s\ngot %v of class %q", tc.reason, err, proxmox.ClassOf(err))
				}
			})
		}
	}
}

func TestPasswordAtSimulator(t *testing.T) {
	asRoot := func(c *proxmox.Config) {
		c.Credentials = proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword}
	}
	l := newLab(t, simulator.Options{}, asRoot)
	l.done(l.Create(t.Context(), proxmox.Ref{Node: "pve1", VMID: 20000}, proxmox.Params{"name": "a"}))
	wrong := newLab(t, simulator.Options{}, asRoot, func(c *proxmox.Config) { c.Credentials.Password = "wrong" })
	if _, err := wrong.Version(t.Context()); !proxmox.IsAuthentication(err) {
		t.Errorf("a wrong password: got %v, want an authentication error", err)
	}
}

func TestMissingPrivilegeAtSimulator(t *testing.T) {
	l := newLab(t, simulator.Options{}, func(c *proxmox.Config) {
		c.Credentials = proxmox.Credentials{Username: "auditor@pve", Password: "auditor-password"}
	})
	_, err := l.Start(t.Context(), proxmox.Ref{Node: "pve3", VMID: 101})
	got, _ := proxmox.MissingPrivilege(err)
	if diff := cmp.Diff(proxmox.Privilege{Path: "/vms/101", Names: []string{"VM.PowerMgmt"}}, got); diff != "" || !proxmox.IsAuthorization(err) {
		t.Errorf("got %v: -want, +got:\n%s", err, diff)
	}
}

// TestLostAnswer checks that a call whose answer is lost has run, and that its error says that it may have.
func TestLostAnswer(t *testing.T) {
	for name, f := range map[string]simulator.Fault{
		"Cut":    {CutAfter: true},
		"Before": {CutBefore: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			f.Method, f.Path = http.MethodPost, "/nodes/{node}/qemu"
			l.pve.Inject(f)
			vm := proxmox.Ref{Node: "pve1", VMID: 20000}
			if _, err := l.Create(t.Context(), vm, nil); !proxmox.IsOutcomeUnknown(err) {
				t.Errorf("got %v, want an unknown outcome", err)
			}
			if _, exists := l.pve.Guest(vm.VMID); exists != f.CutAfter {
				t.Errorf("the VM exists: got %t, want %t", exists, f.CutAfter)
			}
		})
	}
}

func TestOfflineNode(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.pve.Edit(func(s *simulator.State) { s.Nodes["pve3"].Offline = true })
	_, err := l.Start(t.Context(), proxmox.Ref{Node: "pve3", VMID: 101})
	if !proxmox.IsUnavailable(err) || !proxmox.IsOutcomeUnknown(err) {
		t.Errorf("got %v, want unavailable with an unknown outcome", err)
	}
}

func TestNoQuorum(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.pve.Edit(func(s *simulator.State) { s.NoQuorum = true })
	vm := proxmox.Ref{Node: "pve3", VMID: 101}
	err := l.Configure(t.Context(), vm, proxmox.Change{Set: proxmox.Params{"cores": "2"}})
	if !proxmox.IsUnavailable(err) || proxmox.IsOutcomeUnknown(err) {
		t.Errorf("a write: got %v, want unavailable and not run", err)
	}
	if _, err := l.Config(t.Context(), vm); err != nil {
		t.Errorf("a read: %v", err)
	}
	if s, err := l.ClusterStatus(t.Context()); err != nil || s.Quorate {
		t.Errorf("status: got %+v, error %v", s, err)
	}
}

// TestTasksTakeTime checks that no call waits for the task that it starts, and that one read shows the running task.
func TestTasksTakeTime(t *testing.T) {
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Durations = map[string]string{"qmclone": "1h", "copydisk": "1h"}
	l := newLab(t, simulator.Options{Scenario: scenario, Speed: 1})
	u, err := l.Clone(t.Context(), proxmox.Ref{Node: "pve1", VMID: 9000}, proxmox.CloneOptions{NewID: 20000, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if u.Type() != "qmclone" || u.Node() != "pve1" || u.ID() != "9000" {
		t.Errorf("UPID: got %q", u)
	}
	task, err := l.Task(t.Context(), u)
	if err != nil || !task.Running || task.Err() != nil {
		t.Errorf("got %+v, error %v, want a running task", task, err)
	}
	all, err := l.Tasks(t.Context())
	if err != nil || !slices.ContainsFunc(all, func(o proxmox.Task) bool { return o.UPID == u && o.Running }) {
		t.Errorf("tasks: got %+v, error %v, want the running one among them", all, err)
	}
	vm := proxmox.Ref{Node: "pve1", VMID: 20000}
	l.appears(vm)
	if lock := l.config(vm).Lock(); lock != "clone" {
		t.Errorf("lock: got %q, want clone", lock)
	}
	if err := l.Configure(t.Context(), vm, proxmox.Change{Set: proxmox.Params{"cores": "2"}}); !proxmox.IsLocked(err) {
		t.Errorf("a change meanwhile: got %v, want locked", err)
	}
}

func TestLogOfTask(t *testing.T) {
	l := newLab(t, simulator.Options{})
	u, err := l.Clone(t.Context(), proxmox.Ref{Node: "pve1", VMID: 9000}, proxmox.CloneOptions{NewID: 20000, Full: new(bool)})
	l.done(u, err)
	all, err := l.TaskLog(t.Context(), u, 1000)
	if err != nil || len(all) < 2 {
		t.Fatalf("got %q, error %v", all, err)
	}
	last, err := l.TaskLog(t.Context(), u, 1)
	if err != nil || len(last) != 1 || last[0] != all[len(all)-1] {
		t.Errorf("last line: got %q, error %v, want %q", last, err, all[len(all)-1])
	}
}

// TestClonesOfOneSource creates linked clones of one template. Each holds the storage's lock for longer than PVE waits for it. If all start at once, all
// except one would fail. One after another, each is created by one call.
func TestClonesOfOneSource(t *testing.T) {
	l := newLab(t, simulator.Options{Speed: 40}, func(c *proxmox.Config) { c.Limits = proxmox.Limits{ClonesPerSource: 1} })
	l.pve.Edit(func(*simulator.State) { l.pve.Durations["link"] = 2 * engine.StorageLockWait })
	var started []proxmox.UPID
	for id := range 3 {
		u, err := l.cloneInTurn(proxmox.Ref{Node: "pve1", VMID: 9000}, 3000+id)
		if err != nil {
			t.Fatal(err)
		}
		started = append(started, u)
	}
	for _, u := range started {
		l.done(u, nil)
	}
	calls := 0
	for _, r := range l.pve.Requests() {
		if r.Method == http.MethodPost && r.Path == "/nodes/pve1/qemu/9000/clone" {
			calls++
		}
	}
	if calls != 3 {
		t.Errorf("Three clones need three calls, got %d", calls)
	}
}

// cloneInTurn starts a clone as soon as the limits permit it, according to the list of tasks.
func (l lab) cloneInTurn(source proxmox.Ref, vmid int) (proxmox.UPID, error) {
	for {
		u, err := l.Clone(l.t.Context(), source, proxmox.CloneOptions{NewID: vmid})
		turn, waits := proxmox.Waiting(err)
		if !waits {
			return u, err
		}
		for came := false; !came; {
			if _, err := l.Tasks(l.t.Context()); err != nil {
				return "", err
			}
			<-time.After(5 * time.Millisecond)
			turn.Then(func() { came = true })
		}
	}
}
