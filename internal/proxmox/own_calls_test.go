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
	"net/http"
	"slices"
	"testing"
	"time"
)

func TestTraces(t *testing.T) {
	ref := Ref{Node: "pve1", VMID: 100}
	configure, start := machine("configure", http.MethodPut, ref, "/config"), machine("start", http.MethodPost, ref, "/status/start")
	task := UPID("UPID:pve1:1:2:3:qmstart:100:x@pve!t:")
	now := time.Unix(1, 0)
	traced := func(calls ...func(*ownCalls)) *ownCalls {
		tr := newOwnCalls("x@pve!t", func() time.Time { return now })
		for _, call := range calls {
			call(tr)
		}
		return tr
	}
	enter := func(r request) func(*ownCalls) { return func(tr *ownCalls) { tr.enter(r) } }
	leave := func(r request, done bool) func(*ownCalls) { return func(tr *ownCalls) { tr.leave(r, done) } }
	ask := func(tr *ownCalls) { tr.loggedByUs("100", "x@pve!t") }
	lines := map[string]struct {
		reason string
		traces *ownCalls
		user   string
		want   bool
	}{
		"None":  {reason: "Without a call there is no line of ours.", traces: traced(), user: "x@pve!t"},
		"Made":  {reason: "A call has its line.", traces: traced(enter(configure), leave(configure, true)), user: "x@pve!t", want: true},
		"Early": {reason: "Its line may come before its answer.", traces: traced(enter(configure)), user: "x@pve!t", want: true},
		"Once":  {reason: "It has one line.", traces: traced(enter(configure), leave(configure, true), ask), user: "x@pve!t"},
		"Was":   {reason: "One that came early does not come again.", traces: traced(enter(configure), ask, leave(configure, true)), user: "x@pve!t"},
		"Twice": {
			reason: "Two calls have two lines.",
			traces: traced(enter(configure), leave(configure, true), enter(configure), leave(configure, true), ask), user: "x@pve!t", want: true,
		},
		"Power": {reason: "A line that comes while the VM is started is another's, who uses the same token.", traces: traced(enter(start)), user: "x@pve!t"},
		"Both":  {reason: "Of two lines that come early one is another's.", traces: traced(enter(configure), ask), user: "x@pve!t"},
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
			if got := tc.traces.loggedByUs("100", tc.user); got != tc.want {
				t.Errorf("%s\nline(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
	late := traced(enter(configure), leave(configure, true))
	now = now.Add(traceFor + time.Second)
	if late.loggedByUs("100", "x@pve!t") {
		t.Error("A line that comes much later is another's.")
	}
	read := machine("read", http.MethodGet, ref, "/config")
	kept := traced(enter(read), leave(read, true), enter(configure), leave(configure, true))
	now = now.Add(traceFor + time.Second)
	enter(configure)(kept)
	leave(configure, true)(kept)
	if len(kept.pendingLines) != 1 || len(kept.pendingLines["100"]) != 1 {
		t.Errorf("Lines that nobody reads are not kept for ever: %v", kept.pendingLines)
	}
	tr := traced(enter(start))
	if sure, maybe := tr.startedByUs(task); sure || !maybe {
		t.Error("A task may be that of a call under way.")
	}
	tr.started(task)
	tr.leave(start, false)
	if sure, maybe := tr.startedByUs(task); !sure || maybe {
		t.Error("A task that was started is ours.")
	}
	if sure, maybe := tr.startedByUs("UPID:pve1:9:2:3:qmstart:100:x@pve!t:"); sure || maybe {
		t.Error("No other is.")
	}
}

func TestLogLine(t *testing.T) {
	task := "UPID:pve1:00000588:0005F9B1:6B00B90A:qmstart:100:tester@pve!full:"
	cases := map[string]struct {
		message string
		vmids   []int
		upid    UPID
		ended   bool
	}{
		"Update":   {message: "update VM 9990: -cores 2 -description CT 101", vmids: []int{9990, 101}},
		"Snapshot": {message: "delete snapshot VM 810: before", vmids: []int{810}},
		"Starting": {message: "starting task " + task, upid: UPID(task)},
		"End":      {message: "end task " + task + " VM 7 is locked (backup)", upid: UPID(task), ended: true},
		"Else":     {message: "successful auth for user 'root@pam'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := LogLine{Message: tc.message}
			if got := l.VMIDs(); !slices.Equal(got, tc.vmids) || l.UPID() != tc.upid || l.Ended() != tc.ended {
				t.Errorf("got %v %s %t", got, l.UPID(), l.Ended())
			}
		})
	}
}
