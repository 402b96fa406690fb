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
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// The headroom that is kept where the user does not say how much: a twentieth,
// but no more than this many bytes.
const (
	headroomPart    = 20
	memoryHeadroom  = 2 << 30
	storageHeadroom = 10 << 30
)

const mib = 1 << 20

// A check says what is wrong with a node, or nothing.
type check func(problem, Node) (Kind, string)

// checksFor a request, those first whose answer helps the user most.
func checksFor(r Request) []check {
	if r.Node != "" {
		return []check{online, source, storages, bridges, mappings, size, maxVMs}
	}
	return []check{
		listed, online, cordoned, selected, source, storages, bridges, mappings,
		size, maxVMs, memory, cpus, room, together, apart, spread,
	}
}

func (p problem) check(n Node, checks []check) *Rejection {
	for _, c := range checks {
		if kind, reason := c(p, n); reason != "" {
			return &Rejection{Node: n.Name, Kind: kind, Reason: reason}
		}
	}
	return nil
}

func listed(p problem, n Node) (Kind, string) {
	if len(p.Rules.Nodes) == 0 || slices.Contains(p.Rules.Nodes, n.Name) {
		return 0, ""
	}
	return Excluded, "not among placement.nodes"
}

func online(_ problem, n Node) (Kind, string) {
	if n.Status == "online" {
		return 0, ""
	}
	return Down, "it is " + n.Status
}

func cordoned(_ problem, n Node) (Kind, string) {
	if !n.Cordoned {
		return 0, ""
	}
	return Excluded, "its ProxmoxNode is not schedulable"
}

func selected(p problem, n Node) (Kind, string) {
	for _, k := range sortedKeys(p.Rules.NodeSelector) {
		if v, ok := n.Labels[k]; !ok || v != p.Rules.NodeSelector[k] {
			return Excluded, fmt.Sprintf("its ProxmoxNode lacks the label %s=%s", k, p.Rules.NodeSelector[k])
		}
	}
	return 0, ""
}

func source(p problem, n Node) (Kind, string) {
	if p.Source == nil || p.Source.Nodes == nil || slices.Contains(p.Source.Nodes, n.Name) {
		return 0, ""
	}
	return Missing, p.Source.Name + " cannot be reached"
}

func storages(p problem, n Node) (Kind, string) {
	for _, d := range p.Disks {
		s, ok := n.Storages[d.Storage]
		switch {
		case !ok:
			return Missing, fmt.Sprintf("storage '%s' not found", d.Storage)
		case !slices.Contains(s.Content, d.Content):
			return Missing, fmt.Sprintf("storage '%s' does not take %s: its content is %s", d.Storage, d.Content, list(s.Content))
		case !s.Active:
			return Missing, fmt.Sprintf("storage '%s' is not available", d.Storage)
		}
	}
	return 0, ""
}

func bridges(p problem, n Node) (Kind, string) {
	if b := absent(p.Bridges, n.Bridges); b != "" {
		return Network, fmt.Sprintf("bridge '%s' not found", b)
	}
	return 0, ""
}

func mappings(p problem, n Node) (Kind, string) {
	if m := absent(p.Mappings, n.Mappings); m != "" {
		return Missing, fmt.Sprintf("resource mapping '%s' has no device", m)
	}
	return 0, ""
}

// absent is the first that is wanted and not there, if it is known what is.
func absent(wanted, there []string) string {
	for _, w := range wanted {
		if there != nil && !slices.Contains(there, w) {
			return w
		}
	}
	return ""
}

// size refuses what no node of this size could ever run.
func size(p problem, n Node) (Kind, string) {
	switch {
	case n.Memory > 0 && p.Memory > n.Memory:
		return Resources, fmt.Sprintf("memory %d MiB of %d MiB requested", p.Memory/mib, n.Memory/mib)
	case p.Runs && n.CPUs > 0 && p.CPUs > n.CPUs:
		return Resources, fmt.Sprintf("%d CPUs of %d requested", p.CPUs, n.CPUs)
	}
	return 0, ""
}

func maxVMs(p problem, n Node) (Kind, string) {
	has := p.loads[n.Name].guests
	if n.MaxVMs != nil && has >= *n.MaxVMs {
		return Resources, fmt.Sprintf("%d VMs of maxVMs %d", has, *n.MaxVMs)
	}
	if most := p.Rules.MaxVMsPerNode; p.Node == "" && most != nil && has >= int(*most) {
		return Resources, fmt.Sprintf("%d VMs of placement.maxVMsPerNode %d", has, *most)
	}
	return 0, ""
}

// memory that is assigned to what runs, or in use if that is more, must leave
// room for the VM and for the headroom.
func memory(p problem, n Node) (Kind, string) {
	if n.Memory == 0 {
		return 0, ""
	}
	l := p.loads[n.Name]
	available := n.Memory - max(l.runningMemory, n.UsedMemory) - memoryReserve(p.Rules, n.Memory)
	if p.Memory <= available {
		return 0, ""
	}
	return Resources, fmt.Sprintf("memory %d MiB requested, %d MiB available", p.Memory/mib, max(available, 0)/mib)
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

func cpus(p problem, n Node) (Kind, string) {
	if p.Rules.CPUOvercommitPercent == nil || n.CPUs == 0 {
		return 0, ""
	}
	most := n.CPUs * int(*p.Rules.CPUOvercommitPercent) / 100
	available := most - p.loads[n.Name].runningCPUs
	if p.CPUs <= available {
		return 0, ""
	}
	return Resources, fmt.Sprintf("%d CPUs requested, %d of %d available", p.CPUs, max(available, 0), most)
}

// room on each storage for all disks of the VM together.
func room(p problem, n Node) (Kind, string) {
	needs := map[string]int64{}
	for _, d := range p.Disks {
		needs[d.Storage] += d.Bytes
	}
	for _, name := range sortedKeys(needs) {
		s := n.Storages[name]
		if s.Size == 0 || needs[name] == 0 {
			continue
		}
		available := s.Size - s.Used - p.loads[n.Name].disks[name] - storageReserve(p.Rules, s.Size)
		if needs[name] > available {
			return Resources, fmt.Sprintf("storage '%s': %d MiB requested, %d MiB available", name, needs[name]/mib, max(available, 0)/mib)
		}
	}
	return 0, ""
}
