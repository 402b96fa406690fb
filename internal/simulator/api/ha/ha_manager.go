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
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// States of a resource as the manager has them (PVE::HA::Manager).
const (
	requestStart = "request_start"
	started      = "started"
	requestStop  = "request_stop"
	stopped      = "stopped"
	disabled     = "disabled"
	ignored      = "ignored"
	migrating    = "migrate"
	relocating   = "relocate"
	fence        = "fence"
	recovery     = "recovery"
	failed       = "error"
	online       = "online"
	unknown      = "unknown"
)

const (
	// masterIdleRounds and nodeIdleRounds are the numbers of rounds without a resource after which the master, or a node, releases its lock.
	masterIdleRounds, nodeIdleRounds = 90, 60
	// settling is the maximum number of turns of manager and nodes with instant tasks.
	settling = 60
	// fenceDelay is how long a node has to be unreachable before it is fenced.
	fenceDelay = time.Minute
)

// Durations returns the durations of HA: "ha" is the time between two turns of the manager, and "fence" how long a lock lasts whose holder no longer
// exists.
func Durations() map[string]time.Duration {
	return map[string]time.Duration{"ha": 10 * time.Second, "fence": 120 * time.Second, "replication": time.Minute}
}

// Keep runs the turns of the manager and the nodes as long as there is something to do.
func Keep(o *engine.Op) {
	m := o.State.HAManager
	if o.State.HAIdle || o.State.Viewer != "" || (resting(o.State) && !m.Beating) {
		return
	}
	if o.Engine.Instant() {
		settle(o)
		return
	}
	if !m.Beating {
		m.Beating = true
		beatLater(o)
	}
}

// settle runs turns of the manager and the nodes until nothing changes.
func settle(o *engine.Op) {
	m := o.State.HAManager
	if m.Beating {
		return // An instant task of a turn has called HA.
	}
	m.Beating = true
	for range settling {
		before := m.Changes
		manage(o)
		work(o)
		if m.Changes == before {
			break
		}
	}
	m.Beating = false
}

func beatLater(o *engine.Op) {
	o.Engine.Later(o.Engine.Duration("ha")/2, func(o *engine.Op) {
		m := o.State.HAManager
		work(o) // The nodes have their turns between those of the manager.
		m.Beats++
		if master := m.Master; m.Beats%2 == 0 || vacant(o.State) {
			manage(o)
			if m.Master != master {
				m.Beats = 0 // The turns of a new master count from its election.
			}
		}
		if m.Beating = !resting(o.State); m.Beating {
			beatLater(o)
		}
	})
}

// resting reports whether HA has nothing to do.
func resting(st *state.State) bool {
	m := st.HAManager
	for _, n := range m.Nodes {
		if n.Active {
			return false
		}
	}
	return len(st.HA) == 0 && len(m.Services) == 0 && (m.Released || m.Master == "")
}

// manage runs a turn of the manager.
func manage(o *engine.Op) {
	if o.State.NoQuorum || forming(o) || !elected(o) {
		return
	}
	o.State.HAManager.Seen = o.Engine.Clock.Now()
	observe(o)
	admit(o)
	read(o)
	for again := true; again; {
		again = false
		for _, sid := range slices.Sorted(maps.Keys(o.State.HAManager.Services)) {
			again = next(o, sid) || again
		}
		again = fenceNodes(o) || again
	}
}

// elected reports whether there is a master. If the master has failed, another one takes over once the lock has expired.
func elected(o *engine.Op) bool {
	m, now := o.State.HAManager, o.Engine.Clock.Now()
	empty := len(o.State.HA) == 0 && len(m.Services) == 0
	if m.Idle++; !empty {
		m.Idle = 0
	}
	switch {
	case m.Master != "" && !m.Released && !vacant(o.State):
		m.Released = m.Idle > masterIdleRounds
		return !m.Released
	case m.Released && empty, !m.Released && now.Sub(m.Seen) < lockTime(o):
		return false
	}
	if other := successor(o); other != "" {
		m.Master, m.Released = other, false
		m.Changes++
		for _, h := range m.Nodes { // A new master does not know how long other nodes have been unreachable.
			h.Online, h.Unlocked = now, time.Time{}
		}
		return true
	}
	return false
}

// vacant reports whether the master is down, or was down since its last decision. In that case all nodes continuously request its lock, not only in their
// turns.
func vacant(st *state.State) bool {
	m := st.HAManager
	n := st.Nodes[m.Master]
	return !st.NoQuorum && !m.Released && n != nil && (n.Offline || n.Returned.After(m.Seen))
}

func lockTime(o *engine.Op) time.Duration { return o.Engine.Scale(o.Engine.Duration("fence")) }

// successor returns the node whose manager takes over. If there are no resources, only the previous master does, if it was online last.
func successor(o *engine.Op) string {
	out, m := "", o.State.HAManager
	for _, name := range slices.Sorted(maps.Keys(o.State.Nodes)) {
		if awake(o.Engine, o.State.Nodes[name]) && (name != m.Master || out == "") {
			out = name
		}
	}
	if last := o.State.Nodes[m.Master]; len(o.State.HA) > 0 || last == nil || m.Nodes[m.Master] == nil || m.Nodes[m.Master].State != online {
		return out
	}
	if !awake(o.Engine, o.State.Nodes[m.Master]) {
		return ""
	}
	return m.Master
}

// observe records which nodes are online.
func observe(o *engine.Op) {
	m := o.State.HAManager
	for name, n := range o.State.Nodes {
		if m.Nodes[name] == nil {
			m.Nodes[name] = &state.HANode{State: unknown, Online: o.Engine.Clock.Now()}
		}
		h := m.Nodes[name]
		switch gone := o.Engine.Gone(n); {
		case !gone && h.State == unknown:
			setNode(m, h, online)
		case gone && h.State == online:
			setNode(m, h, unknown)
		}
		if !o.Engine.Gone(n) {
			h.Online = o.Engine.Clock.Now()
		}
	}
	maps.DeleteFunc(m.Nodes, func(name string, _ *state.HANode) bool { return o.State.Nodes[name] == nil })
}

func setNode(m *state.HAManager, h *state.HANode, to string) {
	h.State = to
	m.Changes++
}

// admit adds new resources, and removes those that are ignored or removed.
func admit(o *engine.Op) {
	m := o.State.HAManager
	for _, sid := range slices.Sorted(maps.Keys(o.State.HA)) {
		if m.Services[sid] != nil || o.State.HA[sid].State == ignored {
			continue
		}
		s := &state.HAService{State: requestStop, Node: nodeOf(o.State, sid)}
		if o.State.HA[sid].Wanted() == started {
			s.State = requestStart
		}
		m.Services[sid] = s
		order(m, s)
	}
	maps.DeleteFunc(m.Services, func(sid string, _ *state.HAService) bool {
		gone := o.State.HA[sid] == nil || o.State.HA[sid].State == ignored
		m.Changes += schema.Flag(gone)
		return gone
	})
}

// order creates a new order for the nodes.
func order(m *state.HAManager, s *state.HAService) {
	m.Orders++
	m.Changes++
	s.Order, s.Result = m.Orders, nil
}

// nodeOf returns the node of a resource's guest.
func nodeOf(st *state.State, sid string) string {
	if g := guestOf(st, sid); g != nil {
		return g.Node
	}
	return ""
}

func guestOf(st *state.State, sid string) *state.Guest {
	return st.Guests[schema.Int(strings.TrimPrefix(sid, "vm:"))]
}

// read processes the requests to the manager.
func read(o *engine.Op) {
	m := o.State.HAManager
	requests := m.Requests
	m.Requests = nil
	for _, text := range requests {
		words := strings.Fields(text)
		s := m.Services[words[1]]
		if s == nil {
			continue
		}
		if words[0] == "stop" {
			s.Request = []string{"stop"}
			m.Changes++
			continue
		}
		if target := words[2]; isOnline(o.State, target) && target != s.Node {
			queueMotion(o.State, words[0], words[1], target)
		}
	}
}

func isOnline(st *state.State, node string) bool {
	h := st.HAManager.Nodes[node]
	return h != nil && h.State == online
}

// queueMotion sends a resource and its dependent resources to a node, unless a resource is there from which it must be apart.
func queueMotion(st *state.State, verb, sid, target string) {
	together, apart := relatives(st, sid)
	for _, other := range apart {
		if s := st.HAManager.Services[other]; s != nil && s.Node == target && (s.Target == "" || s.Target == target) {
			return
		}
	}
	for _, id := range append([]string{sid}, together...) {
		if s := st.HAManager.Services[id]; s != nil && s.Node != target {
			s.Request = []string{verb, target}
			st.HAManager.Changes++
		}
	}
}

// change changes the state of a resource.
func change(m *state.HAManager, s *state.HAService, to string) bool {
	s.State, s.Target, s.Running, s.Request, s.Tried = to, "", false, nil, 0
	order(m, s)
	return true
}

// next decides on a resource, and reports whether its state has changed.
func next(o *engine.Op, sid string) bool {
	m := o.State.HAManager
	s, h := m.Services[sid], o.State.HA[sid]
	if h.Failed && s.State != failed {
		return change(m, s, failed)
	}
	switch s.State {
	case requestStart:
		return change(m, s, started)
	case started:
		return nextStarted(o, sid)
	case stopped:
		return nextStopped(o, sid)
	case requestStop:
		return nextRequestStop(o, sid)
	case migrating, relocating:
		return nextMoving(o, sid)
	case recovery:
		return recoverService(o, sid)
	case failed:
		if h.Wanted() == disabled {
			s.Failed, h.Failed = nil, false
			return change(m, s, stopped)
		}
	}
	return false
}

// lost reports whether the node of a resource has been unreachable long enough to be fenced.
func lost(o *engine.Op, s *state.HAService) bool {
	h := o.State.HAManager.Nodes[s.Node]
	return h != nil && h.State != online && o.Engine.Clock.Now().Sub(h.Online) >= o.Engine.Scale(fenceDelay)
}

func nextRequestStop(o *engine.Op, sid string) bool {
	m := o.State.HAManager
	s := m.Services[sid]
	result := outcome(o, s)
	switch {
	case result != nil && *result == succeeded:
		return change(m, s, stopped)
	case result != nil:
		return giveUp(o, sid)
	case lost(o, s):
		return change(m, s, fence)
	}
	return false
}

func giveUp(o *engine.Op, sid string) bool {
	o.State.HA[sid].Failed = true
	return change(o.State.HAManager, o.State.HAManager.Services[sid], failed)
}

func nextMoving(o *engine.Op, sid string) bool {
	m := o.State.HAManager
	s := m.Services[sid]
	result := outcome(o, s)
	if result == nil {
		return lost(o, s) && change(m, s, fence)
	}
	to := requestStop
	if o.State.HA[sid].Wanted() == started {
		to = started
	}
	if *result == succeeded {
		s.Node = s.Target
	}
	return change(m, s, to)
}

func nextStopped(o *engine.Op, sid string) bool {
	m, h := o.State.HAManager, o.State.HA[sid]
	s := m.Services[sid]
	if node := nodeOf(o.State, sid); node != "" {
		s.Node = node
	}
	if motion := s.Request; len(motion) > 1 {
		s.Request = nil
		if isOnline(o.State, motion[1]) && s.Node != motion[1] {
			change(m, s, motion[0])
			s.Target = motion[1]
			return true
		}
	}
	s.Request = nil
	switch {
	case h.Wanted() == disabled:
		return false
	case lost(o, s):
		return change(m, s, fence)
	case h.Wanted() == started:
		return change(m, s, requestStart)
	}
	return false
}

func nextStarted(o *engine.Op, sid string) bool {
	m, h := o.State.HAManager, o.State.HA[sid]
	s := m.Services[sid]
	if !isOnline(o.State, s.Node) {
		return lost(o, s) && change(m, s, fence)
	}
	if h.Wanted() != started {
		return change(m, s, requestStop)
	}
	if motion := s.Request; motion != nil {
		s.Request = nil
		return answerRequest(o, sid, motion)
	}
	return judge(o, sid)
}

// answerRequest carries out a request to the manager about a started resource.
func answerRequest(o *engine.Op, sid string, motion []string) bool {
	m := o.State.HAManager
	s := m.Services[sid]
	if motion[0] == "stop" {
		o.State.HA[sid].State = stopped
		return change(m, s, requestStop)
	}
	if !isOnline(o.State, motion[1]) || s.Node == motion[1] {
		return false
	}
	change(m, s, motion[0])
	s.Target = motion[1]
	return true
}

// judge evaluates the node's answer about a started resource, and selects the node for the resource.
func judge(o *engine.Op, sid string) bool {
	m := o.State.HAManager
	s, preference := m.Services[sid], "none"
	result := outcome(o, s)
	switch {
	case result == nil:
	case *result == succeeded:
		m.Changes += schema.Flag(!s.Running)
		s.Failed, s.Running = nil, true
	case *result == unknownService: // It was removed and added again before the manager noticed.
		return giveUp(o, sid)
	default:
		s.Running = false
		if s.Failed = append(s.Failed, s.Node); len(s.Failed) > atMost(o.State.HA[sid], "max_relocate") {
			return giveUp(o, sid)
		}
		preference = "try-next"
	}
	if node := selectNode(o.State, sid, preference); node != "" && node != s.Node {
		failures := s.Failed
		change(m, s, migrating)
		s.Target, s.Failed = node, failures
		return true
	}
	if result != nil && *result != succeeded {
		order(m, s)
	}
	return false
}

// atMost returns how often a resource is restarted or relocated after a failure. It is 0 if the resource was removed.
func atMost(h *state.HAResource, key string) int {
	if h == nil {
		return 0
	}
	if v, ok := h.Options[key]; ok {
		return schema.Int(v)
	}
	return 1
}

// fenceNodes waits for the locks of nodes whose resources are to be recovered.
func fenceNodes(o *engine.Op) bool {
	m, changed, down := o.State.HAManager, false, map[string]bool{}
	for _, sid := range slices.Sorted(maps.Keys(m.Services)) {
		s := m.Services[sid]
		h := m.Nodes[s.Node]
		if s.State != fence || h == nil {
			continue
		}
		if _, known := down[s.Node]; !known {
			down[s.Node] = fenceNode(o, h)
		}
		if down[s.Node] {
			changed = change(m, s, recovery)
		}
	}
	return changed
}

// fenceNode requests the lock of a node, and reports whether the manager has it, so that the node is certainly down. A request for an expired lock only
// removes it, so the manager gets the lock in its next turn.
func fenceNode(o *engine.Op, h *state.HANode) bool {
	m := o.State.HAManager
	if h.State != fence && (h.State == online || h.Active) {
		setNode(m, h, fence)
	}
	now := o.Engine.Clock.Now()
	switch {
	case !h.Active || o.Engine.Instant():
	case now.Sub(h.Seen) < lockTime(o):
		return false
	case h.Unlocked.IsZero():
		h.Unlocked = now
		m.Changes++
		return false
	case !now.After(h.Unlocked):
		return false
	}
	h.Active, h.Unlocked = false, time.Time{}
	setNode(m, h, unknown)
	return true
}

// recoverService moves a resource away from a node that is certainly down. The locks of operations that ended with the node are removed.
func recoverService(o *engine.Op, sid string) bool {
	m, h := o.State.HAManager, o.State.HA[sid]
	s, g := m.Services[sid], guestOf(o.State, sid)
	node := selectNode(o.State, sid, "best-score")
	if node == "" || g == nil {
		if h.Wanted() != disabled {
			return false
		}
		s.Failed = nil
		return change(m, s, stopped)
	}
	g.Power, g.PID, g.Node, g.Report, s.Node = state.Stopped, 0, node, nil, node
	delete(g.Config, "lock")
	if h.Wanted() == started {
		return change(m, s, started)
	}
	return change(m, s, requestStop)
}
