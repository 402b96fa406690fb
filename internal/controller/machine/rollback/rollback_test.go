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

package rollback

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

const (
	uuid  = "11111111-2222-4333-8444-555555555555"
	other = "99999999-2222-4333-8444-555555555555"
	path  = "/nodes/pve1/qemu/500/snapshot"
)

var ref = proxmox.Ref{Node: "pve1", VMID: 500} //nolint:gochecknoglobals // It is a constant.

// A lab is a simulated cluster with VM 500, which has the snapshot s1.
type lab struct {
	*testing.T
	*simulator.Server

	root  *proxmox.Client
	act   *rollback
	now   time.Time
	saves int
}

func newLab(t *testing.T, version string) *lab {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.ACL = append(scenario.ACL, simulator.ScenarioGrant{Path: "/", User: "crossplane@pve", Roles: []string{"Administrator"}})
	l := &lab{T: t, Server: simulatortest.NewTest(t, simulator.Options{Scenario: scenario, Version: version}), now: time.Now()}
	l.root = l.connect(proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword})
	c := l.connect(proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret})
	l.ended(l.root.Create(t.Context(), ref, proxmox.Params{"name": "web", "memory": "64", "scsi0": "local-lvm:1", "smbios1": "uuid=" + uuid}))
	l.taken("s1", false)
	allows, room := func(qemu.Config) error { return nil }, func(context.Context, qemu.Config) (string, error) { return "", nil }
	l.act = &rollback{pve: c, storages: c.Storages, allows: allows, room: room, Act: act.Act{
		PVE: c, Members: inventory.New(c, inventory.WithMaxAge(0)), Ref: ref, UUID: uuid, Record: act.New("1", l.now), Now: func() time.Time { return l.now },
		Save: func(ctx context.Context, _ *act.Record) error { l.saves++; return ctx.Err() },
	}}
	return l
}

func (l *lab) connect(by proxmox.Credentials) *proxmox.Client {
	l.Helper()
	c, err := proxmox.New(proxmox.Config{Endpoints: []string{l.URL()}, TLS: proxmox.TLS{CA: l.CA()}, Credentials: by})
	l.must(err)
	l.Cleanup(c.Close)
	return c
}

// must fails the test if an auxiliary call fails.
func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// ended waits for the end of another user's task.
func (l *lab) ended(u proxmox.UPID, err error) {
	l.Helper()
	l.must(err)
	for {
		t, err := l.root.Task(l.Context(), u)
		l.must(err)
		if !t.Running {
			if !t.OK() {
				l.Logf("task %s: %s", t.Type, t.ExitStatus)
			}
			return
		}
		<-time.After(time.Millisecond)
	}
}

func (l *lab) taken(name string, memory bool) {
	l.Helper()
	l.ended(l.root.TakeSnapshot(l.Context(), ref, proxmox.SnapshotOptions{Name: name, Memory: memory}))
}

func (l *lab) started() {
	l.Helper()
	l.ended(l.root.Start(l.Context(), ref))
}

// edit edits the VM without a sign to others.
func (l *lab) edit(change func(*simulator.Guest)) {
	l.Edit(func(s *simulator.State) { change(s.Guests[ref.VMID]) })
}

// next makes the next call, and waits for its task.
func (l *lab) next(q request) error {
	l.Helper()
	u, err := l.act.next(l.Context(), q)
	if u != "" {
		l.ended(u, nil)
	}
	return err
}

func (l *lab) settled() {
	l.Helper()
	l.must(l.act.settle(l.Context()))
}

// is checks the state of the record, and words of its message.
func (l *lab) is(state v1alpha1.MachineActState, words ...string) {
	l.Helper()
	r := l.act.Record
	for _, w := range words {
		if !strings.Contains(r.Message, w) {
			l.Errorf("the message is %q, want %q in it", r.Message, w)
		}
	}
	if r.State != state {
		l.Errorf("the state is %s (%s), want %s", r.State, r.Message, state)
	}
}

// calls returns the calls that the provider has made, as paths below that of the snapshots.
func (l *lab) calls() []string {
	var all []string
	for _, r := range l.Requests() {
		if r.Method == http.MethodPost && strings.HasPrefix(r.User, "crossplane@pve") {
			all = append(all, strings.TrimPrefix(r.Path, path))
		}
	}
	return all
}

func (l *lab) called(want ...string) {
	l.Helper()
	if got := l.calls(); strings.Join(got, " ") != strings.Join(want, " ") {
		l.Errorf("want the calls %q, got %q", want, got)
	}
}

func (l *lab) running() bool {
	l.Helper()
	s, err := l.root.Status(l.Context(), ref)
	l.must(err)
	return s.Running()
}

func back() request { return request{Token: "1", Snapshot: "s1"} }

// storagesAs sets the type of all storages.
func (l *lab) storagesAs(kind string) {
	l.act.storages = func(ctx context.Context) ([]proxmox.Storage, error) {
		all, err := l.root.Storages(ctx)
		for i := range all {
			all[i].Type = kind
		}
		return all, err
	}
}

// TestRefused checks that an impossible request is permanently refused, before any call that changes something.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*lab)
		request func(*request)
		words   []string
	}{
		"Missing": {reason: "A snapshot that is not there is named.", request: func(q *request) { q.Snapshot = "s2" }, words: []string{`no snapshot "s2"`}},
		"Problem": {reason: "What is known before is the reason.", request: func(q *request) { q.Problem = "not ready" }, words: []string{"not ready"}},
		"Time": {
			reason:  "Another snapshot of the name is not the one.",
			request: func(q *request) { q.Taken = time.Unix(1, 0) }, words: []string{"another time"},
		},
		"Allowed": {
			reason: "A VM does not go back to what its tenant may not have.",
			prepare: func(l *lab) {
				l.act.allows = func(to qemu.Config) error { return errors.New("no memory of " + to["memory"]) }
			}, words: []string{`snapshot "s1" has options`, "no memory of 64"},
		},
		"Room": {
			reason: "The quota has no room for what the VM had at the snapshot.",
			prepare: func(l *lab) {
				l.act.room = func(_ context.Context, to qemu.Config) (string, error) {
					return "no room for memory " + to["memory"], nil
				}
			}, words: []string{"no room for memory 64"},
		},
		"Running": {reason: "A VM that runs is not stopped unasked.", prepare: (*lab).started, words: []string{"would be stopped hard", "allowRunning"}},
		"Newest": {
			reason:  "ZFS goes back to the newest only.",
			prepare: func(l *lab) { l.taken("s2", false); l.storagesAs("zfspool") }, words: []string{"newest", `"s2"`},
		},
		"Reserved": {
			reason:  "A safety snapshot would be newer.",
			prepare: func(l *lab) { l.storagesAs("lvm") }, request: safely, words: []string{"leave out safetySnapshot"},
		},
		"Taken": {
			reason:  "The name may be somebody's.",
			prepare: func(l *lab) { l.taken(SafetyName("1"), false) }, request: safely, words: []string{SafetyName("1")},
		},
		"Gone": {
			reason:  "A safety snapshot has to be there.",
			prepare: func(l *lab) { l.act.Record.Taken = true }, request: safely, words: []string{"is gone"},
		},
		"UUID": {
			reason: "The VM must stay this Machine's.",
			prepare: func(l *lab) {
				l.edit(func(g *simulator.Guest) { g.Snapshots["s1"].Config["smbios1"] = "uuid=" + other })
			},
			words: []string{other, "no longer be this Machine's"},
		},
		"Whole": {
			reason:  "A snapshot must be whole.",
			prepare: func(l *lab) { l.act.pve = incomplete{l.act.pve} },
			words:   []string{"incomplete"},
		},
		"HA": {
			reason: "High availability would start it in between.",
			prepare: func(l *lab) {
				l.started()
				l.Edit(func(s *simulator.State) { s.HA["vm:500"] = &simulator.HAResource{State: "started"} })
			},
			request: func(q *request) { q.AllowRunning = true }, words: []string{"high availability"},
		},
		"Unsupported": {
			reason: "A disk without snapshots has no safety snapshot.",
			prepare: func(l *lab) {
				l.edit(func(g *simulator.Guest) { g.Config["scsi1"] = "local:500/vm-500-disk-9.raw,size=1G" })
			},
			request: safely, words: []string{"no snapshots"},
		},
		"Privilege": {
			reason: "What is missing is named.", prepare: func(l *lab) {
				l.Edit(func(s *simulator.State) {
					s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
				})
			}, words: []string{"/vms/500", "VM.Snapshot.Rollback"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, q := newLab(t, "9.2"), back()
			if tc.prepare != nil {
				tc.prepare(l)
			}
			if tc.request != nil {
				tc.request(&q)
			}
			if err := l.next(q); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			l.is(v1alpha1.ActRefused, tc.words...)
			l.called()
			if l.saves != 1 {
				t.Errorf("%s\nit is noted once, got %d", tc.reason, l.saves)
			}
		})
	}
}

// TestWaits checks that a VM that is locked, or is another VM, is left alone. Nothing is permanently refused.
func TestWaits(t *testing.T) {
	cases := map[string]struct {
		reason string
		option string
		value  string
		wait   bool
		words  string
	}{
		"Locked": {reason: "A lock is waited for.", option: "lock", value: "backup", wait: true, words: "locked (backup)"},
		"Other":  {reason: "Another VM is somebody else's.", option: "smbios1", value: "uuid=" + other, words: other},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "9.2")
			before := ""
			l.edit(func(g *simulator.Guest) { before, g.Config[tc.option] = g.Config[tc.option], tc.value })
			err := l.next(back())
			if err == nil || kind.IsWait(err) != tc.wait || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
			l.is(v1alpha1.ActPending)
			l.called()
			l.edit(func(g *simulator.Guest) {
				if g.Config[tc.option] = before; before == "" {
					delete(g.Config, tc.option)
				}
			})
			l.must(l.next(back()))
			l.settled()
			l.is(v1alpha1.ActSucceeded)
		})
	}
}

// incomplete is a client of a cluster whose snapshots are incomplete.
type incomplete struct{ Client }

func (c incomplete) SnapshotTree(ctx context.Context, ref proxmox.Ref) (proxmox.SnapshotTree, error) {
	tree, err := c.Client.SnapshotTree(ctx, ref)
	for i := range tree.Snapshots {
		tree.Snapshots[i].State = "delete"
	}
	return tree, err
}

func safely(q *request) { q.Safety = true }

func TestRollback(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			l := newLab(t, version)
			l.must(l.root.Configure(t.Context(), ref, proxmox.Change{Set: proxmox.Params{"name": "changed"}}))
			q := back()
			safely(&q)
			l.must(l.next(q))
			l.is(v1alpha1.ActTakingSafetySnapshot)
			l.settled()
			l.is(v1alpha1.ActPending)
			l.must(l.next(q))
			l.is(v1alpha1.ActRollingBack)
			l.settled()
			l.is(v1alpha1.ActSucceeded)
			l.called("", "/s1/rollback")
			if g, _ := l.Guest(500); g.Config["name"] != "web" || g.Config["parent"] != "s1" || g.Snapshots[SafetyName("1")] == nil {
				t.Errorf("the VM is as at the snapshot, got %v", g.Config)
			}
			m := &namespaced.Machine{}
			Kind{}.Show(m, l.act.Record)
			if o := m.Observation().Rollback; o.SafetySnapshot != SafetyName("1") || o.Snapshot != "s1" || o.Time == nil {
				t.Errorf("it is shown, got %+v", o)
			}
		})
	}
}

// TestPower checks whether a VM that ran runs afterwards.
func TestPower(t *testing.T) {
	cases := map[string]struct {
		reason        string
		memory, start bool
		want          bool
	}{
		"Off":    {reason: "Proxmox VE stops it."},
		"Start":  {reason: "The VM is started if asked for.", start: true, want: true},
		"Memory": {reason: "A VM that goes back with its memory runs.", memory: true, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "9.2")
			l.started()
			l.taken("s2", tc.memory)
			l.must(l.next(request{Token: "1", Snapshot: "s2", AllowRunning: true, Start: tc.start}))
			l.settled()
			l.is(v1alpha1.ActSucceeded)
			for end := time.Now().Add(2 * time.Minute); l.running() != tc.want && time.Now().Before(end); {
				<-time.After(time.Millisecond)
			}
			if l.running() != tc.want {
				t.Errorf("%s\nruns: %t", tc.reason, !tc.want)
			}
		})
	}
}

// TestLostAnswer loses the answers of both calls, which are not repeated.
func TestLostAnswer(t *testing.T) {
	l, q := newLab(t, "9.2"), back()
	safely(&q)
	for range 2 {
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path + "**", CutAfter: true, Count: 1})
		if err := l.next(q); !proxmox.IsOutcomeUnknown(err) {
			t.Fatalf("the answer is lost, got %v", err)
		}
		for l.act.Record.Open() {
			if err := l.next(q); err == nil {
				t.Fatal("nothing is begun while a call is open")
			}
			l.settled()
		}
	}
	l.is(v1alpha1.ActSucceeded)
	l.called("", "/s1/rollback")
}

// slow is a client that gives up its calls after the default timeout, which may end the reconcile.
type slow struct {
	Client

	lab  *lab
	ends func()
}

func (c slow) over() {
	c.lab.now = c.lab.now.Add(30 * time.Second)
	c.ends()
}

func (c slow) TakeSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.SnapshotOptions) (proxmox.UPID, error) {
	defer c.over()
	return c.Client.TakeSnapshot(ctx, ref, o)
}

func (c slow) RollbackSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.RollbackOptions) (proxmox.UPID, error) {
	defer c.over()
	return c.Client.RollbackSnapshot(ctx, ref, o)
}

// lose loses the next call of a request before it has done anything, until the time of the reconcile is over, and settles half a minute later.
func (l *lab) lose(q request) {
	l.Helper()
	ctx, end := context.WithCancel(l.Context())
	defer end()
	fast := l.act.pve
	l.act.pve = slow{Client: fast, lab: l, ends: end}
	l.Inject(simulator.Fault{Method: http.MethodPost, Path: path + "**", CutBefore: true, Count: 1})
	_, err := l.act.next(ctx, q)
	l.act.pve = fast
	if !proxmox.IsOutcomeUnknown(err) || errors.Is(err, context.Canceled) {
		l.Fatalf("the answer is lost, and that is noted, got %v", err)
	}
	l.now = l.now.Add(31 * time.Second)
	if l.settled(); !l.act.Record.Open() {
		l.Fatal("it may show yet")
	}
}

// TestLostLate carries out the calls a while after their answers were lost: what they do belongs to the request.
func TestLostLate(t *testing.T) {
	l, q := newLab(t, "9.2"), back()
	safely(&q)
	late := func(call func() (proxmox.UPID, error)) {
		l.lose(q)
		if err := l.next(q); err == nil {
			t.Fatal("nothing is begun while a call is open")
		}
		l.ended(call())
		l.settled()
	}
	late(func() (proxmox.UPID, error) {
		return l.act.pve.TakeSnapshot(t.Context(), ref, proxmox.SnapshotOptions{Name: SafetyName("1")})
	})
	l.is(v1alpha1.ActPending)
	if !l.act.Record.Taken {
		t.Fatal("the safety snapshot is taken")
	}
	late(func() (proxmox.UPID, error) {
		return l.act.pve.RollbackSnapshot(t.Context(), ref, proxmox.RollbackOptions{Name: "s1"})
	})
	l.is(v1alpha1.ActSucceeded)
	l.called("", "", "/s1/rollback", "/s1/rollback")
}

// TestLostCall loses the calls. The safety snapshot is taken again, and the rollback is not repeated.
func TestLostCall(t *testing.T) {
	l, q := newLab(t, "9.2"), back()
	safely(&q)
	lose := func() {
		l.lose(q)
		l.now = l.now.Add(30 * time.Second)
		l.settled()
	}
	lose()
	l.is(v1alpha1.ActPending)
	l.must(l.next(q))
	l.settled()
	lose()
	l.is(v1alpha1.ActUnknown, "no task")
	l.called("", "", "/s1/rollback")
}

// TestFails lets tasks and calls fail: nothing is repeated.
func TestFails(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  simulator.Fault
		lock   bool
		safety bool
		words  []string
	}{
		"Task": {
			reason: "The task tells why.",
			fault:  simulator.Fault{Task: "qmrollback", TaskExit: "can't rollback, 's1' is not most recent"}, words: []string{"not most recent"},
		},
		"Locked": {
			reason: "A lock that stays is told.",
			fault:  simulator.Fault{Task: "qmrollback", TaskExit: "broken"}, lock: true, words: []string{"broken", "qm unlock 500"},
		},
		"Call": {
			reason: "What is refused has failed.",
			fault:  simulator.Fault{Method: http.MethodPost, Path: path + "/s1/rollback", Status: 403}, words: []string{"Permission"},
		},
		"Safety": {
			reason: "Nothing goes back before its safety snapshot is taken.", fault: simulator.Fault{Task: "qmsnapshot", TaskExit: "No space left on device"},
			safety: true, words: []string{"safety snapshot could not be taken", "no space", "nothing was rolled back"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, q := newLab(t, "9.2"), back()
			q.Safety = tc.safety
			l.Inject(tc.fault)
			l.must(l.next(q))
			if tc.lock {
				l.edit(func(g *simulator.Guest) { g.Config["lock"] = "rollback" })
			}
			l.settled()
			l.is(v1alpha1.ActFailed, tc.words...)
			if n := len(l.calls()); n != 1 {
				t.Errorf("%s\nit is called once, got %d", tc.reason, n)
			}
		})
	}
}

// TestWaitsForLock keeps the lock of the VM from tasks, as PVE holds it for a moment: only a call that has done nothing is repeated.
func TestWaitsForLock(t *testing.T) {
	const noLock = "can't lock file '/var/lock/qemu-server/lock-500.conf' - got timeout"
	cases := map[string]struct {
		reason string
		task   string
		exit   string
		held   time.Duration
		lock   string
		want   v1alpha1.MachineActState
	}{
		"Rollback": {reason: "A rollback that got no lock has done nothing.", task: taskRollback, exit: noLock, want: v1alpha1.ActPending},
		"Safety":   {reason: "A safety snapshot that got no lock was not taken.", task: taskSnapshot, exit: noLock, want: v1alpha1.ActPending},
		"Half":     {reason: "Disks may have gone back.", task: taskRollback, exit: noLock, lock: taskLock, want: v1alpha1.ActFailed},
		"Late":     {reason: "Somebody may have unlocked the VM since.", task: taskRollback, exit: noLock, held: seenSoon, want: v1alpha1.ActFailed},
		"Held": {
			reason: "The lock is held for longer than Proxmox VE needs.",
			task:   taskRollback, exit: noLock, held: 30 * time.Second, want: v1alpha1.ActFailed,
		},
		"OtherLock": {
			reason: "The lock of a storage is taken while disks go back.", task: taskRollback,
			exit: "can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout", want: v1alpha1.ActFailed,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, q := newLab(t, "9.2"), back()
			if tc.held == 30*time.Second {
				l.act.Record.Lock = tasktrack.LockWait{First: l.now, Last: l.now}
			}
			q.Safety = tc.task == taskSnapshot
			l.Inject(simulator.Fault{Task: tc.task, TaskExit: tc.exit, Count: 1})
			l.must(l.next(q))
			if tc.lock != "" {
				l.edit(func(g *simulator.Guest) { g.Config["lock"] = tc.lock })
			}
			l.now = l.now.Add(tc.held)
			l.settled()
			if l.is(tc.want); tc.want != v1alpha1.ActPending {
				return
			}
			if l.act.Record.Final() || l.act.Record.Open() || !strings.Contains(l.act.Record.Message, "holds the lock of the VM") {
				t.Errorf("%s\ngot %+v", tc.reason, l.act.Record)
			}
			for range 2 {
				if !l.act.Record.Final() {
					l.must(l.next(q))
					l.settled()
				}
			}
			l.is(v1alpha1.ActSucceeded)
		})
	}
}

func TestSafetyName(t *testing.T) {
	if n := SafetyName("a token"); len(n) != 24 || n == SafetyName("b") {
		t.Errorf("each token has its safety snapshot, got %s", n)
	}
}

// TestNodeGone takes the node down that works for a rollback, whose VM's configuration is moved to another node. Its task is waited for until the
// node is no longer a member of the cluster.
func TestNodeGone(t *testing.T) {
	cases := map[string]struct {
		reason string
		task   string
		call   func(*act.Record) *act.Call
		state  v1alpha1.MachineActState
		then   v1alpha1.MachineActState
	}{
		"Rollback": {
			reason: "The rollback may have been done.", task: taskRollback, call: func(r *act.Record) *act.Call { return &r.Call },
			state: v1alpha1.ActRollingBack, then: v1alpha1.ActUnknown,
		},
		"Safety": {
			reason: "The safety snapshot that was not taken is taken again.", task: taskSnapshot, call: func(r *act.Record) *act.Call { return &r.Taking },
			state: v1alpha1.ActTakingSafetySnapshot, then: v1alpha1.ActPending,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, q := newLab(t, "9.2"), back()
			safely(&q)
			r := l.act.Record
			u := proxmox.UPID("UPID:pve2:00000001:00000001:65000000:" + tc.task + ":500:crossplane@pve!demo:")
			r.Node, r.Safety, *tc.call(r) = "pve2", SafetyName("1"), act.Call{Begun: l.now.Add(-time.Hour).Unix(), Task: u}
			r.Enter(tc.state, "", l.now)
			l.PowerOff("pve2")
			l.settled()
			if l.is(tc.state); !r.Open() || !strings.Contains(r.Explanation(), "node pve2") {
				t.Fatalf("%s Got %+v: %s", tc.reason, r, r.Explanation())
			}
			l.Edit(func(s *simulator.State) {
				delete(s.Nodes, "pve2")
				for id, g := range s.Guests {
					if g.Node == "pve2" {
						delete(s.Guests, id)
					}
				}
			})
			l.settled()
			if l.is(tc.then); r.Open() || r.Explanation() != r.Message {
				t.Fatalf("%s Got %+v: %s", tc.reason, r, r.Explanation())
			}
			if tc.then == v1alpha1.ActUnknown {
				q.Token, l.act.Record = "2", r.Next("2", l.now)
			}
			for range 2 {
				l.must(l.next(q))
				l.settled()
			}
			l.is(v1alpha1.ActSucceeded)
			l.called("", "/s1/rollback")
		})
	}
}
