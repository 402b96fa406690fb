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

package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTaskThatEndsWhileTheVMIsLookedAt checks that what a task has done is not repeated if the VM was read as it was before the task.
func TestTaskThatEndsWhileTheVMIsLookedAt(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	b.on["Status"] = func() { b.end(t, upid("pve1", "qmstart", 10000), "OK") }
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Start 10000"}, b.writes); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
}

// TestLogsOfCreation checks that the log contains a VM that was created and its node, and the task of a VM that was not.
func TestLogsOfCreation(t *testing.T) {
	cases := map[string]struct{ reason, exit, want string }{
		"Made":   {reason: "The VM and its node are named.", exit: "OK", want: "Successfully created VM vmid 10000 node pve1\n"},
		"Failed": {reason: "The VM and its node are named if the task failed.", exit: "no space left", want: "Task failed vmid 10000 node pve1 type qmcreate error "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			var logged []string
			e := b.external()
			e.log = lines{Logger: e.log, all: &logged}
			if s := b.reconcileWith(t.Context(), e); s.err != nil {
				t.Fatal(s.err)
			}
			logged = nil
			b.end(t, upid("pve1", "qmcreate", 10000), tc.exit)
			if len(logged) != 1 || !strings.HasPrefix(logged[0], tc.want) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, logged)
			}
		})
	}
}
