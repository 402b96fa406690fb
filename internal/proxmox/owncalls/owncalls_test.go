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

package owncalls

import (
	"testing"
	"time"
)

// A upid is a task of VM 100 that x@pve!t started.
type upid string

func (upid) ID() string { return "100" }

func (upid) User() string { return "x@pve!t" }

func TestCalls(t *testing.T) {
	const task upid = "start"
	configure, start := Call{VMID: "100", Logged: true}, Call{VMID: "100"}
	now := time.Unix(1, 0)
	traced := func(calls ...func(*Calls[upid])) *Calls[upid] {
		tr := New[upid]("x@pve!t", func() time.Time { return now })
		for _, call := range calls {
			call(tr)
		}
		return tr
	}
	enter := func(c Call) func(*Calls[upid]) { return func(tr *Calls[upid]) { tr.Enter(c) } }
	leave := func(c Call, done bool) func(*Calls[upid]) { return func(tr *Calls[upid]) { tr.Leave(c, done) } }
	ask := func(tr *Calls[upid]) { tr.LoggedByUs("100", "x@pve!t") }
	lines := map[string]struct {
		reason string
		traces *Calls[upid]
		user   string
		want   bool
	}{
		"None":  {reason: "Without a call there is no line of ours.", traces: traced(), user: "x@pve!t"},
		"Made":  {reason: "A call has its line.", traces: traced(enter(configure), leave(configure, true)), user: "x@pve!t", want: true},
		"Early": {reason: "The line of a call may come before its answer.", traces: traced(enter(configure)), user: "x@pve!t", want: true},
		"Once":  {reason: "A call has one line.", traces: traced(enter(configure), leave(configure, true), ask), user: "x@pve!t"},
		"Was":   {reason: "One that came early does not come again.", traces: traced(enter(configure), ask, leave(configure, true)), user: "x@pve!t"},
		"Twice": {
			reason: "Two calls have two lines.",
			traces: traced(enter(configure), leave(configure, true), enter(configure), leave(configure, true), ask), user: "x@pve!t", want: true,
		},
		"Power": {reason: "A line that comes while the VM is started is another's, who uses the same token.", traces: traced(enter(start)), user: "x@pve!t"},
		"Both":  {reason: "One of two lines that come early is another's.", traces: traced(enter(configure), ask), user: "x@pve!t"},
		"Failed": {
			reason: "What came early of a call that was refused does not stand for the next.",
			traces: traced(enter(configure), ask, leave(configure, false), enter(configure), leave(configure, true)), user: "x@pve!t", want: true,
		},
		"Refused": {reason: "A call that was refused has none.", traces: traced(enter(configure), leave(configure, false)), user: "x@pve!t"},
		"Start":   {reason: "A call that is a task has none of this kind.", traces: traced(enter(start), leave(start, true)), user: "x@pve!t"},
		"Theirs":  {reason: "Another user's line is another's.", traces: traced(enter(configure), leave(configure, true)), user: "root@pam"},
	}
	for name, tc := range lines {
		t.Run(name, func(t *testing.T) {
			if got := tc.traces.LoggedByUs("100", tc.user); got != tc.want {
				t.Errorf("%s\nline(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
	late := traced(enter(configure), leave(configure, true))
	now = now.Add(traceFor + time.Second)
	if late.LoggedByUs("100", "x@pve!t") {
		t.Error("A line that comes much later is another's.")
	}
	read := Call{Logged: true}
	kept := traced(enter(read), leave(read, true), enter(configure), leave(configure, true))
	now = now.Add(traceFor + time.Second)
	enter(configure)(kept)
	leave(configure, true)(kept)
	if len(kept.pendingLines) != 1 || len(kept.pendingLines["100"]) != 1 {
		t.Errorf("Lines that nobody reads are not kept for ever: %v", kept.pendingLines)
	}
	tr := traced(enter(start))
	if sure, maybe := tr.StartedByUs(task); sure || !maybe {
		t.Error("A task may be that of a call under way.")
	}
	tr.Started(task)
	tr.Leave(start, false)
	if sure, maybe := tr.StartedByUs(task); !sure || maybe {
		t.Error("A task that was started is ours.")
	}
	if sure, maybe := tr.StartedByUs("another start"); sure || maybe {
		t.Error("No other is.")
	}
}
