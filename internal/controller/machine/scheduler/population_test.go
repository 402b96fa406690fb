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

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A cache lists Machines, and counts how many it has returned.
type cache struct {
	client.Reader

	all    []namespaced.Machine
	listed int
	err    error
}

func (c *cache) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*namespaced.MachineList); ok {
		list.Items = c.all
		c.listed += len(c.all)
	}
	return c.err
}

// A world has Machines in two clusters of the same node names, each of which has a VM.
type world struct {
	*Scheduler

	cache  cache
	guests []proxmox.Guest
	now    time.Time
}

const mib = int64(proxmox.MiB)

func newWorld(n int) *world {
	w := &world{now: time.Unix(1_800_000_000, 0)}
	w.Scheduler = newScheduler(func() time.Time { return w.now })
	for i := range n {
		m := namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: "team", UID: types.UID(fmt.Sprint(i)), Annotations: map[string]string{
			meta.AnnotationKeyExternalName: fmt.Sprint(100 + i),
		}}}
		w.cache.all = append(w.cache.all, m)
		w.guests = append(w.guests, proxmox.Guest{VMID: 100 + i, Node: fmt.Sprint("pve", i%3), Status: "running", MaxCPU: 1, MaxMemory: 1024 * mib})
	}
	w.AddMachines(&w.cache, &namespaced.MachineList{})
	return w
}

// shares distinguishes the Machines of one cluster from those of another, by their label.
func shares(label string) func(resource.Managed) bool {
	return func(mg resource.Managed) bool { return mg.GetLabels()["cluster"] == label }
}

// add adds a Machine without a VM.
func (w *world) add(name, cluster string) object.Machine {
	m := namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID(name), Labels: map[string]string{"cluster": cluster}}}
	w.cache.all = append(w.cache.all, m)
	return &w.cache.all[len(w.cache.all)-1]
}

func (w *world) view(cluster, storage string) View {
	return View{Guests: w.guests, Storage: storage, Shares: shares(cluster)}
}

// place places a Machine with the given memory in MiB, on three equal nodes.
func (w *world) place(m object.Machine, v View, decide DecideFunc, memory int64) (string, error) {
	var nodes []placement.Node
	for i := range 3 {
		nodes = append(nodes, placement.Node{Name: fmt.Sprint("pve", i), Status: "online", CPUs: 64, Memory: 8 << 40})
	}
	need := placement.Occupant{Runs: true, CPUs: 1, Memory: memory * mib}
	r := placement.Request{ID: string(m.GetUID()), Namespace: m.GetNamespace(), Runs: true, CPUs: 1, Memory: need.Memory}
	d, _, err := decide(context.Background(), v, m, need, func(o *placement.Occupancy) (placement.Decision, bool, error) {
		d, err := placement.Place(r, nodes, o)
		return d, err == nil, err
	})
	return d.Node, err
}

// TestDecideMany places many Machines among many. What is read for each does not grow with their number, and each is placed as if all had been read.
func TestDecideMany(t *testing.T) {
	const there, made = 1000, 300
	w := newWorld(there)
	for i := range made {
		w.add(fmt.Sprint("new", i), "")
	}
	for i := range made {
		m := object.Machine(&w.cache.all[there+i])
		all := make([]object.Machine, 0, len(w.cache.all))
		for k := range w.cache.all {
			all = append(all, &w.cache.all[k])
		}
		var got, want placement.Decision
		decide := func(o *placement.Occupancy) (d placement.Decision, final bool, err error) {
			r := placement.Request{ID: string(m.GetUID()), Namespace: "team", Runs: true, CPUs: 1, Memory: int64(1+i%5) * 512 * mib}
			nodes := []placement.Node{{Name: "pve0", Status: "online", Memory: 8 << 40}, {Name: "pve1", Status: "online", Memory: 4 << 40}}
			if i%50 == 0 { // The full computation is slow.
				if want, err = placement.Place(r, nodes, placement.OccupancyOf(occupantsOf(View{Guests: w.guests}, all, w.reservations.Of))); err != nil {
					return d, false, err
				}
			}
			got, err = placement.Place(r, nodes, o)
			return got, err == nil, err
		}
		need := placement.Occupant{Runs: true, CPUs: 1, Memory: int64(1+i%5) * 512 * mib}
		if _, _, err := w.Decide(t.Context(), w.view("", ""), m, need, decide); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" && i%50 == 0 {
			t.Fatalf("Machine %d: -want, +got:\n%s", i, diff)
		}
	}
	if w.cache.listed != there+made {
		t.Errorf("want each Machine to be looked at once for all %d, got %d", made, w.cache.listed)
	}
}

func TestPopulations(t *testing.T) {
	place := func(t *testing.T, w *world, m object.Machine, v View, decide DecideFunc, memory int64) string {
		t.Helper()
		node, err := w.place(m, v, decide, memory)
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	cases := map[string]struct {
		reason string
		do     func(w *world)
		view   func(w *world) View
		want   string // node of the next Machine
		lists  int
	}{
		"Same": {reason: "What was decided counts.", want: "pve1"},
		"Storage": {
			reason: "What was decided counts wherever others have their disks made.",
			view:   func(w *world) View { return w.view("", "ceph") }, want: "pve1", lists: 1,
		},
		"Listed": {
			reason: "What PVE lists again is looked at again.", want: "pve1", lists: 1,
			do: func(w *world) { w.guests = slices.Clone(w.guests) },
		},
		"Later": {reason: "After a while Machines may have changed.", do: func(w *world) { w.now = w.now.Add(populationAge) }, want: "pve1", lists: 1},
		"Released": {
			reason: "What is not made leaves room.", want: "pve0",
			do: func(w *world) { w.Release(&w.cache.all[3]); w.cache.all = slices.Delete(w.cache.all, 3, 4) },
		},
		"Elsewhere": {reason: "Another cluster has nodes of its own.", view: func(w *world) View {
			return View{Guests: slices.Clone(w.guests), Shares: shares("other")}
		}, want: "pve0", lists: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3)
			w.add("first", "")
			w.add("next", "")
			first, next := &w.cache.all[3], &w.cache.all[4]
			if node := place(t, w, first, w.view("", ""), w.Decide, 4096); node != "pve0" {
				t.Fatalf("want the first node, got %s", node)
			}
			v := w.view("", "")
			if tc.view != nil {
				v = tc.view(w)
				place(t, w, next, v, w.Evaluate, 512) // Both are there.
			}
			if tc.do != nil {
				tc.do(w)
				v = w.view("", "")
			}
			before := w.cache.listed
			if node := place(t, w, next, v, w.Evaluate, 512); node != tc.want {
				t.Errorf("%s Want %s, got %s", tc.reason, tc.want, node)
			}
			if again := w.cache.listed > before; tc.view == nil && again != (tc.lists > 0) {
				t.Errorf("%s Machines were looked at again: %t", tc.reason, again)
			}
		})
	}
}

// TestReservedLabels checks that the labels of a Machine count as they were when it was placed: its reconcile decodes answers of the API server into them.
func TestReservedLabels(t *testing.T) {
	w := newWorld(1)
	first := w.add("first", "")
	first.SetLabels(map[string]string{"cluster": "", "app": "db"})
	v := w.view("", "")
	node, err := w.place(first, v, w.Decide, 1)
	if err != nil {
		t.Fatal(err)
	}
	first.GetLabels()["app"] = "web"

	apart := v1alpha1.MachinePlacement{AntiAffinity: []v1alpha1.MachineAffinityTerm{{MatchLabels: map[string]string{"app": "db"}}}}
	r := placement.Request{ID: "second", Namespace: "team", Runs: true, CPUs: 1, Memory: mib, Rules: apart}
	nodes := []placement.Node{{Name: node, Status: "online", CPUs: 64, Memory: 8 << 40}}
	_, _, err = w.Evaluate(t.Context(), v, nil, placement.Occupant{}, func(o *placement.Occupancy) (placement.Decision, bool, error) {
		d, err := placement.Place(r, nodes, o)
		return d, err == nil, err
	})
	if err == nil {
		t.Errorf("want no place for another Machine beside the first one on %s", node)
	}
}

// TestDecidedAnew checks that a Machine counts where it was decided to go, not at its earlier target.
func TestDecidedAnew(t *testing.T) {
	w := newWorld(1)
	m := w.add("moved", "")
	m.SetAnnotations(map[string]string{object.AnnotationNode: "pve0", object.AnnotationTarget: "pve0"})
	v := w.view("", "")
	if _, _, err := w.Decide(t.Context(), v, m, placement.Occupant{Runs: true, Memory: mib}, func(*placement.Occupancy) (placement.Decision, bool, error) {
		return placement.Decision{Node: "pve2"}, true, nil
	}); err != nil {
		t.Fatal(err)
	}
	nodes := []placement.Node{{Name: "pve2", Status: "online", CPUs: 64, Memory: 2 * mib}}
	r := placement.Request{ID: "second", Namespace: "team", Runs: true, CPUs: 1, Memory: 2 * mib}
	_, _, err := w.Evaluate(t.Context(), v, nil, placement.Occupant{}, func(o *placement.Occupancy) (placement.Decision, bool, error) {
		d, err := placement.Place(r, nodes, o)
		return d, err == nil, err
	})
	if err == nil {
		t.Error("want no room on pve2, where the first one is decided to go")
	}
}

// TestEmptyClusters checks that clusters without guests are distinguished.
func TestEmptyClusters(t *testing.T) {
	w := newWorld(0)
	w.add("here", "a")
	w.add("there", "b")
	for i, cluster := range []string{"a", "b"} {
		if node, err := w.place(&w.cache.all[i], View{Shares: shares(cluster)}, w.Decide, 4096); err != nil || node != "pve0" {
			t.Errorf("cluster %s: want the first node, which nobody uses, got %q, %v", cluster, node, err)
		}
	}
	if node, err := w.place(w.add("next", "a"), View{Shares: shares("a")}, w.Decide, 4096); err != nil || node != "pve1" {
		t.Errorf("want the next node, got %q, %v", node, err)
	}
}

func TestDecideFails(t *testing.T) {
	w := newWorld(1)
	m := w.add("new", "")
	w.cache.err = errors.New("boom")
	if _, err := w.place(m, w.view("", ""), w.Decide, 1); err == nil {
		t.Error("want what keeps the Machines from being listed")
	}
	w.cache.err = nil
	for reason, choose := range map[string]Choice{
		"a choice that is not final": func(*placement.Occupancy) (placement.Decision, bool, error) {
			return placement.Decision{Node: "pve1"}, false, nil
		},
		"no choice": func(*placement.Occupancy) (placement.Decision, bool, error) {
			return placement.Decision{}, true, errors.New("boom")
		},
	} {
		_, _, _ = w.Decide(t.Context(), w.view("", ""), m, placement.Occupant{}, choose)
		if _, ok := w.reservations.Of("new"); ok {
			t.Errorf("%s reserves nothing", reason)
		}
	}
	if _, err := w.place(m, w.view("", ""), w.Evaluate, 1); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.reservations.Of("new"); ok {
		t.Error("An evaluation reserves nothing")
	}
}
