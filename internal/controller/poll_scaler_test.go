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
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	xpresource "github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A population is many Machines of one provider.
type population struct {
	*world

	list func() xpresource.ManagedList
	of   func(m machine.Machine, config string)
}

func populations() map[string]population {
	return map[string]population{
		"Cluster": {
			list: func() xpresource.ManagedList { return &cluster.MachineList{} },
			of: func(m machine.Machine, config string) {
				if c, ok := m.(*cluster.Machine); ok {
					c.SetProviderConfigReference(&xpv2.Reference{Name: config})
					c.SetWriteConnectionSecretToReference(nil)
				}
			},
		},
		"Namespaced": {
			list: func() xpresource.ManagedList { return &namespaced.MachineList{} },
			of: func(m machine.Machine, config string) {
				if n, ok := m.(*namespaced.Machine); ok {
					n.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: config})
					n.SetWriteConnectionSecretToReference(nil)
				}
			},
		},
	}
}

// newPopulation returns a population of a provider that has a separate cluster, or that of others.
func newPopulation(t *testing.T, scopeName, name string, others *population) *population {
	t.Helper()
	c := populations()[scopeName]
	if others == nil {
		c.world = emptyWorld(t, scopes()[scopeName], name, map[string]string{"qmcreate": "50ms", "qmdestroy": "20ms"}, "")
	} else {
		c.world = &world{T: t, scope: scopes()[scopeName], name: name, pve: others.pve, kube: others.kube, admin: others.admin}
	}
	c.poll = time.Minute
	c.configure()
	c.start()
	t.Cleanup(func() { c.stop() })
	return &c
}

func (c *population) create(n int, spec v1alpha1.MachineParameters) {
	c.Helper()
	for i := range n {
		o := c.meta()
		o.Name = fmt.Sprintf("%s-%d", c.name, i)
		m := c.scope.machine(o, spec)
		c.of(m, c.name)
		if err := c.kube.Create(c.Context(), m); err != nil {
			c.Fatal(err)
		}
	}
}

func (c *population) machines() []machine.Machine {
	c.Helper()
	list := c.list()
	if err := c.kube.List(context.Background(), list, client.MatchingLabels{label: c.name}); err != nil {
		c.Fatal(err)
	}
	var all []machine.Machine
	for _, mg := range list.GetItems() {
		all = append(all, mg.(machine.Machine))
	}
	return all
}

func (c *population) ready(n int) {
	c.Helper()
	c.slowly(fmt.Sprintf("%d Machines of %s are ready", n, c.name), func() string {
		ready, last := 0, ""
		for _, m := range c.machines() {
			if m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
				ready++
			} else {
				last = m.GetName() + ": " + m.GetCondition(xpv2.TypeSynced).Message
			}
		}
		if ready == n {
			return ""
		}
		return fmt.Sprintf("%d are, but %s", ready, last)
	})
}

// slowly waits until nothing is missing. Reading a whole population takes a while itself, and how long its Machines take depends on the load of the
// computer.
func (c *population) slowly(what string, missing func() string) {
	c.Helper()
	again, late := time.NewTicker(500*time.Millisecond), time.After(3*slowest)
	defer again.Stop()
	for {
		why := missing()
		if why == "" {
			return
		}
		select {
		case <-again.C:
		case <-late:
			c.Fatalf("never happened: %s: %s", what, why)
		}
	}
}

func (c *population) deleteAll() {
	c.Helper()
	for _, m := range c.machines() {
		if err := c.kube.Delete(c.Context(), m); err != nil {
			c.Fatal(err)
		}
	}
	c.slowly("all Machines of "+c.name+" are gone", func() string {
		if left := len(c.machines()); left > 0 {
			return fmt.Sprintf("%d are left", left)
		}
		return ""
	})
}

// TestCompetingProviders makes two providers, which know nothing of each other, create a hundred VMs each on one cluster at the same time.
func TestCompetingProviders(t *testing.T) {
	t.Parallel()
	const each = 100
	a := newPopulation(t, "Cluster", "shared-a", nil)
	b := newPopulation(t, "Namespaced", "shared-b", a)
	spec := v1alpha1.MachineParameters{
		Memory: new(resource.MustParse("64Mi")), PowerState: new(v1alpha1.PowerStateStopped),
		Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("ceph")}},
	}
	a.create(each, spec)
	b.create(each, spec)
	a.ready(each)
	b.ready(each)

	owner := map[int]string{}
	for _, m := range append(a.machines(), b.machines()...) {
		id := int(*m.Observation().VMID)
		if other, taken := owner[id]; taken {
			t.Errorf("VM %d is both %s's and %s's", id, other, m.GetName())
		}
		owner[id] = m.GetName()
		if g, ok := a.pve.Guest(id); !ok || g.Config["name"] != m.GetName() {
			t.Errorf("VM %d of %s is %q", id, m.GetName(), g.Config["name"])
		}
	}
	if n := len(a.ours()); n != 2*each || len(owner) != 2*each {
		t.Errorf("want %d VMs with an owner each, got %d VMs and %d owners", 2*each, n, len(owner))
	}
	for id := range owner {
		if id < 10000 || id >= 10000+3*each {
			t.Errorf("VM %d: the lowest free VMIDs are taken", id)
		}
	}
	a.deleteAll()
	b.deleteAll()
	if left := a.ours(); len(left) > 0 {
		t.Errorf("VMs %v are left", left)
	}
	a.pve.Edit(func(s *simulator.State) {
		for key, v := range s.Volumes {
			if v.VMID >= 10000 {
				t.Errorf("volume %v is left", key)
			}
		}
	})
}

// TestBalancedPopulation makes one provider create many VMs at the same time, and checks their placement, although PVE does not show most of them
// yet.
func TestBalancedPopulation(t *testing.T) {
	t.Parallel()
	const n = 40
	c := newPopulation(t, "Namespaced", "balanced", nil)
	c.create(n, v1alpha1.MachineParameters{Memory: new(resource.MustParse("2Gi")), PowerState: new(v1alpha1.PowerStateStopped)})
	c.ready(n)
	for _, m := range c.machines() {
		if p := m.Observation().Placement; p == nil || p.Node != m.Observation().Node || len(p.Others) != 2 {
			t.Errorf("%s on %s does not say why: %+v", m.GetName(), m.Observation().Node, p)
		}
	}
	assigned, total := map[string]int{}, map[string]int{}
	c.pve.Edit(func(s *simulator.State) {
		for name, node := range s.Nodes {
			total[name] = int(node.Memory >> 20)
		}
		for _, g := range s.Guests {
			memory, err := strconv.Atoi(g.Config["memory"])
			if err == nil && g.Config["template"] != "1" {
				assigned[g.Node] += memory
			}
		}
	})
	even := float64(sum(assigned)) / float64(sum(total))
	for name := range total {
		share := float64(assigned[name]) / float64(total[name])
		if share < even*0.9 || share > even*1.1 {
			t.Errorf("node %s has %.3f of its memory assigned, even would be %.3f", name, share, even)
		}
	}
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// TestPlacement checks the decisions of placement throughout a Machine's life.
func TestPlacement(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		setup  func(*world)
		check  func(*world)
	}{
		"migrates": {
			reason: "A full clone of a template on local storage is made there and goes to its place.",
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromInt32(9100)), Clone: &v1alpha1.MachineClone{Full: new(true)},
				Placement: &v1alpha1.MachinePlacement{Nodes: []string{"pve3"}},
			},
			setup: func(w *world) {
				w.pve.Edit(func(s *simulator.State) {
					s.Guests[9100] = &simulator.Guest{VMID: 9100, Node: "pve1", Config: map[string]string{
						"name": "local-template", "template": "1", "memory": "512", "scsi0": "local-lvm:base-9100-disk-0,size=1G", "boot": "order=scsi0",
					}}
					s.Volumes[simulator.VolumeKey{
						Storage: "local-lvm", Node: "pve1", Name: "base-9100-disk-0",
					}] = &simulator.Volume{VMID: 9100, Format: "raw", Content: "images", Size: 1 << 30}
				})
			},
			check: func(w *world) {
				w.ready()
				w.eventually("the VM is in its place", func() bool { return w.exists() && w.m.Observation().Node == "pve3" })
				w.ready()
				if n := w.tasks("qmigrate"); n != 1 || w.vm().Node != "pve3" {
					w.Errorf("want one migration to pve3, got %d, and the VM on %s", n, w.vm().Node)
				}
			},
		},
		"waits": {
			reason: "A Machine without a place waits without calls of its own, and is created when there is one.",
			spec:   v1alpha1.MachineParameters{Memory: new(resource.MustParse("1Gi")), PowerState: new(v1alpha1.PowerStateStopped)},
			setup: func(w *world) {
				w.pve.Edit(func(s *simulator.State) {
					for _, n := range s.Nodes {
						n.Memory = 1 << 30
					}
				})
			},
			check: func(w *world) {
				w.says(conditions.TypeResourcesAllocated, conditions.ReasonInsufficientResources, "insufficient resources on node pve2: memory 1024 MiB requested, ")
				w.pve.Edit(func(s *simulator.State) { s.Nodes["pve2"].Memory = 64 << 30 })
				w.ready()
				if w.vm().Node != "pve2" {
					w.Errorf("the VM is on node %s, which has no room", w.vm().Node)
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			w := emptyWorld(t, scopes()["Namespaced"], "placed-"+name, nil, "")
			tc.setup(w)
			w.configure()
			w.start()
			t.Cleanup(func() { w.stop() })
			w.create(tc.spec)
			tc.check(w)
			w.finish()
		})
	}
}
