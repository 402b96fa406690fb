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

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A drain moves Machines off a node, a few at a time.
type drain struct {
	// Node is the node to drain.
	Node string `json:"node"`
	// To are the nodes that its Machines move to: each time the one with the fewest selected Machines.
	To []string `json:"to"`
	// MaxMigrations is how many Machines may migrate at once. Default: 1.
	MaxMigrations *int `json:"maxMigrations,omitempty"`
}

// plan moves the next Machines, and closes the node for new ones if its ProxmoxNode is among those given.
func (d drain) plan(machines, nodes []object) plan {
	p := d.closed(nodes)
	held := map[string]int{}
	var next, moving []object
	for _, m := range machines {
		here, declared := m.observed("node"), m.declared("node")
		switch {
		case here == d.Node && declared != "" && declared != d.Node:
			moving = append(moving, m)
			held[declared]++
		case here == d.Node || (here == "" && declared == d.Node):
			next = append(next, m)
		default:
			held[here]++
		}
	}
	p.remaining = len(next) + len(moving)
	p.events = append(p.events, waiting(moving)...)
	for _, m := range next[:min(len(next), max(0, orOne(d.MaxMigrations)-len(moving)))] {
		to := d.fewest(held)
		held[to]++
		p.apply = append(p.apply, m.with(map[string]any{"node": to}))
		p.events = append(p.events, fmt.Sprintf("%s goes from %s to %s", m, d.Node, to))
	}
	return p
}

// closed prevents placement from choosing the drained node.
func (d drain) closed(nodes []object) plan {
	p := plan{}
	for _, n := range nodes {
		name := n.declared("nodeName")
		if name == "" {
			name = n.GetName()
		}
		if open, set, _ := unstructured.NestedBool(n.Object, "spec", "forProvider", "schedulable"); name == d.Node && (open || !set) {
			p.apply = append(p.apply, n.with(map[string]any{"schedulable": false}))
		}
	}
	return p
}

// fewest returns the first of the nodes with the fewest Machines.
func (d drain) fewest(held map[string]int) string {
	best := d.To[0]
	for _, node := range d.To {
		if held[node] < held[best] {
			best = node
		}
	}
	return best
}
