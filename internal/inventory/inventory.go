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

// Package inventory is one shared view of each PVE cluster: data that many resources need is read once, and the tasks they started are followed by one
// poll for all.
//
// It also makes watching cheap. Reading each VM periodically costs calls in proportion to the number of VMs, and nearly all of these calls bring nothing
// new. Instead, one reader each of the list of resources, the list of tasks and the cluster's log finds signs that a guest has changed, and notifies the
// watchers of that guest:
//
//   - A task that begins or ends names its guest. The list of tasks is short, so the log's lines about tasks count too.
//   - A change of the configuration without a task has a line in the log. PVE shows the lines of others only to users with Sys.Syslog on /.
//   - The list of resources has a summary of each guest. It is the slowest source, up to ten seconds late, but it also shows what is not logged: a guest
//     that shuts itself down, a file that was edited.
//
// A sign causes a read. No action is based on the sign itself. Changes by this provider are no sign: the client recognises its own tasks, and the log
// lines that its calls cause. They only cause cached data of guests to be forgotten, see Unchanged.
//
// The readers run only while something is watched or followed.
package inventory

import (
	"context"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Client reads the data that the inventory shares.
type Client interface {
	ownershipOracle
	taskClient

	Resources(ctx context.Context) (proxmox.Resources, error)
	Log(ctx context.Context, most int) ([]proxmox.LogLine, error)
	Permissions(ctx context.Context, path string) (map[string]proxmox.Privileges, error)
	Version(ctx context.Context) (proxmox.Version, error)
	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)

	infraClient
	haClient
	settingsClient
	objectsClient
}

// A taskClient reads tasks.
type taskClient interface {
	Tasks(ctx context.Context) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	OwnTasks(ctx context.Context, node string) ([]proxmox.Task, error)
	EndedTasks(ctx context.Context, node string, since time.Time) ([]proxmox.Task, error)
	ListsOwnTasks(list []proxmox.Task) bool
	TraceEnd(t proxmox.Task)
}

// Defaults of the options.
const (
	// defaultPollInterval is how often tasks are read while tasks are followed.
	defaultPollInterval = time.Second

	// defaultEventPollInterval is how often tasks and the log are read while guests are watched.
	defaultEventPollInterval = 5 * time.Second

	// defaultMaxAge is how old the shared list of resources may be.
	defaultMaxAge = 10 * time.Second

	// defaultLag is how long PVE takes to list an event.
	defaultLag = 12 * time.Second
)

// An Option changes a Cluster.
type Option func(*Cluster)

// WithPollInterval sets how often tasks are read while tasks are followed.
func WithPollInterval(d time.Duration) Option {
	return func(c *Cluster) { c.poll = d }
}

// WithEventPollInterval sets how often tasks, and the log, are read while guests are watched.
func WithEventPollInterval(d time.Duration) Option {
	return func(c *Cluster) { c.eventPoll = d }
}

// WithMaxAge sets how old the shared list of resources may be, which is also how
// often it is read while guests are watched.
func WithMaxAge(d time.Duration) Option {
	return func(c *Cluster) { c.maxAge = d }
}

// WithLag sets how long PVE takes to list an event.
func WithLag(d time.Duration) Option {
	return func(c *Cluster) { c.lag = d }
}

// WithClock sets the clock.
func WithClock(now func() time.Time) Option {
	return func(c *Cluster) { c.now = now }
}

// A Cluster is the shared view of one PVE cluster. It is safe for concurrent use. Close it when it is no longer needed. The embedded parts read data on
// request; the Cluster itself follows tasks and events.
type Cluster struct {
	*times
	*infra
	*ha
	*settings
	*objects
	*backups

	client    Client
	poll      time.Duration
	eventPoll time.Duration
	lag       time.Duration

	resources cached[proxmox.Resources]
	tasks     cached[[]proxmox.Task]
	edits     cached[bool]               // whether lines of the log were missed
	permitted cached[proxmox.Privileges] // on /
	primed    cached[struct{}]           // whether the starting point was read
	own       cached[[]string]           // nodes on which our tasks could not be searched

	ids reservations
	end context.CancelFunc

	feeds    sync.Mutex // guards taskFeed
	taskFeed taskFeed
	endings  endedFeed
	logging  sync.Mutex // guards logFeed
	logFeed  logFeed
	// guestTasks sees all tasks, including ours.
	guestTasks guestTasks

	mu      sync.Mutex // guards the fields below
	readers []*reader
	// taskReader is the reader of the list of tasks.
	taskReader *reader
	followed   map[proxmox.UPID]*follower
	// recentlyEnded holds tasks that have ended and that PVE did not list.
	recentlyEnded map[proxmox.UPID]endedTask

	watches  map[string]*watch
	watchers map[int]map[string]*watch // by VMID
	compared time.Time
	states   *states         // from the last list
	known    map[int]summary // guests with cached data, from the last list
}

// times holds the clock and the maximum age for all reads of a Cluster.
type times struct {
	life   context.Context //nolint:containedctx // It is the life of the readers.
	now    func() time.Time
	maxAge time.Duration // of the list of resources
}

// scale returns an age in proportion to maxAge.
func (t *times) scale(age time.Duration) time.Duration {
	return time.Duration(float64(age) / float64(defaultMaxAge) * float64(t.maxAge))
}

// New returns the view of a cluster. It does no I/O.
func New(client Client, opts ...Option) *Cluster {
	c := &Cluster{
		times:     &times{now: time.Now, maxAge: defaultMaxAge},
		client:    client,
		poll:      defaultPollInterval,
		eventPoll: defaultEventPollInterval,
		lag:       defaultLag,
		followed:  map[proxmox.UPID]*follower{}, recentlyEnded: map[proxmox.UPID]endedTask{},
		watches:  map[string]*watch{},
		watchers: map[int]map[string]*watch{},
	}
	for _, o := range opts {
		o(c)
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.resources.read, c.tasks.read, c.edits.read, c.permitted.read = c.resourcesRead, c.tasksRead, c.readLog, c.privileges
	c.primed.read, c.own.read = c.readFirst, c.followOwn
	c.resources.joined, c.tasks.joined, c.primed.joined = "list resources", "list tasks", "list tasks"
	c.infra, c.ha, c.settings, c.objects = newInfra(c.times, client), newHA(c.times, client), newSettings(c.times, client), newObjects(c.times, client)
	c.backups = newBackups(c.times, client)
	c.readers = c.newReaders()
	return c
}

// Close stops the readers.
func (c *Cluster) Close() { c.end() }

// Values for the argument maxAge of the methods of Cluster, which limits the age of the result. WithMaxAge scales all of them in proportion to its
// default.
const (
	// Fresh values are read after the call began. Callers that arrive while a read is under way share the next one.
	Fresh time.Duration = 0

	// Recent is for data that others may change at the same time, such as the VMIDs in use.
	Recent = time.Second

	// Current is the maximum age of the list of resources. Such values need no call while VMs are watched.
	Current = defaultMaxAge

	// Relaxed is for data that needs a separate call.
	Relaxed = 20 * time.Second

	// Stable is for data that seldom changes. It suffices for callers that find what they look for.
	Stable = 5 * time.Minute
)

// read returns a cached value, at most maxAge old.
func read[T any](ctx context.Context, t *times, from *cached[T], maxAge time.Duration) (T, error) {
	if maxAge == Fresh {
		return from.fresh(ctx, t.life, t.now)
	}
	return from.get(ctx, t.life, t.now, t.scale(maxAge))
}

// Resources returns the list of the cluster's resources, at most maxAge old.
func (c *Cluster) Resources(ctx context.Context, maxAge time.Duration) (proxmox.Resources, error) {
	if maxAge < Current {
		return read(ctx, c.times, &c.resources, maxAge)
	}
	return c.resources.get(ctx, c.life, c.now, c.maxReadAge(c.scale(maxAge)))
}

// maxReadAge returns the maximum age of data that a reader reads at an interval, including the duration of a read.
func (c *Cluster) maxReadAge(interval time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watches) == 0 {
		return interval
	}
	return interval + interval/2
}

// Guests returns the guests of the cluster. A guest that is missing may be invisible to the user.
func (c *Cluster) Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error) {
	r, err := c.Resources(ctx, maxAge)
	return r.Guests, err
}

// GuestsSince returns the guests from a list that was requested after a time, such as the end of a task. Callers that wait for the ends of several tasks
// share the list.
func (c *Cluster) GuestsSince(ctx context.Context, after time.Time) ([]proxmox.Guest, error) {
	r, err := c.resources.since(ctx, c.life, c.now, after)
	return r.Guests, err
}

// Nodes returns the nodes of the cluster, which are Current like resources.
func (c *Cluster) Nodes(ctx context.Context) ([]proxmox.Node, error) {
	r, err := c.Resources(ctx, Current)
	return r.Nodes, err
}

// Storages returns the storages of all nodes, which are Current like resources.
func (c *Cluster) Storages(ctx context.Context) ([]proxmox.Storage, error) {
	r, err := c.Resources(ctx, Current)
	return r.Storages, err
}

// Tasks returns the running and recent tasks of the cluster. If maxAge is Fresh, the list is read again. Any other maxAge returns the list of the last
// poll, corrected for tasks of others that are known to have ended: the list was read before the log, which has reported their end and will not do so
// again. Our own tasks are added if PVE does not list them.
func (c *Cluster) Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error) {
	if maxAge == Fresh {
		tasks, err := c.tasks.fresh(ctx, c.life, c.now)
		if err == nil && !c.client.ListsOwnTasks(tasks) {
			_, err = c.own.fresh(ctx, c.life, c.now)
		}
		return c.withFollowed(tasks), err
	}
	tasks, err := c.tasks.get(ctx, c.life, c.now, c.maxReadAge(c.taskPollInterval()))
	if err == nil && !c.client.ListsOwnTasks(tasks) {
		err = c.knownOwn(ctx)
	}
	c.feeds.Lock()
	defer c.feeds.Unlock()
	return c.withFollowed(c.taskFeed.corrected(tasks, c.client)), err
}

// taskPollInterval returns the current interval between reads of the tasks.
func (c *Cluster) taskPollInterval() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.followed) > 0 || len(c.watches) == 0 {
		return c.poll
	}
	return c.eventPoll
}
