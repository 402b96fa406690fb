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

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestGrowthBeyondStorage checks that growth beyond a storage is refused before a call is sent, with a hint where it may be.
func TestGrowthBeyondStorage(t *testing.T) {
	const gib = int64(proxmox.GiB)
	for size, want := range map[string]struct {
		err    string
		writes []string
		event  string
	}{
		"900G": {err: `disk "data" of 900G is larger than storage 'local-lvm'`},
		"300G": {writes: []string{"Resize 10000 scsi1 300G"}, event: "disk \"data\" of 300G may fill storage 'local-lvm'"},
	} {
		known, vm := withDisk("local-lvm:vm-10000-disk-1,size=12G")
		b := newBench(t, all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Size = &size })))
		b.vms[10000] = vm
		b.storages[0].Type, b.storages[0].MaxDisk, b.storages[0].Disk = "lvmthin", 500*gib, 400*gib
		h := &heard{}
		for range 2 {
			e := b.external()
			e.record = h
			s := b.reconcileWith(t.Context(), e)
			if want.err == "" && s.err != nil || want.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), want.err)) {
				t.Errorf("%s: want error %q, got %v", size, want.err, s.err)
			}
			if len(b.writes) > 0 {
				break
			}
		}
		if diff := cmp.Diff(want.writes, b.writes); diff != "" {
			t.Errorf("%s: writes: -want, +got:\n%s", size, diff)
		}
		if told := h.of(events.ReasonStorageOvercommitted, want.event); told != (want.event != "") {
			t.Errorf("%s: want the event %q, got %q", size, want.event, h.messages)
		}
	}
}

// TestCreationBeyondStorage checks the same for disks of a VM that is to be created.
func TestCreationBeyondStorage(t *testing.T) {
	const gib = int64(proxmox.GiB)
	for size, want := range map[string]struct {
		err    string
		writes []string
		event  string
	}{
		"900G": {err: `disk "data" of 900G is larger than storage 'local-lvm'`},
		"300G": {writes: []string{"Create pve1/10000"}, event: "disk \"data\" of 300G may fill storage 'local-lvm'"},
	} {
		b := newBench(t, dataDisk(func(k *v1alpha1.MachineDisk) { k.Size = &size }))
		b.storages[0].Type, b.storages[0].MaxDisk, b.storages[0].Disk = "lvmthin", 500*gib, 400*gib
		e, h := b.external(), &heard{}
		e.record = h
		s := b.reconcileWith(t.Context(), e)
		if want.err == "" && s.err != nil || want.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), want.err)) {
			t.Errorf("%s: want error %q, got %v", size, want.err, s.err)
		}
		if diff := cmp.Diff(want.writes, b.writes); diff != "" {
			t.Errorf("%s: writes: -want, +got:\n%s", size, diff)
		}
		if told := h.of(events.ReasonStorageOvercommitted, want.event); told != (want.event != "") {
			t.Errorf("%s: want the event %q, got %q", size, want.event, h.messages)
		}
	}
}

// TestMoveBeyondStorage checks that a disk that moves is compared with its target storage.
func TestMoveBeyondStorage(t *testing.T) {
	const gib = int64(proxmox.GiB)
	known, vm := withDisk("local-lvm:vm-10000-disk-1,size=12G")
	b := newBench(t, all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Storage = new("small") })))
	b.vms[10000] = vm
	small := b.storages[0]
	small.Name, small.Type, small.MaxDisk = "small", "lvmthin", 10*gib
	b.storages = append(b.storages, small)
	s := b.reconcile(t.Context())
	if want := `disk "data" of 12G is larger than storage 'small'`; s.err == nil || !strings.Contains(s.err.Error(), want) || len(b.writes) > 0 {
		t.Errorf("want error %q and nothing written, got %v, %q", want, s.err, b.writes)
	}
}

// TestBridgeThatIsNotThere checks that a bridge that is not on the VM's node is not written to a VM.
func TestBridgeThatIsNotThere(t *testing.T) {
	lan := func(bridge string) func(*namespaced.Machine) {
		return all(func(m *namespaced.Machine) {
			m.Annotations[object.AnnotationDevices] = `{"networks":{"lan":"net0"},"macs":{"lan":"BC:24:11:00:00:01"}}`
		}, spec(func(p *v1alpha1.MachineParameters) {
			p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: &bridge}}
		}))
	}
	for bridge, want := range map[string]string{"vmbr9": "bridge 'vmbr9' not found on node pve1", "vmbr1": ""} {
		b := newBench(t, lan(bridge))
		b.vms[10000] = ourVM("running")
		b.vms[10000].config["net0"] = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
		b.bridges = []proxmox.Bridge{{Name: "vmbr0"}, {Name: "vmbr1"}}
		s := b.reconcile(t.Context())
		if want == "" && (s.err != nil || len(b.writes) != 1) || want != "" && (s.err == nil || !strings.Contains(s.err.Error(), want) || len(b.writes) > 0) {
			t.Errorf("%s: want error %q, got %v and %q", bridge, want, s.err, b.writes)
		}
	}
}
