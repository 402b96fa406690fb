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

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// healthy returns a cluster of two nodes, one of which is off.
func healthy() *view {
	return &view{
		version: proxmox.Version{Version: "9.2.11"},
		status:  proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: []proxmox.ClusterNode{{Name: "pve2"}, {Name: "pve1", Online: true, Address: "192.0.2.1"}}},
		nodes:   []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}},
		storages: []proxmox.Storage{
			{Name: "ceph", Node: "pve1", Status: "available", Type: "rbd", Shared: true, MaxDisk: 100, Disk: 10},
			{Name: "ceph", Node: "pve2", Status: "unknown", Type: "rbd", Shared: true},
			{Name: "local", Node: "pve1", Status: "available", Type: "dir", MaxDisk: 50, Disk: 5, Content: []string{"iso", "images"}},
			{Name: "local", Node: "pve2", Status: "available", Type: "dir", MaxDisk: 70, Disk: 7, Content: []string{"iso", "images"}},
			{Name: "dead", Node: "pve2", Status: "unknown", Type: "nfs"},
		},
		fingerprints: map[string]string{"pve1": "AA"},
		bridges:      map[string][]proxmox.Bridge{"pve1": {{Name: "vmbr0", Type: "bridge"}}, "pve3": {}},
		vnets:        []proxmox.VNet{{Name: "vn2", Zone: "z"}, {Name: "vn1", Zone: "z", Tag: 5}},
		ha:           &proxmox.HAStatus{Quorum: "OK", Manager: "pve1", Resources: []proxmox.HAResource{{ID: "vm:2", State: "error"}, {ID: "vm:1", State: "started"}}},
	}
}

func TestObservation(t *testing.T) {
	want := v1alpha1.ProxmoxClusterObservation{
		Version: "9.2.11", Name: "lab", Quorate: new(true), NodesOnline: "1/2",
		Nodes: []v1alpha1.ProxmoxClusterNode{
			{Name: "pve1", Online: true, Status: "online", Address: "192.0.2.1", Fingerprint: "AA"}, {Name: "pve2", Status: "offline"},
		},
		Storages: []v1alpha1.ProxmoxClusterStorage{
			{
				Name: "ceph", Type: "rbd", Shared: true, Total: 100, Used: 10,
				Nodes: []v1alpha1.ProxmoxClusterStorageNode{{Name: "pve1", Available: true, Total: 100, Used: 10}, {Name: "pve2"}},
			},
			{Name: "dead", Type: "nfs", Nodes: []v1alpha1.ProxmoxClusterStorageNode{{Name: "pve2"}}},
			{
				Name: "local", Type: "dir", Content: []string{"images", "iso"}, Total: 120, Used: 12,
				Nodes: []v1alpha1.ProxmoxClusterStorageNode{{Name: "pve1", Available: true, Total: 50, Used: 5}, {Name: "pve2", Available: true, Total: 70, Used: 7}},
			},
		},
		Networks: []v1alpha1.ProxmoxClusterNetwork{{Name: "vmbr0", Type: "bridge", Nodes: []string{"pve1"}}},
		VNets:    []v1alpha1.ProxmoxClusterVNet{{Name: "vn1", Zone: "z", Tag: new(int64(5))}, {Name: "vn2", Zone: "z"}},
		HA:       &v1alpha1.ProxmoxClusterHA{Quorum: "OK", Manager: "pve1", Resources: 2, Failed: []string{"vm:2"}},
	}
	if diff := cmp.Diff(want, healthy().observation()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	s := healthy()
	s.ha = nil
	if s.observation().HA != nil {
		t.Error("what the user may not see is not shown as nothing")
	}
}

func TestMissing(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1alpha1.ProxmoxClusterParameters
		want   string
	}{
		"Nothing": {reason: "Who expects nothing misses nothing."},
		"All": {
			reason: "What is there is not missing.",
			spec:   v1alpha1.ProxmoxClusterParameters{Nodes: []string{"pve1"}, Storages: []string{"ceph", "local"}},
		},
		"Node": {
			reason: "A node that nobody knows.", spec: v1alpha1.ProxmoxClusterParameters{Nodes: []string{"pve9"}},
			want: `node "pve9" does not exist`,
		},
		"NodeOffline": {reason: "A node that is off.", spec: v1alpha1.ProxmoxClusterParameters{Nodes: []string{"pve2"}}, want: `node "pve2" is offline`},
		"Storage": {
			reason: "A storage that nobody knows.", spec: v1alpha1.ProxmoxClusterParameters{Storages: []string{"x"}},
			want: `storage "x" does not exist, or the user may not see it`,
		},
		"StorageDead": {
			reason: "A storage that nobody can use.", spec: v1alpha1.ProxmoxClusterParameters{Storages: []string{"dead"}},
			want: `storage "dead" is available on no node`,
		},
		"Network": {
			reason: "A network that is nowhere.", spec: v1alpha1.ProxmoxClusterParameters{Networks: []string{"vmbr9"}},
			want: `network "vmbr9" does not exist`,
		},
		"NetworkSomewhere": {
			reason: "A node without any network lacks this one; of one that is off nothing is known.",
			spec:   v1alpha1.ProxmoxClusterParameters{Networks: []string{"vmbr0"}}, want: `network "vmbr0" is missing on node pve3`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, got := healthy(), ""
			for _, p := range s.missing(&tc.spec, s.observation()) {
				got += p.Message
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCalm(t *testing.T) {
	used, other := healthy(), healthy()
	used.storages[0].Disk++
	other.storages[0].MaxDisk++
	of := func(s *view) v1alpha1.ProxmoxClusterObservation {
		o := s.observation()
		return withoutUsage(&o)
	}
	if diff := cmp.Diff(of(healthy()), of(used)); diff != "" {
		t.Errorf("what is used changes all the time: -want, +got:\n%s", diff)
	}
	if cmp.Equal(of(healthy()), of(other)) {
		t.Error("the size of a storage does not change all the time")
	}
}

func TestSameCluster(t *testing.T) {
	a := []v1alpha1.ProxmoxClusterNode{{Name: "pve1", Fingerprint: "AA", Address: "192.0.2.1"}, {Name: "pve2", Fingerprint: "BB"}}
	if !sameCluster(a, []v1alpha1.ProxmoxClusterNode{{Name: "pve2", Fingerprint: "BB", Online: true}}) {
		t.Error("want clusters with a node in common to be the same")
	}
	if sameCluster(a, []v1alpha1.ProxmoxClusterNode{{Name: "pve1", Fingerprint: "CC"}, {Name: "pve3", Fingerprint: "AA"}}) {
		t.Error("want clusters whose nodes only have the same names to differ")
	}
}
