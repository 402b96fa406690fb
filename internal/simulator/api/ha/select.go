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

package ha

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// selectNode returns the node for a resource, or nothing if there is none (PVE::HA::Manager::select_service_node). The preference is "none" to keep the
// current node if it is allowed, "try-next" after a failure, or "best-score".
func selectNode(st *state.State, sid, preference string) string {
	s := st.HAManager.Services[sid]
	allowed, best := affine(st, sid)
	if len(best) == 0 {
		return ""
	}
	with, apart := neighbours(st, sid)
	if preference == "none" && st.HA[sid].Options["failback"] == "0" && allowed[s.Node] && !apart[s.Node] {
		return s.Node
	}
	if preference == "try-next" {
		for _, node := range s.Failed {
			delete(best, node)
		}
	}
	for node := range apart {
		delete(best, node)
	}
	keepTogether(with, best)
	if preference == "none" && best[s.Node] {
		return s.Node
	}
	load, out := loads(st), ""
	for _, node := range slices.Sorted(maps.Keys(best)) {
		if out == "" || load[node] < load[out] {
			out = node
		}
	}
	return out
}

// affine returns the online nodes that are allowed for a resource, and those of them that it prefers.
func affine(st *state.State, sid string) (allowed, best map[string]bool) {
	prefer, strict := haPreference(st, sid)
	allowed, best = map[string]bool{}, map[string]bool{}
	top := -1
	for name := range st.Nodes {
		priority, named := prefer[name]
		if !isOnline(st, name) || strict && !named && len(prefer) > 0 {
			continue
		}
		allowed[name] = true
		if named {
			top = max(top, priority)
		}
	}
	for name := range allowed {
		if priority, named := prefer[name]; top < 0 || named && priority == top {
			best[name] = true
		}
	}
	return allowed, best
}

// relatives returns the resources with which a resource must be together, and those from which it must be apart.
func relatives(st *state.State, sid string) (together, apart []string) {
	for _, id := range slices.Sorted(maps.Keys(st.HARules)) {
		r := st.HARules[id]
		list := schema.SplitList(r["resources"])
		if r["type"] != "resource-affinity" || r["disable"] == "1" || !slices.Contains(list, sid) {
			continue
		}
		list = slices.DeleteFunc(list, func(other string) bool { return other == sid })
		if r["affinity"] == "negative" {
			apart = append(apart, list...)
			continue
		}
		together = append(together, list...)
	}
	slices.Sort(together)
	slices.Sort(apart)
	return slices.Compact(together), slices.Compact(apart)
}

// neighbours returns, for each node, the number of resources with which a resource must be together, and the nodes of the resources from which it must be
// apart.
func neighbours(st *state.State, sid string) (with map[string]int, apart map[string]bool) {
	with, apart = map[string]int{}, map[string]bool{}
	together, others := relatives(st, sid)
	for _, other := range together {
		for _, node := range nodesOf(st.HAManager.Services[other]) {
			with[node]++
		}
	}
	for _, other := range others {
		for _, node := range nodesOf(st.HAManager.Services[other]) {
			apart[node] = true
		}
	}
	return with, apart
}

// nodesOf returns the nodes that a resource uses: the current one and the target.
func nodesOf(s *state.HAService) []string {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc([]string{s.Node, s.Target}, func(node string) bool { return node == "" })
}

// keepTogether keeps only the node with most of the related resources.
func keepTogether(with map[string]int, best map[string]bool) {
	most := ""
	for _, node := range slices.Sorted(maps.Keys(with)) {
		if best[node] && (most == "" || with[node] > with[most]) {
			most = node
		}
	}
	if most != "" {
		maps.DeleteFunc(best, func(node string, _ bool) bool { return node != most })
	}
}

// loads returns the number of resources on each node. 9.x also counts other running guests.
func loads(st *state.State) map[string]int {
	out := map[string]int{}
	for _, s := range st.HAManager.Services {
		if s.State == stopped || s.State == failed {
			continue
		}
		for _, node := range nodesOf(s) {
			out[node]++
		}
	}
	for vmid, g := range st.Guests {
		if st.Version != "8.4" && g.Power != state.Stopped && st.HAManager.Services[state.HAID(vmid)] == nil {
			out[g.Node]++
		}
	}
	return out
}

// haPreference returns the nodes on which a resource may run with their priorities, and whether all others are excluded.
func haPreference(st *state.State, sid string) (nodes map[string]int, strict bool) {
	list := ""
	if g := st.HAGroups[st.HA[sid].Options["group"]]; g != nil {
		list, strict = g["nodes"], g["restricted"] == "1"
	}
	together, _ := relatives(st, sid)
	for _, r := range st.HARules {
		resources := schema.SplitList(r["resources"])
		tied := func(sid string) bool { return slices.Contains(resources, sid) }
		if r["type"] == "node-affinity" && r["disable"] != "1" && (tied(sid) || slices.ContainsFunc(together, tied)) {
			list, strict = r["nodes"], r["strict"] == "1"
		}
	}
	nodes = map[string]int{}
	for _, n := range schema.SplitList(list) {
		name, priority, _ := strings.Cut(n, ":")
		nodes[name] = schema.Int(priority)
	}
	return nodes, strict
}

// Ask queues a request for the manager.
func Ask(o *engine.Op, verb, sid, what string) {
	o.State.HAManager.Requests = append(o.State.HAManager.Requests, verb+" "+sid+" "+what)
	Keep(o)
}

// Blocking returns the resources on a node from which a guest must be apart, as the API shows them.
func Blocking(st *state.State, vmid int, node string) []map[string]any {
	out := []map[string]any{}
	_, apart := relatives(st, state.HAID(vmid))
	for _, sid := range apart {
		if slices.Contains(nodesOf(st.HAManager.Services[sid]), node) {
			out = append(out, map[string]any{"sid": sid, "cause": "resource-affinity"})
		}
	}
	return out
}

// Dependent returns the resources that are moved with a guest.
func Dependent(st *state.State, vmid int) []string {
	together, _ := relatives(st, state.HAID(vmid))
	together = append([]string{}, together...)
	return slices.DeleteFunc(together, func(id string) bool { return st.HAManager.Services[id] == nil })
}
