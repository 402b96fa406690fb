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
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// requestedHA lets HA act on what is asked for a guest, after it has noticed. The state must be held.
func requestedHA(o *engine.Op, vmid int) {
	if o.State.HAIdle {
		return
	}
	o.Engine.Later(o.Engine.Duration("ha"), func(o *engine.Op) { settleHA(o, vmid) })
}

// settleHA brings a guest into the state that is asked for.
func settleHA(o *engine.Op, vmid int) {
	h, g := o.State.HA[state.HAID(vmid)], o.State.Guests[vmid]
	if h == nil || g == nil || h.Failed || o.State.NoQuorum || o.State.Nodes[g.Node].Offline {
		return
	}
	switch h.Wanted() {
	case "started":
		if g.Power == state.Stopped {
			startHA(o, g)
		}
	case "stopped", "disabled":
		if g.Power != state.Stopped {
			haTask(o, g, "qmshutdown", func(o *engine.Op, g *state.Guest) error {
				guest.Halt(o, g)
				return nil
			})
		}
	}
}

func startHA(o *engine.Op, g *state.Guest) {
	haTask(o, g, "qmstart", func(o *engine.Op, g *state.Guest) error {
		if g.Power != state.Stopped {
			return nil
		}
		if err := guest.Startable(o, g.Node, g.VMID, false); err != nil {
			return err
		}
		guest.Boot(o, g)
		return nil
	})
}

// haTask does something to a guest in a task of HA's own.
func haTask(o *engine.Op, g *state.Guest, kind string, do func(*engine.Op, *state.Guest) error) {
	t, vmid := o.State.NewTask(g.Node, kind, state.VmidText(g.VMID), state.Root, o.Engine.Clock.Now()), g.VMID
	o.Engine.Later(o.Engine.Duration(kind), func(o *engine.Op) {
		inner := &engine.Op{Engine: o.Engine, State: o.State, Who: state.Root, Node: t.Node, Task: t}
		err := error(nil)
		if g := o.State.Guests[vmid]; g != nil {
			err = do(inner, g)
		}
		(&engine.Worker{Engine: o.Engine, Task: t}).Finish(o.State, err)
	})
}

// MoveHA lets HA move a guest to another node. The state must be held.
func MoveHA(o *engine.Op, vmid int, target string) {
	o.Engine.Later(o.Engine.Duration("ha"), func(o *engine.Op) {
		g := o.State.Guests[vmid]
		if g == nil || g.Node == target || o.State.Nodes[target] == nil || o.State.Nodes[target].Offline {
			return
		}
		m := &guest.Migration{Node: g.Node, Target: target, VMID: vmid, Online: true, Local: true, Storages: &guest.StorageMap{}}
		haTask(o, g, "qmigrate", func(o *engine.Op, g *state.Guest) error {
			if err := guest.Migratable(o, g, m); err != nil {
				return err
			}
			return guest.Arrive(o, m, nil)
		})
	})
}

// Fence lets HA recover the guests of nodes that have just gone off, once it is sure that they are down: their watchdogs
// have reset them. Without quorum nothing happens. The state must be held.
func Fence(o *engine.Op, before map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(o.State.Nodes)) {
		if before[name] || !o.State.Nodes[name].Offline || o.State.HAIdle || !watched(o.State, name) {
			continue
		}
		o.Engine.Later(o.Engine.Duration("fence"), func(o *engine.Op) {
			if n := o.State.Nodes[name]; n != nil && n.Offline && !o.State.NoQuorum {
				recoverGuests(o, name)
			}
		})
	}
}

// watched reports whether HA watches a guest on a node.
func watched(st *state.State, node string) bool {
	for vmid, g := range st.Guests {
		if g.Node == node && st.HAManaged(vmid) {
			return true
		}
	}
	return false
}

// Offline are the nodes that are off.
func Offline(st *state.State) map[string]bool {
	out := map[string]bool{}
	for name, n := range st.Nodes {
		out[name] = n.Offline
	}
	return out
}

// recoverGuests gives the guests of a fenced node to others, and starts those that are to run.
func recoverGuests(o *engine.Op, node string) {
	for _, sid := range slices.Sorted(maps.Keys(o.State.HA)) {
		g := o.State.Guests[schema.Int(strings.TrimPrefix(sid, "vm:"))]
		if g == nil || g.Node != node || !o.State.HAManaged(g.VMID) || o.State.HA[sid].Failed || o.State.HA[sid].Wanted() == "disabled" {
			continue
		}
		target := haTarget(o.State, sid)
		if target == "" {
			continue
		}
		g.Power, g.PID, g.Node = state.Stopped, 0, target
		delete(g.Config, "lock")
		if o.State.HA[sid].Wanted() == "started" {
			startHA(o, g)
		}
	}
}

// haTarget chooses where a resource goes: among the nodes that its group or rule prefers, the one with the fewest guests.
func haTarget(st *state.State, sid string) string {
	prefer, strict := haPreference(st, sid)
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
func haPreference(st *state.State, sid string) (nodes map[string]int, strict bool) {
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
		nodes[name] = schema.Int(priority)
	}
	return nodes, strict
}

// Durations are how long HA takes to notice what is asked for, and to be sure that a node is down.
func Durations() map[string]time.Duration {
	return map[string]time.Duration{"ha": 10 * time.Second, "fence": 120 * time.Second, "replication": time.Minute}
}
