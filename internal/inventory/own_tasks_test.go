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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// runningOf returns the UPIDs of the running tasks in a list.
func runningOf(t *testing.T, read func(context.Context) ([]proxmox.Task, error)) string {
	t.Helper()
	list, err := read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []proxmox.UPID
	for _, one := range list {
		if one.Running {
			all = append(all, one.UPID)
		}
	}
	return fmt.Sprint(all)
}

// TestOwnTaskIsNotListed follows a task of a token without Sys.Audit on /, for which PVE lists no tasks at all.
func TestOwnTaskIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := upidOf("1", "qmshutdown", "100", "we@pve!token")
		p := &pve{task: running(u), hidesOwn: true}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		c.Follow(u, f.done)
		pass(10 * time.Minute)
		want := fmt.Sprint([]proxmox.UPID{u})
		if got := runningOf(t, recent(c)); got != want {
			t.Errorf("A task runs until PVE says otherwise, whatever the list lacks: want %s, got %s", want, got)
		}
		if got := runningOf(t, fresh(c)); got != want {
			t.Errorf("So it does in a list that is read again: want %s, got %s", want, got)
		}
		if n, most := p.looks.Load(), int64(10*time.Minute/lastLook)+5; n > most || n == 0 {
			t.Errorf("A task that runs for long is asked for ever more seldom: want at most %d calls, got %d", most, n)
		}
		p.set(func() { p.task.Running, p.task.ExitStatus = false, "boom" })
		pass(lastLook + time.Second)
		if got := fmt.Sprint(f.told()); got != fmt.Sprintf("[%s boom]", u) {
			t.Errorf("Its end is reported, got %s", got)
		}
		list, _ := c.Tasks(t.Context(), time.Second)
		if len(list) != 1 || list[0].Running || list[0].ExitStatus != "boom" {
			t.Errorf("The list has how it ended while others may not know that yet, got %v", list)
		}
		pass(2 * endedFor)
		if list, _ := c.Tasks(t.Context(), time.Second); len(list) != 0 {
			t.Errorf("A task that has ended is forgotten, got %v", list)
		}
	})
}

func TestOwnTaskIsAskedForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := upidOf("1", "qmstart", "100", "we@pve!token")
		p := &pve{task: over(u), hidesOwn: true}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		c.Follow(u, f.done)
		pass(time.Second)
		if len(f.told()) != 1 {
			t.Error("A list that is known to lack our tasks is not waited for")
		}
	})
}

// TestListReadBeforeOwnTask begins a task while a list is being read that cannot contain it.
func TestListReadBeforeOwnTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, u := upidOf("1", "qmstart", "100", "we@pve!token"), upidOf("2", "qmstart", "101", "we@pve!token")
		gate := make(chan struct{})
		p := &pve{hidesOwn: true, runsAll: true, gate: gate}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		c.Follow(before, func(proxmox.Task) {})
		pass(1500 * time.Millisecond)
		c.Follow(u, func(proxmox.Task) {})
		close(gate)
		pass(100 * time.Millisecond)
		if n := p.looks.Load(); n != 1 {
			t.Errorf("A list says nothing about a task that began after its read: want 1 task asked for, got %d", n)
		}
		pass(time.Second)
		if n := p.looks.Load(); n < 2 {
			t.Errorf("The next list lacks the task, so it is asked for: got %d", n)
		}
	})
}

// TestTasksOfRemovedNode follows tasks of a node that does not answer. They count as running until the node is no longer a member of the cluster.
func TestTasksOfRemovedNode(t *testing.T) {
	for name, n := range map[string]int{"One": 1, "Many": fewEnds + 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pve{nodes: []proxmox.Node{{Name: "pve1", Status: "offline"}, {Name: "pve2"}}, hangs: "pve1"}
				c := New(p, WithPollInterval(time.Second))
				defer c.Close()
				f := make(followed, 10)
				for i := range n {
					u := upidOf(fmt.Sprint(i), "vzdump", "100", "root@pam")
					p.set(func() { p.tasks = append(p.tasks, running(u)) })
					c.Follow(u, f.done)
				}
				pass(time.Minute)
				p.set(func() { p.tasks = nil })
				pass(10 * time.Minute)
				if all := f.told(); len(all) > 0 {
					t.Errorf("Tasks of a node that may be back have not ended, got %v", all)
				}
				p.set(func() { p.nodes = p.nodes[1:] })
				pass(time.Minute)
				if all := f.told(); len(all) != n || !strings.Contains(fmt.Sprint(all), errNodeRemoved.Error()) {
					t.Errorf("want %d tasks ended, got %v", n, all)
				}
				if got := runningOf(t, fresh(c)); got != "[]" {
					t.Errorf("want none running, got %s", got)
				}
			})
		})
	}
}

// TestOwnTaskIsUnknown follows a task that PVE does not know. One that has just begun may not be visible yet, and an old one is lost.
func TestOwnTaskIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := upidOf("1", "qmstart", "100", "we@pve!token")
		p := &pve{hidesOwn: true, noTask: true}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		c.Follow(u, f.done)
		pass(visibleWithin - time.Second)
		if len(f.told()) != 0 {
			t.Error("A task that is not visible yet has not ended")
		}
		pass(10 * time.Second)
		if got := fmt.Sprint(f.told()); got != fmt.Sprintf("[%s %s]", u, exitUnknown) {
			t.Errorf("A task that PVE has lost has ended somehow, got %s", got)
		}
	})
}

// TestOwnTaskMayNotBeSeen follows a task that another token of the user has started. Without Sys.Audit on the node, PVE only shows a user its own tasks.
func TestOwnTaskMayNotBeSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := upidOf("1", "qmshutdown", "100", "we@pve!before")
		p := &pve{hidesOwn: true, deniesTask: true}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		f := make(followed, 10)
		c.Follow(u, f.done)
		pass(hiddenFor - time.Minute)
		if got, want := runningOf(t, recent(c)), fmt.Sprint([]proxmox.UPID{u}); got != want || len(f.told()) != 0 {
			t.Errorf("A task that may not be asked for can run: want %s, got %s", want, got)
		}
		pass(2 * time.Minute)
		if got := runningOf(t, recent(c)); got != "[]" {
			t.Errorf("It does not hold up its VM for ever, got %s", got)
		}
		if told := f.told(); len(told) != 1 || !strings.Contains(told[0], "Sys.Audit on /nodes/pve1") {
			t.Errorf("Its end names the privilege that is missing, got %s", told)
		}
	})
}

// TestManyOwnTasks limits how often single tasks are read.
func TestManyOwnTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{hidesOwn: true, runsAll: true}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		for i := range 500 {
			c.Follow(upidOf(fmt.Sprint(i), "qmclone", "9000", "we@pve!token"), func(proxmox.Task) {})
		}
		pass(time.Minute)
		synctest.Wait()
		if n := p.looks.Load(); n > 60*mostLooks || n < 50*mostLooks {
			t.Errorf("want about %d single tasks a second at most, got %d in a minute", mostLooks, n)
		}
	})
}

// TestOwnTaskOfBefore finds a task that this user started before this process began, or by a call whose answer was lost.
func TestOwnTaskOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, lost := upidOf("1", "qmshutdown", "100", "we@pve!token"), upidOf("2", "qmstart", "101", "we@pve!token")
		p := &pve{hidesOwn: true, runsAll: true, own: map[string][]proxmox.Task{"pve1": {running(before)}}}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		if got, want := runningOf(t, recent(c)), fmt.Sprint([]proxmox.UPID{before}); got != want {
			t.Errorf("The first look finds what runs: want %s, got %s", want, got)
		}
		n := p.nodeLists.Load()
		p.set(func() { p.own["pve1"] = append(p.own["pve1"], running(lost)) })
		pass(time.Minute)
		_ = runningOf(t, recent(c))
		if p.nodeLists.Load() != n {
			t.Errorf("Nodes are not asked again and again, got %d more calls", p.nodeLists.Load()-n)
		}
		if got, want := len(runningOf(t, fresh(c))), len(fmt.Sprint([]proxmox.UPID{before, lost})); got != want {
			t.Errorf("A fresh list has what has begun since, got %s", runningOf(t, fresh(c)))
		}
	})
}

// TestOwnTaskOfNodeThatFailed finds a task that this user started before this process began, on a node that did not answer at first.
func TestOwnTaskOfNodeThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := upidOf("1", "qmshutdown", "100", "we@pve!token")
		p := &pve{
			hidesOwn: true, runsAll: true, nodes: []proxmox.Node{{Name: "pve1"}, {Name: "pve2"}},
			own: map[string][]proxmox.Task{"pve1": {running(before)}}, hangs: "pve1",
		}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		if got := runningOf(t, recent(c)); got != "[]" {
			t.Errorf("A node that does not answer holds up nobody, got %s", got)
		}
		n := p.nodeLists.Load()
		p.set(func() { p.hangs = "" })
		pass(missedAfter - time.Second)
		_ = runningOf(t, recent(c))
		if p.nodeLists.Load() != n {
			t.Errorf("It is not asked again at once, got %d more calls", p.nodeLists.Load()-n)
		}
		pass(2 * time.Second)
		_ = runningOf(t, recent(c))
		pass(time.Second)
		if got, want := runningOf(t, recent(c)), fmt.Sprint([]proxmox.UPID{before}); got != want {
			t.Errorf("A later look finds what runs there: want %s, got %s", want, got)
		}
		n = p.nodeLists.Load()
		pass(time.Minute)
		_ = runningOf(t, recent(c))
		if p.nodeLists.Load() != n {
			t.Errorf("Once all nodes were asked it is known for good, got %d more calls", p.nodeLists.Load()-n)
		}
	})
}

// TestListWithOwnTasks checks that no node is asked if PVE lists our tasks.
func TestListWithOwnTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := upidOf("1", "qmstart", "100", "we@pve")
		p := &pve{tasks: []proxmox.Task{running(u)}}
		c := New(p, WithPollInterval(time.Second))
		defer c.Close()
		c.Follow(u, func(proxmox.Task) {})
		pass(time.Minute)
		_, _, _ = runningOf(t, recent(c)), runningOf(t, fresh(c)), runningOf(t, fresh(c))
		if p.looks.Load() != 0 || p.nodeLists.Load() != 0 {
			t.Errorf("want no call beside the list, got %d and %d", p.looks.Load(), p.nodeLists.Load())
		}
	})
}

// fresh reads the list of tasks again, recent returns the one that was polled last.
func fresh(c *Cluster) func(context.Context) ([]proxmox.Task, error) {
	return func(ctx context.Context) ([]proxmox.Task, error) { return c.Tasks(ctx, Fresh) }
}

func recent(c *Cluster) func(context.Context) ([]proxmox.Task, error) {
	return func(ctx context.Context) ([]proxmox.Task, error) { return c.Tasks(ctx, time.Second) }
}
