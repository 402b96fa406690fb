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

package vmcache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// TestUsage checks that the usage of a VM is that of the last list, and unknown once the VM is off or its node does not report.
func TestUsage(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := New(func() time.Time { return now }, DefaultFullResyncInterval)
	w := Watcher{Cache: s, UID: objectstate.UID("a")}
	on := &proxmox.Guest{Node: "pve1", Status: "running", CPU: 0.5, MaxCPU: 4, Memory: 10, DiskRead: 20, DiskWritten: 30}
	w.Used(on)
	if got := s.Usage(w.UID); got != nil {
		t.Errorf("want nothing of a VM that nobody has looked at, got %+v", got)
	}
	s.BeginRead(w.UID, qemu.Identity{VMID: 100}, nil, false)
	want := vmstate.Usage{Node: "pve1", CPU: 0.5, CPUs: 4, Memory: 10, DiskRead: 20, DiskWritten: 30, At: now}
	w.Used(on)
	if diff := cmp.Diff(&want, s.Usage(w.UID)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[types.UID]vmstate.Usage{"a": want}, s.Usages()); diff != "" {
		t.Errorf("all: -want, +got:\n%s", diff)
	}
	for reason, g := range map[string]*proxmox.Guest{
		"it is off": {Node: "pve1", Status: "stopped"}, "its node does not tell": {Node: "pve1", Status: "unknown"}, "it is not listed": nil,
	} {
		w.Used(on)
		w.Used(g)
		if got := s.Usage(w.UID); got != nil || len(s.Usages()) > 0 {
			t.Errorf("%s: want nothing, got %+v", reason, got)
		}
	}
}
