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
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	pvecluster "github.com/vitistack/provider-proxmox/internal/controller/cluster"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A mishap is a failure on one node of a cluster.
type mishap struct {
	reason string
	node   string

	// fail makes the node fail, and repair repairs it.
	fail, repair func(*simulator.State)

	// The condition of the Machine on the node, and why placement rejects the node.
	says    xpv2.ConditionType
	because xpv2.ConditionReason
	text    string
	against string

	// online nodes in the metrics.
	online int
}

func mishaps() map[string]mishap {
	filling := simulator.VolumeKey{Storage: "local-lvm", Node: "pve2", Name: "vm-999-disk-0"}
	var bridge *simulator.Interface
	return map[string]mishap{
		"offline": {
			reason: "The node is off.", node: "pve1", online: 2,
			fail:   func(s *simulator.State) { s.Nodes["pve1"].Offline = true },
			repair: func(s *simulator.State) { s.Nodes["pve1"].Offline = false },
			says:   xpv2.TypeReady, because: conditions.ReasonNodeOffline, text: `node "pve1" is offline`, against: "it is offline",
		},
		"full": {
			reason: "The storage of the node has filled up.", node: "pve2", online: 3,
			fail: func(s *simulator.State) {
				s.Volumes[filling] = &simulator.Volume{VMID: 999, Format: "raw", Content: "images", Size: 1 << 40, Used: 480 << 30}
			},
			repair: func(s *simulator.State) { delete(s.Volumes, filling) },
			says:   conditions.TypeResourcesAllocated, because: conditions.ReasonInsufficientResources,
			text: "storage 'local-lvm' on node pve2 is full", against: "storage 'local-lvm': 1024 MiB requested, 0 MiB available",
		},
		"bridge": {
			reason: "The bridge of the node is gone.", node: "pve3", online: 3,
			fail: func(s *simulator.State) {
				bridge = s.Nodes["pve3"].Interfaces["vmbr0"]
				delete(s.Nodes["pve3"].Interfaces, "vmbr0")
			},
			repair: func(s *simulator.State) { s.Nodes["pve3"].Interfaces["vmbr0"] = bridge },
			says:   conditions.TypeNetworkConfigured, because: conditions.ReasonNetworkError,
			text: "bridge 'vmbr0' not found on node pve3", against: "bridge 'vmbr0' not found",
		},
	}
}

// TestMishaps makes one node after the other fail, and checks that the Machine there reports it, a new one that prefers the node is placed elsewhere,
// and nothing is moved.
func TestMishaps(t *testing.T) {
	t.Parallel()
	for name, mishap := range mishaps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(mishap.reason)
			c := populations()["Namespaced"]
			c.world = emptyWorld(t, scopes()["Namespaced"], "mishap-"+name, map[string]string{"qmcreate": "50ms", "qmdestroy": "20ms"}, "")
			seen := c.measured()
			c.configure()
			c.start()
			t.Cleanup(func() { c.stop() })
			c.suffer(mishap, seen)
		})
	}
}

// measured gives the provider metrics that can be gathered.
func (c *population) measured() prometheus.Gatherer {
	m, r := metrics.New(), prometheus.NewRegistry()
	if err := m.Register(r); err != nil {
		c.Fatal(err)
	}
	c.options = func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Metrics = m
		return o
	}
	return r
}

func (c *population) suffer(h mishap, seen prometheus.Gatherer) {
	owner := c.cluster("", v1alpha1.ProxmoxClusterParameters{Nodes: []string{h.node}})
	c.make(owner)
	c.well(owner)
	nodes := []string{"pve1", "pve2", "pve3"}
	for _, node := range nodes {
		c.add(node, v1alpha1.MachineParameters{Node: &node})
	}
	c.ready(len(nodes))
	c.shows(seen,
		`proxmox_operator_machines_total{node="pve1",phase="Running"} 1`,
		`proxmox_operator_machines_total{node="pve2",phase="Running"} 1`,
		`proxmox_operator_machines_total{node="pve3",phase="Running"} 1`)

	c.pve.Edit(h.fail)
	victim := c.named(h.node)
	c.becomes(victim, h.text, func() bool {
		s := victim.GetCondition(h.says)
		return s.Status == corev1.ConditionFalse && s.Reason == h.because && strings.Contains(s.Message, h.text)
	})
	if h.online < len(nodes) {
		c.waitNotReady(owner, pvecluster.ReasonMissing, h.text)
	}
	c.shows(seen,
		fmt.Sprintf(`proxmox_cluster_nodes_available{cluster="%s/%s"} %d`, namespace, owner.GetName(), h.online),
		fmt.Sprintf(`proxmox_cluster_connection_status{cluster="%s/%s"} 1`, namespace, owner.GetName()))

	rather := v1alpha1.MachineAffinityTerm{MatchLabels: map[string]string{"at": h.node}, Required: new(false)}
	c.add("new", v1alpha1.MachineParameters{Placement: &v1alpha1.MachinePlacement{Affinity: []v1alpha1.MachineAffinityTerm{rather}}})
	c.elsewhere(c.named("new"), h)

	c.pve.Edit(h.repair)
	c.ready(len(nodes) + 1)
	for _, node := range nodes {
		if at := c.named(node).Observation().Node; at != node {
			c.Errorf("the Machine on %s was moved to %s", node, at)
		}
	}
	if n := c.tasks("qmigrate") + c.tasks("hamigrate"); n > 0 {
		c.Errorf("want nothing moved, got %d migrations", n)
	}
	c.deleteAll()
	c.remove(owner)
	if gone := namespace + "/" + owner.GetName(); slices.ContainsFunc(c.series(seen), func(s string) bool { return strings.Contains(s, `"`+gone+`"`) }) {
		c.Errorf("want no series of %s any more, got %q", gone, c.series(seen))
	}
}

// elsewhere waits until a Machine is ready on another node than the failed one, and reports why.
func (c *population) elsewhere(m machine.Machine, h mishap) {
	c.Helper()
	c.becomes(m, "ready elsewhere", func() bool { return m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue })
	p := m.Observation().Placement
	if m.Observation().Node == h.node || p == nil || !slices.ContainsFunc(p.Others, func(o v1alpha1.MachinePlacementRejection) bool {
		return o.Node == h.node && strings.Contains(o.Reason, h.against)
	}) {
		c.Errorf("want it on another node than %s because of %q, got %s, %+v", h.node, h.against, m.Observation().Node, p)
	}
}

// add creates a Machine with a disk and a NIC, and its name as a label.
func (c *population) add(name string, spec v1alpha1.MachineParameters) {
	c.Helper()
	spec.ShutdownTimeoutSeconds = new(int32(1))
	spec.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("local-lvm")}}
	spec.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0")}}
	o := c.meta()
	o.Name += "-" + name
	o.Labels["at"] = name
	m := c.scope.machine(o, spec)
	c.of(m, c.name)
	c.make(m)
}

// named returns the present state of the Machine with a name.
func (c *population) named(name string) machine.Machine {
	c.Helper()
	o := c.meta()
	o.Name, o.Namespace = o.Name+"-"+name, namespace
	m := c.scope.machine(o, v1alpha1.MachineParameters{})
	if err := c.kube.Get(c.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		c.Fatal(err)
	}
	return m
}

// shows waits until the metrics have series with these values.
func (c *population) shows(seen prometheus.Gatherer, want ...string) {
	c.Helper()
	c.slowly("metrics", func() string {
		have := c.series(seen)
		if i := slices.IndexFunc(want, func(s string) bool { return !slices.Contains(have, s) }); i >= 0 {
			return fmt.Sprintf("want %s, have %q", want[i], have)
		}
		return ""
	})
}

// series returns the metrics in the format of Prometheus.
func (c *population) series(seen prometheus.Gatherer) []string {
	c.Helper()
	families, err := seen.Gather()
	if err != nil {
		c.Fatal(err)
	}
	var all []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			all = append(all, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), m.GetGauge().GetValue()))
		}
	}
	return all
}

// TestHeldVMID creates a Machine with a provider that does not know that the VM with the lowest VMID is being destroyed.
func TestHeldVMID(t *testing.T) {
	t.Parallel()
	a := populations()["Cluster"]
	a.world = emptyWorld(t, scopes()["Cluster"], "held-a", map[string]string{"qmcreate": "20ms", "qmdestroy": "10s"}, "")
	a.configure()
	a.start()
	t.Cleanup(func() { a.stop() })
	b := newPopulation(t, "Namespaced", "held-b", &a)
	spec := v1alpha1.MachineParameters{PowerState: new(v1alpha1.PowerStateStopped)}
	a.create(1, spec)
	a.ready(1)
	if err := a.kube.Delete(t.Context(), a.machines()[0]); err != nil {
		t.Fatal(err)
	}
	a.eventually("the VM is being destroyed", func() bool { return a.tasks("qmdestroy") == 1 })
	b.create(1, spec)
	b.ready(1)

	tasks := a.pve.Tasks()
	destroyed := tasks[slices.IndexFunc(tasks, func(t simulator.Task) bool { return t.Type == "qmdestroy" })]
	created := tasks[slices.IndexFunc(tasks, func(t simulator.Task) bool { return t.Type == "qmcreate" && t.Started.After(destroyed.Started) })]
	m := b.machines()[0]
	if free := !destroyed.Running() && destroyed.Ended.Before(created.Started); *m.Observation().VMID == 10000 && !free {
		t.Error("want another VMID than that of the VM that is being destroyed, got 10000")
	}
	a.slowly("the first Machine has gone", func() string { return strings.Repeat("it is there", len(a.machines())) })
	if g, ok := a.pve.Guest(int(*m.Observation().VMID)); !ok || g.Config["name"] != m.GetName() {
		t.Errorf("want the VM of the second left alone, got %+v", g)
	}
	b.deleteAll()
	if left := a.ours(); len(left) > 0 {
		t.Errorf("VMs %v are left", left)
	}
}
