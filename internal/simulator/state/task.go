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

package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LogEntry is a line of the cluster log.
type LogEntry struct {
	Time     time.Time `json:"_time"`
	UID      int       `json:"_uid"`
	Node     string    `json:"_node"`
	User     string    `json:"_user"`
	Priority int       `json:"_pri"`
	Message  string    `json:"_msg"`
}

// ClusterStart is the message of a node's first line after its start.
const ClusterStart = "starting cluster log"

// Tag returns the program that wrote a line.
func (e *LogEntry) Tag() string {
	if e.Message == ClusterStart {
		return "cluster"
	}
	return "pvedaemon"
}

// maxLog is the maximum number of lines in the cluster log.
const maxLog = 500

// LogLine adds a line to the cluster log.
func (st *State) LogLine(e LogEntry) {
	st.Sequence++
	e.UID = st.Sequence
	st.Log = append(st.Log, e)
	if len(st.Log) > maxLog {
		st.Log = slices.Delete(st.Log, 0, len(st.Log)-maxLog)
	}
}

// BelongsInCluster reports whether the list of the cluster shows an identity the task without a privilege. PVE removes the token's name from the task
// before it compares. So users see the tasks of their tokens, and a token sees none.
func (t *Task) BelongsInCluster(who Identity) bool { return Identity(t.User).User() == string(who) }

// Belongs reports whether an identity started the task. Users own the tasks of their tokens, a token only its own.
func (t *Task) Belongs(who Identity) bool {
	return t.User == string(who) || Identity(t.User).User() == string(who)
}

// Entry returns a task as all lists show it.
func (t *Task) Entry() map[string]any {
	out := map[string]any{
		"upid": t.UPID, "node": t.Node, "type": t.Type, "id": t.ID, "user": Identity(t.User).User(), "starttime": t.Started.Unix(),
	}
	if token := Identity(t.User).Token(); token != "" {
		out["tokenid"] = token
	}
	return out
}

// Kind returns the value of the status filter for the task's end.
func (t *Task) Kind() string {
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

// String returns the task's UPID and state, for messages of tests.
func (t *Task) String() string { return fmt.Sprintf("%s %s", t.UPID, t.Exit) }

// Task is a worker process of a node.
type Task struct {
	// UPID is the task's identity. Type is the type, such as "qmclone", and ID the ID of its object, such as a VMID.
	UPID, Node, Type, ID string
	// User is the user who started it: "user@realm" or "user@realm!token".
	User string
	// Started and Ended are its times. Ended is zero while it runs.
	Started, Ended time.Time
	// Exit is the exit status of an ended task: "OK", "WARNINGS: n" or the error.
	Exit string
	// Log contains its lines.
	Log []string

	// PID is the worker's process. PStart is when it started, in the kernel's ticks.
	PID    int `json:"_pid"`
	PStart int `json:"_pstart"`
	// Warnings counts the warnings in the log.
	Warnings int `json:"_warnings"`
	// Cancel ends the worker. Stopped means that it was stopped. Gone is closed when the worker has ended.
	Cancel  context.CancelFunc `json:"-"`
	Stopped bool               `json:"-"`
	// Lost means that the node went down with the worker. The task has ended without an exit status, and the cluster is informed when the node is back.
	Lost bool
	Gone chan struct{} `json:"-"`
}

// Running reports whether the task has not ended.
func (t *Task) Running() bool { return t.Ended.IsZero() }

// NewTask adds a running task.
func (st *State) NewTask(node, kind, id string, who Identity, now time.Time) *Task {
	st.Sequence++
	t := &Task{
		Node: node, Type: kind, ID: id, User: string(who), Started: now, PID: st.Sequence, PStart: st.Sequence*37 + 4711,
	}
	t.UPID = fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:", node, t.PID, t.PStart, now.Unix(), kind, id, who)
	st.Tasks = append(st.Tasks, t)
	st.forgetTasks()
	st.LogLine(LogEntry{Time: now, Node: node, User: string(who), Priority: 6, Message: "starting task " + t.UPID})
	return t
}

// maxTasks is how many ended tasks are kept.
const maxTasks = 2000

func (st *State) forgetTasks() {
	if len(st.Tasks) <= maxTasks || st.Tasks[0].Running() {
		return
	}
	st.Tasks = slices.Delete(st.Tasks, 0, 1)
}

// Task returns a task by its UPID.
func (st *State) Task(upid string) *Task {
	for _, t := range slices.Backward(st.Tasks) {
		if t.UPID == upid {
			return t
		}
	}
	return nil
}

// Lose ends a task with its node.
func (t *Task) Lose() {
	t.Lost = true
	if t.Cancel != nil {
		t.Cancel()
	}
}

// Stop ends a task from outside, and reports whether there is a worker to wait for.
func (t *Task) Stop() bool {
	if !t.Running() || t.Cancel == nil {
		return false
	}
	t.Stopped = true
	t.Cancel()
	return true
}
