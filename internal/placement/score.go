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

// A candidate is a node that fits.
type candidate struct {
	node Node

	// tight is the thin storage that the disks may outgrow later. It counts more than any preference.
	tight string

	// penalty by the preferences of the user, which count more than the strategy.
	penalty int

	// unpreferred nodes are not among those that the provider configuration prefers. This counts more than the strategy.
	unpreferred bool

	// guests is the number of guests on the node, and share the part of its memory that would be assigned.
	guests int
	share  float64

	// middle is the mean of the shares before and after. Choosing the smallest keeps the shares of nodes of different sizes closest. Otherwise small
	// nodes, of which a VM fills a larger part, would lag behind.
	middle float64
}

func (p problem) candidate(n Node) candidate {
	l := p.loads[n.Name]
	assigned := float64(l.taken(n.UsedMemory) + l.memory - l.runningMemory)
	all := float64(max(n.Memory, 1)) // Nodes whose memory is not known come last, the emptiest first.
	return candidate{
		node: n, tight: p.tight(n), penalty: p.penalty(n.Name), guests: l.guests,
		unpreferred: len(p.Preferred) > 0 && !slices.Contains(p.Preferred, n.Name),
		share:       (assigned + float64(p.Memory)) / all, middle: (assigned + float64(p.Memory)/2) / all,
	}
}

func (p problem) strategy() v1alpha1.PlacementStrategy {
	if p.Rules.Strategy == nil {
		return v1alpha1.PlacementBalanced
	}
	return *p.Rules.Strategy
}

// compare compares two candidates: the result is less than zero if a is better. Equal candidates are ordered by name.
func (p problem) compare(a, b candidate) int {
	if a.tight != "" != (b.tight != "") {
		return cmp.Compare(len(a.tight), len(b.tight)) // One of them has no such storage.
	}
	if c := cmp.Compare(a.penalty, b.penalty); c != 0 {
		return c
	}
	if a.unpreferred != b.unpreferred {
		if b.unpreferred {
			return -1
		}
		return 1
	}
	switch p.strategy() {
	case v1alpha1.PlacementPack:
		return cmp.Compare(b.share, a.share)
	case v1alpha1.PlacementSpread:
		return cmp.Or(cmp.Compare(a.guests, b.guests), cmp.Compare(a.middle, b.middle))
	case v1alpha1.PlacementBalanced:
	}
	return cmp.Compare(a.middle, b.middle)
}

// explain describes the rank of a candidate.
func (p problem) explain(c candidate) string {
	s := fmt.Sprintf("%s: ", p.strategy())
	if c.tight != "" {
		s += c.tight + ", but it is thin; "
	}
	if c.penalty > 0 {
		s += fmt.Sprintf("%d times against a preference, ", c.penalty)
	}
	if c.unpreferred {
		s += "it is not among preferredNodes of the provider configuration, "
	}
	if p.strategy() == v1alpha1.PlacementSpread {
		return s + fmt.Sprintf("it has %d VMs", c.guests)
	}
	if c.node.Memory == 0 {
		return s + "its memory is not known"
	}
	return s + fmt.Sprintf("%.0f %% of its memory would be assigned", 100*c.share)
}
