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

// A problem is a request with the occupants of the nodes.
type problem struct {
	Request

	loads     map[string]load
	occupancy *Occupancy
}

// A load is the demand of the occupants of one node.
type load struct {
	guests int

	// Of all occupants.
	memory int64

	// Of running occupants.
	runningMemory int64
	runningCPUs   int

	// Of running occupants that the usage of the node does not include yet.
	comingMemory int64
}

// with returns the load with an occupant added a number of times.
func (l load) with(o Occupant, times int) load {
	l.guests += times
	l.memory += o.Memory * int64(times)
	if o.Runs {
		l.runningMemory += o.Memory * int64(times)
		l.runningCPUs += o.CPUs * times
	}
	if o.Runs && o.Coming {
		l.comingMemory += o.Memory * int64(times)
	}
	return l
}

// taken returns the memory of a node that is not available: what is assigned to running VMs, or what is in use if that is more.
func (l load) taken(used int64) int64 { return max(l.runningMemory, used+l.comingMemory) }
