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
	"testing/synctest"

	"github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// TestWakeAfterChange checks that the VM is read again after a change of options, but not after one that fails: waking resets the back-off.
func TestWakeAfterChange(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   int
	}{
		"Changed":        {reason: "What was changed may have become pending.", want: 1},
		"HotplugRefused": {reason: "What the running VM refused has become pending.", err: refused(400, "hotplug problem - cores"), want: 1},
		"NotPermitted":   {reason: "What is not permitted now will not be at once.", err: refused(403, "Permission check failed (/, Sys.Modify)")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(m *v1alpha1.Machine) { m.Spec.ForProvider.Memory = quantity("2Gi") })
				b.vms[10000] = ourVM("stopped")
				b.errs["Configure"] = tc.err
				e := b.external()
				if _, err := e.Observe(t.Context(), b.m); err != nil {
					t.Fatal(err)
				}
				_ = e.configure(t.Context(), b.m)
				synctest.Wait()
				if got := len(b.woken); got != tc.want {
					t.Errorf("%s: the Machine is woken %d times, want %d", tc.reason, got, tc.want)
				}
			})
		})
	}
}
