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
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// The results of an order (PVE::HA::Tools).
const (
	succeeded      = 0
	unsuccessful   = 1
	unknownService = 7
)

// forming reports whether the nodes have not yet agreed on the members that are left. Meanwhile the file system of the cluster cannot be written.
func forming(o *engine.Op) bool {
	for _, n := range o.State.Nodes {
		if n.Offline && !o.Engine.Gone(n) {
			return true
		}
	}
	return false
}

// work runs a turn of the daemons of all nodes (PVE::HA::LRM).
func work(o *engine.Op) {
	if forming(o) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(o.State.HAManager.Nodes)) {
		if n := o.State.Nodes[name]; n != nil && (!n.Offline || n.CutOff) {
			workOn(o, name)
		}
	}
}

// turnSlack is how much too early a turn may be.
const turnSlack = 100 * time.Millisecond

func turnTime(o *engine.Op) time.Duration { return o.Engine.Scale(o.Engine.Duration("ha")) }

// outcome returns the result of an order as far as the manager knows it. A node writes results at the end of its turn. It waits there for the operations
// that it has begun, but for at most eight tenths of the turn.
func outcome(o *engine.Op, s *state.HAService) *int {
	m := o.State.HAManager
	h := m.Nodes[s.Node]
	if s.Result == nil || h == nil || o.Engine.Instant() {
		return s.Result
	}
	end := h.Turn.Add(turnTime(o) * 8 / 10)
	if s.Answered.After(end) {
		return nil
	}
	if o.Engine.Clock.Now().Before(end) {
		for sid, other := range m.Services {
			if other.Node == s.Node && m.Busy[sid] {
				return nil
			}
		}
	}
	return s.Result
}

// workOn runs a turn of one node, every five seconds while it waits for its lock, and every ten while it holds it.
func workOn(o *engine.Op, name string) {
	m, now := o.State.HAManager, o.Engine.Clock.Now()
	h, fenced, n := m.Nodes[name], isFenced(m, name), o.State.Nodes[name]
	if h.Active && (fenced || lacksQuorum(o, n)) {
		resetNode(o, name) // It cannot renew its lock, whether it is back or not.
		return
	}
	if n != nil && !awake(o.Engine, n) {
		return
	}
	if n != nil && h.Active && n.Returned.After(h.Turn) && !o.Engine.Instant() {
		h.Active, h.Locked = false, h.Seen
	}
	if h.Active && now.Before(h.Turn.Add(turnTime(o)-turnSlack)) {
		return
	}
	h.Seen, h.Turn = now, now
	if !h.Active {
		if fenced || h.State != online || o.State.NoQuorum || active(m, name) == 0 || !released(o, h.Locked) {
			return
		}
		h.Active, h.Idle = true, 0
		m.Changes++
	}
	h.Idle++
	for _, sid := range slices.Sorted(maps.Keys(m.Services)) {
		if m.Services[sid].Node == name {
			h.Idle = 0
			execute(o, sid)
		}
	}
	if h.Idle > nodeIdleRounds {
		h.Active = false
	}
}

// released reports whether a lock is free that was last renewed at a time by a daemon that has ended. The node of the lowest number decides, and counts
// from its own start if that was later.
func released(o *engine.Op, renewed time.Time) bool {
	for _, name := range slices.Sorted(maps.Keys(o.State.Nodes)) {
		if n := o.State.Nodes[name]; !n.Offline && !renewed.IsZero() && n.Returned.After(renewed) {
			renewed = n.Returned
		} else if n.Offline {
			continue
		}
		break
	}
	return renewed.IsZero() || o.Engine.Clock.Now().Sub(renewed) >= lockTime(o)
}

// offlineShare is the divisor of the duration of a live migration for one without memory.
const offlineShare = 5

// watchdog is how long a node may be without a renewed lock before it is reset.
const watchdog = time.Minute

// lacksQuorum reports whether a node has no quorum.
func lacksQuorum(o *engine.Op, n *state.Node) bool { return o.State.NoQuorum || n != nil && n.CutOff }

// resetNode resets a node that has not renewed its lock for too long. The node boots, and knows nothing of its guests.
func resetNode(o *engine.Op, name string) {
	h := o.State.HAManager.Nodes[name]
	if h.Watched || o.Engine.Instant() || !lacksQuorum(o, o.State.Nodes[name]) {
		return
	}
	h.Watched = true
	rest := h.Seen.Add(o.Engine.Scale(watchdog)).Sub(o.Engine.Clock.Now())
	o.Engine.After(rest, func(o *engine.Op) {
		h, n := o.State.HAManager.Nodes[name], o.State.Nodes[name]
		if h == nil || n == nil {
			return
		}
		late := o.Engine.Clock.Now().Sub(h.Seen) >= o.Engine.Scale(watchdog)
		if h.Watched = false; late && h.Active && lacksQuorum(o, n) && (!n.Offline || n.CutOff) && !n.Starting {
			reset(o, h, n)
		}
	})
}

// reset power-cycles a node.
func reset(o *engine.Op, h *state.HANode, n *state.Node) {
	h.Active, h.Locked = false, h.Seen
	left := n.Left
	n.Offline, n.Starting, n.Reset = true, true, o.Engine.Clock.Now()
	guest.Leave(o, n, true)
	if n.CutOff {
		n.Left, n.KnownReports = left, nil // The others do not notice, and the node has forgotten their reports.
	}
	o.Engine.Later(o.Engine.Duration("reboot"), func(o *engine.Op) {
		switch {
		case n.Starting && n.CutOff:
			n.Starting = false
		case n.Starting:
			n.Offline = false
			guest.Return(o, n)
		}
	})
}

// awake reports whether the daemons of HA run on a node. They are the last ones that start with a node.
func awake(s *engine.Engine, n *state.Node) bool {
	return !n.Offline && (n.Returned.IsZero() || s.Clock.Now().Sub(n.Returned) >= s.Scale(s.Duration("daemons")))
}

// isFenced reports whether the manager waits for the lock of a node in order to fence it.
func isFenced(m *state.HAManager, node string) bool {
	for _, s := range m.Services {
		if s.Node == node && s.State == fence {
			return true
		}
	}
	return false
}

// active returns how many resources, on a node or on their way to it, keep the node's daemon active.
func active(m *state.HAManager, node string) int {
	n := 0
	for _, s := range m.Services {
		switch {
		case s.State == stopped, s.State == requestStart, s.State == failed:
		case s.Node == node, s.Target == node:
			n++
		}
	}
	return n
}

// execute executes a new order for a resource, unless the node is still working on the resource.
func execute(o *engine.Op, sid string) {
	m := o.State.HAManager
	s, g := m.Services[sid], guestOf(o.State, sid)
	if g == nil || m.Busy[sid] {
		return
	}
	if o.State.HA[sid] == nil && (s.State == started || s.Result == nil) { // The manager repeats a start order after each result.
		refuse(o, sid, s)
		return
	}
	if o.State.HA[sid] == nil || s.Result != nil && *s.Result == succeeded && settled(s, g) {
		return
	}
	switch s.State {
	case started:
		if g.Node != s.Node {
			answer(o, sid, s.Order, apierr.Errorf("service '%s' not on this node", sid))
			return
		}
		if g.Power != state.Stopped {
			answer(o, sid, s.Order, nil)
			return
		}
		run(o, sid, g, "qmstart", nil, start)
	case requestStop, stopped:
		if g.Power == state.Stopped {
			answer(o, sid, s.Order, nil)
			return
		}
		run(o, sid, g, "qmshutdown", nil, func(o *engine.Op, g *state.Guest) error {
			guest.Halt(o, g)
			return nil
		})
	case migrating, relocating:
		move(o, sid, g)
	}
}

// refuse rejects an order for a resource whose removal the manager has not noticed yet.
func refuse(o *engine.Op, sid string, s *state.HAService) {
	if s.Result == nil || *s.Result == succeeded {
		s.Result, s.Answered = new(unknownService), o.Engine.Clock.Now()
		o.State.HAManager.Changes++
		note(o.State.HAManager, sid, s, unknownService)
	}
}

// settled reports whether a guest is still in the state of the last order. Nodes restart guests that stopped, and stop guests that were started.
func settled(s *state.HAService, g *state.Guest) bool {
	switch s.State {
	case started:
		return g.Power != state.Stopped
	case stopped:
		return g.Power == state.Stopped
	}
	return true
}

// answer records the result of an order for the manager.
func answer(o *engine.Op, sid string, order int, err error) {
	m := o.State.HAManager
	s := m.Services[sid]
	if s == nil || s.Order != order || s.Result != nil {
		return
	}
	result := succeeded
	if err != nil {
		result = unsuccessful
		if s.State == started && s.Tried < atMost(o.State.HA[sid], "max_restart") {
			s.Tried++
			m.Changes++
			return // The node retries.
		}
	}
	s.Result, s.Answered = &result, o.Engine.Clock.Now()
	m.Changes++
	note(m, sid, s, result)
}

// note records the result of an order on the node, and removes results of orders that are no longer valid.
func note(m *state.HAManager, sid string, s *state.HAService, exit int) {
	h := m.Nodes[s.Node]
	if h == nil {
		return
	}
	valid := map[int]bool{}
	for _, other := range m.Services {
		valid[other.Order] = true
	}
	if h.Results == nil {
		h.Results = map[int]state.HAResult{}
	}
	h.Results[s.Order] = state.HAResult{SID: sid, State: s.State, Exit: exit}
	maps.DeleteFunc(h.Results, func(order int, _ state.HAResult) bool { return !valid[order] })
}

// run starts an HA task for a guest. The order is answered when the task ends.
func run(o *engine.Op, sid string, g *state.Guest, kind string, begin, end func(*engine.Op, *state.Guest) error) {
	m := o.State.HAManager
	order, vmid, node := m.Services[sid].Order, g.VMID, g.Node
	t := o.State.NewTask(node, kind, state.VmidText(vmid), state.Root, o.Engine.Clock.Now())
	m.Busy[sid] = true
	finish := func(o *engine.Op, err error) {
		delete(o.State.HAManager.Busy, sid)
		if t.Lost {
			return
		}
		(&engine.Worker{Engine: o.Engine, Task: t}).Finish(o.State, err)
		answer(o, sid, order, err)
	}
	if o.Engine.Instant() {
		if err := beginning(o.Engine, t, vmid, begin)(o.State); err != nil {
			finish(o, err)
			return
		}
	}
	complete := func(st *state.State) error {
		o := &engine.Op{Engine: o.Engine, State: st, Who: state.Root, Node: node, Task: t}
		if g := st.Guests[vmid]; g != nil {
			return end(o, g)
		}
		return nil
	}
	if o.Engine.Instant() {
		finish(o, complete(o.State))
		return
	}
	o.Engine.Workers.Go(func() {
		w := &engine.Worker{Engine: o.Engine, Task: t, Ctx: o.Engine.Ctx}
		err := w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
			if err := w.Do(beginning(o.Engine, t, vmid, begin)); err != nil {
				return err
			}
			if err := w.Sleep(lasts(w, kind, vmid)); err != nil {
				return err
			}
			return w.Do(complete)
		})
		o.Engine.Update(func(*state.State) { finish(o.Engine.Op(node), err) })
	})
}

// lasts returns the duration of a task. A stopped guest is moved without memory.
func lasts(w *engine.Worker, kind string, vmid int) time.Duration {
	d := w.Engine.Duration(kind)
	w.Engine.Update(func(st *state.State) {
		if g := st.Guests[vmid]; kind == "qmigrate" && g != nil && g.Power == state.Stopped {
			d /= offlineShare
		}
	})
	return d
}

// beginning returns the first step of a task.
func beginning(s *engine.Engine, t *state.Task, vmid int, begin func(*engine.Op, *state.Guest) error) func(*state.State) error {
	return func(st *state.State) error {
		if g := st.Guests[vmid]; begin != nil && g != nil {
			return begin(&engine.Op{Engine: s, State: st, Who: state.Root, Node: t.Node, Task: t}, g)
		}
		return nil
	}
}

func start(o *engine.Op, g *state.Guest) error {
	if g.Power != state.Stopped {
		return nil
	}
	if err := guest.Startable(o, g.Node, g.VMID, false); err != nil {
		return err
	}
	guest.Boot(o, g)
	return nil
}

// move migrates a guest. To relocate it, the node shuts it down first.
func move(o *engine.Op, sid string, g *state.Guest) {
	s := o.State.HAManager.Services[sid]
	if g.Node == s.Target {
		answer(o, sid, s.Order, nil)
		return
	}
	m := &guest.Migration{Node: g.Node, Target: s.Target, VMID: g.VMID, Online: s.State == migrating, Local: true, Storages: &guest.StorageMap{}}
	begin := func(o *engine.Op, g *state.Guest) error {
		if !m.Online && g.Power != state.Stopped {
			guest.Halt(o, g)
		}
		if err := guest.Migratable(o, g, m); err != nil {
			return err
		}
		g.Config["lock"] = "migrate"
		return nil
	}
	run(o, sid, g, "qmigrate", begin, func(o *engine.Op, _ *state.Guest) error { return guest.Arrive(o, m, nil) })
}
