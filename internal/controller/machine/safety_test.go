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
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// TestIneffectiveChange checks that a change that PVE does not keep is reported as ineffective, and rarely repeated.
func TestIneffectiveChange(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) { m.Spec.ForProvider.MachineType = new("q35") })
	b.vms[10000] = ourVM("running")
	for range 3 {
		b.reconcile(t.Context())
	}
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), "machine") || len(b.writes) != 1 {
		t.Errorf("want one write and an error that names the option, got %v and %q", s.err, b.writes)
	}
	b.clock.wait(tasktrack.FirstRepeat)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 {
		t.Errorf("want the change made again after a while, since it may have been undone, got %v and %q", s.err, b.writes)
	}
	if s := b.reconcile(t.Context()); s.err == nil || len(b.writes) != 2 {
		t.Errorf("want it held back again, got %v and %q", s.err, b.writes)
	}
	b.vms[10000].config["machine"] = "q35"
	if s := b.reconcile(t.Context()); s.err != nil || !s.upToDate {
		t.Errorf("want no error once nothing differs, got %v", s.err)
	}
	b.vms[10000].config["machine"] = "pc"
	b.touch()
	if b.reconcile(t.Context()); len(b.writes) != 3 {
		t.Errorf("want the change made at once after it was undone, got %q", b.writes)
	}
}

// TestChangeDropped checks that a change that PVE silently drops for a VM that does not run at first counts as made. When it is found missing, that
// is reported, and it is repeated less and less often.
func TestChangeDropped(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Spec.ForProvider.MachineType, m.Spec.ForProvider.OnBoot = new("q35"), new(true)
		m.Spec.ForProvider.PowerState = new(v1alpha1.PowerStateStopped)
	})
	b.vms[10000] = ourVM("stopped")
	b.on["Configure"] = func() { b.vms[10000].config["onboot"] = "1" }
	b.reconcile(t.Context())
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 1 {
		t.Errorf("want one write, which is taken to hold, got %v and %q", s.err, b.writes)
	}
	b.clock.wait(vmcache.CheckWithin + time.Second)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 {
		t.Errorf("want the change made again, since it may have been undone, got %v and %q", s.err, b.writes)
	}
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), "machine") || strings.Contains(s.err.Error(), "onboot") {
		t.Errorf("want an error that names the option that does not hold, got %v", s.err)
	}
	var made []time.Duration
	for begun, n := b.clock.now(), len(b.writes); len(made) < 6; {
		b.clock.wait(time.Second)
		b.reconcile(t.Context())
		if len(b.writes) > n {
			made, n = append(made, b.clock.now().Sub(begun)), len(b.writes)
			begun = b.clock.now()
		}
	}
	if !slices.IsSorted(made) || made[0] < tasktrack.FirstRepeat || made[5] < tasktrack.LastRetry {
		t.Errorf("want it made ever more seldom, got it after %v", made)
	}
	b.vms[10000].config["machine"] = "q35"
	b.clock.wait(tasktrack.LastRetry)
	for range 2 {
		s = b.reconcile(t.Context())
	}
	if s.err != nil || !s.upToDate {
		t.Errorf("want no error once nothing differs, got %v", s.err)
	}
}

// TestDiskGone checks that a disk that the VM has had is not replaced by an empty one.
func TestDiskGone(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true}}`
		m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "data", Size: new("1G")}}
	})
	b.vms[10000] = ourVM("running")
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), `disk "data" is no longer at scsi1`) || len(b.writes) != 0 {
		t.Errorf("want a refusal and no write, got %v and %q", s.err, b.writes)
	}
}

// TestVMIDLostInTask covers a VMID that was taken meanwhile, which PVE may find only in the task.
func TestVMIDLostInTask(t *testing.T) {
	cases := map[string]struct {
		reason string
		exit   string
	}{
		"SameNode": {reason: "The task makes the check again.", exit: "unable to create VM 10000: config file already exists"},
		"OtherNode": {
			reason: "Writing the configuration fails.",
			exit:   "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/10000.conf' failed: File exists",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fromTemplate)
			b.vms[9000] = templateVM()
			b.reconcile(t.Context())
			u := slices.Collect(maps.Keys(b.ends))[0]
			failed := proxmox.Task{UPID: u, Type: "qmclone", ID: "9000", ExitStatus: tc.exit}
			b.tasks.Ended(b.m, failed, failed.Err())
			b.reconcile(t.Context())
			if got := b.kept(t, object.AnnotationAllocated); got == "10000" || !slices.Contains(b.burned, 10000) {
				t.Errorf("\n%s\nwant another VMID than the one that was lost, got %s", tc.reason, got)
			}
		})
	}
}
