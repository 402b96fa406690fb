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

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestDelete(t *testing.T) {
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("running")
	reconcile := func(why string, exists bool, writes int) {
		t.Helper()
		if s := b.reconcile(t.Context()); s.err != nil || s.exists != exists || len(b.writes) != writes {
			t.Errorf("%s: want exists %t and %d calls in all, got %+v and %q", why, exists, writes, s, b.writes)
		}
	}
	reconcile("It is shut down", true, 1)
	reconcile("It is waited for", true, 1)
	b.end(t, upid("pve1", "qmshutdown", 10000), "OK")
	b.vms[10000].status = "stopped"
	reconcile("It is destroyed", true, 2)
	reconcile("It is waited for", true, 2)
	delete(b.vms, 10000)
	b.end(t, upid("pve1", "qmdestroy", 10000), "OK")
	reconcile("It is gone", false, 2)
	if _, ok := b.tasks.last(b.m); ok {
		t.Error("A Machine that is gone must be forgotten")
	}
}

func TestDeleteFails(t *testing.T) {
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmdestroy", 10000), "base volume is in use by linked clones")
	if s := b.reconcile(t.Context()); !proxmox.IsTaskFailed(s.err) || len(b.writes) != 1 {
		t.Errorf("A failure is shown and held back: %v, %q", s.err, b.writes)
	}
}
