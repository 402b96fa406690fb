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
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

//nolint:gochecknoglobals // A flag of the test binary.
var update = flag.Bool("update", false, "write the calls of each scenario to testdata instead of comparing them")

// TestCalls compares the calls of the PVE API in each scenario with those in testdata, to prove that restructuring the provider does not change the
// calls. To accept a change: go test ./internal/faults -run TestCalls -update.
//
// It ends before the parallel tests of this package begin: when background reads are late, the provider reads more often.
//
//nolint:paralleltest,tparallel // See above.
func TestCalls(t *testing.T) {
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(s.reason)
			file := filepath.Join("testdata", "calls", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(callsOf(t, s)), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compareCalls(t, s, string(want))
		})
	}
}

// TestNoListOfNode checks that no list is read from a node. Proxmox VE answers the list of a node's VMs with 500 while one of them is being removed,
// while the cluster's list does not read their configurations.
func TestNoListOfNode(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "calls", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recorded calls: %v", err)
	}
	list := regexp.MustCompile(`(?m)^GET /nodes/[^/\s]+/qemu(\?.*)?$`)
	for _, file := range files {
		calls, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := list.Find(calls); found != nil {
			t.Errorf("%s: %s", file, found)
		}
	}
}

// compareCalls fails if no run of the scenario sends the expected calls. On a busy computer, background reads are late in some runs, and then the
// provider reads more often. The provider's own actions are the same in each run.
func compareCalls(t *testing.T, s scenario, want string) {
	t.Helper()
	const runs = 3
	var diff string
	for range runs {
		if diff = cmp.Diff(strings.Split(want, "\n"), strings.Split(callsOf(t, s), "\n")); diff == "" {
			return
		}
		t.Logf("calls of PVE's API: -want, +got:\n%s", diff)
	}
	t.Errorf("calls of PVE's API differ in each of %d runs: -want, +got:\n%s", runs, diff)
}

// callsOf returns the calls of one run of the scenario.
func callsOf(t *testing.T, s scenario) string {
	t.Helper()
	w := newEnv(t, s, 0)
	w.paced = true
	live(t, w, s)
	w.listsAll(t)
	return recordCalls(w.pve.Requests())
}

// listsAll checks that no request lists the VMs of a node: that list fails as a whole while one of them is removed or leaves the node. The lists of the
// cluster and of pools do not read configurations.
func (w *env) listsAll(t *testing.T) {
	t.Helper()
	for _, r := range w.pve.Requests() {
		if r.Method == http.MethodGet && r.Template == "/nodes/{node}/qemu" {
			t.Errorf("%s %s fails while a VM is removed", r.Method, r.Path)
		}
	}
}

// polled returns paths that the provider reads in the background for all Machines together. The wall clock decides how often.
func polled() []string {
	return []string{
		"/cluster/tasks", "/cluster/resources", "/cluster/log", "/access/permissions",
		"/nodes/{node}/network", "/nodes/{node}/tasks", "/nodes/{node}/tasks/{upid}/status",
	}
}

// awaitReads waits until the lists for all Machines have been read again.
func (w *env) awaitReads() {
	before := w.listReads()
	deadline := time.After(mostWait)
	for tick := time.Tick(pollInterval); ; {
		select {
		case <-deadline:
			return
		case <-tick:
			now := w.listReads()
			if !slices.ContainsFunc(sharedLists(), func(path string) bool { return now[path] < before[path]+2 }) {
				return
			}
		}
	}
}

// sharedLists returns the paths that are read for all Machines while a VM is watched.
func sharedLists() []string { return []string{"/cluster/tasks", "/cluster/resources"} }

// listReads counts the reads of each path.
func (w *env) listReads() map[string]int {
	reads := map[string]int{}
	for _, r := range w.pve.Requests() {
		reads[r.Path]++
	}
	return reads
}

// mostWait is how long awaitReads waits at most, by the wall clock. Two reads take 20 ms, and far longer on a busy computer.
const mostWait = 10 * time.Second

// recordCalls returns a line per call: method, path, and the names of the parameters of a write. A write is preceded by the reads of its VM, and of no
// VM, since the last write to it. They are sorted, since the order in which several Machines read depends on the scheduler. Repeated reads count once,
// since the provider repeats reads while it waits. The guest agent is called in the background, so those reads are at the end.
func recordCalls(requests []simulator.Request) string {
	const agent = "~" // Sorts after the VMIDs.
	var lines []string
	unwritten := map[string][]string{}
	flush := func(vm string) {
		lines = append(lines, slices.Sorted(slices.Values(unwritten[vm]))...)
		delete(unwritten, vm)
	}
	for _, r := range requests {
		line := r.Method + " " + stablePath(r)
		vm := r.Params["vmid"]
		if r.Method == http.MethodGet && strings.Contains(r.Path, "/agent/") {
			vm = agent
		}
		switch {
		case r.Method != http.MethodGet:
			flush("")
			flush(vm)
			lines = append(lines, strings.TrimSpace(line+" "+strings.Join(slices.Sorted(maps.Keys(r.Params)), ",")))
		case !slices.Contains(polled(), r.Template) && !slices.Contains(unwritten[vm], line):
			unwritten[vm] = append(unwritten[vm], line)
		}
	}
	for _, vm := range slices.Sorted(maps.Keys(unwritten)) {
		flush(vm)
	}
	return strings.Join(lines, "\n") + "\n"
}

// stablePath returns the path with the type of a task instead of its UPID.
func stablePath(r simulator.Request) string {
	parts := strings.Split(r.Path, "/")
	for i, name := range strings.Split(r.Template, "/") {
		if name == "{upid}" {
			parts[i] = "{" + strings.Split(parts[i], ":")[5] + "}"
		}
	}
	return reChosen.ReplaceAllString(strings.Join(parts, "/"), "{id}")
}

// reChosen matches values that the provider or PVE chooses at random: UUIDs, and what is derived from them.
var reChosen = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-[0-9a-f]{16})?`)
