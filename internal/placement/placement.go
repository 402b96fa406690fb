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

// Package placement chooses the node of a PVE cluster for a new VM, and gives the reasons. It makes no calls: all it needs is in its arguments. The
// same arguments in any order have the same result.
package placement

import (
	"cmp"
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Request is a VM that needs a node.
type Request struct {
	// ID of the Machine. Its own occupant does not count against it.
	ID string

	// Namespace of the Machines whose labels and groups count. Empty for cluster-scoped Machines.
	Namespace string

	// Labels of the Machine, which the rules of others may match.
	Labels map[string]string

	// Node that the user has named. Then only this node is considered, and only what prevents the VM from existing or running there is checked: no labels,
	// affinity or headroom. Why names the source of the choice, for messages.
	Node, Why string

	// NodesOf names the source of the candidates in the rules, for messages. Empty for placement.nodes.
	NodesOf string

	// Current node, from an earlier decision. It stays the result while it fits.
	Current string

	// Source of the VM; nil if it has none.
	Source *Source

	// Runs is true if the VM will be started.
	Runs bool

	// CPUs of the VM, and Memory in bytes.
	CPUs   int
	Memory int64

	// Disks that the VM needs room for, Bridges of its network cards, and Mappings of its host devices.
	Disks    []Disk
	Bridges  []string
	Mappings []string

	// Rules of the user.
	Rules v1alpha1.MachinePlacement

	// Preferred nodes come first if the preferences of the rules allow several. Empty means that all nodes are equal.
	Preferred []string
}

// A Source is what a VM is created from.
type Source struct {
	// Name of the source for messages, such as template 'debian'.
	Name string

	// Nodes that can use the source. Nil means all.
	Nodes []string
}

// A Disk needs room on a storage.
type Disk struct {
	// Storage of the disk, and the Content type that the storage must accept, such as images or iso.
	Storage, Content string

	// Bytes that the disk needs.
	Bytes int64
}

// A Node is a candidate.
type Node struct {
	// Name of the node.
	Name string

	// Status of the node in PVE: only nodes that are online are chosen.
	Status string

	// Labels of the node's ProxmoxNode.
	Labels map[string]string

	// Cordoned nodes get a VM only if it names the node.
	Cordoned bool

	// MaxVMs is the maximum number of VMs on the node. Nil means any number.
	MaxVMs *int

	// CPUs of the node in threads, its Memory and how much of it is in use, in bytes. Zero means unknown, and then nothing is rejected.
	CPUs               int
	Memory, UsedMemory int64

	// Storages of the node by their names.
	Storages map[string]Storage

	// Bridges and Mappings that exist on the node. Nil means unknown, and then nothing is rejected.
	Bridges, Mappings []string

	// Lacks names other things that the node lacks, in a few words.
	Lacks string
}

// A Storage is a storage as one node sees it.
type Storage struct {
	// Active is true if the node can use the storage now.
	Active bool

	// Shared storages are the same on all nodes.
	Shared bool

	// Thin storages accept more than they have room for: disks only use what is written to them.
	Thin bool

	// Content types that the storage accepts.
	Content []string

	// Size of the storage and what is Used of it, in bytes. A size of zero means
	// unknown.
	Size, Used int64
}

// An Occupant is a VM or container that is on a node or will be.
type Occupant struct {
	// ID, Namespace, Labels and Rules of the Machine, if the occupant is the VM of one.
	ID, Namespace string
	Labels        map[string]string
	Rules         v1alpha1.MachinePlacement

	// Node that the occupant is on or will be on.
	Node string

	// Runs is true if the occupant runs or will run.
	Runs bool

	// Coming is true if the usage of the node does not include the occupant yet.
	Coming bool

	// CPUs of the occupant, and Memory assigned to it in bytes.
	CPUs   int
	Memory int64

	// Disks that the usage of storages does not include yet.
	Disks []Disk
}

// A Decision is a node and the reasons for it.
type Decision struct {
	// Node that was chosen.
	Node string

	// Reason for the node, and against each of the Others, which are sorted by name.
	Reason string
	Others []Rejection
}

// Place chooses a node. The error is a *NoFitError if none fits.
func Place(r Request, nodes []Node, occupants *Occupancy) (Decision, error) {
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	p := problem{Request: r, loads: occupants.loads(r.ID, nodes), occupancy: occupants}
	checks := checksFor(r)
	var fits []candidate
	var out []Rejection
	for _, n := range nodes {
		if r.Node != "" && n.Name != r.Node {
			continue
		}
		if no, ok := p.check(n, checks); !ok {
			out = append(out, no)
			continue
		}
		fits = append(fits, p.candidate(n))
	}
	if len(fits) == 0 {
		return Decision{}, &NoFitError{Named: r.Node, Rejections: out}
	}
	return p.decide(fits, out), nil
}

// decide chooses the best of the nodes that fit.
func (p problem) decide(fits []candidate, out []Rejection) Decision {
	slices.SortStableFunc(fits, p.compare)
	best := fits[0]
	why := p.explain(best)
	if i := slices.IndexFunc(fits, func(c candidate) bool { return c.node.Name == p.Current }); i >= 0 {
		best, why = fits[i], "it was chosen before and still fits"
	}
	if p.Node != "" {
		why = p.Why
	}
	for _, c := range fits {
		if c.node.Name != best.node.Name {
			out = append(out, Rejection{Node: c.node.Name, Kind: Outdone, Reason: "fits less well: " + p.explain(c)})
		}
	}
	slices.SortFunc(out, func(a, b Rejection) int { return cmp.Compare(a.Node, b.Node) })
	return Decision{Node: best.node.Name, Reason: why, Others: out}
}
