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
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Disks that are to be made or to grow fit on their storage, may fill it, or are refused.
func TestCapacity(t *testing.T) {
	const gib = int64(proxmox.GiB)
	storages := []proxmox.Storage{
		{Name: "thin", Node: "pve1", Type: "lvmthin", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "thick", Node: "pve1", Type: "lvm", MaxDisk: 500 * gib, Disk: 450 * gib},
		{Name: "thick", Node: "pve2", Type: "lvm", MaxDisk: 5000 * gib},
		{Name: "unknown", Node: "pve1"},
	}
	grow := func(storage string, size, more int64) qemu.Growth {
		return qemu.Growth{Name: storage, Storage: storage, Size: proxmox.Size(size * gib), More: proxmox.Size(more * gib)}
	}
	cases := map[string]struct {
		reason  string
		growths []qemu.Growth
		no      string
		warning string
	}{
		"Fits": {reason: "What there is room for is fine.", growths: []qemu.Growth{grow("thin", 100, 50), grow("thick", 60, 50)}},
		"TooLarge": {
			reason:  "No storage holds a disk that is larger than all of it.",
			growths: []qemu.Growth{grow("thin", 900, 890)},
			no:      `disk "thin" of 900G is larger than storage 'thin' on node pve1, which has 500G in all`,
		},
		"Thick": {
			reason:  "What a storage has to have at once does not fit.",
			growths: []qemu.Growth{grow("thick", 100, 60)},
			no:      `storage 'thick' on node pve1 has 50G left, and 60G are asked for`,
		},
		"Together": {
			reason:  "Disks of one storage count together.",
			growths: []qemu.Growth{grow("thick", 30, 30), grow("thick", 30, 30)},
			no:      "50G left, and 60G are asked for",
		},
		"Thin": {
			reason:  "What the guest may write some day is told.",
			growths: []qemu.Growth{grow("thin", 100, 60)},
			warning: "it has 50G left, which is 10G less than what is asked for",
		},
		"Unknown": {reason: "Of a storage that tells nothing nothing is known.", growths: []qemu.Growth{grow("unknown", 900, 900), grow("nowhere", 9, 9)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := capacityFor(tc.growths, storages, "pve1")
			no := strings.Join(c.rejections, "; ")
			if (tc.no == "") != (no == "") || !strings.Contains(no, tc.no) {
				t.Errorf("\n%s\nwant it refused with %q, got %q", tc.reason, tc.no, no)
			}
			warning := c.warnings["thin"]
			if (tc.warning == "") != (len(c.warnings) == 0) || !strings.Contains(warning, tc.warning) {
				t.Errorf("\n%s\nwant a warning of %q, got %q", tc.reason, tc.warning, c.warnings)
			}
		})
	}
}

// Growth beyond a storage is refused before anything is sent, and told where it may be.
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

// A bridge that is not on the VM's node is not written to a VM.
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
