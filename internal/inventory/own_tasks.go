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
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	// firstLook and lastLook limit the time between two reads of a single task. It increases while the task runs.
	firstLook = time.Second
	lastLook  = 5 * time.Second

	// mostLooks is the maximum number of single tasks that are read in one round. mostEnds is the maximum if the list has shown that they have ended, because
	// each of these is read only once.
	mostLooks = 10
	mostEnds  = 30

	// fewEnds is the maximum number of ended tasks of one node that are read one by one. For more of them, one list of the node is read.
	fewEnds = 3

	// visibleWithin is how long PVE may take to show a task that has just started.
	visibleWithin = time.Minute

	// endedFor is how long lists include the end of a task that PVE does not list.
	endedFor = time.Minute

	// exitUnknown is the exit status of a task that PVE no longer knows.
	exitUnknown = "PVE does not know the task any more"

	// hiddenFor is how long a task is assumed to run that this user may not read, such as one of the token that was used before: that needs Sys.Audit on the
	// node. The lock of the VM shows tasks that take longer.
	hiddenFor = 10 * time.Minute

	// missedAfter is the interval between searches for tasks of this user while some node does not answer.
	missedAfter = 30 * time.Second
)

// PVE compares the owner of a task without the name of the token. For a token without Sys.Audit on /, /cluster/tasks has no task at all, not even the
// token's own. Followed tasks are then read by their UPIDs, and count as running until PVE reports their end.

// due returns the followed tasks that a list lacks and that are to be read by themselves now. They are read at once if the list hides our tasks. A list
// whose read began before a task shows nothing about that task.
func (c *Cluster) due(listed map[proxmox.UPID]proxmox.Task, begun time.Time, hidden bool) []proxmox.UPID {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	var all []proxmox.UPID
	ends := 0
	for u, f := range c.followed {
		if _, ok := listed[u]; ok {
			f.misses, f.listed = 0, true
			continue
		}
		if f.begun.After(begun) {
			continue
		}
		f.misses++
		if (hidden || f.listed || f.misses >= missesBeforeLook) && !f.looking && !now.Before(f.next) {
			all = append(all, u)
			if f.listed {
				ends++
			}
		}
	}
	slices.SortFunc(all, func(a, b proxmox.UPID) int { return cmp.Or(c.followed[a].compare(c.followed[b]), cmp.Compare(a, b)) })
	all = all[:min(len(all), max(mostLooks, min(ends, mostEnds)))]
	for _, u := range all {
		c.followed[u].looking = true
	}
	return all
}

// lookAt reads followed tasks without blocking, because nodes may be slow to answer.
func (c *Cluster) lookAt(all []proxmox.UPID) {
	ended := map[string][]proxmox.UPID{}
	c.mu.Lock()
	for _, u := range all {
		if f, ok := c.followed[u]; ok && f.listed {
			ended[u.Node()] = append(ended[u.Node()], u)
		} else {
			go c.look(u)
		}
	}
	c.mu.Unlock()
	for node, some := range ended {
		if len(some) > fewEnds {
			go c.lookAtNode(node, some)
			continue
		}
		for _, u := range some {
			go c.look(u)
		}
	}
}

// lookAtNode searches the list of a node for the ends of many tasks, and reads each task that the list lacks by itself.
func (c *Cluster) lookAtNode(node string, all []proxmox.UPID) {
	ctx, cancel := context.WithTimeout(c.life, readTimeout)
	defer cancel()
	first := slices.MinFunc(all, func(a, b proxmox.UPID) int { return a.Start().Compare(b.Start()) })
	tasks, err := c.client.EndedTasks(ctx, node, first.Start())
	err = orRemoved(ctx, c, node, err)
	listed := map[proxmox.UPID]bool{}
	for _, t := range tasks {
		listed[t.UPID] = true
		c.looked(t.UPID, t, nil)
	}
	for _, u := range all {
		switch {
		case err != nil:
			c.looked(u, proxmox.Task{}, err)
		case !listed[u]:
			go c.look(u)
		}
	}
}

// look reads a single task.
func (c *Cluster) look(u proxmox.UPID) {
	ctx, cancel := context.WithTimeout(c.life, readTimeout)
	defer cancel()
	t, err := c.client.Task(ctx, u)
	c.looked(u, t, orRemoved(ctx, c, u.Node(), err))
}

// looked records the result of reading a task.
func (c *Cluster) looked(u proxmox.UPID, t proxmox.Task, err error) {
	known := err == nil
	c.mu.Lock()
	f, ok := c.followed[u]
	if ok {
		f.looking, f.next = false, c.now().Add(min(firstLook*time.Duration(f.looks+1), lastLook))
		f.looks++
		if exit := lost(u, err, c.now().Sub(f.begun)); exit != "" {
			t, known = followedTask(u), true
			t.Running, t.ExitStatus = false, exit
		}
	}
	if ok && known && !t.Running {
		c.recentlyEnded[u] = endedTask{Task: t, at: c.now()}
	}
	c.mu.Unlock()
	if !known {
		return
	}
	for _, end := range c.ended(map[proxmox.UPID]proxmox.Task{u: t}) {
		end()
	}
}

// lost returns the exit status, as far as it can be known, of a followed task that PVE does not return. It is empty if the task may still run.
func lost(u proxmox.UPID, err error, followed time.Duration) string {
	switch {
	case errors.Is(err, errNodeRemoved):
		return err.Error()
	case proxmox.IsNoSuchTask(err) && followed > visibleWithin:
		return exitUnknown
	case proxmox.IsAuthorization(err) && followed > hiddenFor:
		return "PVE does not tell this user how the task ended: it lacks Sys.Audit on /nodes/" + u.Node()
	}
	return ""
}

// An endedTask has ended recently, and PVE does not list it.
type endedTask struct {
	proxmox.Task

	at time.Time
}

// followedTask returns a running task with the values that its UPID contains.
func followedTask(u proxmox.UPID) proxmox.Task {
	return proxmox.Task{UPID: u, Node: u.Node(), Type: u.Type(), ID: u.ID(), User: u.User(), Running: true}
}

// withFollowed adds to a list the followed tasks that it lacks. Those are running, or have ended a moment ago.
func (c *Cluster) withFollowed(list []proxmox.Task) []proxmox.Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.recentlyEnded, func(_ proxmox.UPID, t endedTask) bool { return c.now().Sub(t.at) > endedFor })
	if len(c.followed) == 0 && len(c.recentlyEnded) == 0 {
		return list
	}
	listed := make(map[proxmox.UPID]bool, len(list))
	for _, t := range list {
		listed[t.UPID] = true
	}
	list = slices.Clone(list)
	for u := range c.followed {
		if !listed[u] {
			list, listed[u] = append(list, followedTask(u)), true
		}
	}
	for u, t := range c.recentlyEnded {
		if !listed[u] {
			list = append(list, t.Task)
		}
	}
	return list
}

// knownOwn makes sure that tasks of this user that began before this process are followed. Nodes that did not answer are asked again in the background.
func (c *Cluster) knownOwn(ctx context.Context) error {
	missed, err := c.own.get(ctx, c.life, c.now, forGood)
	if len(missed) > 0 {
		c.own.refresh(c.life, c.now, missedAfter)
	}
	return err
}

// followOwn follows the tasks of this user that run on any node, and returns the nodes that could not be asked. It skips nodes that are offline, because
// nothing runs there.
func (c *Cluster) followOwn(ctx context.Context) (missed []string, err error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.Offline() {
			continue
		}
		tasks, err := c.client.OwnTasks(ctx, n.Name)
		if proxmox.IsUnavailable(err) {
			missed = append(missed, n.Name)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			c.followFound(t.UPID)
		}
	}
	return missed, nil
}

// followFound follows a task that is not followed yet. The watchers of its guest are notified when it has ended.
func (c *Cluster) followFound(u proxmox.UPID) {
	c.mu.Lock()
	_, known := c.followed[u]
	_, ended := c.recentlyEnded[u]
	c.mu.Unlock()
	if known || ended {
		return
	}
	c.Follow(u, func(proxmox.Task) {
		all := changes{}
		all.add(u.ID(), ChangeAll)
		c.notify(all)
	})
}
