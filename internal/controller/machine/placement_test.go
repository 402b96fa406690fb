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
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const gib = int64(proxmox.GiB)

// fresh is a Machine whose creation was never attempted.
func fresh(m *namespaced.Machine) {
	for _, a := range []string{object.AnnotationNode, object.AnnotationDevices, meta.AnnotationKeyExternalCreatePending} {
		delete(m.Annotations, a)
	}
}

// schedulerOf returns a Scheduler of Machines and ProxmoxNodes.
func schedulerOf(t *testing.T, objects ...runtime.Object) *scheduler.Scheduler {
	t.Helper()
	s := runtime.NewScheme()
	if err := namespaced.SchemeBuilder.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	f := scheduler.New()
	kube := fake.NewClientBuilder().WithScheme(s).WithIndex(&namespaced.Machine{}, object.ClaimIndex, object.Claims).WithRuntimeObjects(objects...).Build()
	f.AddMachines(kube, &namespaced.MachineList{})
	f.Add(kube, &namespaced.ProxmoxNodeList{})
	f.Add(kube, &namespaced.ProxmoxClusterList{})
	return f
}

func proxmoxNode(name string, p v1alpha1.ProxmoxNodeParameters) *namespaced.ProxmoxNode {
	return &namespaced.ProxmoxNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: name, Labels: map[string]string{"zone": name}},
		Spec:       namespaced.ProxmoxNodeSpec{ForProvider: p},
	}
}

// TestDefaultNodes checks that the candidates of the configuration apply where a spec names none.
func TestDefaultNodes(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		off    bool
		node   string
		says   string
		err    string
	}{
		"Open": {reason: "A spec without a word of nodes.", node: "pve2", says: "not among defaultNodes of the provider configuration"},
		"Offline": {
			reason: "No other node stands in for a candidate that is offline: the VM waits.", off: true,
			err: "no node can take the VM: pve1: not among defaultNodes of the provider configuration; pve2: it is offline",
		},
		"Placement": {reason: "Other rules leave the candidates.", spec: placed(v1alpha1.MachinePlacement{Group: new("g")}), node: "pve2"},
		"Own":       {reason: "The candidates of the user.", spec: placed(v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}), node: "pve1", says: "placement.nodes"},
		"Named":     {reason: "The node of the user.", spec: v1alpha1.MachineParameters{Node: new("pve1")}, node: "pve1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				fresh(m)
				m.Spec.ForProvider.Node, m.Spec.ForProvider.Placement = tc.spec.Node, tc.spec.Placement
			})
			e := b.external()
			e.defaults.Nodes = []string{"pve2"}
			if tc.off {
				b.nodes[1].Status = "offline"
			}
			s := b.reconcileWith(t.Context(), e)
			a := b.m.GetAnnotations()
			if tc.err != "" {
				if s.err == nil || !strings.Contains(s.err.Error(), tc.err) || len(b.writes) > 0 {
					t.Errorf("\n%s\nwant the error %q and nothing written, got %v and %q", tc.reason, tc.err, s.err, b.writes)
				}
				return
			}
			if s.err != nil || a[object.AnnotationNode] != tc.node || !strings.Contains(a[object.AnnotationPlacement], tc.says) {
				t.Errorf("\n%s\nwant node %s with %q, got %s with %s, %v", tc.reason, tc.node, tc.says, a[object.AnnotationNode], a[object.AnnotationPlacement], s.err)
			}
		})
	}
}

// TestPreferredNodes checks that the preferred nodes of the configuration come first, and exclude no other node.
func TestPreferredNodes(t *testing.T) {
	cases := map[string]struct {
		reason    string
		placement *v1alpha1.MachinePlacement
		off       bool
		node      string
	}{
		"Open":    {reason: "A preferred node is chosen before an emptier one.", node: "pve2"},
		"Offline": {reason: "Another node stands in for a preferred one that is offline.", off: true, node: "pve1"},
		"Own":     {reason: "The candidates of the user leave out a preferred node.", placement: &v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}, node: "pve1"},
		"Rules":   {reason: "Rules that leave the choice take a preferred node.", placement: &v1alpha1.MachinePlacement{Group: new("g")}, node: "pve2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				fresh(m)
				m.Spec.ForProvider.Node, m.Spec.ForProvider.Placement = nil, tc.placement
			})
			e := b.external()
			e.defaults.Preferred = []string{"pve2"}
			if tc.off {
				b.nodes[1].Status = "offline"
			}
			s := b.reconcileWith(t.Context(), e)
			if node := b.m.GetAnnotations()[object.AnnotationNode]; s.err != nil || node != tc.node {
				t.Errorf("\n%s\nwant node %s, got %s, %v", tc.reason, tc.node, node, s.err)
			}
		})
	}
}

// placed returns a spec with rules of placement.
func placed(rules v1alpha1.MachinePlacement) v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{Placement: &rules}
}

func TestPlaceMachine(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*namespaced.Machine)
		setup  func(*bench)

		node      string
		target    string
		says      string // of the decision
		condition conditions.Aspect
		err       string
	}{
		"Free": {
			reason: "Without a word of the user the least used node is chosen, and why is kept.",
			node:   "pve1", says: `{"node":"pve1","reason":"Balanced: 2 % of its memory would be assigned","others":[{"node":"pve2",` +
				`"reason":"fits less well: Balanced: 4 % of its memory would be assigned"}]}`,
		},
		"Named": {
			reason: "A node that the spec names is taken.",
			change: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") },
			node:   "pve2", says: `{"node":"pve2","reason":"the spec names it"}`,
		},
		"Default": {
			reason: "The node of the provider configuration is taken for a spec that names none.",
			setup:  func(b *bench) { b.defaultNode = "pve2" },
			node:   "pve2", says: `{"node":"pve2","reason":"it is the provider config's default"}`,
		},
		"Rules": {
			reason: "The rules of the user count.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve2"}}
			},
			node: "pve2", says: "not among placement.nodes",
		},
		"Labels": {
			reason: "The labels of ProxmoxNodes count.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{NodeSelector: map[string]string{"zone": "pve2"}}
			},
			setup: func(b *bench) { b.scheduler = schedulerOf(t, proxmoxNode("pve2", v1alpha1.ProxmoxNodeParameters{})) },
			node:  "pve2",
		},
		"Cordoned": {
			reason: "What ProxmoxNodes say of themselves counts.",
			setup: func(b *bench) {
				b.scheduler = schedulerOf(t, proxmoxNode("first", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), Schedulable: new(false)}))
			},
			node: "pve2", says: "not schedulable",
		},
		"DeclaredLabels": {
			reason: "Labels that are declared for the node count more than the resource's own.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{NodeSelector: map[string]string{"zone": "b"}}
			},
			setup: func(b *bench) {
				b.scheduler = schedulerOf(t, proxmoxNode("pve2", v1alpha1.ProxmoxNodeParameters{Labels: map[string]string{"zone": "b"}}))
			},
			node: "pve2",
		},
		"ByCluster": {
			reason: "A ProxmoxNode that names its ProxmoxCluster is of that one's PVE cluster.",
			setup: func(b *bench) {
				c := &namespaced.ProxmoxCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "production"}}
				b.scheduler = schedulerOf(t, c, proxmoxNode("pve1", v1alpha1.ProxmoxNodeParameters{Cluster: new("production"), Schedulable: new(false)}))
				b.sharesCluster = func(mg resource.Managed) bool { return mg.GetName() == "production" }
			},
			node: "pve2",
		},
		"OfAnotherCluster": {
			reason: "ProxmoxNodes of other clusters do not.",
			setup: func(b *bench) {
				b.scheduler = schedulerOf(t, proxmoxNode("pve1", v1alpha1.ProxmoxNodeParameters{Schedulable: new(false)}))
				b.sharesCluster = func(resource.Managed) bool { return false }
			},
			node: "pve1",
		},
		"Unheard": {
			reason: "ProxmoxNodes of a team that may not have any do not count.",
			setup: func(b *bench) {
				b.scheduler = schedulerOf(t, proxmoxNode("pve1", v1alpha1.ProxmoxNodeParameters{Schedulable: new(false)}))
				b.specCounts = func(resource.Managed) bool { return false }
			},
			node: "pve1",
		},
		"MaxVMs": {
			reason: "Nobody passes a limit, not even who names the node.",
			change: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") },
			setup: func(b *bench) {
				b.scheduler = schedulerOf(t, proxmoxNode("pve2", v1alpha1.ProxmoxNodeParameters{MaxVMs: new(int32(0))}))
			},
			condition: conditions.Overcommitting, err: "insufficient resources on node pve2: 0 VMs of maxVMs 0",
		},
		"Full": {
			reason:    "Where nothing fits, it is said of each node.",
			change:    func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("63Gi") },
			condition: conditions.Overcommitting,
			err:       "no node can take the VM: pve1: insufficient resources on node pve1: memory 64512 MiB requested, 62464 MiB available; pve2: insufficient",
		},
		"Bridge": {
			reason: "A bridge that no node has is the network's fault.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr9")}}
			},
			condition: conditions.Networking, err: "pve1, pve2: bridge 'vmbr9' not found",
		},
		"BridgesHidden": {
			reason: "Who may not list bridges leaves it to PVE.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr9")}}
			},
			setup: func(b *bench) { b.errs["Bridges"] = refused(403, "Permission check failed") },
			node:  "pve1",
		},
		"Storage": {
			reason: "A storage that no node has is nowhere.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G"), Storage: new("fast")}}
			},
			condition: conditions.Allocating, err: "pve1, pve2: storage 'fast' not found",
		},
		"StorageFull": {
			reason: "A storage without room sends the VM elsewhere.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("20G")}}
			},
			setup: func(b *bench) { b.storages[0].MaxDisk, b.storages[0].Disk = 100*gib, 90*gib },
			node:  "pve2", says: "storage 'local-lvm': 20480 MiB requested, 5120 MiB available",
		},
		"MovedDisk": {
			reason: "A disk of a clone needs room where the spec has it moved to as well.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Template = template("debian")
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{Full: new(true)}
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "root", Storage: new("local-lvm")}}
			},
			setup: func(b *bench) {
				b.vms[9000] = templateVM()
				b.vms[9000].config = map[string]string{"name": "debian", "template": "1", "scsi0": "ceph:base-9000-disk-0,size=8G", "boot": "order=scsi0"}
				b.storages[0].MaxDisk, b.storages[0].Disk = 100*gib, 90*gib
			},
			node: "pve2", says: "storage 'local-lvm': 8192 MiB requested, 5120 MiB available",
		},
		"FirmwareStorage": {
			reason: "The drives of firmware need their storage on the node.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.TPM = &v1alpha1.MachineTPM{Storage: new("fast")}
			},
			setup: func(b *bench) {
				b.storages = append(b.storages, proxmox.Storage{Name: "fast", Node: "pve2", Content: []string{"images"}})
			},
			node: "pve2", says: "storage 'fast' not found",
		},
		"ThinStorage": {
			reason: "A thin storage takes what may outgrow it one day, if no node has one that cannot be outgrown.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("20G")}}
			},
			setup: func(b *bench) {
				b.storages[0].Type, b.storages[0].MaxDisk, b.storages[0].Disk = "lvmthin", 100*gib, 90*gib
				b.storages[1].Type, b.storages[1].MaxDisk, b.storages[1].Disk = "lvm", 100*gib, 90*gib
			},
			node: "pve1", says: "storage 'local-lvm': 20480 MiB requested, 5120 MiB available, but it is thin; 2 % of its memory",
		},
		"LocalTemplate": {
			reason: "A clone of a template on local storage is made where that is.",
			change: func(m *namespaced.Machine) { m.Spec.ForProvider.Template = template("debian") },
			setup:  func(b *bench) { b.vms[9000] = templateVM(); b.vms[9000].node = "pve2" },
			node:   "pve2", says: "the source (VM 9000 on node pve2) cannot be reached",
		},
		"LocalTemplateExcluded": {
			reason: "Not even that breaks a rule.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Template = template("debian")
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}
			},
			setup:     func(b *bench) { b.vms[9000] = templateVM(); b.vms[9000].node = "pve2" },
			condition: conditions.Allocating, err: "no node can take the VM: pve1: the source (VM 9000 on node pve2) cannot be reached; pve2: not among",
		},
		"MayMigrate": {
			reason: "A full clone of a template on local storage is made there, and goes where the rules lead.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Template, m.Spec.ForProvider.Clone = template("debian"), &v1alpha1.MachineClone{Full: new(true)}
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}
			},
			setup: func(b *bench) { b.vms[9000] = templateVM(); b.vms[9000].node = "pve2" },
			node:  "pve2", target: "pve1", says: `{"node":"pve1"`,
		},
		"RoamedBefore": {
			reason: "A VM that had gone where its rules lead is made on the node of its source again when it is gone.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Template, m.Spec.ForProvider.Clone = template("debian"), &v1alpha1.MachineClone{Full: new(true)}
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve1"}}
				m.Annotations[object.AnnotationNode] = "pve1"
				m.Annotations[meta.AnnotationKeyExternalCreatePending] = "2001-01-01T00:00:00Z"
			},
			setup: func(b *bench) { b.vms[9000] = templateVM(); b.vms[9000].node = "pve2" },
			node:  "pve2", target: "pve1", says: `{"node":"pve1"`,
		},
		"TravelledBefore": {
			reason: "A VM that had gone to the node of the spec is made on the node of its source again when it is gone.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Template, m.Spec.ForProvider.Clone = template("debian"), &v1alpha1.MachineClone{Full: new(true)}
				m.Spec.ForProvider.Node = new("pve1")
				m.Annotations[object.AnnotationNode] = "pve1"
				m.Annotations[meta.AnnotationKeyExternalCreatePending] = "2001-01-01T00:00:00Z"
			},
			setup: func(b *bench) { b.vms[9000] = templateVM(); b.vms[9000].node = "pve2" },
			node:  "pve2",
		},
		"StaysWithoutRules": {
			reason: "A VM without rules stays where its template is.",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Template, m.Spec.ForProvider.Clone = template("debian"), &v1alpha1.MachineClone{Full: new(true)}
			},
			setup: func(b *bench) { b.vms[9000] = templateVM(); b.vms[9000].node = "pve2" },
			node:  "pve2",
		},
		"Decided": {
			reason: "What was decided is not changed while a creation may be under way.",
			change: func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationNode] = "pve2"
				m.Annotations[meta.AnnotationKeyExternalCreatePending] = "2001-01-01T00:00:00Z"
			},
			node: "pve2",
		},
		"DecidedThenOffline": {
			reason: "Unless the node is gone.",
			change: func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationNode] = "pve2"
				m.Annotations[meta.AnnotationKeyExternalCreatePending] = "2001-01-01T00:00:00Z"
			},
			setup: func(b *bench) { b.nodes[1].Status = "offline" },
			node:  "pve1", says: "it is offline",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				fresh(m)
				if tc.change != nil {
					tc.change(m)
				}
			})
			if tc.setup != nil {
				tc.setup(b)
			}
			s := b.reconcile(t.Context())
			if tc.err != "" {
				var r conditions.ValidationError
				if !errors.As(s.err, &r) || r.Aspect != tc.condition || !strings.Contains(s.err.Error(), tc.err) {
					t.Errorf("\n%s\nwant %q for condition %d, got %v", tc.reason, tc.err, tc.condition, s.err)
				}
				return
			}
			a := b.m.GetAnnotations()
			if s.err != nil || a[object.AnnotationNode] != tc.node || a[object.AnnotationTarget] != tc.target ||
				!strings.Contains(a[object.AnnotationPlacement], tc.says) {
				t.Errorf("\n%s\nwant node %s with %q, got %s with %s, %v", tc.reason, tc.node, tc.says, a[object.AnnotationNode], a[object.AnnotationPlacement], s.err)
			}
		})
	}
}

// lines that are logged.
type lines struct {
	logging.Logger

	all *[]string
}

func (l lines) Info(msg string, args ...any) {
	*l.all = append(*l.all, fmt.Sprintln(append([]any{msg}, args...)...))
}

func TestLogsOfPlacement(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   []string
	}{
		"Resources": {
			reason: "What lacks on each node is logged with the numbers.",
			spec:   v1alpha1.MachineParameters{Memory: quantity("63Gi")},
			want: []string{
				"Insufficient resources node pve1 requested_memory 64512 available 62464\n",
				"Insufficient resources node pve2 requested_memory 64512 available 61440\n",
			},
		},
		"Bridge": {
			reason: "A bridge that is on no node is logged.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr9")}}},
			want:   []string{"Bridge not found bridge vmbr9 node pve1\n", "Bridge not found bridge vmbr9 node pve2\n"},
		},
		"NamedNode": {
			reason: "A bridge that is not on the node that the spec names is logged.",
			spec:   v1alpha1.MachineParameters{Node: new("pve2"), Networks: []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr9")}}},
			want:   []string{"Bridge not found bridge vmbr9 node pve2\n"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { fresh(m); m.Spec.ForProvider = tc.spec })
			var logged []string
			e := b.external()
			e.log = lines{Logger: e.log, all: &logged}
			if s := b.reconcileWith(t.Context(), e); s.err == nil {
				t.Error("want an error")
			}
			if diff := cmp.Diff(tc.want, logged); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHome(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   *string
		target string
		on     string
		acted  string

		moveTo string
		notes  map[string]string
	}{
		"None": {reason: "A VM without a place of its own is left where it is.", on: "a", acted: "a", notes: map[string]string{}},
		"Made": {reason: "A VM that was made elsewhere goes to its place.", target: "b", on: "a", acted: "a", moveTo: "b", notes: map[string]string{}},
		"Arrived": {
			reason: "A VM that has arrived at its place stays there.", target: "b", on: "b", acted: "a",
			notes: map[string]string{object.AnnotationNode: "b", object.AnnotationTarget: ""},
		},
		"MovedLater": {reason: "If it is moved later it is followed.", on: "a", acted: "b", notes: map[string]string{}},
		"MovedBefore": {
			reason: "A VM that is moved elsewhere on its way is followed.", target: "b", on: "c", acted: "a",
			notes: map[string]string{object.AnnotationTarget: ""},
		},
		"Named": {
			reason: "A node in the spec ends what placement wanted.", spec: new("c"), target: "b", on: "a", acted: "a", moveTo: "c",
			notes: map[string]string{object.AnnotationTarget: ""},
		},
		"NamedThere": {
			reason: "A node in the spec is kept once the VM is there.", spec: new("c"), on: "c", acted: "a",
			notes: map[string]string{object.AnnotationNode: "c"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desired{Policy: power.Policy{Desired: qemu.Desired{MachineParameters: &v1alpha1.MachineParameters{Node: tc.spec}}}, goesTo: tc.target}
			v := &vmstate.VM{Ref: proxmox.Ref{Node: tc.on}}
			j, _ := d.migration(v, tc.acted)
			if diff := cmp.Diff(tc.notes, d.nodeAnnotation(v, tc.acted)); diff != "" || j.Target != tc.moveTo {
				t.Errorf("\n%s\nwant a moveTo to %q, got %q\nnotes: -want, +got:\n%s", tc.reason, tc.moveTo, j.Target, diff)
			}
		})
	}
}

func TestKeptVMIDs(t *testing.T) {
	given := func(name, vmid, allocated string) *namespaced.Machine {
		return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name), Annotations: map[string]string{
			meta.AnnotationKeyExternalName: vmid, object.AnnotationAllocated: allocated,
		}}}
	}
	b := newBench(t, nil)
	b.scheduler = schedulerOf(t, given("given", "10000", "10000"), given("adopted", "10001", ""), given("new", "", ""))
	a, err := b.external().allocator().allocate(t.Context(), b.m)
	if err != nil || a[object.AnnotationAllocated] != "10001" {
		t.Fatalf("want the next VMID, got %v, %v", a, err)
	}
	if diff := cmp.Diff(map[string]int{"given": 10000}, b.reserved); diff != "" {
		t.Errorf("What other Machines were given is kept for them: -want, +got:\n%s", diff)
	}
}

// TestNoHerd creates Machines one after the other while PVE does not show any of them yet.
func TestNoHerd(t *testing.T) {
	var objects []runtime.Object
	var benches []*bench
	for i, id := range []string{"a", "b", "c", "d"} {
		b := newBench(t, func(m *namespaced.Machine) {
			fresh(m)
			m.Name, m.UID, m.Spec.ForProvider.Memory = id, types.UID(id), quantity("20Gi")
			vmid := strconv.Itoa(10_000 + i)
			m.Annotations[meta.AnnotationKeyExternalName], m.Annotations[object.AnnotationAllocated] = vmid, vmid
			m.Annotations[object.AnnotationUUID] = uuid.NewString()
		})
		benches, objects = append(benches, b), append(objects, b.m.DeepCopy())
	}
	f := schedulerOf(t, objects...)
	count := map[string]int{}
	for _, b := range benches {
		b.scheduler = f
		if s := b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
		count[b.m.GetAnnotations()[object.AnnotationNode]]++
	}
	if diff := cmp.Diff(map[string]int{"pve1": 2, "pve2": 2}, count); diff != "" {
		t.Errorf("Machines that are being created count at once: -want, +got:\n%s", diff)
	}
}

func TestWaiting(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) { fresh(m); m.Spec.ForProvider.Memory = quantity("63Gi") })
	if s := b.reconcile(t.Context()); s.err == nil {
		t.Fatal("want no place for the Machine")
	}
	calls := 0
	for _, name := range []string{"Guests", "FreshGuests", "Nodes", "Storages", "Config", "Bridges", "RecentTasks"} {
		b.on[name] = func() { calls++ }
	}
	if s := b.reconcile(t.Context()); s.err == nil || calls != 0 || !strings.Contains(s.err.Error(), "insufficient resources") {
		t.Errorf("A Machine that waits says why and costs no calls: got %v after %d calls", s.err, calls)
	}
	b.unschedulable.Retry(t.Context())
	if len(b.woken) != 0 {
		t.Error("A Machine is not woken while nothing has changed")
	}
	b.nodes[1].MaxMemory = 128 * gib
	b.unschedulable.Retry(t.Context())
	if len(b.woken) != 1 {
		t.Fatal("A Machine is woken when there is a place")
	}
	if s := b.reconcile(t.Context()); s.err != nil || b.m.GetAnnotations()[object.AnnotationNode] != "pve2" {
		t.Errorf("A Machine that was woken is created: got %v", s.err)
	}
}

func TestWaitingEnds(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*bench)
		held   bool
		woken  bool
	}{
		"Same":    {reason: "A Machine is held back while nothing has changed.", change: func(*bench) {}, held: true},
		"Spec":    {reason: "Another spec may have a place.", change: func(b *bench) { b.m.Generation++ }},
		"Labels":  {reason: "A Machine with other labels may have a place.", change: func(b *bench) { b.m.Labels = map[string]string{"a": "b"} }},
		"Deleted": {reason: "What is deleted needs none.", change: func(b *bench) { b.m.DeletionTimestamp = new(metav1.Now()) }},
		"Reasons": {reason: "Other reasons have to be shown.", change: func(b *bench) { b.nodes[0].Status = "offline" }, woken: true},
		"Error":   {reason: "An error has to be shown.", change: func(b *bench) { b.errs["Nodes"] = errors.New("boom") }, woken: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { fresh(m); m.Spec.ForProvider.Memory = quantity("63Gi") })
			b.reconcile(t.Context())
			tc.change(b)
			b.unschedulable.Retry(t.Context())
			if held := b.unschedulable.Reason(b.m) != nil; held != tc.held || (len(b.woken) > 0) != tc.woken {
				t.Errorf("\n%s\nwant held %t and woken %t, got %t and %d", tc.reason, tc.held, tc.woken, held, len(b.woken))
			}
		})
	}
}

// TestWaitingGone checks that a Machine that has no place has no finalizer either, and is deleted silently.
func TestWaitingGone(t *testing.T) {
	for name, again := range map[string]bool{"Deleted": false, "MadeAnew": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { fresh(m); m.Spec.ForProvider.Memory = quantity("63Gi") })
			b.reconcile(t.Context())
			if err := b.kube.Delete(t.Context(), b.m.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			if again {
				if err := b.kube.Create(t.Context(), &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{
					Namespace: b.m.Namespace, Name: b.m.Name, UID: "another",
				}}); err != nil {
					t.Fatal(err)
				}
			}
			b.unschedulable.Retry(t.Context())
			asked := 0
			b.on["Guests"] = func() { asked++ }
			if b.unschedulable.Retry(t.Context()); b.unschedulable.Len() != 0 || asked != 0 {
				t.Errorf("want nobody who waits and nothing asked, got %d and %d calls", b.unschedulable.Len(), asked)
			}
		})
	}
}

func template(name string) *intstr.IntOrString { return new(intstr.FromString(name)) }
