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

package vmstate

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func TestAgentOn(t *testing.T) {
	cases := map[string]struct {
		reason string
		agent  string
		want   bool
	}{
		"Absent": {reason: "The agent is off by default."},
		"Short":  {reason: "1 turns it on.", agent: "1,type=isa", want: true},
		"Long":   {reason: "The long form turns it on.", agent: "type=isa,enabled=1", want: true},
		"Off":    {reason: "0 turns it off.", agent: "0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&VM{State: qemu.State{Active: qemu.Config{"agent": tc.agent}}}).AgentOn(); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestLocked(t *testing.T) {
	cases := map[string]struct{ reason, lock, want string }{
		"Backup":    {reason: "What a dead task has left is unlocked on the node.", lock: "backup", want: `"qm unlock 100"`},
		"Suspended": {reason: "A start lifts the lock of a suspended VM.", lock: "suspended", want: "start it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Locked(100, tc.lock); !strings.Contains(got, "VM 100 is locked ("+tc.lock+")") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nLocked(): want %q in %q", tc.reason, tc.want, got)
			}
		})
	}
}
