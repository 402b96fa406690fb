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
	"slices"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpresource "github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestOccupants(t *testing.T) {
	const gib = int64(proxmox.GiB)
	web := map[string]string{"app": "web"}
	machine := func(change func(*namespaced.Machine)) object.Machine {
		m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "web", Labels: web, Annotations: map[string]string{
			meta.AnnotationKeyExternalName: "100", object.AnnotationNode: "pve2",
		}}}
		m.Spec.ForProvider.Memory = new(resource.MustParse("4Gi"))
		if change != nil {
			change(m)
		}
		return m
	}
	listed := proxmox.Guest{VMID: 100, Node: "pve1", Status: "running", MaxCPU: 2, MaxMemory: 8 * gib}
	with := func(change func(*proxmox.Guest)) []proxmox.Guest {
		g := listed
		change(&g)
		return []proxmox.Guest{g}
	}
	ours := placement.Occupant{ID: "web", Namespace: "team", Labels: web, Runs: true}
	at := func(node string, cpus int, memory int64) []placement.Occupant {
		o := ours
		o.Node, o.CPUs, o.Memory = node, cpus, memory
		return []placement.Occupant{o}
	}
	comes := func(node string, cpus int, memory int64) []placement.Occupant {
		o := at(node, cpus, memory)
		o[0].Coming = true
		return o
	}
	cases := map[string]struct {
		reason   string
		guests   []proxmox.Guest
		machines []object.Machine
		reserved map[string]placement.Occupant
		doubted  bool
		without  []string // UIDs of Machines that do not have the guests which they name.
		want     []placement.Occupant
	}{
		"Paused": {
			reason: "What nobody looks at takes no node by its annotations.",
			machines: []object.Machine{machine(func(m *namespaced.Machine) {
				m.Annotations[meta.AnnotationKeyReconciliationPaused] = "true"
			})},
			want: []placement.Occupant{},
		},
		"Refused": {
			reason: "What its tenant may not have takes none either.",
			machines: []object.Machine{machine(func(m *namespaced.Machine) {
				m.SetConditions(conditions.NotUpToDate(v1alpha1.ReasonTenantRefused, "no"))
			})},
			want: []placement.Occupant{},
		},
		"Twice": {
			reason: "A guest counts once, whoever names it.", guests: []proxmox.Guest{listed},
			machines: []object.Machine{machine(nil), machine(func(m *namespaced.Machine) {
				m.UID, m.Annotations[object.AnnotationTarget] = "second", "pve2"
				m.SetConditions(conditions.NotUpToDate(v1alpha1.ReasonTenantRefused, "no"))
			})},
			want: at("pve1", 2, 8*gib),
		},
		"DoubtedTarget": {
			reason: "Where tenants share a cluster no annotation moves a guest.", guests: []proxmox.Guest{listed}, doubted: true,
			machines: []object.Machine{machine(func(m *namespaced.Machine) { m.Annotations[object.AnnotationTarget] = "pve2" })},
			want:     at("pve1", 2, 8*gib),
		},
		"DoubtedPaused": {
			reason: "What nobody looks at starts nothing.", guests: with(func(g *proxmox.Guest) { g.Status = "stopped" }), doubted: true,
			machines: []object.Machine{machine(func(m *namespaced.Machine) {
				m.Annotations[meta.AnnotationKeyReconciliationPaused] = "true"
			})},
			want: func() []placement.Occupant { o := at("pve1", 2, 8*gib); o[0].Runs = false; return o }(),
		},
		"DoubtedNode": {
			reason: "There no annotation takes a node either.", doubted: true, machines: []object.Machine{machine(nil)}, want: []placement.Occupant{},
		},
		"DoubtedCopied": {
			reason: "There a clone counts where Proxmox VE lists it.", doubted: true, machines: []object.Machine{machine(nil)},
			guests: with(func(g *proxmox.Guest) { g.Lock = "clone" }), want: comes("pve1", 2, 8*gib),
		},
		"DoubtedBooked": {
			reason: "What was chosen just now counts there.", doubted: true, machines: []object.Machine{machine(nil)},
			reserved: map[string]placement.Occupant{"web": {Node: "pve3", CPUs: 4, Memory: gib}}, want: comes("pve3", 4, gib),
		},
		"Claimed": {
			reason: "A guest is no member of anything for a Machine that only names it.", guests: []proxmox.Guest{listed}, without: []string{"web"},
			machines: []object.Machine{machine(func(m *namespaced.Machine) {
				m.SetConditions(conditions.NotUpToDate(v1alpha1.ReasonTenantRefused, "no"))
			})},
			want: []placement.Occupant{{Node: "pve1", Runs: true, CPUs: 2, Memory: 8 * gib}}, doubted: true,
		},
		"ClaimedBefore": {
			reason: "Who has the guest keeps it from an older Machine that only names it.", guests: []proxmox.Guest{listed}, without: []string{"older"},
			machines: []object.Machine{machine(nil), machine(func(m *namespaced.Machine) { m.UID, m.CreationTimestamp = "older", metav1.Unix(-1, 0) })},
			want:     at("pve1", 2, 8*gib), doubted: true,
		},
		"ClaimedBooked": {
			reason: "What was chosen just now for a Machine counts where it goes, not where the guest is which it names.", guests: []proxmox.Guest{listed},
			machines: []object.Machine{machine(nil)}, without: []string{"web"}, doubted: true,
			reserved: map[string]placement.Occupant{"web": {Node: "pve3", CPUs: 4, Memory: gib}},
			want:     append(comes("pve3", 4, gib), placement.Occupant{Node: "pve1", Runs: true, CPUs: 2, Memory: 8 * gib}),
		},
		"Stranger": {
			reason: "A guest without a Machine counts.", guests: []proxmox.Guest{listed},
			want: []placement.Occupant{{Node: "pve1", Runs: true, CPUs: 2, Memory: 8 * gib}},
		},
		"Stopped": {
			reason: "What is stopped does not run.", guests: with(func(g *proxmox.Guest) { g.Status = "stopped" }),
			want: []placement.Occupant{{Node: "pve1", CPUs: 2, Memory: 8 * gib}},
		},
		"Template": {reason: "A template never runs, so it uses nothing.", guests: with(func(g *proxmox.Guest) { g.Template = true })},
		"Ours": {
			reason: "A Machine's VM is where it is, whatever was chosen once.", guests: []proxmox.Guest{listed},
			machines: []object.Machine{machine(nil)}, want: at("pve1", 2, 8*gib),
		},
		"OursStopped": {
			reason: "One that is about to start counts as running.", guests: with(func(g *proxmox.Guest) { g.Status = "stopped" }),
			machines: []object.Machine{machine(nil)}, want: comes("pve1", 2, 8*gib),
		},
		"NotListed": {
			reason: "A Machine counts before PVE shows its VM, also after a restart of the provider.", machines: []object.Machine{machine(nil)},
			want: comes("pve2", 1, 4*gib),
		},
		"Undecided": {
			reason:   "A Machine without a node does not count.",
			machines: []object.Machine{machine(func(m *namespaced.Machine) { delete(m.Annotations, object.AnnotationNode) })},
			want:     []placement.Occupant{},
		},
		"Deleted": {
			reason:   "One that is gone and deleted does not.",
			machines: []object.Machine{machine(func(m *namespaced.Machine) { m.DeletionTimestamp = new(metav1.Now()) })},
			want:     []placement.Occupant{},
		},
		"Booked": {
			reason: "What was chosen just now counts, whatever the annotation says.", machines: []object.Machine{machine(nil)},
			reserved: map[string]placement.Occupant{"web": {Node: "pve3", CPUs: 4, Memory: gib}}, want: comes("pve3", 4, gib),
		},
		"BeingCloned": {
			reason: "A clone that is being copied counts where it goes.", machines: []object.Machine{machine(nil)},
			guests: with(func(g *proxmox.Guest) { g.Lock = "clone" }), want: comes("pve2", 1, 4*gib),
		},
		"JustCreated": {
			reason: "PVE knows nothing of a VM in its first seconds.", machines: []object.Machine{machine(nil)},
			guests: with(func(g *proxmox.Guest) { g.Status, g.MaxMemory, g.MaxCPU = "unknown", 0, 0 }), want: comes("pve2", 1, 4*gib),
		},
		"OfTemplate": {
			reason: "What the spec leaves to the template is the template's.",
			guests: []proxmox.Guest{{VMID: 9000, Template: true, MaxCPU: 2, MaxMemory: 3 * gib}},
			machines: []object.Machine{machine(func(m *namespaced.Machine) {
				m.Spec.ForProvider.Memory, m.Annotations[object.AnnotationSource] = nil, "9000"
			})},
			want: comes("pve2", 2, 3*gib),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reserved := func(id string) (placement.Occupant, bool) { o, ok := tc.reserved[id]; return o, ok }
			annotationsCount := func(xpresource.Managed) bool { return !tc.doubted }
			has := func(mg xpresource.Managed, _ proxmox.Guest) bool {
				return !slices.Contains(tc.without, string(mg.GetUID()))
			}
			got := occupantsOf(View{Guests: tc.guests, AnnotationsCount: annotationsCount, GuestCounts: has}, tc.machines, reserved)
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
