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
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A ruleMembers is the Machines whose VMs HA may have rules of, with what is needed to
// find those.
type ruleMembers struct {
	known  []placement.Node
	sids   map[string]string // by ID
	others []placement.Occupant
}

// add the Machines but one, noting the VMs of all.
func (c *ruleMembers) add(machines []Machine, guests []proxmox.Guest, self string, ours map[string]bool) {
	for _, o := range machines {
		vmid, err := strconv.Atoi(meta.GetExternalName(o))
		if err != nil || string(o.GetUID()) == self {
			continue
		}
		ours[sidOf(vmid)] = true
		proven := o.GetAnnotations()[AnnotationHARules] == meta.GetExternalName(o)
		if !proven || meta.WasDeleted(o) || !wantsRules(o.Parameters()) {
			continue
		}
		g, _ := guestOf(guests, vmid)
		c.sids[string(o.GetUID())] = sidOf(vmid)
		c.others = append(c.others, placement.Occupant{
			ID: string(o.GetUID()), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Rules: rulesOf(o), Node: g.Node,
		})
	}
}

// setTargets aims at the nodes and bonds of a Machine.
func (c *ruleMembers) setTargets(r *haRules, self placement.Occupant) {
	bonds := placement.Bonds(self, c.others)
	for _, b := range bonds {
		sids := make([]string, 0, len(b.Members))
		for _, o := range b.Members {
			sids = append(sids, c.sids[o.ID])
		}
		r.affinities = append(r.affinities, newAffinityRule(self.Namespace, b.Key, b.Apart, sids))
	}
	allowed, limited := placement.Allowed(self.Rules, c.known)
	switch {
	case !limited:
	case len(allowed) == 0:
		r.rejections = append(r.rejections, "no node of the cluster is one that placement.nodes and placement.nodeSelector allow: high availability cannot be told any")
	default:
		r.nodes = c.shareNodes(r, self, bonds, allowed)
	}
}

// shareNodes the rule about nodes with those that the VM is kept together with: of
// these PVE takes one such rule only, and it counts for all.
func (c *ruleMembers) shareNodes(r *haRules, self placement.Occupant, bonds []placement.Bond, allowed []string) []string {
	mine := allowed
	for _, b := range bonds {
		for _, o := range b.Members {
			if b.Apart || o.ID == self.ID || !r.managed[c.sids[o.ID]] {
				continue
			}
			theirs, limited := placement.Allowed(o.Rules, c.known)
			switch {
			case limited && !slices.Equal(theirs, allowed):
				r.rejections = append(r.rejections, fmt.Sprintf("high availability keeps this VM together with %s, which may run on other nodes (%s, not %s): "+
					"give both the same placement.nodes and placement.nodeSelector", c.sids[o.ID], strings.Join(theirs, ", "), strings.Join(allowed, ", ")))
			case limited && o.ID < self.ID:
				mine = nil
			}
		}
	}
	return mine
}
