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

// TestCalls compares the calls of the PVE API in each scenario with those in testdata, so that restructuring the provider
// is proven not to change what it sends. To accept a change: go test ./internal/faults -run TestCalls -update.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(s.reason)
			w := newEnv(t, s, 0)
			w.paced = true
			live(t, w, s)
			got := recordCalls(w.pve.Requests())
			file := filepath.Join("testdata", "calls", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("calls of PVE's API: -want, +got:\n%s", diff)
			}
		})
	}
}

// polled are paths that the provider reads in the background for all Machines together. The wall clock decides how often.
func polled() []string {
	return []string{
		"/cluster/tasks", "/cluster/resources", "/cluster/log", "/access/permissions",
		"/nodes/{node}/network", "/nodes/{node}/tasks", "/nodes/{node}/tasks/{upid}/status",
	}
}

// awaitReads waits until the lists that are read for all Machines were read after now. Without a VM to watch nobody reads them.
func (w *env) awaitReads() {
	count := func() (tasks, resources int) {
		for _, r := range w.pve.Requests() {
			switch r.Path {
			case "/cluster/tasks":
				tasks++
			case "/cluster/resources":
				resources++
			}
		}
		return tasks, resources
	}
	tasks, resources := count()
	deadline := time.After(mostWait)
	for tick := time.Tick(pollInterval); ; {
		select {
		case <-deadline:
			return
		case <-tick:
			if t, r := count(); t >= tasks+2 && r >= resources+2 {
				return
			}
		}
	}
}

// mostWait is how long awaitReads waits, by the wall clock.
const mostWait = 500 * time.Millisecond

// recordCalls returns a line per call: method, path, and the names of the parameters of a write. A read that is repeated before the
// next write counts once, since the provider repeats reads while it waits. The guest agent is asked in the background, so those
// reads stand last before a write.
func recordCalls(requests []simulator.Request) string {
	var lines, reads, agent []string
	flush := func() {
		lines = slices.Concat(lines, reads, agent)
		reads, agent = nil, nil
	}
	for _, r := range requests {
		line := r.Method + " " + stablePath(r)
		switch {
		case slices.Contains(polled(), r.Template), slices.Contains(reads, line), slices.Contains(agent, line):
		case strings.Contains(r.Path, "/agent/"):
			agent = append(agent, line)
		case r.Method == http.MethodGet:
			reads = append(reads, line)
		default:
			flush()
			lines = append(lines, strings.TrimSpace(line+" "+strings.Join(slices.Sorted(maps.Keys(r.Params)), ",")))
		}
	}
	flush()
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

// reChosen matches what the provider or PVE chooses at random: UUIDs, and what is derived from them.
var reChosen = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-[0-9a-f]{16})?`)
