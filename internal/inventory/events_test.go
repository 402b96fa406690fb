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
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func upidOf(pid, kind, id, user string) proxmox.UPID {
	return proxmox.UPID("UPID:pve1:" + pid + ":00000002:00000003:" + kind + ":" + id + ":" + user + ":")
}

func running(u proxmox.UPID) proxmox.Task {
	return proxmox.Task{UPID: u, Type: u.Type(), ID: u.ID(), Running: true}
}

func over(u proxmox.UPID) proxmox.Task {
	return proxmox.Task{UPID: u, Type: u.Type(), ID: u.ID(), ExitStatus: "OK"}
}

func TestTaskFeed(t *testing.T) {
	theirs, ours := upidOf("1", "qmstop", "100", "root@pam"), upidOf("2", "qmstart", "101", "x@pve")
	backup, given := upidOf("3", "vzdump", "", "root@pam"), upidOf("4", "qmmove", "100-scsi1>101-unused0", "root@pam")
	cases := map[string]struct {
		reason string
		ours   map[proxmox.UPID]string
		lists  [][]proxmox.Task
		want   changes
	}{
		"First":   {reason: "What was before is no news.", lists: [][]proxmox.Task{{running(theirs)}}},
		"Begins":  {reason: "A task that begins touches its VM.", lists: [][]proxmox.Task{{}, {running(theirs)}}, want: changes{100: ChangeAll}},
		"Runs":    {reason: "A task that goes on does not again.", lists: [][]proxmox.Task{{}, {running(theirs)}, {running(theirs)}}},
		"Ends":    {reason: "A task that ends does.", lists: [][]proxmox.Task{{running(theirs)}, {over(theirs)}}, want: changes{100: ChangeAll}},
		"Short":   {reason: "A task that was over before the next look is seen once.", lists: [][]proxmox.Task{{}, {over(theirs)}}, want: changes{100: ChangeAll}},
		"Over":    {reason: "The end of a task is told once.", lists: [][]proxmox.Task{{}, {over(theirs)}, {over(theirs)}}},
		"Late":    {reason: "A list that is older than what is known says nothing.", lists: [][]proxmox.Task{{}, {over(theirs)}, {running(theirs)}}},
		"Away":    {reason: "What a node lists again that was away is no news.", lists: [][]proxmox.Task{{}, {over(theirs)}, {}, {over(theirs)}}},
		"Ours":    {reason: "Our own task is no sign.", ours: map[proxmox.UPID]string{ours: "sure"}, lists: [][]proxmox.Task{{}, {running(ours)}, {over(ours)}}},
		"Maybe":   {reason: "What may be ours waits.", ours: map[proxmox.UPID]string{ours: "maybe"}, lists: [][]proxmox.Task{{}, {running(ours)}}},
		"Another": {reason: "A task of our user that is not ours counts.", lists: [][]proxmox.Task{{}, {running(ours)}}, want: changes{101: ChangeAll}},
		"Given": {
			reason: "A task that gives a disk to another VM touches both.", lists: [][]proxmox.Task{{}, {over(given)}},
			want: changes{100: ChangeAll, 101: ChangeAll},
		},
		"Nobody": {reason: "A task without a VM touches none.", lists: [][]proxmox.Task{{}, {running(backup)}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, by, got := taskFeed{}, &pve{ours: tc.ours}, changes{}
			for _, list := range tc.lists {
				got = f.take(list, by, time.Unix(1, 0))
			}
			if !maps.Equal(tc.want, got) {
				t.Errorf("%s\ntake(): want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestMaybeOurs(t *testing.T) {
	u := upidOf("1", "qmstart", "100", "x@pve")
	by, f := &pve{ours: map[proxmox.UPID]string{u: "maybe"}}, taskFeed{}
	f.take(nil, by, time.Unix(1, 0))
	f.take([]proxmox.Task{running(u)}, by, time.Unix(1, 0))
	by.ours = nil
	if got := f.take([]proxmox.Task{running(u)}, by, time.Unix(1, 0)); got[100] != ChangeAll || len(got) != 1 {
		t.Errorf("A task that turns out to be another's is a sign then: got %v", got)
	}
}

func line(id, user, message string) proxmox.LogLine {
	return proxmox.LogLine{ID: id, User: user, Message: message, Time: time.Unix(1, 0)}
}

func TestLogFeed(t *testing.T) {
	task := upidOf("1", "qmstop", "100", "root@pam")
	old := line("1:pve1", "root@pam", "update VM 100: -cores 2")
	cases := map[string]struct {
		reason string
		lines  []proxmox.LogLine // Newest first, without the old one.
		want   changes
		more   bool
	}{
		"Nothing": {reason: "A line that was there is no news.", lines: []proxmox.LogLine{old}},
		"Update": {
			reason: "A change of options is one.",
			lines:  []proxmox.LogLine{line("2:pve1", "root@pam", "update VM 101: -cores 2 -description VM 7"), old},
			want:   changes{101: ChangeConfig},
		},
		"Other": {
			reason: "What else names a VM may have changed all.",
			lines:  []proxmox.LogLine{line("2:pve1", "root@pam", "delete snapshot VM 102: before"), old}, want: changes{102: ChangeAll},
		},
		"Task": {
			reason: "A task that was started is a change of its VM.", lines: []proxmox.LogLine{line("2:pve1", "root@pam", "starting task "+string(task)), old},
			want: changes{100: ChangeAll},
		},
		"Ours": {
			reason: "A line of our own call does not count.", lines: []proxmox.LogLine{line("2:pve1", "we", "update VM 100: -cores 2"), old},
			want: changes{},
		},
		"OurUser": {
			reason: "One of our user that is not our call's does.", lines: []proxmox.LogLine{line("2:pve1", "we", "update VM 103: -cores 2"), old},
			want: changes{103: ChangeConfig},
		},
		"Unnamed": {reason: "A line without a VM touches none.", lines: []proxmox.LogLine{line("2:pve1", "root@pam", "successful auth for user 'root@pam'"), old}},
		"TooShort": {
			reason: "Lines that do not reach back may not be all.",
			lines:  []proxmox.LogLine{line("9:pve1", "root@pam", "update VM 100: -cores 2")}, want: changes{100: ChangeConfig}, more: true,
		},
		"Restart": {
			reason: "A node that counts again has new lines.",
			lines:  []proxmox.LogLine{{ID: "1:pve1", Time: time.Unix(9, 0), Message: "update VM 104: -cores 1"}, old},
			want:   changes{104: ChangeConfig},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, f, by := logFeed{}, taskFeed{primed: true}, &pve{}
			if fresh := l.take([]proxmox.LogLine{old}, time.Unix(1, 0)); len(fresh) > 0 {
				t.Errorf("the first lines are no news, got %v", fresh)
			}
			more := l.more(tc.lines)
			fresh := l.take(tc.lines, time.Unix(2, 0))
			if got := f.changed(fresh, by, time.Unix(2, 0)); more != tc.more || !maps.Equal(tc.want, got) {
				t.Errorf("%s\ntake(): want %v more %t, got %v more %t", tc.reason, tc.want, tc.more, got, more)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	guest := proxmox.Guest{VMID: 100, Node: "pve1", Name: "a", Status: "running", Tags: []string{"b", "a"}, MaxCPU: 2, MaxMemory: 1, MaxDisk: 1, Uptime: time.Hour}
	cases := map[string]struct {
		reason string
		change func(*proxmox.Guest)
		want   bool
	}{
		"Same": {reason: "What changes by itself says nothing.", change: func(g *proxmox.Guest) { g.Uptime += time.Minute; g.CPU = 1; g.Memory = 7 }},
		"Tags": {reason: "The order of tags says nothing.", change: func(g *proxmox.Guest) { g.Tags = []string{"a", "b"} }},
		"Unknown": {
			reason: "A node that does not tell says nothing.",
			change: func(g *proxmox.Guest) { *g = proxmox.Guest{VMID: 100, Node: "pve1", Status: "unknown", Tags: g.Tags} },
		},
		"Restarted": {reason: "An uptime that goes backwards is a start.", change: func(g *proxmox.Guest) { g.Uptime = time.Minute }, want: true},
		"Stopped":   {reason: "A change of the status counts.", change: func(g *proxmox.Guest) { g.Status, g.Uptime = "stopped", 0 }, want: true},
		"Moved":     {reason: "A change of the node counts.", change: func(g *proxmox.Guest) { g.Node = "pve2" }, want: true},
		"Locked":    {reason: "A change of the lock counts.", change: func(g *proxmox.Guest) { g.Lock = "backup" }, want: true},
		"Tagged":    {reason: "A change of tags counts.", change: func(g *proxmox.Guest) { g.Tags = []string{"a"} }, want: true},
		"Pooled":    {reason: "A change of the pool counts.", change: func(g *proxmox.Guest) { g.Pool = "p" }, want: true},
		"Resized":   {reason: "A change of the size counts.", change: func(g *proxmox.Guest) { g.MaxDisk = 2 }, want: true},
		"HA":        {reason: "The state of HA counts.", change: func(g *proxmox.Guest) { g.HAState = "started" }, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := guest
			tc.change(&after)
			if got := summaryOf(&after).differs(summaryOf(&guest)); got != tc.want {
				t.Errorf("%s\ndiffers(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
	if !summaryOf(nil).differs(summaryOf(&guest)) {
		t.Error("A guest that is listed no more differs.")
	}
}

// A witness records what it is notified of about a guest.
type witness struct {
	used atomic.Int32

	mu    sync.Mutex
	all   []string
	last  time.Time
	until time.Time
}

func (w *witness) add(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, what)
}

// told returns the notifications since the last call.
func (w *witness) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

func (w *witness) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

func (w *witness) Changed(what Change) {
	w.add(map[Change]string{ChangeConfig: "config", ChangeAll: "all"}[what])
}

func (w *witness) Listed(g *proxmox.Guest) {
	if g == nil {
		w.add("gone")
		return
	}
	w.add(g.Status)
}

func (w *witness) Used(g *proxmox.Guest) {
	if g != nil && g.VMID == 100 {
		w.used.Add(1)
	}
}

func (w *witness) Missed() { w.add("doubt") }

func (w *witness) Since() (changed, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.until
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{guests: []proxmox.Guest{{VMID: 100, Status: "running"}, {VMID: 101, Status: "running"}}, privileges: proxmox.Privileges{syslog: true}}
		c := New(p)
		defer c.Close()
		w := &witness{}
		want := func(why string, told ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(told, w.told()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", why, diff)
			}
		}
		if c.Watch(t.Context(), "a", 100, w) {
			t.Error("Nobody has watched before.")
		}
		pass(time.Minute)
		pass(time.Second) // So that nothing is read at the moment when it is counted.
		want("Nothing has happened")
		calls, logs, used := p.calls.Load(), p.logs.Load(), w.used.Load()
		pass(time.Minute)
		if got := w.used.Load() - used; got != 6 {
			t.Errorf("In a minute: want told 6 times what the guest uses, once for each list, got %d", got)
		}
		if got := p.calls.Load() - calls; got != 18 || p.logs.Load()-logs != 12 {
			t.Errorf("In a minute: want 6 lists of resources, 12 of tasks and 12 of the log, got %d and %d", got, p.logs.Load()-logs)
		}
		p.set(func() {
			p.tasks = []proxmox.Task{over(upidOf("1", "qmstop", "100", "root@pam")), over(upidOf("2", "qmstop", "101", "root@pam"))}
		})
		pass(defaultEventPollInterval)
		want("A task of the guest", "all")
		p.set(func() { p.log = []proxmox.LogLine{line("1:pve1", "root@pam", "update VM 100: -cores 2")} })
		pass(defaultEventPollInterval)
		want("A line of the log", "config")
		w.look()
		p.set(func() { p.guests[0].Status = "stopped" })
		pass(defaultMaxAge)
		want("A list that may be older than what is known")
		pass(2 * defaultMaxAge)
		want("A list that says something else", "stopped")
		pass(time.Minute)
		want("It is told once")
		w.look()
		pass(time.Minute)
		want("The first list that shows how the guest was left is told", "stopped")
		if !c.Watch(t.Context(), "a", 100, w) {
			t.Error("It was watched all the time.")
		}
		p.set(func() { p.guests = p.guests[1:] })
		pass(defaultMaxAge)
		want("A guest that is listed no more", "gone")
		c.Unwatch("a")
		pass(defaultMaxAge + time.Second)
		n := p.calls.Load()
		pass(time.Hour)
		if p.calls.Load() != n {
			t.Error("Nobody watches, and it is read on.")
		}
	})
}

// TestWatchIsTakenOver replaces a watch while lists are compared, for the race detector.
func TestWatchIsTakenOver(t *testing.T) {
	p := &pve{guests: []proxmox.Guest{{VMID: 100, Status: "running"}}}
	c := New(p)
	defer c.Close()
	first, second := &witness{}, &witness{}
	c.Watch(t.Context(), "a", 100, first)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1000 {
			c.compare(p.guests, time.Now())
		}
	})
	for range 1000 {
		c.Watch(t.Context(), "a", 100, second)
		c.Watch(t.Context(), "a", 100, first)
	}
	wg.Wait()
	if first.used.Load()+second.used.Load() < 1000 {
		t.Errorf("each list is told to one of them, got %d and %d", first.used.Load(), second.used.Load())
	}
}

func TestWatchWithoutLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{}
		c := New(p)
		defer c.Close()
		c.Watch(t.Context(), "a", 100, &witness{})
		pass(time.Hour)
		if n := p.logs.Load(); n > 0 {
			t.Errorf("Who sees own lines only reads none, got %d reads", n)
		}
		p.set(func() { p.privileges = proxmox.Privileges{syslog: true} })
		pass(askAgain + time.Minute)
		if p.logs.Load() == 0 {
			t.Error("A privilege that was granted is never noticed.")
		}
	})
}

// TestEndInLog checks a task that is running in the last list while its end is reported by the log, whose reader is the next to run.
func TestEndInLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := upidOf("1", "qmconfig", "100", "root@pam"), upidOf("2", "qmstart", "101", "we")
		old := line("0:pve1", "root@pam", "old")
		p := &pve{
			privileges: proxmox.Privileges{syslog: true}, log: []proxmox.LogLine{old}, ours: map[proxmox.UPID]string{ours: "sure"},
			tasks: []proxmox.Task{running(theirs), running(ours)},
		}
		c := New(p, WithPollInterval(time.Hour), WithEventPollInterval(time.Hour))
		defer c.Close()
		c.Watch(t.Context(), "a", 100, &witness{})
		seen := func() (out []proxmox.UPID) {
			tasks, err := c.Tasks(t.Context(), Current)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range tasks {
				if l.Running {
					out = append(out, l.UPID)
				}
			}
			return out
		}
		if diff := cmp.Diff([]proxmox.UPID{theirs, ours}, seen()); diff != "" {
			t.Errorf("Tasks run while nothing says otherwise: -want, +got:\n%s", diff)
		}
		calls := p.calls.Load()
		p.set(func() {
			p.log = []proxmox.LogLine{
				line("2:pve1", "we", "end task "+string(ours)+" OK"), line("1:pve1", "root@pam", "end task "+string(theirs)+" OK"), old,
			}
		})
		if _, err := c.readLog(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]proxmox.UPID{ours}, seen()); diff != "" || p.calls.Load() != calls {
			t.Errorf("What has ended by the log does not run, how our own end tells who follows them, and nothing is read for that: -want, +got:\n%s", diff)
		}
	})
}

func TestLogTooShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{privileges: proxmox.Privileges{syslog: true}, log: []proxmox.LogLine{line("0:pve1", "root@pam", "old")}}
		c := New(p)
		defer c.Close()
		w := &witness{}
		c.Watch(t.Context(), "a", 100, w)
		p.set(func() {
			lines := []proxmox.LogLine{line("1:pve1", "root@pam", "update VM 100: -cores 2"), p.log[0]}
			for i := range fewLines {
				lines = append([]proxmox.LogLine{line(string(rune('a'+i))+":pve1", "root@pam", "else")}, lines...)
			}
			p.log = lines
		})
		pass(2 * defaultEventPollInterval)
		synctest.Wait()
		if diff := cmp.Diff([]string{"config"}, w.told()); diff != "" {
			t.Errorf("Lines beyond the first hundred are read too: -want, +got:\n%s", diff)
		}
	})
}

func TestHandoverWatches(t *testing.T) {
	cases := map[string]struct {
		reason string
		others bool
		stays  bool
	}{
		"Alone":  {reason: "What nobody else uses is left with nothing."},
		"Shared": {reason: "Others go on with what is theirs.", others: true, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, to := New(&pve{}), New(&pve{})
				defer from.Close()
				defer to.Close()
				w := &witness{}
				from.Watch(t.Context(), "ours", 100, w)
				from.Watch(t.Context(), "other", 101, &witness{})
				to.Handover(from, tc.others)
				if !to.Watches("ours", 100) || !to.Watch(t.Context(), "ours", 100, w) {
					t.Error("What is watched goes on being watched.")
				}
				if diff := cmp.Diff([]string{"doubt"}, w.told()); diff != "" {
					t.Errorf("What happened in between is not known: -want, +got:\n%s", diff)
				}
				for key, vmid := range map[string]int{"ours": 100, "other": 101} {
					if from.Watches(key, vmid) != tc.stays {
						t.Errorf("%s\n%s: want it watched there %t", tc.reason, key, tc.stays)
					}
				}
				pass(claimWithin + 2*defaultMaxAge)
				if !to.Watches("ours", 100) || to.Watches("other", 101) == tc.others {
					t.Errorf("%s\nwhat nobody claims is let go of, if it may be theirs", tc.reason)
				}
			})
		})
	}
}

// TestHandoverFollowed checks that both views see the end of a task.
func TestHandoverFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{tasks: []proxmox.Task{{UPID: "a", Running: true}}}
		from, to := New(p), New(p)
		defer from.Close()
		defer to.Close()
		f := make(followed, 10)
		from.Follow("a", f.done)
		to.Handover(from, true)
		p.set(func() { p.tasks = []proxmox.Task{{UPID: "a", ExitStatus: "OK"}} })
		pass(2 * defaultPollInterval)
		synctest.Wait()
		if got := f.told(); len(got) != 1 {
			t.Errorf("want the end of the task told once, got %v", got)
		}
	})
}

func TestKnownConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{privileges: proxmox.Privileges{syslog: true}}
		c := New(p)
		defer c.Close()
		reads := func(why string, want int64) {
			t.Helper()
			before := p.calls.Load()
			if _, err := c.Config(t.Context(), proxmox.Ref{Node: "pve1", VMID: 9000}); err != nil {
				t.Fatal(err)
			}
			if got := p.calls.Load() - before; got != want {
				t.Errorf("%s: want %d reads, got %d", why, want, got)
			}
		}
		reads("For the first time", 1)
		reads("At once", 0)
		pass(defaultMaxAge + time.Second)
		reads("While nobody looks for signs", 1)
		c.Watch(t.Context(), "a", 100, &witness{})
		reads("What nobody has watched may have changed unseen", 1)
		pass(time.Minute + time.Second)
		reads("While signs would be seen", 0)
		p.set(func() { p.log = []proxmox.LogLine{line("1:pve1", "root@pam", "update VM 9000: -cores 2")} })
		pass(defaultEventPollInterval)
		reads("After a sign", 1)
		pass(Stable + time.Second)
		reads("Later", 1)
	})
}

// TestWatchWaits begins a watch while the starting point is being read. Events after that must not count as part of it.
func TestWatchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{privileges: proxmox.Privileges{syslog: true}, gate: make(chan struct{})}
		c := New(p)
		defer c.Close()
		w := &witness{}
		go c.Watch(t.Context(), "a", 100, &witness{})
		synctest.Wait()
		watched := false
		go func() {
			c.Watch(t.Context(), "b", 101, w)
			watched = true
			p.set(func() { p.log = []proxmox.LogLine{line("1:pve1", "root@pam", "update VM 101: -cores 2")} })
		}()
		synctest.Wait()
		if watched {
			t.Error("It is not known yet what has been so far.")
		}
		close(p.gate)
		pass(2 * defaultEventPollInterval)
		synctest.Wait()
		if diff := cmp.Diff([]string{"config"}, w.told()); diff != "" {
			t.Errorf("What happens after Watch is told: -want, +got:\n%s", diff)
		}
	})
}

// TestLogMissed checks lines that cannot be seen: at first no lines can be read, and later more are added at once than PVE keeps.
func TestLogMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := func(first, n int) []proxmox.LogLine {
			var all []proxmox.LogLine
			for i := range n {
				all = append(all, line(fmt.Sprint(first-i), "root@pam", "else"))
			}
			return all
		}
		p := &pve{privileges: proxmox.Privileges{syslog: true}, err: errors.New("no answer")}
		c := New(p)
		defer c.Close()
		w := &witness{}
		c.Watch(t.Context(), "a", 100, w)
		p.set(func() { p.err, p.log = nil, lines(100, 50) })
		pass(2 * defaultEventPollInterval)
		synctest.Wait()
		if diff := cmp.Diff([]string{"doubt"}, w.told()); diff != "" {
			t.Errorf("What came before the log could be read is not known: -want, +got:\n%s", diff)
		}
		p.set(func() { p.log = lines(2000, 500) })
		pass(2 * defaultEventPollInterval)
		synctest.Wait()
		if diff := cmp.Diff([]string{"doubt"}, w.told()); diff != "" {
			t.Errorf("Lines that PVE has dropped are not known: -want, +got:\n%s", diff)
		}
		p.set(func() { p.log = lines(2200, 500) })
		pass(2 * defaultEventPollInterval)
		synctest.Wait()
		if told := w.told(); len(told) > 0 {
			t.Errorf("No line was missed, and told is %q", told)
		}
	})
}

// TestWatchInDispute checks a list that permanently differs from what is known, and then shows something new.
func TestWatchInDispute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{guests: []proxmox.Guest{{VMID: 100, Status: "running"}}}
		c := New(p)
		defer c.Close()
		w := &witness{}
		c.Watch(t.Context(), "a", 100, w)
		w.look()
		pass(time.Minute + time.Second) // So that nothing is read at the moment of the check.
		if told := w.told(); len(told) != 1 {
			t.Fatalf("The first list after a look is told, got %q", told)
		}
		w.look()
		w.mu.Lock()
		w.until = time.Now().Add(time.Hour)
		w.mu.Unlock()
		pass(10 * time.Minute)
		if told := w.told(); len(told) != 0 {
			t.Errorf("The same again is not told for a while, got %q", told)
		}
		p.set(func() { p.guests = []proxmox.Guest{{VMID: 100, Status: "stopped"}} })
		pass(time.Minute)
		if diff := cmp.Diff([]string{"stopped"}, w.told()); diff != "" {
			t.Errorf("What is new is told: -want, +got:\n%s", diff)
		}
		pass(time.Hour)
		w.look()
		pass(time.Minute)
		if diff := cmp.Diff([]string{"stopped"}, w.told()); diff != "" {
			t.Errorf("Later it is told again: -want, +got:\n%s", diff)
		}
	})
}

func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{privileges: proxmox.Privileges{syslog: true}}
		c := New(p)
		defer c.Close()
		c.Watch(t.Context(), "a", 100, &witness{})
		ref := proxmox.Ref{Node: "pve1", VMID: 9000}
		reads := func() int64 {
			before := p.calls.Load()
			if _, err := c.Config(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			return p.calls.Load() - before
		}
		if first, again := reads(), reads(); first != 1 || again != 0 {
			t.Errorf("want one read, got %d and %d", first, again)
		}
		c.InvalidateGuest(9000)
		if n := reads(); n != 1 {
			t.Errorf("What we have changed is read again, got %d reads", n)
		}
	})
}

// TestSnapshots checks that the snapshots of a VM are read once for all callers, and again after the VM was changed.
func TestSnapshots(t *testing.T) {
	p := &pve{}
	c := New(p)
	defer c.Close()
	reads := func(maxAge time.Duration) int64 {
		t.Helper()
		before := p.calls.Load()
		if tree, err := c.Snapshots(t.Context(), proxmox.Ref{Node: "pve1", VMID: 9000}, maxAge); err != nil || tree.Current != "pve1" {
			t.Fatalf("got %+v and %v", tree, err)
		}
		return p.calls.Load() - before
	}
	if first, again := reads(Stable), reads(Stable); first != 1 || again != 0 {
		t.Errorf("want one read, got %d and %d", first, again)
	}
	if n := reads(Fresh); n != 1 {
		t.Errorf("a fresh look reads, got %d reads", n)
	}
	c.InvalidateGuest(9001)
	if n := reads(Stable); n != 0 {
		t.Errorf("another VM is none of this one's concern, got %d reads", n)
	}
	c.InvalidateGuest(9000)
	if n := reads(Stable); n != 1 {
		t.Errorf("what was touched is read again, got %d reads", n)
	}
}

func TestCatchUpEdits(t *testing.T) {
	cases := map[string]struct {
		reason     string
		privileges proxmox.Privileges
		err        error
		want       bool
		told       []string
	}{
		"Log":   {reason: "Who may read the log is told of an edit.", privileges: proxmox.Privileges{syslog: true}, want: true, told: []string{"all"}},
		"Audit": {reason: "Who may see tasks only is not: an edit has none.", privileges: proxmox.Privileges{audit: true}},
		"Error": {reason: "Who gets no answer is told of no edit.", privileges: proxmox.Privileges{syslog: true}, err: errors.New("no answer")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, w := &pve{privileges: tc.privileges, log: []proxmox.LogLine{line("1", "root@pam", "else")}}, &witness{}
				c := New(p, WithEventPollInterval(time.Hour))
				defer c.Close()
				c.Watch(t.Context(), "a", 100, w)
				p.set(func() {
					p.err = tc.err
					u := upidOf("1", "qmstop", "100", "root@pam")
					p.log = append([]proxmox.LogLine{line("2", "root@pam", "end task "+string(u)+" OK")}, p.log...)
				})
				got := c.CatchUpEdits(t.Context(), Fresh)
				if diff := cmp.Diff(tc.told, w.told()); got != tc.want || diff != "" {
					t.Errorf("%s\nCatchUpEdits(): want %t, got %t, told -want, +got:\n%s", tc.reason, tc.want, got, diff)
				}
			})
		})
	}
}

func TestCatchUp(t *testing.T) {
	cases := map[string]struct {
		reason     string
		privileges proxmox.Privileges
		maxAge     time.Duration
		err        error
		want       bool
		told       []string
	}{
		"Tasks": {reason: "Who may see all tasks is told of them.", privileges: proxmox.Privileges{audit: true}, want: true, told: []string{"all"}},
		"Log":   {reason: "Who may read the log is told of all tasks.", privileges: proxmox.Privileges{syslog: true}, want: true, told: []string{"all"}},
		"Recent": {
			reason:     "A list that was read just now is read again by nobody for whom that is enough.",
			privileges: proxmox.Privileges{audit: true}, maxAge: Recent, want: true,
		},
		"None":  {reason: "Who may neither is not."},
		"Error": {reason: "Who gets no answer is told of nothing.", privileges: proxmox.Privileges{audit: true}, err: errors.New("no answer")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, w := &pve{privileges: tc.privileges, log: []proxmox.LogLine{line("1", "root@pam", "else")}}, &witness{}
				c := New(p, WithEventPollInterval(time.Hour))
				defer c.Close()
				c.Watch(t.Context(), "a", 100, w)
				p.set(func() {
					u := upidOf("1", "qmdestroy", "100", "root@pam")
					if p.err = tc.err; tc.privileges[audit] {
						p.tasks = []proxmox.Task{over(u)}
					}
					p.log = append([]proxmox.LogLine{line("2", "root@pam", "end task "+string(u)+" OK")}, p.log...)
				})
				got := c.CatchUp(t.Context(), tc.maxAge)
				if diff := cmp.Diff(tc.told, w.told()); got != tc.want || diff != "" {
					t.Errorf("%s\nCatchUp(): want %t, got %t, told -want, +got:\n%s", tc.reason, tc.want, got, diff)
				}
			})
		})
	}
}
