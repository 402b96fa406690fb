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

package simulator

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// wanted is the state that HA brings a resource into.
func (h *HAResource) wanted() string {
	if h.State == "enabled" || h.State == "" {
		return "started"
	}
	return h.State
}

// shown is the state that HA has a resource in.
func (h *HAResource) shown() string {
	if h.Failed {
		return "error"
	}
	return h.wanted()
}

// requestedHA lets HA act on what is asked for a guest, after it has noticed. The state must be held.
func (o *op) requestedHA(vmid int) {
	if o.st.HAIdle {
		return
	}
	o.s.later(o.s.duration("ha"), func(o *op) { o.settleHA(vmid) })
}

// settleHA brings a guest into the state that is asked for.
func (o *op) settleHA(vmid int) {
	h, g := o.st.HA[haID(vmid)], o.st.Guests[vmid]
	if h == nil || g == nil || h.Failed || o.st.NoQuorum || o.st.Nodes[g.Node].Offline {
		return
	}
	switch h.wanted() {
	case "started":
		if g.Power == Stopped {
			o.startHA(g)
		}
	case "stopped", "disabled":
		if g.Power != Stopped {
			o.haTask(g, "qmshutdown", func(o *op, g *Guest) error {
				o.halt(g)
				return nil
			})
		}
	}
}

func (o *op) startHA(g *Guest) {
	o.haTask(g, "qmstart", func(o *op, g *Guest) error {
		if g.Power != Stopped {
			return nil
		}
		if err := o.startable(g.Node, g.VMID, false); err != nil {
			return err
		}
		o.boot(g)
		return nil
	})
}

// haTask does something to a guest in a task of HA's own.
func (o *op) haTask(g *Guest, kind string, do func(*op, *Guest) error) {
	t, vmid := o.st.newTask(g.Node, kind, vmidText(g.VMID), root, o.s.clock.Now()), g.VMID
	o.s.later(o.s.duration(kind), func(o *op) {
		inner := &op{s: o.s, st: o.st, who: root, node: t.Node, task: t}
		err := error(nil)
		if g := o.st.Guests[vmid]; g != nil {
			err = do(inner, g)
		}
		(&worker{s: o.s, task: t}).finish(o.st, err)
	})
}

// moveHA lets HA move a guest to another node. The state must be held.
func (o *op) moveHA(vmid int, target string) {
	o.s.later(o.s.duration("ha"), func(o *op) {
		g := o.st.Guests[vmid]
		if g == nil || g.Node == target || o.st.Nodes[target] == nil || o.st.Nodes[target].Offline {
			return
		}
		m := &migration{node: g.Node, target: target, vmid: vmid, online: true, local: true, storages: &storageMap{}}
		o.haTask(g, "qmigrate", func(o *op, g *Guest) error {
			if err := o.migratable(g, m); err != nil {
				return err
			}
			return o.arrive(m, nil)
		})
	})
}

// fence lets HA recover the guests of nodes that have just gone off, once it is sure that they are down: their watchdogs
// have reset them. Without quorum nothing happens. The state must be held.
func (o *op) fence(before map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(o.st.Nodes)) {
		if before[name] || !o.st.Nodes[name].Offline || o.st.HAIdle || !o.st.watched(name) {
			continue
		}
		o.s.later(o.s.duration("fence"), func(o *op) {
			if n := o.st.Nodes[name]; n != nil && n.Offline && !o.st.NoQuorum {
				o.recover(name)
			}
		})
	}
}

// watched reports whether HA watches a guest on a node.
func (st *State) watched(node string) bool {
	for vmid, g := range st.Guests {
		if g.Node == node && st.haManaged(vmid) {
			return true
		}
	}
	return false
}

// offline are the nodes that are off.
func (st *State) offline() map[string]bool {
	out := map[string]bool{}
	for name, n := range st.Nodes {
		out[name] = n.Offline
	}
	return out
}

// recover gives the guests of a fenced node to others, and starts those that are to run.
func (o *op) recover(node string) {
	for _, sid := range slices.Sorted(maps.Keys(o.st.HA)) {
		g := o.st.Guests[atoi(strings.TrimPrefix(sid, "vm:"))]
		if g == nil || g.Node != node || !o.st.haManaged(g.VMID) || o.st.HA[sid].Failed || o.st.HA[sid].wanted() == "disabled" {
			continue
		}
		target := o.st.haTarget(sid)
		if target == "" {
			continue
		}
		g.Power, g.pid, g.Node = Stopped, 0, target
		delete(g.Config, "lock")
		if o.st.HA[sid].wanted() == "started" {
			o.startHA(g)
		}
	}
}

// haTarget chooses where a resource goes: among the nodes that its group or rule prefers, the one with the fewest guests.
func (st *State) haTarget(sid string) string {
	prefer, strict := st.haPreference(sid)
	load := map[string]int{}
	for _, g := range st.Guests {
		load[g.Node]++
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(st.Nodes)) {
		priority, named := prefer[name]
		if st.Nodes[name].Offline || (strict && !named) {
			continue
		}
		other, otherNamed := prefer[best]
		switch {
		case best == "", named && !otherNamed, named == otherNamed && priority > other,
			named == otherNamed && priority == other && load[name] < load[best]:
			best = name
		}
	}
	return best
}

// haPreference are the nodes that a resource is to run on, with their priorities, and whether it may run on no other.
func (st *State) haPreference(sid string) (nodes map[string]int, strict bool) {
	list := ""
	if g := st.HAGroups[st.HA[sid].Options["group"]]; g != nil {
		list, strict = g["nodes"], g["restricted"] == "1"
	}
	for _, r := range st.HARules {
		if r["type"] == "node-affinity" && r["disable"] != "1" && slices.Contains(schema.SplitList(r["resources"]), sid) {
			list, strict = r["nodes"], r["strict"] == "1"
		}
	}
	nodes = map[string]int{}
	for _, n := range schema.SplitList(list) {
		name, priority, _ := strings.Cut(n, ":")
		nodes[name] = atoi(priority)
	}
	return nodes, strict
}

// haDurations are how long HA takes to notice what is asked for, and to be sure that a node is down.
func haDurations() map[string]time.Duration {
	return map[string]time.Duration{"ha": 10 * time.Second, "fence": 120 * time.Second, "replication": time.Minute}
}
