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

// An Occupancy has the occupants of the nodes of a cluster, including those that will be there: sums by node, and the Machines by their rules. With it,
// the time for a placement depends on the number of nodes and not on that of occupants. It is not safe for concurrent use.
type Occupancy struct {
	// nodes has the sums by node, and disks has what PVE does not show yet, by node and storage. An empty node stands for all nodes.
	nodes map[string]load
	disks map[place]int64

	machines   map[string]Occupant
	namespaces map[string]*peers
}

// A place is a storage of a node, or of all nodes.
type place struct{ node, storage string }

// peers has the Machines of one namespace by their IDs.
type peers struct {
	all map[string]bool

	// keepAway has the Machines with anti-affinity, and groups those in a group.
	keepAway map[string]bool
	groups   map[string]map[string]bool
}

// OccupancyOf returns the occupancy of occupants.
func OccupancyOf(all []Occupant) *Occupancy {
	o := &Occupancy{nodes: map[string]load{}, disks: map[place]int64{}, machines: map[string]Occupant{}, namespaces: map[string]*peers{}}
	for _, each := range all {
		o.Set(each)
	}
	return o
}

// Set adds an occupant, or replaces a Machine.
func (o *Occupancy) Set(next Occupant) {
	o.Remove(next.ID)
	o.count(next, 1)
	if next.ID == "" {
		return
	}
	o.machines[next.ID] = next
	if o.namespaces[next.Namespace] == nil {
		o.namespaces[next.Namespace] = &peers{all: map[string]bool{}, keepAway: map[string]bool{}, groups: map[string]map[string]bool{}}
	}
	o.namespaces[next.Namespace].add(next)
}

// Remove removes a Machine if it exists.
func (o *Occupancy) Remove(id string) {
	before, ok := o.machines[id]
	if !ok {
		return
	}
	o.count(before, -1)
	o.namespaces[before.Namespace].remove(before)
	delete(o.machines, id)
}

// count adds an occupant to the sums, or removes it.
func (o *Occupancy) count(each Occupant, times int) {
	o.nodes[each.Node] = o.nodes[each.Node].with(each, times)
	for _, d := range each.Disks {
		o.disks[place{node: each.Node, storage: d.Storage}] += d.Bytes * int64(times)
		o.disks[place{storage: d.Storage}] += d.Bytes * int64(times)
	}
}

func (p *peers) add(o Occupant) {
	p.all[o.ID] = true
	if len(o.Rules.AntiAffinity) > 0 {
		p.keepAway[o.ID] = true
	}
	if g := group(o.Rules); g != "" {
		if p.groups[g] == nil {
			p.groups[g] = map[string]bool{}
		}
		p.groups[g][o.ID] = true
	}
}

func (p *peers) remove(o Occupant) {
	delete(p.all, o.ID)
	delete(p.keepAway, o.ID)
	delete(p.groups[group(o.Rules)], o.ID)
}

// loads returns the sums of nodes without the Machine's own share.
func (o *Occupancy) loads(id string, nodes []Node) map[string]load {
	loads := make(map[string]load, len(nodes))
	for _, n := range nodes {
		loads[n.Name] = o.nodes[n.Name]
	}
	if self, ok := o.machines[id]; ok {
		if l, ok := loads[self.Node]; ok {
			loads[self.Node] = l.with(self, -1)
		}
	}
	return loads
}

// coming returns the bytes of disks that PVE does not show on a storage of a node yet, without those of the Machine itself.
func (o *Occupancy) coming(id string, n Node, storage string) int64 {
	at := place{node: n.Name, storage: storage}
	if n.Storages[storage].Shared {
		at.node = ""
	}
	bytes, self := o.disks[at], o.machines[id]
	for _, d := range self.Disks {
		if d.Storage == storage && (at.node == "" || at.node == self.Node) {
			bytes -= d.Bytes
		}
	}
	return bytes
}
