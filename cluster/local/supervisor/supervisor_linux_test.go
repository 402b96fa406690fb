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

package supervisor

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

func TestParentOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		stat   string
		want   int
	}{
		"Plain":       {reason: "the fourth field is the parent", stat: "42 (etcd) S 7 42 42 0 -1", want: 7},
		"Parentheses": {reason: "a program's name may contain parentheses", stat: "42 (a) S 9 (b) S 7 42", want: 7},
		"Short":       {reason: "a line that ends early has no parent", stat: "42 (etcd) S", want: -1},
		"Nothing":     {reason: "an empty line has no parent", stat: "", want: -1},
		"Letters":     {reason: "a parent is a number", stat: "42 (etcd) S x", want: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := parentOf([]byte(tc.stat)); got != tc.want {
				t.Errorf("%s: parentOf(%q) = %d, want %d", tc.reason, tc.stat, got, tc.want)
			}
		})
	}
}

func TestChildrenFindsThisProcess(t *testing.T) {
	if got := children(os.Getppid()); !slices.Contains(got, os.Getpid()) {
		t.Errorf("children(%d) = %v without %d", os.Getppid(), got, os.Getpid())
	}
}

func TestKillEndsAllProcesses(t *testing.T) {
	cases := map[string]struct {
		reason string
		victim func(l launch, worker int) int
	}{
		"Worker":     {reason: "the supervisor ends the programs of a killed worker", victim: func(_ launch, worker int) int { return worker }},
		"Supervisor": {reason: "the worker stops when the supervisor is killed", victim: func(l launch, _ int) int { return l.cmd.Process.Pid }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := start(t, "wait")
			program, worker := l.pids(t)
			t.Cleanup(func() { _ = syscall.Kill(program, syscall.SIGKILL) })
			if err := syscall.Kill(tc.victim(l, worker), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = l.cmd.Wait()
			eventually(t, tc.reason, func() bool { return gone(worker) })
			if name == "Worker" {
				eventually(t, tc.reason, func() bool { return gone(program) })
			}
		})
	}
}
