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
	"cmp"
	"maps"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// volumes returns the volumes of the disk virtio0: the one in force, and the one that is pending.
func (r *rig) volumes() (inForce, pending string) {
	r.Edit(func(st *simulator.State) {
		g := st.Guests[r.vmid()]
		inForce, pending = g.Config["virtio0"], g.Pending["virtio0"]
	})
	return volumeOf(inForce), volumeOf(pending)
}

func volumeOf(disk string) string {
	volume, _, _ := strings.Cut(disk, ",")
	return volume
}

// TestPlacedWithPendingChanges moves and grows disks of a running VM together with changes that wait for its restart. PVE moves and resizes what is
// in force. What is pending keeps the volume and the size with which it was created.
func TestPlacedWithPendingChanges(t *testing.T) {
	const (
		plain     = "powerState: Running\ndisks: [{name: root, device: virtio0, size: 1G, storage: local-lvm}]"
		cached    = "powerState: Running\ndisks: [{name: root, device: virtio0, size: 1G, storage: local-lvm, cache: writeback}]"
		larger    = "powerState: Running\ndisks: [{name: root, device: virtio0, size: 2G, storage: local-lvm, cache: writeback}]"
		elsewhere = "powerState: Running\ndisks: [{name: root, device: virtio0, size: 1G, storage: ceph, cache: writeback}]"
		all       = "powerState: Running\ndisks: [{name: root, device: virtio0, size: 2G, storage: ceph, cache: writeback}]"
	)
	cases := map[string]struct {
		reason string
		specs  []string
		want   string
	}{
		"GrowsAtOnce":    {reason: "A disk grows with a change that waits.", specs: []string{plain, larger}, want: "VOL,cache=writeback,size=2G"},
		"GrowsLater":     {reason: "A disk grows with a change that waits already.", specs: []string{plain, cached, larger}, want: "VOL,cache=writeback,size=2G"},
		"MovesAtOnce":    {reason: "A disk moves with a change that waits.", specs: []string{plain, elsewhere}, want: "VOL,cache=writeback,size=1G"},
		"MovesLater":     {reason: "A disk moves with a change that waits already.", specs: []string{plain, cached, elsewhere}, want: "VOL,cache=writeback,size=1G"},
		"MovesAndGrows":  {reason: "A disk moves and grows at once.", specs: []string{plain, all}, want: "VOL,cache=writeback,size=2G"},
		"MovesThenGrows": {reason: "A disk moves and then grows, one after the other.", specs: []string{plain, elsewhere, all}, want: "VOL,cache=writeback,size=2G"},
		"WaitsAndReverts": {
			reason: "What waits is taken back by a spec without it.", specs: []string{plain, cached, strings.Replace(all, "writeback", "none", 1)},
			want: "VOL,size=2G",
		},
	}
	for _, version := range []string{"8.4", "9.2"} {
		c := newCluster(t, version)
		for name, tc := range cases {
			t.Run(version+"/"+name, func(t *testing.T) {
				r := c.rig(t)
				for _, s := range tc.specs {
					r.settle(parameters(t, s))
				}
				r.expect("virtio0", tc.want)
				if inForce, pending := r.volumes(); pending != "" && pending != inForce {
					t.Errorf("%s The VM has %s, and %s waits to take its place.", tc.reason, inForce, pending)
				}
				if n := r.settle(parameters(t, tc.specs[len(tc.specs)-1])); n != 0 {
					t.Errorf("%s %d calls wrote when nothing had changed.", tc.reason, n)
				}
			})
		}
	}
}

// TestRemovalReverted adds entries again while their removal waits for a restart.
func TestRemovalReverted(t *testing.T) {
	cases := map[string]struct{ reason, option, with, without, again, added string }{
		"Network": {
			reason:  "A network keeps its MAC address.",
			option:  "net1",
			without: "hotplug: []\nnetworks: [{name: lan}]",
			with:    "hotplug: []\nnetworks: [{name: lan}, {name: dmz}]",
		},
		"Changed": {
			reason:  "A network that comes back as another keeps its MAC address.",
			option:  "net1",
			with:    "hotplug: []\nnetworks: [{name: lan}, {name: dmz}]",
			without: "hotplug: []\nnetworks: [{name: lan}]",
			again:   "hotplug: []\nnetworks: [{name: lan}, {name: dmz, linkDown: false, rateMBps: 10}]",
			added:   ",rate=10",
		},
		"Disk": {
			reason:  "A disk keeps its data.",
			option:  "sata0",
			without: "bootOrder: [root]\ndisks: [{name: root, size: 1G}]",
			with:    "bootOrder: [root]\ndisks: [{name: root, size: 1G}, {name: data, type: sata, size: 1G}]",
		},
		"Destroyed": {
			reason:  "A disk that was to be destroyed keeps its data.",
			option:  "sata0",
			without: "bootOrder: [root]\ndisks: [{name: root, size: 1G}]",
			with:    "bootOrder: [root]\ndisks: [{name: root, size: 1G}, {name: data, type: sata, size: 1G, removalPolicy: Destroy}]",
		},
		"Firmware": {
			reason:  "Firmware keeps its variables.",
			option:  "efidisk0",
			with:    "bios: ovmf\nefiDisk: {}",
			without: "bios: ovmf\nefiDisk: {enabled: false}",
		},
		"TPM": {
			reason:  "A TPM keeps its secrets.",
			option:  "tpmstate0",
			with:    "tpm: {version: v2.0}",
			without: "tpm: {enabled: false}",
		},
		"PCI": {
			reason:  "A device of the node stays.",
			option:  "hostpci0",
			without: "machineType: q35\npciDevices: []",
			with:    "machineType: q35\npciDevices: [{name: gpu, mapping: gpu, pcie: true}]",
		},
	}
	for _, version := range []string{"8.4", "9.2"} {
		c := newCluster(t, version)
		for name, tc := range cases {
			t.Run(version+"/"+name, func(t *testing.T) {
				const running = "powerState: Running\n"
				r := c.rig(t)
				r.settle(parameters(t, running+tc.with))
				config, _ := r.config()
				before := config[tc.option]
				r.settle(parameters(t, running+tc.without))
				if _, pending := r.config(); len(pending) == 0 {
					t.Fatalf("%s Want its removal to wait, got %q.", tc.reason, pending)
				}
				again := parameters(t, running+cmp.Or(tc.again, tc.with))
				r.settle(again)
				config, pending := r.config()
				if want := before + tc.added; config[tc.option] != want || len(pending) != 0 {
					t.Errorf("%s Want %s in force, got %s with pending %q.", tc.reason, want, config[tc.option], pending)
				}
				if n := r.settle(again); n != 0 {
					t.Errorf("%s %d calls wrote when nothing had changed.", tc.reason, n)
				}
			})
		}
	}
}

// TestPendingOfStopped lets a guest power itself off while changes wait for a restart, which PVE then does not apply.
func TestPendingOfStopped(t *testing.T) {
	const with, without = "hotplug: []\nnetworks: [{name: lan}, {name: dmz}]", "runStrategy: Manual\nhotplug: []\nnetworks: [{name: lan}]"
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			r := newCluster(t, version).rig(t)
			r.settle(parameters(t, "powerState: Running\n"+with))
			r.settle(parameters(t, without))
			if _, pending := r.config(); len(pending) == 0 {
				t.Fatal("want the removal to wait for a restart")
			}
			r.Edit(func(st *simulator.State) { st.Guests[r.vmid()].Power = state.Stopped })
			r.cache.Forget(r.m)
			r.settle(parameters(t, without))
			if config, pending := r.config(); config["net1"] != "" || len(pending) > 0 {
				t.Errorf("want what was pending applied, got net1 %q, pending %q", config["net1"], pending)
			}
			if n := r.settle(parameters(t, without)); n != 0 {
				t.Errorf("%d calls wrote when nothing had changed", n)
			}
		})
	}
}

// TestNoDevice checks that a spec that asks for an impossible device still shows everything else.
func TestNoDevice(t *testing.T) {
	known, vm := withDisk("local-lvm:vm-10000-disk-1,size=1G")
	b := newBench(t, all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Type = new("sata") })))
	vm.config["cores"], vm.pending = "1", map[string]string{"cores": "2"}
	b.vms[10000] = vm
	if s := b.reconcile(t.Context()); s.err == nil || !strings.Contains(s.err.Error(), "cannot become sata") || len(b.writes) > 0 {
		t.Errorf("want the change refused, got %v and %q", s.err, b.writes)
	}
	if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != conditions.ReasonPendingChanges {
		t.Errorf("want %s, got %q: %s", conditions.ReasonPendingChanges, c.Reason, c.Message)
	}
	if disks := b.m.Status.AtProvider.Disks; len(disks) != 1 || disks[0].Name != "data" {
		t.Errorf("want the disk with its name, got %+v", disks)
	}
	vm.config["smbios1"], vm.config["description"] = "uuid="+otherUUID, "<!-- provider-proxmox: uuid="+ourUUID+" -->"
	b.touch()
	b.reconcile(t.Context())
	if phase := b.m.Status.AtProvider.Phase; phase != v1alpha1.MachineCreating {
		t.Errorf("a clone without its UUID is being made, got %s", phase)
	}
}

// TestLockedMigration checks that a locked VM that is to migrate shows what it waits for.
func TestLockedMigration(t *testing.T) {
	b := newBench(t, spec(onNode2))
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["lock"] = "backup"
	s := b.reconcile(t.Context())
	if c := b.m.GetCondition(xpv2.TypeReady); s.err != nil || !strings.Contains(c.Message, "no longer locked (backup)") {
		t.Errorf("want said what the VM waits for, got %v and %q", s.err, c.Message)
	}
}

// TestDiskToCome grows a disk that the VM gets at its next start: until then there is nothing that PVE could resize or move.
func TestDiskToCome(t *testing.T) {
	const (
		none   = "powerState: Running"
		small  = none + "\ndisks: [{name: data, device: sata0, size: 1G}]"
		larger = none + "\ndisks: [{name: data, device: sata0, size: 2G, storage: ceph}]"
	)
	r := newCluster(t, "9.2").rig(t)
	r.settle(parameters(t, none))
	r.settle(parameters(t, small))
	r.m.Spec.ForProvider = parameters(t, larger)
	before := r.writes.Load()
	for range 5 {
		e := r.external()
		e.connectTo(r.client, r.inventory)
		if s := r.reconcileWith(t.Context(), e); s.err != nil {
			t.Fatalf("cannot reconcile: %v", s.err)
		} else if !s.upToDate {
			t.Error("An update is asked for that has nothing to do.")
		}
	}
	if n := r.writes.Load() - before; n != 0 {
		t.Errorf("%d calls wrote to a disk that is yet to come.", n)
	}
	if shown := r.m.Status.AtProvider.Difference; len(shown) != 2 {
		t.Errorf("What waits is shown: got %+v", shown)
	}
	r.settle(parameters(t, strings.Replace(larger, "Running", "Stopped", 1)))
	r.expect("sata0", "VOL,size=2G")
	if n := r.settle(parameters(t, larger)); n != 1 {
		t.Errorf("The start took %d calls that write.", n)
	}
}

// TestHandEditReverted lets users edit declared options, which then wait for a restart: when that is reverted, nothing remains to restart the VM for.
func TestHandEditReverted(t *testing.T) {
	const spec = "powerState: Running\nhotplug: []\nagent: true\ncpu: {cores: 2, numa: false}\nkvm: true\nserialPorts: []\n" +
		"disks: [{name: root, size: 1G, cache: none}]\nnetworks: [{name: lan, model: virtio}]\nextraConfig: {freeze: '0'}"
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			r := newCluster(t, version).rig(t)
			r.settle(parameters(t, spec))
			before, _ := r.config()
			edits := map[string]string{
				"agent": "0", "cores": "4", "numa": "1", "kvm": "0", "serial0": "socket", "freeze": "1", "smbios1": before["smbios1"] + ",serial=QQ==,base64=1",
				"scsi0": before["scsi0"] + ",cache=unsafe", "net0": strings.Replace(before["net0"], "virtio", "e1000", 1),
			}
			if err := r.client.Configure(t.Context(), proxmox.Ref{Node: r.m.Status.AtProvider.Node, VMID: r.vmid()}, proxmox.Change{Set: edits}); err != nil {
				t.Fatal(err)
			}
			if _, pending := r.config(); len(pending) != len(edits) {
				t.Fatalf("Not all edits wait for a restart: %q", pending)
			}
			r.cache.Forget(r.m)
			r.settle(parameters(t, spec))
			want := map[string]string{"smbios1": edits["smbios1"]} // Only its UUID is declared.
			if _, pending := r.config(); !maps.Equal(pending, want) {
				t.Errorf("What waits still is %q, want what is not declared: %q", pending, want)
			}
		})
	}
}

// TestMoveInSnapshot moves a disk that a snapshot has. Proxmox VE refuses that as long as the snapshot exists, and is asked once.
func TestMoveInSnapshot(t *testing.T) {
	const spec = "powerState: Stopped\ndisks: [{name: root, device: virtio0, size: 1G, storage: "
	c := newCluster(t, "9.2")
	r := c.rig(t)
	r.settle(parameters(t, spec+"local-lvm}]"))
	r.Edit(func(st *simulator.State) {
		g := st.Guests[r.vmid()]
		g.Snapshots = map[string]*state.Snapshot{"one": {Config: maps.Clone(g.Config)}}
	})
	r.m.Spec.ForProvider = parameters(t, spec+"ceph}]")
	look := func() error {
		e := r.external()
		e.connectTo(r.client, r.inventory)
		e.checks.Superuser = true
		return r.reconcileWith(t.Context(), e).err
	}
	if err := look(); !proxmox.IsDigestMismatch(err) {
		t.Errorf("the configuration was changed since it was read: %v", err)
	}
	before := r.writes.Load()
	for range 3 {
		if err := look(); err == nil || !strings.Contains(err.Error(), `disk "root" (virtio0) cannot move while a snapshot of the VM has it: remove the snapshot`) {
			t.Errorf("got error %v", err)
		}
	}
	if n := r.writes.Load() - before; n != 1 {
		t.Errorf("Proxmox VE was asked %d times", n)
	}
	r.Edit(func(st *simulator.State) { clear(st.Guests[r.vmid()].Snapshots) })
	r.settle(parameters(t, spec+"ceph}]"))
	r.expect("virtio0", "VOL,size=1G")
	if volume, _ := r.volumes(); !strings.HasPrefix(volume, "ceph:") {
		t.Errorf("the disk is %s", volume)
	}
}
