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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	// fewLines of the log are read each time, and manyLines if these do not reach back to the previous read.
	fewLines, manyLines = 100, 10000

	// askAgain is how often the privilege to read the whole log is checked.
	askAgain = 10 * time.Minute

	// syslog is the privilege to read the log lines of others, audit the privilege to see their tasks.
	syslog, audit = "Sys.Syslog", "Sys.Audit"
)

// A reader repeats a read while it is needed.
type reader struct {
	every  func() time.Duration
	needed func() bool
	read   func()

	running bool
	// sooner makes the reader use its current interval at once.
	sooner chan struct{}
}

func (c *Cluster) newReaders() []*reader {
	watched := func() bool { return len(c.watches) > 0 }
	c.taskReader = &reader{read: c.readTasks, needed: func() bool { return watched() || len(c.followed) > 0 }, every: func() time.Duration {
		if len(c.followed) > 0 {
			return c.poll
		}
		return c.eventPoll
	}}
	readers := []*reader{
		c.taskReader,
		{read: c.readResources, needed: watched, every: func() time.Duration { return c.maxAge }},
		{read: c.watchLog, needed: watched, every: func() time.Duration { return c.eventPoll }},
	}
	for _, r := range readers {
		r.sooner = make(chan struct{}, 1)
	}
	return readers
}

// run starts the readers that are needed. The lock must be held.
func (c *Cluster) run() {
	for _, r := range c.readers {
		if !r.running && r.needed() {
			r.running = true
			go c.again(r)
		}
	}
}

// again repeats a read until it is not needed.
func (c *Cluster) again(r *reader) {
	for c.needed(r) {
		c.mu.Lock()
		interval := max(r.every(), time.Millisecond)
		c.mu.Unlock()
		timer := time.NewTimer(interval)
		select {
		case <-c.life.Done():
			timer.Stop()
			return
		case <-r.sooner:
			timer.Stop()
		case <-timer.C:
			r.read()
		}
	}
}

func (c *Cluster) needed(r *reader) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.running = r.needed()
	return r.running
}

// readTasks reads the tasks and notifies their followers. The guests that the tasks affect are reported wherever the list is read.
func (c *Cluster) readTasks() {
	begun := c.now()
	if tasks, err := c.tasks.poll(c.life, c.now); err == nil {
		c.settle(tasks, begun)
	}
}

func (c *Cluster) readResources() { _, _ = c.resources.poll(c.life, c.now) }

// tasksRead reads the list of tasks and processes its changes. The affected guests are reported before the list is returned.
func (c *Cluster) tasksRead(ctx context.Context) ([]proxmox.Task, error) {
	tasks, err := c.client.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	c.feeds.Lock()
	touched, ended, worked := c.taskFeed.take(tasks, c.client, c.now()), c.endings.take(tasks), c.guestTasks.take(tasks)
	c.feeds.Unlock()
	c.forgetTouched(worked)
	c.invalidateAfter(ended)
	c.notify(touched)
	return tasks, nil
}

// resourcesRead reads the list of resources and processes its changes.
func (c *Cluster) resourcesRead(ctx context.Context) (proxmox.Resources, error) {
	begun := c.now()
	r, err := c.client.Resources(ctx)
	if err != nil {
		return proxmox.Resources{}, err
	}
	c.detectChanges(r)
	c.forgetListed(r.Guests)
	c.compare(r.Guests, begun)
	return r, nil
}

// watchLog reads the log. Lines older than those that it returns may have been missed: PVE has dropped them meanwhile, or the log became readable only
// after the watch had begun.
func (c *Cluster) watchLog() {
	if missed, err := c.readLog(c.life); err == nil && missed {
		c.notifyMissed()
	}
}

// readLog processes new lines if the lines of all users can be read, and reports whether others may have been missed.
func (c *Cluster) readLog(ctx context.Context) (missed bool, err error) {
	if may, err := c.hasPrivilege(ctx, syslog); err != nil || !may {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	c.logging.Lock()
	defer c.logging.Unlock()
	lines, err := c.client.Log(ctx, fewLines)
	if err == nil && c.logFeed.more(lines) {
		lines, err = c.client.Log(ctx, manyLines)
	}
	if err != nil {
		return false, err // The next read returns the lines that are missed now.
	}
	missed = !c.logFeed.primed || c.logFeed.more(lines) && len(c.logFeed.seen) > 0
	fresh := c.logFeed.take(lines, c.now())
	c.feeds.Lock()
	touched := c.taskFeed.changed(fresh, c.client, c.now())
	c.feeds.Unlock()
	c.notify(touched)
	return missed, nil
}

// CatchUpEdits notifies the watchers of all changes by others, with tasks and without, until maxAge ago at most. It reports whether it could: only a user
// who may read the log sees a change of options.
func (c *Cluster) CatchUpEdits(ctx context.Context, maxAge time.Duration) bool {
	if !c.mayReadLog(ctx) {
		return false
	}
	missed, err := read(ctx, c.times, &c.edits, maxAge)
	return err == nil && !missed
}

// readFirst reads the tasks and the log to set the starting point.
func (c *Cluster) readFirst(ctx context.Context) (struct{}, error) {
	_, failed := c.Tasks(ctx, Current)
	_, err := c.readLog(ctx)
	return struct{}{}, errors.Join(failed, err)
}

// mayReadLog reports whether the log lines of others can be read. Otherwise a user's own lines would be taken for all.
func (c *Cluster) mayReadLog(ctx context.Context) bool {
	may, err := c.hasPrivilege(ctx, syslog)
	return err == nil && may
}

// hasPrivilege reports whether the user has a privilege on /. It is read again every askAgain.
func (c *Cluster) hasPrivilege(ctx context.Context, privilege string) (bool, error) {
	all, err := c.permitted.get(ctx, c.life, c.now, askAgain)
	_, ok := all[privilege]
	return ok, err
}

func (c *Cluster) privileges(ctx context.Context) (proxmox.Privileges, error) {
	all, err := c.client.Permissions(ctx, "/")
	return all["/"], err
}

// CatchUp notifies the watchers of the tasks of others until now, or until maxAge ago at most where tasks are listed. It reports whether it could: PVE
// lists the tasks of others only with Sys.Audit on /, and logs them for users who may read the log.
func (c *Cluster) CatchUp(ctx context.Context, maxAge time.Duration) bool {
	if may, err := c.hasPrivilege(ctx, audit); err == nil && may {
		_, err := read(ctx, c.times, &c.tasks, maxAge)
		return err == nil
	}
	if !c.mayReadLog(ctx) {
		return false
	}
	missed, err := c.readLog(ctx)
	return err == nil && !missed
}
