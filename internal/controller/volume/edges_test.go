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

package volume_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/storage"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// stub returns the stub VM of a Volume.
func (l *lab) stub(v volume.Volume) proxmox.Ref {
	l.Helper()
	if v.Observation().StubVMID == nil {
		l.Fatal("there is no stub VM")
	}
	return proxmox.Ref{Node: v.Observation().Node, VMID: int(*v.Observation().StubVMID)}
}

// TestStubDestroyed checks that another stub VM is created in place of one that was destroyed without the disk. If it was destroyed with the disk,
// the disk is lost, and not created again.
func TestStubDestroyed(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		destroy := func(r proxmox.Ref) {
			l.must(l.root.Configure(l.Context(), r, proxmox.Change{Set: proxmox.Params{"protection": "0"}}))
			l.ended(l.root.Delete(l.Context(), r, proxmox.DeleteOptions{Purge: true}))
			l.pass()
		}
		first := l.stub(v)
		destroy(first)
		l.until("the Machine still has the disk", l.bound(v, m))
		l.lists(m)
		l.until("another stub VM has the disk", l.unbound(v))
		if c := l.config(l.stub(v).VMID); c["protection"] != "1" || c["unused0"] == "" && c["scsi0"] == "" {
			l.Errorf("the stub VM is %v", c)
		}
		destroy(l.stub(v))
		l.lists(m, "data")
		l.until("the disk is lost", configtest.Says(v, xpv2.TypeReady, "Lost", "was destroyed"))
		l.until("the Machine says so", configtest.Says(m, xpv2.TypeReady, "WaitingForVolume", "lost"))
		if made := l.count("POST /nodes/pve1/qemu map"); made != 3 {
			l.Errorf("%d VMs are made: %v", made, l.writes())
		}
	})
}

// TestStubStarted checks that a stub VM that a user has started is reported, and that work continues when it is off. Its name does not matter.
func TestStubStarted(t *testing.T) {
	l := here(t)
	v := l.volume("data", onLVM)
	l.until("the disk is made", l.unbound(v))
	l.must(l.root.Configure(l.Context(), l.stub(v), proxmox.Change{Set: proxmox.Params{"name": "renamed", "description": "mine"}}))
	l.ended(l.root.Start(l.Context(), l.stub(v)))
	l.pass()
	m := l.machine("a", "data")
	l.until("it says so", configtest.Says(v, xpv2.TypeReady, "Failed", "source VM is running"))
	l.ended(l.root.Stop(l.Context(), l.stub(v), proxmox.StopOptions{}))
	l.until("the Machine has the disk", l.bound(v, m))
}

// TestStubSnapshot checks that what a snapshot of the stub VM contains is not destroyed, and the obstacle is reported.
func TestStubSnapshot(t *testing.T) {
	l := here(t)
	v := l.volume("data", onLVM)
	l.until("the disk is made", l.unbound(v))
	l.ended(l.root.TakeSnapshot(l.Context(), l.stub(v), proxmox.SnapshotOptions{Name: "s1"}))
	l.pass()
	m := l.machine("a", "data")
	l.until("it says so", configtest.Says(v, xpv2.TypeReady, "Failed", "remove the snapshot"))
	l.ended(l.root.RemoveSnapshot(l.Context(), l.stub(v), "s1"))
	l.until("the Machine has the disk", l.bound(v, m))
}

// TestSuspended checks that a suspended VM whose Machine is deleted is resumed, because its lock prevents Proxmox VE from handing over disks. A VM
// without such disks is destroyed as it is.
func TestSuspended(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m, other := l.volume("data", onLVM), l.machine("a", "data"), l.machine("b")
		l.until("the Machine has the disk", l.bound(v, m))
		l.until("the other one is there", configtest.Settled(other))
		l.marked(v)
		for _, x := range []object.Machine{m, other} {
			l.change(x, func() { x.Parameters().PowerState = new(v1alpha1.PowerStateSuspended) })
			l.until("the VM is suspended", func() bool { return l.config(ref(x).VMID)["lock"] == "suspended" && configtest.Settled(x)() })
		}
		starts := l.count("status/start")
		l.delete(other)
		l.until("the Machine without a Volume is gone", l.gone(other))
		if n := l.count("status/start"); n != starts {
			l.Errorf("VMs were started %d times", n-starts)
		}
		l.delete(m)
		l.until("the Machine is gone", l.gone(m))
		l.until("the stub VM has the disk", l.unbound(v))
		l.keeps(v)
	})
}

// TestTemplate checks that a disk whose VM was converted to a template is not changed, and not destroyed.
func TestTemplate(t *testing.T) {
	l := here(t)
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the Machine has the disk", l.bound(v, m))
	l.ended(l.root.Stop(l.Context(), ref(m), proxmox.StopOptions{}))
	l.ended(l.root.ConvertToTemplate(l.Context(), ref(m)))
	l.pass()
	l.until("the disk is missed", configtest.Says(v, xpv2.TypeReady, "Lost"))
	l.delete(m)
	l.until("the Machine is held", configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "kept until", "data"))
	if c := l.config(ref(m).VMID); !strings.Contains(c["scsi5"], "base-") {
		l.Errorf("the VM is %v", c)
	}
	l.delete(v)
	l.until("both are gone", func() bool { return !l.read(m) && !l.read(v) })
}

// TestRolledBack rolls back a VM to before it had the disk, which becomes an unused one, and to when it had it.
func TestRolledBack(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a")
		l.until("the Machine is there", configtest.Settled(m))
		l.ended(l.root.TakeSnapshot(l.Context(), ref(m), proxmox.SnapshotOptions{Name: "before"}))
		back := func(snapshot string) {
			l.change(m, func() {
				m.Parameters().Rollback = &v1alpha1.MachineRollback{Snapshot: snapshot, Token: snapshot, AllowRunning: new(true)}
			})
			l.until("the VM is back at "+snapshot, func() bool {
				o := m.Observation().Rollback
				return o != nil && o.Token == snapshot && o.State == v1alpha1.ActSucceeded
			})
		}
		l.lists(m, "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.marked(v)
		back("before")
		l.until("the Machine has the disk again", l.bound(v, m))
		l.ended(l.root.TakeSnapshot(l.Context(), ref(m), proxmox.SnapshotOptions{Name: "with"}))
		l.pass()
		l.lists(m)
		l.until("the disk cannot leave", configtest.Says(v, xpv2.TypeReady, "Failed", "remove the snapshot"))
		back("with")
		l.until("it is detached again", func() bool { return l.config(ref(m).VMID)["scsi5"] == "" })
		l.until("and cannot leave", configtest.Says(v, xpv2.TypeReady, "Failed", "remove the snapshot"))
		l.lists(m, "data")
		l.until("the Machine may keep it", l.bound(v, m))
		l.ended(l.root.RemoveSnapshot(l.Context(), ref(m), "with"))
		l.lists(m)
		l.until("it leaves", l.unbound(v))
		l.keeps(v)
	})
}

// marked writes a mark to the disk of a Volume.
func (l *lab) marked(v volume.Volume) {
	l.Helper()
	l.pve.Edit(func(s *state.State) {
		s.Volume(v.Observation().Node, v.Observation().Volume).Data = []byte(v.GetName())
	})
}

// keeps checks that the disk has the mark that was written to it, and no other disk has.
func (l *lab) keeps(v volume.Volume) {
	l.Helper()
	var found []string
	l.pve.Edit(func(s *state.State) {
		for key, d := range s.Volumes {
			if string(d.Data) == v.GetName() {
				found = append(found, key.Storage+":"+key.Name)
			}
		}
	})
	if len(found) != 1 || found[0] != v.Observation().Volume {
		l.Errorf("the disk is %s, and what was written to it is in %v", v.Observation().Volume, found)
	}
}

// TestListLeftOut checks that the disk is handed back when the whole list that contained it is left out.
func TestListLeftOut(t *testing.T) {
	l := here(t)
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the Machine has the disk", l.bound(v, m))
	l.change(m, func() { m.Parameters().Disks = nil })
	l.until("the stub VM has the disk", l.unbound(v))
	if c := l.config(ref(m).VMID); c["scsi0"] == "" || c["scsi5"] != "" {
		l.Errorf("the VM is %v", c)
	}
}

// TestGoneAtOnce deletes a Volume together with the Machine that lists it, and checks that nothing is left of either, and nothing else is deleted.
func TestGoneAtOnce(t *testing.T) {
	everywhere(t, func(l *lab) {
		before := l.left()
		for _, order := range []string{"volume first", "machine first"} {
			v, m := l.volume("data", onLVM+"reclaimPolicy: Delete\n"), l.machine("a", "data")
			l.until("the Machine has the disk", l.bound(v, m))
			if order == "volume first" {
				l.delete(v)
			}
			l.delete(m)
			l.until("the Machine is gone", l.gone(m))
			if l.read(v) && order == "machine first" {
				l.delete(v)
			}
			l.until("the Volume is gone", l.gone(v))
			if now := l.left(); strings.Join(now, " ") != strings.Join(before, " ") {
				l.Errorf("%s: there are %v, not %v", order, now, before)
			}
		}
	})
}

// TestHidden checks that a disk is not considered lost if the provider may no longer see its VM, and no Machine lists it.
func TestHidden(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.marked(v)
		var before []state.Grant
		path := fmt.Sprintf("/vms/%d", ref(m).VMID)
		l.pve.Edit(func(s *state.State) {
			before = slices.Clone(s.ACL)
			s.ACL = append(s.ACL, state.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: "NoAccess", Propagate: true})
		})
		l.lists(m)
		l.until("it says what is missing", configtest.Says(v, xpv2.TypeSynced, xpv2.ReasonReconcileError, "VM.Audit", path))
		l.pve.Edit(func(s *state.State) { s.ACL = before })
		l.until("the disk is back in the stub VM", l.unbound(v))
		l.keeps(v)
	})
}

// TestNoVMID checks that a missing VMID for the stub VM is reported, and that work continues when there is one.
func TestNoVMID(t *testing.T) {
	l := here(t)
	within := func(lowest, highest int32) {
		pc := &namespaced.ProviderConfig{}
		l.must(l.kube.Get(l.Context(), client.ObjectKey{Namespace: "team", Name: "pve"}, pc))
		pc.Spec.VMIDRange = &v1alpha1.VMIDRange{Min: lowest, Max: highest}
		l.must(l.kube.Update(l.Context(), pc))
	}
	within(100, 101)
	v := l.volume("data", onLVM)
	l.until("it says so", configtest.Says(v, xpv2.TypeSynced, xpv2.ReasonReconcileError, "cannot choose a VMID"))
	within(10000, 10001)
	l.until("the disk is made", l.unbound(v))
}

// TestHighAvailability hands a disk to and from a VM that high availability keeps running.
func TestHighAvailability(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", "size: 2G\nstorage: ceph\n")
		available := func(name string, volumes ...string) object.Machine {
			spec := strings.ReplaceAll(at("", volumes...), "local-lvm", "ceph") + "highAvailability: {}\n"
			m, ok := l.object("Machine", name, len(l.all), spec, nil).(object.Machine)
			if !ok {
				l.Fatal("it is no Machine")
			}
			return m
		}
		has := func(m object.Machine) func() bool {
			return func() bool { return l.boundOn(m.Observation().Node, v, m)() }
		}
		a := available("a", "data")
		l.until("the first VM has the disk", has(a))
		l.marked(v)
		b := available("b", "data")
		l.until("the second one waits", configtest.Says(b, xpv2.TypeReady, xpv2.ReasonCreating, "kept for Machine a"))
		l.delete(a)
		l.until("the second VM has the disk", func() bool { return !l.read(a) && has(b)() })
		l.keeps(v)
		l.delete(b)
		l.until("the stub VM has the disk", func() bool { return !l.read(b) && l.unbound(v)() })
		l.keeps(v)
	})
}

// TestRestored creates a Machine from a backup that has the disk. The copy is another disk, which is in the way of the Volume and stays.
func TestRestored(t *testing.T) {
	l := here(t)
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the Machine has the disk", l.bound(v, m))
	l.marked(v)
	l.ended(l.root.BackUp(l.Context(), ref(m), proxmox.BackupOptions{Storage: "nfs"}))
	all, err := l.root.Volumes(l.Context(), "pve1", "nfs", "backup")
	l.must(err)
	l.lists(m)
	l.until("the stub VM has the disk", l.unbound(v))
	spec := with("data") + "restore:\n  volume: " + all[0].ID + "\n  storage: local-lvm\n"
	b, ok := l.object("Machine", "b", len(l.all), spec, nil).(object.Machine)
	if !ok {
		l.Fatal("it is no Machine")
	}
	l.until("the copy is in the way", configtest.Says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "scsi5 of the VM is local-lvm:vm-", "detach that"))
	l.must(l.root.Configure(l.Context(), ref(b), proxmox.Change{Delete: []string{"scsi5"}}))
	l.pass()
	l.until("the Machine has the Volume", l.bound(v, b))
	if !strings.Contains(l.config(ref(b).VMID)["scsi5"], v.Observation().Volume) {
		l.Errorf("the VM is %v", l.config(ref(b).VMID))
	}
}

// TestOrphaned checks that a VM is kept whose Machine is deleted together with a Volume that is to stay in Proxmox VE. The disk is not handed back
// until another Volume has adopted it.
func TestOrphaned(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.marked(v)
		l.change(v, func() {
			v.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
		})
		l.delete(v)
		l.until("the Volume is gone", l.gone(v))
		disk := v.Observation().Volume
		l.delete(m)
		held := configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "scsi5 ("+disk+") is the disk of Volume 'data'", "external-name")
		l.until("the Machine is held", held)
		l.must(l.root.Configure(l.Context(), ref(m), proxmox.Change{Delete: []string{"scsi5"}}))
		l.pass()
		l.until("also when the disk is detached", configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "unused0 ("+disk+") is the disk of Volume 'data'"))
		if l.count("DELETE /nodes/pve1/qemu/") > 0 {
			l.Error("the VM is destroyed")
		}
		again := l.adopting("data", "reclaimPolicy: Retain\n", disk)
		l.until("the Machine is gone, and a stub VM has the disk", func() bool { return !l.read(m) && l.unbound(again)() })
		l.keeps(again)
	})
}

// TestRuinedRestore checks that a VM is kept whose restore in place has failed, and with it the disk that the backup does not have, until the VM is
// restored.
func TestRuinedRestore(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a")
		l.until("the Machine is there", configtest.Settled(m))
		l.ended(l.root.BackUp(l.Context(), ref(m), proxmox.BackupOptions{Storage: "nfs"}))
		all, err := l.root.Volumes(l.Context(), "pve1", "nfs", "backup")
		l.must(err)
		l.lists(m, "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.marked(v)
		mend := l.pve.Inject(simulator.Fault{Task: "qmrestore", TaskExit: "command 'vma extract' failed"})
		l.change(m, func() {
			m.Parameters().RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &all[0].ID, AllowRunning: new(true)}
		})
		l.until("the restore has failed", func() bool {
			o := m.Observation().RestoreInPlace
			return o != nil && o.State == v1alpha1.ActFailed
		})
		l.until("the Volume waits", configtest.Says(v, xpv2.TypeReady, "RestoreFailed", "on its storage still"))
		l.delete(m)
		l.until("the Machine is held", configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "kept until", "data"))
		l.until("the Volume waits still", configtest.Says(v, xpv2.TypeReady, "RestoreFailed"))
		if l.count("DELETE /nodes/pve1/qemu/") > 0 {
			l.Error("the VM is destroyed")
		}
		l.keeps(v)
		mend()
		l.ended(l.root.Create(l.Context(), ref(m), proxmox.Params{"archive": all[0].ID, "force": "1"}))
		l.pass()
		l.until("the Machine is gone, and the stub VM has the disk", func() bool { return !l.read(m) && l.unbound(v)() })
		l.keeps(v)
	})
}

// inScope returns the same lab with resources of another scope.
func (l *lab) inScope(name string) *lab {
	other := *l
	other.scope, other.all = configtest.Scopes()[name], nil
	other.volumes, other.machines = side{setup: l.volumes.setup}, side{setup: l.machines.setup}
	return &other
}

// TestBothScopes checks that the older one of a cluster-scoped and a namespaced Volume for one disk adopts it, and that the one that has it keeps it.
func TestBothScopes(t *testing.T) {
	for name, scopes := range map[string][2]string{"ClusterIsOlder": {"Cluster", "Namespaced"}, "NamespacedIsOlder": {"Namespaced", "Cluster"}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, configtest.Scopes()[scopes[0]], "9.2")
			other := l.inScope(scopes[1])
			l.ended(l.root.Create(l.Context(), proxmox.Ref{Node: "pve1", VMID: 500}, proxmox.Params{
				"memory": "64", "scsi0": "local-lvm:1", "smbios1": "uuid=11111111-2222-4333-8444-555555555555",
			}))
			l.must(l.root.Configure(l.Context(), proxmox.Ref{Node: "pve1", VMID: 500}, proxmox.Change{Delete: []string{"scsi0"}}))
			older := l.adopting("older", "reclaimPolicy: Delete\n", "local-lvm:vm-500-disk-0")
			other.all = append(other.all, nil)
			younger := other.adopting("younger", "reclaimPolicy: Delete\n", "local-lvm:vm-500-disk-0")
			other.all = other.all[1:]
			refused := configtest.Says(younger, xpv2.TypeReady, "OwnershipConflict", "older")
			other.until("the younger one is refused, though nobody has the disk", refused)
			l.until("the older one adopts it", l.unbound(older))
			other.change(younger, func() { xpmeta.SetExternalName(younger, older.Observation().Volume) })
			other.until("the younger one is refused", refused)
			other.delete(younger)
			other.until("it goes", other.gone(younger))
			if _, there := l.disks()[older.Observation().Volume]; !there || !l.unbound(older)() {
				l.Errorf("the older one shows %+v of %v", older.Observation(), l.disks())
			}
			l.delete(older)
			l.until("it goes", l.gone(older))
			if n := len(l.disks()); n != 0 {
				l.Errorf("disks are %v", l.disks())
			}
		})
	}
}

// borrows attaches a disk to a VM of someone else, which Proxmox VE does without a warning.
func (l *lab) borrows(r proxmox.Ref, disk string) {
	l.Helper()
	if l.config(r.VMID) == nil {
		l.ended(l.root.Create(l.Context(), r, proxmox.Params{"memory": "64", "smbios1": "uuid=22222222-2222-4333-8444-555555555555"}))
	}
	l.must(l.root.Configure(l.Context(), r, proxmox.Change{Set: proxmox.Params{"virtio3": disk}}))
}

// returns detaches the disk from it.
func (l *lab) returns(r proxmox.Ref) {
	l.Helper()
	l.must(l.root.Configure(l.Context(), r, proxmox.Change{Delete: []string{"virtio3"}}))
}

// TestBorrowed checks that a disk that is also attached to a VM of someone else is not adopted, not handed over, not moved, and not destroyed.
func TestBorrowed(t *testing.T) {
	everywhere(t, func(l *lab) {
		owner, borrower := proxmox.Ref{Node: "pve1", VMID: 500}, proxmox.Ref{Node: "pve1", VMID: 600}
		l.ended(l.root.Create(l.Context(), owner, proxmox.Params{
			"memory": "64", "scsi0": "local-lvm:1", "smbios1": "uuid=11111111-2222-4333-8444-555555555555",
		}))
		l.must(l.root.Configure(l.Context(), owner, proxmox.Change{Delete: []string{"scsi0"}}))
		l.borrows(borrower, "local-lvm:vm-500-disk-0")
		v := l.adopting("v", "reclaimPolicy: Delete\n", "local-lvm:vm-500-disk-0")
		l.until("it is not adopted", configtest.Says(v, xpv2.TypeReady, "NotAdoptable", "VM 600 uses it too"))
		l.left600(0)
		l.returns(borrower)
		l.until("it is adopted", l.unbound(v))

		l.borrows(borrower, v.Observation().Volume)
		m := l.machine("a", "v")
		l.until("it is not handed over", configtest.Says(v, xpv2.TypeReady, "Failed", "VM 600 uses it too"))
		l.change(v, func() { v.Parameters().Storage = new("local") })
		l.lists(m)
		l.until("it is not moved", configtest.Says(v, xpv2.TypeReady, "Failed", "VM 600 uses it too"))
		l.change(v, func() { v.Parameters().Storage = nil })
		l.delete(v)
		l.until("it is not destroyed", configtest.Says(v, xpv2.TypeReady, xpv2.ReasonDeleting, "VM 600 uses it too"))
		l.left600(1)
		l.returns(borrower)
		l.until("it is gone", l.gone(v))
	})
}

// left600 checks that the borrowed disk exists, and the number of handovers.
func (l *lab) left600(handovers int) {
	l.Helper()
	disk, _, _ := strings.Cut(l.config(600)["virtio3"], ",")
	if _, there := l.disks()[disk]; !there || l.count("POST /nodes/pve1/qemu/500/move_disk") != handovers || l.count("DELETE") > 0 {
		l.Errorf("VM 600 has %q of %v, after %v", disk, l.disks(), l.writes())
	}
}

// TestUsersUnseen checks that a disk is not handed over on storage that all nodes reach, but is on local storage, while VMs that could have it are on
// a node that is off.
func TestUsersUnseen(t *testing.T) {
	l := here(t)
	off := func(yes bool) { l.pve.Edit(func(s *state.State) { s.Nodes["pve3"].Offline = yes }) } // It has VM 101.
	v, shared := l.volume("data", onLVM+"node: pve1\n"), l.volume("shared", "size: 2G\nstorage: ceph\nnode: pve1\n")
	l.until("the disks are made", func() bool { return l.unbound(v)() && l.unbound(shared)() })
	off(true)
	a := l.machine("a", "data")
	l.until("the Machine gets the one on local storage", l.bound(v, a))
	b := l.machine("b", "shared")
	l.until("the other one waits", configtest.Says(shared, xpv2.TypeReady, "Failed", "cannot see whether VM 101 uses the volume", "pve3"))
	off(false)
	l.until("the Machine gets it", l.bound(shared, b))
}

// TestDryRun checks that a resource that may only observe shows what would be done, without a privilege to do it, and that nothing is written, not
// even to Kubernetes.
func TestDryRun(t *testing.T) {
	everywhere(t, func(l *lab) {
		made, lost := l.volume("made", onLVM), l.volume("lost", onLVM)
		l.until("the disks are made", func() bool { return l.unbound(made)() && l.unbound(lost)() })
		l.pve.Edit(func(s *state.State) {
			for i := range s.ACL {
				if s.ACL[i].ID == "crossplane@pve" {
					s.ACL[i].Role = "PVEAuditor"
				}
			}
		})
		stub := l.stub(lost)
		l.must(l.root.Configure(l.Context(), stub, proxmox.Change{Set: proxmox.Params{"protection": "0"}}))
		l.ended(l.root.Delete(l.Context(), stub, proxmox.DeleteOptions{Purge: true}))
		l.pve.ClearRequests()
		for _, v := range []volume.Volume{made, lost} {
			l.change(v, func() { v.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
		}
		l.change(made, func() { made.Parameters().Size = new("3G") })
		absent := l.volume("absent", onLVM)
		l.change(absent, func() { absent.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
		before := annotations(made, lost, absent)
		l.until("what would be changed is shown", func() bool {
			d := made.Observation().Difference
			return made.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue && len(d) == 1 && d[0].Option == "size" && d[0].Desired == "3G"
		})
		l.until("what is gone is told", configtest.Says(lost, xpv2.TypeReady, "Lost", "was destroyed"))
		l.until("so is what would be made", configtest.Says(absent, kind.TypeUpToDate, kind.ReasonDifferent))
		if after := annotations(made, lost, absent); len(l.writes()) > 0 || !slices.Equal(after, before) {
			l.Errorf("written: %v, and %v in place of %v", l.writes(), after, before)
		}
	})
}

// annotations returns the annotations of Volumes, in order.
func annotations(volumes ...volume.Volume) []string {
	var all []string
	for _, v := range volumes {
		for name, value := range v.GetAnnotations() {
			all = append(all, v.GetName()+" "+name+"="+value)
		}
	}
	slices.Sort(all)
	return all
}

// TestBeyondStorage checks that no disk is created, grown or moved that is larger than its storage, and that this is reported.
func TestBeyondStorage(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", "size: 900G\nstorage: local-lvm\n")
		l.until("it says why it is not made", configtest.Says(v, xpv2.TypeReady, "StorageFull", `disk "data" of 900G is larger than storage 'local-lvm'`))
		if w := l.writes(); len(w) > 0 {
			l.Errorf("want nothing made, got %q", w)
		}
		size := func(size, storage string) {
			l.change(v, func() { v.Parameters().Size, v.Parameters().Storage = &size, &storage })
		}
		size("2G", "local-lvm")
		l.until("the disk is made", l.unbound(v))
		made := len(l.writes())
		size("900G", "local-lvm")
		l.until("it says why it does not grow", configtest.Says(v, xpv2.TypeReady, "StorageFull", `disk "data" of 900G is larger than storage 'local-lvm'`))
		size("3T", "nfs")
		l.until("it says why it does not move", configtest.Says(v, xpv2.TypeReady, "StorageFull", `is larger than storage 'nfs'`))
		if w := l.writes(); len(w) != made {
			l.Errorf("want nothing done to the disk, got %q", w[made:])
		}
		size("3T", "ceph")
		l.until("it moves and grows", func() bool { return l.unbound(v)() && v.Observation().Size == "3T" })
	})
}

// TestStorageRef checks that a Volume whose storage is named by a Storage is created once the Storage exists, and stays on its storage whatever names
// it later.
func TestStorageRef(t *testing.T) {
	cases := map[string]string{"Reference": "storageRef: {name: disks}\n", "Selector": "storageSelector: {matchLabels: {for: data}}\n"}
	for name, spec := range cases {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				v := l.volume("data", "size: 1G\nreclaimPolicy: Delete\n"+spec)
				l.until("it waits", configtest.Says(v, xpv2.TypeReady, "NoStorage", "no Storage that storageRef or storageSelector means is there yet"))
				if w := l.writes(); len(w) > 0 {
					l.Fatalf("a disk is made elsewhere: %v", w)
				}
				l.must(l.root.CreateObject(l.Context(), storage.Table().Collection, "srv-disks", proxmox.Params{
					"type": "dir", "path": "/srv/disks", "content": "images", "nodes": "pve1",
				}))
				s := configtest.NewResource(l.T, l.scope, "Storage", "disks", 0, "{}", map[string]string{xpmeta.AnnotationKeyExternalName: "srv-disks"})
				s.SetLabels(map[string]string{"for": "data"})
				l.must(l.kube.Create(l.Context(), s))
				l.until("the disk is made", l.unbound(v))
				if p := v.Parameters(); !strings.HasPrefix(v.Observation().Volume, "srv-disks:") || p.Storage == nil || *p.Storage != "srv-disks" {
					l.Errorf("the disk is %s, and the spec %v", v.Observation().Volume, p.Storage)
				}
				l.must(l.kube.Delete(l.Context(), s))
				l.until("it stays", l.unbound(v))
				l.delete(v)
				l.until("it goes", l.gone(v))
			})
		})
	}
}
