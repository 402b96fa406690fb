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
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

const gib = 1 << 30

// cluster returns three nodes of 64, 32 and 32 GiB that are otherwise equal.
func cluster() []Node {
	nodes := []Node{{Name: "pve1", Memory: 64 * gib, CPUs: 16}, {Name: "pve2", Memory: 32 * gib, CPUs: 8}, {Name: "pve3", Memory: 32 * gib, CPUs: 8}}
	for i := range nodes {
		nodes[i].Status = "online"
		nodes[i].Bridges = []string{"vmbr0"}
		nodes[i].Storages = map[string]Storage{
			"local-lvm": {Active: true, Content: []string{"images"}, Size: 100 * gib},
			"ceph":      {Active: true, Shared: true, Content: []string{"images"}, Size: 1000 * gib},
			"iso":       {Active: true, Shared: true, Content: []string{"iso"}, Size: 10 * gib},
		}
	}
	return nodes
}

// A situation is the input of a case.
type situation struct {
	Request

	nodes     []Node
	occupants []Occupant
}

func (s *situation) node(name string) *Node {
	for i := range s.nodes {
		if s.nodes[i].Name == name {
			return &s.nodes[i]
		}
	}
	return nil
}

func (s *situation) storage(node, name string, change func(*Storage)) {
	v := s.node(node).Storages[name]
	change(&v)
	s.node(node).Storages[name] = v
}

func (s *situation) occupy(node string, gigabytes int64, change ...func(*Occupant)) {
	o := Occupant{Node: node, Memory: gigabytes * gib, CPUs: 1, Runs: true}
	for _, c := range change {
		c(&o)
	}
	s.occupants = append(s.occupants, o)
}

func machine(id string, labels map[string]string, rules v1alpha1.MachinePlacement) func(*Occupant) {
	return func(o *Occupant) { o.ID, o.Namespace, o.Labels, o.Rules = id, "team", labels, rules }
}

func quantity(s string) *resource.Quantity { q := resource.MustParse(s); return &q }

func byLabel(key, value string) v1alpha1.MachineAffinityTerm {
	return v1alpha1.MachineAffinityTerm{MatchLabels: map[string]string{key: value}}
}

func preferred(t v1alpha1.MachineAffinityTerm) []v1alpha1.MachineAffinityTerm {
	t.Required = new(false)
	return []v1alpha1.MachineAffinityTerm{t}
}

func terms(t ...v1alpha1.MachineAffinityTerm) []v1alpha1.MachineAffinityTerm { return t }

func inGroup(name string) v1alpha1.MachinePlacement {
	return v1alpha1.MachinePlacement{Group: new(name)}
}

type testCase struct {
	reason string
	change func(*situation)

	// node that is chosen, with parts of its reason and of those against the others, or the kind and the text of the error.
	node   string
	says   string
	others map[string]string
	kind   Kind
	err    string
}

func TestPlace(t *testing.T) {
	groups := map[string]map[string]testCase{
		"Strategies": strategyCases(), "Nodes": nodeCases(), "Named": namedCases(), "Resources": resourceCases(),
		"Storages": storageCases(), "Equipment": equipmentCases(), "Affinity": affinityCases(), "Groups": groupCases(), "Preferences": preferenceCases(),
	}
	n := 0
	for group, cases := range groups {
		n += len(cases)
		for name, tc := range cases {
			t.Run(group+"/"+name, tc.run)
		}
	}
	if n < 60 {
		t.Errorf("want at least 60 cases, got %d", n)
	}
}

func (tc testCase) run(t *testing.T) {
	s := situation{Request: Request{ID: "me", Namespace: "team", Runs: true, CPUs: 2, Memory: 4 * gib}, nodes: cluster()}
	if tc.change != nil {
		tc.change(&s)
	}
	d, err := Place(s.Request, s.nodes, OccupancyOf(s.occupants))
	if tc.err != "" {
		var no *NoFitError
		if !errors.As(err, &no) || no.Kind() != tc.kind || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s\nwant an error of kind %d with %q, got %v", tc.reason, tc.kind, tc.err, err)
		}
		return
	}
	if err != nil || d.Node != tc.node || !strings.Contains(d.Reason, tc.says) {
		t.Errorf("%s\nwant %s: %s\ngot  %s: %s\nerror %v", tc.reason, tc.node, tc.says, d.Node, d.Reason, err)
	}
	for _, o := range d.Others {
		if want := tc.others[o.Node]; !strings.Contains(o.Reason, want) {
			t.Errorf("%s\nwant against %s: %s\ngot %s", tc.reason, o.Node, want, o.Reason)
		}
		delete(tc.others, o.Node)
	}
	if len(tc.others) > 0 {
		t.Errorf("%s\nnothing is said against %v", tc.reason, tc.others)
	}
}

func strategyCases() map[string]testCase {
	pack, spread := v1alpha1.PlacementPack, v1alpha1.PlacementSpread
	return map[string]testCase{
		"BalancedByDefault": {
			reason: "The large node has the smallest share assigned.",
			node:   "pve1", says: "Balanced: 6 % of its memory would be assigned",
			others: map[string]string{"pve2": "fits less well: Balanced: 12 %", "pve3": "12 %"},
		},
		"BalancedCountsTheShare": {
			reason: "16 of 64 GiB are a larger share than 4 of 32.",
			change: func(s *situation) { s.occupy("pve1", 16); s.occupy("pve2", 4); s.occupy("pve3", 8) },
			node:   "pve2",
		},
		"BalancedCountsStopped": {
			reason: "What is stopped may be started: it weighs, although it does not fill.",
			change: func(s *situation) { s.occupy("pve1", 40, func(o *Occupant) { o.Runs = false }) },
			node:   "pve2",
		},
		"BalancedCountsUse": {
			reason: "Memory in use counts if it is more than what is assigned.",
			change: func(s *situation) { s.node("pve1").UsedMemory = 30 * gib }, node: "pve2",
		},
		"Ties": {
			reason: "Equal nodes are taken in the order of their names.",
			change: func(s *situation) { s.occupy("pve1", 30); s.nodes[1], s.nodes[2] = s.nodes[2], s.nodes[1] }, node: "pve2",
		},
		"Pack": {
			reason: "Pack fills up what is used already.", change: func(s *situation) { s.Rules.Strategy = &pack; s.occupy("pve3", 8) },
			node: "pve3", says: "Pack: 38 %",
		},
		"PackDoesNotOverflow": {
			reason: "What is full is not packed further.", change: func(s *situation) { s.Rules.Strategy = &pack; s.occupy("pve3", 28) },
			node: "pve2",
		},
		"Spread": {
			reason: "Spread counts VMs, not memory.",
			change: func(s *situation) { s.Rules.Strategy = &spread; s.occupy("pve1", 1); s.occupy("pve2", 20) }, node: "pve3",
			says: "Spread: it has 0 VMs",
		},
		"SpreadTie": {reason: "Among equally many VMs the share of memory decides.", change: func(s *situation) {
			s.Rules.Strategy = &spread
			s.occupy("pve1", 1)
			s.occupy("pve2", 20)
			s.occupy("pve3", 1)
		}, node: "pve1"},
		"UnknownMemory": {
			reason: "A node that hides its memory is the last choice.", change: func(s *situation) { s.node("pve1").Memory = 0 }, node: "pve2",
			others: map[string]string{"pve1": "its memory is not known"},
		},
		"OnlyUnknownMemory": {reason: "If all hide it, one is chosen nevertheless: the emptiest.", change: func(s *situation) {
			for i := range s.nodes {
				s.nodes[i].Memory = 0
			}
			s.occupy("pve1", 1)
		}, node: "pve2"},
	}
}

func nodeCases() map[string]testCase {
	return map[string]testCase{
		"Offline": {
			reason: "A node that is off gets nothing.", change: func(s *situation) { s.node("pve1").Status = "offline" }, node: "pve2",
			others: map[string]string{"pve1": "it is offline"},
		},
		"Unknown": {reason: "A node of which nothing is known gets nothing.", change: func(s *situation) { s.node("pve1").Status = "unknown" }, node: "pve2"},
		"AllOffline": {reason: "All nodes are named together.", change: func(s *situation) {
			for i := range s.nodes {
				s.nodes[i].Status = "offline"
			}
		}, kind: Down, err: "no node can take the VM: pve1, pve2, pve3: it is offline"},
		"NoNodes": {
			reason: "Without nodes there is no choice.", change: func(s *situation) { s.nodes = nil }, kind: Missing,
			err: "no node of the cluster is known",
		},
		"Listed": {
			reason: "Only those listed are candidates.", change: func(s *situation) { s.Rules.Nodes = []string{"pve3", "pve2"} }, node: "pve2",
			others: map[string]string{"pve1": "not among placement.nodes"},
		},
		"ListedUnknown": {
			reason: "A list of nodes that do not exist leaves none.", change: func(s *situation) { s.Rules.Nodes = []string{"pve9"} },
			kind: Excluded, err: "not among placement.nodes",
		},
		"Cordoned": {
			reason: "A node that is not schedulable gets nothing.", change: func(s *situation) { s.node("pve1").Cordoned = true }, node: "pve2",
			others: map[string]string{"pve1": "not schedulable"},
		},
		"Selected": {reason: "Labels select the nodes that are allowed.", change: func(s *situation) {
			s.Rules.NodeSelector = map[string]string{"zone": "b"}
			s.node("pve3").Labels = map[string]string{"zone": "b"}
			s.node("pve1").Labels = map[string]string{"zone": "a"}
		}, node: "pve3", others: map[string]string{"pve1": "lacks the label zone=b"}},
		"SelectedByAll": {reason: "All labels must be there.", change: func(s *situation) {
			s.Rules.NodeSelector = map[string]string{"zone": "b", "disk": "ssd"}
			s.node("pve3").Labels = map[string]string{"zone": "b"}
			s.node("pve2").Labels = map[string]string{"zone": "b", "disk": "ssd"}
		}, node: "pve2"},
		"EmptyLabel": {reason: "A label that is missing is not an empty one.", change: func(s *situation) {
			s.Rules.NodeSelector = map[string]string{"gpu": ""}
			s.node("pve3").Labels = map[string]string{"gpu": ""}
		}, node: "pve3"},
		"MaxVMs": {
			reason: "A ProxmoxNode limits the number of VMs.", change: func(s *situation) { s.node("pve1").MaxVMs = new(1); s.occupy("pve1", 1) },
			node: "pve2", others: map[string]string{"pve1": "1 VMs of maxVMs 1"},
		},
		"MaxVMsNotYet": {reason: "Below the limit there is room.", change: func(s *situation) { s.node("pve1").MaxVMs = new(2); s.occupy("pve1", 1) }, node: "pve1"},
		"MaxVMsZero":   {reason: "Zero means none at all.", change: func(s *situation) { s.node("pve1").MaxVMs = new(0) }, node: "pve2"},
		"MaxVMsStopped": {reason: "A VM that is stopped is one.", change: func(s *situation) {
			s.node("pve1").MaxVMs = new(1)
			s.occupy("pve1", 1, func(o *Occupant) { o.Runs = false })
		}, node: "pve2"},
		"MaxVMsPerNode": {
			reason: "The Machine may limit the VMs of its node.",
			change: func(s *situation) { s.Rules.MaxVMsPerNode = new(int32(1)); s.occupy("pve1", 1); s.occupy("pve2", 1) }, node: "pve3",
		},
		"MaxVMsReached": {reason: "The error has the numbers.", change: func(s *situation) {
			s.Rules.MaxVMsPerNode = new(int32(1))
			s.occupy("pve1", 1)
			s.occupy("pve2", 1)
			s.occupy("pve3", 1)
		}, kind: Resources, err: "insufficient resources on node pve2: 1 VMs of placement.maxVMsPerNode 1"},
		"OwnPlace": {reason: "A Machine does not stand in its own way.", change: func(s *situation) {
			s.node("pve1").MaxVMs = new(1)
			s.occupy("pve1", 60, machine("me", nil, v1alpha1.MachinePlacement{}))
		}, node: "pve1"},
		"Current": {
			reason: "What was chosen before stays while it fits.", change: func(s *situation) { s.Current = "pve3" }, node: "pve3",
			says: "chosen before", others: map[string]string{"pve1": "fits less well"},
		},
		"CurrentFull":    {reason: "What does not fit any more is left.", change: func(s *situation) { s.Current = "pve3"; s.occupy("pve3", 31) }, node: "pve1"},
		"CurrentOffline": {reason: "What is off is left.", change: func(s *situation) { s.Current = "pve3"; s.node("pve3").Status = "offline" }, node: "pve1"},
	}
}

func namedCases() map[string]testCase {
	named := func(change func(*situation)) func(*situation) {
		return func(s *situation) { s.Node, s.Why = "pve2", "the spec names it"; change(s) }
	}
	return map[string]testCase{
		"Chosen":   {reason: "The node that the spec names is taken.", change: named(func(*situation) {}), node: "pve2", says: "the spec names it"},
		"NotFound": {reason: "The node that the spec names must exist.", change: func(s *situation) { s.Node = "pve9" }, kind: Missing, err: "node 'pve9' not found"},
		"Offline": {
			reason: "The node that the spec names must be on.", change: named(func(s *situation) { s.node("pve2").Status = "offline" }), kind: Down,
			err: `node "pve2" is offline`,
		},
		"Cordoned": {
			reason: "Who names a node passes what keeps placement off it.", change: named(func(s *situation) { s.node("pve2").Cordoned = true }),
			node: "pve2",
		},
		"NotListed": {reason: "The rules of placement are for choosing.", change: named(func(s *situation) { s.Rules.Nodes = []string{"pve1"} }), node: "pve2"},
		"Full":      {reason: "Who names a node may overcommit it.", change: named(func(s *situation) { s.occupy("pve2", 31) }), node: "pve2"},
		"TooSmall": {
			reason: "What it could never run is refused.", change: named(func(s *situation) { s.Memory = 33 * gib }), kind: Resources,
			err: "insufficient resources on node pve2: memory 33792 MiB of 32768 MiB requested",
		},
		"TooManyCPUs": {
			reason: "PVE starts no VM with more CPUs than its node has.", change: named(func(s *situation) { s.CPUs = 9 }), kind: Resources,
			err: "insufficient resources on node pve2: 9 CPUs of 8 requested",
		},
		"StoppedCPUs": {reason: "A VM that stays off may have them.", change: named(func(s *situation) { s.CPUs, s.Runs = 9, false }), node: "pve2"},
		"MaxVMs": {
			reason: "A limit that an administrator set holds for everybody.", change: named(func(s *situation) { s.node("pve2").MaxVMs = new(0) }),
			kind: Resources, err: "insufficient resources on node pve2: 0 VMs of maxVMs 0",
		},
		"NoStorage": {
			reason: "The node that the spec names must have the storages.", change: named(func(s *situation) { s.Disks = []Disk{{Storage: "fast", Content: "images"}} }),
			kind: Missing, err: "storage 'fast' not found on node pve2",
		},
		"NoBridge": {
			reason: "The node that the spec names must have the bridges.", change: named(func(s *situation) { s.Bridges = []string{"vmbr7"} }), kind: Network,
			err: "bridge 'vmbr7' not found on node pve2",
		},
		"OtherCurrent": {
			reason: "The node that the spec names counts more than the one that was chosen before.",
			change: named(func(s *situation) { s.Current = "pve1" }), node: "pve2",
		},
	}
}

func resourceCases() map[string]testCase {
	return map[string]testCase{
		"Full": {
			reason: "What does not fit goes elsewhere, with the numbers.", change: func(s *situation) { s.occupy("pve1", 60) }, node: "pve2",
			others: map[string]string{"pve1": "memory 4096 MiB requested, 2048 MiB available"},
		},
		"AllFull": {reason: "No node is overfilled.", change: func(s *situation) {
			s.Memory = 30 * gib
			s.occupy("pve1", 40)
			s.occupy("pve2", 1)
			s.occupy("pve3", 1)
		}, kind: Resources, err: "insufficient resources on node pve1: memory 30720 MiB requested, 22528 MiB available"},
		"TooLarge": {
			reason: "What no node could ever hold says so.", change: func(s *situation) { s.Memory = 65 * gib }, kind: Resources,
			err: "insufficient resources on node pve1: memory 66560 MiB of 65536 MiB requested",
		},
		"ExactFit": {reason: "To the last byte, headroom kept.", change: func(s *situation) { s.occupy("pve1", 58) }, node: "pve2"},
		"LastByte": {reason: "To the last byte, headroom kept.", change: func(s *situation) { s.Rules.Nodes = []string{"pve1"}; s.occupy("pve1", 58) }, node: "pve1"},
		"Stopped": {reason: "What is stopped needs no memory now.", change: func(s *situation) {
			s.Rules.Nodes = []string{"pve1"}
			s.occupy("pve1", 64, func(o *Occupant) { o.Runs = false })
		}, node: "pve1"},
		"InUse": {
			reason: "Memory that is in use is not free, whoever uses it.",
			change: func(s *situation) { s.Rules.Nodes = []string{"pve1"}; s.node("pve1").UsedMemory = 60 * gib }, kind: Resources,
			err: "2048 MiB available",
		},
		"Coming": {reason: "What has just been placed comes on top of what is in use.", change: func(s *situation) {
			s.Rules.Nodes = []string{"pve1"}
			s.node("pve1").UsedMemory = 50 * gib
			s.occupy("pve1", 10, func(o *Occupant) { o.Coming = true })
		}, kind: Resources, err: "memory 4096 MiB requested, 2048 MiB available"},
		"ComingWeighs": {reason: "What has just been placed weighs on top of what is in use.", change: func(s *situation) {
			s.node("pve1").UsedMemory, s.node("pve2").UsedMemory, s.node("pve3").UsedMemory = 40*gib, 10*gib, 13*gib
			s.occupy("pve2", 4, func(o *Occupant) { o.Coming = true })
			s.occupy("pve1", 8, func(o *Occupant) { o.Coming = true })
		}, node: "pve3"},
		"MinFreeMemory": {
			reason: "The user may want more headroom.", change: func(s *situation) { s.Rules.MinFreeMemory = quantity("29Gi") }, node: "pve1",
			others: map[string]string{"pve2": "memory 4096 MiB requested, 3072 MiB available"},
		},
		"NoHeadroom": {reason: "The user may want no headroom.", change: func(s *situation) {
			s.Rules.Nodes = []string{"pve1"}
			s.Rules.MinFreeMemory = quantity("0")
			s.occupy("pve1", 60)
		}, node: "pve1"},
		"Overfull": {
			reason: "Less than nothing is nothing.", change: func(s *situation) { s.Rules.Nodes = []string{"pve1"}; s.occupy("pve1", 90) },
			kind: Resources, err: "4096 MiB requested, 0 MiB available",
		},
		"CPUsUnlimited": {
			reason: "CPUs are shared without a limit by default.",
			change: func(s *situation) { s.occupy("pve1", 1, func(o *Occupant) { o.CPUs = 160 }) }, node: "pve1",
		},
		"CPUOvercommit": {reason: "Unless the user limits that.", change: func(s *situation) {
			s.Rules.CPUOvercommitPercent = new(int32(200))
			s.occupy("pve1", 1, func(o *Occupant) { o.CPUs = 31 })
		}, node: "pve2", others: map[string]string{"pve1": "2 CPUs requested, 1 of 32 available"}},
		"CPUOvercommitFits": {reason: "Up to the limit.", change: func(s *situation) {
			s.Rules.CPUOvercommitPercent = new(int32(200))
			s.occupy("pve1", 1, func(o *Occupant) { o.CPUs = 30 })
		}, node: "pve1"},
		"CPUUndercommit": {
			reason: "The limit may be below what is there.", change: func(s *situation) { s.Rules.CPUOvercommitPercent = new(int32(20)) },
			node: "pve1", others: map[string]string{"pve2": "2 CPUs requested, 1 of 1 available"},
		},
		"MoreCPUsThanNode": {
			reason: "PVE starts no VM with more CPUs than its node has.", change: func(s *situation) { s.CPUs = 9; s.occupy("pve1", 40) },
			node: "pve1", others: map[string]string{"pve2": "9 CPUs of 8 requested"},
		},
	}
}

func storageCases() map[string]testCase {
	disk := func(name string, gigabytes int64) func(*situation) {
		return func(s *situation) {
			s.Disks = append(s.Disks, Disk{Storage: name, Content: "images", Bytes: gigabytes * gib})
		}
	}
	with := func(changes ...func(*situation)) func(*situation) {
		return func(s *situation) {
			for _, c := range changes {
				c(s)
			}
		}
	}
	used := func(node, name string, gigabytes int64) func(*situation) {
		return func(s *situation) { s.storage(node, name, func(v *Storage) { v.Used = gigabytes * gib }) }
	}
	pending := func(node, name string, gigabytes int64) func(*situation) {
		return func(s *situation) {
			s.occupy(node, 0, func(o *Occupant) { o.Disks = []Disk{{Storage: name, Bytes: gigabytes * gib}} })
		}
	}
	thin := func(node string) func(*situation) {
		return func(s *situation) { s.storage(node, "local-lvm", func(v *Storage) { v.Thin = true }) }
	}
	alone := func(s *situation) { s.nodes = s.nodes[:1] }
	return map[string]testCase{
		"Absent": {
			reason: "The storage must be on the node.",
			change: with(disk("local-lvm", 1), func(s *situation) { delete(s.node("pve1").Storages, "local-lvm") }), node: "pve2",
			others: map[string]string{"pve1": "storage 'local-lvm' not found"},
		},
		"Nowhere": {
			reason: "A storage that no node has is the same everywhere.", change: disk("fast", 1), kind: Missing,
			err: "no node can take the VM: pve1, pve2, pve3: storage 'fast' not found",
		},
		"WrongContent": {
			reason: "The storage must take what is put there.", change: disk("iso", 1), kind: Missing,
			err: "storage 'iso' does not take images: its content is iso",
		},
		"ISO": {
			reason: "An ISO needs its own content type, and no room.",
			change: func(s *situation) { s.Disks = []Disk{{Storage: "iso", Content: "iso"}}; used("pve1", "iso", 10)(s) }, node: "pve1",
		},
		"Inactive": {
			reason: "The storage must be available.",
			change: with(disk("local-lvm", 1), func(s *situation) { s.storage("pve1", "local-lvm", func(v *Storage) { v.Active = false }) }),
			node:   "pve2", others: map[string]string{"pve1": "storage 'local-lvm' is not available"},
		},
		"Fills": {
			reason: "A storage that has filled up sends new VMs elsewhere.", change: with(disk("local-lvm", 20), used("pve1", "local-lvm", 80)),
			node: "pve2", others: map[string]string{"pve1": "storage 'local-lvm': 20480 MiB requested, 15360 MiB available"},
		},
		"AllFull": {
			reason: "The error names storages and numbers.", change: with(disk("ceph", 2000)), kind: Resources,
			err: "insufficient resources on node pve1: storage 'ceph': 2048000 MiB requested",
		},
		"Together": {
			reason: "All disks on a storage count together.",
			change: with(disk("local-lvm", 50), disk("local-lvm", 50), used("pve2", "local-lvm", 1)), kind: Resources,
			err: "102400 MiB requested, 97280 MiB available",
		},
		"Apart": {reason: "Disks on two storages do not.", change: with(disk("local-lvm", 90), disk("ceph", 90)), node: "pve1"},
		"Pending": {
			reason: "Disks that are being made take room already.", change: with(disk("local-lvm", 50), pending("pve1", "local-lvm", 60)),
			node: "pve2",
		},
		"PendingLocal": {
			reason: "Disks that are being made on the local storage of another node take no room.",
			change: with(disk("local-lvm", 50), pending("pve2", "local-lvm", 60)),
			node:   "pve1", others: map[string]string{"pve2": "storage 'local-lvm'"},
		},
		"PendingShared": {
			reason: "On a shared storage they do for all nodes.", change: with(disk("ceph", 500), pending("pve2", "ceph", 600)), kind: Resources,
			err: "storage 'ceph': 512000 MiB requested, 399360 MiB available",
		},
		"MinFree": {
			reason: "The user may want more left free.",
			change: with(disk("local-lvm", 20), used("pve1", "local-lvm", 40), func(s *situation) { s.Rules.MinFreeStorage = quantity("50Gi") }),
			node:   "pve2",
		},
		"NoMinFree": {
			reason: "The user may want nothing left free.",
			change: with(disk("local-lvm", 100), func(s *situation) { s.Rules.MinFreeStorage = quantity("0") }), node: "pve1",
		},
		"ThinLast": {
			reason: "A thin storage that disks may outgrow is taken last, whatever is preferred.",
			change: with(disk("local-lvm", 20), used("pve1", "local-lvm", 80), thin("pve1"), func(s *situation) { s.occupy("pve2", 20); s.occupy("pve3", 20) }),
			node:   "pve2", others: map[string]string{"pve1": "storage 'local-lvm': 20480 MiB requested, 15360 MiB available, but it is thin"},
		},
		"ThinOnly": {
			reason: "A thin storage is taken if there is no other: PVE takes it as well.",
			change: with(disk("local-lvm", 20), used("pve1", "local-lvm", 80), thin("pve1"), alone), node: "pve1", says: "but it is thin",
		},
		"ThinFull": {
			reason: "One that is full by now is not.", change: with(disk("local-lvm", 20), used("pve1", "local-lvm", 95), thin("pve1"), alone),
			kind: Resources, err: "storage 'local-lvm': 20480 MiB requested, 0 MiB available",
		},
		"ThinTooSmall": {
			reason: "A thin storage that the disks outgrow by themselves is not taken.", change: with(disk("local-lvm", 96), thin("pve1"), alone), kind: Resources,
			err: "98304 MiB requested, 97280 MiB available",
		},
		"ThinPending": {
			reason: "A thin storage that the disks outgrow with those that are being made is not taken.",
			change: with(disk("local-lvm", 50), pending("pve1", "local-lvm", 60), thin("pve1"), alone), kind: Resources,
			err: "storage 'local-lvm': 51200 MiB requested, 35840 MiB available",
		},
		"ThinMinFree": {
			reason: "Whoever says what has to stay free means it.",
			change: with(disk("local-lvm", 20), used("pve1", "local-lvm", 80), thin("pve1"), alone, func(s *situation) { s.Rules.MinFreeStorage = quantity("1Gi") }),
			kind:   Resources, err: "20480 MiB requested, 19456 MiB available",
		},
		"UnknownSize": {
			reason: "A size that is hidden refuses nothing.",
			change: with(disk("local-lvm", 500), func(s *situation) { s.storage("pve3", "local-lvm", func(v *Storage) { v.Size = 0 }) }),
			node:   "pve3",
		},
	}
}

func equipmentCases() map[string]testCase {
	return map[string]testCase{
		"Bridge": {
			reason: "The bridge must be on the node.",
			change: func(s *situation) { s.Bridges = []string{"vnet1"}; s.node("pve3").Bridges = []string{"vmbr0", "vnet1"} }, node: "pve3",
			others: map[string]string{"pve1": "bridge 'vnet1' not found"},
		},
		"BridgeUnknown": {
			reason: "Where bridges are hidden nothing is refused.",
			change: func(s *situation) { s.Bridges = []string{"vnet1"}; s.node("pve2").Bridges = nil }, node: "pve2",
		},
		"NoBridges": {
			reason: "A node may have none.", change: func(s *situation) { s.Bridges = []string{"vmbr0"}; s.node("pve1").Bridges = []string{} },
			node: "pve2",
		},
		"BridgeNowhere": {
			reason: "The error is about the network.", change: func(s *situation) { s.Bridges = []string{"vmbr0", "vmbr9"} }, kind: Network,
			err: "pve1, pve2, pve3: bridge 'vmbr9' not found",
		},
		"Mapping": {reason: "A mapped device must be on the node.", change: func(s *situation) {
			s.Mappings = []string{"gpu"}
			for i := range s.nodes {
				s.nodes[i].Mappings = []string{}
			}
			s.node("pve2").Mappings = []string{"gpu"}
		}, node: "pve2", others: map[string]string{"pve1": "resource mapping 'gpu' has no device"}},
		"MappingUnknown": {reason: "Where mappings are hidden nothing is refused.", change: func(s *situation) { s.Mappings = []string{"gpu"} }, node: "pve1"},
		"Source": {
			reason: "The source must be within reach.",
			change: func(s *situation) { s.Source = &Source{Name: "template 'debian'", Nodes: []string{"pve3"}} }, node: "pve3",
			others: map[string]string{"pve1": "template 'debian' cannot be reached"},
		},
		"Lacks": {
			reason: "What else was found to be missing counts.", change: func(s *situation) { s.node("pve1").Lacks = "iso 'x' not found" },
			node: "pve2", others: map[string]string{"pve1": "iso 'x' not found"},
		},
		"SourceShared": {reason: "A shared source is everywhere.", change: func(s *situation) { s.Source = &Source{Name: "template 'debian'"} }, node: "pve1"},
		"SourceOffline": {reason: "All reasons are in the error.", change: func(s *situation) {
			s.Source = &Source{Name: "template 'debian'", Nodes: []string{"pve3"}}
			s.node("pve3").Status = "offline"
		}, kind: Missing, err: "pve1, pve2: template 'debian' cannot be reached; pve3: it is offline"},
		"ClosestIsShown": {reason: "What came closest is what the error is about.", change: func(s *situation) {
			s.Bridges = []string{"vmbr1"}
			s.node("pve3").Bridges = []string{"vmbr1"}
			s.occupy("pve3", 31)
			s.node("pve1").Status = "offline"
		}, kind: Resources, err: "pve1: it is offline; pve2: bridge 'vmbr1' not found; pve3: insufficient resources on node pve3: memory 4096 " +
			"MiB requested, 0 MiB available"},
	}
}

func affinityCases() map[string]testCase {
	none := v1alpha1.MachinePlacement{}
	web, db := map[string]string{"app": "web"}, map[string]string{"app": "db"}
	return map[string]testCase{
		"Together": {reason: "Affinity goes where the other is.", change: func(s *situation) {
			s.Rules.Affinity = terms(byLabel("app", "db"))
			s.occupy("pve3", 1, machine("a", db, none))
		}, node: "pve3", others: map[string]string{"pve1": "affinity requires (app=db)"}},
		"TogetherAll": {reason: "All terms must be met.", change: func(s *situation) {
			s.Rules.Affinity = terms(byLabel("app", "db"), byLabel("app", "web"))
			s.occupy("pve3", 1, machine("a", db, none))
			s.occupy("pve2", 1, machine("b", web, none))
		}, kind: Excluded, err: "no Machine is there that affinity requires"},
		"TogetherFirst": {
			reason: "The first of those that attract each other goes anywhere.",
			change: func(s *situation) { s.Labels = web; s.Rules.Affinity = terms(byLabel("app", "web")) }, node: "pve1",
		},
		"TogetherNone": {
			reason: "Nobody to be with is nowhere to go.",
			change: func(s *situation) { s.Labels = web; s.Rules.Affinity = terms(byLabel("app", "db")) }, kind: Excluded,
			err: "no Machine is there that affinity requires (app=db)",
		},
		"OtherNamespace": {reason: "Machines of other namespaces do not count.", change: func(s *situation) {
			s.Rules.Affinity = terms(byLabel("app", "db"))
			s.occupy("pve3", 1, machine("a", db, none), func(o *Occupant) { o.Namespace = "other" })
		}, kind: Excluded, err: "affinity requires"},
		"Stranger": {reason: "VMs that are no Machines do not count.", change: func(s *situation) {
			s.Rules.AntiAffinity = terms(v1alpha1.MachineAffinityTerm{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"web"},
			}}})
			s.occupy("pve1", 1)
		}, node: "pve1"},
		"Apart": {reason: "Anti-affinity keeps a Machine from a node.", change: func(s *situation) {
			s.Rules.AntiAffinity = terms(byLabel("app", "db"))
			s.occupy("pve1", 1, machine("a", db, none))
		}, node: "pve2", others: map[string]string{"pve1": "anti-affinity keeps away (app=db)"}},
		"ApartFull": {reason: "A required rule is never broken.", change: func(s *situation) {
			s.Rules.AntiAffinity = terms(byLabel("app", "db"))
			for i, n := range []string{"pve1", "pve2", "pve3"} {
				s.occupy(n, 1, machine(string(rune('a'+i)), db, none))
			}
		}, kind: Excluded, err: "pve1, pve2, pve3: a Machine is there that anti-affinity keeps away"},
		"ApartBothWays": {reason: "The anti-affinity of Machines that are there keeps others away.", change: func(s *situation) {
			s.Labels = web
			s.occupy("pve1", 1, machine("a", db, v1alpha1.MachinePlacement{AntiAffinity: terms(byLabel("app", "web"))}))
		}, node: "pve2", others: map[string]string{"pve1": "the anti-affinity of a Machine there"}},
		"ApartNotMine": {reason: "Unless it is about others.", change: func(s *situation) {
			s.Labels = web
			s.occupy("pve1", 1, machine("a", db, v1alpha1.MachinePlacement{AntiAffinity: terms(byLabel("app", "cache"))}))
		}, node: "pve1"},
		"ApartSoftBack": {reason: "An anti-affinity of those there that is a preference does not bind.", change: func(s *situation) {
			s.Labels = web
			s.occupy("pve1", 1, machine("a", db, v1alpha1.MachinePlacement{AntiAffinity: preferred(byLabel("app", "web"))}))
		}, node: "pve1"},
		"Expression": {reason: "Expressions match as in Kubernetes.", change: func(s *situation) {
			s.Rules.AntiAffinity = terms(v1alpha1.MachineAffinityTerm{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: "vm.type", Operator: metav1.LabelSelectorOpIn, Values: []string{"database"},
			}}})
			s.occupy("pve1", 1, machine("a", map[string]string{"vm.type": "database"}, none))
		}, node: "pve2"},
		"ByGroup": {reason: "A term may name a group.", change: func(s *situation) {
			s.Rules.Affinity = terms(v1alpha1.MachineAffinityTerm{Group: new("db")})
			s.occupy("pve3", 1, machine("a", nil, inGroup("db")))
		}, node: "pve3"},
		"ByGroupAndLabel": {reason: "Group and label must both match.", change: func(s *situation) {
			t := byLabel("app", "db")
			t.Group = new("db")
			s.Rules.Affinity = terms(t)
			s.occupy("pve3", 1, machine("a", nil, inGroup("db")))
			s.occupy("pve2", 1, machine("b", db, inGroup("db")))
		}, node: "pve2"},
	}
}

func groupCases() map[string]testCase {
	strict := inGroup("web")
	rule := v1alpha1.SpreadRequired
	strict.Spread = &rule
	on := func(s *situation, rules v1alpha1.MachinePlacement, nodes ...string) {
		for i, n := range nodes {
			s.occupy(n, 1, machine(string(rune('a'+i)), nil, rules))
		}
	}
	return map[string]testCase{
		"Spread": {
			reason: "A group is spread, although the strategy would not.",
			change: func(s *situation) { s.Rules = inGroup("web"); on(s, inGroup("web"), "pve1") }, node: "pve2",
			others: map[string]string{"pve1": "1 times against a preference"},
		},
		"SpreadFewest": {reason: "Once all nodes have one, that with the fewest is next.", change: func(s *situation) {
			s.Rules = inGroup("web")
			on(s, inGroup("web"), "pve1", "pve2", "pve3", "pve1", "pve2")
		}, node: "pve3"},
		"OtherGroup": {reason: "Other groups do not count.", change: func(s *situation) { s.Rules = inGroup("web"); on(s, inGroup("db"), "pve1") }, node: "pve1"},
		"Required": {
			reason: "A strict group has no two on one node.", change: func(s *situation) { s.Rules = strict; on(s, strict, "pve1") }, node: "pve2",
			others: map[string]string{"pve1": "a Machine of group web is there"},
		},
		"RequiredFull": {
			reason: "Not even if there is no other node.", change: func(s *situation) { s.Rules = strict; on(s, strict, "pve1", "pve2", "pve3") },
			kind: Excluded, err: "a Machine of group web is there",
		},
		"RequiredThere": {
			reason: "A strict Machine keeps the others of its group away.",
			change: func(s *situation) { s.Rules = inGroup("web"); on(s, strict, "pve1") }, node: "pve2",
		},
		"RequiredOthers": {
			reason: "A strict Machine does not keep those of other groups away.",
			change: func(s *situation) { s.Rules = inGroup("db"); on(s, strict, "pve1") }, node: "pve1",
		},
		"NoGroup": {reason: "Machines without a group are no group.", change: func(s *situation) { on(s, v1alpha1.MachinePlacement{}, "pve1") }, node: "pve1"},
	}
}

func preferenceCases() map[string]testCase {
	none := v1alpha1.MachinePlacement{}
	db := map[string]string{"app": "db"}
	return map[string]testCase{
		"Preferred": {
			reason: "A node that the configuration prefers comes before an emptier one.", change: func(s *situation) {
				s.Preferred = []string{"pve3", "gone"}
				s.occupy("pve3", 20)
			},
			node: "pve3", others: map[string]string{"pve1": "it is not among preferredNodes of the provider configuration"},
		},
		"PreferredAmong": {reason: "The strategy chooses among the preferred nodes.", change: func(s *situation) {
			s.Preferred = []string{"pve2", "pve3"}
			s.occupy("pve2", 10)
		}, node: "pve3"},
		"PreferredFull": {
			reason: "Another node is taken where no preferred one has room.", change: func(s *situation) {
				s.Preferred = []string{"pve3"}
				s.occupy("pve3", 31)
			},
			node: "pve1", says: "it is not among preferredNodes of the provider configuration",
		},
		"PreferredApart": {reason: "What the user prefers counts before what the configuration does.", change: func(s *situation) {
			s.Preferred = []string{"pve1"}
			s.Rules.AntiAffinity = preferred(byLabel("app", "db"))
			s.occupy("pve1", 1, machine("a", db, none))
		}, node: "pve2"},
		"PreferredElsewhere": {reason: "No preference makes a candidate of a node that the user leaves out.", change: func(s *situation) {
			s.Preferred = []string{"pve3"}
			s.Rules.Nodes = []string{"pve1", "pve2"}
		}, node: "pve1"},
		"Together": {reason: "A preference outweighs the strategy.", change: func(s *situation) {
			s.Rules.Affinity = preferred(byLabel("app", "db"))
			s.occupy("pve3", 20, machine("a", db, none))
		}, node: "pve3"},
		"TogetherFull": {reason: "A preference does not outweigh the room.", change: func(s *situation) {
			s.Rules.Affinity = preferred(byLabel("app", "db"))
			s.occupy("pve3", 31, machine("a", db, none))
		}, node: "pve1"},
		"TogetherNone": {
			reason: "Nobody to be with is no loss.", change: func(s *situation) { s.Rules.Affinity = preferred(byLabel("app", "db")) },
			node: "pve1", says: "Balanced: 6 %",
		},
		"Apart": {reason: "Nobody to be apart from is no loss.", change: func(s *situation) {
			s.Rules.AntiAffinity = preferred(byLabel("app", "db"))
			s.occupy("pve1", 1, machine("a", db, none))
		}, node: "pve2"},
		"ApartFull": {reason: "A wish to be apart is broken if there is no other way.", change: func(s *situation) {
			s.Rules.AntiAffinity = preferred(byLabel("app", "db"))
			s.Rules.Nodes = []string{"pve1"}
			s.occupy("pve1", 1, machine("a", db, none))
		}, node: "pve1", says: "1 times against a preference"},
		"ApartFewest": {reason: "A Machine shares a node with as few as possible.", change: func(s *situation) {
			s.Rules.AntiAffinity = preferred(byLabel("app", "db"))
			for i, n := range []string{"pve1", "pve1", "pve2", "pve3", "pve3"} {
				s.occupy(n, 1, machine(string(rune('a'+i)), db, none))
			}
		}, node: "pve2"},
	}
}
