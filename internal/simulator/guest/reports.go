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

package guest

import (
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// measure returns what a node currently knows of a guest.
func measure(o *engine.Op, g *state.Guest) *state.Report {
	r := &state.Report{
		Name: g.Name(), Status: string(g.Power), Template: g.Template(), CPUs: cpus(o, g), Memory: sizes(o, g).Memory, Disk: sizes(o, g).Disk,
	}
	if g.Power == state.Stopped {
		return r
	}
	r.Uptime = max(int64(o.Engine.Clock.Now().Sub(g.Started)/time.Second), 0)
	r.CPU, r.Mem, r.Memhost = 0.01, r.Memory/4, r.Memory/2
	r.Netin, r.Netout, r.Diskread, r.Diskwritten = r.Uptime*1000, r.Uptime*500, r.Uptime*1000, r.Uptime*1000
	return r
}

// sizes returns the sizes of a guest's memory and of the first disk of its boot order. Lists need them for every guest, so they are only read again when
// the options have changed.
func sizes(o *engine.Op, g *state.Guest) *state.Sizes {
	old := g.Sizes
	if old != nil && old.DiskKey != "" && old.MemoryText == g.Config["memory"] && old.BootText == g.Config["boot"] &&
		old.DiskText == g.Config[old.DiskKey] {
		return old
	}
	s := &state.Sizes{Memory: memory(o.Engine, g.Config), MemoryText: g.Config["memory"], BootText: g.Config["boot"]}
	for _, key := range schema.SplitList(o.Engine.Read("boot", s.BootText)["order"]) {
		if d := Drive(o.Engine.Read(key, g.Config[key])); IsDrive(key) && len(d) > 0 && !d.CDROM() {
			s.DiskKey, s.DiskText = key, g.Config[key]
			s.Disk, _ = schema.ParseSize(d["size"])
			break
		}
	}
	g.Sizes = s
	return s
}

// ReportGuests makes the nodes report their guests if that is due. It runs before every change, so a report shows the state at the time when it was due.
func ReportGuests(o *engine.Op) {
	every := reportEvery(o.Engine)
	if every <= 0 {
		return
	}
	due := o.Engine.Clock.Now().Truncate(every)
	if !due.After(o.Engine.Reported) {
		return
	}
	o.Engine.Reported = due
	for _, g := range o.State.Guests {
		if n := o.State.Nodes[g.Node]; n != nil && !n.Offline && !silent(o.Engine, n) {
			g.Report = measure(o, g)
		}
	}
}

// Known returns the latest report of a guest, or nil if the cluster has none.
func Known(o *engine.Op, g *state.Guest) *state.Report {
	switch n := o.State.Nodes[g.Node]; {
	case n == nil || !Reporting(o.Engine, n):
		return nil
	case n.Offline:
		return g.Report
	case reportEvery(o.Engine) <= 0:
		return measure(o, g)
	}
	return g.Report
}

// NodeUsage returns the usage that a node reports.
func NodeUsage(o *engine.Op, n *state.Node) map[string]any {
	used, cpu := int64(2<<30), 0.01
	for _, g := range o.State.Guests {
		if g.Node == n.Name && g.Power != state.Stopped {
			used += sizes(o, g).Memory / 2
			cpu += 0.01 * float64(cpus(o, g)) / float64(n.CPUs)
		}
	}
	return map[string]any{
		"cpu": cpu, "maxcpu": n.CPUs, "mem": min(used, n.Memory), "maxmem": n.Memory, "disk": n.Disk / 10, "maxdisk": n.Disk,
		"uptime": uptime(o, n),
	}
}

// reportEvery returns how often nodes report. 0 means that reports are always up to date.
func reportEvery(s *engine.Engine) time.Duration {
	if s.Instant() {
		return s.Reports
	}
	return s.Scale(s.Duration("resources"))
}

// expiry is how long the cluster remembers the reports of a node (rrd_dump in pmxcfs).
const expiry = 5 * time.Minute

// Reporting reports whether the cluster still knows the reports of a node.
func Reporting(s *engine.Engine, n *state.Node) bool {
	switch {
	case n.Offline:
		return !n.Forgotten && s.Clock.Now().Sub(n.Left) < s.Scale(expiry)
	case silent(s, n):
		return !n.Forgotten
	}
	return true
}

// silent reports whether a node that came back has not reported anything yet.
func silent(s *engine.Engine, n *state.Node) bool {
	return !n.Returned.IsZero() && s.Clock.Now().Sub(n.Returned) < s.Scale(s.Duration("daemons"))
}

// NodeStatus returns the state of a node as the cluster sees it.
func NodeStatus(s *engine.Engine, n *state.Node) string {
	switch {
	case s.Gone(n):
		return "offline"
	case !Reporting(s, n):
		return "unknown"
	}
	return "online"
}

// NodeReport returns the report of a node in lists of nodes. For an offline node, it contains only constant values, as long as the cluster remembers them.
func NodeReport(o *engine.Op, n *state.Node, usage bool) map[string]any {
	if !Reporting(o.Engine, n) {
		return map[string]any{}
	}
	out := map[string]any{}
	if usage {
		out = NodeUsage(o, n)
	}
	if o.Engine.Gone(n) {
		for _, key := range []string{"cpu", "mem", "disk", "uptime"} {
			delete(out, key)
		}
	}
	out["level"] = ""
	return out
}

// Leave records that a node goes off. Its reports are the last ones that the cluster receives. A loss of power also ends its guests and tasks.
func Leave(o *engine.Op, n *state.Node, power bool) {
	n.Forgotten = n.Forgotten && silent(o.Engine, n)
	if n.Left = o.Engine.Clock.Now(); !silent(o.Engine, n) {
		n.Wrote = n.Left
	}
	if n.KnownReports = nil; n.CutOff {
		n.KnownReports = knownReports(o, n)
	}
	for _, g := range o.State.Guests {
		if g.Node != n.Name {
			continue
		}
		g.Report = lastReport(o, g)
		if power {
			g.Power, g.PID, g.Frozen = state.Stopped, 0, false
		}
	}
	for _, t := range o.State.Tasks {
		if power && t.Node == n.Name && t.Running() {
			t.Lose()
		}
	}
}

// knownReports returns the reports that a node has of the guests of other nodes, by VMID.
func knownReports(o *engine.Op, n *state.Node) map[int]*state.Report {
	all := map[int]*state.Report{}
	for id, g := range o.State.Guests {
		if g.Node != n.Name {
			all[id] = lastReport(o, g)
		}
	}
	return all
}

// lastReport returns the last report of a guest.
func lastReport(o *engine.Op, g *state.Guest) *state.Report {
	if r := Known(&engine.Op{Engine: o.Engine, State: o.State}, g); r != nil && reportEvery(o.Engine) > 0 {
		return r
	}
	return measure(o, g)
}

// Return records that a node came back. It has not reported anything yet, and records the end of the tasks that ended with it. Once all nodes were off,
// the cluster has forgotten all reports.
func Return(o *engine.Op, n *state.Node) {
	alone := true
	for _, other := range o.State.Nodes {
		alone = alone && (other == n || other.Offline)
	}
	n.Forgotten = n.Forgotten || alone || o.Engine.Clock.Now().Sub(n.Left) >= o.Engine.Scale(expiry)
	n.Starting, n.CutOff, n.KnownReports, n.Returned = false, false, nil, o.Engine.Clock.Now()
	if alone {
		o.State.Log = nil // The log is only in the memory of the nodes.
	}
	o.State.LogLine(state.LogEntry{Time: n.Returned, Node: n.Name, User: "root", Priority: 6, Message: state.ClusterStart})
	for _, other := range o.State.Nodes {
		if alone && other != n {
			other.Left = time.Time{}
		}
	}
	for _, g := range o.State.Guests {
		if g.Node == n.Name && n.Forgotten {
			g.Report = nil
		}
	}
	for _, t := range o.State.Tasks {
		if t.Node == n.Name && t.Lost && t.Running() {
			t.Ended, t.Exit = o.Engine.Clock.Now(), "unexpected status"
		}
	}
}
