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

package node

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func seen() *view {
	return &view{
		node: proxmox.Node{Name: "pve1", Status: "online"}, cluster: "lab", fingerprint: "AA", vms: 3,
		storages: []proxmox.Storage{{MaxDisk: 100, Disk: 10}, {MaxDisk: 50, Disk: 5}},
		status:   proxmox.NodeStatus{Version: "9.2.11", Kernel: "6.14", CPU: 0.26, CPUs: 16, Memory: 4, MaxMemory: 64, Uptime: time.Minute},
		bridges:  []proxmox.Bridge{{Name: "vmbr1"}, {Name: "vmbr0", Type: "bridge", Active: true, Ports: []string{"b", "a", "b"}}},
		interfaces: nodenet.Config{
			"vmbr0": {"type": "bridge", "active": "1", "bridge_ports": "a b", "cidr": "192.0.2.11/24", "gateway": "192.0.2.1"},
			"a":     {"type": "eth", "active": "1"}, "vmbr0.5": {"type": "vlan"},
		},
		zones: []proxmox.Zone{
			{Name: "z1", Bridges: []string{"vmbr0"}},
			{Name: "z2", Bridges: []string{"vmbr0"}, Nodes: []string{"pve2"}},
			{Name: "z3", Peers: []string{"192.0.2.12", "192.0.2.11"}},
		},
		machines: map[string][]string{"vmbr1": {"Machine team/web", "Machine team/db"}}, others: map[string]int{"vmbr0": 3},
		mappings: []proxmox.PCIMapping{{Name: "gpu", Devices: map[string][]string{"pve1": {"2", "1"}}}, {Name: "far", Devices: map[string][]string{"pve2": {"1"}}}},
	}
}

func TestObservation(t *testing.T) {
	want := v1alpha1.ProxmoxNodeObservation{
		NodeName: "pve1", ClusterName: "lab", Status: "online", Fingerprint: "AA", VMCount: new(int32(3)), Version: "9.2.11", Kernel: "6.14",
		UptimeSeconds: new(int64(60)),
		Resources: &v1alpha1.ProxmoxNodeResources{
			CPU: v1alpha1.ResourceUse{Total: 16, Used: 5}, Memory: v1alpha1.ResourceUse{Total: 64, Used: 4}, Storage: v1alpha1.ResourceUse{Total: 150, Used: 15},
		},
		Networks:    []v1alpha1.ProxmoxNodeNetwork{{Name: "vmbr0", Type: "bridge", Active: true, Ports: []string{"a", "b"}}, {Name: "vmbr1"}},
		PCIMappings: []v1alpha1.ProxmoxNodePCIMapping{{Name: "gpu", Devices: []string{"1", "2"}}},
		Interfaces: []v1alpha1.ProxmoxNodeInterface{
			{Name: "a", Type: "eth", Active: new(true), UsedBy: []string{"bridge vmbr0"}},
			{
				Name: "vmbr0", Type: "bridge", Active: new(true),
				UsedBy: []string{"address 192.0.2.11/24", "default route by 192.0.2.1", "vlan vmbr0.5", "SDN zone z1", "SDN zone z3", "3 more Machines"},
			},
			{Name: "vmbr0.5", Type: "vlan", Active: new(false)},
			{Name: "vmbr1", Active: new(false), UsedBy: []string{"Machine team/db", "Machine team/web"}},
		},
	}
	got := seen().observation(v1alpha1.ProxmoxNodeObservation{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	s := seen()
	s.node.Status, s.status, s.bridges = "offline", proxmox.NodeStatus{}, nil
	off := s.observation(got)
	want.Status, want.UptimeSeconds = "offline", nil
	if diff := cmp.Diff(want, off); diff != "" {
		t.Errorf("a node that is offline keeps what was seen of it: -want, +got:\n%s", diff)
	}
}

func TestCalm(t *testing.T) {
	busy, moved := seen(), seen()
	busy.status.CPU, busy.status.Uptime, busy.storages[0].Disk = 0.9, time.Hour, 99
	moved.vms++
	of := func(s *view) v1alpha1.ProxmoxNodeObservation {
		o := s.observation(v1alpha1.ProxmoxNodeObservation{})
		return withoutUsage(&o)
	}
	if diff := cmp.Diff(of(seen()), of(busy)); diff != "" {
		t.Errorf("what is used changes all the time: -want, +got:\n%s", diff)
	}
	if cmp.Equal(of(seen()), of(moved)) {
		t.Error("the number of VMs does not change all the time")
	}
}

func TestName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason           string
		external, wanted string
		want             string
		fails            bool
	}{
		"Own":      {reason: "A resource has the name of its node.", want: "pve1"},
		"NodeName": {reason: "Unless it says another.", wanted: "pve2", want: "pve2"},
		"External": {reason: "An external name is kept.", external: "pve3", want: "pve3"},
		"Both":     {reason: "The external name and nodeName may say the same.", external: "pve3", wanted: "pve3", want: "pve3"},
		"Differ":   {reason: "The external name and nodeName may not say different things.", external: "pve3", wanted: "pve4", want: "pve3", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := &cluster.ProxmoxNode{ObjectMeta: metav1.ObjectMeta{Name: "pve1"}}
			meta.SetExternalName(n, tc.external)
			if tc.wanted != "" {
				n.Spec.ForProvider.NodeName = &tc.wanted
			}
			err := nameNode(n)
			if got := meta.GetExternalName(n); got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s\ngot %q and error %v", tc.reason, got, err)
			}
		})
	}
}

// TestConflict checks an older ProxmoxNode of the same node.
func TestConflict(t *testing.T) {
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	older, newer := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	at := v1alpha1.ProxmoxNodeObservation{NodeName: "pve1", Fingerprint: "AA"}
	settings := v1alpha1.ProxmoxNodeParameters{TimeZone: new("Etc/UTC")}
	team := func(namespace string, spec v1alpha1.ProxmoxNodeParameters) *namespaced.ProxmoxNode {
		n := &namespaced.ProxmoxNode{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "old", UID: types.UID("1"), CreationTimestamp: older}}
		n.Spec.ForProvider, n.Status.AtProvider = spec, at
		return n
	}
	observer, elsewhere, young := team("team", settings), team("team", settings), team("team", settings)
	observer.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	elsewhere.Status.AtProvider.Fingerprint = "BB"
	young.CreationTimestamp = metav1.NewTime(time.Unix(3, 0))
	for name, tc := range map[string]struct {
		reason string
		other  *namespaced.ProxmoxNode
		spec   v1alpha1.ProxmoxNodeParameters
		want   bool
	}{
		"Namespace":  {reason: "A namespace has one ProxmoxNode for a node.", other: team("team", v1alpha1.ProxmoxNodeParameters{}), want: true},
		"Elsewhere":  {reason: "Another namespace may have rules of its own.", other: team("other", settings)},
		"Settings":   {reason: "The node has one set of settings.", other: team("other", settings), spec: settings, want: true},
		"Observer":   {reason: "Who only looks is in no conflict.", other: observer},
		"Other node": {reason: "A node of the same name in another cluster is another one.", other: elsewhere},
		"Younger":    {reason: "The older one counts.", other: young},
	} {
		t.Run(name, func(t *testing.T) {
			n := &namespaced.ProxmoxNode{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "new", UID: types.UID("2"), CreationTimestamp: newer}}
			n.Spec.ForProvider, n.Status.AtProvider = tc.spec, at
			kube := fake.NewClientBuilder().WithScheme(s).WithObjects(tc.other, n).Build()
			peers := kind.Conflicts{Reader: kube, Lists: []resource.ManagedList{&cluster.ProxmoxNodeList{}, &namespaced.ProxmoxNodeList{}}}
			got, err := Table().Conflict(t.Context(), peers, n)
			if err != nil || (got != nil) != tc.want {
				t.Errorf("%s\ngot %v and error %v, want a conflict: %t", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	configtest.RunSingleton(t, configtest.Singleton{
		Setup: config.SetupSingleton(Table()), Kind: "ProxmoxNode", Path: "/nodes/pve1/config", Denied: "Sys.Modify",
		Spec:    "{nodeName: pve1, description: One, timeZone: Europe/Oslo, dns: {searchDomain: a.example.com, servers: [192.0.2.1, 192.0.2.2]}}",
		Changed: "{nodeName: pve1, description: Two, timeZone: Etc/UTC, dns: {searchDomain: b.example.com}}",
		Want:    map[string]string{"description": "One", "timezone": "Europe/Oslo", "search": "a.example.com", "dns": "192.0.2.1 192.0.2.2"},
		WantChanged: map[string]string{
			"description": "Two", "timezone": "Etc/UTC", "search": "b.example.com", "dns": "192.0.2.1 192.0.2.2",
		},
		Left: map[string]string{"description": "Two", "timezone": "Etc/UTC"},
		Read: func(s configtest.Simulator) map[string]string {
			all := map[string]string{}
			s.Edit(func(state *simulator.State) {
				n := state.Nodes["pve1"]
				all["description"], all["timezone"] = strings.TrimSpace(n.Description), n.TimeZone
				all["search"], all["dns"] = n.SearchDomain, strings.Join(n.DNS, " ")
			})
			return all
		},
		Drift: func(s configtest.Simulator) {
			s.Edit(func(state *simulator.State) { state.Nodes["pve1"].TimeZone = "Etc/UTC" })
		},
	})
}

// TestUsers checks that the Machines whose VMs are on the node are shown, by the bridges that they have NICs on.
func TestUsers(t *testing.T) {
	web := func(node, in string, vmid int32) *namespaced.Machine {
		m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
		o := m.Observation()
		o.Node, o.Cluster, o.VMID = node, in, &vmid
		o.Networks = []v1alpha1.MachineNetworkObservation{{Bridge: "vmbr0"}, {Bridge: "vmbr0"}}
		return m
	}
	named := []string{"Machine team/web"}
	guests := []proxmox.Guest{{VMID: 100, Node: "pve1", Type: "qemu"}, {VMID: 101, Node: "pve2", Type: "qemu"}}
	cases := map[string]struct {
		reason string
		node   Node
		m      *namespaced.Machine
		want   []string
		count  int
	}{
		"Own":       {reason: "Once for each bridge.", node: ownNode("team"), m: web("pve1", "lab", 100), want: named},
		"Cluster":   {reason: "A cluster-scoped resource shows all.", node: ownNode(""), m: web("pve1", "lab", 100), want: named},
		"Foreign":   {reason: "Who is in another namespace is not told.", node: ownNode("other"), m: web("pve1", "lab", 100), count: 1},
		"OtherNode": {reason: "The VM of the Machine is on another node.", node: ownNode("team"), m: web("pve2", "lab", 101)},
		"OtherLab":  {reason: "Nodes of other clusters have the same names.", node: ownNode("team"), m: web("pve1", "den", 100)},
		"Gone":      {reason: "There is no such VM on the node.", node: ownNode("team"), m: web("pve1", "lab", 102)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := seen()
			s.machines, s.others = map[string][]string{}, map[string]int{}
			if s.runsOn(tc.m.Observation(), guests) {
				s.noteMachine(tc.node, tc.m)
			}
			if diff := cmp.Diff(tc.want, s.machines["vmbr0"]); diff != "" || s.others["vmbr0"] != tc.count {
				t.Errorf("%s\n%d others, want %d, and Machines: -want, +got:\n%s", tc.reason, s.others["vmbr0"], tc.count, diff)
			}
		})
	}
}

// ownNode returns a ProxmoxNode of a namespace, or a cluster-scoped one.
func ownNode(team string) Node {
	if team == "" {
		return &cluster.ProxmoxNode{}
	}
	return &namespaced.ProxmoxNode{ObjectMeta: metav1.ObjectMeta{Namespace: team}}
}
