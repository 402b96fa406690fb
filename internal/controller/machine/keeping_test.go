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
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// listedWeb returns the entry of ourVM in the cluster's list.
func listedWeb(uptime time.Duration) *proxmox.Guest {
	return &proxmox.Guest{VMID: 10000, Node: "pve1", Name: "web", Status: "running", MaxCPU: 1, MaxMemory: 512 << 20, Uptime: uptime}
}

// lockedOut is an Inventory that checks whether it is called with a lock held that it would itself need to report signs.
type lockedOut struct {
	pveInventory

	cache *vmcache.Cache
	t     *testing.T
}

func (i lockedOut) Unwatch(key string) {
	done := make(chan struct{})
	go func() { i.cache.Len(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		i.t.Error("Who is told no more of signs must not have the lock that the telling waits for.")
	}
	i.pveInventory.Unwatch(key)
}

func TestForgetWithoutLock(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	e := b.external()
	e.connectTo(b.pve, lockedOut{pveInventory: pveInventory{b.pve}, cache: b.cache, t: t})
	b.reconcileWith(t.Context(), e)
	if len(b.watchers) != 1 {
		t.Fatalf("the VM is not watched: %v", b.watchers)
	}
	b.cache.Forget(b.m)
	if len(b.watchers) != 0 {
		t.Error("What is forgotten is watched no more.")
	}
}

// TestKeepsLittle checks that little is kept for each Machine: neither the list that the VM was compared with, nor the Machine itself.
func TestKeepsLittle(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	b.m.Spec.ForProvider.Tags = []string{}
	b.reconcile(t.Context())
	w := b.watchers[string(b.m.GetUID())]
	g := listedWeb(0)
	w.Listed(g)
	g.Pool = "other"
	w.Listed(g)
	select {
	case m := <-b.woken:
		if m.GetName() != b.m.GetName() || m.GetNamespace() != b.m.GetNamespace() || m.Parameters().Tags != nil {
			t.Errorf("Who is woken is named, and no more: got %+v", m)
		}
	case <-time.After(10 * time.Second):
		t.Error("A pool that was seen before is part of a list that is kept whole.")
	}
}

// TestActsOnLooks gives the VMID to another VM without a sign while the Machine is held back: the cached VM must not be acted upon when that ends.
func TestActsOnLooks(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = hasBooted(ourVM("running"))
	b.m.Spec.ForProvider.PowerAction = &v1alpha1.MachinePowerAction{Action: poweraction.Reboot, Token: "1"}
	b.reconcile(t.Context())
	b.reconcile(t.Context())
	var u proxmox.UPID
	for u = range b.ends {
		b.end(t, u, "got no answer")
	}
	if u == "" {
		t.Fatalf("no task was started: %q", b.writes)
	}
	b.vms[10000].config["tags"] = "theirs"
	b.m.Spec.ForProvider.Tags = []string{"ours"}
	b.reconcile(t.Context()) // It is left alone after a reboot, and cached as it is.
	before, reads := len(b.writes), b.reads()
	b.vms[10000].config["smbios1"] = "uuid=" + otherUUID
	b.clock.wait(tasktrack.RebootTime + time.Second)
	for range 3 {
		if b.reconcile(t.Context()); len(b.writes) > before {
			t.Fatalf("A VM that is somebody else's by now was written to: %q", b.writes[before:])
		}
	}
	if *reads == 0 {
		t.Error("It was never looked at.")
	}
}

// TestLostNotes lets another client change the Machine while its VM is read. Nothing was done to the VM, which is acted upon without being read again.
func TestLostNotes(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: new("1G")}}
	})
	b.reconcile(t.Context())
	b.vms[10000] = ourVM("stopped")
	b.vms[10000].config["scsi0"] = "local-lvm:vm-10000-disk-0,size=1G"
	b.end(t, upid("pve1", "qmcreate", 10000), "OK")
	reads, other := b.reads(), b.m.DeepCopy()
	other.Labels = map[string]string{"by": "another"}
	if err := b.kube.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if s := b.reconcile(t.Context()); !kerrors.IsConflict(s.err) || *reads != 1 {
		t.Fatalf("want a conflict after one look, got %v after %d", s.err, *reads)
	}
	b.m.SetResourceVersion(other.GetResourceVersion())
	if s := b.reconcile(t.Context()); s.err != nil || *reads != 1 || !slices.Contains(b.writes, "Start 10000") {
		t.Errorf("want the VM started after the one look, got %+v, %d looks and %q", s, *reads, b.writes)
	}
}

// TestProvenUntilNow lets another user's task on the VM appear before it is started: ownership of the VM is proven again, as it is where such tasks
// cannot be seen.
func TestProvenUntilNow(t *testing.T) {
	b := newBench(t, all(fromTemplate, stopped))
	b.vms[10000] = ourVM("stopped")
	b.m.Spec.ForProvider.Tags = []string{"ours"}
	b.reconcile(t.Context())
	<-b.woken
	b.m.Spec.ForProvider.PowerState = nil
	if want := "Configure"; len(b.writes) != 1 || !strings.HasPrefix(b.writes[0], want) {
		t.Fatalf("want one change of options, got %q", b.writes)
	}
	reads := b.reads()
	b.on["CatchUp"] = func() {
		b.vms[10000] = theirVM()
		b.watchers[string(b.m.GetUID())].Changed(inventory.ChangeAll)
	}
	b.reconcile(t.Context())
	if len(b.writes) != 1 || *reads == 0 {
		t.Errorf("A VM that was exchanged must not be started: %q after %d reads", b.writes, *reads)
	}
}

// TestLeavesView checks that the Machine gets no more signs from a view of the cluster that it has left, and that its cache is invalid if the new
// view does not watch its VM.
func TestLeavesView(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	other := newPVE()
	other.vms[10000] = ourVM("running")
	e := b.external()
	e.connectTo(other, pveInventory{other})
	if s := b.reconcileWith(t.Context(), e); s.err != nil || len(b.watchers) != 0 || len(other.watchers) != 1 {
		t.Errorf("want the VM to be watched where it is now: %+v, %d here, %d there", s, len(b.watchers), len(other.watchers))
	}
	n := 0
	other.on["Pending"] = func() { n++ }
	again := func() int {
		e := b.external()
		e.connectTo(other, pveInventory{other})
		b.reconcileWith(t.Context(), e)
		return n
	}
	if again() != 0 {
		t.Error("A VM that is watched is not read again.")
	}
	clear(other.watchers)
	if again() != 1 || len(other.watchers) != 1 {
		t.Error("A VM that is no longer watched is read, and watched.")
	}
}

// TestTellsOwnChanges checks that VMs that we change are read again before other VMs are created from them.
func TestTellsOwnChanges(t *testing.T) {
	b := newBench(t, stopped)
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	if !slices.Equal(b.changed, []int{10000}) {
		t.Errorf("after the call: want [10000], got %v", b.changed)
	}
	for u := range b.ends {
		b.end(t, u, "OK")
	}
	if len(b.ends) != 1 || len(b.changed) != 2 {
		t.Errorf("after its task: want it told twice, got %v", b.changed)
	}
}

func TestUnseenTasks(t *testing.T) {
	b := newBench(t, all(fromTemplate, stopped))
	b.vms[10000] = ourVM("stopped")
	b.m.Spec.ForProvider.Tags = []string{"ours"}
	b.reconcile(t.Context())
	<-b.woken
	b.m.Spec.ForProvider.PowerState = nil
	b.vms[10000] = theirVM()
	b.errs["CatchUp"] = refused(403, "Permission check failed (/, Sys.Audit)")
	if b.reconcile(t.Context()); len(b.writes) != 1 {
		t.Errorf("Who cannot see others' tasks must not start a VM that was not looked at: %q", b.writes)
	}
}

// TestUnnamed covers a VM without a name, which PVE lists under a made-up name.
func TestUnnamed(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	delete(b.vms[10000].config, "name")
	b.m.Spec.ForProvider.Name = nil
	b.reconcile(t.Context())
	g := listedWeb(0)
	g.Name = "VM 10000"
	if drifted, _ := b.cache.Compare(b.m, g); drifted != 0 {
		t.Errorf("A VM without a name is as it was: got drifted %b", drifted)
	}
}
