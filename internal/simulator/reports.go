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
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// measure is what a node knows of a guest right now.
func (o *op) measure(g *Guest) *report {
	r := &report{
		name: g.name(), status: string(g.Power), template: g.template(), cpus: o.cpus(g), memory: o.sizes(g).memory, disk: o.sizes(g).disk,
	}
	if g.Power == Stopped {
		return r
	}
	r.uptime = max(int64(o.s.clock.Now().Sub(g.started)/time.Second), 0)
	r.cpu, r.mem, r.memhost = 0.01, r.memory/4, r.memory/2
	r.netin, r.netout, r.diskread, r.diskwritten = r.uptime*1000, r.uptime*500, r.uptime*1000, r.uptime*1000
	return r
}

// sizes reads the sizes of a guest's memory and of the first disk of its boot order. Lists need them of every guest, so that
// they are read anew only when the options have changed.
func (o *op) sizes(g *Guest) *sizes {
	old := g.sizes
	if old != nil && old.diskKey != "" && old.memoryText == g.Config["memory"] && old.bootText == g.Config["boot"] &&
		old.diskText == g.Config[old.diskKey] {
		return old
	}
	s := &sizes{memory: o.s.memory(g.Config), memoryText: g.Config["memory"], bootText: g.Config["boot"]}
	for _, key := range schema.SplitList(o.s.read("boot", s.bootText)["order"]) {
		if d := drive(o.s.read(key, g.Config[key])); isDrive(key) && len(d) > 0 && !d.cdrom() {
			s.diskKey, s.diskText = key, g.Config[key]
			s.disk, _ = schema.ParseSize(d["size"])
			break
		}
	}
	g.sizes = s
	return s
}

// reportGuests lets the nodes report their guests if it is time to. It comes before every change, so that a report tells how
// things were when it was due.
func (o *op) reportGuests() {
	every := o.s.reportEvery()
	if every <= 0 {
		return
	}
	due := o.s.clock.Now().Truncate(every)
	if !due.After(o.s.reported) {
		return
	}
	o.s.reported = due
	for _, g := range o.st.Guests {
		if n := o.st.Nodes[g.Node]; n != nil && !n.Offline {
			g.report = o.measure(g)
		}
	}
}

// known is the latest report of a guest, nil where the cluster has none.
func (o *op) known(g *Guest) *report {
	switch n := o.st.Nodes[g.Node]; {
	case n == nil || n.Offline:
		return nil
	case o.s.reportEvery() <= 0:
		return o.measure(g)
	}
	return g.report
}

// nodeUsage are the numbers that a node reports.
func (o *op) nodeUsage(n *Node) map[string]any {
	used, cpu := int64(2<<30), 0.01
	for _, g := range o.st.Guests {
		if g.Node == n.Name && g.Power != Stopped {
			used += o.sizes(g).memory / 2
			cpu += 0.01 * float64(o.cpus(g)) / float64(n.CPUs)
		}
	}
	return map[string]any{
		"cpu": cpu, "maxcpu": n.CPUs, "mem": min(used, n.Memory), "maxmem": n.Memory, "disk": n.Disk / 10, "maxdisk": n.Disk,
		"uptime": o.uptime(n),
	}
}

// reportEvery is how often nodes report; 0 means that what is known of a guest is always fresh.
func (s *engine) reportEvery() time.Duration {
	if s.instant() {
		return s.reports
	}
	return s.scale(s.duration("resources"))
}
