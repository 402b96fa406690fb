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
	"net/http"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const lockTimeout = "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout"

// waitsOnly reports whether a step resulted in a wait, which the condition Ready explains.
func waitsOnly(b *bench, s reconcileResult) bool {
	return kind.IsWait(s.err) &&
		strings.Contains(b.m.GetCondition(xpv2.TypeReady).Message, "holds the lock of the VM")
}

// TestLockHeldForAMoment changes a VM whose lock PVE holds after a stop: for half a minute that is no error.
func TestLockHeldForAMoment(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) { m.Spec.ForProvider.Description = new("new") })
	b.vms[10000] = ourVM("stopped")
	b.errs["Configure"] = refused(http.StatusInternalServerError, lockTimeout)
	for _, after := range []time.Duration{0, 15 * time.Second, 14 * time.Second} {
		b.clock.wait(after)
		if s := b.reconcile(t.Context()); !waitsOnly(b, s) {
			t.Errorf("after another %s the lock is waited for, got %v", after, s.err)
		}
	}
	b.clock.wait(15 * time.Second)
	if s := b.reconcile(t.Context()); waitsOnly(b, s) || !proxmox.IsLocked(s.err) {
		t.Errorf("a lock that is held for longer is an error, got %v", s.err)
	}
}

// TestLockHeldInATask starts a VM whose lock PVE holds: the task fails.
func TestLockHeldInATask(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmstart", 10000), lockTimeout)
	if s := b.reconcile(t.Context()); !waitsOnly(b, s) {
		t.Errorf("a task that got no lock is waited for, got %v", s.err)
	}
	b.clock.wait(lockedRetry)
	b.reconcile(t.Context())
	if n := strings.Count(strings.Join(b.writes, ","), "Start 10000"); n != 2 {
		t.Errorf("want it tried again, got %v", b.writes)
	}
	b.end(t, upid("pve1", "qmstart", 10000), "no space left on device")
	if s := b.reconcile(t.Context()); s.err == nil || waitsOnly(b, s) {
		t.Errorf("another failure is an error at once, got %v", s.err)
	}
}

// lockedRetry is longer than the time between the first two attempts.
const lockedRetry = 5 * time.Second
