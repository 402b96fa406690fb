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

package harules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/placement"
)

// Members are the Machines whose VMs an HA rule may name.
type Members struct {
	self   placement.Occupant
	nodes  []placement.Node
	others []placement.Occupant
	sids   map[string]string // by ID
}

// NewMembers returns the members for the rules of one VM.
func NewMembers(self placement.Occupant, vmid int, nodes []placement.Node) *Members {
	return &Members{self: self, nodes: nodes, sids: map[string]string{self.ID: SID(vmid)}}
}

// Add adds another Machine whose VM a rule may name.
func (m *Members) Add(o placement.Occupant, vmid int) {
	m.sids[o.ID] = SID(vmid)
	m.others = append(m.others, o)
}

// SetTargets sets the nodes and affinities that the placement of the VM requests. It returns the reasons why HA cannot have some of them.
func (m *Members) SetTargets(d *Desired) (rejections []string) {
	bonds := placement.Bonds(m.self, m.others)
	for _, b := range bonds {
		d.Affinities = append(d.Affinities, newAffinity(m.self.Namespace, b.Key, b.Apart, m.sidsOf(b)))
	}
	allowed, limited := placement.Allowed(m.self.Rules, m.nodes)
	switch {
	case !limited:
	case len(allowed) == 0:
		return []string{"no node of the cluster is one that placement.nodes and placement.nodeSelector allow: high availability has no node to keep the VM on"}
	default:
		d.Nodes, rejections = m.ownNodes(d.Managed, bonds, allowed)
	}
	return rejections
}

func (m *Members) sidsOf(b placement.Bond) []string {
	sids := make([]string, 0, len(b.Members))
	for _, o := range b.Members {
		sids = append(sids, m.sids[o.ID])
	}
	return sids
}

// ownNodes returns the nodes for the VM's own rule. For VMs that are kept together, PVE accepts only one such rule, which applies to all of them: the
// VM with the lowest ID has it.
func (m *Members) ownNodes(managed map[string]bool, bonds []placement.Bond, allowed []string) (own, rejections []string) {
	own = allowed
	for _, b := range bonds {
		for _, o := range b.Members {
			if b.Apart || o.ID == m.self.ID || !managed[m.sids[o.ID]] {
				continue
			}
			theirs, limited := placement.Allowed(o.Rules, m.nodes)
			switch {
			case limited && !slices.Equal(theirs, allowed):
				rejections = append(rejections, fmt.Sprintf("high availability keeps this VM together with %s, which may run on other nodes (%s, not %s): "+
					"give both the same placement.nodes and placement.nodeSelector", m.sids[o.ID], strings.Join(theirs, ", "), strings.Join(allowed, ", ")))
			case limited && o.ID < m.self.ID:
				own = nil
			}
		}
	}
	return own, rejections
}
