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

package nodes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func listTasks(c *engine.Call) (any, error) {
	limit := 50
	if c.Has("limit") {
		limit = c.Num("limit")
	}
	out, count := []map[string]any{}, 0
	for _, t := range slices.Backward(c.State.Tasks) {
		if t.Node != c.Node || !wantsTask(c, t) {
			continue
		}
		count++
		if count > c.Num("start") && len(out) < limit {
			out = append(out, listEntry(t))
		}
	}
	return engine.Page{Data: out, Total: count}, nil
}

func listEntry(t *state.Task) map[string]any {
	e := t.Entry()
	e["pid"], e["pstart"] = t.PID, t.PStart
	if t.Running() {
		e["status"], e["saved"], e["user"] = "RUNNING", "0", t.User
		delete(e, "tokenid")
		return e
	}
	e["endtime"], e["status"] = t.Ended.Unix(), t.Exit
	return e
}

// wantsTask applies the filters of a list and the caller's permissions.
func wantsTask(c *engine.Call, t *state.Task) bool {
	source := c.Str("source")
	switch {
	case !seesTask(c, t) && !c.State.May(c.Who, "/nodes/"+c.Node, "Sys.Audit"):
	case t.Running() && (source == "" || source == "archive"), !t.Running() && source == "active":
	case c.Has("vmid") && t.ID != c.Str("vmid"), c.Has("typefilter") && t.Type != c.Str("typefilter"):
	case c.Has("userfilter") && !strings.Contains(strings.ToLower(state.Identity(t.User).User()), strings.ToLower(c.Str("userfilter"))):
	case c.Flag("errors") && t.Kind() == "ok":
	case c.Has("since") && t.Started.Unix() < int64(c.Num("since")), c.Has("until") && t.Started.Unix() > int64(c.Num("until")):
	case c.Has("statusfilter") && !c.Flag("errors") && !slices.Contains(schema.SplitList(strings.ToLower(c.Str("statusfilter"))), t.Kind()):
	default:
		return true
	}
	return false
}

// seesTask reports whether a node's list shows the caller a task without a privilege. PVE compares the full name of the user who started a running task,
// so users do not see the running tasks of their tokens.
func seesTask(c *engine.Call, t *state.Task) bool {
	if t.Running() {
		return t.User == string(c.Who)
	}
	return t.Belongs(c.Who)
}

// wantedTask returns the task of a call. Tasks of others require a privilege.
func wantedTask(c *engine.Call, privilege string) (*state.Task, error) {
	upid := c.Str("upid")
	if !regexp.MustCompile(`^UPID:[a-zA-Z0-9.-]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:[^:\s]+:[^:\s]*:[^:\s]+:$`).MatchString(upid) {
		return nil, apierr.Param("upid", "unable to parse worker upid")
	}
	t := c.State.Task(upid)
	if t == nil || t.Belongs(c.Who) {
		return t, nil
	}
	return t, c.State.Check(c.Who, "/nodes/"+c.Node, privilege)
}

func taskStatus(c *engine.Call) (any, error) {
	t, err := wantedTask(c, "Sys.Audit")
	if err != nil {
		return nil, err
	}
	if t == nil || t.Node != c.Node {
		return nil, apierr.Param("upid", "no such task")
	}
	out := t.Entry()
	out["pid"], out["pstart"], out["status"] = t.PID, t.PStart, "running"
	if !t.Running() {
		out["status"], out["exitstatus"] = "stopped", t.Exit
	}
	return out, nil
}

func taskLog(c *engine.Call) (any, error) {
	t, err := wantedTask(c, "Sys.Audit")
	if err != nil {
		return nil, err
	}
	if t == nil || t.Node != c.Node {
		return noLog(c), nil
	}
	start, limit := c.Num("start"), 50
	if c.Has("limit") {
		limit = c.Num("limit")
	}
	out := []map[string]any{}
	for i, line := range t.Log {
		if i >= start && (limit == 0 || len(out) < limit) {
			out = append(out, map[string]any{"n": i + 1, "t": line})
		}
	}
	return engine.Page{Data: out, Total: len(t.Log)}, nil
}

// noLog returns the answer for a task without a log. 8.4 returns it without the enclosing list.
func noLog(c *engine.Call) any {
	line := map[string]any{"n": 1, "t": "unable to open file - No such file or directory"}
	if c.State.Version == "8.4" {
		return engine.Page{Data: line, Total: 1}
	}
	return engine.Page{Data: []map[string]any{line}, Total: 1}
}

func stopTask(c *engine.Call) (any, error) {
	t, err := wantedTask(c, "Sys.Modify")
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, apierr.Param("upid", "no such task")
	}
	return c.StopTask(t)
}

func taskIndex(*engine.Call) (any, error) {
	return []map[string]any{{"name": "log"}, {"name": "status"}}, nil
}
