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
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

const onLVM = "size: 2G\nstorage: local-lvm\n"

// bound reports whether the VM of a Machine has the disk of a Volume, and all is settled.
func (l *lab) bound(v volume.Volume, m object.Machine) func() bool {
	return func() bool {
		is := v.GetCondition(volume.TypeBound)
		return is.Status == corev1.ConditionTrue && v.Observation().Machine == m.GetName() && configtest.Settled(v)() && configtest.Settled(m)() &&
			l.config(ref(m).VMID)["scsi5"] != "" && v.Observation().Device == "scsi5"
	}
}

// unbound reports whether the stub VM has the disk, and all is settled.
func (l *lab) unbound(v volume.Volume) func() bool {
	return func() bool {
		o := v.Observation()
		return configtest.Settled(v)() && o.VMID != nil && o.StubVMID != nil && *o.VMID == *o.StubVMID && o.Machine == "" &&
			configtest.Says(v, volume.TypeBound, "Unbound")()
	}
}

// TestLife checks that a disk is created, attached, grown, handed to another Machine, detached and destroyed.
func TestLife(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM)
		l.until("the disk is made", l.unbound(v))
		stub := int(*v.Observation().StubVMID)
		if c := l.config(stub); c["protection"] != "1" || c["name"] != "volume-data" || c["onboot"] != "0" || !strings.Contains(c["scsi0"], "size=2G") {
			l.Errorf("the stub VM is %v", c)
		}
		a := l.machine("a", "data")
		l.until("the first Machine has the disk", l.bound(v, a))
		l.change(v, func() { v.Parameters().Size = new("3G") })
		l.until("the disk has grown", func() bool { return l.bound(v, a)() && v.Observation().Size == "3G" })
		b := l.machine("b", "data")
		l.until("the second Machine waits", configtest.Says(b, xpv2.TypeReady, xpv2.ReasonCreating, "kept for Machine a"))
		l.lists(a)
		l.until("the second Machine has the disk", l.bound(v, b))
		if c := l.config(ref(a).VMID); c["scsi5"] != "" || c["unused0"] != "" || c["scsi0"] == "" {
			l.Errorf("the first VM is %v", c)
		}
		l.until("the first Machine shows its own disk only", func() bool { return len(a.Observation().Disks) == 1 })
		l.delete(b)
		l.until("the second Machine is gone", l.gone(b))
		l.until("the stub VM has the disk", l.unbound(v))
		if got := l.disks()[v.Observation().Volume]; got != 3<<30 {
			l.Errorf("the disk %s has %d bytes: %v", v.Observation().Volume, got, l.disks())
		}
		l.change(v, func() { v.Parameters().Size = new("4G") })
		l.until("the unbound disk has grown", func() bool { return l.unbound(v)() && v.Observation().Size == "4G" })
		l.delete(v)
		l.until("the Volume is gone", l.gone(v))
		if c := l.config(stub); c != nil {
			l.Errorf("left: %v", c)
		}
	})
}

// TestKilled kills the providers of Volumes and of Machines at each of their side effects, from the creation of a disk, through its handover between
// two running Machines, to its removal. Without FAULTS=all, it uses every seventh of them, in one scope and on one version.
func TestKilled(t *testing.T) {
	for name, dies := range map[string]func(*lab) *side{
		"Volumes":  func(l *lab) *side { return &l.volumes },
		"Machines": func(l *lab) *side { return &l.machines },
	} {
		t.Run(name, func(t *testing.T) {
			if thorough() {
				everywhere(t, func(l *lab) { l.killed(dies(l), 1) })
				return
			}
			l := here(t)
			l.killed(dies(l), 7)
		})
	}
}

// thorough reports whether to try everything.
func thorough() bool { return os.Getenv("FAULTS") == "all" }

// killed kills a provider at every step-th of its side effects.
func (l *lab) killed(s *side, step int) {
	l.Helper()
	a, b := l.machine("a"), l.machine("b")
	l.until("the Machines are there", func() bool { return configtest.Settled(a)() && configtest.Settled(b)() })
	before := l.disks()
	for fatal := 1; ; fatal += step {
		s.restart(fatal)
		s.deaths = 0
		l.pve.ClearRequests()
		l.handedOnce(a, b)
		if now := l.disks(); !maps.Equal(now, before) {
			l.Fatalf("killed at side effect %d: disks are %v, not %v", fatal, now, before)
		}
		if made := l.count("POST /nodes/pve1/qemu map"); made != 1 {
			l.Errorf("killed at side effect %d: %d stub VMs are made: %v", fatal, made, l.writes())
		}
		if s.deaths == 0 {
			l.Logf("%d side effects", fatal-1)
			return
		}
	}
}

// count returns the number of writes with a prefix.
func (l *lab) count(prefix string) int {
	n := 0
	for _, w := range l.writes() {
		if strings.HasPrefix(w, prefix) {
			n++
		}
	}
	return n
}

// handedOnce takes a disk through its life with two Machines.
func (l *lab) handedOnce(a, b object.Machine) {
	l.Helper()
	v := l.volume("data", onLVM)
	l.lists(a, "data")
	l.until("the first Machine has the disk", l.bound(v, a))
	l.lists(b, "data")
	l.lists(a)
	l.until("the second Machine has the disk", l.bound(v, b))
	l.lists(b)
	l.until("the stub VM has the disk", l.unbound(v))
	l.change(v, func() { v.Parameters().Size = new("3G") })
	l.until("the disk has grown", func() bool { return l.unbound(v)() && l.disks()[v.Observation().Volume] == 3<<30 })
	l.delete(v)
	l.until("the Volume is gone", l.gone(v))
}

// TestHandovers hands a disk back and forth between two running Machines while the providers are killed at random, ten times, and with FAULTS=all a
// hundred times in both scopes and on both versions.
func TestHandovers(t *testing.T) {
	if thorough() {
		everywhere(t, func(l *lab) { l.handsOver(100) })
		return
	}
	here(t).handsOver(10)
}

// handsOver hands over a disk a number of times.
func (l *lab) handsOver(times int) {
	l.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	v := l.volume("data", "size: 2G\nstorage: local\nformat: qcow2\n")
	machines := []object.Machine{l.machine("a", "data"), l.machine("b")}
	l.until("the first Machine has the disk", l.bound(v, machines[0]))
	started := []string{l.started(machines[0]), l.started(machines[1])}
	l.marked(v)
	for i := range times {
		from, to := machines[i%2], machines[(i+1)%2]
		for _, s := range []*side{&l.volumes, &l.machines} {
			s.restart(1 + random.IntN(25))
		}
		l.lists(to, "data")
		l.lists(from)
		l.until(fmt.Sprintf("handover %d", i), l.bound(v, to))
		if n := len(l.files()); n != 1 {
			l.Fatalf("after handover %d there are %d files: %v", i, n, l.files())
		}
		l.keeps(v)
	}
	l.Logf("%d deaths", l.volumes.deaths+l.machines.deaths)
	if l.volumes.deaths < times/2 {
		l.Errorf("the provider of Volumes has died %d times only", l.volumes.deaths)
	}
	if now := []string{l.started(machines[0]), l.started(machines[1])}; !slices.Equal(now, started) {
		l.Errorf("the VMs were started by %v, not by %v", now, started)
	}
	if made := l.count("POST /nodes/pve1/qemu map"); made != 3 {
		l.Errorf("%d VMs were made, not the two of the Machines and the stub VM", made)
	}
}

// started returns the last task that has started the VM of a Machine. The VM must be running.
func (l *lab) started(m object.Machine) string {
	l.Helper()
	if s, err := l.root.Status(l.Context(), ref(m)); err != nil || !s.Running() {
		l.Fatalf("the VM of %s is %+v, %v", m.GetName(), s, err)
	}
	all, err := l.root.NodeTasks(l.Context(), "pve1", "qmstart")
	l.must(err)
	for _, task := range all {
		if task.ID == strconv.Itoa(ref(m).VMID) {
			return string(task.UPID)
		}
	}
	return ""
}

// files returns the files of disks on the storage local.
func (l *lab) files() []string {
	l.Helper()
	all, err := l.root.Volumes(l.Context(), "pve1", "local", "images")
	l.must(err)
	var found []string
	for _, v := range all {
		found = append(found, v.ID)
	}
	return found
}

// TestTwoMachines checks that the Machine that lists the Volume first keeps it.
func TestTwoMachines(t *testing.T) {
	everywhere(t, func(l *lab) {
		a, b := l.machine("a"), l.machine("b")
		l.until("the Machines are there", func() bool { return configtest.Settled(a)() && configtest.Settled(b)() })
		v := l.volume("data", onLVM)
		l.lists(b, "data")
		l.until("the younger one has the disk", l.bound(v, b))
		l.lists(a, "data")
		l.until("the older one waits", configtest.Says(a, xpv2.TypeReady, "WaitingForVolume", "kept for Machine b"))
		if c := a.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse {
			l.Errorf("UpToDate is %v", c)
		}
		if !slices.Equal(v.Observation().Waiting, []string{"a"}) || !l.bound(v, b)() {
			l.Errorf("the Volume shows %+v", v.Observation())
		}
		l.delete(b)
		l.until("the older one has the disk", func() bool { return !l.read(b) && l.bound(v, a)() })
	})
}

// TestInUse checks that a Volume is not deleted while a Machine lists it.
func TestInUse(t *testing.T) {
	l := here(t)
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the Machine has the disk", l.bound(v, m))
	l.delete(v)
	l.until("it is held", configtest.Says(v, xpv2.TypeReady, xpv2.ReasonDeleting, "Machine a lists the Volume"))
	if c := l.config(ref(m).VMID); c["scsi5"] == "" {
		l.Errorf("the VM is %v", c)
	}
	l.lists(m)
	l.until("the Volume is gone", l.gone(v))
	if n := len(l.disks()); n != 1 {
		l.Errorf("disks are %v", l.disks())
	}
}

// TestRetained checks that the disk is kept in its stub VM.
func TestRetained(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM+"reclaimPolicy: Retain\n")
		m := l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		stub := int(*v.Observation().StubVMID)
		l.delete(v)
		l.delete(m)
		l.until("both are gone", func() bool { return !l.read(v) && !l.read(m) })
		c := l.config(stub)
		if c["unused0"] == "" || c["protection"] != "1" {
			l.Fatalf("the stub VM is %v", c)
		}
		again := l.adopting("again", "reclaimPolicy: Delete\n", c["unused0"])
		l.until("another Volume adopts the disk", l.unbound(again))
		l.delete(again)
		l.until("it is gone", l.gone(again))
		if n := len(l.disks()); n != 0 {
			l.Errorf("disks are %v", l.disks())
		}
	})
}

// TestRetainedAfterAll sets the policy to Retain after an attempt to destroy the disk has failed, and checks that the disk is kept in its stub VM
// with its previous protection.
func TestRetainedAfterAll(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM)
		l.until("the disk is made", l.unbound(v))
		stub := l.stub(v).VMID
		l.pve.Inject(simulator.Fault{Method: http.MethodDelete, Status: 500, Message: "storage is not online"})
		l.delete(v)
		l.until("an attempt has failed", func() bool { return l.config(stub)["protection"] == "0" })
		l.change(v, func() { v.Parameters().ReclaimPolicy = new(v1alpha1.VolumeRetain) })
		l.pve.ClearFaults()
		l.until("the Volume is gone", l.gone(v))
		if c := l.config(stub); c["protection"] != "1" || len(l.disks()) != 1 {
			l.Errorf("the stub VM is %v, and disks are %v", c, l.disks())
		}
	})
}

// TestDestroyedByHand checks that a disk that was destroyed with its VM is not created again, even if another disk of its name is created.
func TestDestroyedByHand(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.pass()
		r := ref(m)
		l.ended(l.root.Stop(l.Context(), r, proxmox.StopOptions{}))
		l.ended(l.root.Delete(l.Context(), r, proxmox.DeleteOptions{}))
		l.until("the disk is lost", configtest.Says(v, xpv2.TypeReady, "Lost", "destroyed"))
		l.until("the Machine says so, whether its VM is there again or not", func() bool {
			c := m.GetCondition(xpv2.TypeReady)
			return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "the disk of Volume 'data' is lost")
		})
		l.delete(v)
		l.until("the Volume goes", l.gone(v))
	})
}

// pass lets enough time pass for a VM that is created again to be recognized as another one. The simulator has a separate clock, and the creation
// time of a VM is written in seconds.
func (l *lab) pass() {
	l.clock.Pass(time.Hour)
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
}

// TestSnapshot checks that the obstacle to a handover is reported: PVE does not hand over a disk that is in a snapshot.
func TestSnapshot(t *testing.T) {
	l := here(t)
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the Machine has the disk", l.bound(v, m))
	l.ended(l.root.TakeSnapshot(l.Context(), ref(m), proxmox.SnapshotOptions{Name: "s1"}))
	l.delete(m)
	l.until("the Volume says what is in the way", configtest.Says(v, xpv2.TypeReady, "Failed", "remove the snapshot"))
	l.until("the Machine is held", configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "kept until", "data"))
	if l.config(ref(m).VMID) == nil {
		l.Fatal("the VM is gone with the disk")
	}
	l.ended(l.root.RemoveSnapshot(l.Context(), ref(m), "s1"))
	l.until("the Machine is gone, and the disk is not", func() bool { return !l.read(m) && l.unbound(v)() })
}

// TestNoQuorum takes away the quorum of the cluster, and checks that nothing is created or handed over meanwhile, that this is reported, and that it
// is done once afterwards.
func TestNoQuorum(t *testing.T) {
	everywhere(t, func(l *lab) {
		quorate := func(is bool) { l.pve.Edit(func(s *simulator.State) { s.NoQuorum = !is }) }
		m := l.machine("a")
		l.until("the Machine is there", configtest.Settled(m))
		before := l.left()
		quorate(false)
		v := l.volume("data", onLVM)
		l.until("it is told", configtest.Says(v, xpv2.TypeSynced, "ReconcileError", "no quorum"))
		if now := l.left(); !slices.Equal(now, before) {
			l.Errorf("nothing is made, got %v", now)
		}
		quorate(true)
		l.until("the disk is made", l.unbound(v))
		disks := len(l.disks())
		quorate(false)
		l.lists(m, "data")
		l.until("it is told", configtest.Says(v, xpv2.TypeReady, "Failed", "Permission denied"))
		quorate(true)
		l.until("the Machine has the disk", l.bound(v, m))
		if n := len(l.disks()); n != disks {
			l.Errorf("want one disk handed over, got %d instead of %d", n, disks)
		}
	})
}

// noLock is the error of Proxmox VE while the lock of a VM's file is held.
const noLock = "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout"

// TestWaitsForLock makes PVE hold the lock of a VM for a moment, as it does after a stop, and checks that this is a wait, for a call as for a task,
// and not a failure.
func TestWaitsForLock(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  simulator.Fault
	}{
		"Task": {reason: "The task has done nothing.", fault: simulator.Fault{Task: "qmmove", TaskExit: noLock}},
		"Call": {
			reason: "The call has done nothing.",
			fault:  simulator.Fault{Method: http.MethodPost, Path: "/nodes/*/qemu/*/move_disk", Status: 500, Message: noLock},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			v, m := l.volume("data", onLVM), l.machine("a")
			l.until("the disk is there", func() bool { return l.unbound(v)() && configtest.Settled(m)() })
			stub := l.stub(v).VMID
			tc.fault.Count = 2
			l.pve.Inject(tc.fault)
			l.lists(m, "data")
			l.until("the lock is waited for", configtest.Says(v, xpv2.TypeReady, "Locked", "holds the lock of the VM"))
			if c := v.GetCondition(xpv2.TypeSynced); c.Status != corev1.ConditionTrue {
				t.Errorf("%s\nwant no error, got %s", tc.reason, c.Message)
			}
			if record := v.GetAnnotations()[volumeref.AnnotationRecord]; strings.Contains(record, "failures") {
				t.Errorf("%s\nwant no failure counted, got %s", tc.reason, record)
			}
			l.until("the Machine has the disk", l.bound(v, m))
			if n := l.count("POST /nodes/pve1/qemu/" + strconv.Itoa(stub) + "/move_disk"); n != 3 {
				t.Errorf("%s\nwant it given three times, got %d", tc.reason, n)
			}
		})
	}
}

// TestAdopted adopts an unused disk of a VM of someone else, and nothing that is not one.
func TestAdopted(t *testing.T) {
	everywhere(t, func(l *lab) {
		other := proxmox.Ref{Node: "pve1", VMID: 500}
		l.ended(l.root.Create(l.Context(), other, proxmox.Params{
			"memory": "64", "scsi0": "local-lvm:1", "scsi1": "local-lvm:2", "smbios1": "uuid=11111111-2222-4333-8444-555555555555",
		}))
		l.must(l.root.Configure(l.Context(), other, proxmox.Change{Delete: []string{"scsi1"}}))
		for id, why := range map[string]string{
			"local-lvm:vm-500-disk-0": "detach it first", "local-lvm:vm-9999-disk-0": "CSI", "local-lvm:vm-9999-pvc-1": "not named",
			"local-lvm:vm-501-disk-0": "does not exist", "local-lvm:vm-500-disk-7": "no unused disk", "local-lvm:vm-500-cloudinit": "not named",
		} {
			no := l.adopting(strings.ReplaceAll(id, ":", "-"), "{}", id)
			l.until("it is refused: "+id, configtest.Says(no, xpv2.TypeReady, "NotAdoptable", why))
			l.delete(no)
			l.until("it goes", l.gone(no))
		}
		if w := l.writes(); len(w) > 0 {
			l.Errorf("the provider has written: %v", w)
		}
		v := l.adopting("first", "size: 3G\n", "local-lvm:vm-500-disk-1")
		w := l.adopting("second", "{}", "local-lvm:vm-500-disk-1")
		refused := false
		l.until("it is adopted", func() bool {
			refused = refused || configtest.Says(w, xpv2.TypeReady, "OwnershipConflict", "first")()
			return l.unbound(v)()
		})
		l.change(w, func() { xpmeta.SetExternalName(w, v.Observation().Volume) })
		l.until("another Volume of it is refused", configtest.Says(w, xpv2.TypeReady, "OwnershipConflict", "first"))
		l.delete(w)
		l.until("it goes", l.gone(w))
		if _, there := l.disks()[v.Observation().Volume]; !there || !refused || !l.unbound(v)() {
			l.Errorf("the first one shows %+v of %v, and the second one was refused from the beginning: %v", v.Observation(), l.disks(), refused)
		}
		l.delete(v)
		l.until("it is gone", l.gone(v))
		if c := l.config(500); c["scsi0"] == "" || c["unused0"] != "" {
			l.Errorf("the other VM is %v", c)
		}
	})
}

// TestMoved moves a Volume to another storage, in a running VM and in its stub VM, which is not started for that.
func TestMoved(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		started := l.started(m)
		on := func(storage string, rest func() bool) func() bool {
			return func() bool { return rest() && strings.HasPrefix(v.Observation().Volume, storage+":") }
		}
		l.change(v, func() { v.Parameters().Storage = new("nowhere") })
		l.until("a storage is there", configtest.Says(v, xpv2.TypeReady, "NoStorage", "nowhere"))
		l.change(v, func() { v.Parameters().Storage = new("local") })
		l.until("the disk has moved", on("local", l.bound(v, m)))
		if n := len(l.disks()); n != 1 || len(l.files()) != 1 || l.started(m) != started {
			l.Errorf("disks are %v and %v, and the VM was started by %s, not by %s", l.disks(), l.files(), l.started(m), started)
		}
		l.lists(m)
		l.until("the stub VM has the disk", l.unbound(v))
		l.change(v, func() { v.Parameters().Storage, v.Parameters().Size = new("local-lvm"), new("3G") })
		l.until("it has moved back and grown", func() bool { return on("local-lvm", l.unbound(v))() && v.Observation().Size == "3G" })
		if n := len(l.disks()); n != 2 || len(l.files()) != 0 {
			l.Errorf("disks are %v and %v", l.disks(), l.files())
		}
	})
}

// TestStubTakenOver checks that a disk that is retained in its stub VM as an attached disk is adopted with the stub VM.
func TestStubTakenOver(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM+"reclaimPolicy: Retain\n")
		l.until("the disk is made", l.unbound(v))
		stub, id := *v.Observation().StubVMID, v.Observation().Volume
		l.delete(v)
		l.until("the Volume is gone", l.gone(v))
		l.pve.ClearRequests()
		again := l.adopting("again", "{}", id)
		l.until("another Volume adopts the disk", l.unbound(again))
		if *again.Observation().StubVMID != stub || len(l.writes()) > 0 {
			l.Errorf("the stub VM is %d, not %d, and there are calls: %v", *again.Observation().StubVMID, stub, l.writes())
		}
		l.change(again, func() { again.Parameters().ReclaimPolicy = new(v1alpha1.VolumeDelete) })
		l.delete(again)
		l.until("it is gone", l.gone(again))
		if c := l.config(int(stub)); c != nil || len(l.disks()) != 0 {
			l.Errorf("left: %v, %v", c, l.disks())
		}
	})
}

// TestStubBesideUnreadable checks that a stub VM is taken over although the record of another Volume cannot be read, unless that names the VM or its
// disk.
func TestStubBesideUnreadable(t *testing.T) {
	cases := map[string]struct {
		reason string
		record func(uuid, disk string) string
		takes  bool
	}{
		"Others": {reason: "A record that cannot be read may be about anything else.", record: func(string, string) string { return "not a record" }, takes: true},
		"VM":     {reason: "The Volume of a record with the VM's UUID may have the VM.", record: func(uuid, _ string) string { return "{" + strings.ToUpper(uuid) }},
		"Disk": {
			reason: "The Volume of a record with the name of the disk may have the disk.",
			record: func(_, disk string) string { return `{"volume":"` + disk + `"` },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			v := l.volume("data", onLVM+"reclaimPolicy: Retain\n")
			l.until("the disk is made", l.unbound(v))
			was, err := volumeref.RecordOf(v)
			l.must(err)
			l.delete(v)
			l.until("the Volume is gone", l.gone(v))
			l.object("Volume", "broken", len(l.all), "{}", map[string]string{volumeref.AnnotationRecord: tc.record(was.UUID, was.Volume)})
			again, is := l.adopting("again", "{}", was.Volume), &volumeref.Record{}
			l.until("another Volume adopts the disk", func() bool {
				is, err = volumeref.RecordOf(again)
				return err == nil && is.Made()
			})
			if takes := is.VMID == was.VMID; takes != tc.takes {
				t.Errorf("\n%s\nwant %t, got %+v", tc.reason, tc.takes, is)
			}
		})
	}
}

// TestAdoptedIsRetained checks that an adopted disk is retained unless the spec says otherwise.
func TestAdoptedIsRetained(t *testing.T) {
	l := here(t)
	l.ended(l.root.Create(l.Context(), proxmox.Ref{Node: "pve1", VMID: 500}, proxmox.Params{
		"memory": "64", "scsi0": "local-lvm:1", "smbios1": "uuid=11111111-2222-4333-8444-555555555555",
	}))
	l.must(l.root.Configure(l.Context(), proxmox.Ref{Node: "pve1", VMID: 500}, proxmox.Change{Delete: []string{"scsi0"}}))
	v := l.adopting("v", "{}", "local-lvm:vm-500-disk-0")
	l.until("it is adopted", l.unbound(v))
	l.delete(v)
	l.until("the Volume is gone", l.gone(v))
	if len(l.disks()) != 1 {
		l.Errorf("disks are %v", l.disks())
	}
}

// TestMovedByHand checks that a Machine is not destroyed with a disk that was moved manually.
func TestMovedByHand(t *testing.T) {
	l := here(t)
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the Machine has the disk", l.bound(v, m))
	l.ended(l.root.MoveDisk(l.Context(), ref(m), proxmox.MoveOptions{Disk: "scsi5", Storage: "local", Delete: true}))
	l.pass()
	l.until("the disk is missed", configtest.Says(v, xpv2.TypeReady, "Lost", "moved by somebody"))
	l.delete(m)
	l.until("the Machine is held", configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "kept until", "data"))
	if n := len(l.files()); n != 1 {
		l.Fatalf("the disk is gone: %v", l.files())
	}
	l.change(v, func() {
		v.Parameters().Storage = nil
		xpmeta.SetExternalName(v, l.files()[0])
	})
	l.until("the Machine is gone, and the disk is not", func() bool { return !l.read(m) && l.unbound(v)() && len(l.files()) == 1 })
}

// TestStubIsNoMachine checks that a stub VM is not a Machine, and nothing writes to it.
func TestStubIsNoMachine(t *testing.T) {
	l := here(t)
	v := l.volume("data", onLVM)
	l.until("the disk is made", l.unbound(v))
	l.pve.ClearRequests()
	m := l.object("Machine", "m", len(l.all), "powerState: Running\n", map[string]string{
		xpmeta.AnnotationKeyExternalName: strconv.Itoa(int(*v.Observation().StubVMID)),
	})
	l.until("it is refused", configtest.Says(m, xpv2.TypeSynced, "ReconcileError", "stub VM of a Volume"))
	if w := l.writes(); len(w) > 0 {
		l.Errorf("the provider has written: %v", w)
	}
}

// faults returns the faults of a call or of a task.
func faults() map[string]simulator.Fault {
	return map[string]simulator.Fault{
		"Refused":  {Status: 500, Message: "got timeout"},
		"Denied":   {Status: 403},
		"NotSent":  {CutBefore: true},
		"Lost":     {CutAfter: true},
		"Gateway":  {Status: 595, Message: "Connection refused"},
		"NotMade":  {Task: "qmcreate", TaskExit: "unable to create image: got timeout"},
		"NotMoved": {Task: "qmmove", TaskExit: "can't lock file - got timeout"},
		"NotGrown": {Task: "resize", TaskExit: "got timeout"},
		"NotGone":  {Task: "qmdestroy", TaskExit: "got timeout"},
	}
}

// TestFaults makes each call that writes fail once in each way, and each task, regardless of who has started it. Without FAULTS=all, it uses every
// third of them, in one scope and on one version.
func TestFaults(t *testing.T) {
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			if thorough() {
				everywhere(t, func(l *lab) { l.fails(fault, 1) })
				return
			}
			here(t).fails(fault, 3)
		})
	}
}

// TestLostLate checks that a handover whose answer is lost after a minute is neither repeated nor forgotten for another minute, in which it may still
// be carried out.
func TestLostLate(t *testing.T) {
	l := here(t)
	l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/nodes/pve1/qemu/*/move_disk", CutBefore: true, Count: 1})
	over := sync.OnceFunc(func() { l.clock.Pass(61 * time.Second) }) // This is how long the call has taken.
	l.now = func() time.Time {
		if l.handovers() > 0 {
			over()
		}
		return l.clock.Now()
	}
	v, m := l.volume("data", onLVM), l.machine("a", "data")
	l.until("the answer is lost", func() bool { return l.handovers() > 0 })
	for range 10 {
		l.clock.Pass(5 * time.Second)
		l.reconcile(v)
		if !configtest.Says(v, xpv2.TypeReady, "Moving", "the answer to the call was lost")() {
			t.Fatalf("it is waited for, got %v", v.GetCondition(xpv2.TypeReady))
		}
	}
	if n := l.handovers(); n != 1 {
		t.Fatalf("want one call, got %d: %v", n, l.writes())
	}
	stub := proxmox.Ref{Node: "pve1", VMID: int(*v.Observation().StubVMID)}
	l.ended(l.root.ReassignDisk(l.Context(), stub, proxmox.ReassignOptions{Disk: "scsi0", Target: ref(m).VMID, TargetDisk: "unused0"}))
	l.until("the Machine has the disk", l.bound(v, m))
	if n := l.handovers(); n != 1 {
		t.Errorf("want no other call, got %d: %v", n, l.writes())
	}
}

// handovers returns how often the provider has requested to move a disk.
func (l *lab) handovers() int {
	n := 0
	for _, w := range l.writes() {
		if strings.Contains(w, "/move_disk") {
			n++
		}
	}
	return n
}

// fails makes every step-th of the calls, or of the tasks, fail once.
func (l *lab) fails(fault simulator.Fault, step int) {
	l.Helper()
	methods := []string{http.MethodPost, http.MethodPut, http.MethodDelete}
	if fault.Task != "" {
		methods = []string{""}
	}
	a, b := l.machine("a"), l.machine("b")
	l.until("the Machines are there", func() bool { return configtest.Settled(a)() && configtest.Settled(b)() })
	before := l.left()
	for _, method := range methods {
		for skip, calls := 0, 1; skip < calls; skip += step {
			l.pve.ClearRequests()
			fault.Method, fault.Skip, fault.Count = method, skip, 1
			l.pve.Inject(fault)
			l.handedOnce(a, b)
			l.pve.ClearFaults()
			calls = l.matches(fault)
			if now := l.left(); !slices.Equal(now, before) {
				l.Fatalf("%s, call %d: there are %v, not %v", method, skip, now, before)
			}
		}
	}
}

// matches counts the calls of the provider that a fault may affect. For a fault of tasks, these are the calls that start such a task.
func (l *lab) matches(f simulator.Fault) int {
	n := 0
	for _, w := range l.writes() {
		method, rest, _ := strings.Cut(w, " ")
		starts := map[string]bool{
			"qmcreate": method == http.MethodPost && strings.HasPrefix(rest, "/nodes/pve1/qemu map"), "qmmove": strings.Contains(rest, "/move_disk"),
			"resize": strings.Contains(rest, "/resize"), "qmdestroy": method == http.MethodDelete,
		}
		if f.Task == "" && method == f.Method || starts[f.Task] {
			n++
		}
	}
	return n
}

// left returns the existing disks and VMs.
func (l *lab) left() []string {
	l.Helper()
	all, err := l.root.Guests(l.Context())
	l.must(err)
	found := slices.Sorted(maps.Keys(l.disks()))
	for _, g := range all {
		found = append(found, strconv.Itoa(g.VMID))
	}
	slices.Sort(found)
	return found
}
