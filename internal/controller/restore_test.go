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

package controller_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestRestores checks Machines that are created from backups, in both scopes and on all versions.
func TestRestores(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"unpacked":  {reason: "A Machine waits for a Backup, and is a copy of what that holds.", run: fromBackup},
		"moved":     {reason: "A Machine of a volume takes the place of the first VM.", run: fromVolume},
		"arrived":   {reason: "A Machine of the backup of a VM that another cluster has gets the bridges and storages of its own.", run: fromElsewhere},
		"latest":    {reason: "A Machine is made of the newest backup of another one's VM, for which it waits.", run: fromLatest},
		"woken":     {reason: "A Machine that waits for a Backup is woken by it, and does not look for itself.", run: wokenByBackup},
		"brokenoff": {reason: "What a restore has left that failed goes before the next attempt.", run: restoredLater},
		"givenup":   {reason: "What a restore has left that failed goes with its Machine.", run: abandonedRestore},
		"whole":     {reason: "A Backup that comes with its Machine waits for all disks.", run: isWhole, durations: map[string]string{"qmmove": "3s"}},
		"theirs":    {reason: "What somebody has made of it is left alone.", run: takenOver},
	})
}

// backUp backs up the Machine's VM. It returns once the Backup exists, complete or not.
func (w *world) backUp(name, storage string) restore.Backup {
	w.Helper()
	o := w.meta()
	o.Name = w.name + "-" + name
	spec := v1alpha1.BackupParameters{Machine: new(w.name), Storage: storage}
	if w.inNamespace() {
		o.Namespace = namespace
		b := &namespaced.Backup{ObjectMeta: o, Spec: namespaced.BackupSpec{ForProvider: spec}}
		b.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		w.make(b)
		return b
	}
	b := &cluster.Backup{ObjectMeta: o, Spec: cluster.BackupSpec{ForProvider: spec}}
	b.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
	w.make(b)
	return b
}

// restoreTo creates another Machine from a backup, which becomes the world's Machine. It returns the first one.
func (w *world) restoreTo(spec v1alpha1.MachineParameters) (first machine.Machine) {
	w.Helper()
	first = w.m
	w.create(spec, func(m machine.Machine) {
		m.SetName(w.name + "-copy")
		switch m := m.(type) {
		case *cluster.Machine:
			m.Spec.WriteConnectionSecretToReference.Name += "-copy"
		case *namespaced.Machine:
			m.Spec.WriteConnectionSecretToReference.Name += "-copy"
		}
	})
	return first
}

// finishBoth removes both Machines.
func (w *world) finishBoth(first machine.Machine) {
	w.Helper()
	w.delete()
	w.gone()
	w.m = first
	if ours := w.ours(); !slices.Equal(ours, []int{10000}) {
		w.Errorf("want the first VM alone, got %v", ours)
	}
	w.finish()
}

// backedUp creates a Machine with a backup, and returns its volume.
func (w *world) backedUp() string {
	w.Helper()
	w.grant("/vms", "PVEVMAdmin")
	spec := ubuntu()
	spec.Description = new("first")
	w.create(spec)
	w.ready()
	b := w.backUp("nightly", "nfs")
	w.well(b)
	return b.Observation().Volume
}

func fromBackup(w *world) {
	w.grant("/vms", "PVEVMAdmin")
	w.create(ubuntu())
	w.ready()
	first := w.restoreTo(v1alpha1.MachineParameters{
		Restore: &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: w.name + "-nightly"}, Storage: new("local-lvm")},
		CPU:     &v1alpha1.MachineCPU{Cores: new(int32(3))},
		Disks:   []v1alpha1.MachineDisk{{Name: "root"}, {Name: "data", Type: new("scsi"), Size: new("1G"), Storage: new("ceph")}},
	})
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForBackup, "not found")
	if w.m.GetAnnotations()["crossplane.io/external-name"] != "" {
		w.Error("a Machine that waits has no VMID yet")
	}
	w.backUp("nightly", "local") // On the node of the VM.
	w.ready()
	was, is := w.firstVM(), w.vm()
	if is.VMID == was.VMID || is.Config["smbios1"] == was.Config["smbios1"] || is.Config["net0"] == was.Config["net0"] {
		w.Errorf("a copy has a VMID, a UUID and MAC addresses of its own, got %v", is.Config)
	}
	if !strings.HasPrefix(is.Config["scsi0"], "local-lvm:") || !strings.HasPrefix(is.Config["scsi1"], "ceph:") || is.Config["cores"] != "3" {
		w.Errorf("the copy is as its spec has it, got %v", is.Config)
	}
	if is.Power != simulator.Running || is.Config["name"] != w.m.GetName() {
		w.Errorf("the copy runs by its own name, got %s, %s", is.Power, is.Config["name"])
	}
	w.unchanged()
	w.finishBoth(first)
}

// firstVM returns the VM that was backed up.
func (w *world) firstVM() simulator.Guest {
	g, _ := w.pve.Guest(10000)
	return g
}

func fromVolume(w *world) {
	volume := w.backedUp()
	mac := w.firstVM().Config["net0"]
	first := w.restoreTo(v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{Volume: &volume, Unique: new(false)}})
	w.ready()
	if g := w.vm(); g.Config["net0"] != mac || g.Config["description"] != "first" {
		w.Errorf("want what the backup has, got %v", g.Config)
	}
	w.stop()
	w.start()
	w.unchanged()
	if n := w.tasks("qmrestore"); n != 1 {
		w.Errorf("want one restore, got %d", n)
	}
	w.finishBoth(first)
}

// elsewhere is a backup of a VM in another cluster, on a storage that both clusters share. Its disk and bridge are not in this one.
const elsewhere = "nfs:backup/vzdump-qemu-777-2026_11_22-17_00_00.vma.zst"

func fromElsewhere(w *world) {
	w.grant("/vms", "PVEVMAdmin")
	const mac = "BC:24:11:00:07:77"
	w.pve.Edit(func(s *simulator.State) {
		s.Volumes[s.Storages["nfs"].Key("pve1", strings.TrimPrefix(elsewhere, "nfs:"))] = &simulator.Volume{
			VMID: 777, Format: "vma.zst", Content: "backup", Size: 1 << 20,
			Backup: &simulator.Backup{
				Config: map[string]string{
					"name": "web", "memory": "512", "scsi0": "san:vm-777-disk-0,size=1G", "net0": "virtio=" + mac + ",bridge=lan9",
					"smbios1": "uuid=77777777-2222-4333-8444-555555555555", "boot": "order=scsi0",
				},
				Disks: map[string]simulator.Volume{"scsi0": {Format: "raw", Content: "images", Size: 1 << 30}},
			},
		}
	})
	volume := elsewhere
	w.create(v1alpha1.MachineParameters{
		Restore:  &v1alpha1.MachineRestore{Volume: &volume, Storage: new("local-lvm"), Unique: new(false)},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0")}},
	})
	w.ready()
	g := w.vm()
	if !strings.Contains(g.Config["net0"], mac) || !strings.Contains(g.Config["net0"], "bridge=vmbr0") {
		w.Errorf("want the MAC address that it had and a bridge of this cluster, got %s", g.Config["net0"])
	}
	if !strings.HasPrefix(g.Config["scsi0"], "local-lvm:") || g.Power != simulator.Running || strings.Contains(g.Config["smbios1"], "77777777") {
		w.Errorf("want its disk here, a UUID of its own, and that it runs, got %v", g.Config)
	}
	w.unchanged()
	w.finish()
}

func wokenByBackup(w *world) {
	w.stop()
	w.poll = time.Hour // The provider would not poll in time.
	w.start()
	w.grant("/vms", "PVEVMAdmin")
	w.create(ubuntu())
	w.ready()
	first := w.restoreTo(v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: w.name + "-nightly"}}})
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForBackup, "not found")
	w.backUp("nightly", "nfs")
	w.ready()
	w.finishBoth(first)
}

func fromLatest(w *world) {
	w.grant("/vms", "PVEVMAdmin")
	w.create(ubuntu())
	w.ready()
	first := w.restoreTo(v1alpha1.MachineParameters{
		Restore: &v1alpha1.MachineRestore{LatestOf: &v1alpha1.MachineRestoreLatest{MachineRef: &v1alpha1.Reference{Name: w.name}, Storage: "nfs"}},
	})
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForBackup, "no backup of VM 10000 yet")
	w.backUp("newest", "nfs")
	w.ready()
	if g := w.vm(); g.Power != simulator.Running || g.VMID == w.firstVM().VMID {
		w.Errorf("want a copy that runs, got %v", g.Config)
	}
	w.finishBoth(first)
}

// breakRestores makes restores fail until they are repaired.
func (w *world) breakRestores() (mend func()) {
	return w.pve.Inject(simulator.Fault{Task: "qmrestore", TaskExit: "command 'vma extract' failed"})
}

func restoredLater(w *world) {
	volume := w.backedUp()
	mend := w.breakRestores()
	first := w.restoreTo(v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{Volume: &volume}})
	w.says(conditions.TypeVMCreated, conditions.ReasonCreationFailed, "vma extract")
	mend()
	w.ready()
	if n := w.tasks("qmrestore"); n < 2 || len(w.ours()) != 2 {
		w.Errorf("want at least two attempts and one VM of them, got %d and %v", n, w.ours())
	}
	w.finishBoth(first)
}

func abandonedRestore(w *world) {
	volume := w.backedUp()
	w.breakRestores()
	first := w.restoreTo(v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{Volume: &volume}})
	w.says(conditions.TypeVMCreated, conditions.ReasonCreationFailed, "vma extract")
	w.finishBoth(first)
}

func isWhole(w *world) {
	w.grant("/vms", "PVEVMAdmin")
	v := w.volume("data")
	spec := ubuntu()
	spec.Disks = []v1alpha1.MachineDisk{{Name: "root"}, {Name: "data", VolumeRef: &v1alpha1.VolumeReference{Name: v.GetName()}}}
	w.create(spec)
	b := w.backUp("first", "nfs")
	w.well(b)
	w.ready()
	var disks []string
	node := w.vm().Node
	w.pve.Edit(func(s *simulator.State) {
		if made := s.Volume(node, b.Observation().Volume); made != nil {
			disks = slices.Sorted(maps.Keys(made.Backup.Disks))
		}
	})
	if len(disks) != 2 || w.tasks("vzdump") != 1 || len(w.m.Observation().PendingDisks) > 0 {
		w.Errorf("want one backup with both disks, got %v:\n%s", disks, w)
	}
	w.delete()
	w.gone()
	w.remove(v)
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

// volume creates a Volume on local storage.
func (w *world) volume(name string) resource.Managed {
	w.Helper()
	o := w.meta()
	o.Name = w.name + "-" + name
	spec := v1alpha1.VolumeParameters{Size: new("1G"), Storage: new("local-lvm")}
	var v resource.Managed
	if w.inNamespace() {
		o.Namespace = namespace
		in := &namespaced.Volume{ObjectMeta: o, Spec: namespaced.VolumeSpec{ForProvider: spec}}
		in.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		v = in
	} else {
		of := &cluster.Volume{ObjectMeta: o, Spec: cluster.VolumeSpec{ForProvider: spec}}
		of.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
		v = of
	}
	w.make(v)
	return v
}

func takenOver(w *world) {
	volume := w.backedUp()
	w.breakRestores()
	first := w.restoreTo(v1alpha1.MachineParameters{VMID: new(int32(10001)), Restore: &v1alpha1.MachineRestore{Volume: &volume}})
	w.eventually("the restore has failed", func() bool {
		done := false
		w.pve.Edit(func(s *simulator.State) {
			g := s.Guests[10001]
			if done = g != nil && g.Config["memory"] == "128" && restoreEnded(s); done {
				g.Config["name"] = "theirs"
			}
		})
		return done
	})
	w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, "VM 10001 already exists")
	w.delete()
	w.gone()
	w.m = first
	if ours := w.ours(); !slices.Contains(ours, 10001) {
		w.Errorf("want it left alone, got %v", ours)
	}
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests, 10001) })
	w.finish()
}

// restoreEnded reports whether a restore has ended, and no other task works on what it has left.
func restoreEnded(s *simulator.State) bool {
	return slices.ContainsFunc(s.Tasks, func(t *simulator.Task) bool { return t.Type == "qmrestore" && !t.Running() }) &&
		!slices.ContainsFunc(s.Tasks, func(t *simulator.Task) bool { return t.ID == "10001" && t.Running() })
}
