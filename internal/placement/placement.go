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

// Package placement decides which node of a PVE cluster a new VM goes to, and
// says why. It makes no calls: all it needs is in its arguments, and the same
// arguments in whatever order give the same answer.
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

	// Namespace that the Machines are in whose labels and groups count. Empty for
	// those of the cluster scope.
	Namespace string

	// Labels of the Machine, which the rules of others may match.
	Labels map[string]string

	// Node that the user has named. No other is considered then, and only what
	// keeps the VM from existing or running there is checked: neither labels nor
	// affinity nor headroom. Why is who named it, for messages.
	Node, Why string

	// NodesOf is where the candidates of the rules are from, for messages. Empty for
	// placement.nodes.
	NodesOf string

	// Current node, decided before. It stays the answer while it fits.
	Current string

	// Source of the VM, unless it has none.
	Source *Source

	// Runs reports whether the VM is to be started.
	Runs bool

	// CPUs of the VM, and Memory in bytes.
	CPUs   int
	Memory int64

	// Disks that the VM needs room for, Bridges that its NICs are plugged into,
	// and Mappings that its host devices are taken from.
	Disks    []Disk
	Bridges  []string
	Mappings []string

	// Rules of the user.
	Rules v1alpha1.MachinePlacement

	// Preferred nodes come before the others, where the preferences of the rules leave
	// the choice. Empty means that all nodes are alike.
	Preferred []string
}

// A Source is what a VM is made from.
type Source struct {
	// Name of the source for messages, such as template 'debian'.
	Name string

	// Nodes that can use the source. Nil means all.
	Nodes []string
}

// A Disk is room on a storage.
type Disk struct {
	// Storage that the disk is on, and the Content type that it must take, such
	// as images or iso.
	Storage, Content string

	// Bytes that the disk needs.
	Bytes int64
}

// A Node is one that may be chosen.
type Node struct {
	// Name of the node.
	Name string

	// Status of the node as PVE says it: only nodes that are online are chosen.
	Status string

	// Labels of the node's ProxmoxNode.
	Labels map[string]string

	// Cordoned nodes get a VM only if it names them.
	Cordoned bool

	// MaxVMs that the node may have. Nil means any number.
	MaxVMs *int

	// CPUs of the node in threads, its Memory and how much of it is in use now,
	// in bytes. Zero means unknown, and then nothing is refused.
	CPUs               int
	Memory, UsedMemory int64

	// Storages of the node by their names.
	Storages map[string]Storage

	// Bridges and Mappings that exist on the node. Nil means unknown, and then
	// nothing is refused.
	Bridges, Mappings []string

	// Lacks is what else was found to be missing on the node, in a few words.
	Lacks string
}

// A Storage as one node sees it.
type Storage struct {
	// Active reports whether the node can use the storage now.
	Active bool

	// Shared storages are the same on all nodes.
	Shared bool

	// Thin storages take more than they have room for: disks use what is written
	// to them only.
	Thin bool

	// Content types that the storage takes.
	Content []string

	// Size of the storage and what is Used of it, in bytes. A size of zero means
	// unknown.
	Size, Used int64
}

// An Occupant is a VM or container that is on a node or on its way there.
type Occupant struct {
	// ID, Namespace, Labels and Rules of the Machine, if the occupant is one's.
	ID, Namespace string
	Labels        map[string]string
	Rules         v1alpha1.MachinePlacement

	// Node that the occupant is on or goes to.
	Node string

	// Runs reports whether the occupant runs or is about to.
	Runs bool

	// Coming says that what the occupant is going to use does not show in what
	// its node uses yet.
	Coming bool

	// CPUs of the occupant, and Memory assigned to it in bytes.
	CPUs   int
	Memory int64

	// Disks that do not show in the use of storages yet.
	Disks []Disk
}

// A Decision is a node and the reasons for it.
type Decision struct {
	// Node that was chosen.
	Node string

	// Reason for the node, and against each of the Others, which are in the order
	// of their names.
	Reason string
	Others []Rejection
}

// Place chooses a node. The error is a *NoFitError if there is none.
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

// decide decides on the best of the nodes that fit.
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
