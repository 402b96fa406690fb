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
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A class is a kind of fault of Proxmox VE or of the network.
type class struct {
	fault simulator.Fault

	// writes is true for faults that only affect writes.
	writes bool

	// only is the path that is affected; all if empty.
	only string
}

func classes() map[string]class {
	says := func(message string) class {
		return class{fault: simulator.Fault{Status: http.StatusInternalServerError, Message: message}}
	}
	write := func(c class) class {
		c.writes = true
		return c
	}
	taken := write(says("unable to create VM 10000: config file already exists"))
	taken.only = "/nodes/{node}/qemu"
	return map[string]class{
		"Unauthorized": {fault: simulator.Fault{Status: http.StatusUnauthorized}},
		"Forbidden":    {fault: simulator.Fault{Status: http.StatusForbidden, Message: "Permission check failed (/vms/10000, VM.Allocate)"}},
		"Invalid":      {fault: simulator.Fault{Status: http.StatusBadRequest}, writes: true},
		"Taken":        taken,
		"Changed":      write(says("detected modified configuration - file changed by other user? Try again.")),
		"Locked":       write(says("VM is locked (backup)")),
		"LockTimeout":  write(says("can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout")),
		"Timeout":      says("got timeout"),
		"Unreachable":  {fault: simulator.Fault{Status: 595}},
		"TimedOut":     {fault: simulator.Fault{Status: 596}},
		"Redirected":   {fault: simulator.Fault{Status: 599}},
		"NoQuorum":     write(says("cluster not ready - no quorum?")),
		"CfsLock":      write(says("create pool failed: cfs-lock 'file-user_cfg' error: no quorum!")),
		"ReadOnly":     write(says("unable to open file '/etc/pve/nodes/pve1/qemu-server/10000.conf.tmp.1000' - Permission denied")),
		"NoWorker":     write(says("got no worker upid - start worker failed")),
		"CutBefore":    {fault: simulator.Fault{CutBefore: true}},
		"CutAfter":     {fault: simulator.Fault{CutAfter: true}},
		"Slow":         {fault: simulator.Fault{Delay: 20 * time.Second}},
		"Late":         {fault: simulator.Fault{Delay: 10 * time.Minute}},
	}
}

// A call is a call in a Machine's life cycle.
type call struct {
	method, path string

	// skip is the number of identical calls before it.
	skip int
}

// maxRepeats is how many calls of a kind are affected, from the first: polling calls are alike.
const maxRepeats = 2

// calls returns the calls that were made to PVE.
func (w *env) calls() []call {
	count := map[call]int{}
	var out []call
	for _, r := range w.pve.Requests() {
		c := call{method: r.Method, path: r.Template}
		if n := count[c]; n < maxRepeats || r.Method != http.MethodGet {
			out = append(out, call{method: c.method, path: c.path, skip: n})
		}
		count[c]++
	}
	return out
}

func (c class) hits(k call) bool {
	return (!c.writes || k.method != http.MethodGet) && (c.only == "" || c.only == k.path && k.method == http.MethodPost)
}

// at returns the fault for a call and some more identical ones.
func (c class) at(k call, times int) simulator.Fault {
	f := c.fault
	f.Method, f.Path, f.Skip, f.Count = k.method, k.path, k.skip, times
	return f
}

// TestFaults makes each call and each task of a Machine's life cycle fail in each way, once and several times.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, s, 0)
			live(t, w, s)
			all := append(callFaults(w.calls()), taskFaults(w.pve.Tasks())...)
			runs := sampled(all)
			t.Logf("%d faults, %d of them happen", len(all), len(runs))
			for _, f := range runs {
				t.Run(f.String(), func(t *testing.T) {
					t.Parallel()
					w := newEnv(t, s, 0)
					w.pve.Inject(f)
					live(t, w, s)
					w.toldOf(t, f)
				})
			}
		})
	}
}

// callFaults returns the faults of calls.
func callFaults(calls []call) []simulator.Fault {
	var out []simulator.Fault
	for _, name := range slices.Sorted(maps.Keys(classes())) {
		c := classes()[name]
		for _, k := range calls {
			if !c.hits(k) {
				continue
			}
			out = append(out, c.at(k, 1))
			if all && k.method != http.MethodGet {
				out = append(out, c.at(k, 4))
			}
		}
	}
	return out
}

// sampled returns the part of all faults that is injected.
func sampled(all []simulator.Fault) []simulator.Fault {
	var out []simulator.Fault
	for i := sample() - 1; i < len(all); i += sample() {
		out = append(out, all[i])
	}
	return out
}

// sample returns n, if every n-th fault is injected.
func sample() int {
	switch {
	case all:
		return 1
	case many:
		return 25
	}
	return 120
}
