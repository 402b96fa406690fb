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
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWorks(t *testing.T) {
	cases := map[string]struct {
		reason string
		task   Task
		want   bool
	}{
		"Runs":    {reason: "A task that runs works.", task: Task{Type: "qmigrate", Running: true}, want: true},
		"Ended":   {reason: "One that has ended does not.", task: Task{Type: "qmigrate"}},
		"Console": {reason: "An open console is no work.", task: Task{Type: "vncproxy", Running: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.task.Works(); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestUPID(t *testing.T) {
	type parts struct{ Node, Type, ID, User string }
	cases := map[string]struct {
		reason string
		upid   UPID
		want   parts
		valid  bool
	}{
		"Token": {
			reason: "A task of a token.", upid: "UPID:pve-01:00000EF8:000629DA:6B00B985:qmclone:501:tester@pve!full:",
			want: parts{"pve-01", "qmclone", "501", "tester@pve!full"}, valid: true,
		},
		"NoID": {
			reason: "A task of no VM.", upid: "UPID:pve1:00000EF8:0000629DA:6B00B985:aptupdate::root@pam:",
			want: parts{"pve1", "aptupdate", "", "root@pam"}, valid: true,
		},
		"Short":     {reason: "A part is missing.", upid: "UPID:pve1:00000EF8:000629DA:6B00B985:qmclone:501:"},
		"Open":      {reason: "A UPID ends with a colon.", upid: "UPID:pve1:00000EF8:000629DA:6B00B985:qmclone:501:root@pam:x"},
		"Hex":       {reason: "Numbers of a UPID are hexadecimal.", upid: "UPID:pve1:0000XXXX:000629DA:6B00B985:qmclone:501:root@pam:"},
		"Path":      {reason: "A node is no path.", upid: "UPID:../..:00000EF8:000629DA:6B00B985:qmclone:501:root@pam:"},
		"Empty":     {reason: "Nothing is no UPID.", upid: ""},
		"Anonymous": {reason: "A UPID says who started the task.", upid: "UPID:pve1:00000EF8:000629DA:6B00B985:qmclone:501::"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := tc.upid
			if u.Valid() != tc.valid {
				t.Errorf("%s\n%q is valid: got %t, want %t", tc.reason, u, u.Valid(), tc.valid)
			}
			if diff := cmp.Diff(tc.want, parts{u.Node(), u.Type(), u.ID(), u.User()}); diff != "" {
				t.Errorf("%s\n%q: -want, +got:\n%s", tc.reason, u, diff)
			}
		})
	}
	want := time.Unix(0x6B00B985, 0)
	if got := UPID(startUPID).Start(); !got.Equal(want) {
		t.Errorf("Start(): got %s, want %s", got, want)
	}
}

func TestTask(t *testing.T) {
	cases := map[string]struct {
		reason   string
		data     string
		want     Task
		ok       bool
		warnings int
	}{
		"Running": {
			reason: "A look does not wait.",
			data:   `{"id":"100","node":"pve1","starttime":1795209830,"status":"running","type":"qmstart","upid":"` + startUPID + `","user":"tester@pve"}`,
			want:   Task{Running: true},
		},
		"OK": {
			reason: "A task that ends with OK has succeeded.",
			data: `{"exitstatus":"OK","id":"100","node":"pve1","starttime":1795209830,"endtime":1795209831,"status":"stopped","type":"qmstart","upid":"` + startUPID +
				`","user":"tester@pve"}`,
			want: Task{ExitStatus: "OK", End: time.Unix(1795209831, 0)}, ok: true,
		},
		"Warnings": {
			reason: "A task with warnings has succeeded.",
			data:   `{"exitstatus":"WARNINGS: 3","id":"100","node":"pve1","starttime":"1795209830","status":"stopped","type":"qmstart","user":"tester@pve"}`,
			want:   Task{ExitStatus: "WARNINGS: 3"}, ok: true, warnings: 3,
		},
		"Failed": {
			reason: "A task that ends with an error has failed.",
			data:   `{"exitstatus":"VM is locked (backup)","id":100,"node":"pve1","starttime":1795209830,"status":"stopped","type":"qmstart","user":"tester@pve"}`,
			want:   Task{ExitStatus: "VM is locked (backup)"},
		},
		"Lost": {
			reason: "PVE knows that it ended, not how.",
			data:   `{"exitstatus":"unexpected status","id":"100","node":"pve1","starttime":1795209830,"status":"stopped","type":"qmstart","user":"tester@pve"}`,
			want:   Task{ExitStatus: "unexpected status"},
		},
		"Nothing": {
			reason: "No exit status is no success.",
			data:   `{"id":"100","node":"pve1","starttime":1795209830,"status":"stopped","type":"qmstart","user":"tester@pve"}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := fixed(t, ok(tc.data)).client(t).Task(background(), startUPID)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			want := tc.want
			want.UPID, want.Node, want.Type, want.ID, want.User = startUPID, "pve1", "qmstart", "100", "tester@pve"
			want.Start = time.Unix(1795209830, 0)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if got.OK() != tc.ok || got.Warnings() != tc.warnings || (got.Err() == nil) != (tc.ok || got.Running) {
				t.Errorf("%s\ngot OK %t, %d warnings, error %v", tc.reason, got.OK(), got.Warnings(), got.Err())
			}
		})
	}
}

func TestTasks(t *testing.T) {
	data := `[{"saved":1,"status":"OK","endtime":1795209835,"id":"501","upid":"` +
		startUPID + `","node":"pve1","tokenid":"full","starttime":1795209830,"type":"qmstart","user":"tester@pve"},
		{"status":"snapshot feature is not available","saved":"1","id":"501","endtime":1795209835,"node":"pve1","starttime":1795209830,` +
		`"type":"qmsnapshot","user":"tester@pve"},
		{"id":"502","node":"pve2","starttime":1795209830,"type":"qmclone","user":"root@pam","upid":"UPID:pve2:00000EF8:000629DA:6B00B985:qmclone:502:root@pam:"}]`
	got, err := fixed(t, ok(data)).client(t).Tasks(background())
	if err != nil {
		t.Fatal(err)
	}
	start, end := time.Unix(1795209830, 0), time.Unix(1795209835, 0)
	want := []Task{
		{UPID: startUPID, Node: "pve1", Type: "qmstart", ID: "501", User: "tester@pve", Start: start, End: end, ExitStatus: "OK"},
		{Node: "pve1", Type: "qmsnapshot", ID: "501", User: "tester@pve", Start: start, End: end, ExitStatus: "snapshot feature is not available"},
		{UPID: "UPID:pve2:00000EF8:000629DA:6B00B985:qmclone:502:root@pam:", Node: "pve2", Type: "qmclone", ID: "502", User: "root@pam", Start: start, Running: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// logOf answers like PVE for a log of n lines.
func logOf(t *testing.T, n int) func(asked) reply {
	t.Helper()
	return func(a asked) reply {
		q, err := url.ParseQuery(a.query)
		if err != nil {
			t.Error(err)
		}
		var start, limit int
		if _, err := fmt.Sscan(q.Get("start")+" "+q.Get("limit"), &start, &limit); err != nil {
			t.Error(err)
		}
		var lines []string
		for i := start; i < min(start+limit, n); i++ {
			lines = append(lines, fmt.Sprintf(`{"n":%d,"t":"line %d"}`, i+1, i+1))
		}
		return reply{status: "200 OK", body: fmt.Sprintf(`{"data":[%s],"total":%d}`, strings.Join(lines, ","), n)}
	}
}

func TestTaskLog(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer func(asked) reply
		want   []string
	}{
		"Short": {reason: "All of a short log.", answer: logOf(t, 2), want: []string{"line 1", "line 2"}},
		"Exact": {reason: "All of one that just fits.", answer: logOf(t, 3), want: []string{"line 1", "line 2", "line 3"}},
		"Long":  {reason: "The end of a long one.", answer: logOf(t, 11), want: []string{"line 9", "line 10", "line 11"}},
		"Empty": {reason: "A log may have no lines yet.", answer: logOf(t, 0)},
		"Unknown": {reason: "9.2 has no such log.", answer: func(asked) reply {
			return reply{status: "200 OK", body: `{"data":[{"n":1,"t":"unable to open file - No such file or directory"}],"total":1}`}
		}},
		"Object": {reason: "8.4 says so in its own way.", answer: func(asked) reply {
			return reply{status: "200 OK", body: `{"data":{"n":1,"t":"unable to open file - No such file or directory"},"total":1}`}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newFakePVE(t, tc.answer).client(t).TaskLog(background(), startUPID, 3)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
