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

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// troubles returns the possible troubles. Each lasts until another step or calm ends it.
func troubles() map[string]step {
	return map[string]step{
		"die": func(k *randomRun, _ *subject, r *rand.Rand) string {
			p := k.alive(k.t)
			p.mu.Lock()
			defer p.mu.Unlock()
			after := 1 + r.IntN(12)
			p.fatal = len(p.effects) + after
			return fmt.Sprintf("dies in %d steps", after)
		},
		"fault":    fault(http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete),
		"nowrite":  fault(http.MethodPost, http.MethodPut, http.MethodDelete),
		"nocreate": fault(http.MethodPost),
		"task": func(k *randomRun, _ *subject, r *rand.Rand) string {
			f := simulator.Fault{
				Task:  oneOf(r, "qmcreate", "qmclone", "qmconfig", "resize", "qmstart", "qmshutdown", "qmstop", "qmdestroy", "qmmove", "qmigrate", "imgcopy", "imgdel"),
				Count: 1 + r.IntN(3),
			}
			if f.Refuse = r.IntN(4) == 0; !f.Refuse {
				f.TaskExit = oneOf(r, ends(f.Task)...)
			}
			k.pve.Inject(f)
			return f.String()
		},
		"offline": func(k *randomRun, _ *subject, r *rand.Rand) string {
			name := oneOf(r, "pve2", "pve3")
			k.pve.Edit(func(s *simulator.State) { s.Nodes[name].Offline = true })
			return name
		},
		"online": func(k *randomRun, _ *subject, _ *rand.Rand) string {
			k.pve.Edit(online)
			return "all nodes are up"
		},
		"nostorage": func(k *randomRun, _ *subject, r *rand.Rand) string {
			name := oneOf(r, "ceph", "nfs", "local-lvm")
			k.pve.Edit(func(s *simulator.State) { s.Storages[name].Disabled = true })
			return name
		},
		"storage": func(k *randomRun, _ *subject, _ *rand.Rand) string {
			k.pve.Edit(stored)
			return "all storages are there"
		},
		"quorum": func(k *randomRun, _ *subject, r *rand.Rand) string {
			lost := oneOf(r, true, false)
			k.pve.Edit(func(s *simulator.State) { s.NoQuorum = lost })
			return fmt.Sprint(lost)
		},
		"noagent": func(k *randomRun, _ *subject, r *rand.Rand) string {
			id, deaf := k.vmid(), oneOf(r, true, false)
			k.pve.Edit(func(s *simulator.State) {
				if g := s.Guests[id]; g != nil && !k.foreign[id] {
					g.Agent = &simulator.Agent{Missing: true, IgnoresShutdown: deaf}
				}
			})
			return fmt.Sprint(id)
		},
		"wait": func(k *randomRun, _ *subject, r *rand.Rand) string {
			d := oneOf(r, 10*time.Second, time.Minute, 10*time.Minute, time.Hour)
			k.clock.advance(d)
			return d.String()
		},
	}
}

// fault returns a step that makes some of the next calls fail.
func fault(methods ...string) step {
	return func(k *randomRun, _ *subject, r *rand.Rand) string {
		all := classes()
		c := all[oneOf(r, slices.Sorted(maps.Keys(all))...)]
		f := c.fault
		f.Method, f.Path, f.Skip, f.Count = oneOf(r, methods...), c.only, r.IntN(6), 1+r.IntN(4)
		if c.writes && f.Method == http.MethodGet || c.only != "" {
			f.Method = http.MethodPost
		}
		k.pve.Inject(f)
		return f.String()
	}
}

func online(s *simulator.State) {
	for _, n := range s.Nodes {
		n.Offline = false
	}
}

func stored(s *simulator.State) {
	for _, t := range s.Storages {
		t.Disabled = false
	}
}

// drain waits for what is in progress: tasks, and calls that arrive late.
func (k *randomRun) drain() {
	k.pve.ClearFaults()
	k.clock.advance(11 * time.Minute)
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for range 300 {
		n := len(k.pve.Requests())
		<-again.C
		k.clock.advance(time.Second)
		if len(k.running()) == 0 && len(k.pve.Requests()) == n {
			return
		}
	}
}

// drainOf waits until nothing is in progress for a VM. It includes a stop that was requested from high availability.
func (k *randomRun) drainOf(vmid int) {
	for range 10 {
		if k.drain(); !k.stopsSoon(vmid) {
			return
		}
	}
}

// stopsSoon reports whether high availability was asked to stop a VM and has not done so yet.
func (k *randomRun) stopsSoon(vmid int) bool {
	sid, soon := fmt.Sprintf("vm:%d", vmid), false
	k.pve.Edit(func(s *simulator.State) {
		g, managed := s.Guests[vmid], s.HA[sid]
		asked := slices.ContainsFunc(s.HAManager.Requests, func(r string) bool { return strings.HasPrefix(r, "stop "+sid+" ") })
		soon = g != nil && managed != nil && g.Power != simulator.Stopped && (asked || managed.State == "stopped")
	})
	return soon
}
