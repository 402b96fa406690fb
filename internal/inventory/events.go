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
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Change names what may have changed about a guest.
type Change int

const (
	// ChangeConfig is a change of the guest's configuration without a task.
	ChangeConfig Change = iota

	// ChangeAll means that anything may have changed: a task has begun or ended, or a snapshot was taken.
	ChangeAll
)

// changes holds the guests for which an event was seen, by VMID.
type changes map[int]Change

// add adds the guests that a task or a log line names. A task that gives a disk to another guest names both in place of a VMID: 100-scsi1>101-unused0.
func (t changes) add(about string, what Change) {
	from, to, given := strings.Cut(about, ">")
	if given {
		from, _, _ = strings.Cut(from, "-")
		to, _, _ = strings.Cut(to, "-")
	}
	for _, vmid := range []string{from, to} {
		if id, err := strconv.Atoi(vmid); err == nil {
			t[id] = max(t[id], what)
		}
	}
}

// ownershipOracle distinguishes what a Client has done from what others have done.
type ownershipOracle interface {
	// StartedByUs reports whether a task is surely the Client's own, and whether it may still turn out to be.
	StartedByUs(u proxmox.UPID) (sure, maybe bool)

	// LoggedByUs reports whether the Client itself caused a log line about a guest.
	LoggedByUs(vmid, user string) bool
}

// forgetAfter is how long a task or a log line is remembered that PVE no longer lists. Nodes that were unreachable for a while list theirs again.
const forgetAfter = 10 * time.Minute

// A taskFeed finds new entries in lists of tasks.
type taskFeed struct {
	primed bool
	seen   map[proxmox.UPID]taskSeen
}

type taskSeen struct {
	ended bool
	at    time.Time
}

// take processes a list and returns the guests that tasks of others have affected since the previous list. The first list sets the starting point.
func (f *taskFeed) take(list []proxmox.Task, by ownershipOracle, now time.Time) changes {
	out := changes{}
	for _, t := range list {
		if f.observe(t.UPID, !t.Running, by, now) {
			out.add(t.ID, ChangeAll)
		}
	}
	f.primed = true
	maps.DeleteFunc(f.seen, func(_ proxmox.UPID, s taskSeen) bool { return now.Sub(s.at) > forgetAfter })
	return out
}

// observe records a task and reports whether it is news, which means that it has begun or ended and is not ours. A task that may be ours is checked again.
func (f *taskFeed) observe(u proxmox.UPID, ended bool, by ownershipOracle, now time.Time) bool {
	before, known := f.seen[u]
	sure, maybe := by.StartedByUs(u)
	if maybe {
		return false
	}
	if f.seen == nil {
		f.seen = map[proxmox.UPID]taskSeen{}
	}
	f.seen[u] = taskSeen{ended: ended || before.ended, at: now}
	return f.primed && !sure && (!known || ended && !before.ended)
}

// corrected returns a list in which no task of others is running that is known to have ended.
func (f *taskFeed) corrected(list []proxmox.Task, by ownershipOracle) []proxmox.Task {
	over := func(t proxmox.Task) bool {
		if !t.Running || !f.seen[t.UPID].ended {
			return false
		}
		sure, maybe := by.StartedByUs(t.UPID)
		return !sure && !maybe
	}
	if !slices.ContainsFunc(list, over) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Running = list[i].Running && !over(list[i])
	}
	return list
}

// A logFeed finds new lines in the cluster's log.
type logFeed struct {
	primed bool
	seen   map[string]time.Time
}

// more reports whether there may be new lines older than these, which are the newest.
func (f *logFeed) more(lines []proxmox.LogLine) bool {
	return f.primed && len(lines) > 0 && !slices.ContainsFunc(lines, func(l proxmox.LogLine) bool {
		_, known := f.seen[keyOf(l)]
		return known
	})
}

// keyOf returns the unique key of a line.
func keyOf(l proxmox.LogLine) string { return l.ID + " " + strconv.FormatInt(l.Time.Unix(), 10) }

// take processes the newest lines and returns the new ones among them.
func (f *logFeed) take(lines []proxmox.LogLine, now time.Time) (fresh []proxmox.LogLine) {
	for _, l := range lines {
		key := keyOf(l)
		_, known := f.seen[key]
		if f.seen == nil {
			f.seen = map[string]time.Time{}
		}
		f.seen[key] = now
		if f.primed && !known {
			fresh = append(fresh, l)
		}
	}
	f.primed = true
	maps.DeleteFunc(f.seen, func(_ string, at time.Time) bool { return now.Sub(at) > forgetAfter })
	return fresh
}

// changed returns the guests that new lines name. Lines about tasks count like entries of the task lists, because those lists are short.
func (f *taskFeed) changed(lines []proxmox.LogLine, by ownershipOracle, now time.Time) changes {
	out := changes{}
	for _, l := range slices.Backward(lines) { // Oldest first.
		if u := l.UPID(); u != "" {
			if f.observe(u, l.Ended(), by, now) {
				out.add(u.ID(), ChangeAll)
			}
			continue
		}
		for _, id := range l.VMIDs() {
			if vmid := strconv.Itoa(id); !by.LoggedByUs(vmid, l.User) {
				out.add(vmid, changeOf(l))
			}
		}
	}
	return out
}

// changeOf returns the change that a line reports. Snapshots and unknown lines may change more than options.
func changeOf(l proxmox.LogLine) Change {
	if strings.HasPrefix(l.Message, "update VM ") {
		return ChangeConfig
	}
	return ChangeAll
}

// A summary holds what the cluster's list shows of a guest, without the values that change by themselves.
type summary struct {
	listed                               bool
	node, name, status, tags, pool, lock string
	haState                              string
	template                             bool
	cpus                                 int
	memory, disk                         int64
	uptime                               time.Duration
}

func summaryOf(g *proxmox.Guest) summary {
	if g == nil {
		return summary{}
	}
	tags := slices.Sorted(slices.Values(g.Tags))
	return summary{
		listed: true, node: g.Node, name: g.Name, status: g.Status, tags: strings.Join(tags, ";"), pool: g.Pool, lock: g.Lock,
		haState: g.HAState, template: g.Template, cpus: g.MaxCPU, memory: g.MaxMemory, disk: g.MaxDisk, uptime: g.Uptime,
	}
}

// differs reports whether a guest has changed since the previous list. An uptime that has decreased means that the guest was started in between. Nodes
// that do not report are ignored.
func (s summary) differs(before summary) bool {
	restarted := s.uptime < before.uptime
	s.uptime, before.uptime = 0, 0
	if s.status == "unknown" && s.listed && before.listed {
		s.name, s.status, s.template = before.name, before.status, before.template
		s.cpus, s.memory, s.disk, restarted = before.cpus, before.memory, before.disk, false
	}
	return restarted || s != before
}

// merge keeps the last known values if a node no longer reports them.
func (s summary) merge(before summary) summary {
	if s.status != "unknown" || !before.listed {
		return s
	}
	kept := before
	kept.node, kept.tags, kept.pool, kept.lock, kept.haState = s.node, s.tags, s.pool, s.lock, s.haState
	kept.status = cmp.Or(before.status, s.status)
	return kept
}
