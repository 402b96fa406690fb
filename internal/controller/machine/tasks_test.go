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
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The VM was read as it was before the task: what the task has done must not be done once more.
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
