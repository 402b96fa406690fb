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

	"github.com/vitistack/provider-proxmox/internal/proxmox/owncalls"
)

func TestOwn(t *testing.T) {
	ref := Ref{Node: "pve1", VMID: 100}
	cases := map[string]struct {
		reason string
		call   request
		want   owncalls.Call
	}{
		"Configure": {
			reason: "A change of options has a line of the log.", call: machine("configure", http.MethodPut, ref, "/config"),
			want: owncalls.Call{VMID: "100", Logged: true},
		},
		"Start": {reason: "A start has its task.", call: machine("start", http.MethodPost, ref, "/status/start"), want: owncalls.Call{VMID: "100"}},
		"Read":  {reason: "A read changes no VM.", call: machine("read", http.MethodGet, ref, "/config"), want: owncalls.Call{Logged: true}},
		"Create": {
			reason: "A creation names its VM in the form.", want: owncalls.Call{VMID: "101"},
			call: request{method: http.MethodPost, path: "/nodes/{node}/qemu", args: []string{"pve1"}, form: map[string]string{"vmid": "101"}},
		},
		"Other": {reason: "A change of a storage is of no VM.", call: request{method: http.MethodPost, path: "/storage", form: map[string]string{"vmid": "101"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.call.own(); got != tc.want {
				t.Errorf("%s Want %+v, got %+v", tc.reason, tc.want, got)
			}
		})
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
