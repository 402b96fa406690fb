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
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// at returns the spec of a Machine on another node than pve1, or on any node if it is empty.
func at(node string, names ...string) string {
	spec := with(names...)
	if node == "" {
		return strings.Replace(spec, "node: pve1\n", "", 1)
	}
	return strings.Replace(spec, "node: pve1\n", "node: "+node+"\n", 1)
}

// machineAt creates a Machine on a node.
func (l *lab) machineAt(node, name string, names ...string) object.Machine {
	l.Helper()
	m, ok := l.object("Machine", name, len(l.all), at(node, names...), nil).(object.Machine)
	if !ok {
		l.Fatal("it is no Machine")
	}
	return m
}

// listsAt makes a Machine on a node list these Volumes and no others.
func (l *lab) listsAt(m object.Machine, node string, names ...string) {
	l.Helper()
	l.change(m, func() {
		m.Parameters().Node = nil
		l.must(yaml.Unmarshal([]byte(at(node, names...)), m.Parameters()))
	})
}

// boundOn reports whether the VM of a Machine is on a node and has the disk of a Volume, and all is settled.
func (l *lab) boundOn(node string, v volume.Volume, m object.Machine) func() bool {
	return func() bool {
		o := v.Observation()
		return m.Observation().Node == node && o.Node == node && o.Machine == m.GetName() && o.Device == "scsi5" && configtest.Settled(v)() && configtest.Settled(m)()
	}
}

// TestPinnedToNode checks that a Volume on local storage pins the VM of its Machine to its node, until it is moved to storage that all nodes reach.
func TestPinnedToNode(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM+"node: pve2\n")
		l.until("the disk is made", l.unbound(v))
		m := l.machineAt("", "m", "data")
		l.until("the VM is made where the disk is", l.boundOn("pve2", v, m))
		l.listsAt(m, "pve3", "data")
		l.until("the VM is not moved from it", configtest.Says(m, xpv2.TypeSynced, xpv2.ReasonReconcileError, "Volume 'data' on local storage"))
		if m.Observation().Node != "pve2" {
			l.Errorf("the VM is on %s", m.Observation().Node)
		}
		l.change(v, func() { v.Parameters().Storage = new("ceph") })
		l.until("the VM goes with the disk that all nodes reach", l.boundOn("pve3", v, m))
		l.delete(m)
		l.delete(v)
		l.until("both are gone", func() bool { return !l.read(m) && !l.read(v) })
	})
}

// TestOnAnotherNode checks that a Machine on another node waits and reports that, as does the Volume. It gets the disk when the disk is moved to
// storage that all nodes reach.
func TestOnAnotherNode(t *testing.T) {
	everywhere(t, func(l *lab) {
		m := l.machineAt("pve2", "there")
		l.until("the Machine is there", configtest.Settled(m))
		v := l.volume("data", onLVM+"node: pve1\n")
		l.until("the disk is made", l.unbound(v))
		l.listsAt(m, "pve2", "data")
		l.until("the Volume says so", configtest.Says(v, xpv2.TypeReady, "WrongNode", "the VM of Machine there on node pve2"))
		l.until("so does the Machine", configtest.Says(m, xpv2.TypeReady, "WaitingForVolume", "not handed over yet"))
		young := l.machineAt("pve3", "young", "data")
		l.until("another one waits", configtest.Says(young, xpv2.TypeReady, xpv2.ReasonCreating, "kept for Machine there"))
		l.delete(young)
		l.until("it goes", l.gone(young))
		l.change(v, func() { v.Parameters().Storage = new("ceph") })
		l.until("the Machine has the disk", l.boundOn("pve2", v, m))
	})
}

// TestMadeElsewhere checks that a Machine is not created on a node that does not reach the disk.
func TestMadeElsewhere(t *testing.T) {
	l := here(t)
	v := l.volume("data", onLVM+"node: pve1\n")
	m := l.machineAt("pve2", "m", "data")
	l.until("it is refused", configtest.Says(m, xpv2.TypeSynced, xpv2.ReasonReconcileError, "node pve2", "local storage of node pve1"))
	if m.Observation().VMID != nil && l.count("POST /nodes/pve2/qemu map") > 0 {
		l.Error("the VM is made")
	}
	l.listsAt(m, "pve1", "data")
	l.until("the Machine has the disk", l.boundOn("pve1", v, m))
}

// TestNodeOff checks that a Volume on a node that is off is left alone, reports that, and continues when the node is back.
func TestNodeOff(t *testing.T) {
	everywhere(t, func(l *lab) {
		before := len(l.on("pve2", "ceph"))
		v := l.volume("data", onLVM+"node: pve2\n")
		l.until("the disk is made", l.unbound(v))
		off := func(yes bool) { l.pve.Edit(func(s *state.State) { s.Nodes["pve2"].Offline = yes }) }
		for what, change := range map[string]func(){
			"grow": func() { v.Parameters().Size = new("3G") },
			"move": func() { v.Parameters().Storage = new("ceph") },
		} {
			off(true)
			l.pve.ClearRequests()
			l.change(v, change)
			l.until(what+" waits", configtest.Says(v, xpv2.TypeReady, "NodeOffline", "pve2"))
			if w := l.writes(); len(w) > 0 {
				l.Errorf("written: %v", w)
			}
			off(false)
			l.until(what+" goes on", l.unbound(v))
		}
		m := l.machineAt("pve2", "m", "data")
		l.until("the Machine has the disk", l.boundOn("pve2", v, m))
		off(true)
		l.listsAt(m, "pve2")
		l.until("the Volume waits", configtest.Says(v, xpv2.TypeReady, "NodeOffline", "pve2"))
		l.delete(m)
		l.delete(v)
		for range 5 {
			l.until("time passes", func() bool { return true })
		}
		if !l.read(m) || !l.read(v) {
			l.Error("what is on a node that is off is given up")
		}
		off(false)
		l.until("both are gone", func() bool { return !l.read(m) && !l.read(v) })
		if n := len(l.on("pve2", "ceph")); n != before {
			l.Errorf("left: %v", l.on("pve2", "ceph"))
		}
	})
}

// TestNodeDies fails a node, which then leaves the cluster, while a task works on a disk there that other nodes reach. HA moves the VM to another
// node, and the Volume continues there once the node is no longer a member of the cluster.
func TestNodeDies(t *testing.T) {
	for name, deleted := range map[string]bool{"Grown": false, "Deleted": true} {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			before := len(l.on("pve1", "ceph"))
			v := l.volume("data", "size: 2G\nstorage: ceph\nnode: pve2\nreclaimPolicy: Delete\n")
			l.until("the disk is made", l.unbound(v))
			l.change(v, func() { v.Parameters().Size = new("3G") })
			l.until("it is grown by a task", func() bool {
				return strings.Contains(v.GetAnnotations()[volumeref.AnnotationRecord], `"task":"UPID:pve2`)
			})
			l.pve.Edit(func(s *state.State) {
				s.Nodes["pve2"].Offline, s.Guests[int(*v.Observation().VMID)].Node = true, "pve1"
			})
			l.until("it waits for the node", configtest.Says(v, xpv2.TypeReady, "NodeOffline", "pve2"))
			l.pve.Edit(func(s *state.State) {
				delete(s.Nodes, "pve2")
				for id, g := range s.Guests {
					if g.Node == "pve2" {
						delete(s.Guests, id)
					}
				}
			})
			if !deleted {
				l.change(v, func() { v.Parameters().Node = nil })
				l.until("it goes on", func() bool { return l.unbound(v)() && v.Observation().Node == "pve1" })
			}
			l.delete(v)
			l.until("the Volume is gone", l.gone(v))
			if n := len(l.on("pve1", "ceph")); n != before {
				t.Errorf("left: %v", l.on("pve1", "ceph"))
			}
		})
	}
}

// on returns the disks of a storage of a node.
func (l *lab) on(node, storage string) []string {
	l.Helper()
	all, err := l.root.Volumes(l.Context(), node, storage, "images")
	l.must(err)
	var found []string
	for _, v := range all {
		found = append(found, v.ID)
	}
	return found
}

// TestStubMigrated checks that a stub VM that a user has moved to another node is found there.
func TestStubMigrated(t *testing.T) {
	l := here(t)
	v := l.volume("data", onLVM+"node: pve1\n")
	l.until("the disk is made", l.unbound(v))
	stub := proxmox.Ref{Node: "pve1", VMID: int(*v.Observation().StubVMID)}
	l.ended(l.root.Migrate(l.Context(), stub, proxmox.MigrateOptions{Target: "pve2", WithLocalDisks: true}))
	l.pass()
	m := l.machineAt("", "m", "data")
	l.until("the VM is made where the disk is", l.boundOn("pve2", v, m))
	l.delete(m)
	l.delete(v)
	l.until("both are gone", func() bool { return !l.read(m) && !l.read(v) })
	if all := l.left(); len(all) > 0 && strings.Contains(strings.Join(all, " "), strconv.Itoa(stub.VMID)) {
		l.Errorf("left: %v", all)
	}
}

// elsewhere moves Machines to another cluster, with a separate provider config.
func (l *lab) elsewhere(all ...object.Machine) {
	l.Helper()
	const name = "elsewhere"
	other := configtest.Simulate(l.T, "9.2")
	other.Edit(func(s *state.State) { s.ClusterName = name })
	var theirs v1alpha1.ProviderConfigList
	var ours namespaced.ProviderConfigList
	l.must(l.kube.List(l.Context(), &theirs))
	l.must(l.kube.List(l.Context(), &ours))
	for _, c := range theirs.Items {
		c.Name, c.ResourceVersion, c.Spec.Endpoints = name, "", []string{other.URL()}
		l.must(l.kube.Create(l.Context(), &c))
	}
	for _, c := range ours.Items {
		c.Name, c.ResourceVersion, c.Spec.Endpoints = name, "", []string{other.URL()}
		l.must(l.kube.Create(l.Context(), &c))
	}
	for _, m := range all {
		l.change(m, func() {
			switch m := m.(type) {
			case *v1alpha1.Machine:
				m.SetProviderConfigReference(&xpv2.Reference{Name: name})
			case *namespaced.Machine:
				m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: name})
			}
		})
	}
}

// TestOtherCluster checks that a Machine in another cluster that lists the Volume, whether its VM exists or not, holds up no other Machine, even if
// it is older. Both report that.
func TestOtherCluster(t *testing.T) {
	everywhere(t, func(l *lab) {
		young, old := l.machine("young", "data"), l.machine("old")
		l.elsewhere(young, old)
		l.until("the Machine without a Volume is there", configtest.Settled(old))
		l.lists(old, "data")
		v, m := l.volume("data", onLVM), l.machine("m", "data")
		l.until("the Machine of the cluster has the disk", l.bound(v, m))
		l.until("one says so", configtest.Says(old, xpv2.TypeReady, "WaitingForVolume", "Volume 'data' is in another cluster"))
		l.until("the other one does", configtest.Says(young, xpv2.TypeSynced, xpv2.ReasonReconcileError, "Volume 'data' is in another cluster"))
		l.lists(m)
		l.until("nobody has the disk", l.unbound(v))
		l.delete(v)
		l.until("the Volume goes", l.gone(v))
	})
}
