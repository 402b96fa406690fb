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

package inventory

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// pass advances the time of a bubble without waiting.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // Nobody waits for it.

// pve counts the calls, and answers when it may.
type pve struct {
	objectsClient

	calls atomic.Int64 // number of lists
	looks atomic.Int64 // number of reads of single tasks
	reads atomic.Int64 // number of reads of VMs' options

	// nodeLists counts the lists of the tasks of one node. A token that may not audit sees its own tasks only there. hidesOwn makes us such a token, and
	// runsAll makes every task run.
	nodeLists                 atomic.Int64
	own                       map[string][]proxmox.Task
	hidesOwn, runsAll, noTask bool

	// archive holds the ended tasks of nodes, and archives counts the lists of them.
	archive  []proxmox.Task
	archives atomic.Int64

	// deniesTask rejects reads of single tasks, and hangs is the node that does not return its tasks.
	deniesTask bool
	hangs      string

	mu     sync.Mutex
	guests []proxmox.Guest
	nodes  []proxmox.Node // pve1 if nil
	tasks  []proxmox.Task
	task   proxmox.Task
	err    error
	gate   chan struct{} // answers wait until it is closed, unless nil

	logs       atomic.Int64
	log        []proxmox.LogLine
	privileges proxmox.Privileges
	ours       map[proxmox.UPID]string

	nameless bool  // true if its node is in no cluster
	hidden   error // error of reads of the cluster's state
	corosync map[string][]string
}

func (p *pve) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *pve) wait(ctx context.Context) error {
	p.calls.Add(1)
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pve) Resources(ctx context.Context) (proxmox.Resources, error) {
	if err := p.wait(ctx); err != nil {
		return proxmox.Resources{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	nodes := p.nodes
	if nodes == nil {
		nodes = []proxmox.Node{{Name: "pve1"}}
	}
	return proxmox.Resources{
		Guests: slices.Clone(p.guests), Nodes: nodes, Storages: []proxmox.Storage{{Name: "local"}},
	}, p.err
}

func (p *pve) Log(_ context.Context, most int) ([]proxmox.LogLine, error) {
	p.logs.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log[:min(most, len(p.log))]), p.err
}

func (p *pve) Permissions(_ context.Context, path string) (map[string]proxmox.Privileges, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return map[string]proxmox.Privileges{"/": p.privileges, path: p.privileges}, p.err
}

func (p *pve) Version(ctx context.Context) (proxmox.Version, error) {
	return proxmox.Version{Version: "9.2"}, p.wait(ctx)
}

func (p *pve) Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	return proxmox.VMConfig{Values: map[string]string{"name": ref.Node}}, p.wait(ctx)
}

func (p *pve) Volumes(ctx context.Context, _, _, _ string) ([]proxmox.Volume, error) {
	return []proxmox.Volume{{ID: "local:iso/a.iso"}}, p.wait(ctx)
}

func (p *pve) StartedByUs(u proxmox.UPID) (sure, maybe bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ours[u] == "sure", p.ours[u] == "maybe"
}

func (p *pve) LoggedByUs(vmid, user string) bool { return user == "we" && vmid == "100" }

func (p *pve) Tasks(ctx context.Context) ([]proxmox.Task, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks, p.err
}

func (p *pve) Bridges(ctx context.Context, node string) ([]proxmox.Bridge, error) {
	return []proxmox.Bridge{{Name: "vmbr-" + node}}, p.wait(ctx)
}

func (p *pve) PoolMembers(context.Context, string) (proxmox.PoolMembers, error) {
	return proxmox.PoolMembers{VMIDs: []int{100}}, nil
}

func (p *pve) PCIMappings(ctx context.Context) ([]proxmox.PCIMapping, error) {
	return []proxmox.PCIMapping{{Name: "gpu"}}, p.wait(ctx)
}

func (p *pve) Replications(ctx context.Context) ([]proxmox.Replication, error) {
	return []proxmox.Replication{{ID: "100-0"}}, p.wait(ctx)
}

func (p *pve) SnapshotTree(ctx context.Context, ref proxmox.Ref) (proxmox.SnapshotTree, error) {
	return proxmox.SnapshotTree{Current: ref.Node}, p.wait(ctx)
}

func (p *pve) Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
	p.reads.Add(1)
	return []proxmox.PendingValue{{Key: "name", Value: new(ref.Node)}}, p.wait(ctx)
}

func (p *pve) HARules(ctx context.Context) (proxmox.HARules, error) {
	return proxmox.HARules{Rules: []proxmox.HARule{{Name: "r1"}}}, p.wait(ctx)
}

func (p *pve) HAResources(ctx context.Context) (map[int]proxmox.HASettings, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return map[int]proxmox.HASettings{100: {"state": "started"}}, p.err
}

func (p *pve) HAStatus(ctx context.Context) (proxmox.HAStatus, error) {
	return proxmox.HAStatus{Quorum: "OK"}, p.wait(ctx)
}

func (p *pve) VNets(ctx context.Context) ([]proxmox.VNet, error) {
	return []proxmox.VNet{{Name: "blue"}}, p.wait(ctx)
}

func (p *pve) Zones(ctx context.Context) ([]proxmox.Zone, error) {
	return []proxmox.Zone{{Name: "z1"}}, p.wait(ctx)
}

func (p *pve) ClusterOptions(ctx context.Context) (proxmox.Settings, error) {
	return proxmox.Settings{}, p.wait(ctx)
}

func (p *pve) NodeStatus(ctx context.Context, _ string) (proxmox.NodeStatus, error) {
	return proxmox.NodeStatus{Kernel: "6.17"}, p.wait(ctx)
}

func (p *pve) NodeConfig(ctx context.Context, _ string) (proxmox.Settings, error) {
	return proxmox.Settings{}, p.wait(ctx)
}

func (p *pve) NodeDNS(ctx context.Context, _ string) (proxmox.DNS, error) {
	return proxmox.DNS{SearchDomain: "lab"}, p.wait(ctx)
}

func (p *pve) NodeTimeZone(ctx context.Context, _ string) (string, error) {
	return "Etc/UTC", p.wait(ctx)
}

func (p *pve) NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	at := time.Unix(1000, 0)
	return []proxmox.Task{
		{UPID: upidOf("1", taskType, "", "root@pam"), Node: node, Start: at, ExitStatus: "OK"},
		{UPID: upidOf("2", taskType, "", "root@pam"), Node: node, Start: at.Add(time.Hour), ExitStatus: "OK"},
		{UPID: upidOf("3", taskType, "", "root@pam"), Node: node, Start: at.Add(2 * time.Hour), Running: true},
	}, nil
}

func (p *pve) TaskLines(ctx context.Context, _ proxmox.UPID, start, limit int) ([]string, int, error) {
	const total = pageLines + 1
	lines := slices.Repeat([]string{"INFO: "}, min(limit, total-start))
	if start > 0 {
		lines[0] = "INFO: starting new backup job: vzdump 100"
	}
	return lines, total, p.wait(ctx)
}

func (p *pve) Fingerprints(ctx context.Context) (map[string]string, error) {
	return map[string]string{"pve1": "AA"}, p.wait(ctx)
}

func (p *pve) CorosyncLinks(ctx context.Context) (map[string][]string, error) {
	return p.corosync, p.wait(ctx)
}

func (p *pve) ClusterStatus(ctx context.Context) (proxmox.ClusterStatus, error) {
	if err := p.wait(ctx); err != nil {
		return proxmox.ClusterStatus{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hidden != nil {
		return proxmox.ClusterStatus{}, p.hidden
	}
	members := []proxmox.ClusterNode{}
	for _, n := range p.nodes {
		members = append(members, proxmox.ClusterNode{Name: n.Name})
	}
	if p.nameless {
		return proxmox.ClusterStatus{Quorate: true, Nodes: members}, p.err
	}
	return proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: members}, p.err
}

func (p *pve) Task(_ context.Context, u proxmox.UPID) (proxmox.Task, error) {
	p.looks.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.hangs != "" && u.Node() == p.hangs:
		return proxmox.Task{}, &proxmox.Error{Status: 595, Message: "No route to host"}
	case p.noTask:
		return proxmox.Task{}, &proxmox.Error{Status: http.StatusInternalServerError, Message: "no such task"}
	case p.deniesTask:
		return proxmox.Task{}, &proxmox.Error{Status: http.StatusForbidden, Message: "Permission check failed (/nodes/pve1, Sys.Audit)"}
	case p.runsAll:
		return running(u), nil
	}
	return p.task, p.err
}

func (p *pve) OwnTasks(_ context.Context, node string) ([]proxmox.Task, error) {
	p.nodeLists.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if node == p.hangs {
		return nil, &proxmox.Error{Status: 595, Message: "No route to host"}
	}
	return slices.Clone(p.own[node]), p.err
}

func (p *pve) EndedTasks(_ context.Context, node string, since time.Time) ([]proxmox.Task, error) {
	p.archives.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if node == p.hangs {
		return nil, &proxmox.Error{Status: 595, Message: "No route to host"}
	}
	return slices.DeleteFunc(slices.Clone(p.archive), func(t proxmox.Task) bool { return t.UPID.Node() != node || t.UPID.Start().Before(since) }), p.err
}

func (p *pve) ListsOwnTasks([]proxmox.Task) bool { return !p.hidesOwn }

func (p *pve) TraceEnd(proxmox.Task) {}

func TestOneReadForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{gate: make(chan struct{}), guests: []proxmox.Guest{{VMID: 100}}}
		c := New(p)
		defer c.Close()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if g, err := c.Guests(t.Context(), Current); err != nil || len(g) != 1 {
					t.Errorf("want one guest, got %v, %v", g, err)
				}
			})
		}
		synctest.Wait()
		close(p.gate)
		wg.Wait()
		if n := p.calls.Load(); n != 1 {
			t.Errorf("50 callers at once: want one read, got %d", n)
		}
	})
}

func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{}
		c := New(p, WithMaxAge(10*time.Second))
		defer c.Close()
		read := func(why string, want int64, maxAge time.Duration) {
			t.Helper()
			if _, err := c.Guests(t.Context(), maxAge); err != nil {
				t.Fatal(err)
			}
			if n := p.calls.Load(); n != want {
				t.Errorf("%s: want %d reads in all, got %d", why, want, n)
			}
		}
		read("The first read", 1, Current)
		pass(10 * time.Second)
		read("As old as may be", 1, Current)
		pass(time.Second)
		read("Too old", 2, Current)
		read("Fresh", 3, Fresh)
		read("After a fresh one", 3, Current)
	})
}

func TestLists(t *testing.T) {
	p := &pve{}
	now := time.Unix(1, 0)
	c := New(p, WithClock(func() time.Time { return now }), WithPollInterval(time.Minute))
	defer c.Close()
	for range 2 {
		if n, err := c.Nodes(t.Context()); err != nil || len(n) != 1 {
			t.Errorf("nodes: %v, %v", n, err)
		}
		if s, err := c.Storages(t.Context()); err != nil || len(s) != 1 {
			t.Errorf("storages: %v, %v", s, err)
		}
		if _, err := c.Tasks(t.Context(), Current); err != nil {
			t.Error(err)
		}
	}
	if n := p.calls.Load(); n != 2 {
		t.Errorf("want one read of resources and one of tasks, got %d", n)
	}
	if _, err := c.Tasks(t.Context(), Fresh); err != nil || p.calls.Load() != 3 {
		t.Errorf("tasks are read again: %v after %d reads", err, p.calls.Load())
	}
}

func TestFailedReadIsNotKept(t *testing.T) {
	boom := errors.New("boom")
	p := &pve{err: boom}
	c := New(p)
	defer c.Close()
	if _, err := c.Guests(t.Context(), Current); !errors.Is(err, boom) {
		t.Errorf("want the error, got %v", err)
	}
	p.set(func() { p.err, p.guests = nil, []proxmox.Guest{{VMID: 100}} })
	if g, err := c.Guests(t.Context(), Current); err != nil || len(g) != 1 {
		t.Errorf("want another read after a failure, got %v, %v", g, err)
	}
}

func TestCallerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{gate: make(chan struct{}), guests: []proxmox.Guest{{VMID: 100}}}
		c := New(p)
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		impatient, patient := make(chan error, 1), make(chan error, 1)
		go func() { _, err := c.Guests(ctx, Current); impatient <- err }()
		synctest.Wait()
		go func() { _, err := c.Guests(t.Context(), Current); patient <- err }()
		synctest.Wait()
		cancel()
		if err := <-impatient; !errors.Is(err, context.Canceled) {
			t.Errorf("who began the read and goes gets an error, got %v", err)
		}
		close(p.gate)
		if err := <-patient; err != nil || p.calls.Load() != 1 {
			t.Errorf("who stays gets the answer of that read, got %v after %d reads", err, p.calls.Load())
		}
	})
}

func TestFreshReadJoinsNoOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := make(chan struct{})
		p := &pve{gate: old}
		c := New(p)
		defer c.Close()
		first := make(chan int, 1)
		go func() { g, _ := c.Guests(t.Context(), Current); first <- len(g) }()
		synctest.Wait()
		p.set(func() { p.gate, p.guests = nil, []proxmox.Guest{{VMID: 100}} })
		if g, err := c.Guests(t.Context(), Fresh); err != nil || len(g) != 1 {
			t.Errorf("want a read that began now, got %v, %v", g, err)
		}
		p.set(func() { p.guests = nil })
		close(old)
		<-first
		if g, err := c.Guests(t.Context(), Current); err != nil || len(g) != 1 {
			t.Errorf("a read that began earlier must not replace a newer one, got %v, %v", g, err)
		}
	})
}

// TestGuestsSince checks that callers who ask after the ends of several tasks share a list that was requested after them, and no older one.
func TestGuestsSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := make(chan struct{})
		p := &pve{gate: old}
		c := New(p)
		defer c.Close()
		go func() { _, _ = c.Guests(t.Context(), Current) }()
		synctest.Wait()
		pass(time.Millisecond)
		ended := time.Now()
		pass(time.Millisecond)
		p.set(func() { p.gate, p.guests = nil, []proxmox.Guest{{VMID: 100}} })
		for range 3 {
			if g, err := c.GuestsSince(t.Context(), ended); err != nil || len(g) != 1 {
				t.Errorf("want a list that was asked for since, got %v, %v", g, err)
			}
		}
		if n := p.calls.Load(); n != 2 {
			t.Errorf("want one read beside the older one, got %d", n-1)
		}
		close(old)
		if _, err := c.GuestsSince(t.Context(), time.Now()); err != nil || p.calls.Load() != 3 {
			t.Errorf("want another read after a later end, got %v after %d reads", err, p.calls.Load())
		}
		gate := make(chan struct{})
		p.set(func() { p.gate = gate })
		ended = time.Now()
		pass(time.Millisecond)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _, _ = c.GuestsSince(t.Context(), ended) })
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		if n := p.calls.Load(); n != 4 {
			t.Errorf("5 callers while a read is under way that has begun since: want them to share it, got %d reads", n-3)
		}
	})
}

func TestReadEndsWithTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{gate: make(chan struct{})}
		c := New(p)
		ended := make(chan error, 1)
		go func() { _, err := c.Guests(t.Context(), Current); ended <- err }()
		synctest.Wait()
		c.Close()
		if err := <-ended; err == nil {
			t.Error("want an error when the view is closed")
		}
	})
}

func TestReadTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&pve{gate: make(chan struct{})})
		defer c.Close()
		if _, err := c.Guests(context.Background(), Current); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read that is never answered must end, got %v", err)
		}
	})
}

// followed receives the ends of tasks.
type followed chan proxmox.Task

func (f followed) done(task proxmox.Task) { f <- task }

// told returns the tasks whose ends were reported so far.
func (f followed) told() []string {
	synctest.Wait()
	var all []string
	for len(f) > 0 {
		task := <-f
		all = append(all, string(task.UPID)+" "+task.ExitStatus)
	}
	return all
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{tasks: []proxmox.Task{{UPID: "a", Running: true}, {UPID: "b", Running: true}}}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		want := func(why string, tasks ...string) {
			t.Helper()
			if got := f.told(); fmt.Sprint(got) != fmt.Sprint(tasks) {
				t.Errorf("%s: want %v, got %v", why, tasks, got)
			}
		}
		c.Follow("a", f.done)
		c.Follow("b", f.done)
		pass(5500 * time.Millisecond)
		want("Tasks that run")
		if n := p.calls.Load(); n != 5 {
			t.Errorf("One poll a second for all tasks: want 5, got %d", n)
		}
		p.set(func() { p.tasks[1] = proxmox.Task{UPID: "b", ExitStatus: "boom"} })
		pass(time.Second)
		want("A task that failed", "b boom")
		p.set(func() { p.tasks[0] = proxmox.Task{UPID: "a", ExitStatus: "OK"} })
		pass(time.Second)
		want("A task that ended well", "a OK")
		n := p.calls.Load()
		pass(time.Hour)
		if p.calls.Load() != n {
			t.Errorf("With nothing to follow nothing is polled, got %d polls", p.calls.Load()-n)
		}
		c.Follow("b", f.done)
		pass(time.Second)
		want("A task that had ended before", "b boom")
	})
}

// TestFollowDropped checks that tasks which a list has dropped, because many others have ended after them, are read without delay.
func TestFollowDropped(t *testing.T) {
	const many = 2 * mostEnds
	cases := map[string]struct {
		reason         string
		tasks, unsaved int
		hangs          string
		archives       int64 // number of lists of the node
		looks, ends    int   // number of reads of single tasks and of reported ends, within the next second
	}{
		"Few":     {reason: "A few tasks are asked for one by one.", tasks: fewEnds, looks: fewEnds, ends: fewEnds},
		"Many":    {reason: "One list of their node tells of many.", tasks: many, archives: 1, ends: many},
		"Unsaved": {reason: "What that list lacks is asked for.", tasks: 10, unsaved: 4, archives: 1, looks: 4, ends: 10},
		"Hangs":   {reason: "A node that does not answer is asked again later.", tasks: 10, hangs: "pve1", archives: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pve{task: proxmox.Task{ExitStatus: "OK"}, hangs: tc.hangs}
				c := New(p, WithPollInterval(time.Second))
				defer c.Close()
				f := make(followed, many)
				for i := range tc.tasks {
					u := upidOf(strconv.Itoa(i), "qmstart", "100", "root@pam")
					p.set(func() {
						p.tasks = append(p.tasks, proxmox.Task{UPID: u, Running: true})
						if i >= tc.unsaved {
							p.archive = append(p.archive, proxmox.Task{UPID: u, ExitStatus: "OK"})
						}
					})
					c.Follow(u, f.done)
				}
				pass(2 * time.Second)
				synctest.Wait()
				if n := p.looks.Load() + p.archives.Load(); n != 0 {
					t.Errorf("want no look at tasks that are listed, got %d", n)
				}
				p.set(func() { p.tasks = nil })
				pass(time.Second)
				synctest.Wait()
				if looks, lists, ends := p.looks.Load(), p.archives.Load(), len(f); looks != int64(tc.looks) || lists != tc.archives || ends != tc.ends {
					t.Errorf("%s\nwant %d looks, %d lists and %d ends, got %d, %d and %d", tc.reason, tc.looks, tc.archives, tc.ends, looks, lists, ends)
				}
			})
		})
	}
}

func TestFollowUnlisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{task: proxmox.Task{UPID: "a", Running: true}}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		c.Follow("a", f.done)
		pass((missesBeforeLook - 1) * time.Second)
		synctest.Wait()
		if n := p.looks.Load(); n != 0 {
			t.Errorf("A task may not be visible at once: want no look, got %d", n)
		}
		pass(2 * time.Second)
		if got := f.told(); len(got) != 0 || p.looks.Load() == 0 {
			t.Errorf("A task that runs unlisted is looked at, got %v after %d looks", got, p.looks.Load())
		}
		p.set(func() { p.task = proxmox.Task{UPID: "a", ExitStatus: "OK"} })
		pass(2 * time.Second)
		if got := f.told(); len(got) != 1 {
			t.Errorf("The end of a task that is not listed is told, got %v", got)
		}
	})
}

// TestFollowedPace checks that a task which no list shows is read by itself, at first soon and then every five seconds, however often lists are read.
func TestFollowedPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{task: proxmox.Task{UPID: "a", Running: true}}
		c := New(p, WithPollInterval(time.Second/5))
		defer c.Close()
		c.Follow("a", make(followed, 1).done)
		pass(20 * time.Second)
		synctest.Wait()
		first := p.looks.Load()
		if first < 4 || first > 7 {
			t.Errorf("want 4 to 7 looks in 20 seconds, ever more seldom, got %d", first)
		}
		pass(10 * time.Minute)
		synctest.Wait()
		if n := p.looks.Load() - first; n < 100 || n > 120 {
			t.Errorf("want a look every five seconds, got %d in ten minutes", n)
		}
	})
}

func TestFollowThroughFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{err: errors.New("boom")}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		c.Follow("a", f.done)
		pass(time.Minute)
		p.set(func() { p.err, p.tasks = nil, []proxmox.Task{{UPID: "a", ExitStatus: "OK"}} })
		pass(time.Second)
		if got := f.told(); len(got) != 1 {
			t.Errorf("A cluster that cannot be reached for a while loses no task, got %v", got)
		}
	})
}

func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{tasks: []proxmox.Task{{UPID: "a", Running: true}}}
		c := New(p, WithPollInterval(time.Minute))
		f := make(followed, 10)
		c.Follow("a", f.done)
		pass(giveUpAfter + 2*time.Minute)
		synctest.Wait()
		n := p.calls.Load()
		pass(time.Hour)
		if p.calls.Load() != n {
			t.Error("A task that never ends is followed for ever")
		}
		c.Follow("a", f.done)
		c.Close()
		synctest.Wait() // The bubble fails unless the poll ends, too.
	})
}

func TestReserveVMID(t *testing.T) {
	now := time.Unix(1, 0)
	p := &pve{guests: []proxmox.Guest{{VMID: 100}, {VMID: 102}}}
	c := New(p, WithClock(func() time.Time { return now }))
	defer c.Close()
	want := func(why, owner string, lowest, highest, id int) {
		t.Helper()
		got, err := c.ReserveVMID(t.Context(), owner, lowest, highest)
		if got != id || (err != nil) != (id == 0) {
			t.Errorf("%s: want %d, got %d, %v", why, id, got, err)
		}
	}
	want("The lowest free one", "a", 100, 105, 101)
	want("The same for the same owner", "a", 100, 105, 101)
	want("Another for another", "b", 100, 105, 103)
	c.BlockVMID(101)
	want("A VMID that was lost", "a", 100, 105, 104)
	want("The highest", "c", 105, 105, 105)
	want("None left", "d", 100, 105, 0)
	want("A range of one that is taken", "d", 100, 100, 0)
	now = now.Add(reservedFor)
	want("What was reserved long ago and never taken", "e", 100, 105, 101)
	p.set(func() { p.err = errors.New("boom") })
	now = now.Add(time.Hour)
	want("Without the list of guests", "e", 100, 105, 0)
}

func TestRenewVMID(t *testing.T) {
	now := time.Unix(1, 0)
	c := New(&pve{}, WithClock(func() time.Time { return now }), WithMaxAge(time.Hour))
	defer c.Close()
	reserve := func(why, owner string, want int) {
		t.Helper()
		if id, err := c.ReserveVMID(t.Context(), owner, 100, 109); err != nil || id != want {
			t.Errorf("%s: want VMID %d, got %d, %v", why, want, id, err)
		}
	}
	reserve("The lowest", "b", 100)
	c.RenewVMID(100, "a")
	reserve("What was given before a restart is not given again", "b", 101)
	reserve("But to who had it", "a", 100)
	now = now.Add(reservedFor)
	reserve("Who asks again keeps it however long that is ago", "b", 101)
	reserve("What is not asked for any more is free", "d", 100)
	reserve("Who has lost it gets another", "a", 102)
}

// TestReserveMany checks that each reservation continues where the last one ended, while the list of guests is the same.
func TestReserveMany(t *testing.T) {
	const n, lowest = 1000, 10_000
	p := &pve{guests: make([]proxmox.Guest, n)}
	for i := range p.guests {
		p.guests[i].VMID = lowest + i
	}
	c := New(p, WithMaxAge(time.Hour))
	defer c.Close()
	for i := range n {
		id, err := c.ReserveVMID(t.Context(), fmt.Sprint(i), lowest, lowest+2*n)
		if err != nil || id != lowest+n+i {
			t.Fatalf("want VMID %d, got %d, %v", lowest+n+i, id, err)
		}
		if next := c.ids.scan.next; next < id {
			t.Fatalf("want the next search to begin at VMID %d, got %d", id, next)
		}
	}
}

func TestReserveVMIDAtOnce(t *testing.T) {
	c := New(&pve{guests: []proxmox.Guest{{VMID: 110}}})
	defer c.Close()
	var wg sync.WaitGroup
	ids := make(chan int, 100)
	for i := range cap(ids) {
		wg.Go(func() {
			id, err := c.ReserveVMID(t.Context(), fmt.Sprint("owner", i), 100, 1000)
			if err != nil {
				t.Error(err)
			}
			ids <- id
		})
	}
	wg.Wait()
	close(ids)
	seen := map[int]bool{110: true}
	for id := range ids {
		if seen[id] || id < 100 || id > 200 {
			t.Errorf("VMID %d was given twice, is taken, or is not among the lowest", id)
		}
		seen[id] = true
	}
}

func TestInfrastructure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{}
		c := New(p)
		defer c.Close()
		read := func() {
			for _, node := range []string{"pve1", "pve2"} {
				b, err := c.Bridges(t.Context(), node, Relaxed)
				if err != nil || len(b) != 1 || b[0].Name != "vmbr-"+node {
					t.Errorf("Bridges(%q): got %v, %v", node, b, err)
				}
			}
			if m, err := c.PCIMappings(t.Context(), Relaxed); err != nil || len(m) != 1 {
				t.Errorf("PCIMappings(): got %v, %v", m, err)
			}
			if s, err := c.ClusterStatus(t.Context(), Relaxed); err != nil || s.Name != "lab" {
				t.Errorf("ClusterStatus(): got %v, %v", s, err)
			}
			if f, err := c.Fingerprints(t.Context()); err != nil || f["pve1"] != "AA" {
				t.Errorf("Fingerprints(): got %v, %v", f, err)
			}
		}
		read()
		pass(Relaxed)
		read()
		if got := p.calls.Load(); got != 5 {
			t.Errorf("want one call for each node and list while it is young, got %d", got)
		}
		pass(time.Second)
		read()
		if got := p.calls.Load(); got != 9 {
			t.Errorf("want all but the fingerprints asked again later, got %d calls", got)
		}
	})
}

// TestSilentCluster checks that a cluster that does not answer does not block callers for long, which could use another one meanwhile.
func TestSilentCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		p := &pve{gate: gate, err: &proxmox.Error{Status: 599, Message: "no answer in time"}}
		c := New(p)
		defer c.Close()
		waited := func() time.Duration {
			begun := time.Now()
			if _, err := c.Resources(t.Context(), Current); !proxmox.IsUnavailable(err) {
				t.Errorf("want that there is no answer, got %v", err)
			}
			return time.Since(begun)
		}
		first := make(chan time.Duration)
		go func() { first <- waited() }()
		pass(4 * time.Second)
		if got, want := waited(), joinTimeout-4*time.Second; got != want {
			t.Errorf("Who joins a read waits until it has taken %s: want %s, got %s", joinTimeout, want, got)
		}
		if got := waited(); got != retryTimeout {
			t.Errorf("After that nobody waits for longer than %s, got %s", retryTimeout, got)
		}
		pass(20 * time.Second)
		close(gate)
		if got := <-first; got < 30*time.Second {
			t.Errorf("Who has begun the read waits for its end, got %s", got)
		}
		p.set(func() { p.gate = make(chan struct{}) })
		for range 3 {
			if got := waited(); got != retryTimeout {
				t.Errorf("After a read without an answer nobody waits for longer than %s, got %s", retryTimeout, got)
			}
		}
		p.set(func() { close(p.gate); p.gate, p.err = nil, nil })
		pass(time.Second)
		if _, err := c.Resources(t.Context(), Fresh); err != nil {
			t.Errorf("A cluster that answers again is read, got %v", err)
		}
	})
}
