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

package simulator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// belongs reports whether an identity started the task: a user owns the tasks of the own tokens, a token only its own.
func (t *Task) belongs(who identity) bool {
	return t.User == string(who) || identity(t.User).user() == string(who)
}

func (t *Task) entry() map[string]any {
	out := map[string]any{
		"upid": t.UPID, "node": t.Node, "type": t.Type, "id": t.ID, "user": identity(t.User).user(), "starttime": t.Started.Unix(),
	}
	if token := identity(t.User).token(); token != "" {
		out["tokenid"] = token
	}
	return out
}

func (c *call) listTasks() (any, error) {
	limit := 50
	if c.has("limit") {
		limit = c.num("limit")
	}
	out, count := []map[string]any{}, 0
	for _, t := range slices.Backward(c.state.tasks) {
		if t.Node != c.node || !c.wantsTask(t) {
			continue
		}
		count++
		if count > c.num("start") && len(out) < limit {
			out = append(out, t.listEntry())
		}
	}
	return page{data: out, total: count}, nil
}

func (t *Task) listEntry() map[string]any {
	e := t.entry()
	e["pid"], e["pstart"] = t.pid, t.pstart
	if t.Running() {
		e["status"], e["saved"], e["user"] = "RUNNING", "0", t.User
		delete(e, "tokenid")
		return e
	}
	e["endtime"], e["status"] = t.Ended.Unix(), t.Exit
	return e
}

// wantsTask applies the filters of a list and the caller's permissions.
func (c *call) wantsTask(t *Task) bool {
	source := c.str("source")
	switch {
	case !t.belongs(c.who) && !c.state.may(c.who, "/nodes/"+c.node, "Sys.Audit"):
	case t.Running() && (source == "" || source == "archive"), !t.Running() && source == "active":
	case c.has("vmid") && t.ID != c.str("vmid"), c.has("typefilter") && t.Type != c.str("typefilter"):
	case c.has("userfilter") && !strings.Contains(strings.ToLower(identity(t.User).user()), strings.ToLower(c.str("userfilter"))):
	case c.flag("errors") && t.kind() == "ok":
	case c.has("since") && t.Started.Unix() < int64(c.num("since")), c.has("until") && t.Started.Unix() > int64(c.num("until")):
	case c.has("statusfilter") && !c.flag("errors") && !slices.Contains(schema.SplitList(strings.ToLower(c.str("statusfilter"))), t.kind()):
	default:
		return true
	}
	return false
}

// kind is how the filter by status calls the task's end.
func (t *Task) kind() string {
	switch {
	case t.Running() || t.Exit == "unexpected status":
		return "unknown"
	case t.Exit == "OK":
		return "ok"
	case strings.HasPrefix(t.Exit, "WARNINGS: "):
		return "warning"
	}
	return "error"
}

// wantedTask finds the task that a call names; tasks of others need a privilege.
func (c *call) wantedTask(privilege string) (*Task, error) {
	upid := c.str("upid")
	if !regexp.MustCompile(`^UPID:[a-zA-Z0-9.-]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:[^:\s]+:[^:\s]*:[^:\s]+:$`).MatchString(upid) {
		return nil, paramError("upid", "unable to parse worker upid")
	}
	t := c.state.task(upid)
	if t == nil || t.belongs(c.who) {
		return t, nil
	}
	return t, c.state.check(c.who, "/nodes/"+c.node, privilege)
}

func (c *call) taskStatus() (any, error) {
	t, err := c.wantedTask("Sys.Audit")
	if err != nil {
		return nil, err
	}
	if t == nil || t.Node != c.node {
		return nil, paramError("upid", "no such task")
	}
	out := t.entry()
	out["pid"], out["pstart"], out["status"] = t.pid, t.pstart, "running"
	if !t.Running() {
		out["status"], out["exitstatus"] = "stopped", t.Exit
	}
	return out, nil
}

func (c *call) taskLog() (any, error) {
	t, err := c.wantedTask("Sys.Audit")
	if err != nil {
		return nil, err
	}
	if t == nil || t.Node != c.node {
		return c.noLog(), nil
	}
	start, limit := c.num("start"), 50
	if c.has("limit") {
		limit = c.num("limit")
	}
	out := []map[string]any{}
	for i, line := range t.Log {
		if i >= start && (limit == 0 || len(out) < limit) {
			out = append(out, map[string]any{"n": i + 1, "t": line})
		}
	}
	return page{data: out, total: len(t.Log)}, nil
}

// noLog is the answer for a task without a log: 8.4 forgets the list around it.
func (c *call) noLog() any {
	line := map[string]any{"n": 1, "t": "unable to open file - No such file or directory"}
	if c.state.Version == "8.4" {
		return page{data: line, total: 1}
	}
	return page{data: []map[string]any{line}, total: 1}
}

func (c *call) stopTask() (any, error) {
	t, err := c.wantedTask("Sys.Modify")
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, paramError("upid", "no such task")
	}
	t.stop()
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) taskIndex() (any, error) {
	return []map[string]any{{"name": "log"}, {"name": "status"}}, nil
}

// String is the task's UPID and state, for messages of tests.
func (t *Task) String() string { return fmt.Sprintf("%s %s", t.UPID, t.Exit) }
