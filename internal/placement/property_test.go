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

package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// random generates situations, which are the same for the same seed.
type random struct{ *rand.Rand }

func (r random) pick(names ...string) string { return names[r.IntN(len(names))] }

func (r random) nodes() []Node {
	var nodes []Node
	for i := range 1 + r.IntN(8) {
		n := Node{
			Name: fmt.Sprintf("pve%d", i), Status: r.pick("online", "online", "online", "offline"), Cordoned: r.IntN(8) == 0,
			CPUs: 4 << r.IntN(5), Memory: int64(8+r.IntN(120)) * gib, Bridges: []string{"vmbr0", r.pick("vmbr1", "vmbr2")},
			Labels: map[string]string{"zone": r.pick("a", "b")},
			Storages: map[string]Storage{
				"local-lvm": {Active: r.IntN(8) > 0, Content: []string{"images"}, Size: 200 * gib, Used: r.Int64N(200) * gib, Thin: r.IntN(2) == 0},
				"ceph":      {Active: true, Shared: true, Content: []string{"images"}, Size: 900 * gib},
			},
		}
		n.UsedMemory = r.Int64N(n.Memory / 2)
		if r.IntN(3) == 0 {
			n.MaxVMs = new(r.IntN(12))
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (r random) request(i int) Request {
	q := Request{
		ID: fmt.Sprintf("m%d", i), Namespace: r.pick("a", "b"), Labels: map[string]string{"app": r.pick("web", "db", "cache")},
		Runs: r.IntN(5) > 0, CPUs: 1 + r.IntN(8), Memory: int64(1+r.IntN(16)) * gib, Bridges: []string{r.pick("vmbr0", "vmbr0", "vmbr1")},
		Disks: []Disk{{Storage: r.pick("local-lvm", "ceph"), Content: "images", Bytes: int64(r.IntN(40)) * gib}},
	}
	strategy := v1alpha1.PlacementStrategy(r.pick("Balanced", "Pack", "Spread"))
	q.Rules.Strategy = &strategy
	if r.IntN(2) == 0 {
		q.Rules.Group = new(r.pick("one", "two"))
		spread := v1alpha1.PlacementSpreadRule(r.pick("Preferred", "Required"))
		q.Rules.Spread = &spread
	}
	if r.IntN(3) == 0 {
		q.Rules.NodeSelector = map[string]string{"zone": r.pick("a", "b")}
	}
	if r.IntN(4) == 0 {
		q.Rules.CPUOvercommitPercent = new(int32(100 + r.IntN(400)))
	}
	term := byLabel("app", r.pick("web", "db", "cache"))
	term.Required = new(r.IntN(2) == 0)
	switch r.IntN(4) {
	case 0:
		q.Rules.AntiAffinity = terms(term)
	case 1:
		q.Rules.Affinity = terms(term)
	}
	return q
}

// occupant returns the occupant for the request once it is placed.
func (r Request) occupant(node string) Occupant {
	return Occupant{
		ID: r.ID, Namespace: r.Namespace, Labels: r.Labels, Rules: r.Rules,
		Node: node, Runs: r.Runs, CPUs: r.CPUs, Memory: r.Memory, Disks: r.Disks,
	}
}

func TestProperties(t *testing.T) {
	placed, refused := 0, 0
	for seed := range uint64(100) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		nodes, occupants, occupancy := r.nodes(), []Occupant(nil), OccupancyOf(nil)
		for i := range 60 {
			q := r.request(i)
			d, err := Place(q, nodes, occupancy)
			again, errAgain := Place(q, shuffled(r, nodes), OccupancyOf(shuffled(r, occupants)))
			if diff := cmp.Diff(d, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
				t.Fatalf("seed %d, request %d: another order gives another answer: %s%v %v", seed, i, diff, err, errAgain)
			}
			if err != nil {
				refused++
				continue
			}
			placed++
			occupants = append(occupants, q.occupant(d.Node))
			occupancy.Set(q.occupant(d.Node))
			if len(d.Others) != len(nodes)-1 {
				t.Fatalf("seed %d, request %d: %d of %d other nodes have a reason", seed, i, len(d.Others), len(nodes)-1)
			}
			n := nodes[slices.IndexFunc(nodes, func(n Node) bool { return n.Name == d.Node })]
			if broken := broken(q, n, occupants); broken != "" {
				t.Fatalf("seed %d, request %d on %s: %s", seed, i, d.Node, broken)
			}
		}
	}
	if placed < 1000 || refused < 1000 {
		t.Errorf("want many of both, got %d placed and %d refused", placed, refused)
	}
}

func shuffled[T any](r random, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// broken returns the limit or the rule that a VM breaks on its node. It uses only the result, and not the code that decides.
func broken(q Request, n Node, occupants []Occupant) string {
	var memory, cpus int64
	guests := 0
	disks := map[string]int64{}
	for _, o := range occupants {
		here := o.Node == n.Name
		if here {
			guests++
		}
		if here && (o.Runs || o.ID == q.ID) {
			memory, cpus = memory+o.Memory, cpus+int64(o.CPUs)
		}
		for _, d := range o.Disks {
			if here || d.Storage == "ceph" {
				disks[d.Storage] += d.Bytes
			}
		}
		if broken := brokenRule(q, o, n); broken != "" {
			return broken
		}
	}
	storage := n.Storages[q.Disks[0].Storage]
	switch {
	case n.Status != "online" || n.Cordoned:
		return "the node takes no VMs"
	case n.MaxVMs != nil && guests > *n.MaxVMs:
		return "too many VMs"
	case memory > n.Memory || n.UsedMemory+q.Memory > n.Memory:
		return "the memory is full"
	case q.Rules.CPUOvercommitPercent != nil && cpus*100 > int64(n.CPUs)*int64(*q.Rules.CPUOvercommitPercent):
		return "the CPUs are full"
	case !storage.Active || q.Disks[0].Bytes > 0 && outgrown(storage, disks[q.Disks[0].Storage]):
		return "the storage is full or away"
	case !slices.Contains(n.Bridges, q.Bridges[0]):
		return "the bridge is not there"
	case q.Rules.NodeSelector != nil && n.Labels["zone"] != q.Rules.NodeSelector["zone"]:
		return "the labels do not match"
	}
	return brokenAffinity(q, n, occupants)
}

// outgrown reports whether storages are too full. Thin ones may only be outgrown by their present content.
func outgrown(s Storage, disks int64) bool {
	if s.Thin {
		return s.Used >= s.Size || disks > s.Size
	}
	return s.Used+disks > s.Size
}

// brokenRule returns the broken rule between the VM and another one.
func brokenRule(q Request, o Occupant, n Node) string {
	if o.ID == q.ID || o.Namespace != q.Namespace || o.Node != n.Name {
		return ""
	}
	keepsAway := func(t v1alpha1.MachineAffinityTerm, labels map[string]string) bool {
		return *t.Required && t.MatchLabels["app"] == labels["app"]
	}
	for _, t := range q.Rules.AntiAffinity {
		if keepsAway(t, o.Labels) {
			return "its anti-affinity is broken"
		}
	}
	for _, t := range o.Rules.AntiAffinity {
		if keepsAway(t, q.Labels) {
			return "the anti-affinity of another is broken"
		}
	}
	strict := func(r v1alpha1.MachinePlacement) bool { return r.Group != nil && *r.Spread == v1alpha1.SpreadRequired }
	if q.Rules.Group != nil && o.Rules.Group != nil && *q.Rules.Group == *o.Rules.Group && (strict(q.Rules) || strict(o.Rules)) {
		return "its group is not spread"
	}
	return ""
}

func brokenAffinity(q Request, n Node, occupants []Occupant) string {
	for _, t := range q.Rules.Affinity {
		here, anywhere := false, false
		for _, o := range occupants {
			if o.ID != q.ID && o.Namespace == q.Namespace && o.Labels["app"] == t.MatchLabels["app"] {
				here, anywhere = here || o.Node == n.Name, true
			}
		}
		first := !anywhere && q.Labels["app"] == t.MatchLabels["app"]
		if *t.Required && !here && !first {
			return "its affinity is broken"
		}
	}
	return ""
}

// largeCluster returns 16 nodes of unequal size, and 500 Machines that fill half of them.
func largeCluster(r random) ([]Node, []Request) {
	var nodes []Node
	for i := range 16 {
		n := cluster()[0]
		n.Name, n.Memory, n.CPUs, n.MaxVMs = fmt.Sprintf("pve%02d", i), int64(64<<(i%4))*gib, 16<<(i%4), new(30<<(i%4))
		nodes = append(nodes, n)
	}
	var requests []Request
	for i := range 500 {
		requests = append(requests, Request{
			ID: fmt.Sprint(i), Runs: true, CPUs: 1 + r.IntN(4), Memory: int64(1+r.IntN(8)) * gib, Bridges: []string{"vmbr0"},
			Disks: []Disk{{Storage: "ceph", Content: "images", Bytes: gib}},
		})
	}
	return nodes, requests
}

func TestLargeCluster(t *testing.T) {
	for _, strategy := range []v1alpha1.PlacementStrategy{v1alpha1.PlacementBalanced, v1alpha1.PlacementPack, v1alpha1.PlacementSpread} {
		t.Run(string(strategy), func(t *testing.T) {
			nodes, requests := largeCluster(random{rand.New(rand.NewPCG(7, 7))})
			occupants := OccupancyOf(nil)
			for _, q := range requests {
				q.Rules.Strategy = &strategy
				d, err := Place(q, nodes, occupants)
				if err != nil {
					t.Fatalf("Machine %s: %v", q.ID, err)
				}
				occupants.Set(q.occupant(d.Node))
			}
			loads := occupants.loads("", nodes)
			var total, used int64
			for _, n := range nodes {
				total, used = total+n.Memory, used+loads[n.Name].memory
			}
			even := float64(used) / float64(total)
			for _, n := range nodes {
				l := loads[n.Name]
				if l.memory > n.Memory || l.guests > *n.MaxVMs {
					t.Errorf("node %s has %d MiB of %d and %d VMs of %d", n.Name, l.memory/mib, n.Memory/mib, l.guests, *n.MaxVMs)
				}
				share := float64(l.memory) / float64(n.Memory)
				if strategy == v1alpha1.PlacementBalanced && (share < even*0.9 || share > even*1.1) {
					t.Errorf("node %s has %.3f of its memory assigned, even would be %.3f", n.Name, share, even)
				}
			}
		})
	}
}

// TestOccupancy moves and changes Machines one after the other, and checks that the result is the same as if they had been so from the beginning.
func TestOccupancy(t *testing.T) {
	for seed := range uint64(20) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		nodes, all, changed := r.nodes(), map[string]Occupant{}, OccupancyOf(nil)
		for i := range 60 {
			o := r.request(i % 20).occupant(nodes[r.IntN(len(nodes))].Name)
			o.Coming = r.IntN(2) == 0
			all[o.ID] = o
			changed.Set(o)
		}
		anew := OccupancyOf(slices.Collect(maps.Values(all)))
		for i := range 40 {
			q := r.request(i)
			want, wantErr := Place(q, nodes, anew)
			got, err := Place(q, nodes, changed)
			if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("seed %d, request %d: -want, +got:\n%s%v %v", seed, i, diff, wantErr, err)
			}
		}
	}
}
