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

package simulator_test

import (
	"net/http"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

const (
	// manyGuests is the size of the cluster to which the limits apply.
	manyGuests = 10_000
	// tries is the number of measurements. The best counts, because other processes only make it slower.
	tries = 50

	memoryLimit = 500 << 20
)

// largeCluster returns a cluster with many machines.
func largeCluster(t testing.TB) (*simulator.Server, *engine.Call) {
	t.Helper()
	sc := lab()
	sc.Guests = []simulator.ScenarioGuest{{
		VMID: 10000, Count: manyGuests, Node: "pve1", Running: true,
		Config: map[string]string{
			"name": "vm", "memory": "2048", "cores": "2", "scsi0": "nfs:8", "net0": "virtio,bridge=vmbr0", "agent": "1", "tags": "a;b",
		},
	}}
	s, err := simulator.New(simulator.Options{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	return s, &engine.Call{Engine: s.Engine, State: s.State, Facts: s.Facts, Who: "crossplane@pve!demo", Local: "pve1", Node: "pve1"}
}

// best returns the shortest CPU time of a function, and stops when the limit is met. Wall-clock time would include everything else on the machine.
func best(limit time.Duration, fn func()) time.Duration {
	shortest := time.Hour
	for range tries {
		begin := processors()
		fn()
		if shortest = min(shortest, processors()-begin); shortest < limit {
			return shortest
		}
	}
	return shortest
}

// processors returns the CPU time that this process has used.
func processors() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestManyGuests(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, _ := largeCluster(t)
	length := 0
	get := func(path string) func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://pve1:8006/api2/json"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken="+simulatortest.TestToken+"="+simulatortest.TestSecret)
		return func() {
			resp := s.Answer(&wire.Request{Request: req, Endpoint: "pve1"})
			if length = len(resp.Content); resp.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, resp.Status, resp.Reason)
			}
		}
	}
	for name, tc := range map[string]struct {
		path  string
		limit time.Duration
		size  int
	}{
		"Resources": {path: "/cluster/resources", limit: 100 * time.Millisecond, size: manyGuests * 100},
		"Config":    {path: "/nodes/pve1/qemu/12345/config", limit: time.Millisecond, size: 100},
	} {
		got := best(tc.limit*slack, get(tc.path))
		t.Logf("%s: %s, %d bytes", name, got, length)
		if got > tc.limit*slack || length < tc.size {
			t.Errorf("%s: %s for %d bytes, want at most %s for %d", name, got, length, tc.limit*slack, tc.size)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapInuse) - int64(before.HeapInuse)
	t.Logf("%d MiB of memory", used>>20)
	if used > memoryLimit {
		t.Errorf("%d bytes of memory, want at most %d", used, memoryLimit)
	}
	runtime.KeepAlive(s)
}
