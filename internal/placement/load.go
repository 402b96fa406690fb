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

// A problem is a request with what is on the nodes.
type problem struct {
	Request

	loads     map[string]*load
	occupants []Occupant
}

// A load is what the occupants of one node need.
type load struct {
	guests int

	// Of all occupants.
	memory int64

	// Of those that run.
	runningMemory int64
	runningCPUs   int

	// Of those that run and do not show in what the node uses yet.
	comingMemory int64

	// disks that do not show in PVE yet, by storage.
	disks map[string]int64
}

// loadsOf returns the loads of the nodes, without what the requesting Machine itself occupies.
func loadsOf(r Request, nodes []Node, occupants []Occupant) map[string]*load {
	loads := make(map[string]*load, len(nodes))
	for _, n := range nodes {
		loads[n.Name] = &load{disks: map[string]int64{}}
	}
	for _, o := range occupants {
		if o.ID != "" && o.ID == r.ID {
			continue
		}
		if l := loads[o.Node]; l != nil {
			l.add(o)
		}
		for _, d := range o.Disks {
			for _, n := range nodes {
				if n.Name == o.Node || n.Storages[d.Storage].Shared {
					loads[n.Name].disks[d.Storage] += d.Bytes
				}
			}
		}
	}
	return loads
}

func (l *load) add(o Occupant) {
	l.guests++
	l.memory += o.Memory
	if o.Runs {
		l.runningMemory += o.Memory
		l.runningCPUs += o.CPUs
	}
	if o.Runs && o.Coming {
		l.comingMemory += o.Memory
	}
}

// taken returns the memory of a node that is not free for others: what is assigned to
// the VMs that run, or what is in use if that is more.
func (l *load) taken(used int64) int64 { return max(l.runningMemory, used+l.comingMemory) }
