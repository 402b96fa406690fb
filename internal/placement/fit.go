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
	"cmp"
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// The default headroom: a twentieth, but no more than this many bytes.
const (
	headroomPart    = 20
	memoryHeadroom  = 2 << 30
	storageHeadroom = 10 << 30
)

const mib = 1 << 20

// A check returns the reason against a node, or the zero Rejection if there is none.
type check func(problem, Node) Rejection

func against(k Kind, format string, args ...any) Rejection {
	return Rejection{Kind: k, Reason: fmt.Sprintf(format, args...)}
}

// checksFor returns the checks for a request. Those whose result helps the user most come first.
func checksFor(r Request) []check {
	if r.Node != "" {
		return []check{online, source, storages, bridges, mappings, size, maxVMs}
	}
	return []check{
		listed, online, cordoned, selected, source, storages, bridges, mappings, lacks,
		size, maxVMs, memory, cpus, room, together, apart, spread,
	}
}

func (p problem) check(n Node, checks []check) (Rejection, bool) {
	for _, c := range checks {
		if r := c(p, n); r.Reason != "" {
			r.Node = n.Name
			return r, false
		}
	}
	return Rejection{}, true
}

func listed(p problem, n Node) Rejection {
	if len(p.Rules.Nodes) == 0 || slices.Contains(p.Rules.Nodes, n.Name) {
		return Rejection{}
	}
	return Rejection{Kind: Excluded, Reason: "not among " + cmp.Or(p.NodesOf, "placement.nodes")}
}

func online(_ problem, n Node) Rejection {
	if n.Status == "online" {
		return Rejection{}
	}
	return Rejection{Kind: Down, Reason: "it is " + n.Status}
}

func cordoned(_ problem, n Node) Rejection {
	if !n.Cordoned {
		return Rejection{}
	}
	return Rejection{Kind: Excluded, Reason: "its ProxmoxNode is not schedulable"}
}

func selected(p problem, n Node) Rejection {
	for _, k := range sortedKeys(p.Rules.NodeSelector) {
		if v, ok := n.Labels[k]; !ok || v != p.Rules.NodeSelector[k] {
			return against(Excluded, "its ProxmoxNode lacks the label %s=%s", k, p.Rules.NodeSelector[k])
		}
	}
	return Rejection{}
}

func source(p problem, n Node) Rejection {
	if p.Source == nil || p.Source.Nodes == nil || slices.Contains(p.Source.Nodes, n.Name) {
		return Rejection{}
	}
	return Rejection{Kind: Missing, Reason: p.Source.Name + " cannot be reached"}
}

func storages(p problem, n Node) Rejection {
	for _, d := range p.Disks {
		s, ok := n.Storages[d.Storage]
		switch {
		case !ok:
			return against(Missing, "storage '%s' not found", d.Storage)
		case !slices.Contains(s.Content, d.Content):
			return against(Missing, "storage '%s' does not take %s: its content is %s", d.Storage, d.Content, list(s.Content))
		case !s.Active:
			return against(Missing, "storage '%s' is not available", d.Storage)
		}
	}
	return Rejection{}
}

func bridges(p problem, n Node) Rejection {
	if b := absent(p.Bridges, n.Bridges); b != "" {
		r := against(Network, "bridge '%s' not found", b)
		r.Bridge = b
		return r
	}
	return Rejection{}
}

func mappings(p problem, n Node) Rejection {
	if m := absent(p.Mappings, n.Mappings); m != "" {
		return against(Missing, "resource mapping '%s' has no device", m)
	}
	return Rejection{}
}

func lacks(_ problem, n Node) Rejection { return Rejection{Kind: Missing, Reason: n.Lacks} }

// absent returns the first wanted value that does not exist, if the existing ones are known.
func absent(wanted, there []string) string {
	for _, w := range wanted {
		if there != nil && !slices.Contains(there, w) {
			return w
		}
	}
	return ""
}

// size rejects a VM that no node of this size could ever run.
func size(p problem, n Node) Rejection {
	switch {
	case n.Memory > 0 && p.Memory > n.Memory:
		return against(Resources, "memory %d MiB of %d MiB requested", p.Memory/mib, n.Memory/mib)
	case p.Runs && n.CPUs > 0 && p.CPUs > n.CPUs:
		return against(Resources, "%d CPUs of %d requested", p.CPUs, n.CPUs)
	}
	return Rejection{}
}

func maxVMs(p problem, n Node) Rejection {
	has := p.loads[n.Name].guests
	if n.MaxVMs != nil && has >= *n.MaxVMs {
		return against(Resources, "%d VMs of maxVMs %d", has, *n.MaxVMs)
	}
	if most := p.Rules.MaxVMsPerNode; p.Node == "" && most != nil && has >= int(*most) {
		return against(Resources, "%d VMs of placement.maxVMsPerNode %d", has, *most)
	}
	return Rejection{}
}

// memory rejects a node without room for the VM and the headroom. It considers the memory that is assigned to running guests, or the memory in use if
// that is more.
func memory(p problem, n Node) Rejection {
	if n.Memory == 0 {
		return Rejection{}
	}
	l := p.loads[n.Name]
	available := n.Memory - l.taken(n.UsedMemory) - memoryReserve(p.Rules, n.Memory)
	if p.Memory <= available {
		return Rejection{}
	}
	r := against(Resources, "memory %d MiB requested, %d MiB available", p.Memory/mib, max(available, 0)/mib)
	r.Memory, r.Available = p.Memory, max(available, 0)
	return r
}

func memoryReserve(r v1alpha1.MachinePlacement, total int64) int64 {
	if r.MinFreeMemory != nil {
		return r.MinFreeMemory.Value()
	}
	return min(total/headroomPart, memoryHeadroom)
}

func storageReserve(r v1alpha1.MachinePlacement, total int64) int64 {
	if r.MinFreeStorage != nil {
		return r.MinFreeStorage.Value()
	}
	return min(total/headroomPart, storageHeadroom)
}

func cpus(p problem, n Node) Rejection {
	if p.Rules.CPUOvercommitPercent == nil || n.CPUs == 0 {
		return Rejection{}
	}
	most := n.CPUs * int(*p.Rules.CPUOvercommitPercent) / 100
	available := most - p.loads[n.Name].runningCPUs
	if p.CPUs <= available {
		return Rejection{}
	}
	return against(Resources, "%d CPUs requested, %d of %d available", p.CPUs, max(available, 0), most)
}

// room checks the room on each storage for all disks of the VM together.
func room(p problem, n Node) Rejection {
	for _, d := range p.demands(n) {
		if !d.fits() && !d.fitsThinly(p.Rules) {
			return Rejection{Kind: Resources, Reason: d.String()}
		}
	}
	return Rejection{}
}

// tight returns the first storage that has room for the VM only because it is thin.
func (p problem) tight(n Node) string {
	for _, d := range p.demands(n) {
		if !d.fits() {
			return d.String()
		}
	}
	return ""
}

// A demand is the room that all disks of the VM need on one storage.
type demand struct {
	name  string
	thin  bool
	bytes int64

	// coming are disks of others that PVE does not show yet.
	coming int64

	// usable is the size of the storage without its headroom, and free is the unused part of that.
	usable, free int64
}

// demands returns the demands on the storages whose size is known, sorted by name.
func (p problem) demands(n Node) []demand {
	bytes := map[string]int64{}
	for _, d := range p.Disks {
		bytes[d.Storage] += d.Bytes
	}
	var all []demand
	for _, name := range sortedKeys(bytes) {
		s := n.Storages[name]
		if s.Size == 0 || bytes[name] == 0 {
			continue
		}
		usable := s.Size - storageReserve(p.Rules, s.Size)
		all = append(all, demand{
			name: name, thin: s.Thin, bytes: bytes[name], coming: p.occupancy.coming(p.ID, n, name), usable: usable, free: usable - s.Used,
		})
	}
	return all
}

func (d demand) fits() bool { return d.bytes <= d.free-d.coming }

// fitsThinly reports whether a thin storage accepts disks that may outgrow it later. It does not if the storage is full, if the disks alone are larger
// than it, or if the user sets how much has to stay free.
func (d demand) fitsThinly(r v1alpha1.MachinePlacement) bool {
	return d.thin && r.MinFreeStorage == nil && d.free > 0 && d.bytes+d.coming <= d.usable
}

// String returns the numbers of the demand.
func (d demand) String() string {
	return fmt.Sprintf("storage '%s': %d MiB requested, %d MiB available", d.name, d.bytes/mib, max(d.free-d.coming, 0)/mib)
}
