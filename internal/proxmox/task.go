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

package proxmox

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/tracing"
)

// A Task of PVE, running or ended.
type Task struct {
	// UPID names the task.
	UPID UPID

	// Node that runs the task.
	Node string

	// Type of the task, such as qmclone.
	Type string

	// ID of the object on which the task works: the VMID for tasks of VMs.
	ID string

	// User who started the task, without the name of the API token.
	User string

	// Start is when the task started.
	Start time.Time

	// End is when the task ended. It is zero while the task runs, and in answers without it.
	End time.Time

	// Running reports whether the task has not ended yet.
	Running bool

	// ExitStatus is OK, WARNINGS: n, or why the task failed. It is empty while the task runs.
	ExitStatus string
}

// Works reports whether the task currently changes its object. The task of a console changes nothing: it runs while a user has the console open, and has
// the VMID as its ID.
func (t Task) Works() bool { return t.Running && t.Type != "vncproxy" }

const warnings = "WARNINGS:"

// OK reports whether the task ended with success, which includes warnings.
func (t Task) OK() bool {
	return !t.Running && (t.ExitStatus == "OK" || strings.HasPrefix(t.ExitStatus, warnings))
}

// Warnings returns the number of warnings of a successful task.
func (t Task) Warnings() int {
	rest, ok := strings.CutPrefix(t.ExitStatus, warnings)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil {
		return 1
	}
	return n
}

// Err returns a *TaskError if the task ended without success, with the lines of the log if there are any. It is nil for a running task.
func (t Task) Err(log ...string) error {
	if t.Running || t.OK() {
		return nil
	}
	return &TaskError{Task: t, Log: log}
}

// TraceEnd creates the span of a task that has ended, if this Client started it in a span that is recorded.
func (c TaskAPI) TraceEnd(t Task) {
	ended := tracing.Task{UPID: string(t.UPID), Node: t.Node, Type: t.Type, ID: t.ID, Start: t.Start, End: t.End}
	if !t.OK() {
		ended.Failure = t.ExitStatus
	}
	c.traced.Ended(ended)
}

type taskData struct {
	UPID       text    `json:"upid"`
	Node       text    `json:"node"`
	Type       text    `json:"type"`
	ID         text    `json:"id"`
	User       text    `json:"user"`
	Status     text    `json:"status"`
	ExitStatus text    `json:"exitstatus"`
	Start      integer `json:"starttime"`
	End        integer `json:"endtime"`
}

func (d taskData) task(running bool, exit text) Task {
	u := UPID(d.UPID)
	t := Task{
		UPID: u, Node: string(d.Node), Type: string(d.Type), ID: string(d.ID), User: string(d.User),
		Start: unix(d.Start), Running: running,
	}
	if t.Node == "" {
		t.Node = u.Node()
	}
	if !running {
		t.End, t.ExitStatus = unix(d.End), string(exit)
	}
	return t
}

func unix(seconds integer) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// Task reads a task once and does not wait. A task that was just started may not be visible yet: IsNoSuchTask. The log of a task is on its own node, which
// must be online.
func (c TaskAPI) Task(ctx context.Context, u UPID) (Task, error) {
	r := request{
		op: "read a task", method: http.MethodGet,
		path: "/nodes/{node}/tasks/{upid}/status", args: []string{u.Node(), string(u)},
	}
	if !u.Valid() {
		return Task{}, r.refuse("task id is not valid")
	}
	var d taskData
	if err := c.do(ctx, r, &d); err != nil {
		if IsNoSuchTask(err) {
			c.limiter.Forget(u)
		}
		return Task{}, err
	}
	if d.UPID == "" {
		d.UPID = text(u)
	}
	t := d.task(d.Status == "running", d.ExitStatus)
	c.observeTasks([]Task{t}, false)
	return t, nil
}

// Tasks returns the running and the recent tasks of all nodes that the user may see, newest first. In this list, a missing status means that the task is
// running.
func (c TaskAPI) Tasks(ctx context.Context) ([]Task, error) {
	var data list[taskData]
	r := request{op: "list tasks", method: http.MethodGet, path: "/cluster/tasks"}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	tasks := make([]Task, 0, len(data))
	for _, d := range data {
		running := d.Status == "" || strings.EqualFold(string(d.Status), "running")
		tasks = append(tasks, d.task(running, d.Status))
	}
	c.observeTasks(tasks, true)
	return tasks, nil
}

// ListsOwnTasks reports whether a list of [Client.Tasks] contains the tasks of this Client's user. PVE compares their owner without the name of the token.
// So a token sees all tasks, if it has Sys.Audit on /, or none, not even its own.
func (c TaskAPI) ListsOwnTasks(list []Task) bool { return !c.identity.Token || len(list) > 0 }

// mostOwnTasks is the maximum number of tasks that are read from a node.
const mostOwnTasks = 5000

// OwnTasks returns the tasks of this Client's user that run on a node, which must be online. This call shows a token its own tasks whatever its privileges
// are.
func (c TaskAPI) OwnTasks(ctx context.Context, node string) ([]Task, error) {
	r := request{
		op: "list tasks of node " + strconv.Quote(node), method: http.MethodGet, path: "/nodes/{node}/tasks", args: []string{node},
		query: url.Values{"source": {"active"}, "limit": {strconv.Itoa(mostOwnTasks)}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var data list[taskData]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	var own []Task
	for _, d := range data {
		if u := UPID(d.UPID); u.User() == c.identity.ID && strings.EqualFold(string(d.Status), "running") {
			own = append(own, d.task(true, ""))
		}
	}
	c.observeTasks(own, false)
	return own, nil
}

// noLog is the text that PVE returns, with success, for the log of a task that it does not have.
const noLog = "unable to open file"

// NodeTasks returns the running and the latest ended tasks of one type on a node that the user may see, newest first. Unlike Tasks, it shows a token its
// own tasks whatever its privileges.
func (c TaskAPI) NodeTasks(ctx context.Context, node, taskType string) ([]Task, error) {
	r := request{
		op: "list the tasks of node " + strconv.Quote(node), method: http.MethodGet, path: "/nodes/{node}/tasks", args: []string{node},
		query: url.Values{"source": {"all"}, "typefilter": {taskType}, "limit": {strconv.Itoa(nodeTaskLimit)}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var data list[taskData]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	tasks := make([]Task, 0, len(data))
	for _, d := range data {
		running := d.Status == "" || strings.EqualFold(string(d.Status), "running")
		tasks = append(tasks, d.task(running, d.Status))
	}
	return tasks, nil
}

// EndedTasks returns the tasks that were started on a node, which must be online, since a time and that have ended, if the user may see them: a token sees
// its own. PVE reads them from the whole archive of the node, whatever the limit.
func (c TaskAPI) EndedTasks(ctx context.Context, node string, since time.Time) ([]Task, error) {
	r := request{
		op: "list the ended tasks of node " + strconv.Quote(node), method: http.MethodGet, path: "/nodes/{node}/tasks", args: []string{node},
		query: url.Values{"source": {"archive"}, "since": {strconv.FormatInt(since.Unix(), 10)}, "limit": {strconv.Itoa(mostOwnTasks)}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var data list[taskData]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	var tasks []Task
	for _, d := range data {
		if d.Status != "" { // Without it, the end of the task is not known.
			tasks = append(tasks, d.task(false, d.Status))
		}
	}
	c.observeTasks(tasks, false)
	return tasks, nil
}

// StopTask stops a task, which then cleans up after itself. A task that has already ended is no error.
func (c TaskAPI) StopTask(ctx context.Context, u UPID) error {
	r := request{
		op: "stop a task", method: http.MethodDelete,
		path: "/nodes/{node}/tasks/{upid}", args: []string{u.Node(), string(u)},
	}
	if !u.Valid() {
		return r.refuse("task id is not valid")
	}
	return c.do(ctx, r, nil)
}

// TaskLog returns the last lines of a task's log, oldest first. It is empty if PVE has
// no log of the task.
func (c TaskAPI) TaskLog(ctx context.Context, u UPID, lastLines int) ([]string, error) {
	lines, total, err := c.taskLog(ctx, u, 0, lastLines)
	if err != nil || total <= lastLines {
		return lines, err
	}
	lines, _, err = c.taskLog(ctx, u, total-lastLines, lastLines)
	return lines, err
}

// TaskHead returns the first lines of a task's log. It is empty if PVE has no log of the task.
func (c TaskAPI) TaskHead(ctx context.Context, u UPID, firstLines int) ([]string, error) {
	lines, _, err := c.taskLog(ctx, u, 0, firstLines)
	return lines, err
}

// TaskLines returns up to limit lines of a task's log, beginning at a line number, and the number of lines in the log.
func (c TaskAPI) TaskLines(ctx context.Context, u UPID, start, limit int) (lines []string, total int, err error) {
	return c.taskLog(ctx, u, start, limit)
}

func (c TaskAPI) taskLog(ctx context.Context, u UPID, start, limit int) ([]string, int, error) {
	r := request{
		op: "read the log of a task", method: http.MethodGet,
		path: "/nodes/{node}/tasks/{upid}/log", args: []string{u.Node(), string(u)},
		query: url.Values{"start": {strconv.Itoa(start)}, "limit": {strconv.Itoa(limit)}},
	}
	if !u.Valid() || limit <= 0 {
		return nil, 0, r.refuse("task id or number of lines is not valid")
	}
	var answer struct {
		Data  list[logLine] `json:"data"`
		Total integer       `json:"total"`
	}
	if err := c.envelope(ctx, r, &answer); err != nil {
		return nil, 0, err
	}
	if answer.Total == 1 && len(answer.Data) == 1 && strings.HasPrefix(string(answer.Data[0].Text), noLog) {
		return nil, 0, nil
	}
	slices.SortStableFunc(answer.Data, func(a, b logLine) int { return int(a.Number - b.Number) })
	lines := make([]string, 0, len(answer.Data))
	for _, l := range answer.Data {
		lines = append(lines, string(l.Text))
	}
	return lines, int(answer.Total), nil
}

type logLine struct {
	Number integer `json:"n"`
	Text   text    `json:"t"`
}

// A UPID is the unique ID of a task in PVE, UPID:node:pid:pstart:starttime:type:id:user: with hexadecimal numbers.
type UPID string

const (
	upidNode  = 1
	upidStart = 4
	upidType  = 5
	upidID    = 6
	upidUser  = 7
	upidParts = 9
)

// Valid reports whether the UPID has PVE's form.
func (u UPID) Valid() bool {
	parts := strings.Split(string(u), ":")
	if len(parts) != upidParts || parts[0] != "UPID" || parts[upidParts-1] != "" {
		return false
	}
	for _, hex := range parts[2:upidType] {
		if _, err := strconv.ParseUint(hex, 16, 64); err != nil {
			return false
		}
	}
	return validNode(parts[upidNode]) && parts[upidType] != "" && parts[upidUser] != ""
}

// Node returns the name of the node that runs the task.
func (u UPID) Node() string { return u.part(upidNode) }

// Type returns PVE's type of the task, such as qmstart.
func (u UPID) Type() string { return u.part(upidType) }

// ID returns the ID of the object on which the task works: the VMID for tasks of VMs. It may be empty.
func (u UPID) ID() string { return u.part(upidID) }

// Is reports whether the task has a type and works on a VM.
func (u UPID) Is(taskType string, vmid int) bool {
	return u.Type() == taskType && u.ID() == strconv.Itoa(vmid)
}

// User returns the user or the API token that started the task.
func (u UPID) User() string { return u.part(upidUser) }

// Start returns when the task started, to the second.
func (u UPID) Start() time.Time {
	s, err := strconv.ParseInt(u.part(upidStart), 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// part returns the i-th part of a valid UPID, or nothing.
func (u UPID) part(i int) string {
	if !u.Valid() {
		return ""
	}
	return strings.Split(string(u), ":")[i]
}

// validNode reports whether s can be the name of a node, which PVE restricts to
// letters, digits and inner hyphens.
func validNode(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
